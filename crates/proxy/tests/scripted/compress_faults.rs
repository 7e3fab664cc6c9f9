//! Bad frames and bombs: one session ends, with an error where one can be sent, and the proxy holds
//! few bytes.

use std::time::Duration;

use tokio::task::spawn_local;
use wire::Capabilities;
use wire::command::Kind;
use wire::compress::{Codecs, FRAME_HEADER_LEN, FrameHeader, Method};
use wire::frame::{Header, MAX_PAYLOAD};

use super::compress::{ZSTD, accept, compressing, options_with, session};
use super::support::{
    CAPACITY, Client, SCRATCH, connect, expect_alive, expect_nothing_left, log_in_as, messages, play, run,
    settle, stage,
};

const METHODS: [Method; 2] = [Method::Zlib, ZSTD];

/// A frame of these bytes.
fn frame(method: Method, seq: u8, plain: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    Codecs::new(6).put_frame(method, seq, plain, &mut frame);
    frame
}

/// The same content under another header.
fn claim(frame: &[u8], change: impl Fn(&mut FrameHeader)) -> Vec<u8> {
    let mut header = FrameHeader::parse(*frame.first_chunk().unwrap());
    change(&mut header);
    [&header.to_bytes()[..], &frame[FRAME_HEADER_LEN..]].concat()
}

#[test]
fn frames_that_are_not_what_they_claim_end_one_session() {
    for method in METHODS {
        let query = [b"\x03SELECT ".as_slice(), &[b'x'; 200]].concat();
        let good = frame(method, 0, &messages(0, &[&query]));
        let mut garbage = good.clone();
        garbage[FRAME_HEADER_LEN..].fill(0xa5);
        for (bad, code) in [
            (garbage, 1157),
            (claim(&good, |header| header.plain_len -= 1), 1157),
            (claim(&good, |header| header.plain_len += 1), 1157),
            (claim(&good, |header| header.len -= 1), 1157),
            (claim(&good, |header| header.len = 0), 1157),
            (claim(&good, |header| header.seq = 1), 1156),
            (claim(&good, |header| header.seq = 255), 1156),
        ] {
            play(async || {
                let (stage, mut other, mut server) = session(Some(method), Capabilities::COMPRESS).await;
                let mut client = log_in_as(&stage, &options_with(Some(method))).await;
                client.send_bytes(&bad).await;
                client.packets().expect_seq(1);
                client.expect_err(code).await;
                client.expect_end().await;
                expect_alive(&mut other, &mut server).await;
            });
        }
    }
}

#[test]
fn a_broken_frame_of_a_server_ends_one_session() {
    for (more, method) in [(Capabilities::COMPRESS, Method::Zlib), (Capabilities::ZSTD_COMPRESSION, ZSTD)] {
        for client_method in [None, Some(Method::Zlib)] {
            play(async || {
                let (stage, mut client, mut server) = session(client_method, more).await;
                client.send_query("SELECT 1").await;
                server.expect_query("SELECT 1").await;
                let mut answer = frame(method, 1, &messages(1, &[&[7; 500]]));
                answer[FRAME_HEADER_LEN..].fill(0xa5);
                server.send_bytes(&answer).await;
                client.expect_err(2013).await;
                client.expect_end().await;
                server.expect_gone().await;
                expect_nothing_left(&stage).await;
            });
        }
    }
}

#[test]
fn a_bomb_is_refused_before_it_grows() {
    const MAX: u32 = 4 << 20;
    for (method, dialled) in [(Method::Zlib, false), (ZSTD, false), (Method::Zlib, true), (ZSTD, true)] {
        play(async || {
            let (stage, mut client, mut server) = {
                let mut config = compressing();
                config.variables.max_allowed_packet = MAX;
                let (stage, mut servers) = stage(config);
                let mut client = log_in_as(&stage, &options_with(Some(method))).await;
                let mut server = None;
                if dialled {
                    client.send_query("DO 0").await;
                    let (mut database, _) = accept(&mut servers, Capabilities::empty()).await;
                    database.expect_query("DO 0").await;
                    database.ok().await;
                    client.expect_ok().await;
                    server = Some(database);
                }
                (stage, client, server)
            };
            // Packets of 16 MB of zeros, each in one frame of some kilobytes: 1 GB in less than 1
            // MB.
            let zeros = vec![0; MAX_PAYLOAD];
            let body = frame(method, 0, &zeros);
            let mut bomb = Vec::new();
            for seq in 0..64u8 {
                let header = Header { len: 0xff_ffff, seq }.to_bytes();
                bomb.extend(frame(method, 2 * seq, &header));
                bomb.extend(claim(&body, |header| header.seq = 2 * seq + 1));
            }
            assert!(bomb.len() < 2 << 20);
            let sending = spawn_local(async move {
                // The proxy does not have to read all of it.
                let _ =
                    tokio::time::timeout(Duration::from_mins(1), client.packets().write_bytes(&bomb)).await;
                client
            });
            settle().await;
            if let Some(server) = &mut server {
                // Of the command, nothing but what came before its length was known to be too
                // large.
                let gone = server.stream().unread();
                assert!(gone <= SCRATCH + CAPACITY, "{gone} bytes");
            }
            let mut client = sending.await.unwrap();
            let bytes = client.read_bytes(FRAME_HEADER_LEN + 4 + 3).await;
            assert_eq!((bytes[11], u16::from_le_bytes([bytes[12], bytes[13]])), (0xff, 1153));
            client.expect_gone().await;
            drop(server);
            expect_nothing_left(&stage).await;
        });
    }
}

