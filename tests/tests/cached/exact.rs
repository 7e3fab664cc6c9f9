//! What is in an answer or beside it that its text does not tell: `FOUND_ROWS()`, the expressions
//! of columns' defaults, rows that are not committed.

use e2e::{Backend, Proxy, Setup, run};
use testkit::client::{Client, Options, Value};
use testkit::server::PASSWORD;

use super::{USER, connect, proxy, setup, value};

const OWN: &str = r#"{"cache": {"mode": "own"}}"#;

/// Reads behind which `FOUND_ROWS()` is not always the number of rows.
const COUNTED: [&str; 8] = [
    "SELECT id FROM counted ORDER BY id LIMIT 1 OFFSET 1",
    "SELECT id FROM counted LIMIT 1, 5",
    "SELECT id FROM counted LIMIT 5 OFFSET 9",
    "SELECT id FROM counted LIMIT 2",
    "SELECT id FROM counted WHERE id > 9",
    "SELECT id FROM counted UNION ALL SELECT id FROM counted LIMIT 2",
    "SELECT id FROM counted UNION SELECT id FROM counted",
    "(SELECT id FROM counted ORDER BY id LIMIT 1 OFFSET 1)",
];

pub(super) fn found_rows_behind_an_answer_from_the_cache_is_the_servers(server: &Backend) {
    server.sql(
        "DROP TABLE IF EXISTS test.counted; CREATE TABLE test.counted (id INT PRIMARY KEY); \
         INSERT INTO test.counted VALUES (1), (2), (3)",
    );
    let proxy = proxy(server, "");
    run(async {
        let direct = Options::tcp(server.server.address(), USER, PASSWORD).schema("test");
        let mut direct = Client::connect(&direct).await.unwrap();
        let (mut client, mut filling) = (connect(&proxy, USER).await, connect(&proxy, USER).await);
        for limit in ["DEFAULT", "2"] {
            for client in [&mut client, &mut filling, &mut direct] {
                client.query(&format!("SET sql_select_limit = {limit}")).await.unwrap();
            }
            for sql in COUNTED {
                let rows = direct.query(sql).await.unwrap().rows;
                let found = value(&mut direct, "SELECT FOUND_ROWS()").await;
                for times in 1..4 {
                    // Definitions and defaults are asked for in between, of which MySQL warns.
                    let mut fresh = connect(&proxy, USER).await;
                    fresh.query(&format!("SET sql_select_limit = {limit}")).await.unwrap();
                    for _ in 0..times {
                        fresh.query(sql).await.unwrap();
                    }
                    assert_eq!(value(&mut fresh, "SELECT FOUND_ROWS()").await, found, "{sql}, fresh");
                }
                for _ in 0..4 {
                    // MySQL warns of `FOUND_ROWS()`: while there are warnings nothing is stored.
                    assert_eq!(filling.query(sql).await.unwrap().rows, rows, "{sql}");
                    assert_eq!(client.query(sql).await.unwrap().rows, rows, "{sql}");
                    assert_eq!(value(&mut client, "SELECT FOUND_ROWS()").await, found, "{sql}");
                }
            }
        }
        client.query("SET sql_select_limit = DEFAULT").await.unwrap();
        let read =
            client.prepare("SELECT id FROM counted WHERE id > ? ORDER BY id LIMIT ? OFFSET ?").await.unwrap();
        for (offset, found) in [(0, "1"), (1, "2"), (2, "3"), (9, "3")] {
            for _ in 0..4 {
                let values = [Value::Int(0), Value::Int(1), Value::Int(offset)];
                client.execute(&read, &values).await.unwrap();
                assert_eq!(value(&mut client, "SELECT FOUND_ROWS()").await, found, "OFFSET {offset}");
            }
        }
        assert!(hits(&proxy).await >= 10, "little comes from the cache");
    });
}

/// How many answers have come from the cache.
async fn hits(proxy: &Proxy) -> u64 {
    let mut admin = e2e::admin::connect(proxy).await;
    let sum = "SELECT SUM(hits) FROM stats_pointsman_cache";
    value(&mut admin, sum).await.parse().unwrap()
}

/// MariaDB calls what is in a column's default; MySQL refuses to.
pub(super) fn the_default_of_a_column_is_what_it_is_now(server: &Backend) {
    if server.is_mysql() {
        return;
    }
    server.sql(
        "DROP TABLE IF EXISTS test.defaulted; \
         CREATE TABLE test.defaulted (id INT PRIMARY KEY, u VARCHAR(40) DEFAULT (UUID()), \
           w VARCHAR(100) DEFAULT (CURRENT_USER())); \
         INSERT INTO test.defaulted (id) VALUES (1); \
         CREATE OR REPLACE VIEW test.defaults AS SELECT id, DEFAULT(u) AS u FROM test.defaulted; \
         GRANT SELECT ON test.defaulted TO other@'127.0.0.1'; \
         GRANT SELECT ON test.defaults TO other@'127.0.0.1'",
    );
    let proxy = proxy(server, "");
    run(async {
        let (mut one, mut other) = (connect(&proxy, USER).await, connect(&proxy, "other").await);
        for sql in [
            "SELECT DEFAULT(u) FROM defaulted",
            "SELECT u FROM defaults",
            "SELECT default ( `u` ) FROM defaulted",
        ] {
            let mut seen = std::collections::HashSet::new();
            for _ in 0..4 {
                assert!(seen.insert(value(&mut one, sql).await), "{sql}");
            }
        }
        for _ in 0..3 {
            for (client, name) in [(&mut one, USER), (&mut other, "other")] {
                let who = value(client, "SELECT DEFAULT(w) FROM defaulted").await;
                assert!(who.starts_with(name), "{who} is not {name}");
            }
        }
    });
}

