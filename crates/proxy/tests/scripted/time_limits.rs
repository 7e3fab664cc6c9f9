//! Clients that do nothing for too long, and transactions that last too long.

use std::time::Duration;

use config::Config;
use proxy::stage::Stage;
use tokio::time::{Instant, sleep};
use wire::StatusFlags;
use wire::command::Kind;

use super::support::{
    Client, Database, begin, config, expect_alive, expect_nothing_left, first_query, log_in, messages, play,
    reset, run, secs, settle, stage,
};

/// How often a worker looks for idle sessions.
const SWEEP: Duration = secs(1);

/// Limits of 5 s idle, 10 s idle in a transaction, 20 s for a transaction, and 5 s for a login.
fn impatient() -> Config {
    let mut config = config();
    config.variables.wait_timeout = secs(5);
    config.variables.max_transaction_idle_time = secs(10);
    config.variables.max_transaction_time = secs(20);
    config.variables.connect_timeout_client = secs(5);
    config
}

/// A session with a server and these limits.
async fn session() -> (Stage, Client, Database) {
    let (stage, mut servers) = stage(impatient());
    let mut client = log_in(&stage).await;
    client.patience(secs(1000));
    let mut server = first_query(&mut client, &mut servers).await;
    server.patience(secs(1000));
    (stage, client, server)
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
        let (stage, mut client, mut server) = session().await;
        expect_timeout(&mut client, Instant::now(), secs(5)).await;
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

/// All sessions are looked at more seldom than that.
#[test]
fn a_client_that_waits_for_long_is_disconnected_in_time() {
    let mut config = config();
    config.variables.wait_timeout = secs(200);
    play(async || {
        let (stage, _servers) = stage(config.clone());
        sleep(secs(30)).await;
        let mut one = log_in(&stage).await;
        one.patience(secs(1000));
        let begun = Instant::now();
        sleep(secs(100)).await;
        let mut two = log_in(&stage).await;
        two.patience(secs(1000));
        expect_timeout(&mut one, begun, secs(200)).await;
        expect_timeout(&mut two, begun + secs(100), secs(200)).await;
    });
}

#[test]
fn a_client_may_wait_no_longer_than_is_configured_meanwhile() {
    play(async || {
        let (stage, _servers) = stage(config());
        let mut client = log_in(&stage).await;
        client.patience(secs(1000));
        let begun = Instant::now();
        sleep(secs(30)).await;
        stage.apply(impatient()).unwrap();
        expect_timeout(&mut client, begun, secs(30)).await;
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
        let (_stage, mut client, mut server) = session().await;
        for _ in 0..5 {
            sleep(secs(4)).await;
            expect_alive(&mut client, &mut server).await;
        }
        expect_timeout(&mut client, Instant::now(), secs(5)).await;
    });
}

#[test]
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
fn a_client_may_be_idle_no_longer_than_it_has_set() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        run(&mut client, &mut server, "set session wait_timeout:=2").await;
        let begun = Instant::now();
        let mut other = log_in(&stage).await;
        other.patience(secs(1000));
        let other_begun = Instant::now();
        // Without its connection the session lives no longer.
        drop(server);
        expect_timeout(&mut client, begun, secs(2)).await;
        expect_timeout(&mut other, other_begun, secs(5)).await;
    });
}

/// The session has a timer of its own: it does not wait for the worker's next look.
#[test]
fn the_limit_that_a_client_has_set_is_kept_to_the_tenth() {
    for idle_since in [1, 400, 990] {
        play(async || {
            let (_stage, mut client, mut server) = session().await;
            sleep(Duration::from_millis(idle_since)).await;
            run(&mut client, &mut server, "SET wait_timeout = 1").await;
            let begun = Instant::now();
            client.expect_end().await;
            let elapsed = begun.elapsed();
            assert!(elapsed >= secs(1) && elapsed <= Duration::from_millis(1200), "{elapsed:?}");
        });
    }
}

#[test]
fn a_limit_that_a_client_has_set_ends_with_a_reset() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        run(&mut client, &mut server, "SET wait_timeout = 2").await;
        reset(&mut client, &mut server).await;
        expect_timeout(&mut client, Instant::now(), secs(5)).await;
    });
}

#[test]
fn a_client_that_reads_slowly_is_not_idle_by_its_own_limit() {
    let mut config = impatient();
    config.variables.wait_timeout = secs(100);
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        run(&mut client, &mut server, "SET wait_timeout = 2").await;
        client.send_query("SELECT a").await;
        server.expect_query("SELECT a").await;
        let long = "x".repeat(1 << 20);
        let reads = async {
            sleep(secs(20)).await;
            client.expect_rows(&[&[Some(&long)]]).await;
        };
        let rows = [&[Some(&*long)][..]];
        tokio::join!(server.rows(&["a"], &rows), reads);
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_client_that_reads_slowly_in_a_transaction_that_it_has_just_begun_has_its_limit() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let texts = ["\x03BEGIN", "\x03SELECT much"].map(str::as_bytes);
        client.send_bytes(&texts.map(|text| messages(0, &[text])).concat()).await;
        server.expect_query("BEGIN").await;
        server.status |= StatusFlags::IN_TRANSACTION;
        server.ok().await;
        server.expect_query("SELECT much").await;
        client.packets().expect_seq(1);
        client.expect_ok().await;
        let cell = "x".repeat(1 << 20);
        let rows = [&[Some(&*cell)][..]];
        let reads = async {
            // Longer than a client may be idle outside of transactions.
            sleep(secs(9)).await;
            client.packets().expect_seq(1);
            client.expect_rows(&[&[Some(&cell)]]).await;
        };
        tokio::join!(server.rows(&["much"], &rows), reads);
    });
}

#[test]
fn a_statement_may_take_longer_than_a_client_may_be_idle() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
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
        let (_stage, mut client, mut server) = session().await;
        begin(&mut client, &mut server).await;
        expect_timeout(&mut client, Instant::now(), secs(10)).await;
        // C09: nothing is committed.
        server.expect_end().await;
    });
}

#[test]
fn a_transaction_has_a_limit_however_busy_it_is() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
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
        let (_stage, mut client, mut server) = session().await;
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
                let (stage, mut client, mut server) = session().await;
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
        let (_stage, mut client, mut server) = session().await;
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