#[test]
fn a_frame_that_never_ends_is_an_idle_client() {
    for method in METHODS {
        play(async || {
            let mut config = compressing();
            config.variables.wait_timeout = Duration::from_mins(1);
            let (stage, mut servers) = stage(config);
            let mut client = Client::connect(connect(&stage), &options_with(Some(method))).await;
            client.send_query("DO 0").await;
            let (mut server, _) = accept(&mut servers, Capabilities::empty()).await;
            server.expect_query("DO 0").await;
            server.ok().await;
            client.expect_ok().await;
            let mut query = frame(method, 0, &messages(0, &[&[3; 5000]]));
            // The checksum is missing, or the end of the only block: all of the command might be
            // known.
            query.pop();
            client.send_bytes(&query).await;
            tokio::time::sleep(Duration::from_secs(50)).await;
            assert_eq!(stage.sessions(), 1, "too early");
            tokio::time::sleep(Duration::from_secs(20)).await;
            assert_eq!(stage.sessions(), 0, "too late");
        });
    }
}

#[test]
fn compressed_clients_hear_of_a_drain() {
    for method in METHODS {
        play(async || {
            let (stage, mut client, mut server) = session(Some(method), Capabilities::COMPRESS).await;
            client.send_query("SELECT 1").await;
            server.expect_query("SELECT 1").await;
            server.rows(&["a"], &[&[Some("1")]]).await;
            client.expect_rows(&[&[Some("1")]]).await;
            stage.drain();
            client.packets().expect_seq(1);
            client.expect_err(1053).await;
            client.expect_end().await;
        });
    }
}

#[test]
fn what_a_compressed_server_says_out_of_turn_is_passed_on() {
    play(async || {
        let (_stage, mut client, mut server) = session(Some(Method::Zlib), Capabilities::COMPRESS).await;
        run(&mut client, &mut server, "CREATE TEMPORARY TABLE t (a INT)").await;
        server.packets().expect_seq(0);
        server.err(1927, "70100", "Connection was killed").await;
        drop(server);
        client.packets().expect_seq(0);
        client.expect_err(1927).await;
        client.expect_end().await;
    });
}

#[test]
fn c29_a_compressed_client_that_does_not_read_stops_its_server() {
    for method in METHODS {
        play(async || {
            let (_stage, mut client, mut server) = session(Some(method), Capabilities::COMPRESS).await;
            client.send_query("SELECT much").await;
            server.expect_query("SELECT much").await;
            let serving = spawn_local(async move {
                // Random letters: it is the compressed bytes that fill the sockets.
                let mut state = 1u64;
                server.columns(&["much"]).await;
                for _ in 0..1000 {
                    let cell: String = (0..1000)
                        .map(|_| {
                            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                            char::from(b'!' + state.to_be_bytes()[0] % 90)
                        })
                        .collect();
                    server.row(&[Some(&cell)]).await;
                }
                server.end_of_rows().await;
                server
            });
            settle().await;
            assert_eq!(client.stream().unread(), CAPACITY, "the client's socket is full");
            assert!(!serving.is_finished(), "the server waits");
            let result = client.expect_result().await;
            assert_eq!(result.rows.len(), 1000);
            let mut server = serving.await.unwrap();
            client.send_command(Kind::Ping, b"").await;
            server.expect_command(Kind::Ping, b"").await;
            server.ok().await;
            client.expect_ok().await;
        });
    }
}
