//! Back-pressure: who does not read makes the other side wait, and the proxy holds little.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::join;
use tokio::task::spawn_local;
use wire::command::Kind;

use super::support::{
    CAPACITY, Client, SCRATCH, config, connect, expect_alive, expect_nothing_left, first_query, log_in,
    messages, options, play, session, settle, stage, stage_with,
};

/// Most bytes between two peers of which one does not read: what both sockets hold, and one read in
/// between.
const HELD_MAX: usize = CAPACITY + SCRATCH + CAPACITY;

#[test]
fn c29_a_client_that_does_not_read_stops_its_server() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_query("SELECT much").await;
        server.expect_query("SELECT much").await;
        let sent = Rc::new(Cell::new(0));
        let count = Rc::clone(&sent);
        let serving = spawn_local(async move {
            let cell = "x".repeat(1000);
            server.columns(&["much"]).await;
            for _ in 0..2000 {
                server.row(&[Some(&cell)]).await;
                count.set(count.get() + 1000);
            }
            server.end_of_rows().await;
            server
        });
        settle().await;
        assert_eq!(client.stream().unread(), CAPACITY, "the client's socket is full");
        let held = sent.get();
        assert!(held <= HELD_MAX, "{held} bytes were taken from the server");
        for _ in 0..10 {
            settle().await;
            assert_eq!(sent.get(), held, "nothing more is taken while the client does not read");
        }
        let result = client.expect_result().await;
        assert_eq!(result.rows.len(), 2000);
        assert!(result.rows.iter().all(|row| row[3..] == [b'x'; 1000]));
        let mut server = serving.await.unwrap();
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn c29_a_server_that_does_not_read_stops_its_client() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let sent = Rc::new(Cell::new(0));
        let count = Rc::clone(&sent);
        let sending = spawn_local(async move {
            for piece in messages(0, &[&vec![Kind::Query as u8; 1 << 20]]).chunks(1000) {
                client.send_bytes(piece).await;
                count.set(count.get() + piece.len());
            }
            client
        });
        settle().await;
        assert_eq!(server.stream().unread(), CAPACITY, "the server's socket is full");
        let held = sent.get();
        assert!(held <= HELD_MAX, "{held} bytes were taken from the client");
        for _ in 0..10 {
            settle().await;
            assert_eq!(sent.get(), held, "nothing more is taken while the server does not read");
        }
        assert!(server.read_command().await == vec![Kind::Query as u8; 1 << 20]);
        server.ok().await;
        let mut client = sending.await.unwrap();
        client.packets().expect_seq(1);
        client.expect_ok().await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_session_that_is_stuck_does_not_hold_up_others() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut stuck = log_in(&stage).await;
        let mut stuck_server = first_query(&mut stuck, &mut servers).await;
        stuck.send_query("SELECT much").await;
        stuck_server.expect_query("SELECT much").await;
        let serving = spawn_local(async move {
            let cell = "x".repeat(100_000);
            stuck_server.rows(&["much"], &[&[Some(&cell)], &[Some(&cell)]]).await;
        });
        settle().await;
        let mut client = log_in(&stage).await;
        let mut server = first_query(&mut client, &mut servers).await;
        for _ in 0..10 {
            expect_alive(&mut client, &mut server).await;
        }
        assert!(!serving.is_finished());
        assert_eq!(stuck.expect_result().await.rows.len(), 2);
    });
}

#[test]
fn a_client_that_leaves_without_reading_frees_its_server() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        client.send_query("SELECT much").await;
        server.expect_query("SELECT much").await;
        let serving = spawn_local(async move {
            let cell = "x".repeat(60_000);
            server.columns(&["much"]).await;
            for _ in 0..3 {
                server.row(&[Some(&cell)]).await;
            }
            server
        });
        settle().await;
        assert_eq!(client.stream().unread(), CAPACITY);
        drop(client);
        expect_nothing_left(&stage).await;
        serving.abort();
    });
}

#[test]
fn everything_fits_through_the_smallest_sockets() {
    // Every read and every write of the proxy is cut, in both directions.
    for (near, far) in [(1, 1), (1, 40), (40, 1), (5, 7), (64, 3)] {
        play(async || {
            let (stage, mut servers) = stage_with(config(), far, |_| false);
            let end = stage.client(near).expect("room for a client");
            let texts = ["SELECT 1", "", &"SELECT 'long' ".repeat(10)];
            let serve = async {
                let mut server = servers.accept().await;
                for text in texts {
                    server.expect_query(text).await;
                    server.rows(&["text"], &[&[Some(text)], &[None], &[Some(text)]]).await;
                }
                // A goodbye for which the socket has no room is not waited for.
                server.expect_gone().await;
            };
            let ask = async {
                let mut client = Client::connect(end, &options()).await;
                for text in texts {
                    client.send_query(text).await;
                    client.expect_rows(&[&[Some(text)], &[None], &[Some(text)]]).await;
                }
                client.send_command(Kind::Quit, b"").await;
                client.expect_end().await;
            };
            join!(ask, serve);
            expect_nothing_left(&stage).await;
        });
    }
}

#[test]
fn a_client_that_sends_without_reading_is_not_read_for_ever() {
    play(async || {
        let (stage, _servers) = stage(config());
        let mut client = Client::connect(connect(&stage), &options()).await;
        let sent = Rc::new(Cell::new(0));
        let count = Rc::clone(&sent);
        let sending = spawn_local(async move {
            let ping = messages(0, &[&[Kind::Ping as u8]]);
            loop {
                client.send_bytes(&ping).await;
                count.set(count.get() + ping.len());
            }
        });
        settle().await;
        let held = sent.get();
        settle().await;
        assert_eq!(sent.get(), held, "pings are not answered faster than their answers are read");
        sending.abort();
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn c24_a_client_that_stops_reading_has_as_much_time_as_an_idle_one() {
    play(async || {
        let mut config = config();
        config.variables.wait_timeout = Duration::from_mins(1);
        let (stage, mut servers) = stage(config);
        let mut client = Client::connect(connect(&stage), &options()).await;
        client.send_query("SELECT much").await;
        let mut server = servers.accept().await;
        server.expect_query("SELECT much").await;
        // More than the client's socket and the proxy's buffer take together, and never an end.
        let serving = spawn_local(async move {
            server.patience(Duration::from_secs(1000));
            server.columns(&["much"]).await;
            loop {
                server.row(&[Some(&"x".repeat(1000))]).await;
            }
        });
        tokio::time::sleep(Duration::from_secs(50)).await;
        assert_eq!(stage.sessions(), 1, "too early");
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(stage.sessions(), 0, "too late");
        assert_eq!(stage.usage(0).open, 0);
        serving.abort();
    });
}
