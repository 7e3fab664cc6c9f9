//! MySQL 9.7.

use binlog::request::Start;
use testkit::guard::Sandbox;
use testkit::mysql;
use testkit::server::{Server, Setup};

use crate::record::{check, client, execute, heartbeat, purge, run, stream};
use crate::statements::{STATEMENTS, TABLES};

const OPTIONS: [&str; 5] = [
    "--log-bin=binlog",
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    "--local-infile=ON",
    "--log-bin-trust-function-creators=ON",
];

/// A server, if MySQL is there.
pub(crate) fn server(more: &[&str]) -> Option<(Sandbox, Server)> {
    let binaries = mysql::find_or_skip().unwrap()?;
    let sandbox = Sandbox::new().unwrap();
    let setup = Setup::new("db").args(OPTIONS).args(more.iter().copied());
    let server = setup.start(&binaries, &sandbox).unwrap();
    Some((sandbox, server))
}

/// The end of the log.
pub(crate) fn end(server: &Server) -> Start {
    Start::MySql(server.sql("SELECT @@GLOBAL.gtid_executed").unwrap().parse().unwrap())
}

/// More of them, in two files of the log.
const MORE: [&str; 8] = [
    "FLUSH BINARY LOGS",
    "SET SESSION gtid_next = 'AUTOMATIC:tagged'",
    "INSERT INTO log VALUES (13)",
    "SET SESSION gtid_next = 'AUTOMATIC'",
    "SET SESSION binlog_transaction_compression = ON",
    "INSERT INTO parent VALUES (14)",
    "SET SESSION binlog_transaction_compression = OFF",
    "DROP DATABASE shop",
];

fn format(format: &str) {
    let Some((_sandbox, server)) = server(&[]) else { return };
    run(async {
        let mut client = client(&server).await;
        execute(&mut client, &[&format!("SET SESSION binlog_format = {format}")]).await;
        let start = end(&server);
        execute(&mut client, &TABLES).await;
        execute(&mut client, &STATEMENTS).await;
        client.load_local("LOAD DATA LOCAL INFILE 'x' INTO TABLE log", b"1\n2\n", 1024).await.unwrap();
        execute(&mut client, &MORE).await;
        check(&format!("mysql_{}", format.to_lowercase()), &stream(&server, &start).await);
    });
}

#[test]
fn rows() {
    format("ROW");
}

#[test]
fn statements() {
    format("STATEMENT");
}

#[test]
fn mixed() {
    format("MIXED");
}

#[test]
fn a_log_without_checksums() {
    let Some((_sandbox, server)) = server(&["--binlog-checksum=NONE"]) else { return };
    run(async {
        let (start, mut client) = (end(&server), client(&server).await);
        execute(&mut client, &TABLES).await;
        execute(&mut client, &["INSERT INTO parent VALUES (1)", "FLUSH BINARY LOGS", "DROP TABLE child"])
            .await;
        check("mysql_without_checksums", &stream(&server, &start).await);
    });
}

#[test]
fn cascades_of_the_engine() {
    let Some((_sandbox, server)) = server(&["--innodb-native-foreign-keys=ON"]) else { return };
    run(async {
        let (start, mut client) = (end(&server), client(&server).await);
        execute(&mut client, &TABLES).await;
        execute(&mut client, &["INSERT INTO parent VALUES (1)", "INSERT INTO child VALUES (1, 1)"]).await;
        execute(&mut client, &["DELETE FROM parent"]).await;
        check("mysql_native_foreign_keys", &stream(&server, &start).await);
    });
}

#[test]
fn parts_of_documents() {
    let Some((_sandbox, server)) = server(&["--binlog-row-value-options=PARTIAL_JSON"]) else { return };
    run(async {
        let (start, mut client) = (end(&server), client(&server).await);
        execute(&mut client, &["CREATE DATABASE shop", "CREATE TABLE shop.documents (d JSON)"]).await;
        execute(&mut client, &[r#"INSERT INTO shop.documents VALUES ('{"a": 1, "b": "text"}')"#]).await;
        execute(&mut client, &["UPDATE shop.documents SET d = JSON_SET(d, '$.a', 2)"]).await;
        let events = client.query("SHOW BINLOG EVENTS").await.unwrap().text().unwrap();
        let has = |kind: &str| events.iter().any(|row| row[2].as_deref() == Some(kind));
        assert!(has("Update_rows_partial"), "{events:?}");
        check("mysql_partial_rows", &stream(&server, &start).await);
    });
}

#[test]
fn a_quiet_log() {
    let Some((_sandbox, server)) = server(&[]) else { return };
    run(async {
        let (start, mut client) = (end(&server), client(&server).await);
        execute(&mut client, &TABLES).await;
        let status = client.query("SHOW BINARY LOG STATUS").await.unwrap().text().unwrap();
        let (file, position) = heartbeat(&server, &start).await;
        assert_eq!(status[0][..2], [Some(file), Some(position.to_string())]);
    });
}

#[test]
fn a_log_that_is_gone() {
    let Some((_sandbox, server)) = server(&[]) else { return };
    run(async {
        let (start, mut client) = (end(&server), client(&server).await);
        execute(&mut client, &TABLES).await;
        purge(&mut client).await;
        let bytes = stream(&server, &start).await;
        let (lines, _) = crate::common::facts([&bytes[..]]);
        assert!(lines.last().unwrap().starts_with("Refused { code: 1236"), "{lines:?}");
    });
}
