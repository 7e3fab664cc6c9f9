//! Each kind of change elsewhere, as it stands in the log.

use e2e::{Backend, admin, run};
use testkit::client::Client;

use super::{connect, elsewhere, proxy, value, warm};

/// Statements that prepare the tables. What each change below changes is read through `sql`.
const TABLES: &str = "DROP TABLE IF EXISTS test.child; DROP TABLE IF EXISTS test.parent; \
    DROP TABLE IF EXISTS test.trig; DROP TABLE IF EXISTS test.target; \
    CREATE TABLE test.parent (id INT PRIMARY KEY, a INT); \
    CREATE TABLE test.child (id INT PRIMARY KEY, parent INT, \
      FOREIGN KEY (parent) REFERENCES test.parent (id) ON DELETE CASCADE ON UPDATE CASCADE); \
    CREATE TABLE test.target (id INT PRIMARY KEY AUTO_INCREMENT, a INT); \
    CREATE TABLE test.trig (id INT PRIMARY KEY AUTO_INCREMENT, a INT); \
    CREATE TRIGGER test.after_trig AFTER INSERT ON test.trig FOR EACH ROW \
      INSERT INTO test.target (a) VALUES (NEW.a)";

/// The changes: how, and what is read.
const CHANGES: [(&[&str], &str); 12] = [
    (&["INSERT INTO test.parent VALUES (1, 1), (2, 2)"], "SELECT COUNT(*) FROM parent"),
    (&["INSERT INTO test.child VALUES (1, 1), (2, 2)"], "SELECT COUNT(*) FROM child"),
    (&["UPDATE test.parent SET id = 7 WHERE id = 1"], "SELECT SUM(parent) FROM child"),
    (&["DELETE FROM test.parent WHERE id = 7"], "SELECT COUNT(*) FROM child"),
    (&["INSERT INTO test.trig (a) VALUES (1)"], "SELECT COUNT(*) FROM target"),
    (&["BEGIN", "UPDATE test.parent SET a = a + 1", "COMMIT"], "SELECT SUM(a) FROM parent"),
    (
        &[
            "XA START 'x1'",
            "UPDATE test.parent SET a = a + 1",
            "XA END 'x1'",
            "XA PREPARE 'x1'",
            "XA COMMIT 'x1'",
        ],
        "SELECT SUM(a) FROM parent",
    ),
    (
        &["XA START 'x2'", "UPDATE test.parent SET a = a + 1", "XA END 'x2'", "XA COMMIT 'x2' ONE PHASE"],
        "SELECT SUM(a) FROM parent",
    ),
    (&["ALTER TABLE test.parent ADD b INT NOT NULL DEFAULT 5"], "SELECT COUNT(*) + SUM(a) FROM parent"),
    (&["TRUNCATE TABLE test.target"], "SELECT COUNT(*) FROM target"),
    (
        &[
            "CREATE TABLE test.other LIKE test.target",
            "INSERT INTO test.other (a) VALUES (1), (2)",
            "RENAME TABLE test.target TO test.old, test.other TO test.target",
        ],
        "SELECT COUNT(*) FROM target",
    ),
    (
        &["REPLACE INTO test.target (id, a) SELECT id + 10, a FROM test.old UNION SELECT 99, 1"],
        "SELECT COUNT(*) FROM target",
    ),
];

pub(super) fn c20_each_kind_of_change_elsewhere_is_seen(server: &Backend) {
    let proxy = proxy(server, "watch", r#""mode": "strict""#);
    let compressions: &[&str] = if server.is_mysql() {
        &["SET binlog_transaction_compression = OFF", "SET binlog_transaction_compression = ON"]
    } else {
        &["SET GLOBAL log_bin_compress = OFF", "SET GLOBAL log_bin_compress = ON"]
    };
    run(async {
        let (mut client, mut operator) = (connect(&proxy).await, admin::connect(&proxy).await);
        for format in ["ROW", "MIXED", "STATEMENT"] {
            for compression in compressions {
                let mut other = elsewhere(server).await;
                server.sql(&format!("{TABLES}; DROP TABLE IF EXISTS test.old"));
                other.query(&format!("SET binlog_format = {format}")).await.unwrap();
                other.query(compression).await.unwrap();
                for (statements, sql) in CHANGES {
                    let what = format!("{format}, {compression}: {statements:?}");
                    warm(&mut operator, &mut client, sql).await;
                    change(&mut other, statements, &what).await;
                    let expected = value(&mut other, &sql.replace("FROM ", "FROM test.")).await;
                    assert_eq!(value(&mut client, sql).await, expected, "{what}");
                }
            }
        }
    });
}

async fn change(elsewhere: &mut Client, statements: &[&str], what: &str) {
    for sql in statements {
        elsewhere.query(sql).await.unwrap_or_else(|error| panic!("{what}: {sql}: {error}"));
    }
}
