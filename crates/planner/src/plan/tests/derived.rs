//! Conditions on columns of derived tables.

use super::*;

/// Goes to this hostgroup as it is.
fn goes_to(hostgroup: u32, sql: &str) {
    assert_eq!(planned(sql, &[]), Plan::One(Branch { hostgroup, ..Branch::default() }), "{sql}");
}

fn is_refused(sql: &str) {
    let plan = planned(sql, &[]);
    assert!(matches!(plan, Plan::Refused(_)), "{sql}: {plan:?}");
}

/// No shard is left out, if it is not refused.
fn needs_all(sql: &str) {
    match planned(sql, &[]) {
        Plan::Refused(_) => {}
        Plan::Many(scatter) => assert_eq!(scatter.branches.len(), 4, "{sql}"),
        plan => panic!("{sql}: {plan:?}"),
    }
}

#[test]
fn a_condition_of_a_plain_column_is_one_of_the_column_behind_it() {
    goes_to(11, "SELECT * FROM (SELECT id FROM users) d WHERE id = 5");
    goes_to(11, "SELECT * FROM (SELECT id AS a FROM users) d WHERE d.a IN (1, 5)");
    goes_to(11, "SELECT * FROM (SELECT * FROM users WHERE state = 2) d WHERE d.id = 5");
    goes_to(11, "SELECT * FROM (SELECT DISTINCT u.id FROM users u ORDER BY id) d WHERE d.id = 5");
    goes_to(11, "SELECT * FROM (SELECT a FROM (SELECT id a FROM users) d) e WHERE e.a = 5");
    goes_to(
        11,
        "SELECT * FROM (SELECT * FROM (SELECT user_id k FROM orders) d JOIN (SELECT id j FROM users) e ON k = j) f \
         WHERE j = 5",
    );
    goes_to(11, "SELECT * FROM (SELECT id, COUNT(*) c FROM users GROUP BY id HAVING c > 1) d WHERE id = 5");
}

#[test]
fn derived_tables_are_joined_by_the_columns_behind_theirs() {
    for join in [
        "(SELECT user_id k, COUNT(*) FROM orders GROUP BY user_id) d ON d.k = u.id WHERE u.id = 5",
        "(SELECT user_id k, SUM(state) FROM orders GROUP BY state, k) d ON d.k = u.id WHERE d.k = 5",
        "(SELECT * FROM orders) d ON u.id = d.user_id AND u.id = 5",
    ] {
        let sql = format!("SELECT * FROM users u JOIN {join}");
        if join.contains("BY state, k") {
            // Servers differ in what the name of an alias is there.
            is_refused(&sql);
        } else {
            goes_to(11, &sql);
        }
    }
    goes_to(
        11,
        "SELECT * FROM users u LEFT JOIN (SELECT user_id k FROM orders GROUP BY user_id) d ON u.id = d.k \
         WHERE u.id = 5",
    );
    goes_to(11, "SELECT * FROM users u JOIN (SELECT user_id AS id FROM orders) d USING (id) WHERE u.id = 5");
    let sql = "SELECT * FROM users u LEFT JOIN (SELECT user_id k, COUNT(*) n FROM orders GROUP BY user_id) d \
               ON d.k = u.id";
    let Plan::Many(scatter) = planned(sql, &[]) else { panic!("{sql}") };
    assert_eq!(scatter.branches.len(), 4);
}

#[test]
fn a_column_that_no_derived_table_has_is_of_a_table() {
    goes_to(
        11,
        "SELECT * FROM users, (SELECT user_id u, MAX(name) m FROM orders WHERE user_id = 9 GROUP BY u) d \
         WHERE id = 5 AND d.u = 9",
    );
}

