//! Statements that each shard executes for itself.

use super::*;
use crate::merge::{Direction, Fate, Part, Window};

fn scatter(sql: &str) -> Scatter {
    match planned(sql, &[]) {
        Plan::Many(scatter) => scatter,
        other => panic!("{sql}: {other:?}"),
    }
}

/// Goes to all shards as it is, in no order.
fn goes_everywhere(sql: &str, why: Reason) {
    let scatter = scatter(sql);
    let hostgroups: Vec<_> = scatter.branches.iter().map(|branch| branch.hostgroup).collect();
    assert_eq!(hostgroups, [10, 11, 12, 13], "{sql}");
    assert!(scatter.branches.iter().all(|branch| branch.text.is_none()), "{sql}");
    assert!(scatter.order.is_empty(), "{sql}");
    assert_eq!(scatter.why, why, "{sql}");
}

#[test]
fn what_is_not_exact_needs_all_shards() {
    goes_everywhere("SELECT * FROM users", Reason::NoCondition);
    goes_everywhere("SELECT * FROM users WHERE id = '5abc'", Reason::Inexact);
    goes_everywhere("SELECT * FROM users WHERE id = 5.0", Reason::NoCondition);
    goes_everywhere("SELECT * FROM users WHERE id = 5 OR id = 6", Reason::NoCondition);
    goes_everywhere("SELECT * FROM users WHERE NOT id = 5", Reason::NoCondition);
    goes_everywhere("SELECT * FROM users WHERE id + 0 = 5", Reason::NoCondition);
}

#[test]
fn some_shards_are_enough_for_some_keys() {
    let hostgroups: Vec<_> =
        scatter("SELECT * FROM users WHERE id IN (1, 2, 6)").branches.iter().map(|b| b.hostgroup).collect();
    assert_eq!(hostgroups, [11, 12]);
}

#[test]
fn a_condition_of_one_side_of_an_outer_join_says_nothing_of_the_other() {
    goes_everywhere(
        "SELECT * FROM users u LEFT JOIN orders o ON u.id = o.user_id AND u.id = 5",
        Reason::NoCondition,
    );
    goes_everywhere(
        "SELECT * FROM users u WHERE NOT EXISTS (SELECT 1 FROM orders o WHERE o.user_id = u.id AND u.id = 5)",
        Reason::NoCondition,
    );
}

#[test]
fn groups_and_windows_within_a_shard_stay_there() {
    for sql in [
        "SELECT user_id, COUNT(*) FROM orders GROUP BY user_id HAVING COUNT(*) > 1",
        "SELECT user_id, state, MAX(id) FROM orders GROUP BY state, user_id",
        "SELECT DISTINCT name, user_id FROM orders",
        "SELECT ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY id) FROM orders",
        "SELECT u.id, (SELECT COUNT(*) FROM orders o WHERE o.user_id = u.id) FROM users u",
        "SELECT u.id, SUM(o.state) FROM users u JOIN orders o ON o.user_id = u.id GROUP BY u.id",
        "SELECT * FROM orders o JOIN countries c ON c.id = o.state",
    ] {
        goes_everywhere(sql, Reason::NoCondition);
    }
}

#[test]
fn hidden_keys_and_the_limit_are_put_in() {
    let scatter = scatter("SELECT name n, state FROM users ORDER BY n DESC, 2, id LIMIT 5, 10");
    assert_eq!(
        text(&scatter.branches[0]),
        Some(
            "SELECT name n, state, WEIGHT_STRING(`users`.`name`) AS `pointsman_key_0`, \
             `users`.`state` + 0e0 AS `pointsman_key_1`, `users`.`id` AS `pointsman_key_2` FROM users ORDER BY n DESC, 2, id LIMIT 15"
        )
    );
    let descending = Part { direction: Direction::Descending, pad: Some(b"\0 ".as_slice().into()) };
    assert_eq!(scatter.order, Order::new(vec![descending, Part::ASCENDING, Part::ASCENDING]));
    let mut window = scatter.window;
    assert_eq!((0..5).map(|_| window.take()).collect::<Vec<_>>(), [Fate::Skipped; 5]);
}

#[test]
fn limits_are_values_of_the_execution_or_of_the_session() {
    let sql = "SELECT id FROM users WHERE id > ? ORDER BY id LIMIT ?, ?";
    let values = [Value::Signed(7), Value::Signed(2), Value::Unsigned(3)];
    let Plan::Many(scatter) = planned(sql, &values) else { panic!("{sql}") };
    assert_eq!(scatter.window, Window::new(2, 3));
    let branch = &scatter.branches[0];
    let expected = "SELECT id, `users`.`id` AS `pointsman_key_0` FROM users WHERE id > ? ORDER BY id LIMIT 5";
    assert_eq!((text(branch), branch.placeholders.as_deref()), (Some(expected), Some([0].as_slice())));

    let asked = Asked { select_limit: Some(4), ..Asked::default() };
    let Plan::Many(scatter) = asking("SELECT id FROM users", &[], asked) else { panic!() };
    assert_eq!((scatter.window, &scatter.branches[0].text), (Window::new(0, 4), &None));
    let Plan::Many(scatter) = asking("SELECT id FROM users LIMIT 9", &[], asked) else { panic!() };
    assert_eq!(scatter.window, Window::new(0, 9));
}

#[test]
fn every_shard_has_its_own_table() {
    let scatter = scatter("SELECT id FROM events ORDER BY id LIMIT 1");
    let texts: Vec<_> = scatter.branches.iter().map(|branch| text(branch).unwrap()).collect();
    let expected = |n: u32| {
        format!(
            "SELECT id, `events`.`id` AS `pointsman_key_0` FROM `shop`.`events_{n}` AS `events` \
             ORDER BY id LIMIT 1"
        )
    };
    assert_eq!(texts, (0..4).map(expected).collect::<Vec<_>>());
}

#[test]
fn a_column_is_not_taken_for_one_of_another_table() {
    // A common table of this name hides the table around; aliases may have a case; a derived table
    // does not see those beside it.
    for sql in [
        "SELECT * FROM users u WHERE EXISTS (SELECT 1 FROM countries u WHERE u.id = 5)",
        "SELECT * FROM users u WHERE U.id = 5",
        "SELECT * FROM users WHERE id = -(-9223372036854775808)",
        "SELECT * FROM users WHERE id = {d '5'}",
    ] {
        goes_everywhere(sql, Reason::NoCondition);
    }
}

#[test]
fn a_dump_reads_all_shards() {
    let dump = "SELECT /*!40001 SQL_NO_CACHE */ `id`, `name` FROM `events`";
    let Plan::Many(scatter) = planned(dump, &[]) else { panic!("{dump}") };
    let expected = "SELECT /*!40001 SQL_NO_CACHE */ `id`, `name` FROM `shop`.`events_0` AS `events`";
    assert_eq!(scatter.branches.first().and_then(text), Some(expected));
}
