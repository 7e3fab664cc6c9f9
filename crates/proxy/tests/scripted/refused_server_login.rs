//! Servers that refuse the login, or with which there can be none.

use config::Config;
use testkit::script::{CAPABILITIES as SERVER_CAPABILITIES, NONCE, ScriptedServer};
use tokio::join;
use wire::auth::{caching_sha2, native};
use wire::frame::MAX_PAYLOAD;
use wire::{Capabilities, packet};

use super::server_login::{asked, expect_query, greeting};
use super::support::{
    Client, Database, NATIVE, Servers, config, database, expect_nothing_left, first_query, log_in,
    long_query, options, play, stage, user,
};

/// The query is answered with error 9002, whose text holds these words; the session goes on.
async fn expect_no_login(client: &mut Client, server: &mut Database, words: &[&str]) {
    let error = client.expect_err(9002).await;
    for word in words.iter().chain(&["db:3306"]) {
        assert!(error.message.contains(word), "{word:?} is not in {error}");
    }
    server.expect_gone().await;
}

#[test]
fn a_method_that_is_not_there_is_named() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = asked(config(), "app").await;
        server.greet().await;
        server.read_login().await;
        server.send_packet(&packet::AuthSwitch { plugin: b"dialog", data: b"Password: " }).await;
        expect_no_login(&mut client, &mut server, &["dialog"]).await;
        assert_eq!(stage.usage(0).open, 0);
        first_query(&mut client, &mut servers).await;
    });
}

#[test]
fn a_method_for_which_the_password_is_missing_is_named() {
    play(async || {
        let config = Config { users: vec![user("app", NATIVE)].into(), ..config() };
        let (_stage, _servers, mut client, mut server) = asked(config, "app").await;
        server.greet_with(&greeting(caching_sha2::NAME, SERVER_CAPABILITIES)).await;
        server.read_login().await;
        server.send_packet(&packet::AuthSwitch { plugin: caching_sha2::NAME.as_bytes(), data: &NONCE }).await;
        expect_no_login(&mut client, &mut server, &["caching_sha2_password", "SHA-1"]).await;
    });
}

#[test]
fn a_user_that_is_for_clients_only_is_not_logged_in_to_servers() {
    play(async || {
        let mut config = config();
        config.users[0].backend = false;
        let (_stage, _servers, mut client, mut server) = asked(config, "app").await;
        expect_no_login(&mut client, &mut server, &["'app'", "backend = 1"]).await;
    });
}

#[test]
fn c32_a_server_without_a_capability_of_the_client_is_named() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = asked(config(), "app").await;
        let missing = Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK;
        server.greet_with(&greeting(native::NAME, SERVER_CAPABILITIES - missing)).await;
        expect_no_login(&mut client, &mut server, &["DEPRECATE_EOF", "SESSION_TRACK"]).await;
        assert_eq!(stage.usage(0).open, 0);
        first_query(&mut client, &mut servers).await;
    });
}

#[test]
fn the_error_of_a_server_that_refuses_to_greet_reaches_the_client() {
    // Before the login a server may send its SQLSTATE, or not.
    for state in [&b""[..], b"#08004"] {
        play(async || {
            let (stage, mut servers, mut client, mut server) = asked(config(), "app").await;
            server.packets().expect_seq(0);
            server.send(&[b"\xff\x69\x04", state, b"Host 'x' is blocked"].concat()).await;
            let error = client.expect_err(1129).await;
            let expected = if state.is_empty() { "HY000" } else { "08004" };
            assert_eq!(error.to_string(), format!("1129 ({expected}): Host 'x' is blocked"));
            server.expect_gone().await;
            assert_eq!(stage.usage(0).open, 0);
            first_query(&mut client, &mut servers).await;
        });
    }
}

#[test]
fn the_error_of_a_server_that_refuses_the_login_reaches_the_client() {
    for (code, state, text) in
        [(1045, "28000", "Access denied for user 'app'@'proxy'"), (1049, "42000", "Unknown database 'shop'")]
    {
        play(async || {
            let (stage, mut servers, mut client, mut server) = asked(config(), "app").await;
            server.greet().await;
            server.read_login().await;
            server.err(code, state, text).await;
            let error = client.expect_err(code).await;
            assert_eq!(error.to_string(), format!("{code} ({state}): {text}"));
            server.expect_gone().await;
            assert_eq!(stage.usage(0).open, 0);
            first_query(&mut client, &mut servers).await;
        });
    }
}

