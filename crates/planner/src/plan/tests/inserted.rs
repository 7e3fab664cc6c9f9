//! `INSERT` and `REPLACE`: rows that are split by their keys.

use std::fmt::Write as _;

use proptest::prelude::*;
use shard::{Condition, Prune, Test};

use super::changed::{hostgroups, write};
use super::refused::is_refused;
use super::*;

fn texts(sql: &str, parameters: &[Value<'_>]) -> Vec<(u32, String)> {
    let branches = match planned(sql, parameters) {
        Plan::One(branch) => vec![branch],
        Plan::Write(write) => write.branches,
        other => panic!("{sql}: {other:?}"),
    };
    let of = |branch: &Branch| (branch.hostgroup, text(branch).unwrap_or(sql).to_owned());
    branches.iter().map(of).collect()
}

#[test]
fn each_shard_gets_its_rows() {
    let sql = "INSERT INTO users (name, id) VALUES ('a', 1), ( 'b' , 4 ), /* c */ ('c', 5) \
               ON DUPLICATE KEY UPDATE name = VALUES(name)";
    assert_eq!(
        texts(sql, &[]),
        [
            (10, "INSERT INTO users (name, id) VALUES ( 'b' , 4 ) ON DUPLICATE KEY UPDATE name = VALUES(name)"),
            (
                11,
                "INSERT INTO users (name, id) VALUES ('a', 1), ('c', 5) ON DUPLICATE KEY UPDATE name = VALUES(name)"
            ),
        ]
        .map(|(hostgroup, text)| (hostgroup, text.to_owned()))
    );
    let write = write(sql);
    assert_eq!(write.rows, [vec![2], vec![1, 3]]);
    assert_eq!((write.counts, write.why, write.ids), (Counts::Rows { ignores: false }, Reason::Rows, None));
}

#[test]
fn rows_that_ignore_leaves_out_are_counted_otherwise() {
    for (sql, ignores) in [
        ("INSERT IGNORE INTO users (id) VALUES (1), (2)", true),
        ("REPLACE INTO users (id) VALUES (1), (2)", false),
    ] {
        assert_eq!(write(sql).counts, Counts::Rows { ignores }, "{sql}");
    }
}

#[test]
fn rows_of_one_shard_go_as_they_are() {
    for sql in [
        "INSERT INTO users (id) VALUES (1), (5)",
        "REPLACE users SET name = UUID(), id = 9",
        "INSERT IGNORE INTO shop.users (shop.users.ID) VALUES ('13')",
        "INSERT INTO users (id, name) VALUES (1, (SELECT name FROM countries LIMIT 1)) RETURNING id",
        "INSERT INTO users (id, name) VALUES (1, (SELECT name FROM orders WHERE user_id = 5))",
    ] {
        assert_eq!(planned(sql, &[]), Plan::One(Branch { hostgroup: 11, ..Branch::default() }), "{sql}");
    }
    assert_eq!(
        texts(
            "INSERT INTO events (events.user_id) VALUE (2) ON DUPLICATE KEY UPDATE id = events.id + 1",
            &[]
        ),
        [(
            12,
            "INSERT INTO `shop`.`events_2` (`shop`.`events_2`.user_id) VALUE (2) \
             ON DUPLICATE KEY UPDATE id = `shop`.`events_2`.id + 1"
                .to_owned()
        )]
    );
}

#[test]
fn placeholders_go_with_their_rows() {
    let sql = "INSERT INTO users (id, name) VALUES (?, ?), (?, ?), (?, ?) ON DUPLICATE KEY UPDATE name = ?";
    let keys = [1, 0, 2, 0, 5, 0, 0].map(Value::Signed);
    let Plan::Write(write) = planned(sql, &keys) else { panic!("{sql}") };
    let of = |branch: &Branch| branch.placeholders.clone().unwrap();
    assert_eq!(write.branches.iter().map(of).collect::<Vec<_>>(), [vec![0, 1, 4, 5, 6], vec![2, 3, 6]]);
    assert_eq!(
        text(&write.branches[1]),
        Some("INSERT INTO users (id, name) VALUES (?, ?) ON DUPLICATE KEY UPDATE name = ?")
    );
}

#[test]
fn rows_whose_shard_is_not_certain_are_refused() {
    let row = |sql, reason, part| is_refused(sql, Cause::Row(reason), part);
    row("INSERT INTO users (id) VALUES (1), ('5abc')", Reason::Inexact, "'5abc'");
    row("INSERT INTO users (id) VALUES (NULL)", Reason::Null, "NULL");
    row("INSERT INTO users (id) VALUES (1 + 1)", Reason::NoCondition, "1 + 1");
    row("INSERT INTO users (id) VALUES (?)", Reason::NoCondition, "?");
    row("INSERT INTO users (id) VALUES (5.0)", Reason::NoCondition, "5.0");
    row("INSERT INTO users (name) VALUES ('a')", Reason::NoCondition, "('a')");
    row("INSERT INTO users SET id = DEFAULT", Reason::NoCondition, "SET id = DEFAULT");
    row("INSERT INTO users VALUES ()", Reason::NoCondition, "()");
    row("INSERT INTO users (id) VALUES ((SELECT 5))", Reason::NoCondition, "(SELECT 5)");
    row("INSERT INTO users (id) VALUES (9223372036854775808)", Reason::Inexact, "9223372036854775808");
    is_refused("INSERT INTO users VALUES (1, 2)", Cause::Columns, "(1, 2)");
    is_refused("INSERT INTO users (id) VALUES (1) ON DUPLICATE KEY UPDATE id = 5", Cause::Key, "id");
    is_refused("INSERT INTO users (id) VALUES (1), (2) RETURNING id", Cause::Clause, "RETURNING id");
    is_refused("INSERT INTO users (id, name) VALUES (1, @a), (2, 3)", Cause::Function, "@a");
    is_refused(
        "INSERT INTO users (id, name) VALUES (1, (SELECT name FROM orders WHERE user_id = 6))",
        Cause::Gather,
        "orders",
    );
}

#[test]
fn a_duplicate_may_get_the_key_of_its_new_row() {
    for sql in [
        "INSERT INTO users (id, name) VALUES (1, 'a'), (2, 'b') ON DUPLICATE KEY UPDATE id = VALUES(ID), name = 1",
        "INSERT INTO users (id, name) VALUES (1, 'a'), (2, 'b') AS new ON DUPLICATE KEY UPDATE users.id = new.id",
    ] {
        assert_eq!(hostgroups(&write(sql).branches), [11, 12], "{sql}");
    }
    for (value, part) in
        [("VALUES(user_id)", "id"), ("VALUES(id) + 1", "id"), ("new.user_id", "id"), ("old.id", "id")]
    {
        let sql = format!("INSERT INTO users (id) VALUES (1) AS new ON DUPLICATE KEY UPDATE id = {value}");
        is_refused(&sql, Cause::Key, part);
    }
}

#[test]
fn texts_with_escapes_are_keys_as_well() {
    let hostgroup = |text: &str| {
        let sql = format!("INSERT INTO people (name) VALUES ({text})");
        match planned(&sql, &[]) {
            Plan::One(branch) => branch.hostgroup,
            other => panic!("{sql}: {other:?}"),
        }
    };
    assert_eq!(hostgroup("'it''s'"), hostgroup(r"'it\'s'"));
    assert_eq!(hostgroup("'it''s'"), hostgroup(r#""it's""#));
    assert_eq!(hostgroup("'caf\u{e9}'"), hostgroup("'caf\\\u{e9}'"));
    let sql = "INSERT INTO people (name) VALUES (_latin1'a')";
    is_refused(sql, Cause::Row(Reason::NoCondition), "_latin1'a'");
}

#[test]
fn the_last_id_is_a_constant_where_it_is_known() {
    let asked = Asked { last_insert_id: Some(5), ..Asked::default() };
    let sql = "INSERT INTO users (id, name) VALUES (LAST_INSERT_ID(), 'a'), (6, last_insert_id( ))";
    let Plan::Write(write) = asking(sql, &[], asked) else { panic!() };
    assert_eq!(
        write.branches.iter().map(|branch| text(branch).unwrap()).collect::<Vec<_>>(),
        ["INSERT INTO users (id, name) VALUES (5, 'a')", "INSERT INTO users (id, name) VALUES (6, 5)"]
    );
    let sql = "SELECT name, LAST_INSERT_ID() FROM users WHERE id = LAST_INSERT_ID()";
    let Plan::One(branch) = asking(sql, &[], asked) else { panic!() };
    let expected = "SELECT name, 5 AS `LAST_INSERT_ID()` FROM users WHERE id = 5";
    assert_eq!((branch.hostgroup, text(&branch)), (11, Some(expected)));
    is_refused(
        "INSERT INTO users (id) VALUES (LAST_INSERT_ID())",
        Cause::Row(Reason::NoCondition),
        "LAST_INSERT_ID()",
    );
    is_refused("UPDATE users SET state = LAST_INSERT_ID()", Cause::Function, "LAST_INSERT_ID");
    is_refused("UPDATE users SET state = LAST_INSERT_ID(4)", Cause::Function, "LAST_INSERT_ID");
}

#[test]
fn a_key_that_is_left_out_has_its_default() {
    let sql = "INSERT INTO notes (id, name) VALUES (1, 'a')";
    assert_eq!(planned(sql, &[]), Plan::One(Branch { hostgroup: 13, ..Branch::default() }));
    let sql = "INSERT INTO notes (id, user_id) VALUES (1, DEFAULT), (2, 3)";
    assert_eq!(planned(sql, &[]), Plan::One(Branch { hostgroup: 13, ..Branch::default() }));
}

#[test]
fn rows_of_a_query_stay_in_their_shards() {
    for sql in [
        "INSERT INTO orders (user_id, name) SELECT id, name FROM users WHERE state > 3 ORDER BY id",
        "REPLACE INTO users SELECT * FROM users",
        "INSERT INTO orders (user_id, id) SELECT user_id, COUNT(*) FROM orders GROUP BY user_id",
        "INSERT INTO orders (user_id, name) SELECT u.id, c.name FROM users u JOIN countries c ON c.id = u.state",
    ] {
        let write = write(sql);
        assert_eq!(hostgroups(&write.branches), [10, 11, 12, 13], "{sql}");
        assert!(write.rows.is_empty() && write.counts == Counts::Sum, "{sql}");
    }
    for sql in [
        "INSERT INTO orders (user_id, name) SELECT id, name FROM users WHERE id = 5 LIMIT 1",
        "INSERT INTO orders (user_id, id) SELECT 5, COUNT(*) FROM orders WHERE user_id = 9",
        "INSERT INTO users (id) SELECT 5",
        "INSERT INTO users (id, name) SELECT id, name FROM countries WHERE id = 5",
    ] {
        assert_eq!(planned(sql, &[]), Plan::One(Branch { hostgroup: 11, ..Branch::default() }), "{sql}");
    }
}

#[test]
fn rows_of_a_query_that_would_move_are_refused() {
    let gathers = |sql: &str| {
        let refused = matches!(planned(sql, &[]), Plan::Refused(Refusal { cause: Cause::Gather, .. }));
        assert!(refused, "{sql}: {:?}", planned(sql, &[]));
    };
    gathers("INSERT INTO orders (user_id) SELECT id + 1 FROM users");
    gathers("INSERT INTO orders (user_id) SELECT state FROM users");
    gathers("INSERT INTO orders (user_id) SELECT id FROM countries");
    gathers("INSERT INTO orders (user_id) SELECT 5 FROM users WHERE id = 6");
    gathers("INSERT INTO events (user_id) SELECT id FROM users");
    gathers("INSERT INTO orders (user_id) SELECT u.id FROM orders o LEFT JOIN users u ON u.id = o.user_id");
    gathers("INSERT INTO countries SELECT * FROM users WHERE id = 5");
    gathers("INSERT INTO prices SELECT * FROM users");
    gathers("INSERT INTO settings SELECT * FROM users WHERE id = 5");
    is_refused("INSERT INTO orders (user_id) SELECT id FROM users LIMIT 5", Cause::SomeRows, "LIMIT 5");
    is_refused("INSERT INTO orders (user_id, id) SELECT id, MAX(id) FROM users", Cause::Aggregate, "MAX(id)");
    is_refused(
        "INSERT INTO users (id) SELECT 5 UNION SELECT 6",
        Cause::SetOperation,
        "SELECT 5 UNION SELECT 6",
    );
    is_refused("INSERT INTO users (id, name) SELECT id FROM users", Cause::Columns, "SELECT id FROM users");
}

#[test]
fn reference_tables_get_their_rows_everywhere() {
    let write = write("INSERT INTO countries (id, name) VALUES (1, 'a'), (2, 'b')");
    assert_eq!((hostgroups(&write.branches), write.counts), (vec![10, 11, 12, 13], Counts::Same));
    assert!(write.branches.iter().all(|branch| branch.text.is_none()));
    assert!(matches!(planned("INSERT INTO countries SELECT * FROM countries", &[]), Plan::Write(_)));
    is_refused("REPLACE countries SELECT * FROM countries", Cause::SomeRows, "SELECT * FROM countries");
    is_refused("INSERT INTO countries (id) VALUES (RAND())", Cause::Function, "RAND");
}

proptest! {
    #[test]
    fn all_rows_arrive_where_their_keys_are_looked_for(
        keys in proptest::collection::vec(any::<i64>(), 1..40),
    ) {
        let mut sql = "INSERT INTO users (name, id) VALUES ".to_owned();
        for (number, key) in keys.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            write!(sql, "{comma}('r{number}',{key})").unwrap();
        }
        let (layout, integer) = (layout(), columns().0[0].compares);
        let placement = layout.table("shop", "users").unwrap().placement().unwrap();
        let mut found = vec![0; keys.len()];
        for (hostgroup, text) in texts(&sql, &[]) {
            for (number, key) in keys.iter().enumerate() {
                if text.contains(&format!("('r{number}',{key})")) {
                    found[number] += 1;
                    let test = Test::Equal(Value::Signed(*key));
                    let looked = placement.prune(&[Condition { column: integer, test }]);
                    prop_assert_eq!(looked, Prune::One(hostgroup - 10));
                }
            }
        }
        prop_assert_eq!(found, vec![1; keys.len()]);
    }
}
