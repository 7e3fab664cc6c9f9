//! Reads that must see acknowledged writes, at a replica that replays what its primary has written
//! when the test lets it.

use std::future::Future;

use e2e::admin::value as counter;
use e2e::{Backend, Proxy, Setup, run};
use testkit::client::{CAPABILITIES, Client, Options, Value};
use testkit::server::PASSWORD;
use wire::Capabilities;
use wire::command::Kind;

use super::{USER, value};

/// Write-read pairs of a test.
const PAIRS: u32 = 200;

/// A primary and its replica, which both have a table that tells which server it is.
pub(super) struct Replicated {
    pub(super) primary: Backend,
    pub(super) replica: Backend,
}

impl Replicated {
    /// A pair whose replica gets to its primary at the port that `way` has for the primary's.
    pub(super) fn on_mariadb(way: impl FnOnce(u16) -> u16) -> Self {
        let start = |id| Backend::start(&["--log-bin=binlog", id]);
        let pair = Self { primary: start("--server-id=1"), replica: start("--server-id=2") };
        pair.begin("RESET MASTER", |port| {
            let port = way(port);
            format!(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='repl', \
                 MASTER_PASSWORD='{PASSWORD}', MASTER_USE_GTID=slave_pos; START SLAVE"
            )
        });
        pair
    }

    /// The same of MySQL; nothing where that is not installed.
    pub(super) fn on_mysql(way: impl FnOnce(u16) -> u16) -> Option<Self> {
        let options = ["--log-bin=binlog", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
        let start = |id| Backend::start_mysql_or_skip(&[&options[..], &[id]].concat());
        let pair = Self { primary: start("--server-id=1")?, replica: start("--server-id=2")? };
        pair.begin("RESET BINARY LOGS AND GTIDS", |port| {
            let port = way(port);
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='repl', \
                 SOURCE_PASSWORD='{PASSWORD}', GET_SOURCE_PUBLIC_KEY=1, SOURCE_AUTO_POSITION=1; START REPLICA"
            )
        });
        Some(pair)
    }

    /// Has the replica follow the primary from an empty log on.
    fn begin(&self, reset: &str, follow: impl FnOnce(u16) -> String) {
        let Self { primary, replica } = self;
        replica.sql(reset);
        primary.sql(&format!(
            "{reset}; CREATE USER repl@'%' IDENTIFIED BY '{PASSWORD}'; GRANT REPLICATION SLAVE ON *.* TO repl@'%'; \
             CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON test.* TO {USER}@'127.0.0.1'; \
             CREATE TABLE test.who (name VARCHAR(10)); CREATE TABLE test.t (id INT PRIMARY KEY, n INT); \
             INSERT INTO test.t VALUES (1, 0); SET sql_log_bin = 0; INSERT INTO test.who VALUES ('primary')"
        ));
        replica.sql(&follow(primary.server.port()));
        while !replica
            .sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 't'")
            .contains('1')
        {}
        while !replica.sql("SELECT COUNT(*) FROM test.t").contains('1') {}
        replica
            .sql("SET sql_log_bin = 0; INSERT INTO test.who VALUES ('replica'); SET GLOBAL read_only = ON");
    }

    /// The replica replays what it gets, or not.
    fn replay(&self, on: bool) {
        let replica = if self.replica.is_mysql() { "REPLICA" } else { "SLAVE" };
        self.replica.sql(&format!("{} {replica} SQL_THREAD", if on { "START" } else { "STOP" }));
    }

    /// A proxy in front of both, whose user's row says this, too.
    pub(super) fn setup(&self, causal_reads: &str, causal_wait_ms: u32, user: &str) -> Setup {
        Setup::new(&self.primary.sandbox)
            .server(&self.primary.server, "")
            .server(&self.replica.server, "hostgroup_id = 1")
            .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
            .variable("read_write_split", true)
            .pointsman_variable("causal_reads", format_args!("\"{causal_reads}\""))
            .pointsman_variable("causal_wait_ms", causal_wait_ms)
            .user(USER, PASSWORD, user)
    }
}

