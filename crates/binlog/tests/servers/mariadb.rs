//! MariaDB 10.11.

use binlog::request::Start;
use testkit::guard::Sandbox;
use testkit::mariadb;
use testkit::server::{Server, Setup};

use crate::record::{check, client, execute, heartbeat, purge, run, stream};
use crate::statements::{STATEMENTS, TABLES};

pub(crate) fn server(more: &[&str]) -> (Sandbox, Server) {
    let binaries = mariadb::find().unwrap();
    let sandbox = Sandbox::new().unwrap();
    let setup = Setup::new("db")
        .args(["--log-bin=binlog", "--local-infile=ON", "--log-bin-trust-function-creators=ON"])
        .args(more.iter().copied());
    let server = setup.start(&binaries, &sandbox).unwrap();
    (sandbox, server)
}

/// The end of the log.
pub(crate) fn end(server: &Server) -> Start {
    Start::MariaDb(server.sql("SELECT @@gtid_binlog_pos").unwrap().trim().parse().unwrap())
}

/// More of them, in two files of the log.
const MORE: [&str; 8] = [
    "FLUSH BINARY LOGS",
    "SET GLOBAL log_bin_compress_min_len = 10, GLOBAL log_bin_compress = ON",
    "INSERT INTO parent VALUES (14)",
    "UPDATE log SET n = n + 1 WHERE n IN (100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110)",
    "DELETE FROM child WHERE id > 0",
    "SET SESSION gtid_domain_id = 5",
    "DELETE FROM log",
    "DROP DATABASE shop",
];

fn format(format: &str) {
    let (_sandbox, server) = server(&[]);
    run(async {
        let mut client = client(&server).await;
        execute(&mut client, &[&format!("SET SESSION binlog_format = {format}")]).await;
        let start = end(&server);
        execute(&mut client, &TABLES).await;
        execute(&mut client, &STATEMENTS).await;
        client.load_local("LOAD DATA LOCAL INFILE 'x' INTO TABLE log", b"1\n2\n", 1024).await.unwrap();
        execute(&mut client, &MORE).await;
        check(&format!("mariadb_{}", format.to_lowercase()), &stream(&server, &start).await);
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
    let (_sandbox, server) = server(&["--binlog-checksum=NONE"]);
    run(async {
        let (start, mut client) = (end(&server), client(&server).await);
        execute(&mut client, &TABLES).await;
        execute(&mut client, &["INSERT INTO parent VALUES (1)", "FLUSH BINARY LOGS", "DROP TABLE child"])
            .await;
        check("mariadb_without_checksums", &stream(&server, &start).await);
    });
}

/// The server decrypts what it sends.
#[test]
fn an_encrypted_log() {
    let (binaries, sandbox) = (mariadb::find().unwrap(), Sandbox::new().unwrap());
    let keys = sandbox.path().join("keys");
    std::fs::write(&keys, format!("1;{}\n", "5c".repeat(32))).unwrap();
    let keys = format!("--file-key-management-filename={}", keys.display());
    let plugin = "--plugin-load-add=file_key_management";
    let setup = Setup::new("db").args(["--log-bin=binlog", "--encrypt-binlog=ON", plugin]).args([&*keys]);
    let server = setup.start(&binaries, &sandbox).unwrap();
    run(async {
        let (start, mut client) = (end(&server), client(&server).await);
        execute(&mut client, &TABLES).await;
        execute(&mut client, &["INSERT INTO parent VALUES (1)", "FLUSH BINARY LOGS", "DROP TABLE child"])
            .await;
        let events = client.query("SHOW BINLOG EVENTS").await.unwrap().text().unwrap();
        assert!(events.iter().any(|row| row[2].as_deref() == Some("Start_encryption")), "{events:?}");
        check("mariadb_encrypted", &stream(&server, &start).await);
    });
}

#[test]
fn a_quiet_log() {
    let (_sandbox, server) = server(&[]);
    run(async {
        let (start, mut client) = (end(&server), client(&server).await);
        execute(&mut client, &TABLES).await;
        let status = client.query("SHOW MASTER STATUS").await.unwrap().text().unwrap();
        let (file, position) = heartbeat(&server, &start).await;
        assert_eq!(status[0][..2], [Some(file), Some(position.to_string())]);
    });
}

#[test]
fn a_log_that_is_gone() {
    let (_sandbox, server) = server(&[]);
    run(async {
        let (start, mut client) = (end(&server), client(&server).await);
        execute(&mut client, &TABLES).await;
        purge(&mut client).await;
        let bytes = stream(&server, &start).await;
        let (lines, _) = crate::common::facts([&bytes[..]]);
        assert!(lines.last().unwrap().starts_with("Refused { code: 1236"), "{lines:?}");
    });
}
