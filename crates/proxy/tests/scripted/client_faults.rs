//! Clients that leave in the middle of anything, and clients that say something wrong.

use config::Config;
use proptest::collection::vec;
use proptest::prelude::*;
use proxy::stage::Stage;
use tokio::task::spawn_local;
use wire::StatusFlags;
use wire::command::Kind;

use super::support::{
    CAPACITY, Database, Servers, config, expect_alive, expect_nothing_left, first_query, log_in, long_query,
    messages, play, play_all, session, session_in, settle, stage,
};

/// The default configuration with another `mysql-max_allowed_packet`.
fn limited(max_allowed_packet: u32) -> Config {
    let mut config = config();
    config.variables.max_allowed_packet = max_allowed_packet;
    config
}

#[test]
fn a_client_that_leaves_while_idle_takes_its_connection_along() {
    play(async || {
        let (stage, client, mut server) = session().await;
        drop(client);
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_client_that_leaves_before_its_first_query_leaves_nothing() {
    play(async || {
        let (stage, _servers) = stage(config());
        let client = log_in(&stage).await;
        assert_eq!(stage.sessions(), 1);
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn c09_a_client_that_leaves_in_a_transaction_commits_nothing() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        client.send_query("BEGIN").await;
        server.expect_query("BEGIN").await;
        server.status |= StatusFlags::IN_TRANSACTION;
        server.ok().await;
        client.expect_ok().await;
        client.send_query("INSERT half").await;
        server.expect_query("INSERT half").await;
        server.ok().await;
        client.expect_ok().await;
        drop(client);
        // The server rolls back what ends without a word; nothing is said, least of all COMMIT.
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_command_leaves_it_incomplete() {
    for len in [1, 4, 5, 10, 30_000] {
        play(async || {
            let (stage, mut client, mut server) = session().await;
            let command = messages(0, &[&long_query(50_000)]);
            let (part, _) = command.split_at(len);
            let reading = spawn_local(async move {
                let mut got = Vec::new();
                let _ = tokio::io::AsyncReadExt::read_to_end(server.stream(), &mut got).await;
                got.len()
            });
            client.send_bytes(part).await;
            settle().await;
            drop(client);
            assert!(reading.await.unwrap() <= len);
            expect_nothing_left(&stage).await;
        });
    }
}

/// A client with a statement that runs on `server`, and leaves.
async fn leave_a_statement(kill: bool) -> (Stage, Servers, Database) {
    let mut config = config();
    config.variables.kill_backend_connection_when_disconnect = kill;
    let (stage, servers, mut client, mut server) = session_in(config).await;
    client.send_query("SELECT sleep(1000)").await;
    server.expect_query("SELECT sleep(1000)").await;
    drop(client);
    (stage, servers, server)
}

#[test]
fn c23_the_statement_of_a_client_that_leaves_is_killed() {
    play(async || {
        let (stage, mut servers, mut server) = leave_a_statement(true).await;
        let mut side = servers.accept().await;
        side.expect_query("KILL CONNECTION 7").await;
        assert_eq!((stage.sessions(), stage.usage(0).open), (0, 1), "it runs, so it counts");
        side.ok().await;
        server.expect_end().await;
        assert_eq!(side.next_command().await, None);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn the_connection_of_a_client_that_leaves_is_closed_when_it_cannot_be_killed() {
    // The server takes no connection, or does not answer.
    for silent in [true, false] {
        play(async || {
            let (stage, mut servers, mut server) = leave_a_statement(true).await;
            let (_, side) = servers.dialled().await;
            let side = silent.then_some(side);
            server.expect_end().await;
            drop(side);
            expect_nothing_left(&stage).await;
        });
    }
}

#[test]
fn a_drain_waits_for_what_is_being_killed() {
    play(async || {
        let (stage, mut servers, mut server) = leave_a_statement(true).await;
        let (_, side) = servers.dialled().await;
        stage.drain();
        settle().await;
        let (mut side, _) = testkit::script::ScriptedServer::accept(side).await;
        side.expect_query("KILL CONNECTION 7").await;
        side.ok().await;
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_client_that_leaves_while_its_statement_runs_can_close_the_connection_at_once() {
    play(async || {
        let (stage, mut servers, mut server) = leave_a_statement(false).await;
        server.expect_end().await;
        expect_nothing_left(&stage).await;
        assert!(servers.settled().await.is_none());
    });
}

#[test]
fn a_client_that_leaves_in_the_middle_of_an_answer_closes_the_connection() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        client.send_query("SELECT 1").await;
        server.expect_query("SELECT 1").await;
        server.columns(&["1"]).await;
        server.row(&[Some("1")]).await;
        client.read().await;
        drop(client);
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_client_that_leaves_while_it_waits_for_a_server_frees_its_place() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        client.send_query("SELECT 1").await;
        let (_, mut end) = servers.dialled().await;
        assert_eq!(stage.usage(0).open, 1, "a connection that is being opened counts");
        drop(client);
        expect_nothing_left(&stage).await;
        let mut byte = [0];
        assert_eq!(tokio::io::AsyncReadExt::read(&mut end, &mut byte).await.unwrap(), 0);
    });
}

#[test]
fn a_command_with_a_wrong_sequence_id_ends_the_session() {
    for seq in [1, 7, 255] {
        play(async || {
            let (stage, mut client, mut server) = session().await;
            client.send_at(seq, b"\x03SELECT 1").await;
            let error = client.expect_err(1156).await;
            assert_eq!(error.sql_state, "08S01");
            client.expect_end().await;
            server.expect_end().await;
            drop(client);
            expect_nothing_left(&stage).await;
        });
    }
}

#[test]
fn a_wrong_sequence_id_within_a_command_ends_the_session() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        let close = messages(0, &[&[Kind::StmtClose as u8, 1, 0, 0, 0]]);
        client.send_bytes(&[close, messages(1, &[b"\x03SELECT 1"])].concat()).await;
        client.packets().expect_seq(2);
        client.expect_err(1156).await;
        client.expect_end().await;
        server.expect_gone().await;
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_command_of_the_greatest_length_passes_and_a_longer_one_does_not() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session_in(limited(8192)).await;
        let longest = vec![b'x'; 8191];
        client.send_command(Kind::Query, &longest).await;
        server.expect_command(Kind::Query, &longest).await;
        server.ok().await;
        client.expect_ok().await;
        client.send_command(Kind::Query, &[&longest[..], b"x"].concat()).await;
        let error = client.expect_err(1153).await;
        assert_eq!(error.sql_state, "08S01");
        assert!(error.message.contains("8192"), "{error}");
        client.expect_end().await;
        server.expect_end().await;
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn the_limit_also_holds_for_the_first_command() {
    play(async || {
        let (stage, mut servers) = stage(limited(8192));
        let mut client = log_in(&stage).await;
        client.send_command(Kind::Query, &[b'x'; 8192]).await;
        let mut server = servers.accept().await;
        client.expect_err(1153).await;
        server.expect_end().await;
    });
}

#[test]
fn a_command_that_is_too_long_is_refused_although_the_client_sends_on() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session_in(limited(8192)).await;
        // Much more than any socket holds: the rest must be read for the client to come to the
        // error.
        client.send_at(0, &long_query(1 << 20)).await;
        client.expect_err(1153).await;
        client.expect_end().await;
        server.expect_end().await;
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_client_that_does_not_read_its_error_is_not_waited_for_long() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        client.send_at(7, b"\x03SELECT 1").await;
        server.expect_end().await;
        assert_eq!(stage.usage(0).open, 0, "its connection is free at once");
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        expect_nothing_left(&stage).await;
        client.expect_err(1156).await;
    });
}

#[test]
fn garbage_for_commands_costs_one_session() {
    let garbage = prop_oneof![
        vec(any::<u8>(), 0..200),
        vec(vec(any::<u8>(), 0..30), 0..6)
            .prop_map(|payloads| payloads.iter().flat_map(|payload| messages(0, &[payload])).collect()),
    ];
    // Without servers every command that needs one is answered at once.
    let config = Config { servers: vec![].into(), ..config() };
    play_all(config, garbage, async |stage, _, garbage| {
        let mut client = log_in(stage).await;
        client.send_bytes(&garbage).await;
        settle().await;
        drop(client);
        expect_nothing_left(stage).await;
    });
}

#[test]
fn garbage_behind_good_commands_does_not_disturb_others() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut good = log_in(&stage).await;
        let mut good_server = first_query(&mut good, &mut servers).await;
        let mut bad = log_in(&stage).await;
        let bad_server = first_query(&mut bad, &mut servers).await;
        bad.send_bytes(&[0xff; CAPACITY]).await;
        settle().await;
        expect_alive(&mut good, &mut good_server).await;
        drop((bad, bad_server));
        settle().await;
        assert_eq!((stage.sessions(), stage.usage(0).open), (1, 1));
    });
}
