//! The tables of the matrix, and the texts whose answers the cache holds.

use std::collections::BTreeSet;

use e2e::{Backend, Proxy, WAIT_MAX, admin};
use testkit::client::{Client, QueryResult};
use tokio::time::Instant;

use crate::{connect, elsewhere, proxy};

/// Tables with all that a write to one of them may lead to. `kin` refers to `parent` as well, by a
/// key that restricts.
const TABLES: [&str; 35] = [
    "DROP DATABASE IF EXISTS test",
    "DROP DATABASE IF EXISTS far",
    "CREATE DATABASE test",
    "CREATE DATABASE far",
    "USE test",
    "CREATE TABLE t (id INT PRIMARY KEY, a INT)",
    "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, 4)",
    "CREATE VIEW v AS SELECT id, a FROM t",
    "CREATE TABLE u LIKE t",
    "INSERT INTO u SELECT * FROM t",
    "CREATE TABLE far.t LIKE t",
    "INSERT INTO far.t SELECT * FROM t",
    "CREATE TABLE parent LIKE t",
    "INSERT INTO parent SELECT * FROM t",
    "CREATE TABLE child (id INT PRIMARY KEY, a INT, parent INT, \
     FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE)",
    "INSERT INTO child SELECT id, a, id FROM t WHERE id < 4",
    "CREATE TABLE grandchild (id INT PRIMARY KEY, a INT, child INT, \
     FOREIGN KEY (child) REFERENCES child (id) ON DELETE CASCADE)",
    "INSERT INTO grandchild SELECT id, a, id FROM child",
    "CREATE TABLE orphan (id INT PRIMARY KEY, a INT, child INT, \
     FOREIGN KEY (child) REFERENCES child (id) ON DELETE SET NULL)",
    "INSERT INTO orphan SELECT id, a, id FROM child",
    "CREATE TABLE kin (id INT PRIMARY KEY, a INT, parent INT, FOREIGN KEY (parent) REFERENCES parent (id))",
    "INSERT INTO kin VALUES (4, 4, 4)",
    "CREATE TABLE source LIKE t",
    "CREATE TABLE target (id INT, a INT)",
    "CREATE TRIGGER copied AFTER INSERT ON source FOR EACH ROW INSERT INTO target VALUES (NEW.id, NEW.a)",
    "INSERT INTO source VALUES (1, 1)",
    "CREATE TABLE parts (id INT PRIMARY KEY, a INT) PARTITION BY RANGE (id) \
     (PARTITION low VALUES LESS THAN (10), PARTITION high VALUES LESS THAN (20))",
    "INSERT INTO parts VALUES (1, 1)",
    "CREATE TABLE swapped LIKE t",
    "INSERT INTO swapped VALUES (4, 4)",
    "CREATE TABLE old LIKE t",
    "INSERT INTO old VALUES (1, 1)",
    "CREATE PROCEDURE raise() UPDATE t SET a = a + 1",
    "CREATE FUNCTION raised() RETURNS INT BEGIN UPDATE t SET a = a + 1; RETURN 1; END",
    "CREATE EVENT once ON SCHEDULE EVERY 1 SECOND DO \
     BEGIN IF EXISTS (SELECT * FROM old) THEN DELETE FROM old; UPDATE t SET a = a + 1; END IF; END",
];

/// The tables that are read. Each is the name of the text that reads it.
pub(super) const NAMES: [&str; 13] = [
    "t",
    "v",
    "u",
    "far.t",
    "parent",
    "child",
    "grandchild",
    "orphan",
    "kin",
    "source",
    "target",
    "parts",
    "old",
];

/// A proxy in front of a server, and sessions at both.
pub(super) struct World<'a> {
    server: &'a Backend,
    _proxy: Proxy,
    client: Client,
    operator: Client,
    /// A session at the server that changes nothing that is read.
    pub(super) direct: Client,
    /// A session at the server that makes the changes.
    pub(super) writer: Client,
}

