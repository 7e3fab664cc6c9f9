//! Bytes that are not the protocol, or not at this place.

use std::time::Duration;

use e2e::{Proxy, run};
use testkit::client::{Client, ServerInfo};
use testkit::mariadb::{PASSWORD, USER};
use testkit::script::ScriptedClient;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use wire::frame::put_message;
use wire::{Capabilities, Codec as _, packet};

use super::{Bystander, raw, setup};

/// Login deadline of these proxies: long enough for every honest login here.
const LOGIN: Duration = Duration::from_secs(5);

fn proxy() -> Proxy {
    setup().variable("connect_timeout_client", LOGIN.as_millis()).start()
}

/// Sends bytes, says that there are no more, and reads what comes until the end.
async fn answer(stream: &mut TcpStream, bytes: &[u8]) -> Vec<u8> {
    // A peer that is gone already does not take them.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    rest(stream).await
}

async fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    bytes
}

/// A connection with the greeting read.
async fn greeted(proxy: &Proxy) -> (TcpStream, ServerInfo) {
    let mut stream = TcpStream::connect(proxy.tcp()).await.unwrap();
    let server = ScriptedClient::new(&mut stream).read_greeting().await.unwrap();
    (stream, server)
}

/// The code of the ERR packet that the bytes are; `None` if there are none.
fn error_code(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [] => None,
        [a, b, 0, _, 0xff, low, high, ..] if bytes.len() == 4 + usize::from(u16::from_le_bytes([*a, *b])) => {
            Some(u16::from_le_bytes([*low, *high]))
        }
        _ => panic!("not an ERR packet: {}", bytes.escape_ascii()),
    }
}

/// A sequence of bytes that is the same every time (xorshift64).
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next().to_le_bytes()[5]).collect()
    }
}

/// A login packet's payload, as a client of today sends it.
fn login(server: &ServerInfo) -> Vec<u8> {
    let proof = wire::auth::native::answer(PASSWORD.as_bytes(), &server.nonce);
    let capabilities = testkit::client::CAPABILITIES | Capabilities::CONNECT_WITH_DB;
    let packet = packet::Login {
        capabilities,
        max_packet: 1 << 24,
        collation: 45,
        username: USER.as_bytes(),
        auth_answer: &proof,
        schema: Some(b"test"),
        auth_plugin: Some(b"mysql_native_password"),
        attributes: Some(b"\x04_pid\x0212"),
        zstd_level: None,
    };
    packet.encode(capabilities)
}

#[test]
fn c27_truncated_login_is_refused() {
    let proxy = proxy();
    run(async {
        let mut bystander = Bystander::new(&proxy).await;
        let (mut stream, server) = greeted(&proxy).await;
        let whole = login(&server);
        let mut bytes = Vec::new();
        put_message(&mut bytes, 1, &whole);
        let ok = answer(&mut stream, &bytes).await;
        assert_eq!(ok.get(4), Some(&0), "{}", ok.escape_ascii());
        for len in 0..whole.len() {
            // A message that is as short as it says...
            let (mut stream, server) = greeted(&proxy).await;
            let mut bytes = Vec::new();
            put_message(&mut bytes, 1, &login(&server)[..len]);
            let code = error_code(&answer(&mut stream, &bytes).await);
            assert!([Some(1043), Some(1045)].contains(&code), "{len} bytes of {}: {code:?}", whole.len());
            // ... and one that ends before it should.
            let (mut stream, server) = greeted(&proxy).await;
            let mut bytes = Vec::new();
            put_message(&mut bytes, 1, &login(&server));
            assert_eq!(answer(&mut stream, &bytes[..len]).await, b"", "{len} bytes");
        }
        bystander.check().await;
    });
}

#[test]
fn c27_nonsense_instead_of_a_login_is_refused() {
    let proxy = proxy();
    let mut noise = Noise(0x5eed_0001);
    run(async {
        let mut bystander = Bystander::new(&proxy).await;
        let mut attempts: Vec<Vec<u8>> = vec![
            b"GET / HTTP/1.1\r\nHost: db\r\n\r\n".to_vec(),
            b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03".to_vec(),
            b"\0\0\0\x01".to_vec(),
            b"\0\0\0\0".to_vec(),
            b"\x01\0\0\x01\x01".to_vec(),
            // The request for TLS, which is not offered, and the start of TLS.
            b"\x20\0\0\x01\x05\xae\x03\0\0\0\0\x01\x21\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x16\x03\x01".to_vec(),
            // Lengths of 16 MB with little and with much behind them.
            b"\xff\xff\xff\x01abc".to_vec(),
            [&b"\xff\xff\xff\x01"[..], &[0xff; 300_000]].concat(),
            // A command instead of a login.
            b"\x09\0\0\0\x03SELECT 1".to_vec(),
            b"\x01\0\0\0\x0e".to_vec(),
        ];
        for len in (0..300).step_by(3) {
            let body = noise.bytes(len);
            attempts.push(body.clone());
            let mut message = Vec::new();
            put_message(&mut message, 1, &body);
            attempts.push(message);
        }
        for (index, attempt) in attempts.iter().enumerate() {
            let (mut stream, _) = greeted(&proxy).await;
            let reply = answer(&mut stream, attempt).await;
            // Noise may look like a login with another method: then the proxy asks for its own.
            if reply.get(4) == Some(&packet::AuthSwitch::HEADER) {
                continue;
            }
            let code = error_code(&reply);
            // A client that went away before the end of a message gets no error. 3923: noise that
            // looks like a login with zstd, of a level that does not exist.
            let expected = [None, Some(1043), Some(1045), Some(1156), Some(3923)];
            assert!(expected.contains(&code), "attempt {index}: {code:?}");
        }
        bystander.check().await;
    });
}

