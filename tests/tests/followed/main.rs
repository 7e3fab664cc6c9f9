//! The query cache with a followed binary log, before real servers: answers in the modes `bounded`
//! and `strict` see what others write.

mod gate;
mod hanging;
mod large;
mod matrix;
mod replicating;
mod resume;
mod triggers;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup, admin, on_each_server, run};
use testkit::client::{Client, Options};
use testkit::server::PASSWORD;

const USER: &str = "plain";

static DB: LazyLock<Backend> =
    LazyLock::new(|| prepared(Backend::start(&["--log-bin=binlog", "--server-id=7"])));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| {
    let options = ["--log-bin=binlog", "--server-id=7", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
    Backend::start_mysql(&options).map(prepared)
});

fn prepared(server: Backend) -> Backend {
    let status = if server.is_mysql() { "REPLICATION CLIENT" } else { "BINLOG MONITOR" };
    server.sql(&format!(
        "CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON test.* TO {USER}@'127.0.0.1'; \
         CREATE USER watch@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         GRANT REPLICATION SLAVE, {status} ON *.* TO watch@'127.0.0.1'; \
         GRANT SELECT, TRIGGER ON test.* TO watch@'127.0.0.1'; \
         CREATE USER boss@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO boss@'127.0.0.1'; \
         CREATE USER blind@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
         CREATE TABLE test.kept (id INT PRIMARY KEY, a INT); INSERT INTO test.kept VALUES (1, 0)"
    ));
    server
}

on_each_server! {
    c20_strict_answers_are_what_the_server_would_say,
    c20_bounded_answers_see_writes_elsewhere_in_time,
    a_log_that_may_not_be_read_is_said,
}

fn proxy(server: &Backend, monitor: &str, cache: &str) -> Proxy {
    Setup::new(&server.sandbox)
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .monitor(monitor, PASSWORD)
        .server(&server.server, "")
        .user(USER, PASSWORD, &format!("attributes = '{{\"cache\": {{\"ttl_ms\": 600000, {cache}}}}}'"))
        .start()
}

async fn connect(proxy: &Proxy) -> Client {
    Client::connect(&Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test")).await.unwrap()
}

/// The one value that a statement returns.
async fn value(client: &mut Client, sql: &str) -> String {
    let result = client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    // The value follows its length, which is short.
    String::from_utf8(result.rows[0][1..].to_vec()).unwrap()
}

/// Answers from the cache so far.
async fn hits(operator: &mut Client) -> u64 {
    admin::value(operator, "SELECT SUM(hits) FROM stats_pointsman_cache").await.parse().unwrap_or_default()
}

/// Reads until the cache answers.
async fn warm(operator: &mut Client, client: &mut Client, sql: &str) {
    let before = hits(operator).await;
    for _ in 0..2000 {
        value(client, sql).await;
        if hits(operator).await > before {
            return;
        }
    }
    let refused = admin::value(operator, "SELECT GROUP_CONCAT(refused) FROM stats_pointsman_cache").await;
    let reason = admin::value(operator, "SELECT reason FROM stats_pointsman_sources").await;
    panic!("no hit: {refused}; {reason}");
}

/// An administrator's connection of the server.
async fn elsewhere(server: &Backend) -> Client {
    Client::connect(&Options::tcp(server.server.address(), "boss", PASSWORD).schema("test")).await.unwrap()
}

fn c20_strict_answers_are_what_the_server_would_say(server: &Backend) {
    server.sql("REPLACE INTO test.kept VALUES (1, 0)");
    let proxy = proxy(server, "watch", r#""mode": "strict""#);
    run(async {
        let (mut client, sql) = (connect(&proxy).await, "SELECT a FROM kept WHERE id = 1");
        let mut elsewhere = elsewhere(server).await;
        let mut operator = admin::connect(&proxy).await;
        for round in 1..=50 {
            warm(&mut operator, &mut client, sql).await;
            elsewhere.query("UPDATE test.kept SET a = a + 1 WHERE id = 1").await.unwrap();
            assert_eq!(value(&mut client, sql).await, round.to_string(), "the write was acknowledged");
        }
    });
}

fn c20_bounded_answers_see_writes_elsewhere_in_time(server: &Backend) {
    server.sql("REPLACE INTO test.kept VALUES (2, 0)");
    let proxy = proxy(server, "watch", r#""invalidate": "tables", "max_staleness_ms": 50"#);
    run(async {
        let (mut client, sql) = (connect(&proxy).await, "SELECT a FROM kept WHERE id = 2");
        let mut elsewhere = elsewhere(server).await;
        let mut operator = admin::connect(&proxy).await;
        for round in 1..=20 {
            warm(&mut operator, &mut client, sql).await;
            elsewhere.query("UPDATE test.kept SET a = a + 1 WHERE id = 2").await.unwrap();
            let done = std::time::Instant::now();
            // It ends: a stale answer is given for so long at most.
            loop {
                let sent = std::time::Instant::now();
                let seen = value(&mut client, sql).await;
                if seen == round.to_string() {
                    break;
                }
                assert!(sent.duration_since(done).as_millis() <= 50, "round {round}: {seen} is too old");
            }
            client.query("UPDATE kept SET a = a WHERE id = 2").await.unwrap();
            assert_eq!(value(&mut client, sql).await, round.to_string(), "own writes are seen at once");
        }
    });
}

fn a_log_that_may_not_be_read_is_said(server: &Backend) {
    let proxy = proxy(server, "blind", r#""mode": "strict""#);
    run(async {
        let mut client = connect(&proxy).await;
        for _ in 0..3 {
            value(&mut client, "SELECT COUNT(*) FROM kept").await;
        }
        proxy.wait_for_log("a server's binary log is not followed");
        let mut operator = admin::connect(&proxy).await;
        assert_eq!(hits(&mut operator).await, 0);
        let sql = "SELECT followed || ' ' || reason FROM stats_pointsman_sources";
        let said = admin::value(&mut operator, sql).await;
        assert!(said.starts_with("0 ") && said.contains("Access denied"), "{said}");
    });
}
