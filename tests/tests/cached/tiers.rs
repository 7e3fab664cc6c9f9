//! Two proxies with caches one behind the other, and a cache whose server is gone.

use e2e::{Backend, Proxy, Setup, WAIT_MAX, admin, run};
use testkit::client::{Client, Value};
use testkit::server::PASSWORD;
use tokio::time::{Instant, sleep};

use super::{USER, connect, rule, setup, value};

/// The result and the detail of the step `cache` for a statement.
async fn explained(client: &mut Client, sql: &str) -> [String; 2] {
    let rows = client.query(&format!("EXPLAIN ROUTE {sql}")).await.unwrap().text().unwrap();
    let row = rows.into_iter().find(|row| row[0].as_deref() == Some("cache")).expect("a step `cache`");
    [row[1].clone().unwrap(), row[2].clone().unwrap()]
}

/// The age of the answer that is there, in seconds.
async fn age(client: &mut Client, sql: &str) -> f64 {
    let [result, detail] = explained(client, sql).await;
    assert_eq!(result, "hit", "{detail}");
    let age = detail.strip_prefix("age ").and_then(|rest| rest.split(' ').next());
    age.and_then(|age| age.parse().ok()).unwrap_or_else(|| panic!("no age in {detail}"))
}

/// A proxy in front of another one, with a rule that caches reads this long. `more` is what else
/// the row of its server has.
fn before(server: &Backend, inner: &Proxy, ttl_ms: u32, more: &str) -> Proxy {
    let address = inner.tcp();
    let at = format!("hostname = \"{}\"\nport = {}\n{more}", address.ip(), address.port());
    Setup::new(&server.sandbox)
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .one_thread()
        .row("mysql_servers", &at)
        .row("mysql_query_rules", &rule(ttl_ms, ""))
        .user(USER, PASSWORD, "")
        .start()
}

pub(super) fn an_answer_keeps_its_age_in_the_outer_cache(server: &Backend) {
    server.sql("REPLACE INTO test.kept VALUES (20, 'one', now()), (21, 'two', now())");
    let inner = setup(server, "").one_thread().start();
    let (outer, strict) = (before(server, &inner, 600_000, ""), before(server, &inner, 1000, ""));
    run(async {
        let mut near = connect(&inner, USER).await;
        let mut far = connect(&outer, USER).await;
        let sql = "SELECT a FROM kept WHERE id = 20";
        // Definitions are learnt behind the first statement with a table.
        for client in [&mut far, &mut near] {
            assert_eq!(value(client, "SELECT a FROM kept WHERE id = 21").await, "two");
        }
        assert_eq!(value(&mut near, sql).await, "one");
        while age(&mut near, sql).await < 1.0 {
            sleep(WAIT_MAX / 1000).await;
        }
        server.sql("UPDATE test.kept SET a = 'changed' WHERE id = 20");
        let result = far.query(sql).await.unwrap();
        assert_eq!((result.first().as_deref(), result.session_state), (Some("one"), Vec::new()));
        assert!(age(&mut far, sql).await >= 1.0, "it was stored as new");
        assert_eq!(value(&mut far, sql).await, "one");
        // A shorter time to live than the age that it has.
        let mut strict_client = connect(&strict, USER).await;
        assert_eq!(value(&mut strict_client, "SELECT a FROM kept WHERE id = 21").await, "two");
        assert_eq!(value(&mut strict_client, sql).await, "one");
        let mut operator = admin::connect(&strict).await;
        let not_stored = "SELECT COUNT(*) FROM stats_pointsman_cache WHERE not_stored LIKE '%as old as%'";
        admin::wait_for_value(&mut operator, not_stored, "1").await;
    });
}

pub(super) fn executions_pass_both_caches(server: &Backend) {
    for compression in ["", "compression = 1"] {
        execute_through_both(server, compression);
    }
}

fn execute_through_both(server: &Backend, compression: &str) {
    server.sql("REPLACE INTO test.kept VALUES (22, 'one', now())");
    let inner = setup(server, "").one_thread().start();
    let outer = before(server, &inner, 600_000, compression);
    run(async {
        let (mut near, mut far) = (connect(&inner, USER).await, connect(&outer, USER).await);
        let mut rows = Vec::new();
        for client in [&mut near, &mut far] {
            let read = client.prepare("SELECT a FROM kept WHERE id = ?").await.unwrap();
            for _ in 0..4 {
                let result = client.execute(&read, &[Value::Int(22)]).await.unwrap();
                assert_eq!(result.session_state, Vec::<u8>::new());
                rows.push(result.rows);
            }
            // From here on, what comes from the server is something else.
            server.sql("UPDATE test.kept SET a = 'changed' WHERE id = 22");
        }
        assert!(rows.iter().all(|one| *one == rows[0]), "{rows:?}");
        let mut operator = admin::connect(&outer).await;
        let hits = "SELECT SUM(hits) > 0 FROM stats_pointsman_cache";
        admin::wait_for_value(&mut operator, hits, "1").await;
    });
}

#[test]
fn a_stale_answer_is_served_until_its_time_is_over_if_the_server_is_killed() {
    let mut server = super::prepared(Backend::start(&[]));
    server.sql("REPLACE INTO test.kept VALUES (1, 'one', now())");
    let stale = r#"{"cache": {"stale_if_error_ms": 3000}}"#;
    let proxy = Setup::new(&server.sandbox)
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .variable("connect_timeout_server_max", 500)
        .server(&server.server, "")
        .row("mysql_query_rules", &rule(500, stale))
        .user(USER, PASSWORD, "")
        .start();
    run(async {
        let mut client = connect(&proxy, USER).await;
        let mut operator = admin::connect(&proxy).await;
        let sql = "SELECT a FROM kept WHERE id = 1";
        let stored = "SELECT SUM(stored) FROM stats_pointsman_cache";
        while admin::value(&mut operator, stored).await != "1" {
            assert_eq!(value(&mut client, sql).await, "one");
        }
        server.server.kill().unwrap();
        let deadline = Instant::now() + WAIT_MAX;
        let error = loop {
            assert!(Instant::now() < deadline, "it is served for ever");
            match client.query(sql).await {
                Ok(result) => assert_eq!(result.first().as_deref(), Some("one")),
                Err(error) => break error,
            }
        };
        assert_eq!(error.code(), Some(9001), "{error}");
        let stale = "SELECT SUM(stale) > 0 FROM stats_pointsman_cache";
        assert_eq!(admin::value(&mut operator, stale).await, "1");
    });
}
