//! Both sides of TLS in one thread, over sockets made of memory.

use config::{Config, TlsParams};
use proptest::prelude::*;
use rustls::unbuffered::ConnectionState;
use tokio::runtime::{Builder, LocalOptions};

use super::super::Sock;
use super::super::memory::{End, pair};
use super::*;
use crate::keys::Keys;
use crate::local::Local;

/// Bytes that a socket holds unless a test says otherwise: less than a record.
const CAPACITY: usize = 5000;

/// Both sides, ours as towards a client first.
struct Two {
    sides: Sides,
    server: Sock,
    client: Sock,
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(async { tokio::time::timeout(std::time::Duration::from_mins(1), test).await.unwrap() })
}

/// What both sides share.
struct Sides {
    local: Local,
    tls: crate::tls::Tls,
}

fn sides() -> Sides {
    let keys = Keys::new(&tokio::runtime::Handle::current());
    Sides { local: Local::new(Some(keys)), tls: crate::tls::Tls::new(&Config::default()).unwrap() }
}

/// The roles of a server with a certificate of its own and of a client that verifies none.
fn roles(sides: &Sides) -> (Role, Role) {
    let endpoint = config::Endpoint::Tcp { host: "db".to_owned(), port: 3306 };
    (sides.tls.to_client().unwrap(), sides.tls.to_server(&endpoint, b"").unwrap())
}

impl Two {
    async fn new(capacity: usize) -> Self {
        let sides = sides();
        let (server_role, client_role) = roles(&sides);
        let (a, b) = pair(capacity);
        let (mut server, mut client) = (Sock::from(a), Sock::from(b));
        let (first, second) = tokio::join!(
            server.start_tls(&sides.local, server_role, Vec::new()),
            client.start_tls(&sides.local, client_role, Vec::new())
        );
        first.unwrap();
        second.unwrap();
        Self { sides, server, client }
    }
}

fn tls(sock: &mut Sock) -> &mut Tls {
    sock.link.tls.as_deref_mut().unwrap()
}

/// Reads until `len` bytes are there or the end, in pieces of at most `piece`.
async fn read(sock: &mut Sock, len: usize, piece: usize) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), vec![0; piece]);
    while all.len() < len {
        match std::future::poll_fn(|cx| sock.poll_read(cx, &mut buffer)).await.unwrap() {
            0 => break,
            n => all.extend_from_slice(&buffer[..n]),
        }
    }
    all
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    (0..len).map(|_| next()).collect()
}

