//! Triggers that are dropped while the log is read behind.

use e2e::{Backend, Setup, admin, run};
use testkit::server::PASSWORD;

use crate::gate::Gate;
use crate::{USER, connect, elsewhere, prepared, value};

/// A write whose trigger writes too.
const WRITE: &str = "INSERT INTO test.named (a) VALUES (1)";

/// What the trigger writes.
const SEEN: &str = "SELECT COUNT(*) FROM target";

/// In this scope answers do not depend on definitions alone.
const CACHE: &str = r#"{"ttl_ms": 600000, "mode": "strict", "scope": "user"}"#;

#[test]
fn c20_a_trigger_that_was_dropped_since_has_counted() {
    let options = ["--log-bin=binlog", "--server-id=7", "--binlog-format=STATEMENT"];
    let server = prepared(Backend::start(&options));
    server.sql(
        "CREATE TABLE test.target (a INT); CREATE TABLE test.named (a INT); \
         CREATE TRIGGER test.after_named AFTER INSERT ON test.named FOR EACH ROW \
           INSERT INTO test.target VALUES (NEW.a)",
    );
    let gate = Gate::start(server.server.address());
    let proxy = Setup::new(&server.sandbox)
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .monitor("watch", PASSWORD)
        .row("mysql_servers", &format!("hostname = \"127.0.0.1\"\nport = {}", gate.port()))
        .user(USER, PASSWORD, &format!("attributes = '{{\"cache\": {CACHE}}}'"))
        .start();
    run(async {
        let (mut client, mut operator) = (connect(&proxy).await, admin::connect(&proxy).await);
        let mut writer = elsewhere(&server).await;
        value(&mut client, SEEN).await;
        let followed = "SELECT followed FROM stats_pointsman_sources";
        admin::wait_for_value(&mut operator, followed, "1").await;
        let read = "SELECT transactions FROM stats_pointsman_sources";
        let transactions: u64 = admin::value(&mut operator, read).await.parse().unwrap();

        // A definition is wanted, and nothing else: what was written has become visible.
        gate.hold_question("binlog_snapshot");
        writer.query("SET binlog_format = ROW").await.unwrap();
        writer.query("UPDATE test.kept SET a = a + 1").await.unwrap();
        gate.wait_for_question().await;
        writer.query("SET binlog_format = STATEMENT").await.unwrap();
        writer.query(WRITE).await.unwrap();
        admin::wait_for_value(&mut operator, read, &(transactions + 2).to_string()).await;
        gate.pass_question();
        admin::wait_for_value(&mut operator, "SELECT unsettled FROM stats_pointsman_sources", "0").await;

        // It is asked for when a query waits for a proof.
        gate.hold_question("information_schema.TRIGGERS");
        let stored = "SELECT SUM(stored) FROM stats_pointsman_cache";
        while admin::value(&mut operator, stored).await != "1" {
            assert_eq!(value(&mut client, SEEN).await, "1");
        }
        let waiting = tokio::spawn(async move {
            value(&mut client, SEEN).await;
            client
        });
        gate.wait_for_question().await;
        gate.hold_log(true);
        for sql in [WRITE, "DROP TABLE test.named", "CREATE TABLE test.named (a INT)"] {
            writer.query(sql).await.unwrap();
        }
        let probes = admin::value(&mut operator, "SELECT probes FROM stats_pointsman_sources").await;
        gate.pass_question();
        let answered = format!("SELECT probes > {probes} FROM stats_pointsman_sources");
        admin::wait_for_value(&mut operator, &answered, "1").await;
        gate.hold_log(false);
        let mut client = waiting.await.unwrap();
        assert_eq!(value(&mut client, SEEN).await, "2");
    });
}
