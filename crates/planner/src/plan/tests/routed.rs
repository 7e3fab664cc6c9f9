//! Statements that concern one server.

use super::*;

/// Goes to this hostgroup as it is.
fn goes_to(hostgroup: u32, sql: &str) {
    assert_eq!(planned(sql, &[]), Plan::One(Branch { hostgroup, ..Branch::default() }), "{sql}");
}

#[test]
fn a_key_that_equals_a_constant_names_the_shard() {
    goes_to(11, "SELECT * FROM users WHERE id = 5");
    goes_to(11, "SELECT * FROM users WHERE (5 = id) AND name LIKE 'a%'");
    goes_to(11, "SELECT * FROM shop.users u WHERE u.id IN (1, 5, 9)");
    goes_to(13, "SELECT COUNT(*) FROM users WHERE id = -1");
    goes_to(12, "SELECT u.name FROM users AS u WHERE u.id BETWEEN 6 AND 6 ORDER BY RAND() LIMIT 3");
    goes_to(10, "UPDATE users SET name = 'x' WHERE id = 8");
    goes_to(10, "DELETE FROM orders WHERE user_id = '8'");
    goes_to(10, "SELECT * FROM users WHERE id = 8 FOR UPDATE");
}

#[test]
fn rows_equal_constants_by_their_parts() {
    goes_to(11, "SELECT * FROM users WHERE (id, name) = (5, 'a')");
    goes_to(11, "SELECT * FROM users WHERE ROW('a', 5) <=> (name, id)");
    goes_to(11, "SELECT * FROM orders WHERE ((user_id, id) IN ((5, 1), (9, 2), (5, NULL))) FOR UPDATE");
    goes_to(
        11,
        "SELECT * FROM users u JOIN orders o ON (u.id, u.state) = (o.user_id, o.state) WHERE u.id = 5",
    );
    let plan = planned(
        "SELECT * FROM orders WHERE (user_id, id) IN ((?, ?), (?, ?))",
        &[Value::Signed(5), Value::Signed(1), Value::Signed(9), Value::Signed(2)],
    );
    assert_eq!(plan, Plan::One(Branch { hostgroup: 11, ..Branch::default() }));
}

#[test]
fn rows_that_do_not_equal_constants_for_certain_are_looked_for_everywhere() {
    for sql in [
        "SELECT * FROM users WHERE (id, name) < (5, 'a')",
        "SELECT * FROM users WHERE (id, name) <> (5, 'a')",
        "SELECT * FROM users WHERE (id, name) NOT IN ((5, 'a'))",
        "SELECT * FROM users WHERE (id, name) IN (('5', 'a'))",
        "SELECT * FROM users WHERE (id, name) IN ((5, 'a'), (SELECT 6, 'b'))",
        "SELECT * FROM users WHERE (name, (id, state)) = ('a', (5, 1))",
    ] {
        let Plan::Many(scatter) = planned(sql, &[]) else { panic!("{sql}") };
        assert_eq!(scatter.branches.len(), 4, "{sql}");
    }
}

#[test]
fn parameters_are_values() {
    let plan =
        planned("SELECT * FROM users WHERE name = ? AND id = ?", &[Value::Text(b"a"), Value::Signed(6)]);
    assert_eq!(plan, Plan::One(Branch { hostgroup: 12, ..Branch::default() }));
}

#[test]
fn what_holds_for_a_key_holds_for_a_key_that_equals_it() {
    goes_to(11, "SELECT * FROM users JOIN orders ON users.id = orders.user_id WHERE users.id = 5");
    goes_to(11, "SELECT * FROM users u LEFT JOIN orders o ON u.id = o.user_id WHERE u.id = 5");
    goes_to(11, "SELECT * FROM users u, orders o WHERE o.user_id = u.id AND o.user_id = 5");
    goes_to(11, "SELECT * FROM orders a JOIN orders b USING (user_id) WHERE a.user_id = 5");
    goes_to(
        11,
        "SELECT * FROM users u WHERE id = 5 AND EXISTS (SELECT 1 FROM orders o WHERE o.user_id = u.id)",
    );
    goes_to(
        11,
        "SELECT (SELECT COUNT(*) FROM orders WHERE user_id = 9) FROM users WHERE id = 5 \
         UNION SELECT id FROM users WHERE id = 13",
    );
}

#[test]
fn tables_of_all_servers_and_of_the_same_server_come_along() {
    goes_to(11, "SELECT * FROM users u JOIN countries c ON c.id = u.state WHERE u.id = 5");
    goes_to(11, "SELECT * FROM users u JOIN prices p WHERE u.id = 5");
    goes_to(10, "SELECT * FROM countries");
    goes_to(11, "SELECT * FROM prices");
}

#[test]
fn common_tables_are_no_tables() {
    goes_to(11, "WITH users AS (SELECT * FROM users WHERE id = 5) SELECT * FROM users");
    goes_to(11, "WITH a AS (SELECT * FROM users WHERE id = 5), b AS (SELECT * FROM a) SELECT * FROM b");
}

#[test]
fn other_tables_have_a_home() {
    for sql in
        ["SELECT 1", "SELECT * FROM settings WHERE id = 5", "SELECT * FROM other.users", "DROP TABLE x"]
    {
        assert_eq!(planned(sql, &[]), Plan::Home, "{sql}");
    }
}

#[test]
fn physical_names_are_put_in() {
    for (sql, expected) in [
        (
            "SELECT events.id, shop.events.name FROM events WHERE user_id = 5",
            "SELECT events.id, events.name FROM `shop`.`events_1` AS `events` WHERE user_id = 5",
        ),
        (
            "SELECT /* c */ e.* FROM shop.events  e FORCE INDEX (a) WHERE e.user_id=5",
            "SELECT /* c */ e.* FROM `shop`.`events_1`  e FORCE INDEX (a) WHERE e.user_id=5",
        ),
        (
            "SELECT shop.events.* FROM events USE INDEX (a) WHERE user_id = 5",
            "SELECT events.* FROM `shop`.`events_1` AS `events` USE INDEX (a) WHERE user_id = 5",
        ),
        (
            "DELETE FROM `events` WHERE `events`.`user_id` = 5 AND shop.events.id > 3",
            "DELETE FROM `shop`.`events_1` WHERE `shop`.`events_1`.`user_id` = 5 AND `shop`.`events_1`.id > 3",
        ),
        (
            "DELETE shop.events, e.* FROM events JOIN events e USING (user_id) WHERE events.user_id = 5",
            "DELETE events, e.* FROM `shop`.`events_1` AS `events` JOIN `shop`.`events_1` e USING (user_id) \
             WHERE events.user_id = 5",
        ),
    ] {
        let Plan::One(branch) = planned(sql, &[]) else { panic!("{sql}") };
        assert_eq!((branch.hostgroup, text(&branch)), (11, Some(expected)));
    }
}
