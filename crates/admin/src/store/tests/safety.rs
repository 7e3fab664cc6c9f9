//! What SQL may do, and what it may not.

use super::*;

#[test]
fn any_sql_runs() {
    let (mut store, _) = store();
    for (sql, answer) in [
        ("SELECT 1, 'x', NULL, 1.5, 2.0, 0.1+0.2", "1|x|NULL|1.5|2.0|0.3"),
        ("SELECT 1; DELETE FROM global_variables", "1"),
        ("", "OK 0"),
        ("CREATE TABLE mine (a INT)", "OK 0"),
        ("INSERT INTO mine VALUES (1),(2)", "OK 2"),
        ("UPDATE mine SET a=a+1 WHERE a=2", "OK 1"),
        ("DELETE FROM mine", "OK 2"),
        ("DROP TABLE mine", "OK 0"),
        ("BEGIN", "OK 0"),
        ("SELECT json_extract('{\"a\":2}','$.a')", "2"),
        ("SELEC", "ERROR 1045 ProxySQL Admin Error: near \"SELEC\": syntax error"),
        ("SELECT * FROM nowhere", "ERROR 1045 ProxySQL Admin Error: no such table: nowhere"),
        (
            "INSERT INTO mysql_servers (hostname, port) VALUES ('a', 70000)",
            "ERROR 1045 ProxySQL Admin Error: CHECK constraint failed: port >= 0 AND port <= 65535",
        ),
    ] {
        assert_eq!(store.sql(sql), answer, "{sql}");
    }
    assert!(store.connection().is_autocommit());
}

#[test]
fn statistics_accounts_read_statistics_only() {
    let (mut store, _) = store();
    let mut sql = |sql: &str| shown(store.query(sql, Rights::Stats));
    assert_eq!(sql("SELECT * FROM global_variables"), "mysql-max_allowed_packet|4194304");
    assert_eq!(sql("SELECT * FROM stats_mysql_global"), "");
    for refused in [
        "SELECT * FROM mysql_users",
        "SELECT * FROM main.mysql_users",
        "SELECT * FROM disk.mysql_users",
        "DELETE FROM stats_mysql_global",
        "CREATE TABLE x (a)",
        "PRAGMA query_only=0",
        "ATTACH ':memory:' AS x",
        "DETACH monitor",
    ] {
        let answer = sql(refused);
        assert!(answer.starts_with("ERROR 1045 ProxySQL Admin Error: "), "{refused}: {answer}");
    }
}

#[test]
fn statistics_accounts_read_the_history() {
    let (mut store, _) = store();
    let folder = tempfile::tempdir().unwrap();
    let mut on_disk = Store::open(Some(folder.path())).unwrap();
    for store in [&mut store, &mut on_disk] {
        for table in ["stats_history.mysql_connections", "mysql_connections"] {
            let sql = format!("SELECT count(*) FROM {table}");
            assert_eq!(shown(store.query(&sql, Rights::Stats)), "0", "{sql}");
            assert_eq!(store.sql(&sql), "0", "{sql}");
        }
    }
}

#[test]
fn both_kinds_of_accounts_see_one_set_of_statistics() {
    let (mut store, _) = store();
    store.refill("stats_mysql_global", [vec!["Questions".to_owned().into(), "7".to_owned().into()]]).unwrap();
    let sql = "SELECT * FROM stats_mysql_global";
    assert_eq!(shown(store.query(sql, Rights::Stats)), "Questions|7");
    assert_eq!(store.sql(sql), "Questions|7");
    let (mut other, _) = super::store();
    assert_eq!(other.sql(sql), "");
}

#[test]
fn admins_cannot_break_what_commands_work_on() {
    let (mut store, _) = store();
    for refused in [
        "DROP TABLE mysql_users",
        "DROP TABLE disk.mysql_users",
        "DROP TABLE stats_mysql_query_digest",
        "DROP TABLE stats.stats_pointsman_digest_latency",
        "ALTER TABLE stats_mysql_query_digest RENAME TO x",
        "CREATE VIRTUAL TABLE disk.mine USING memtable (a)",
        "ALTER TABLE mysql_users ADD COLUMN x",
        "ALTER TABLE main.mysql_users RENAME TO y",
        "CREATE TRIGGER t AFTER DELETE ON mysql_users BEGIN SELECT 1; END",
        "CREATE UNIQUE INDEX i ON mysql_users (comment)",
        "DETACH disk",
        "PRAGMA query_only=1",
        "PRAGMA writable_schema=1",
        "PRAGMA max_page_count=1",
        "PRAGMA disk.journal_mode=OFF",
        "SELECT load_extension('x')",
        "SELECT length(zeroblob(1000000000))",
    ] {
        let answer = store.sql(refused);
        assert!(answer.starts_with("ERROR 1045 ProxySQL Admin Error: "), "{refused}: {answer}");
    }
    for allowed in ["PRAGMA table_info(mysql_users)", "PRAGMA main.user_version", "PRAGMA integrity_check"] {
        assert!(!store.sql(allowed).starts_with("ERROR"), "{allowed}");
    }
    assert!(store.moved(Module::MysqlUsers, Move::MemoryToDisk).starts_with("OK"));
}

#[test]
fn read_only_is_for_statements() {
    let (mut store, _) = store();
    store.set_read_only(true);
    let refused = "ERROR 1045 ProxySQL Admin Error: attempt to write a readonly database";
    assert_eq!(store.sql("INSERT INTO mysql_users (username) VALUES ('u')"), refused);
    assert_eq!(shown(store.set_variable("mysql-threads", "1", Rights::Admin)), refused);
    assert_eq!(store.sql("SELECT COUNT(*) FROM mysql_users"), "0");
    store.set_read_only(false);
    assert_eq!(store.sql("INSERT INTO mysql_users (username) VALUES ('u')"), "OK 1");
}

#[test]
fn schemas_have_their_tables() {
    let (mut store, _) = store();
    for (schema, proxysql) in
        [("main", 38), ("disk", 19), ("stats", 25), ("monitor", 9), ("stats_history", 20)]
    {
        let sql = format!(
            "SELECT COUNT(*) FROM {schema}.sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%' \
             AND name NOT LIKE '%pointsman_%' AND name NOT LIKE '%pgsql_%'"
        );
        assert_eq!(store.sql(&sql), proxysql.to_string(), "{schema}");
    }
    for (prefix, count) in [("mysql-", 172), ("admin-", 52), ("sqliteserver-", 2)] {
        let sql = format!("SELECT COUNT(*) FROM global_variables WHERE variable_name LIKE '{prefix}%'");
        assert_eq!(store.sql(&sql), count.to_string(), "{prefix}");
    }
    assert_eq!(store.sql("SELECT Collation FROM mysql_collations WHERE Id=33"), "utf8_general_ci");
}