/// A time that meets a date becomes one of today. A session may say what today is.
pub(super) fn a_time_becomes_one_of_today(server: &Backend) {
    server.sql(
        "DROP TABLE IF EXISTS test.clock; \
         CREATE TABLE test.clock (id INT PRIMARY KEY, at TIME, since DATETIME); \
         INSERT INTO test.clock VALUES (1, '10:00:00', '2020-01-01 00:00:00'); \
         CREATE OR REPLACE VIEW test.clocks AS SELECT CAST(at AS DATETIME) AS x FROM test.clock",
    );
    let proxy = proxy(server, "");
    run(async {
        let mut admin = e2e::admin::connect(&proxy).await;
        let mut client = connect(&proxy, USER).await;
        for sql in
            ["SELECT CAST(at AS DATETIME) FROM clock", "SELECT at > since FROM clock", "SELECT x FROM clocks"]
        {
            for _ in 0..4 {
                client.query(sql).await.unwrap();
            }
        }
        let refused = "SELECT COUNT(*) FROM stats_pointsman_cache \
            WHERE refused LIKE '%another answer each time%' AND hits = 0";
        assert_eq!(value(&mut admin, refused).await, "3");
        for _ in 0..4 {
            client.query("SELECT at, id FROM clock WHERE id = 1").await.unwrap();
        }
        assert!(hits(&proxy).await >= 1, "what stays a time is cached");
    });
}

/// A server whose sessions begin with these settings, and a proxy in front of it.
fn with_defaults(server: Option<Backend>, settings: &str) -> Option<(Backend, Proxy)> {
    let server = super::prepared(server?);
    server.sql(settings);
    let own: Setup = setup(&server, OWN);
    let proxy = own.start();
    Some((server, proxy))
}

fn no_dirty_row_is_kept(server: Option<Backend>) {
    let Some((server, proxy)) =
        with_defaults(server, "SET GLOBAL TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")
    else {
        return;
    };
    server.sql("CREATE TABLE test.dirty (id INT PRIMARY KEY, v INT); INSERT INTO test.dirty VALUES (1, 10)");
    run(async {
        let sql = "SELECT v FROM dirty WHERE id = 1";
        let mut reader = connect(&proxy, USER).await;
        let direct = Options::tcp(server.server.address(), "boss", PASSWORD).schema("test");
        let mut writer = Client::connect(&direct).await.unwrap();
        // Definitions are learnt.
        assert_eq!(value(&mut reader, "SELECT v + 0 FROM dirty WHERE id = 1").await, "10");
        writer.query("BEGIN").await.unwrap();
        writer.query("UPDATE dirty SET v = 66").await.unwrap();
        for _ in 0..4 {
            assert_eq!(value(&mut reader, sql).await, "66", "the server's default is not as it should be");
        }
        writer.query("ROLLBACK").await.unwrap();
        assert_eq!(value(&mut reader, sql).await, "10");
        assert_eq!(hits(&proxy).await, 0);
    });
}

fn the_last_insert_is_each_sessions_own(server: Option<Backend>) {
    let Some((server, proxy)) = with_defaults(server, "SET GLOBAL sql_auto_is_null = 1") else { return };
    server.sql("CREATE TABLE test.numbered (id INT PRIMARY KEY AUTO_INCREMENT, v INT)");
    run(async {
        let (mut one, mut other) = (connect(&proxy, USER).await, connect(&proxy, USER).await);
        for client in [&mut one, &mut other] {
            // The writer's answers are gone.
            client.query("SELECT v FROM numbered WHERE id = 1").await.unwrap();
        }
        one.query("INSERT INTO numbered (v) VALUES (1)").await.unwrap();
        other.query("INSERT INTO numbered (v) VALUES (2)").await.unwrap();
        for _ in 0..3 {
            for (client, id) in [(&mut one, "1"), (&mut other, "2")] {
                let rows =
                    client.query("SELECT id FROM numbered WHERE id IS NULL").await.unwrap().text().unwrap();
                // Behind the first question servers know of no insert any more.
                assert!(rows.is_empty() || rows == [vec![Some(id.to_owned())]], "{rows:?} is not {id}");
            }
        }
        assert_eq!(hits(&proxy).await, 0);
    });
}

#[test]
fn mariadb_no_dirty_row_is_kept() {
    no_dirty_row_is_kept(Some(Backend::start(&[])));
}

#[test]
fn mysql_no_dirty_row_is_kept() {
    no_dirty_row_is_kept(Backend::start_mysql_or_skip(&[]));
}

#[test]
fn mariadb_the_last_insert_is_each_sessions_own() {
    the_last_insert_is_each_sessions_own(Some(Backend::start(&[])));
}

#[test]
fn mysql_the_last_insert_is_each_sessions_own() {
    the_last_insert_is_each_sessions_own(Backend::start_mysql_or_skip(&[]));
}
