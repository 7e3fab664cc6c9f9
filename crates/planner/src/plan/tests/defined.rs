//! Statements that define tables.

use super::changed::hostgroups;
use super::refused::is_refused;
use super::*;

/// Goes to each node as it is.
fn goes_to_each(sql: &str) {
    let Plan::Each(branches) = planned(sql, &[]) else { panic!("{sql}: {:?}", planned(sql, &[])) };
    assert_eq!(hostgroups(&branches), [10, 11, 12, 13], "{sql}");
    assert!(branches.iter().all(|branch| branch.text.is_none()), "{sql}");
}

#[test]
fn tables_are_defined_at_each_node() {
    for sql in [
        "CREATE TABLE users (id INT PRIMARY KEY, name TEXT UNIQUE CHECK (name > ''))"
            .replace(" UNIQUE", "")
            .as_str(),
        "CREATE TABLE IF NOT EXISTS orders (id INT, user_id INT, PRIMARY KEY (id, user_id DESC), \
         CONSTRAINT f FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE)",
        "CREATE TABLE users (id INT KEY, state INT REFERENCES countries (id))",
        "ALTER TABLE users ADD COLUMN (a INT, b INT), DROP KEY id, DROP COLUMN a, RENAME INDEX id TO x",
        "ALTER TABLE users ADD UNIQUE KEY u (name, id), MODIFY name INT NOT NULL",
        "CREATE UNIQUE INDEX u ON users (name, id)",
        "CREATE INDEX u ON users (name)",
        "DROP INDEX u ON users",
        "DROP TABLE IF EXISTS users, orders",
        "TRUNCATE users",
        "TRUNCATE TABLE countries",
        "CREATE TABLE countries (id INT UNIQUE)",
        "CREATE TABLE users LIKE tickets",
    ] {
        goes_to_each(sql);
    }
    let Plan::Each(branches) = planned("CREATE TABLE events (user_id INT PRIMARY KEY)", &[]) else {
        panic!()
    };
    assert_eq!(text(&branches[3]), Some("CREATE TABLE `shop`.`events_3` (user_id INT PRIMARY KEY)"));
}

#[test]
fn keys_that_hold_within_a_shard_only_are_refused() {
    is_refused("CREATE TABLE orders (id INT PRIMARY KEY, user_id INT)", Cause::Unique, "id INT PRIMARY KEY");
    is_refused(
        "CREATE TABLE orders (a INT, UNIQUE u (user_id(10)))",
        Cause::Unique,
        "UNIQUE u (user_id(10))",
    );
    is_refused("CREATE TABLE users (id INT, UNIQUE ((id + 1)))", Cause::Unique, "UNIQUE ((id + 1))");
    is_refused(
        "CREATE TABLE users (a INT UNIQUE CHECK (id > 1))",
        Cause::Unique,
        "a INT UNIQUE CHECK (id > 1)",
    );
    is_refused(
        "ALTER TABLE users ADD id2 INT, ADD CONSTRAINT PRIMARY KEY (id2)",
        Cause::Unique,
        "CONSTRAINT PRIMARY KEY (id2)",
    );
    is_refused("CREATE UNIQUE INDEX u ON users (name)", Cause::Unique, "(name)");
    is_refused("CREATE TABLE orders LIKE users", Cause::Unique, "users");
    let foreign = |sql: &str, part| is_refused(sql, Cause::Foreign, part);
    foreign(
        "ALTER TABLE users ADD FOREIGN KEY (name) REFERENCES users (id)",
        "FOREIGN KEY (name) REFERENCES users (id)",
    );
    foreign("ALTER TABLE events ADD a INT REFERENCES users (id)", "a INT REFERENCES users (id)");
    foreign(
        "ALTER TABLE countries ADD FOREIGN KEY (a) REFERENCES users (id)",
        "FOREIGN KEY (a) REFERENCES users (id)",
    );
    is_refused(
        "CREATE TABLE users (id INT, /*!50000 PRIMARY KEY (id) */)",
        Cause::Conditional,
        "PRIMARY KEY (id)",
    );
}

#[test]
fn keys_and_names_of_tables_stay() {
    let key = |sql: &str, part| is_refused(sql, Cause::Key, part);
    key("ALTER TABLE users DROP id", "DROP id");
    key("ALTER TABLE users ADD a INT, CHANGE COLUMN `ID` b INT", "CHANGE COLUMN `ID` b INT");
    key("ALTER TABLE users RENAME COLUMN id TO b", "RENAME COLUMN id TO b");
    key("ALTER TABLE users WAIT 5 MODIFY COLUMN id BIGINT", "MODIFY COLUMN id BIGINT");
    is_refused("RENAME TABLE users TO people", Cause::Rename, "users");
    is_refused("ALTER TABLE users RENAME TO people", Cause::Rename, "RENAME TO people");
    is_refused("ALTER TABLE prices ENGINE=Aria, RENAME people", Cause::Rename, "RENAME people");
    is_refused("CREATE TABLE users AS SELECT 1 AS id", Cause::Gather, "SELECT 1 AS id");
    is_refused("DROP TABLE users, countries", Cause::ServersDiffer, "countries");
    is_refused("DROP TABLE users, settings", Cause::ServersDiffer, "settings");
    is_refused(
        "CREATE TEMPORARY TABLE users (id INT)",
        Cause::Statement,
        "CREATE TEMPORARY TABLE users (id INT)",
    );
}

#[test]
fn answers_of_all_nodes_follow_one_another() {
    let Plan::Many(scatter) = planned("ANALYZE TABLE events", &[]) else { panic!() };
    assert_eq!(hostgroups(&scatter.branches), [10, 11, 12, 13]);
    assert_eq!(text(&scatter.branches[0]), Some("ANALYZE TABLE `shop`.`events_0`"));
}
