//! Drains: who is told, who may finish, and what the end of the time cuts.

use std::time::Duration;

use config::Config;
use proxy::stage::Stage;
use testkit::script::ScriptedServer;
use tokio::io::AsyncReadExt as _;
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep};
use wire::StatusFlags;
use wire::command::Kind;

use super::support::{
    CAPACITY, Client, Database, Servers, begin, config, connect, expect_nothing_left, first_query, log_in,
    messages, play, run, secs, settle, stage,
};

/// How exactly a deadline of the worker itself is met, at most this late.
const DRAIN_STEP: Duration = Duration::from_millis(20);

/// A drain lasts 5 s.
fn draining() -> Config {
    let mut config = config();
    config.pointsman.drain_timeout = secs(5);
    config
}

/// A session with a server, on a stage whose drain lasts 5 s.
async fn session() -> (Stage, Servers, Client, Database) {
    let (stage, mut servers) = stage(draining());
    let mut client = log_in(&stage).await;
    let server = first_query(&mut client, &mut servers).await;
    (stage, servers, client, server)
}

/// The client hears that the proxy goes down, in the place of an answer, and nothing after it.
async fn expect_shutdown(client: &mut Client) {
    client.packets().expect_seq(1);
    let error = client.expect_err(1053).await;
    assert_eq!(error.to_string(), "1053 (08S01): Server shutdown in progress");
    client.expect_end().await;
}

/// Everything is gone when the drain's 5 s are over, which began at `start`.
async fn expect_cut(stage: &Stage, start: Instant) {
    assert!(stage.sessions() > 0, "the session is there until then");
    tokio::time::sleep_until(start + secs(5) + DRAIN_STEP).await;
    expect_nothing_left(stage).await;
}

#[test]
fn a_drain_tells_idle_clients() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session().await;
        let mut fresh = log_in(&stage).await;
        let start = Instant::now();
        stage.drain();
        expect_shutdown(&mut client).await;
        expect_shutdown(&mut fresh).await;
        server.expect_gone().await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        expect_nothing_left(&stage).await;
        assert!(servers.settled().await.is_none());
    });
}

#[test]
fn a_drain_sends_clients_away_that_have_not_logged_in() {
    play(async || {
        let (stage, _servers) = stage(draining());
        let mut client = Client::new(connect(&stage));
        client.read_greeting().await.unwrap();
        stage.drain();
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_drain_lets_a_statement_finish() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session().await;
        client.send_query("SELECT slow").await;
        server.expect_query("SELECT slow").await;
        server.columns(&["slow"]).await;
        stage.drain();
        sleep(secs(4)).await;
        server.row(&[Some("1")]).await;
        server.end_of_rows().await;
        client.expect_rows(&[&[Some("1")]]).await;
        expect_shutdown(&mut client).await;
        server.expect_gone().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn c01_a_drain_lets_the_server_answer_the_commands_that_it_has_and_sends_no_more() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session().await;
        let two = [messages(0, &[b"\x03SELECT 1"]), messages(0, &[b"\x03SELECT 2"])].concat();
        client.send_bytes(&two).await;
        server.expect_query("SELECT 1").await;
        stage.drain();
        settle().await;
        client.send_bytes(&messages(0, &[b"\x03SELECT 3"])).await;
        server.ok_with(1, 0).await;
        server.expect_query("SELECT 2").await;
        server.ok_with(2, 0).await;
        for number in 1..=2 {
            client.packets().expect_seq(1);
            assert_eq!(client.expect_ok().await.affected_rows, number);
        }
        expect_shutdown(&mut client).await;
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_drain_lets_a_transaction_finish() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session().await;
        begin(&mut client, &mut server).await;
        stage.drain();
        for _ in 0..3 {
            sleep(secs(1)).await;
            run(&mut client, &mut server, "INSERT").await;
        }
        server.status -= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut server, "COMMIT").await;
        expect_shutdown(&mut client).await;
        server.expect_gone().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_deadlock_ends_a_transaction() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session().await;
        begin(&mut client, &mut server).await;
        client.send_query("UPDATE").await;
        server.expect_query("UPDATE").await;
        server.err(1213, "40001", "Deadlock found when trying to get lock").await;
        client.expect_err(1213).await;
        let start = Instant::now();
        stage.drain();
        expect_shutdown(&mut client).await;
        assert_eq!(start.elapsed(), Duration::ZERO, "there is no transaction to wait for");
    });
}

#[test]
fn another_error_does_not_end_a_transaction() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session().await;
        begin(&mut client, &mut server).await;
        client.send_query("INSERT again").await;
        server.expect_query("INSERT again").await;
        server.err(1062, "23000", "Duplicate entry").await;
        client.expect_err(1062).await;
        stage.drain();
        settle().await;
        run(&mut client, &mut server, "INSERT").await;
    });
}

