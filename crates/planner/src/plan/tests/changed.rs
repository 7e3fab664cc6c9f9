//! `UPDATE` and `DELETE` over several servers.

use super::refused::is_refused;
use super::*;

pub(super) fn write(sql: &str) -> Write {
    match planned(sql, &[]) {
        Plan::Write(write) => write,
        other => panic!("{sql}: {other:?}"),
    }
}

pub(super) fn hostgroups(branches: &[Branch]) -> Vec<u32> {
    branches.iter().map(|branch| branch.hostgroup).collect()
}

#[test]
fn each_shard_changes_its_own_rows() {
    for sql in [
        "DELETE FROM users",
        "UPDATE users SET state = state + 1 WHERE state > 3 ORDER BY state DESC",
        "UPDATE users SET name = UUID(), state = NOW() WHERE state > 3",
        "UPDATE users u JOIN orders o ON o.user_id = u.id SET o.state = u.state, u.name = 'x'",
        "UPDATE orders o JOIN countries c ON c.id = o.state SET o.name = c.name",
        "DELETE o FROM orders o LEFT JOIN users u ON u.id = o.user_id WHERE u.id IS NULL",
        "DELETE FROM users WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.user_id = users.id)",
        "UPDATE users JOIN orders ON orders.user_id = users.id SET orders.id = 5",
        "UPDATE users JOIN orders ON orders.user_id = users.id SET state = 5",
    ] {
        let write = write(sql);
        assert_eq!(hostgroups(&write.branches), [10, 11, 12, 13], "{sql}");
        assert!(write.branches.iter().all(|branch| branch.text.is_none()), "{sql}");
        assert_eq!((write.counts, write.why, write.ids), (Counts::Sum, Reason::NoCondition, None), "{sql}");
    }
    let write = write("DELETE FROM events WHERE events.user_id IN (1, 6)");
    assert_eq!(
        write.branches.iter().map(|branch| text(branch).unwrap()).collect::<Vec<_>>(),
        [1, 2]
            .map(|n| format!("DELETE FROM `shop`.`events_{n}` WHERE `shop`.`events_{n}`.user_id IN (1, 6)"))
    );
}

#[test]
fn which_rows_are_changed_must_be_known_to_each_shard() {
    is_refused("DELETE FROM users WHERE id IN (SELECT user_id FROM orders)", Cause::NotColocated, "orders");
    is_refused("UPDATE users SET state = @a", Cause::Function, "@a");
    is_refused("UPDATE users SET state = my_own(3)", Cause::Function, "my_own");
    is_refused("UPDATE users SET state = RAND(3)", Cause::Function, "RAND");
    is_refused("UPDATE users SET state = UUID_SHORT()", Cause::Function, "UUID_SHORT");
    is_refused("UPDATE users SET name = (SELECT UUID())", Cause::Function, "UUID");
    is_refused("WITH a AS (SELECT @a AS b) UPDATE users SET name = 1", Cause::Function, "@a");
    is_refused("UPDATE users, settings SET users.name = 1", Cause::ServersDiffer, "settings");
    is_refused("UPDATE users JOIN prices SET prices.name = 1", Cause::Gather, "prices");
}

#[test]
fn keys_stay() {
    is_refused("UPDATE users u JOIN orders o ON o.user_id = u.id SET o.user_id = 5", Cause::Key, "o.user_id");
    is_refused("UPDATE users u, orders o SET user_id = 5, u.id = 7", Cause::Key, "user_id");
    is_refused("UPDATE users SET id = 5 WHERE id = 5 OR id = 6", Cause::Key, "id");
    is_refused("UPDATE users SET id = 6 WHERE id = 5", Cause::Key, "id");
    for sql in [
        "UPDATE users SET user_id = 5 WHERE id = 5",
        "UPDATE users u SET u.id = 5, name = 'x' WHERE id = 5",
        "UPDATE users SET id = '5', name = 'x' WHERE id = 5",
        "UPDATE users SET id = users.id WHERE id = 5",
    ] {
        assert_eq!(planned(sql, &[]), Plan::One(Branch { hostgroup: 11, ..Branch::default() }), "{sql}");
    }
}

#[test]
fn reference_tables_are_changed_everywhere() {
    for sql in [
        "UPDATE countries SET name = UPPER(name) WHERE id = 5",
        "DELETE FROM countries",
        "DELETE a FROM countries a JOIN countries b ON a.id = b.user_id",
    ] {
        let write = write(sql);
        assert_eq!(hostgroups(&write.branches), [10, 11, 12, 13], "{sql}");
        assert_eq!((write.counts, write.why), (Counts::Same, Reason::Reference), "{sql}");
    }
    is_refused("UPDATE countries SET name = UUID()", Cause::Function, "UUID");
    is_refused(
        "UPDATE countries SET name = (SELECT GROUP_CONCAT(c.id) FROM countries c)",
        Cause::SomeRows,
        "GROUP_CONCAT(c.id)",
    );
    is_refused(
        "UPDATE countries SET name = (SELECT c.id FROM countries c LIMIT 1)",
        Cause::SomeRows,
        "LIMIT 1",
    );
    is_refused("DELETE FROM countries ORDER BY id LIMIT 1", Cause::SomeRows, "LIMIT 1");
    is_refused("UPDATE IGNORE countries SET id = id + 1", Cause::SomeRows, "IGNORE");
    is_refused("DELETE FROM countries WHERE id IN (SELECT state FROM users)", Cause::Gather, "users");
    is_refused("UPDATE countries c JOIN users u SET c.id = 1, u.name = 2", Cause::Reference, "countries");
    is_refused("DELETE countries FROM countries JOIN prices", Cause::ServersDiffer, "prices");
}

#[test]
fn reads_of_reference_tables_spread_and_locks_do_not() {
    let at = |sql, choice| match asking(sql, &[], Asked { choice, ..Asked::default() }) {
        Plan::One(branch) => branch.hostgroup,
        other => panic!("{sql}: {other:?}"),
    };
    assert_eq!([0, 1, 2, 7].map(|choice| at("SELECT * FROM countries", choice)), [10, 11, 12, 13]);
    assert_eq!(at("SELECT * FROM countries FOR UPDATE", 2), 10);
    assert_eq!(at("SELECT * FROM countries c JOIN users u ON c.id = u.state WHERE u.id = 5", 2), 11);
}