impl<'a> World<'a> {
    /// A proxy whose cache keeps answers for longer than the test takes.
    pub(super) async fn new(server: &'a Backend) -> Self {
        server.sql(
            "GRANT ALL ON far.* TO plain@'127.0.0.1'; GRANT GRANT OPTION ON *.* TO boss@'127.0.0.1'; \
             GRANT SELECT, TRIGGER, SHOW VIEW ON test.* TO watch@'127.0.0.1'; \
             GRANT SELECT, TRIGGER, SHOW VIEW ON far.* TO watch@'127.0.0.1'",
        );
        let proxy = proxy(server, "watch", r#""invalidate": "tables", "max_staleness_ms": 600000"#);
        Self {
            server,
            client: connect(&proxy).await,
            operator: admin::connect(&proxy).await,
            direct: elsewhere(server).await,
            writer: elsewhere(server).await,
            _proxy: proxy,
        }
    }

    /// Makes all tables anew, and a writer with the settings of the server.
    pub(super) async fn build(&mut self) {
        for sql in TABLES {
            done(&mut self.direct, sql).await;
        }
        self.renew_writer().await;
    }

    /// Replaces the session that makes the changes by another one.
    pub(super) async fn renew_writer(&mut self) {
        self.writer = elsewhere(self.server).await;
    }

    /// Has the proxy learn the definitions of tables that statements of the log name, and that
    /// there is none of a temporary table; behind a trigger's table those of the tables that the
    /// trigger uses.
    pub(super) async fn teach(&mut self) {
        done(&mut self.writer, "CREATE TEMPORARY TABLE own LIKE t").await;
        done(&mut self.writer, "INSERT INTO own VALUES (1, 1)").await;
        self.read_up().await;
        done(&mut self.writer, "DROP TEMPORARY TABLE own").await;
        for _ in 0..2 {
            for name in NAMES {
                done(&mut self.writer, &format!("UPDATE {name} SET a = a")).await;
                self.read_up().await;
            }
        }
    }

    /// Waits until the proxy has read the whole log, and all that is in it is visible.
    pub(super) async fn read_up(&mut self) {
        let sql = if self.server.is_mysql() { "SHOW BINARY LOG STATUS" } else { "SHOW MASTER STATUS" };
        let rows = done(&mut self.direct, sql).await.text().unwrap();
        let [Some(file), Some(position)] = &rows[0][..2] else { panic!("{rows:?}") };
        let number = file.rsplit_once('.').unwrap().1.trim_start_matches('0');
        let is_read = format!(
            "SELECT (file, position) >= ({number}, {position}) AND unsettled = 0 FROM stats_pointsman_sources"
        );
        admin::wait_for_value(&mut self.operator, &is_read, "1").await;
    }

    /// Reads each text until the cache holds its answer.
    pub(super) async fn store_all(&mut self) {
        let deadline = Instant::now() + WAIT_MAX;
        for name in NAMES {
            while let Some(why) = self.missing(name).await {
                assert!(Instant::now() < deadline, "{name} is not stored: {why}");
                done(&mut self.client, &text(name)).await;
            }
        }
    }

    /// The names of the texts whose answers the cache holds no more.
    pub(super) async fn dropped(&mut self) -> BTreeSet<&'static str> {
        let mut dropped = BTreeSet::new();
        for name in NAMES {
            if self.missing(name).await.is_some() {
                dropped.insert(name);
            }
        }
        dropped
    }

    /// The names of the texts whose answers through the proxy are not those of the server.
    pub(super) async fn stale(&mut self) -> BTreeSet<&'static str> {
        let mut stale = BTreeSet::new();
        for name in NAMES {
            let sql = text(name);
            if done(&mut self.client, &sql).await.rows != done(&mut self.direct, &sql).await.rows {
                stale.insert(name);
            }
        }
        stale
    }

    /// The types of events in the log, by their names.
    pub(super) async fn logged_types(&mut self) -> BTreeSet<String> {
        let rows = done(&mut self.direct, "SHOW BINLOG EVENTS").await.text().unwrap();
        rows.into_iter().filter_map(|row| row.into_iter().nth(2).flatten()).collect()
    }

    /// How often following has begun, and how many events were not known.
    pub(super) async fn interruptions(&mut self) -> String {
        let sql = "SELECT flushes || ' ' || unknown_events FROM stats_pointsman_sources";
        admin::value(&mut self.operator, sql).await
    }

    /// Why the cache holds no answer to a text; nothing if it holds one.
    async fn missing(&mut self, name: &str) -> Option<String> {
        let result = done(&mut self.client, &format!("EXPLAIN ROUTE {}", text(name))).await;
        let rows = result.text().unwrap();
        let step = rows.iter().find(|row| row[0].as_deref() == Some("cache")).unwrap();
        (step[1].as_deref() != Some("hit")).then(|| format!("{step:?}"))
    }
}

/// The text that reads a table.
fn text(name: &str) -> String {
    format!("SELECT * FROM {name}")
}

/// The result of a statement, which must succeed.
pub(super) async fn done(client: &mut Client, sql: &str) -> QueryResult {
    client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"))
}
