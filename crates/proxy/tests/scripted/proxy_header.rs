//! PROXY headers in front of clients, and towards servers.

use config::{Config, ProxyProtocol, ServerOptions};
use proptest::collection::vec;
use proxy::memory::End;
use proxy::stage::Stage;
use testkit::client::ServerError;
use testkit::script::{ScriptedClient, ScriptedServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::support::{
    CAPACITY, Client, config, expect_nothing_left, options, options_for, pieces, play, play_all, settle,
    stage,
};

/// Where clients come from, and where they connect to.
const HERE: &str = "192.0.2.1:3306";
const TRUSTED: &str = "10.1.2.3:40000";
const OTHER: &str = "203.0.113.9:40000";

/// What a trusted proxy says of its client.
const LINE: &[u8] = b"PROXY TCP4 198.51.100.7 192.0.2.80 4711 3306\r\n";
const LINE_TCP6: &[u8] = b"PROXY TCP6 2001:db8::7 2001:db8::80 4711 3306\r\n";
const BINARY: &[u8] =
    b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x13\xc6\x33\x64\x07\xc0\0\x02\x50\x12\x67\x0c\xea\x04\0\x04zero";
const LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";

fn trusting(networks: &str) -> Config {
    let mut config = config();
    config.variables.proxy_protocol_networks = networks.parse().expect("networks");
    config
}

/// A client that comes from this address.
fn connect_from(stage: &Stage, from: &str) -> End {
    let address = |text: &str| text.parse().expect("an address");
    stage.client_from(address(from), address(HERE), CAPACITY).expect("room for a client")
}

/// The error for a client that sends these bytes first, and then a wrong password.
async fn denied(mut stream: End, first: &[u8]) -> ServerError {
    stream.write_all(first).await.expect("room for a header");
    let mut client = Client::new(stream);
    client.log_in(&options_for("app", "wrong")).await.expect_err("a wrong password")
}

/// Reads to the end, which must come without a byte.
async fn expect_closed(mut stream: End) {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.expect("the end comes");
    assert_eq!(bytes, b"");
}

/// The server `db` is told who its clients are.
fn announcing(version: ProxyProtocol) -> Config {
    let options =
        ServerOptions { hostname: "db".to_owned(), proxy_protocol: version, ..ServerOptions::default() };
    Config { server_options: vec![options], ..trusting("10.0.0.0/8") }
}

/// Reads this many bytes of a connection to a server, then logs the proxy in.
async fn header_of(
    stage_servers: &mut super::support::Servers,
    len: usize,
) -> (Vec<u8>, ScriptedServer<End>) {
    let (_, mut end) = stage_servers.dialled().await;
    let mut header = vec![0; len];
    end.read_exact(&mut header).await.expect("a header");
    (header, ScriptedServer::accept(end).await.0)
}

#[test]
fn a_trusted_header_says_who_the_client_is() {
    play(async || {
        let (stage, _servers) = stage(trusting("10.0.0.0/8"));
        for (header, host) in [
            (LINE, "198.51.100.7"),
            (BINARY, "198.51.100.7"),
            (LINE_TCP6, "2001:db8::7"),
            (LOCAL, "10.1.2.3"),
            (b"PROXY UNKNOWN\r\n", "10.1.2.3"),
        ] {
            let error = denied(connect_from(&stage, TRUSTED), header).await;
            assert_eq!(error.message, format!("Access denied for user 'app'@'{host}' (using password: YES)"));
        }
        settle().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn no_header_is_expected_or_believed_from_other_addresses() {
    play(async || {
        let (stage, _servers) = stage(trusting("10.0.0.0/8"));
        let error = denied(connect_from(&stage, OTHER), b"").await;
        assert!(error.message.contains("'app'@'203.0.113.9'"), "{error}");
        let mut client = Client::new(connect_from(&stage, OTHER));
        client.read_greeting().await.expect("a greeting");
        client.send_bytes(LINE).await;
        client.expect_err(1043).await;
        client.expect_end().await;
    });
}

#[test]
fn unix_sockets_are_trusted_in_every_network_only() {
    play(async || {
        let (stage, _servers) = stage(trusting("0.0.0.0/0,::/0"));
        let mut client = Client::new(stage.client(CAPACITY).expect("room"));
        client.read_greeting().await.expect("a greeting without a header");
        let (stage, _servers) = super::support::stage(trusting("*"));
        let error = denied(stage.client(CAPACITY).expect("room"), LINE).await;
        assert!(error.message.contains("'app'@'198.51.100.7'"), "{error}");
        let error = denied(stage.client(CAPACITY).expect("room"), LOCAL).await;
        assert!(error.message.contains("'app'@'localhost'"), "{error}");
    });
}

#[test]
fn a_session_behind_a_header_works_however_it_is_split() {
    let splits = (0..3_usize, vec(1..60_usize, 0..6));
    play_all(trusting("10.0.0.0/8"), splits, async |stage, servers, (which, lens)| {
        let header = [LINE, BINARY, LOCAL][which];
        let mut stream = connect_from(stage, TRUSTED);
        for piece in pieces(header, &lens) {
            stream.write_all(piece).await.expect("room");
            settle().await;
        }
        let mut client = ScriptedClient::connect(stream, &options()).await;
        let mut server = super::support::first_query(&mut client, servers).await;
        super::support::expect_alive(&mut client, &mut server).await;
    });
}

/// A client that knows the greeting without reading it: its login comes with the header.
#[test]
fn what_stands_behind_the_header_is_the_login() {
    play(async || {
        let (stage, _servers) = stage(trusting("10.0.0.0/8"));
        let mut stream = connect_from(&stage, TRUSTED);
        let login = super::support::messages(1, &[b"not a login"]);
        stream.write_all(&[LINE, &login].concat()).await.expect("room");
        let mut client = Client::new(stream);
        client.read_greeting().await.expect("a greeting");
        client.packets().expect_seq(2);
        client.expect_err(1043).await;
    });
}

#[test]
fn what_is_no_header_gets_no_greeting() {
    let too_long = [b"PROXY UNKNOWN ".as_slice(), &[b'x'; 100]].concat();
    play(async || {
        let (stage, mut servers) = stage(trusting("10.0.0.0/8"));
        for bytes in [
            &b"\x10\0\0\x01"[..],
            b"GET / HTTP/1.1\r\n",
            b"PROXY TCP4 a b c d\r\n",
            b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\x0c",
            &too_long,
        ] {
            let mut stream = connect_from(&stage, TRUSTED);
            stream.write_all(bytes).await.expect("room");
            expect_closed(stream).await;
        }
        expect_nothing_left(&stage).await;
        assert!(servers.settled().await.is_none());
    });
}

#[test]
fn a_header_must_come_before_the_login_is_late() {
    play(async || {
        let (stage, _servers) = stage(trusting("10.0.0.0/8"));
        for first in [&b""[..], &LINE[..20], &BINARY[..16]] {
            let begun = tokio::time::Instant::now();
            let mut stream = connect_from(&stage, TRUSTED);
            stream.write_all(first).await.expect("room");
            expect_closed(stream).await;
            assert_eq!(begun.elapsed().as_secs(), 10, "mysql-connect_timeout_client");
        }
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_tunnel_begins_behind_the_header() {
    play(async || {
        let (stage, mut servers) = stage(trusting("*"));
        let mut client = stage.tunnel(0, CAPACITY).expect("room");
        assert!(servers.settled().await.is_none(), "a server before the header");
        client.write_all(&[LINE, b"behind"].concat()).await.expect("room");
        let (_, mut server) = servers.dialled().await;
        let mut bytes = [0; 6];
        server.read_exact(&mut bytes).await.expect("what stood behind");
        assert_eq!(&bytes, b"behind");
        drop((client, server));
        let mut stranger = stage.tunnel(0, CAPACITY).expect("room");
        stranger.write_all(b"no header at all").await.expect("room");
        expect_closed(stranger).await;
        assert!(servers.settled().await.is_none());
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn servers_are_told_who_the_client_is() {
    play(async || {
        for (version, expected) in [
            (ProxyProtocol::V1, b"PROXY TCP4 203.0.113.9 192.0.2.1 40000 3306\r\n".to_vec()),
            (
                ProxyProtocol::V2,
                b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xcb\0\x71\x09\xc0\0\x02\x01\x9c\x40\x0c\xea".to_vec(),
            ),
        ] {
            let (stage, mut servers) = stage(announcing(version));
            let mut client = ScriptedClient::connect(connect_from(&stage, OTHER), &options()).await;
            client.send_query("DO 0").await;
            let (header, mut server) = header_of(&mut servers, expected.len()).await;
            assert_eq!(header, expected);
            server.expect_query("DO 0").await;
            server.ok().await;
            client.expect_ok().await;
        }
    });
}

#[test]
fn what_a_header_said_is_passed_on() {
    play(async || {
        let (stage, mut servers) = stage(announcing(ProxyProtocol::V1));
        let mut stream = connect_from(&stage, TRUSTED);
        stream.write_all(BINARY).await.expect("room");
        let mut client = ScriptedClient::connect(stream, &options()).await;
        client.send_query("DO 0").await;
        assert_eq!(header_of(&mut servers, LINE.len()).await.0, LINE);
    });
}

#[test]
fn clients_without_an_address_are_not_announced() {
    play(async || {
        for (version, expected) in
            [(ProxyProtocol::V1, &b"PROXY UNKNOWN\r\n"[..]), (ProxyProtocol::V2, LOCAL)]
        {
            let (stage, mut servers) = stage(announcing(version));
            let mut client = super::support::log_in(&stage).await;
            client.send_query("DO 0").await;
            assert_eq!(header_of(&mut servers, expected.len()).await.0, expected);
        }
    });
}

#[test]
fn a_tunnel_announces_its_client_too() {
    play(async || {
        let config = Config { variables: trusting("*").variables, ..announcing(ProxyProtocol::V2) };
        let (stage, mut servers) = stage(config);
        let mut client = stage.tunnel(0, CAPACITY).expect("room");
        client.write_all(LINE).await.expect("room");
        let (_, mut server) = servers.dialled().await;
        let mut header = [0; 28];
        server.read_exact(&mut header).await.expect("a header");
        assert_eq!(header[..12], BINARY[..12]);
        assert_eq!(header[16..], BINARY[16..28], "the addresses of the line");
    });
}

/// A server that does not know headers says so in its own way; the client hears what may be wrong.
#[test]
fn a_server_that_does_not_understand_is_named() {
    play(async || {
        for (answer, expected) in [(1156, "9002"), (1043, "9002"), (1045, "1045")] {
            let (stage, mut servers) = stage(announcing(ProxyProtocol::V1));
            let mut client = super::support::log_in(&stage).await;
            client.send_query("DO 0").await;
            let (_, end) = servers.dialled().await;
            let mut server = ScriptedServer::new(end);
            server.greet().await;
            server.packets().expect_seq(2);
            server.err(answer, "08S01", "Got packets out of order").await;
            let error = client.read_result().await.expect_err("a failed login");
            assert_eq!(error.code.to_string(), expected);
            assert_eq!(error.code == 9002, error.message.contains("PROXY header"), "{error}");
        }
    });
}
