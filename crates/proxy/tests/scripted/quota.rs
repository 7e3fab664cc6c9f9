//! Users who may have only so many connections to servers, whatever hostgroups their sessions use and whatever becomes of the limit.

use config::{Config, QueryRule, Server};
use proxy::stage::Stage;
use testkit::script::ScriptedServer;
use tokio::time::sleep;
use wire::command::Kind;

use super::shared::config as shared;
use super::support::{
    Client, Servers, begin, database, first_query, log_in, ms, play, rule, secs, settle, stage,
};

/// Sessions share connections to two servers: one of hostgroup 0, and one of hostgroup 1, which has the statements with `reader` in them.
/// Their user may have so many of both together.
fn config(most: Option<u64>) -> Config {
    let mut config = shared();
    config.servers = vec![database("db"), Server { hostgroup_id: 1, ..database("reader") }];
    config.query_rules = vec![QueryRule { destination_hostgroup: Some(1), apply: true, ..rule(1, "reader") }];
    config.variables.connect_timeout_server_max = secs(2);
    config.users[0].attributes.max_backend_connections = most;
    config
}

/// Servers that let everybody in, and answer each statement with OK after some milliseconds.
fn slow(servers: Servers) {
    servers.converse(|_, end| async move {
        let (mut server, _) = ScriptedServer::accept(end).await;
        while server.next_command().await.is_some() {
            sleep(ms(5)).await;
            server.ok().await;
        }
    });
}

/// A client that reads for ever.
fn reading(mut client: Client) {
    tokio::task::spawn_local(async move {
        loop {
            client.send_query("SELECT 'reader'").await;
            client.expect_ok().await;
        }
    });
}

/// Connections to the writer and to the reader.
fn open(stage: &Stage) -> (u32, u32) {
    (stage.usage(0).open, stage.usage(1).open)
}

/// Readers handed their connections to each other, and no writer ever got one.
#[test]
fn who_wants_another_hostgroup_does_not_wait_for_ever() {
    let config = config(Some(2));
    play(async || {
        let (stage, servers) = stage(config.clone());
        slow(servers);
        for _ in 0..6 {
            reading(log_in(&stage).await);
        }
        let mut writer = log_in(&stage).await;
        sleep(ms(50)).await;
        assert_eq!(open(&stage), (0, 2));
        for _ in 0..5 {
            writer.send_query("UPDATE t SET a = 1").await;
            writer.expect_ok().await;
            let (writers, readers) = open(&stage);
            assert!(writers + readers <= 2, "{writers} + {readers}");
            sleep(ms(200)).await;
        }
    });
}

/// Each session allowed what its own user's row had said, so that the limit was what the last one of them thought.
#[test]
fn c23_a_limit_that_changes_holds_for_sessions_of_before() {
    play(async || {
        let (stage, mut servers) = stage(config(None));
        let (mut one, mut two) = (log_in(&stage).await, log_in(&stage).await);
        let mut server = first_query(&mut one, &mut servers).await;
        begin(&mut one, &mut server).await;
        // What was opened before there was a limit counts.
        stage.apply(config(Some(1))).unwrap();
        let mut three = log_in(&stage).await;
        for client in [&mut two, &mut three] {
            client.send_query("SELECT 1").await;
            let error = client.expect_err(9001).await;
            assert!(error.message.contains("has 1 of 1 connections"), "{}", error.message);
        }
        stage.apply(config(Some(2))).unwrap();
        two.send_query("SELECT 'reader'").await;
        let mut reader = servers.accept().await;
        reader.expect_query("SELECT 'reader'").await;
        three.send_query("SELECT 1").await;
        let error = three.expect_err(9001).await;
        assert!(error.message.contains("has 2 of 2 connections"), "{}", error.message);
        // Who waits is told at once that there is no limit any more.
        three.send_query("SELECT 1").await;
        settle().await;
        stage.apply(config(None)).unwrap();
        let mut third = servers.accept().await;
        third.expect_query("SELECT 1").await;
        third.ok().await;
        three.expect_ok().await;
    });
}

/// They were kept for the next copy for ten seconds.
#[test]
fn connections_for_copies_make_room_for_sessions_of_the_user() {
    let mut config = config(Some(2));
    config.query_rules = vec![QueryRule { mirror_hostgroup: Some(1), ..rule(1, "copied") }];
    config.variables.connect_timeout_server_max = ms(500);
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let (mut one, mut two) = (log_in(&stage).await, log_in(&stage).await);
        let mut server = first_query(&mut one, &mut servers).await;
        begin(&mut one, &mut server).await;
        one.send_query("SELECT 'copied'").await;
        let mut copy = servers.accept().await;
        for server in [&mut server, &mut copy] {
            server.expect_query("SELECT 'copied'").await;
            server.ok().await;
        }
        one.expect_ok().await;
        settle().await;
        assert_eq!(open(&stage), (1, 1));
        first_query(&mut two, &mut servers).await;
        copy.expect_command(Kind::Quit, b"").await;
    });
}
