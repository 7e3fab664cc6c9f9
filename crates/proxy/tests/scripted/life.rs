//! How sessions end: drains, and clients that do nothing for too long.

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
    CAPACITY, Client, Database, Servers, config, connect, expect_alive, expect_nothing_left, first_query,
    log_in, messages, play, settle, stage,
};

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// How exactly a deadline of the worker itself is met, at most this late.
const DRAIN_STEP: Duration = Duration::from_millis(20);

/// How often a worker looks for idle sessions.
const SWEEP: Duration = secs(1);

/// A drain lasts 5 s.
fn draining() -> Config {
    let mut config = config();
    config.pointsman.drain_timeout = secs(5);
    config
}

/// A session with a server, on a stage whose drain lasts 5 s.
async fn session() -> (Stage, Servers, Client, Database) {
    session_of(draining()).await
}

async fn session_of(config: Config) -> (Stage, Servers, Client, Database) {
    let (stage, mut servers) = stage(config);
    let mut client = log_in(&stage).await;
    client.patience(secs(1000));
    let mut server = first_query(&mut client, &mut servers).await;
    server.patience(secs(1000));
    (stage, servers, client, server)
}

/// The client begins a transaction.
async fn begin(client: &mut Client, server: &mut Database) {
    server.status |= StatusFlags::IN_TRANSACTION;
    run(client, server, "BEGIN").await;
}

/// A statement without rows, and its answer.
async fn run(client: &mut Client, server: &mut Database, sql: &str) {
    client.send_query(sql).await;
    server.expect_query(sql).await;
    server.ok().await;
    client.expect_ok().await;
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
fn c01_a_drain_answers_a_pipelined_command_without_sending_it() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session().await;
        client.send_bytes(&[messages(0, &[b"\x03SELECT 1"]), messages(0, &[b"\x03SELECT 2"])].concat()).await;
        server.expect_query("SELECT 1").await;
        stage.drain();
        settle().await;
        server.ok().await;
        client.packets().expect_seq(1);
        client.expect_ok().await;
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

/// Limits of 5 s idle, 10 s idle in a transaction, 20 s for a transaction, and 5 s for a login.
fn impatient() -> Config {
    let mut config = config();
    config.variables.wait_timeout = secs(5);
    config.variables.max_transaction_idle_time = secs(10);
    config.variables.max_transaction_time = secs(20);
    config.variables.connect_timeout_client = secs(5);
    config
}

/// The client is disconnected after this time, measured from `start`: not before, and two looks
/// of the worker after it at the latest.
async fn expect_timeout(client: &mut Client, start: Instant, limit: Duration) {
    client.expect_end().await;
    let elapsed = start.elapsed();
    assert!(elapsed >= limit && elapsed <= limit + 2 * SWEEP, "{elapsed:?} instead of {limit:?}");
}

#[test]
fn an_idle_client_is_disconnected() {
    play(async || {
        let (stage, _servers, mut client, mut server) = session_of(impatient()).await;
        expect_timeout(&mut client, Instant::now(), secs(5)).await;
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_client_that_never_asks_is_disconnected() {
    play(async || {
        let (stage, _servers) = stage(impatient());
        let mut client = log_in(&stage).await;
        expect_timeout(&mut client, Instant::now(), secs(5)).await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_client_that_is_not_idle_stays() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session_of(impatient()).await;
        for _ in 0..5 {
            sleep(secs(4)).await;
            expect_alive(&mut client, &mut server).await;
        }
        expect_timeout(&mut client, Instant::now(), secs(5)).await;
    });
}

#[test]
#[ignore = "open: S18"]
fn a_client_is_never_disconnected_early() {
    // Whatever the limit, and whenever between two looks of the worker the client becomes idle.
    for limit in [1, 500, 1000, 1500, 2000] {
        for idle_since in [1, 400, 990, 1000, 1010] {
            play(async || {
                let mut config = impatient();
                config.variables.wait_timeout = Duration::from_millis(limit);
                let (stage, _servers) = stage(config);
                sleep(Duration::from_millis(idle_since)).await;
                let mut client = log_in(&stage).await;
                expect_timeout(&mut client, Instant::now(), Duration::from_millis(limit)).await;
            });
        }
    }
}

#[test]
fn a_statement_may_take_longer_than_a_client_may_be_idle() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session_of(impatient()).await;
        client.send_query("SELECT slow").await;
        server.expect_query("SELECT slow").await;
        sleep(secs(100)).await;
        server.ok().await;
        client.expect_ok().await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_client_that_is_idle_in_a_transaction_has_its_own_limit() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session_of(impatient()).await;
        begin(&mut client, &mut server).await;
        expect_timeout(&mut client, Instant::now(), secs(10)).await;
        // C09: nothing is committed.
        server.expect_end().await;
    });
}

#[test]
fn a_transaction_has_a_limit_however_busy_it_is() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session_of(impatient()).await;
        begin(&mut client, &mut server).await;
        let start = Instant::now();
        for _ in 0..4 {
            sleep(secs(4)).await;
            run(&mut client, &mut server, "INSERT").await;
        }
        client.send_query("INSERT slow").await;
        server.expect_query("INSERT slow").await;
        expect_timeout(&mut client, start, secs(20)).await;
        server.expect_end().await;
    });
}

#[test]
fn the_next_transaction_has_a_limit_of_its_own() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session_of(impatient()).await;
        for _ in 0..3 {
            begin(&mut client, &mut server).await;
            for _ in 0..2 {
                sleep(secs(8)).await;
                run(&mut client, &mut server, "INSERT").await;
            }
            server.status -= StatusFlags::IN_TRANSACTION;
            run(&mut client, &mut server, "COMMIT").await;
        }
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn c24_a_client_that_stops_in_a_command_is_disconnected() {
    let kinds = [Kind::Query, Kind::Ping, Kind::ProcessKill, Kind::ChangeUser, Kind::StmtClose];
    for kind in kinds {
        // Within the header, with the command byte, and behind it.
        for len in [3, 5, 50] {
            play(async || {
                let (stage, _servers, mut client, mut server) = session_of(impatient()).await;
                let half = messages(0, &[&[&[kind as u8], &[b'x'; 100][..]].concat()]);
                client.send_bytes(&half[..len]).await;
                settle().await;
                let start = Instant::now();
                client.expect_gone().await;
                let elapsed = start.elapsed();
                assert!(elapsed <= secs(5) + 2 * SWEEP, "{} after {elapsed:?}", kind.name());
                server.expect_gone().await;
                drop(client);
                expect_nothing_left(&stage).await;
            });
        }
    }
}

#[test]
fn a_slow_command_is_not_an_idle_client() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = session_of(impatient()).await;
        let command = messages(0, &[b"\x03SELECT 'a long command'"]);
        for piece in command.chunks(5) {
            client.send_bytes(piece).await;
            sleep(secs(3)).await;
        }
        server.expect_query("SELECT 'a long command'").await;
        server.ok().await;
        client.packets().expect_seq(1);
        client.expect_ok().await;
    });
}
