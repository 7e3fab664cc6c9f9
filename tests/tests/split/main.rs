//! Reads and writes of one session at two real servers: what each of them gets, and that clients do
//! not notice.

mod causal;
mod late;
mod link;
mod own_writes;
mod sets;

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup, on_each_server, run};
use testkit::client::{Client, Options, Value};
use testkit::server::PASSWORD;

use sets::{
    c04_sets_in_comments_follow_the_session, c04_values_that_only_the_server_knows_follow_the_session,
    c04_what_is_executed_by_name_does_what_it_says,
    c04_what_is_set_for_one_transaction_does_not_follow_the_session,
};

/// Cannot write where `read_only` is on.
const USER: &str = "plain";

/// A writer and a reader with the same tables, of which one tells which server it is.
struct Pair {
    writer: Backend,
    reader: Backend,
}

static DB: LazyLock<Pair> = LazyLock::new(|| Pair::of([Backend::start(&[]), Backend::start(&[])]));
static MYSQL: LazyLock<Option<Pair>> =
    LazyLock::new(|| Some(Pair::of([Backend::start_mysql(&[])?, Backend::start_mysql(&[])?])));

impl Pair {
    fn of([writer, reader]: [Backend; 2]) -> Self {
        for (server, name) in [(&writer, "writer"), (&reader, "reader")] {
            server.sql(&format!(
                "CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON test.* TO {USER}@'127.0.0.1'; \
                 CREATE DATABASE other; GRANT ALL ON other.* TO {USER}@'127.0.0.1'; \
                 CREATE TABLE test.who (name VARCHAR(10), n INT); INSERT INTO test.who VALUES ('{name}', 1); \
                 CREATE TABLE other.who (name VARCHAR(20)); INSERT INTO other.who VALUES ('other {name}'); \
                 CREATE TABLE test.t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(20)); \
                 INSERT INTO test.t (a) VALUES ('one')"
            ));
        }
        reader.sql("SET GLOBAL read_only = ON");
        Self { writer, reader }
    }

    fn proxy(&self) -> Proxy {
        Setup::new(&self.writer.sandbox)
            .server(&self.writer.server, "")
            .server(&self.reader.server, "hostgroup_id = 1")
            .row("mysql_replication_hostgroups", "writer_hostgroup = 0\nreader_hostgroup = 1")
            .variable("read_write_split", true)
            .user(USER, PASSWORD, "")
            .start()
    }
}

on_each_server! {
    reads_go_to_the_reader_and_nothing_else,
    c04_settings_follow_the_session,
    c04_sets_in_comments_follow_the_session,
    c04_values_that_only_the_server_knows_follow_the_session,
    c04_what_is_executed_by_name_does_what_it_says,
    c04_what_is_set_for_one_transaction_does_not_follow_the_session,
    prepared_statements_follow_the_session,
    c08_transactions_stay_whole,
    c06_text_of_two_byte_characters_is_not_misread,
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

fn reads_go_to_the_reader_and_nothing_else(pair: &Pair) {
    let proxy = pair.proxy();
    run(async {
        let mut client = connect(&proxy).await;
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
        for sql in [
            "SELECT name FROM who FOR UPDATE",
            "SELECT name FROM who LOCK IN SHARE MODE",
            "SELECT @a := name FROM who",
            "SELECT name FROM who WHERE GET_LOCK('a', 0) = 1 AND RELEASE_LOCK('a') = 1",
            "/* access_mode=read_write */ SELECT name FROM who",
        ] {
            assert_eq!(value(&mut client, sql).await, "writer", "{sql}");
        }
        // A reader would refuse these with error 1290.
        for sql in [
            "INSERT INTO t (a) VALUES ('two')",
            "UPDATE t SET a = 'deux' WHERE a = 'two'",
            "REPLACE INTO t VALUES (100, 'x')",
            "DELETE FROM t WHERE id = 100",
            "/*!50000 UPDATE t SET a = 'deux' */",
            "WITH x AS (SELECT 1 AS one) SELECT name FROM who, x WHERE one = 1",
            "CREATE TABLE fresh AS SELECT * FROM t",
            "DROP TABLE fresh",
        ] {
            client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        client.query("INSERT INTO t (a) VALUES ('three')").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
        assert_ne!(value(&mut client, "SELECT LAST_INSERT_ID()").await, "0", "the writer knows it");
        // What the reader does not have the session is not sent away from.
        client.query("CREATE TEMPORARY TABLE mine AS SELECT name FROM who").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM mine").await, "writer");
    });
}

fn c04_settings_follow_the_session(pair: &Pair) {
    let proxy = pair.proxy();
    run(async {
        let mut client = connect(&proxy).await;
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
        client.query("SET SESSION sql_mode = 'PIPES_AS_CONCAT'").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name || '!' FROM who").await, "reader!");
        client.query("USE other").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "other reader");
        client.init_db("test").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
        client.query("SET NAMES latin1").await.unwrap();
        let latin = client.query("SELECT CONCAT(name, _utf8mb4 0xc3a4) FROM who").await.unwrap();
        assert_eq!(latin.rows[0], b"\x07reader\xe4");
        // Behind what was set before.
        client.query("SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')").await.unwrap();
        assert_eq!(value(&mut client, "SELECT \"name\" || '!' FROM who").await, "reader!");
        // What only one server can know keeps the session there.
        client.query("SET optimizer_switch = CONCAT(@@optimizer_switch, '')").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "writer");
        client.reset_connection().await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
        assert_eq!(value(&mut client, "SELECT name || 1 FROM who").await, "1", "it is a logical or again");
    });
}

