//! Servers that take fewer connections than `max_connections` of their rows says, and rows that say
//! less than before.

use config::Config;
use testkit::script::ScriptedServer;
use tokio::time::Instant;

use super::shared::config as shared;
use super::support::{
    Client, Servers, begin, commit, expect_alive, first_query, log_in, ms, play, run, secs, settle, stage,
};

/// One server which may have many connections, as far as the configuration is concerned.
fn config() -> Config {
    let mut config = shared();
    config.servers[0].max_connections = 1000;
    config.variables.connect_timeout_server_max = secs(10);
    config
}

/// The server refuses the next connection before the login, because it has too many of all users.
async fn full(servers: &mut Servers) {
    let mut server = ScriptedServer::new(servers.dialled().await.1);
    server.packets().expect_seq(0);
    server.err(1040, "HY000", "Too many connections").await;
    server.expect_gone().await;
}

/// The same at the login, because the account has too many.
async fn account_full(servers: &mut Servers) {
    let mut server = ScriptedServer::new(servers.dialled().await.1);
    server.greet().await;
    server.read_login().await;
    let text = "User 'app' has exceeded the 'max_user_connections' resource (current value: 1)";
    server.err(1226, "42000", text).await;
    server.expect_gone().await;
}

async fn ask(client: &mut Client) {
    client.send_query("DO 1").await;
}

#[test]
fn a_session_waits_for_a_connection_that_is_there_if_its_server_is_full() {
    for of_account in [false, true] {
        play(async || {
            let (stage, mut servers) = stage(config());
            let (mut first, mut second) = (log_in(&stage).await, log_in(&stage).await);
            let mut server = first_query(&mut first, &mut servers).await;
            begin(&mut first, &mut server).await;
            ask(&mut second).await;
            if of_account {
                account_full(&mut servers).await;
            } else {
                full(&mut servers).await;
            }
            assert!(servers.settled().await.is_none(), "the server is left alone for a moment");
            commit(&mut first, &mut server).await;
            // The client has to be let in.
            super::shared::let_in(&mut server).await;
            server.expect_query("DO 1").await;
            server.ok().await;
            second.expect_ok().await;
            let stats = stage.servers(false);
            assert_eq!((stats[0].status, stats[0].failed), ("ONLINE", 0), "nothing is wrong with it");
            expect_alive(&mut first, &mut server).await;
        });
    }
}

/// The only connection of an account has ended, and the server counts it for a moment longer.
#[test]
fn a_server_that_counts_an_ended_connection_of_the_account_is_asked_again() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut first, mut second) = (log_in(&stage).await, log_in(&stage).await);
        let mut server = first_query(&mut first, &mut servers).await;
        begin(&mut first, &mut server).await;
        ask(&mut second).await;
        account_full(&mut servers).await;
        assert!(servers.settled().await.is_none(), "the server is left alone for a moment");
        drop(first);
        server.expect_gone().await;
        account_full(&mut servers).await;
        let mut server = servers.accept().await;
        server.expect_query("DO 1").await;
        server.ok().await;
        second.expect_ok().await;
    });
}

#[test]
fn more_are_tried_again_later_and_one_after_the_other() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut first = log_in(&stage).await;
        let mut server = first_query(&mut first, &mut servers).await;
        begin(&mut first, &mut server).await;
        let mut others = [log_in(&stage).await, log_in(&stage).await];
        let start = Instant::now();
        others[0].send_query("BEGIN").await;
        full(&mut servers).await;
        others[1].send_query("BEGIN").await;
        for at in [100, 200] {
            full(&mut servers).await;
            assert!(start.elapsed() >= ms(at) && start.elapsed() < ms(at + 50), "{:?}", start.elapsed());
        }
        // It has room by now, for both.
        let mut servers_of_others = Vec::new();
        for other in &mut others {
            let mut its = servers.accept().await;
            its.expect_query("BEGIN").await;
            its.status |= wire::StatusFlags::IN_TRANSACTION;
            its.ok().await;
            other.expect_ok().await;
            servers_of_others.push(its);
        }
        assert!(start.elapsed() < ms(350), "{:?}", start.elapsed());
        assert_eq!(stage.usage(0).open, 3);
    });
}

#[test]
fn who_waits_too_long_is_told_what_the_server_says() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut first, mut second) = (log_in(&stage).await, log_in(&stage).await);
        let mut server = first_query(&mut first, &mut servers).await;
        begin(&mut first, &mut server).await;
        server.patience(secs(100));
        ask(&mut second).await;
        servers.converse(async |_, end| {
            let mut server = ScriptedServer::new(end);
            server.packets().expect_seq(0);
            server.err(1040, "HY000", "Too many connections").await;
            server.expect_gone().await;
        });
        let error = second.expect_err(9001).await;
        let why = "1 of 1000 connections of 1 servers are in use, and the servers take no more";
        assert!(error.message.contains(why), "{error}");
        assert!(error.message.contains("times (error 1040: Too many connections)"), "{error}");
        commit(&mut first, &mut server).await;
    });
}

#[test]
fn connections_above_a_lowered_limit_are_closed_once_idle() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut sessions = Vec::new();
        for _ in 0..4 {
            let mut client = log_in(&stage).await;
            client.send_query("BEGIN").await;
            let mut server = servers.accept().await;
            server.expect_query("BEGIN").await;
            server.status |= wire::StatusFlags::IN_TRANSACTION;
            server.ok().await;
            client.expect_ok().await;
            sessions.push((client, server));
        }
        for (client, server) in &mut sessions[..3] {
            commit(client, server).await;
        }
        assert_eq!(stage.usage(0).open, 4);
        let mut lower = config();
        lower.servers[0].max_connections = 1;
        stage.apply(lower).unwrap();
        settle().await;
        assert_eq!(stage.usage(0).open, 1, "idle ones are closed at once");
        let (mut busy, mut server) = sessions.pop().unwrap();
        run(&mut busy, &mut server, "DO 2").await;
        let mut new = log_in(&stage).await;
        ask(&mut new).await;
        settle().await;
        let start = Instant::now();
        commit(&mut busy, &mut server).await;
        server.expect_gone().await;
        let mut server = servers.accept().await;
        server.expect_query("DO 1").await;
        server.ok().await;
        new.expect_ok().await;
        assert!(start.elapsed() < ms(100), "no session waits: {:?}", start.elapsed());
    });
}

#[test]
fn what_is_more_than_a_lower_limit_is_closed_when_it_comes_back() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut sessions = Vec::new();
        for _ in 0..2 {
            let mut client = log_in(&stage).await;
            let mut server = servers_begin(&mut client, &mut servers).await;
            run(&mut client, &mut server, "DO 2").await;
            sessions.push((client, server));
        }
        let mut lower = config();
        lower.servers[0].max_connections = 1;
        stage.apply(lower).unwrap();
        settle().await;
        assert_eq!(stage.usage(0).open, 2, "both are in use");
        let (first, its) = &mut sessions[0];
        commit(first, its).await;
        settle().await;
        assert_eq!(stage.usage(0).open, 1);
        its.expect_gone().await;
    });
}

/// A session's connection, on which it has begun a transaction.
async fn servers_begin(client: &mut Client, servers: &mut Servers) -> super::support::Database {
    client.send_query("BEGIN").await;
    let mut server = servers.accept().await;
    server.expect_query("BEGIN").await;
    server.status |= wire::StatusFlags::IN_TRANSACTION;
    server.ok().await;
    client.expect_ok().await;
    server
}