#[test]
fn c27_a_mutilated_login_never_gets_in() {
    let proxy = proxy();
    let mut noise = Noise(0x5eed_0002);
    run(async {
        let mut bystander = Bystander::new(&proxy).await;
        for _ in 0..300 {
            let (mut stream, server) = greeted(&proxy).await;
            let mut payload = login(&server);
            let proof = 32 + USER.len() + 2;
            let right = payload[proof];
            for _ in 0..noise.next() % 5 {
                let place = usize::try_from(noise.next()).unwrap() % payload.len();
                payload[place] = noise.bytes(1)[0];
            }
            // The proof of the password is among the changed bytes, so that no change is harmless.
            payload[proof] = right ^ (1 + noise.bytes(1)[0] % 255);
            let mut bytes = Vec::new();
            put_message(&mut bytes, 1, &payload);
            let reply = answer(&mut stream, &bytes).await;
            assert_ne!(reply.get(4), Some(&0), "{} got in", payload.escape_ascii());
        }
        bystander.check().await;
    });
}

#[test]
fn commands_that_are_none_are_answered_with_the_right_error() {
    let proxy = proxy();
    run(async {
        let mut bystander = Bystander::new(&proxy).await;
        for (bytes, code) in [
            // A command byte that does not exist; no byte at all.
            (&b"\x01\0\0\0\x7f"[..], 1047),
            (b"\0\0\0\0", 1047),
            // Sequence ids that do not start at 0, or do not go on.
            (b"\x01\0\0\x01\x0e", 1156),
            (b"\x01\0\0\xff\x0e", 1156),
            (&[&b"\xff\xff\xff\0\x03"[..], &b" ".repeat(0xff_fffe), b"\x01\0\0\x07x"].concat(), 1156),
        ] {
            for with_backend in [true, false] {
                let mut stream = if with_backend {
                    raw(&proxy.options(), &proxy).await
                } else {
                    let mut stream = TcpStream::connect(proxy.tcp()).await.unwrap();
                    Client::over(&mut stream, &proxy.options()).await.unwrap();
                    stream
                };
                // Without an end from the client's side: the proxy must answer to what is there.
                stream.write_all(bytes).await.unwrap();
                let mut reply = [0; 7];
                stream.read_exact(&mut reply).await.unwrap();
                let start = bytes[..bytes.len().min(6)].escape_ascii();
                let got = u16::from_le_bytes([reply[5], reply[6]]);
                assert_eq!((reply[4], got), (0xff, code), "{start}, with a backend: {with_backend}");
            }
        }
        bystander.check().await;
    });
}

#[test]
fn an_unknown_command_does_not_end_the_session() {
    let proxy = proxy();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        for _ in 0..2 {
            client.packets().write_bytes(b"\x01\0\0\0\x7f").await.unwrap();
            client.packets().expect_seq(1);
            assert_eq!(client.read_result().await.unwrap_err().code(), Some(1047));
            assert_eq!(client.query("SELECT 1").await.unwrap().first().as_deref(), Some("1"));
        }
    });
}

#[test]
fn c01_noise_on_one_connection_reaches_no_other() {
    let proxy = proxy();
    let mut noise = Noise(0x5eed_0003);
    run(async {
        let mut bystander = Bystander::new(&proxy).await;
        for round in 0..150_usize {
            let mut stream = raw(&proxy.options(), &proxy).await;
            // A message of noise behind a command byte that the server must make something of, or
            // noise alone. Never the commands that stop servers.
            let body = noise.bytes(round * 7 % 2000);
            let kind = [0x03, 0x16, 0x17, 0x18, 0x19, 0x1a, 0x1b, 0x1c, 0x02, 0x04, 0x11, 0x0e][round % 12];
            let mut bytes = Vec::new();
            put_message(&mut bytes, 0, &[&[kind], &body[..]].concat());
            if round % 3 == 0 {
                bytes.extend(noise.bytes(50));
            }
            answer(&mut stream, &bytes).await;
            if round.is_multiple_of(10) {
                bystander.check().await;
                let mut client = Client::connect(&proxy.options()).await.unwrap();
                assert_eq!(client.query("SELECT 'mine'").await.unwrap().first().as_deref(), Some("mine"));
            }
        }
    });
}

#[test]
fn a_command_may_come_together_with_the_login() {
    let proxy = proxy();
    run(async {
        let stream = TcpStream::connect(proxy.tcp()).await.unwrap();
        let mut client = ScriptedClient::new(stream);
        let server = client.read_greeting().await.unwrap();
        let mut bytes = Vec::new();
        put_message(&mut bytes, 1, &login(&server));
        put_message(&mut bytes, 0, b"\x03SELECT 'early'");
        client.send_bytes(&bytes).await;
        client.packets().set_capabilities(testkit::client::CAPABILITIES);
        client.packets().expect_seq(2);
        client.expect_ok().await;
        client.packets().expect_seq(1);
        client.expect_rows(&[&[Some("early")]]).await;
    });
}

#[test]
fn a_client_that_only_stops_sending_gets_its_answer() {
    let proxy = proxy();
    run(async {
        let mut client = Client::connect(&proxy.options()).await.unwrap();
        client.query("DO 0").await.unwrap();
        client.packets().write_bytes(b"\x09\0\0\0\x03SELECT 1").await.unwrap();
        client.packets().stream().shutdown().await.unwrap();
        client.packets().expect_seq(1);
        // Whether it is served or taken for gone, it must not hang, nor get half an answer.
        match client.read_result().await {
            Ok(result) => assert_eq!(result.first().as_deref(), Some("1")),
            Err(error) => assert!(error.code().is_none(), "{error}"),
        }
    });
}
