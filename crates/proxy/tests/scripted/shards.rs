//! A table over two shards beside the home: which server hears what.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use config::{Config, Server, ShardTransactions};
use proxy::memory::End;
use proxy::stage::Stage;
use shard::placement::{Function, Level, Modulo, Sign};
use shard::{Draft, Layout, Node, Table};
use testkit::script::ScriptedClient;
use wire::command::Kind;
use wire::{StatusFlags, packet};

use super::support::{
    self, Client, Database, connect, database, lets_in, messages, options, play, prepare_ok, stage,
};

/// The table `db.t` by `id`: even ones in hostgroup 1, odd ones in hostgroup 2.
pub(super) fn layout() -> Layout {
    let node = |hostgroup| Node { hostgroup, schema: "db".to_owned(), table: "t".to_owned() };
    let function = Function::Modulo(Modulo { shards: 2, sign: Sign::Floor });
    let level = Level { columns: vec![0], function, nodes: None };
    let table = Table::sharded(["db", "t"], vec![node(1), node(2)], vec!["id".to_owned()], vec![level]);
    let draft = Draft { hostgroups: vec![0, 1, 2], tables: vec![table], ..Draft::default() };
    Layout::new(draft).expect("a valid layout")
}

fn config() -> Config {
    let mut config = support::config();
    for (hostgroup_id, host) in [(1, "even"), (2, "odd")] {
        config.servers.push(Server { hostgroup_id, ..database(host) });
    }
    config.shards = Some(Arc::new(layout()));
    config
}

/// Statements that servers have got, each with its server, in the order of time.
#[derive(Debug, Default)]
struct Statements(RefCell<Vec<(String, String)>>);

impl Statements {
    /// The servers that have got this statement.
    fn servers_of(&self, sql: &str) -> Vec<String> {
        let all = self.0.borrow();
        all.iter().filter(|(_, text)| text == sql).map(|(server, _)| server.clone()).collect()
    }
}

/// A client of a proxy whose servers answer by themselves.
async fn session(config: Config) -> (Stage, Client, Rc<Statements>) {
    let statements = Rc::new(Statements::default());
    let (stage, servers) = stage(config);
    let at_servers = Rc::clone(&statements);
    servers.converse(move |name, end| converse(Rc::clone(&at_servers), name, end));
    let client = ScriptedClient::connect(connect(&stage), &options().schema("db")).await;
    (stage, client, statements)
}

async fn converse(statements: Rc<Statements>, name: String, end: End) {
    let mut server = lets_in(end).await;
    let host = name.trim_end_matches(":3306");
    while let Some(command) = server.next_command().await {
        let Some((kind, body)) = command.split_first() else { return };
        let text = String::from_utf8_lossy(body).into_owned();
        if *kind == Kind::StmtPrepare as u8 {
            server.send_packet(&prepare_ok(1)).await;
        } else if text.contains("LOAD DATA") {
            server.send_packet(&packet::LocalInfile { filename: b"/f" }).await;
            while !server.read().await.is_empty() {}
            server.ok().await;
        } else if *kind == Kind::StmtBulkExecute as u8 {
            server.ok().await;
        } else if *kind == Kind::Query as u8 {
            answer(&mut server, host, &text).await;
            statements.0.borrow_mut().push((host.to_owned(), text));
        } else if *kind != Kind::StmtClose as u8 {
            return;
        }
    }
}

async fn answer(server: &mut Database, host: &str, sql: &str) {
    match sql {
        "BEGIN" => server.status |= StatusFlags::IN_TRANSACTION,
        "COMMIT" | "ROLLBACK" => server.status -= StatusFlags::IN_TRANSACTION,
        _ if sql.ends_with("autocommit = 0") => server.status -= StatusFlags::AUTOCOMMIT,
        _ if !server.status.contains(StatusFlags::AUTOCOMMIT) && sql.contains("INSERT") => {
            server.status |= StatusFlags::IN_TRANSACTION;
        }
        _ => {}
    }
    if !sql.contains("information_schema") {
        return server.ok().await;
    }
    if host == "db" { server.rows(&["?"; 13], &[]).await } else { define(server).await }
}

