//! Statements that neither way executes, and the part of each that is the reason.

use super::*;

pub(super) fn is_refused(sql: &str, cause: Cause, part: &str) {
    match planned(sql, &[]) {
        Plan::Refused(refusal) => {
            let named = &sql[refusal.span.start..refusal.span.end];
            assert_eq!((refusal.cause, named), (cause, part), "{sql}");
        }
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn groups_over_several_shards_are_refused() {
    is_refused("SELECT COUNT(*) FROM users", Cause::Aggregate, "COUNT(*)");
    is_refused("SELECT MAX(id) + 1 FROM users WHERE id > 5", Cause::Aggregate, "MAX(id)");
    is_refused("SELECT state FROM orders GROUP BY state", Cause::Group, "GROUP BY state");
    is_refused("SELECT DISTINCT state FROM orders", Cause::Distinct, "DISTINCT");
    is_refused("SELECT RANK() OVER (ORDER BY id) FROM orders", Cause::Window, "RANK() OVER (ORDER BY id)");
    is_refused(
        "SELECT user_id FROM orders GROUP BY user_id WITH ROLLUP",
        Cause::Clause,
        "GROUP BY user_id WITH ROLLUP",
    );
}

#[test]
fn equalities_that_lead_one_way_join_nothing_else() {
    is_refused(
        "SELECT o.id, p.id FROM orders o JOIN orders p ON p.state = o.state \
         LEFT JOIN users u ON u.id = o.user_id AND u.id = p.user_id",
        Cause::NotColocated,
        "orders",
    );
    is_refused(
        "SELECT o.id FROM orders o WHERE EXISTS (SELECT 1 FROM orders p WHERE NOT EXISTS \
         (SELECT 1 FROM users u WHERE u.id = p.user_id AND u.id = o.user_id))",
        Cause::NotColocated,
        "orders",
    );
}

#[test]
fn values_that_differ_between_servers_are_refused_where_all_have_the_row() {
    is_refused("UPDATE countries SET name = SYSDATE() WHERE id = 5", Cause::Function, "SYSDATE");
    is_refused("INSERT INTO countries (id, name) VALUES (1, UUID())", Cause::Function, "UUID");
    is_refused(
        "UPDATE countries c JOIN codes k ON k.id = c.id SET c.name = k.name",
        Cause::SomeRows,
        "codes",
    );
    is_refused(
        "INSERT INTO users (id, state) VALUES (5, LAST_INSERT_ID())",
        Cause::Function,
        "LAST_INSERT_ID()",
    );
}

#[test]
fn tables_that_are_not_joined_by_their_keys_are_refused() {
    is_refused("SELECT * FROM users u JOIN orders o ON u.id = o.id", Cause::NotColocated, "orders");
    is_refused("SELECT * FROM users u JOIN events e ON u.id = e.user_id", Cause::NotColocated, "events");
    is_refused("SELECT * FROM users WHERE id IN (SELECT user_id FROM orders)", Cause::NotColocated, "orders");
    is_refused(
        "SELECT c FROM (SELECT COUNT(*) c FROM orders) d",
        Cause::NotColocated,
        "SELECT c FROM (SELECT COUNT(*) c FROM orders) d",
    );
    is_refused("SELECT * FROM users JOIN settings", Cause::ServersDiffer, "settings");
    is_refused("SELECT * FROM users JOIN prices", Cause::ServersDiffer, "prices");
}

#[test]
fn orders_that_cannot_be_merged_are_refused() {
    is_refused("SELECT id FROM users ORDER BY data", Cause::Order, "data");
    is_refused("SELECT id FROM users ORDER BY id + 1", Cause::Order, "id + 1");
    is_refused("SELECT *, name FROM users ORDER BY 2", Cause::Order, "2");
    is_refused(
        "SELECT id FROM users UNION SELECT id FROM users",
        Cause::SetOperation,
        "SELECT id FROM users UNION SELECT id FROM users",
    );
    is_refused("SELECT id FROM users INTO @a", Cause::Clause, "INTO @a");
    is_refused("SELECT id FROM users LIMIT ?", Cause::Limit, "?");
}

#[test]
fn changes_of_keys_are_refused() {
    is_refused("UPDATE users SET ID = 7 WHERE id = 5", Cause::Key, "ID");
    is_refused("LOCK TABLES users READ", Cause::Statement, "LOCK TABLES users READ");
    is_refused("LOCK TABLES countries WRITE", Cause::Statement, "countries");
    is_refused("EXPLAIN UPDATE countries SET name = 1", Cause::Statement, "countries");
    is_refused(
        "WITH RECURSIVE users AS (SELECT * FROM users) SELECT * FROM users",
        Cause::AmbiguousName,
        "users",
    );
}

#[test]
fn each_row_needs_a_row_of_a_sharded_table() {
    let sql = "SELECT * FROM countries c LEFT JOIN users u ON u.state = c.id";
    is_refused(sql, Cause::NotColocated, sql);
    // Of users without an order each shard has a group NULL.
    is_refused(
        "SELECT o.user_id, COUNT(*) FROM users u LEFT JOIN orders o ON u.id = o.user_id GROUP BY o.user_id",
        Cause::Group,
        "GROUP BY o.user_id",
    );
}

#[test]
fn aggregates_of_a_block_around_are_found() {
    is_refused(
        "SELECT (SELECT SUM(u.id) FROM countries LIMIT 1) FROM users u",
        Cause::Aggregate,
        "SUM(u.id)",
    );
}

#[test]
fn a_hidden_column_must_not_undo_distinct() {
    is_refused("SELECT DISTINCT user_id FROM orders ORDER BY id", Cause::Order, "id");
    is_refused("SELECT DISTINCT user_id, name FROM orders ORDER BY name", Cause::Order, "name");
}

#[test]
fn what_has_another_value_at_each_shard_is_refused() {
    is_refused("SELECT RAND(3) FROM users", Cause::Function, "RAND");
    is_refused("SELECT DATABASE() FROM users", Cause::Function, "DATABASE");
    is_refused("SELECT @n := 1 FROM users", Cause::Function, "@n");
    is_refused("SELECT my_own(id) FROM users", Cause::Function, "my_own");
    is_refused("SELECT s.my_own(id) FROM users", Cause::Function, "s.my_own");
    is_refused("SELECT GET_LOCK('a', 1) FROM users", Cause::Function, "GET_LOCK");
    is_refused("SELECT * FROM users FOR UPDATE", Cause::Locks, "FOR UPDATE");
    is_refused(
        "WITH c AS (SELECT GET_LOCK('a', 1) AS n) SELECT * FROM users JOIN countries",
        Cause::Function,
        "GET_LOCK",
    );
}

#[test]
fn what_a_session_gets_is_not_set_at_a_server() {
    is_refused(
        "SET @a = (SELECT name FROM users WHERE id = 5)",
        Cause::Statement,
        "SET @a = (SELECT name FROM users WHERE id = 5)",
    );
    is_refused("DO (SELECT 1 FROM users)", Cause::Statement, "DO (SELECT 1 FROM users)");
}

#[test]
fn names_whose_meaning_depends_on_the_server_are_refused() {
    is_refused("SELECT * FROM USERS WHERE id = 5", Cause::AmbiguousName, "USERS");
    is_refused("WITH Users AS (SELECT 1) SELECT * FROM users WHERE id = 5", Cause::AmbiguousName, "users");
    is_refused("SHOW COLUMNS FROM prices FROM other", Cause::AmbiguousName, "prices");
}

#[test]
fn names_that_cannot_be_replaced_are_refused() {
    // A column of the table around, or one of a derived table.
    is_refused(
        "DELETE FROM events WHERE user_id = 5 AND id IN (SELECT events.id FROM (SELECT 1 AS id) events)",
        Cause::Statement,
        "events",
    );
}
