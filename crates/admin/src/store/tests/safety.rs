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
    let mut statistics = store.take_statistics().unwrap();
    let mut sql = |sql: &str| shown(statistics.query(sql).0);
    assert_eq!(sql("SELECT * FROM global_variables"), "mysql-max_allowed_packet|4194304");
    assert_eq!(sql("SELECT * FROM stats_mysql_global"), "");
    for refused in [
        "SELECT * FROM mysql_users",
        "SELECT * FROM main.mysql_users",
        "SELECT * FROM disk.mysql_users",
        "DELETE FROM stats_mysql_global",
        "WITH x AS (SELECT 1) DELETE FROM stats_mysql_global",
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x (a)",
        "PRAGMA query_only=0",
        "PRAGMA temp_store_directory='/'",
        "ATTACH ':memory:' AS x",
        "VACUUM INTO '/tmp/x'",
        "VACUUM",
        "ANALYZE",
        "DETACH monitor",
    ] {
        let answer = sql(refused);
        assert!(answer.starts_with("ERROR 1045 ProxySQL Admin Error: "), "{refused}: {answer}");
    }
    assert_eq!(sql("BEGIN"), "OK 0");
    assert_eq!(sql("SELECT 1"), "1");
}

#[test]
fn statistics_accounts_read_the_history() {
    let (mut store, _) = store();
    let folder = tempfile::tempdir().unwrap();
    let mut on_disk = Store::open(Some(folder.path())).unwrap();
    for store in [&mut store, &mut on_disk] {
        let mut statistics = store.take_statistics().unwrap();
        for table in ["stats_history.mysql_connections", "mysql_connections"] {
            let sql = format!("SELECT count(*) FROM {table}");
            assert_eq!(shown(statistics.query(&sql).0), "0", "{sql}");
            assert_eq!(store.sql(&sql), "0", "{sql}");
        }
    }
}

#[test]
fn statistics_accounts_see_no_texts_of_the_history() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(Some(folder.path())).unwrap();
    let sql = "INSERT INTO stats_history.history_mysql_query_events (username, query, error) VALUES ('u', 'secret', 'e')";
    assert_eq!(store.sql(sql), "OK 1");
    let mut statistics = store.take_statistics().unwrap();
    for (sql, answer) in [
        ("SELECT username, query, error FROM history_mysql_query_events", "u|NULL|NULL"),
        ("SELECT e.QUERY FROM stats_history.history_mysql_query_events e", "NULL"),
        ("SELECT count(*) FROM history_mysql_query_events WHERE query LIKE 's%'", "0"),
        ("SELECT max(query) FROM (SELECT * FROM history_mysql_query_events)", "NULL"),
    ] {
        assert_eq!(shown(statistics.query(sql).0), answer, "{sql}");
    }
}

#[test]
fn statistics_accounts_have_tables_of_their_own() {
    let (mut store, _) = store();
    let row = || [vec!["Questions".to_owned().into(), "7".to_owned().into()]];
    let sql = "SELECT * FROM stats_mysql_global";
    let mut statistics = store.take_statistics().unwrap();
    store.filling().refill("stats_mysql_global", row()).unwrap();
    assert_eq!(shown(statistics.query(sql).0), "");
    statistics.filling().refill("stats_mysql_global", row()).unwrap();
    for sql in [sql, "SELECT * FROM main.stats_mysql_global", "SELECT * FROM stats.stats_mysql_global"] {
        assert_eq!(shown(statistics.query(sql).0), "Questions|7", "{sql}");
    }
    let (mut other, _) = super::store();
    assert_eq!(other.sql(sql), "");
    assert_eq!(shown(other.take_statistics().unwrap().query(sql).0), "");
}

/// Rows of 100,000 bytes each, so many.
fn large(rows: u32) -> String {
    format!(
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<{rows}) \
         SELECT hex(zeroblob(50000)) || x AS h FROM c"
    )
}

#[test]
fn statements_of_statistics_accounts_have_little_memory() {
    let (mut store, _) = store();
    let mut statistics = store.take_statistics().unwrap();
    for greedy in [
        large(100_000),
        format!("SELECT count(*) FROM ({} ORDER BY h)", large(100_000)),
        format!("SELECT count(*) FROM (SELECT DISTINCT h FROM ({}))", large(100_000)),
        format!("SELECT count(h) FROM (SELECT group_concat(h) AS h FROM ({}))", large(100_000)),
        "SELECT length(zeroblob(2000000))".to_owned(),
    ] {
        let answer = shown(statistics.query(&greedy).0);
        let is_refused = answer.contains("out of memory") || answer.contains("too big");
        assert!(is_refused, "{greedy}: {}", answer.get(..200).unwrap_or(&answer));
    }
    assert_eq!(shown(statistics.query("SELECT 1").0), "1");
}

#[test]
fn answers_that_are_not_read_yet_count() {
    let (mut store, _) = store();
    let mut statistics = store.take_statistics().unwrap();
    let (first, lease) = statistics.query(&large(150));
    assert!(matches!(first, Answer::Rows { .. }));
    let refused = shown(statistics.query(&large(150)).0);
    assert!(refused.contains("out of memory"), "{}", refused.get(..200).unwrap_or(&refused));
    drop(lease);
    assert!(matches!(statistics.query(&large(150)).0, Answer::Rows { .. }));
}

#[test]
fn files_are_attached_that_are_there_and_none_is_made() {
    let (mut store, _) = store();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (missing, there) = (path("missing"), path("there"));
    for refused in [
        format!("ATTACH '{missing}' AS x"),
        format!("ATTACH 'file:{missing}' AS x"),
        format!("ATTACH '{missing}' || '' AS x"),
        format!("VACUUM INTO '{missing}'"),
        format!("VACUUM disk INTO '{missing}'"),
    ] {
        let answer = store.sql(&refused);
        let is_refused = answer.contains("not authorized") || answer.contains("authorization denied");
        assert!(is_refused, "{refused}: {answer}");
        assert!(!std::path::Path::new(&missing).exists(), "{refused}");
    }
    std::fs::write(&there, b"").unwrap();
    assert_eq!(store.sql(&format!("VACUUM INTO '{there}'")), "OK 0");
    assert_eq!(store.sql(&format!("ATTACH '{there}' AS x")), "OK 0");
    assert_eq!(store.sql("SELECT count(*) > 100 FROM x.global_variables"), "1");
    assert_eq!(store.sql("DETACH x"), "OK 0");
    assert_eq!(store.sql("ATTACH ':memory:' AS x"), "OK 0");
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
