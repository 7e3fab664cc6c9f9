//! A stream that is cut goes on where it was, and answers stay, as long as nothing was missed.

use e2e::{Backend, Proxy, admin, run};
use testkit::client::Client;

use crate::{connect, elsewhere, hits, prepared, proxy, value, warm};

/// What is written to.
const KEPT: &str = "SELECT a FROM kept WHERE id = 1";

/// What is left alone.
const OTHER: &str = "SELECT COUNT(*) FROM other";

#[test]
fn c20_a_cut_stream_goes_on_and_misses_nothing_on_mariadb() {
    let options = ["--log-bin=binlog", "--server-id=7"];
    run(cuts(prepared(Backend::start(&options))));
}

#[test]
fn c20_a_cut_stream_goes_on_and_misses_nothing_on_mysql() {
    let options = ["--log-bin=binlog", "--server-id=7", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
    let Some(server) = Backend::start_mysql_or_skip(&options) else { return };
    run(cuts(prepared(server)));
}

async fn cuts(server: Backend) {
    server.sql("CREATE TABLE test.other (a INT)");
    let proxy = proxy(&server, "watch", r#""mode": "strict""#);
    let mut all = All {
        client: connect(&proxy).await,
        operator: admin::connect(&proxy).await,
        writer: elsewhere(&server).await,
        server,
        proxy,
        flushes: 1,
        resumed: 0,
    };
    all.writer.query("SET binlog_format = ROW").await.unwrap();
    all.kill().await;
    all.write_in_a_gap().await;
    all.commit_in_a_gap().await;
    all.purge_in_a_gap().await;
    all.reset_in_a_gap().await;
    all.reset().await;
    all.restart().await;
}

/// A server, and a proxy that follows its log.
struct All {
    server: Backend,
    proxy: Proxy,
    client: Client,
    operator: Client,
    /// A session of the server.
    writer: Client,
    /// How often the log was followed anew so far.
    flushes: u64,
    /// How often it was read on.
    resumed: u64,
}

impl All {
    /// Waits until the log is followed.
    async fn wait_until_followed(&mut self) {
        let sql = "SELECT followed || ' ' || flushes || ' ' || resumed FROM stats_pointsman_sources";
        let expected = format!("1 {} {}", self.flushes, self.resumed);
        admin::wait_for_value(&mut self.operator, sql, &expected).await;
    }

    /// Reads until the cache has both answers. The first read of a table that is not known counts
    /// as a write to all.
    async fn warm(&mut self) {
        for sql in [KEPT, OTHER, KEPT] {
            warm(&mut self.operator, &mut self.client, sql).await;
        }
    }

    async fn write(&mut self, sql: &str) {
        self.writer.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Asserts what a statement reads, and whether the cache has it.
    async fn read(&mut self, sql: &str, expected: &str, is_hit: bool) {
        let before = hits(&mut self.operator).await;
        assert_eq!(value(&mut self.client, sql).await, expected, "{sql}");
        assert_eq!(hits(&mut self.operator).await > before, is_hit, "{sql}");
    }

    /// Ends the streams of the log.
    fn kill_streams(&self) {
        let sql = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'";
        for id in self.server.sql(sql).split_whitespace() {
            // The server may have ended it by itself.
            let _ = self.server.server.sql(&format!("KILL {id}"));
        }
    }

    /// Streams are ended, and the account is kept out.
    async fn begin_gap(&mut self) {
        self.warm().await;
        self.server.sql("SET sql_log_bin = 0; ALTER USER watch@'127.0.0.1' ACCOUNT LOCK");
        self.kill_streams();
        let sql = "SELECT followed FROM stats_pointsman_sources";
        admin::wait_for_value(&mut self.operator, sql, "0").await;
    }

    async fn end_gap(&mut self) {
        self.server.sql("SET sql_log_bin = 0; ALTER USER watch@'127.0.0.1' ACCOUNT UNLOCK");
        self.wait_until_followed().await;
    }

    fn reset_log(&self) {
        let reset = ["RESET BINARY LOGS AND GTIDS", "RESET MASTER"];
        assert!(reset.iter().any(|sql| self.server.server.sql(sql).is_ok()));
    }

    async fn kill(&mut self) {
        self.warm().await;
        self.wait_until_followed().await;
        self.kill_streams();
        self.resumed += 1;
        self.wait_until_followed().await;
        self.read(KEPT, "0", true).await;
        self.read(OTHER, "0", true).await;
    }

    async fn write_in_a_gap(&mut self) {
        self.begin_gap().await;
        self.write("UPDATE kept SET a = 1 WHERE id = 1").await;
        self.read(KEPT, "1", false).await;
        self.resumed += 1;
        self.end_gap().await;
        self.read(OTHER, "0", true).await;
        self.read(KEPT, "1", false).await;
    }

    /// What is committed in the gap was prepared before it.
    async fn commit_in_a_gap(&mut self) {
        for sql in ["XA START 'x'", "UPDATE kept SET a = 2 WHERE id = 1", "XA END 'x'", "XA PREPARE 'x'"] {
            self.write(sql).await;
        }
        self.begin_gap().await;
        self.write("XA COMMIT 'x'").await;
        self.resumed += 1;
        self.end_gap().await;
        self.read(OTHER, "0", true).await;
        self.read(KEPT, "2", false).await;
    }

    async fn purge_in_a_gap(&mut self) {
        self.begin_gap().await;
        self.write("UPDATE kept SET a = 3 WHERE id = 1").await;
        self.write("FLUSH BINARY LOGS").await;
        let logs = self.server.sql("SHOW BINARY LOGS");
        let last = logs.lines().filter_map(|line| line.split_whitespace().next()).next_back().unwrap();
        // The one before is in use until a stream has ended.
        let purge = format!("PURGE BINARY LOGS TO '{last}'; SHOW BINARY LOGS");
        while self.server.sql(&purge).lines().count() > 1 {}
        self.flushes += 1;
        self.end_gap().await;
        self.read(KEPT, "3", false).await;
    }

    /// The log is soon as long as it was, and has as many transactions.
    async fn reset_in_a_gap(&mut self) {
        self.begin_gap().await;
        self.write("UPDATE kept SET a = 4 WHERE id = 1").await;
        self.reset_log();
        for _ in 0..100 {
            self.write("INSERT INTO other VALUES (1)").await;
        }
        self.flushes += 1;
        self.end_gap().await;
        self.read(KEPT, "4", false).await;
        self.read(OTHER, "100", false).await;
    }

    async fn reset(&mut self) {
        self.warm().await;
        self.reset_log();
        self.write("UPDATE kept SET a = 5 WHERE id = 1").await;
        assert_eq!(value(&mut self.client, KEPT).await, "5");
        self.flushes += 1;
        self.wait_until_followed().await;
    }

    async fn restart(&mut self) {
        self.warm().await;
        self.server.server.kill().unwrap();
        self.server.server.restart().unwrap();
        self.flushes += 1;
        self.wait_until_followed().await;
        self.client = connect(&self.proxy).await;
        self.warm().await;
    }
}