/// The answer to a question about the table.
pub(super) async fn define(server: &mut Database) {
    let wide = |cells: &[Option<&'static str>]| {
        let mut row = [None; 13];
        row[..cells.len()].copy_from_slice(cells);
        row
    };
    let head = [Some("0"), Some("BASE TABLE"), Some("InnoDB"), Some("8.4.3"), Some("1024")];
    let column = [Some("1"), Some("1"), Some("id"), Some("int"), Some("int(11)"), Some("NO"), None, Some("")];
    server.rows(&["?"; 13], &[&wide(&head), &wide(&column)]).await;
}

/// Sends these statements in one write.
async fn send_at_once(client: &mut Client, all: &[&str]) {
    let payloads = all.iter().map(|sql| [&[Kind::Query as u8], sql.as_bytes()].concat());
    let bytes: Vec<u8> = payloads.flat_map(|payload| messages(0, &[&payload])).collect();
    client.send_bytes(&bytes).await;
}

async fn expect_ok(client: &mut Client) {
    client.packets().expect_seq(1);
    client.expect_ok().await;
}

async fn run(client: &mut Client, sql: &str) {
    client.send_query(sql).await;
    expect_ok(client).await;
}

#[test]
fn c08_a_commit_right_behind_a_statement_at_home_reaches_the_shard() {
    play(async || {
        let (_stage, mut client, statements) = session(config()).await;
        run(&mut client, "BEGIN").await;
        run(&mut client, "INSERT INTO t VALUES (6)").await;
        send_at_once(&mut client, &["DO 1", "COMMIT"]).await;
        expect_ok(&mut client).await;
        expect_ok(&mut client).await;
        assert_eq!(statements.servers_of("COMMIT"), ["even", "db"]);
    });
}

#[test]
fn a_statement_right_behind_one_at_home_goes_to_its_shard() {
    play(async || {
        let (_stage, mut client, statements) = session(config()).await;
        run(&mut client, "DO 1").await;
        send_at_once(&mut client, &["DO 2", "DELETE FROM t WHERE id = 7", "DO 3"]).await;
        for _ in 0..3 {
            expect_ok(&mut client).await;
        }
        assert_eq!(statements.servers_of("DELETE FROM t WHERE id = 7"), ["odd"]);
        assert_eq!(statements.servers_of("DO 3"), ["db"]);
    });
}

#[test]
fn a_write_right_behind_a_statement_at_home_is_one_of_its_transaction() {
    play(async || {
        let mut config = config();
        config.pointsman.shard_transactions = ShardTransactions::Single;
        let (_stage, mut client, statements) = session(config).await;
        run(&mut client, "BEGIN").await;
        run(&mut client, "DO 1").await;
        send_at_once(&mut client, &["DO 2", "DELETE FROM h"]).await;
        expect_ok(&mut client).await;
        expect_ok(&mut client).await;
        client.send_query("INSERT INTO t VALUES (6)").await;
        client.expect_err(1235).await;
        assert_eq!(statements.servers_of("DELETE FROM h"), ["db"]);
        assert!(statements.servers_of("INSERT INTO t VALUES (6)").is_empty());
    });
}

#[test]
fn a_statement_right_behind_a_close_at_home_goes_to_its_shard() {
    play(async || {
        let (_stage, mut client, statements) = session(config()).await;
        client.send_command(Kind::StmtPrepare, b"DO 1").await;
        let prepared = client.read().await;
        let close = [&[Kind::StmtClose as u8], &prepared[1..5]].concat();
        let both = [messages(0, &[&close]), messages(0, &[b"\x03INSERT INTO t VALUES (6)"])].concat();
        client.send_bytes(&both).await;
        expect_ok(&mut client).await;
        assert_eq!(statements.servers_of("INSERT INTO t VALUES (6)"), ["even"]);
    });
}

