//! Servers that are lost while sessions have connections to them: who goes on, and what is told to
//! whom.

use config::Config;
use proxy::stage::Stage;
use wire::command::Kind;

use super::support::{
    Client, Database, Servers, begin, config as usual, expect_nothing_left, first_query, log_in, messages,
    play, run, settle, stage,
};

/// A session with a connection to `db`.
pub(super) async fn scene_of(config: Config) -> (Stage, Servers, Client, Database) {
    let (stage, mut servers) = stage(config);
    let mut client = log_in(&stage).await;
    let db = first_query(&mut client, &mut servers).await;
    (stage, servers, client, db)
}

pub(super) async fn scene() -> (Stage, Servers, Client, Database) {
    scene_of(usual()).await
}

/// The next connection, over which this comes first.
pub(super) async fn next(servers: &mut Servers, sql: &str) -> Database {
    let mut server = servers.accept().await;
    server.expect_query(sql).await;
    server.ok().await;
    server
}

#[test]
fn a_session_outside_of_a_transaction_does_not_notice() {
    play(async || {
        let (stage, mut servers, mut client, mut db) = scene().await;
        run(&mut client, &mut db, "SET NAMES latin1").await;
        drop(db);
        settle().await;
        client.send_query("DO 1").await;
        let mut other = next(&mut servers, "SET NAMES latin1").await;
        other.expect_query("DO 1").await;
        other.ok().await;
        client.expect_ok().await;
        // Nor does it hear what a server says when it goes.
        other.packets().expect_seq(1);
        other.err(1053, "08S01", "Server shutdown in progress").await;
        drop(other);
        settle().await;
        client.send_query("DO 2").await;
        let mut third = next(&mut servers, "SET NAMES latin1").await;
        third.expect_query("DO 2").await;
        third.ok().await;
        client.expect_ok().await;
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn each_of_several_commands_that_were_sent_together_has_its_answer() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        begin(&mut client, &mut db).await;
        let commands: Vec<u8> = [&b"\x03INSERT 1"[..], b"\x03INSERT 2", b"\x03INSERT 3"]
            .iter()
            .flat_map(|one| messages(0, &[one]))
            .collect();
        client.send_bytes(&commands).await;
        db.expect_query("INSERT 1").await;
        db.ok().await;
        client.packets().expect_seq(1);
        client.expect_ok().await;
        db.expect_query("INSERT 2").await;
        drop(db);
        for _ in 0..2 {
            client.packets().expect_seq(1);
            client.expect_err(9009).await;
        }
        client.send_query("DO 2").await;
        next(&mut servers, "DO 2").await;
        client.expect_ok().await;
    });
}

#[test]
fn a_ping_is_answered_whatever_becomes_of_its_server() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        client.send_command(Kind::Ping, b"").await;
        assert_eq!(db.read_command().await, [Kind::Ping as u8]);
        drop(db);
        client.expect_ok().await;
        client.send_query("DO 2").await;
        next(&mut servers, "DO 2").await;
        client.expect_ok().await;
    });
}

#[test]
fn a_statement_that_was_not_sent_goes_elsewhere() {
    play(async || {
        let (_stage, mut servers, mut client, mut db) = scene().await;
        run(&mut client, &mut db, "SET NAMES latin1").await;
        drop(db);
        settle().await;
        client.send_query("INSERT 1").await;
        // They die while they are told what the client has set.
        for _ in 0..3 {
            let mut other = servers.accept().await;
            other.expect_query("SET NAMES latin1").await;
        }
        let mut other = next(&mut servers, "SET NAMES latin1").await;
        other.expect_query("INSERT 1").await;
        other.ok().await;
        client.expect_ok().await;
        // That has an end.
        drop(other);
        settle().await;
        client.send_query("INSERT 2").await;
        for _ in 0..=5 {
            let mut other = servers.accept().await;
            other.expect_query("SET NAMES latin1").await;
        }
        client.expect_err(9008).await;
        client.send_query("INSERT 3").await;
        let mut other = next(&mut servers, "SET NAMES latin1").await;
        other.expect_query("INSERT 3").await;
        other.ok().await;
        client.expect_ok().await;
    });
}
