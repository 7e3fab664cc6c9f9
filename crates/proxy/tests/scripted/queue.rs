//! Servers that have all the connections they may have: sessions wait in line.

use config::Config;
use testkit::script::ScriptedServer;
use tokio::join;
use tokio::time::sleep;
use wire::command::Kind;

use super::acquire::{no_server, retrying};
use super::support::{expect_nothing_left, first_query, log_in, ms, play, settle, stage};

/// One server that may have this many connections.
fn limited(max_connections: u32) -> Config {
    let mut config = retrying(&["db"], 3, ms(1));
    config.servers[0].max_connections = max_connections;
    config
}

#[test]
fn c23_sessions_wait_in_line_for_a_full_server() {
    play(async || {
        let (stage, mut servers) = stage(limited(1));
        let mut first = log_in(&stage).await;
        let mut held = first_query(&mut first, &mut servers).await;
        let queries = ["SELECT 'b'", "SELECT 'c'", "SELECT 'd'"];
        let mut waiting = Vec::new();
        for sql in queries {
            let mut client = log_in(&stage).await;
            client.send_query(sql).await;
            settle().await;
            waiting.push(client);
        }
        assert_eq!((stage.usage(0).waiting, stage.usage(0).open), (3, 1));
        assert!(servers.settled().await.is_none(), "the server never sees more than it may have");
        drop(first);
        for (mut client, sql) in waiting.into_iter().zip(queries) {
            held.expect_end().await;
            held = servers.accept().await;
            held.expect_query(sql).await;
            assert!(servers.settled().await.is_none());
            held.ok().await;
            client.expect_ok().await;
        }
        held.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn c24_the_wait_for_a_full_server_has_an_end() {
    play(async || {
        let (stage, mut servers) = stage(limited(1));
        let mut first = log_in(&stage).await;
        let _held = first_query(&mut first, &mut servers).await;
        let mut second = log_in(&stage).await;
        let mut third = log_in(&stage).await;
        let late = async {
            sleep(ms(2000)).await;
            no_server(&mut third).await
        };
        let ((text, elapsed), (later_text, later)) = join!(no_server(&mut second), late);
        assert_eq!((elapsed, later), (ms(10_000), ms(10_000)));
        let start = "Max connect timeout reached while reaching hostgroup 0 after 10000ms: \
                     1 of 1 connections of 1 servers are in use";
        let held = |time| format!("held by session: 1 (longest {time}s, session 1073741824 of 'app')");
        assert_eq!(text, format!("{start}, 1 more sessions wait; {}", held("10.0")));
        assert_eq!(later_text, format!("{start}, 0 more sessions wait; {}", held("12.0")));
        assert_eq!((stage.usage(0).waiting, stage.usage(0).open), (0, 1));
        // C23: the server is as good as before.
        drop(first);
        first_query(&mut second, &mut servers).await;
    });
}

#[test]
fn a_client_that_leaves_the_line_makes_room_for_the_next() {
    play(async || {
        let (stage, mut servers) = stage(limited(1));
        let mut first = log_in(&stage).await;
        let _held = first_query(&mut first, &mut servers).await;
        let mut second = log_in(&stage).await;
        second.send_query("SELECT 'b'").await;
        settle().await;
        let mut third = log_in(&stage).await;
        third.send_query("SELECT 'c'").await;
        settle().await;
        drop(second);
        settle().await;
        assert_eq!(stage.usage(0).waiting, 1);
        drop(first);
        servers.accept().await.expect_query("SELECT 'c'").await;
    });
}

#[test]
fn a_place_that_comes_too_late_goes_to_the_next() {
    play(async || {
        let (stage, mut servers) = stage(limited(1));
        let mut first = log_in(&stage).await;
        let _held = first_query(&mut first, &mut servers).await;
        let mut second = log_in(&stage).await;
        second.send_query("SELECT 'b'").await;
        settle().await;
        // Both leave at once: the second is given the first one's place and does not take it any
        // more.
        drop((first, second));
        expect_nothing_left(&stage).await;
        let mut third = log_in(&stage).await;
        first_query(&mut third, &mut servers).await;
    });
}

#[test]
fn c23_a_connection_that_fails_gives_its_place_back() {
    play(async || {
        let (stage, mut servers) = stage(limited(1));
        let mut client = log_in(&stage).await;
        for _ in 0..3 {
            client.send_query("SELECT 1").await;
            let mut server = ScriptedServer::new(servers.dialled().await.1);
            server.packets().expect_seq(0);
            server.send(b"\xff\x15\x04Access denied").await;
            client.expect_err(1045).await;
        }
        first_query(&mut client, &mut servers).await;
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_place_passes_from_an_attempt_that_fails_to_who_waits() {
    play(async || {
        let (stage, mut servers) = stage(limited(1));
        let mut first = log_in(&stage).await;
        first.send_query("SELECT 'a'").await;
        let failing = servers.dialled().await;
        let mut second = log_in(&stage).await;
        second.send_query("SELECT 'b'").await;
        settle().await;
        drop(failing);
        servers.accept().await.expect_query("SELECT 'b'").await;
    });
}

#[test]
fn many_sessions_share_few_places() {
    const PLACES: u32 = 3;
    play(async || {
        let (stage, mut servers) = stage(limited(PLACES));
        let ask = async |number: u64| {
            let mut client = log_in(&stage).await;
            client.send_query("SELECT 1").await;
            // The server counts the connections that it has served.
            assert!(client.expect_ok().await.affected_rows > 0, "session {number}");
            client.send_command(Kind::Quit, b"").await;
            client.expect_end().await;
        };
        let serve = async {
            for number in 1..=10 {
                let mut server = servers.accept().await;
                assert!(stage.usage(0).open <= PLACES);
                server.expect_query("SELECT 1").await;
                server.ok_with(number, 0).await;
                assert_eq!(server.next_command().await, None);
            }
        };
        join!(serve, ask(1), ask(2), ask(3), ask(4), ask(5), ask(6), ask(7), ask(8), ask(9), ask(10));
        expect_nothing_left(&stage).await;
    });
}