#[test]
fn tables_that_are_unlocked_without_being_locked_leave_the_transaction_open() {
    // BEGIN has unlocked them.
    for before in ["DO 1", "LOCK TABLES h WRITE"] {
        play(async || {
            let (_stage, mut client, statements) = session(config()).await;
            run(&mut client, before).await;
            run(&mut client, "BEGIN").await;
            run(&mut client, "INSERT INTO t VALUES (6)").await;
            run(&mut client, "UNLOCK TABLES").await;
            run(&mut client, "ROLLBACK").await;
            assert!(statements.servers_of("COMMIT").is_empty());
            assert_eq!(statements.servers_of("ROLLBACK"), ["even", "db"]);
        });
    }
}

#[test]
fn unlocked_tables_commit_the_transaction_at_shards() {
    play(async || {
        let (_stage, mut client, statements) = session(config()).await;
        run(&mut client, "SET autocommit = 0").await;
        run(&mut client, "LOCK TABLES h WRITE").await;
        run(&mut client, "INSERT INTO t VALUES (6)").await;
        run(&mut client, "UNLOCK TABLES").await;
        assert_eq!(statements.servers_of("COMMIT"), ["even"]);
    });
}

/// A transaction has released them that began in between, or the lock is that of the server.
#[test]
fn tables_that_are_not_locked_any_more_commit_nothing_at_shards() {
    for locks in
        ["LOCK TABLES h WRITE", "FLUSH TABLES h WITH READ LOCK", "FLUSH TABLES WITH READ LOCK", "DO 1"]
    {
        play(async || {
            let (_stage, mut client, statements) = session(config()).await;
            for sql in [locks, "BEGIN", "COMMIT", "SET autocommit = 0", "INSERT INTO t VALUES (6)"] {
                run(&mut client, sql).await;
            }
            run(&mut client, "UNLOCK TABLES").await;
            assert!(!statements.servers_of("COMMIT").contains(&"even".to_owned()));
        });
    }
}

#[test]
fn a_server_that_is_lost_in_its_reply_to_the_proxy_is_told_in_the_order_of_packets() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = ScriptedClient::connect(connect(&stage), &options().schema("db")).await;
        client.send_query("INSERT INTO t VALUES (6)").await;
        let mut server = lets_in(servers.dialled().await.1).await;
        server.read_command().await;
        server.columns(&["?"; 13]).await;
        drop(server);
        client.expect_err(2013).await;
    });
}

#[test]
fn a_statement_right_behind_a_file_for_a_shard_goes_home() {
    play(async || {
        let (_stage, mut client, statements) = session(config()).await;
        run(&mut client, "INSERT INTO t VALUES (6)").await;
        client.send_query("/* shard=1 */ LOAD DATA LOCAL INFILE '/f' INTO TABLE t").await;
        client.expect(b"\xfb/f").await;
        let all = [messages(2, &[b"8\n", b""]), messages(0, &[b"\x03DO 1"])].concat();
        client.send_bytes(&all).await;
        client.packets().expect_seq(4);
        client.expect_ok().await;
        expect_ok(&mut client).await;
        assert_eq!(statements.servers_of("DO 1"), ["db"]);
    });
}

#[test]
fn c08_a_bulk_execution_at_home_is_a_write_of_its_transaction() {
    play(async || {
        let mut config = config();
        config.pointsman.shard_transactions = ShardTransactions::Single;
        let (_stage, mut client, statements) = session(config).await;
        client.send_command(Kind::StmtPrepare, b"DELETE FROM h").await;
        let prepared = client.read().await;
        run(&mut client, "BEGIN").await;
        // No flags, and no values.
        client.send_command(Kind::StmtBulkExecute, &[&prepared[1..5], &[0, 0]].concat()).await;
        expect_ok(&mut client).await;
        client.send_query("INSERT INTO t VALUES (6)").await;
        client.expect_err(1235).await;
        assert!(statements.servers_of("INSERT INTO t VALUES (6)").is_empty());
    });
}
