//! Transactions of 100 MB: rows in events of several packets, with and without compression.

use testkit::client::Client;
use testkit::server::Server;

use crate::record::{client, execute, run, stream};
use crate::{mariadb, mysql};

/// Rows, each of so many bytes.
const ROWS: usize = 5;
const ROW_LEN: usize = 20_000_000;

/// A row of random text, over and over.
fn insert(row: usize) -> String {
    format!("INSERT INTO big VALUES ({row}, REPEAT(SHA2(RAND(), 256), {}))", ROW_LEN / 64)
}

/// Writes one large transaction, and one behind it.
async fn write(client: &mut Client) {
    execute(client, &["BEGIN"]).await;
    for row in 0..ROWS {
        execute(client, &[&insert(row)]).await;
    }
    execute(client, &["COMMIT", "INSERT INTO small VALUES (1)"]).await;
}

const TABLES: [&str; 4] = [
    "CREATE DATABASE large",
    "USE large",
    "CREATE TABLE big (a INT PRIMARY KEY, b LONGTEXT)",
    "CREATE TABLE small (a INT)",
];

/// The facts of a large transaction that is written in a session with these settings.
fn facts(server: &Server, end: impl Fn(&Server) -> binlog::request::Start, settings: &[&str]) -> Vec<String> {
    run(async {
        let mut client = client(server).await;
        execute(&mut client, &TABLES).await;
        execute(&mut client, &["SET SESSION binlog_format = ROW"]).await;
        execute(&mut client, settings).await;
        let start = end(server);
        write(&mut client).await;
        let bytes = stream(server, &start).await;
        let (lines, state) = crate::common::facts(bytes.chunks(64 * 1024));
        assert_eq!(state, Ok(true));
        lines
    })
}

#[test]
fn of_mariadb() {
    let (_sandbox, server) = mariadb::server(&[]);
    let expected = ["gtid 0-1: large.big (rows)", "gtid 0-1: large.small (rows)", "End"];
    assert_eq!(facts(&server, mariadb::end, &[]), expected);
}

#[test]
fn of_mysql() {
    for compression in ["OFF", "ON"] {
        let Some((_sandbox, server)) = mysql::server(&[]) else { return };
        let setting = format!("SET SESSION binlog_transaction_compression = {compression}");
        let lines = facts(&server, mysql::end, &[&setting]);
        let expected = ["gtid: large.big (rows)", "gtid: large.small (rows)", "End"];
        assert_eq!(lines, expected, "compression {compression}");
    }
}