/// A server answers the next connection with this error in place of a greeting; returns the
/// server's name.
async fn refuse(servers: &mut Servers, code: u16) -> String {
    let (name, end) = servers.dialled().await;
    let mut server = ScriptedServer::new(end);
    server.packets().expect_seq(0);
    server.send(&[&[0xff], &code.to_le_bytes()[..], b"not here"].concat()).await;
    server.expect_gone().await;
    name
}

#[test]
fn a_refusal_that_says_nothing_about_other_servers_sends_the_session_to_one() {
    for code in [1040, 1053, 1129, 1203, 1226] {
        play(async || {
            let config = Config { servers: vec![database("one"), database("two")].into(), ..config() };
            let (stage, mut servers) = stage(config);
            let mut client = log_in(&stage).await;
            client.send_query("SELECT 1").await;
            let refused = refuse(&mut servers, code).await;
            let (other, end) = servers.dialled().await;
            assert_ne!(other, refused);
            let (mut server, _) = ScriptedServer::accept(end).await;
            expect_query(&mut client, &mut server).await;
            assert_eq!(stage.usage(0).open, 1);
        });
    }
}

#[test]
fn the_last_refusal_of_all_servers_reaches_the_client() {
    play(async || {
        let config = Config { servers: vec![database("one"), database("two")].into(), ..config() };
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage).await;
        client.send_query("SELECT 1").await;
        refuse(&mut servers, 1053).await;
        refuse(&mut servers, 1129).await;
        let error = client.expect_err(1129).await;
        assert_eq!(error.message, "not here");
        assert!(servers.settled().await.is_none(), "no server is asked twice");
        assert_eq!(stage.usage(0).open, 0);
    });
}

#[test]
fn a_refusal_comes_behind_the_last_packet_of_a_long_command() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = Client::connect(stage.client(1 << 20).unwrap(), &options()).await;
        let refuse = async {
            let mut server = ScriptedServer::new(servers.dialled().await.1);
            server.greet().await;
            server.read_login().await;
            server.err(1045, "28000", "Access denied").await;
        };
        let command = long_query(MAX_PAYLOAD);
        join!(client.send_at(0, &command), refuse);
        // Its sequence id counts the packets of the command: they are read before it is sent.
        client.expect_err(1045).await;
    });
}

#[test]
fn a_server_that_is_full_is_tried_again() {
    play(async || {
        let (_stage, mut servers, mut client, mut server) = asked(config(), "app").await;
        server.packets().expect_seq(0);
        server.send(b"\xff\x10\x04Too many connections").await;
        let mut server = servers.accept().await;
        expect_query(&mut client, &mut server).await;
    });
}

#[test]
fn c02_bytes_behind_the_login_are_not_an_answer() {
    play(async || {
        let (stage, _servers, mut client, mut server) = asked(config(), "app").await;
        server.greet().await;
        server.read_login().await;
        let ok = [7, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];
        server.send_bytes(&[&ok[..], &[7, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]].concat()).await;
        expect_no_login(&mut client, &mut server, &["11 bytes"]).await;
        assert_eq!(stage.usage(0).open, 0);
    });
}

#[test]
fn what_is_no_greeting_is_an_error() {
    for payload in [&b"\x09very old"[..], b"\x0a", b"", b"HTTP/1.1 400 Bad Request"] {
        play(async || {
            let (stage, _servers, mut client, mut server) = asked(config(), "app").await;
            server.packets().expect_seq(0);
            server.send(payload).await;
            expect_no_login(&mut client, &mut server, &[]).await;
            assert_eq!(stage.usage(0).open, 0);
        });
    }
}

#[test]
fn bytes_that_are_no_packet_are_an_error() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = asked(config(), "app").await;
        server.send_bytes(b"SSH-2.0-OpenSSH_9.2\r\n").await;
        expect_no_login(&mut client, &mut server, &[]).await;
    });
}

#[test]
fn a_server_that_dies_during_the_login_is_tried_again() {
    play(async || {
        let (stage, mut servers, mut client, server) = asked(config(), "app").await;
        drop(server);
        let mut server = ScriptedServer::new(servers.dialled().await.1);
        server.greet().await;
        server.read_login().await;
        drop(server);
        let mut server = servers.accept().await;
        expect_query(&mut client, &mut server).await;
        drop(client);
        server.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_client_may_log_in_while_no_server_is_there() {
    play(async || {
        let (stage, mut servers) = stage(Config { servers: vec![].into(), ..config() });
        let mut client = log_in(&stage).await;
        client.send_query("SELECT 1").await;
        client.expect_err(9001).await;
        assert!(servers.settled().await.is_none());
    });
}