fn prepared_statements_follow_the_session(pair: &Pair) {
    let proxy = pair.proxy();
    run(async {
        let mut client = connect(&proxy).await;
        let read = client.prepare("SELECT name FROM who WHERE n = ?").await.unwrap();
        let write = client.prepare("INSERT INTO t (a) VALUES (?)").await.unwrap();
        let name = |rows: &[Vec<u8>]| String::from_utf8(rows[0][3..].to_vec()).unwrap();
        for _ in 0..2 {
            let rows = client.execute(&read, &[Value::Int(1)]).await.unwrap().rows;
            assert_eq!(name(&rows), "reader");
            assert_eq!(client.execute(&write, &[Value::from("x")]).await.unwrap().affected_rows, 1);
            client.query("BEGIN").await.unwrap();
            let rows = client.execute(&read, &[Value::Int(1)]).await.unwrap().rows;
            assert_eq!(name(&rows), "writer");
            client.query("COMMIT").await.unwrap();
        }
        let cursor = client.open_cursor(&read, &[Value::Int(1)]).await.unwrap();
        assert!(cursor.rows.is_empty());
        client.query("DELETE FROM t WHERE a = 'x'").await.unwrap();
        assert_eq!(name(&client.fetch(&read, 5).await.unwrap().rows), "reader");
        client.send_long_data(&write, 0, b"long ").await.unwrap();
        client.send_long_data(&write, 0, b"text").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
        client.execute(&write, &[Value::Sent]).await.unwrap();
        assert_eq!(
            value(&mut client, "/* hostgroup=0 */ SELECT COUNT(*) FROM t WHERE a = 'long text'").await,
            "1"
        );
        client.close(read.clone()).await.unwrap();
        assert_eq!(client.execute(&read, &[Value::Int(1)]).await.unwrap_err().code(), Some(1243));
        client.execute(&write, &[Value::from("y")]).await.unwrap();
    });
}

fn c08_transactions_stay_whole(pair: &Pair) {
    let proxy = pair.proxy();
    run(async {
        let mut client = connect(&proxy).await;
        client.query("BEGIN").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "writer");
        client.query("COMMIT").await.unwrap();
        client.query("START TRANSACTION READ ONLY").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
        // It commits, and begins one that may write.
        client.query("START TRANSACTION").await.unwrap();
        client.query("INSERT INTO t (a) VALUES ('in a transaction')").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "writer");
        client.query("ROLLBACK").await.unwrap();
        client.query("SET autocommit = 0").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "writer");
        client.query("COMMIT").await.unwrap();
        client.query("SET autocommit = 1").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
    });
}

fn c06_text_of_two_byte_characters_is_not_misread(pair: &Pair) {
    let proxy = pair.proxy();
    run(async {
        let mut client = connect(&proxy).await;
        client.query("SET NAMES gbk").await.unwrap();
        // The second byte of the character is a backslash: to who does not know the string has no
        // end.
        let hidden = b"SELECT name, '\xd5\x5c', @a := 1, '' FROM who";
        let payload = [&b"\x03"[..], hidden].concat();
        client.send_command(wire::command::Kind::Query, &payload[1..]).await.unwrap();
        let result = client.read_result().await.unwrap();
        assert!(result.rows[0].starts_with(b"\x06writer"), "it sets a variable");
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
    });
}