fn poll_input(sock: &mut Sock) -> Poll<Input> {
    sock.poll_input(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn bytes_arrive_in_both_directions_whatever_their_number() {
    run(async {
        for (capacity, piece) in [(CAPACITY, 64 * 1024), (1000, 3), (100_000, 1000), (1 << 20, 64 * 1024)] {
            let mut two = Two::new(capacity).await;
            for len in [1, 1 << 14, (1 << 14) + 1, 1 << 16, (1 << 16) + 1, 200_000] {
                let sent = noise(len);
                let (written, got) =
                    tokio::join!(two.server.write_all(&sent), read(&mut two.client, len, piece));
                written.unwrap();
                assert!(got == sent, "{len} bytes to the client, {capacity} at a time");
                let (written, got) =
                    tokio::join!(two.client.write_all(&sent), read(&mut two.server, len, piece));
                written.unwrap();
                assert!(got == sent, "{len} bytes to the server, {capacity} at a time");
            }
        }
    });
}

#[test]
fn sixteen_megabytes_and_one_byte_arrive() {
    run(async {
        let mut two = Two::new(1 << 18).await;
        let sent = noise((1 << 24) + 1);
        let (written, got) =
            tokio::join!(two.server.write_all(&sent), read(&mut two.client, sent.len(), 1 << 16));
        written.unwrap();
        assert!(got == sent);
    });
}

#[test]
fn an_idle_connection_holds_no_bytes() {
    run(async {
        let mut two = Two::new(CAPACITY).await;
        let sent = noise(100_000);
        let (written, got) =
            tokio::join!(two.server.write_all(&sent), read(&mut two.client, sent.len(), 1 << 16));
        written.unwrap();
        assert!(got == sent);
        // The session tickets, and whatever else is in the pipe, are not held either.
        assert_eq!(poll_input(&mut two.client), Poll::Pending);
        assert_eq!(poll_input(&mut two.server), Poll::Pending);
        for sock in [&mut two.server, &mut two.client] {
            let tls = tls(sock);
            let held =
                tls.incoming.capacity() + tls.plaintext.end().capacity() + tls.outgoing.end().capacity();
            assert_eq!(held, 0);
        }
    });
}

#[test]
fn session_tickets_are_no_input_and_bytes_and_the_end_are() {
    run(async {
        let mut two = Two::new(CAPACITY).await;
        assert!(unread(&two.client) > 0, "a ticket was sent");
        assert_eq!(poll_input(&mut two.client), Poll::Pending);
        assert_eq!(unread(&two.client), 0);
        two.server.write_all(b"x").await.unwrap();
        for _ in 0..2 {
            assert_eq!(poll_input(&mut two.client), Poll::Ready(Input::Bytes));
        }
        assert_eq!(read(&mut two.client, 1, 10).await, b"x");
        assert_eq!(poll_input(&mut two.client), Poll::Pending);
        two.server.shutdown_write().unwrap();
        assert_eq!(poll_input(&mut two.client), Poll::Ready(Input::End));
        assert!(read(&mut two.client, 1, 10).await.is_empty());
        // Half of it is still open.
        two.client.write_all(b"y").await.unwrap();
        assert_eq!(read(&mut two.server, 1, 10).await, b"y");
    });
}

fn unread(sock: &Sock) -> usize {
    sock.link.plain().unread()
}

#[test]
fn a_peer_that_closes_without_a_word_has_ended() {
    run(async {
        let Two { mut server, client, sides } = Two::new(CAPACITY).await;
        drop(client);
        assert_eq!(poll_input(&mut server), Poll::Ready(Input::End));
        assert!(read(&mut server, 1, 10).await.is_empty());
        drop(sides);
    });
}

#[test]
fn a_record_in_pieces_is_held_and_given_back_whole() {
    run(async {
        let mut two = Two::new(1 << 20).await;
        assert_eq!(poll_input(&mut two.client), Poll::Pending);
        // What the server sends goes through another pair of ends, byte by byte.
        let mut records = Vec::new();
        tls(&mut two.server).conn.encrypt(b"whole", &mut records).unwrap();
        let last = records.len() - 1;
        for (at, byte) in records.into_iter().enumerate() {
            assert_eq!(poll_input(&mut two.client), Poll::Pending, "byte {at} of {last}");
            let plain = &mut two.server.link.plain;
            let mut cx = Context::from_waker(Waker::noop());
            assert!(matches!(plain.poll_write(&mut cx, &[byte]), Poll::Ready(Ok(1))));
        }
        assert_eq!(read(&mut two.client, 5, 100).await, b"whole");
        assert_eq!(tls(&mut two.client).incoming.capacity(), 0);
    });
}

#[test]
fn keys_may_be_changed() {
    run(async {
        let mut two = Two::new(1 << 20).await;
        for round in 0..5_u8 {
            match &mut tls(&mut two.client).conn {
                Conn::Client(conn) => match conn.process_tls_records(&mut []).state.unwrap() {
                    ConnectionState::WriteTraffic(traffic) => traffic.refresh_traffic_keys().unwrap(),
                    other => panic!("{other:?}"),
                },
                Conn::Server(_) => unreachable!(),
            }
            two.client.write_all(&[round]).await.unwrap();
            assert_eq!(read(&mut two.server, 1, 10).await, [round]);
            // The answer, which changes the keys of the other direction, comes along.
            two.server.write_all(&[round]).await.unwrap();
            assert_eq!(read(&mut two.client, 1, 10).await, [round]);
        }
    });
}

/// A client's first record.
fn client_hello(sides: &Sides) -> Vec<u8> {
    let mut hello = Vec::new();
    let mut conn = Conn::new(roles(sides).1).unwrap();
    conn.process(&mut [], &mut |_| {}, &mut hello).unwrap();
    hello
}

/// What becomes of a handshake with these first bytes and nothing behind them.
async fn shake(sides: &Sides, first: &[u8]) -> (Result<(), HandshakeError>, End) {
    let (a, b) = pair(1 << 20);
    let mut server = Sock::from(a);
    b.close_write();
    (server.start_tls(&sides.local, roles(sides).0, first.to_vec()).await, b)
}

#[test]
fn a_client_that_breaks_off_has_closed() {
    run(async {
        let sides = sides();
        let hello = client_hello(&sides);
        for len in 0..=hello.len() {
            let (outcome, _) = shake(&sides, &hello[..len]).await;
            assert!(matches!(outcome, Err(HandshakeError::Closed)), "{len} bytes: {outcome:?}");
        }
    });
}

#[test]
fn flipped_bits_of_a_handshake_end_it_only() {
    run(async {
        let sides = sides();
        let hello = client_hello(&sides);
        for at in 0..hello.len() {
            let mut flipped = hello.clone();
            flipped[at] ^= 1 << (at % 8);
            let (outcome, _) = shake(&sides, &flipped).await;
            assert!(outcome.is_err(), "byte {at}");
        }
        // The thread's buffers are none the worse for it.
        let (outcome, _) = shake(&sides, &hello).await;
        assert!(matches!(outcome, Err(HandshakeError::Closed)));
    });
}

#[test]
fn what_is_no_tls_is_answered_with_an_alert() {
    run(async {
        let sides = sides();
        // A login in the clear, in the hope that it counts although TLS was asked for.
        let login =
            b"\x20\0\0\x02\x85\xa6\xff\x01\0\0\0\x01\x2d\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0root\0";
        for bytes in [&login[..], b"GET / HTTP/1.1\r\n\r\n"] {
            match shake(&sides, bytes).await.0 {
                Err(HandshakeError::Failed { alert, .. }) => {
                    assert_eq!(alert.first(), Some(&21), "{bytes:?}");
                }
                other => panic!("{bytes:?}: {other:?}"),
            }
        }
    });
}

#[test]
fn a_handshake_message_without_end_is_refused() {
    run(async {
        let sides = sides();
        // Records that promise a message of 16 MB.
        let mut flood = Vec::new();
        for _ in 0..8 {
            flood.extend([22, 3, 1, 0x40, 0]);
            flood.extend([1, 0xff, 0xff, 0xff]);
            flood.resize(flood.len() + (1 << 14) - 4, 0);
        }
        assert!(shake(&sides, &flood).await.0.is_err());
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Records that were changed on their way end the connection, and what came before them
    /// arrives.
    #[test]
    fn changed_records_end_the_connection(at in 0_usize..1000, bit in 0_u8..8, cut: bool) {
        run(async {
            let mut two = Two::new(1 << 20).await;
            assert_eq!(poll_input(&mut two.client), Poll::Pending);
            let mut records = Vec::new();
            tls(&mut two.server).conn.encrypt(&noise(900), &mut records).unwrap();
            let at = at % records.len();
            // Type and version in a record's header mean nothing once it is encrypted (RFC 8446,
            // section 5.2): the true type is inside, and rustls takes a handshake record for
            // application data.
            let at = if cut || at > 2 { at } else { 3 };
            if cut {
                records.truncate(at);
            } else {
                records[at] ^= 1 << bit;
            }
            let mut cx = Context::from_waker(Waker::noop());
            let written = two.server.link.plain.poll_write(&mut cx, &records);
            assert!(cut || matches!(written, Poll::Ready(Ok(_))));
            two.server.link.plain.shutdown_write().unwrap();
            let mut buffer = vec![0; 2000];
            let outcome = std::future::poll_fn(|cx| two.client.poll_read(cx, &mut buffer)).await;
            assert!(!matches!(outcome, Ok(n) if n > 0), "{outcome:?}");
            // And it stays at its end.
            assert_eq!(poll_input(&mut two.client), Poll::Ready(Input::End));
        });
    }
}

#[test]
fn without_authorities_no_parameter_is_needed() {
    assert_eq!(config::MysqlVariables::default().tls_to_servers(), TlsParams::default());
}
