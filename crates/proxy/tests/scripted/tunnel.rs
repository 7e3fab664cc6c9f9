//! Layer 4: bytes both ways, and binary logs, which are answers without an end.

use config::Config;
use proptest::collection::vec;
use proptest::prelude::*;
use proxy::memory::End;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::join;
use tokio::task::spawn_local;
use wire::command::Kind;

use super::support::{
    CAPACITY, SCRATCH, Servers, config, expect_nothing_left, messages, play, play_all, session, settle,
    stage, stage_with,
};

/// A client of a layer-4 listener, and its server's end.
async fn tunnel(stage: &proxy::stage::Stage, servers: &mut Servers) -> (End, End) {
    let client = stage.tunnel(0, CAPACITY).expect("room for a client");
    let (_, server) = servers.dialled().await;
    (client, server)
}

/// Reads this many bytes.
async fn read(end: &mut End, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    end.read_exact(&mut bytes).await.expect("the bytes come");
    bytes
}

/// Reads to the end.
async fn read_to_end(end: &mut End) -> Vec<u8> {
    let mut bytes = Vec::new();
    end.read_to_end(&mut bytes).await.expect("the end comes");
    bytes
}

#[test]
fn a_connection_is_opened_before_the_client_says_anything() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, mut server) = tunnel(&stage, &mut servers).await;
        server.write_all(b"greeting").await.unwrap();
        assert_eq!(read(&mut client, 8).await, b"greeting");
        assert_eq!(stage.usage(0).open, 1);
    });
}

#[test]
fn bytes_pass_both_ways_as_they_are() {
    let pieces = || vec(vec(any::<u8>(), 1..3000), 0..10);
    play_all(config(), (pieces(), pieces()), async |stage, servers, (up, down)| {
        let (client, server) = tunnel(stage, servers).await;
        let (mut client_reads, mut client_writes) = tokio::io::split(client);
        let (mut server_reads, mut server_writes) = tokio::io::split(server);
        let send_up = async {
            for piece in &up {
                client_writes.write_all(piece).await.unwrap();
            }
        };
        let send_down = async {
            for piece in &down {
                server_writes.write_all(piece).await.unwrap();
            }
        };
        let (mut got_up, mut got_down) = (vec![0; up.concat().len()], vec![0; down.concat().len()]);
        let ((), (), at_server, at_client) = join!(
            send_up,
            send_down,
            server_reads.read_exact(&mut got_up),
            client_reads.read_exact(&mut got_down)
        );
        assert!(at_server.is_ok() && at_client.is_ok());
        assert!(got_up == up.concat() && got_down == down.concat());
    });
}

#[test]
fn a_client_that_has_said_all_still_hears_the_server() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, mut server) = tunnel(&stage, &mut servers).await;
        client.write_all(b"all").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(read_to_end(&mut server).await, b"all");
        server.write_all(b"answer").await.unwrap();
        assert_eq!(read(&mut client, 6).await, b"answer");
        server.shutdown().await.unwrap();
        assert_eq!(read_to_end(&mut client).await, b"");
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_server_that_has_said_all_still_hears_the_client() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, mut server) = tunnel(&stage, &mut servers).await;
        server.write_all(b"all").await.unwrap();
        server.shutdown().await.unwrap();
        assert_eq!(read_to_end(&mut client).await, b"all");
        client.write_all(b"late").await.unwrap();
        assert_eq!(read(&mut server, 4).await, b"late");
        client.shutdown().await.unwrap();
        assert_eq!(read_to_end(&mut server).await, b"");
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_side_that_goes_away_ends_the_other() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, server) = tunnel(&stage, &mut servers).await;
        drop(server);
        assert_eq!(read_to_end(&mut client).await, b"");
        drop(client);
        expect_nothing_left(&stage).await;
        let (client, mut server) = tunnel(&stage, &mut servers).await;
        drop(client);
        assert_eq!(read_to_end(&mut server).await, b"");
        drop(server);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn what_was_said_before_the_end_arrives() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, mut server) = tunnel(&stage, &mut servers).await;
        // More than the client's socket holds: a part of it waits in the proxy when the server is
        // gone.
        let bytes = vec![7; CAPACITY];
        server.write_all(&bytes).await.unwrap();
        settle().await;
        server.write_all(&bytes).await.unwrap();
        drop(server);
        settle().await;
        assert_eq!(read_to_end(&mut client).await.len(), 2 * CAPACITY);
    });
}