/// Two tests of each function that takes a pair.
macro_rules! on_each_pair {
    ($($test:ident),+ $(,)?) => {
        mod on_mariadb {
            $(#[test] fn $test() { super::$test(&super::Replicated::on_mariadb(|port| port)); })+
        }
        mod on_mysql {
            $(#[test] fn $test() { if let Some(pair) = super::Replicated::on_mysql(|port| port) { super::$test(&pair); } })+
        }
    };
}

on_each_pair! {
    c12_writes_of_a_user_are_seen_by_all_its_sessions,
    c12_without_it_replicas_answer_at_once,
}

/// The body of a `COM_QUERY` with the attribute that names an application.
fn with_attribute(scope: &str, sql: &str) -> Vec<u8> {
    const NAME: &str = "causal_scope";
    let mut body = b"\x01\x01\0\x01\xfe\0".to_vec();
    for text in [NAME, scope] {
        body.push(u8::try_from(text.len()).unwrap());
        body.extend(text.as_bytes());
    }
    body.extend(sql.as_bytes());
    body
}

async fn connect(proxy: &Proxy) -> Client {
    Client::connect(&Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test")).await.unwrap()
}

const READ: &str = "SELECT CONCAT(n, ' at the ', name) FROM t, who";

async fn write(client: &mut Client, n: u32) {
    client.query(&format!("UPDATE t SET n = {n}")).await.unwrap();
}

/// The same writes and reads of two sessions as text and prepared; the reads that were right.
async fn pairs(proxy: &Proxy, first: u32, mut check: impl FnMut(&str)) -> u32 {
    let (mut writer, mut reader) = (connect(proxy).await, connect(proxy).await);
    let statement = reader.prepare(&format!("{READ} WHERE id = ?")).await.unwrap();
    let mut right = 0;
    for n in first..first + PAIRS {
        write(&mut writer, n).await;
        let text = value(&mut reader, READ).await;
        let result = reader.execute(&statement, &[Value::Int(1)]).await.unwrap();
        // A byte for the kind of packet, one for what is NULL, the length of the text.
        let prepared = String::from_utf8(result.rows[0][3..].to_vec()).unwrap();
        for answer in [text, prepared] {
            check(&answer);
            right += u32::from(answer.starts_with(&format!("{n} at")));
        }
    }
    right
}

/// Runs `work` while the replica does not replay.
async fn frozen<T>(pair: &Replicated, work: impl Future<Output = T>) -> T {
    pair.replay(false);
    let outcome = work.await;
    pair.replay(true);
    outcome
}

fn c12_writes_of_a_user_are_seen_by_all_its_sessions(pair: &Replicated) {
    let proxy = pair.setup("user", 0, "").admin("mysql_ifaces", "\"127.0.0.1:0\"").start();
    run(async {
        let mut admin = e2e::admin::connect(&proxy).await;
        let count = async |admin: &mut Client, name: &str| {
            let sql = format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
            counter(admin, &sql).await.parse::<u32>().unwrap()
        };
        // The replica replays as fast as it can.
        assert_eq!(pairs(&proxy, 1, |_| {}).await, 2 * PAIRS);
        // It does not replay.
        let at_primary = |answer: &str| assert!(answer.ends_with("primary"), "{answer}");
        assert_eq!(frozen(pair, pairs(&proxy, 1_000, at_primary)).await, 2 * PAIRS);
        assert!(count(&mut admin, "Causal_reads_to_writer").await >= 2 * PAIRS);
        assert_eq!(count(&mut admin, "Causal_transactions_lost").await, 0);
    });
    drop(proxy);
    let proxy = pair.setup("user", 5_000, "").admin("mysql_ifaces", "\"127.0.0.1:0\"").start();
    run(async {
        let mut admin = e2e::admin::connect(&proxy).await;
        let count = async |admin: &mut Client, name: &str| {
            let sql = format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'");
            counter(admin, &sql).await.parse::<u32>().unwrap()
        };
        // A read waits for the replica, and goes there.
        let (mut writer, mut reader) = (connect(&proxy).await, connect(&proxy).await);
        pair.replay(false);
        write(&mut writer, 7_000).await;
        let read = async { value(&mut reader, READ).await };
        let replay = async {
            let waits = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT%GTID_WAIT(%' \
                         OR info LIKE 'SELECT%WAIT_FOR_EXECUTED_GTID_SET(%'";
            // The one that looks has it in its text, too.
            while !pair.replica.sql(waits).contains('2') {
                tokio::task::yield_now().await;
            }
            pair.replay(true);
        };
        let (answer, ()) = tokio::join!(read, replay);
        assert_eq!(answer, "7000 at the replica");
        assert_eq!(count(&mut admin, "Causal_reads_waited").await, 1);
        // What is known is not asked for again.
        let asked = count(&mut admin, "Causal_reads_had").await;
        for _ in 0..20 {
            assert_eq!(value(&mut reader, READ).await, "7000 at the replica");
        }
        assert_eq!(count(&mut admin, "Causal_reads_had").await, asked);
        assert!(count(&mut admin, "Causal_reads").await >= 20);
        // In a transaction at the writer nothing is asked, and a read-only one begins where its
        // writes are.
        writer.query("BEGIN").await.unwrap();
        write(&mut writer, 7_001).await;
        assert_eq!(value(&mut writer, READ).await, "7001 at the primary");
        writer.query("COMMIT").await.unwrap();
        reader.query("START TRANSACTION READ ONLY").await.unwrap();
        assert_eq!(value(&mut reader, READ).await, "7001 at the replica");
        reader.query("COMMIT").await.unwrap();
    });
}

fn c12_without_it_replicas_answer_at_once(pair: &Replicated) {
    let proxy = pair.setup("off", 50, "").start();
    run(async {
        let stale = frozen(pair, pairs(&proxy, 1, |answer| assert!(answer.ends_with("replica"), "{answer}")));
        assert_eq!(stale.await, 0, "the test could not fail");
    });
    drop(proxy);
    // A user, a rule and a hint say something else, each instead of the one before.
    let rule = "rule_id = 1\nactive = true\nmatch_digest = \"CONCAT\"\nattributes = '{\"causal_reads\": \"session\"}'";
    let user = "attributes = '{\"causal_reads\": \"user\"}'";
    let proxy = pair.setup("off", 0, user).row("mysql_query_rules", rule).start();
    run(async {
        let (mut writer, mut reader) = (connect(&proxy).await, connect(&proxy).await);
        pair.replay(false);
        write(&mut writer, 8_000).await;
        let stale = "SELECT CONCAT(n = 8000, ' at the ', name) FROM t, who";
        assert_eq!(value(&mut writer, stale).await, "1 at the primary", "its own write");
        assert_eq!(value(&mut reader, stale).await, "0 at the replica", "another session's");
        assert_eq!(value(&mut reader, "SELECT n = 8000 FROM t").await, "1", "no rule is about it");
        let hinted = "SELECT /* causal_reads=user */ CONCAT(n = 8000, ' at the ', name) FROM t, who";
        assert_eq!(value(&mut reader, hinted).await, "1 at the primary");
        // Sessions and statements name an application.
        writer.query("UPDATE /* causal_scope=shop */ t SET n = 8001").await.unwrap();
        for (scope, answer) in [("shop", "1 at the primary"), ("other", "0 at the replica")] {
            let read = format!(
                "SELECT /* causal_reads=application;causal_scope={scope} */ CONCAT(n = 8001, ' at the ', name) FROM t, who"
            );
            assert_eq!(value(&mut reader, &read).await, answer, "{scope}");
        }
        if pair.primary.is_mysql() {
            // The attribute of a statement says the same as the hint.
            let capabilities = CAPABILITIES | Capabilities::QUERY_ATTRIBUTES;
            let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test").capabilities(capabilities);
            let mut client = Client::connect(&options).await.unwrap();
            for (scope, answer) in [("shop", "1 at the primary"), ("other", "0 at the replica")] {
                let read =
                    "SELECT /* causal_reads=application */ CONCAT(n = 8001, ' at the ', name) FROM t, who";
                client.send_command(Kind::Query, &with_attribute(scope, read)).await.unwrap();
                assert_eq!(client.read_result().await.unwrap().first().as_deref(), Some(answer), "{scope}");
            }
        }
        // The transaction of the write has a name.
        let name = if pair.primary.is_mysql() {
            let executed = pair.primary.sql("SELECT @@gtid_executed").replace('\n', "");
            let (source, numbers) = executed.split_once(':').unwrap();
            format!("{source}:{}", numbers.rsplit('-').next().unwrap())
        } else {
            pair.primary.sql("SELECT @@gtid_current_pos").trim().to_owned()
        };
        let named =
            format!("SELECT /* causal_reads=off;min_gtid={name} */ CONCAT(n, ' at the ', name) FROM t, who");
        assert_eq!(value(&mut reader, &named).await, "8001 at the primary");
        pair.replay(true);
        while value(&mut reader, &named).await != "8001 at the replica" {}
    });
}