#[test]
fn a_drain_takes_no_new_clients() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session().await;
        begin(&mut client, &mut server).await;
        stage.drain();
        settle().await;
        let mut late = Client::new(connect(&stage));
        late.expect_end().await;
        run(&mut client, &mut server, "INSERT").await;
    });
}

#[test]
fn a_client_that_connects_after_a_drain_is_not_counted() {
    play(async || {
        let (stage, _servers) = stage(draining());
        stage.drain();
        settle().await;
        let mut late = Client::new(connect(&stage));
        late.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn the_end_of_a_drain_tells_clients_in_a_transaction() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session().await;
        begin(&mut client, &mut server).await;
        let start = Instant::now();
        stage.drain();
        expect_shutdown(&mut client).await;
        assert!((secs(5)..secs(5) + DRAIN_STEP).contains(&start.elapsed()), "{:?}", start.elapsed());
        // C09: nothing is committed.
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn the_end_of_a_drain_cuts_a_statement() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session().await;
        client.send_query("SELECT slow").await;
        server.expect_query("SELECT slow").await;
        let start = Instant::now();
        stage.drain();
        client.expect_end().await;
        assert!((secs(5)..secs(5) + DRAIN_STEP).contains(&start.elapsed()), "{:?}", start.elapsed());
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn c24_the_end_of_a_drain_does_not_wait_for_a_client_that_does_not_read() {
    // The rest of an answer waits for the client: in the middle of it, or behind its end.
    for rows in [1, 10] {
        play(async || {
            let (stage, _servers, mut client, mut server) = session().await;
            client.send_query("SELECT much").await;
            server.expect_query("SELECT much").await;
            let serving = spawn_local(async move {
                let cell = "x".repeat(30_000);
                let row: &[Option<&str>] = &[Some(&cell)];
                server.rows(&["much"], &vec![row; rows]).await;
                server
            });
            settle().await;
            assert_eq!(client.stream().unread(), CAPACITY);
            let start = Instant::now();
            stage.drain();
            settle().await;
            expect_cut(&stage, start).await;
            serving.abort();
        });
    }
}

#[test]
fn c24_the_end_of_a_drain_does_not_wait_for_a_client_that_only_sends() {
    play(async || {
        let (stage, _servers) = stage(draining());
        let mut client = log_in(&stage).await;
        let sending = spawn_local(async move {
            loop {
                client.send_bytes(&messages(0, &[&[Kind::Ping as u8]])).await;
            }
        });
        settle().await;
        let start = Instant::now();
        stage.drain();
        settle().await;
        expect_cut(&stage, start).await;
        sending.abort();
    });
}

#[test]
fn c24_the_end_of_a_drain_does_not_wait_for_a_client_that_stops_in_a_command() {
    let kinds = [Kind::Query, Kind::Ping, Kind::ProcessKill, Kind::ChangeUser, Kind::StmtClose];
    for kind in kinds {
        play(async || {
            let (stage, _servers, mut client, _server) = session().await;
            // One has a server, one has none.
            let mut fresh = log_in(&stage).await;
            let half = messages(0, &[&[&[kind as u8], &[b'x'; 100][..]].concat()]);
            client.send_bytes(&half[..50]).await;
            fresh.send_bytes(&half[..50]).await;
            settle().await;
            let start = Instant::now();
            stage.drain();
            settle().await;
            expect_cut(&stage, start).await;
        });
    }
}

#[test]
fn the_end_of_a_drain_cuts_the_wait_for_a_server() {
    play(async || {
        let mut config = draining();
        config.variables.connect_timeout_server = secs(100);
        config.variables.connect_timeout_server_max = secs(100);
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage).await;
        client.send_query("SELECT 1").await;
        let (_, mut end) = servers.dialled().await;
        let start = Instant::now();
        stage.drain();
        settle().await;
        expect_cut(&stage, start).await;
        client.expect_end().await;
        assert_eq!(end.read(&mut [0]).await.unwrap(), 0);
    });
}

#[test]
fn a_server_that_comes_during_a_drain_is_not_used_any_more() {
    play(async || {
        let (stage, mut servers) = stage(draining());
        let mut client = log_in(&stage).await;
        client.send_query("INSERT").await;
        let (_, end) = servers.dialled().await;
        stage.drain();
        settle().await;
        let (mut server, _) = ScriptedServer::accept(end).await;
        expect_shutdown(&mut client).await;
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_drain_leaves_layer_4_alone_until_its_end() {
    play(async || {
        let (stage, mut servers) = stage(draining());
        let mut client = stage.tunnel(0, CAPACITY).unwrap();
        let (_, mut server) = servers.dialled().await;
        settle().await;
        let start = Instant::now();
        stage.drain();
        sleep(secs(4)).await;
        tokio::io::AsyncWriteExt::write_all(&mut server, b"still there").await.unwrap();
        let mut got = [0; 11];
        client.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"still there");
        expect_cut(&stage, start).await;
        assert_eq!(client.read(&mut got).await.unwrap(), 0);
    });
}