#[test]
fn what_was_said_before_the_end_arrives_although_the_client_speaks_on() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, mut server) = tunnel(&stage, &mut servers).await;
        server.write_all(&vec![7; CAPACITY]).await.unwrap();
        settle().await;
        server.write_all(b"goodbye").await.unwrap();
        drop(server);
        client.write_all(b"nobody reads this").await.unwrap();
        settle().await;
        assert_eq!(read_to_end(&mut client).await.len(), CAPACITY + 7);
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn who_does_not_read_makes_the_other_wait() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (mut client, mut server) = tunnel(&stage, &mut servers).await;
        let sending = spawn_local(async move {
            server.write_all(&vec![7; 1 << 20]).await.unwrap();
        });
        settle().await;
        assert_eq!(client.unread(), CAPACITY);
        assert!(!sending.is_finished());
        let mut got = 0;
        while !sending.is_finished() {
            got += read(&mut client, 1000).await.len();
            settle().await;
        }
        let rest = read_to_end(&mut client).await.len();
        assert!(rest <= CAPACITY + SCRATCH + CAPACITY, "{rest} bytes were held");
        assert_eq!(got + rest, 1 << 20);
    });
}

#[test]
fn one_direction_does_not_hold_up_the_other() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let (client, mut server) = tunnel(&stage, &mut servers).await;
        let (mut client_reads, mut client_writes) = tokio::io::split(client);
        // The server does not read what the client sends without end.
        let sending = spawn_local(async move {
            loop {
                client_writes.write_all(&[7; 1000]).await.unwrap();
            }
        });
        settle().await;
        server.write_all(b"down").await.unwrap();
        let mut got = [0; 4];
        client_reads.read_exact(&mut got).await.unwrap();
        assert_eq!(&got, b"down");
        sending.abort();
    });
}

#[test]
fn without_a_server_the_client_is_sent_away() {
    play(async || {
        let (stage, _servers) = stage_with(config(), CAPACITY, |_| true);
        let mut client = stage.tunnel(0, CAPACITY).unwrap();
        assert_eq!(read_to_end(&mut client).await, b"");
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn without_such_a_hostgroup_the_client_is_sent_away_at_once() {
    play(async || {
        let (stage, mut servers) = stage(Config { servers: vec![].into(), ..config() });
        let mut client = stage.tunnel(9, CAPACITY).unwrap();
        assert_eq!(read_to_end(&mut client).await, b"");
        assert!(servers.settled().await.is_none());
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_binary_log_goes_on_until_either_side_ends_it() {
    // The command in one read, and cut.
    for cut in [100, 7] {
        play(async || {
            let (stage, mut client, mut server) = session().await;
            let body = b"\x04\0\0\0\0\0\x02\0\0\0binlog.000001";
            let command = messages(0, &[&[&[Kind::BinlogDump as u8], &body[..]].concat()]);
            for piece in command.chunks(cut) {
                client.send_bytes(piece).await;
                settle().await;
            }
            server.expect_command(Kind::BinlogDump, body).await;
            server.send(b"\0an event").await;
            client.packets().expect_seq(1);
            client.expect(b"\0an event").await;
            // A replica acknowledges in between, with sequence ids of its own.
            client.send_at(0, b"\xefposition").await;
            server.packets().expect_seq(0);
            server.expect(b"\xefposition").await;
            server.send_at(2, b"\0another").await;
            client.packets().expect_seq(2);
            client.expect(b"\0another").await;
            drop(client);
            server.expect_end().await;
            drop(server);
            expect_nothing_left(&stage).await;
        });
    }
}

#[test]
fn what_comes_with_the_request_for_a_binary_log_is_passed_on() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let dump = messages(0, &[&[Kind::BinlogDump as u8, 4, 0, 0, 0]]);
        client.send_bytes(&[dump, messages(0, &[b"\xefposition"])].concat()).await;
        server.expect_command(Kind::BinlogDump, &[4, 0, 0, 0]).await;
        server.packets().expect_seq(0);
        server.expect(b"\xefposition").await;
    });
}