#[test]
fn a_condition_says_nothing_of_rows_that_other_rows_depend_on() {
    for derived in [
        "SELECT id FROM users LIMIT 3",
        "SELECT id, ROW_NUMBER() OVER (ORDER BY id) FROM users",
        "SELECT id, @a := @a + 1 FROM users",
        "SELECT MAX(id) AS id FROM users",
        "SELECT id, COUNT(*) FROM users",
        "SELECT id, COUNT(*) FROM users GROUP BY state",
        "SELECT state AS id FROM users GROUP BY state",
        "SELECT id FROM users HAVING id > 3",
        "SELECT id + 0 AS id FROM users",
        "SELECT id, name AS id FROM users",
        "SELECT u.* FROM users u, orders o WHERE u.id = o.id",
        "SELECT id FROM users UNION SELECT id FROM users",
        "SELECT id FROM users GROUP BY id WITH ROLLUP",
        "WITH c AS (SELECT 5 AS id) SELECT id FROM users",
    ] {
        needs_all(&format!("SELECT * FROM ({derived}) d WHERE d.id = 5"));
        needs_all(&format!("SELECT * FROM ({derived}) d WHERE id = 5"));
        is_refused(&format!("SELECT * FROM orders o JOIN ({derived}) d ON d.id = o.user_id"));
    }
    for from in [
        "FROM (SELECT id FROM users) d (other) WHERE id = 5",
        "FROM (SELECT id FROM users) d WHERE D.id = 5",
        "FROM (SELECT id FROM users) d, (SELECT id FROM orders) e WHERE id = 5",
        "FROM (SELECT id FROM users) d WHERE id = 5 OR id = 9",
        "FROM (SELECT id FROM users) d LEFT JOIN countries c ON d.id = 5",
    ] {
        needs_all(&format!("SELECT * {from}"));
    }
}

#[test]
fn each_shard_makes_derived_tables_of_its_own_rows() {
    for sql in [
        "SELECT d.name FROM (SELECT * FROM users ORDER BY id) d WHERE d.state > 3",
        "SELECT k, n + 1 FROM (SELECT user_id k, COUNT(*) n FROM orders GROUP BY user_id) d WHERE n > 1",
        "SELECT k, SUM(n) FROM (SELECT user_id k, state n FROM orders) d GROUP BY k",
        "SELECT DISTINCT e.k FROM (SELECT k FROM (SELECT DISTINCT user_id k, state FROM orders) d) e",
        "SELECT * FROM countries c JOIN (SELECT id, state FROM users) d ON c.id = d.state",
    ] {
        let Plan::Many(scatter) = planned(sql, &[]) else { panic!("{sql}") };
        assert_eq!(scatter.branches.len(), 4, "{sql}");
        assert!(scatter.branches.iter().all(|branch| branch.text.is_none()), "{sql}");
    }
}

#[test]
fn rows_are_merged_by_columns_of_derived_tables() {
    let sql = "SELECT d.n FROM (SELECT name n, id FROM users) d ORDER BY n DESC, d.id LIMIT 2";
    let Plan::Many(scatter) = planned(sql, &[]) else { panic!("{sql}") };
    let expected = "SELECT d.n, WEIGHT_STRING(`d`.`n`) AS `pointsman_key_0`, `d`.`id` AS `pointsman_key_1` \
                    FROM (SELECT name n, id FROM users) d ORDER BY n DESC, d.id LIMIT 2";
    assert_eq!(text(&scatter.branches[0]), Some(expected));
}

#[test]
fn derived_tables_of_rows_of_several_shards_are_refused() {
    for sql in [
        "SELECT id FROM (SELECT id FROM users LIMIT 3) d",
        "SELECT n FROM (SELECT COUNT(*) n FROM users) d",
        "SELECT n FROM (SELECT state, COUNT(*) n FROM users GROUP BY state) d",
        "SELECT state FROM (SELECT DISTINCT state FROM users) d",
        "SELECT n FROM (SELECT ROW_NUMBER() OVER (PARTITION BY state) n FROM users) d",
        "SELECT id FROM (SELECT id FROM users UNION ALL SELECT id FROM users) d",
        "SELECT COUNT(*) FROM (SELECT id FROM users) d",
        "SELECT state, COUNT(*) FROM (SELECT state FROM users) d GROUP BY state",
        "SELECT id FROM (SELECT id FROM users) d ORDER BY id + 1",
        "SELECT c.id FROM countries c LEFT JOIN (SELECT id FROM users) d ON c.id = d.id",
        "SELECT d.id FROM (SELECT c.id FROM countries c LEFT JOIN users u ON c.id = u.id) d",
        // Each shard has rows without a key.
        "SELECT k, 1 FROM (SELECT o.user_id k FROM users u LEFT JOIN orders o ON o.user_id = u.id) d GROUP BY k",
        "SELECT d.k FROM users u LEFT JOIN (SELECT user_id k FROM orders) d ON d.k = u.id GROUP BY d.k",
        "SELECT DISTINCT e.k FROM (SELECT d.k FROM users u LEFT JOIN (SELECT user_id k FROM orders) d ON d.k = u.id) e",
    ] {
        is_refused(sql);
    }
}
