//! TLS with clients, and servers that are told to speak it.

use std::time::Duration;

use config::{Config, Server, User};
use proxy::stage::Stage;
use testkit::certificates::believer;
use testkit::client::{CAPABILITIES, Options};
use testkit::script::{ScriptedClient, ScriptedServer};
use tokio::time::Instant;
use wire::auth::{caching_sha2, native};
use wire::command::{self, Kind};
use wire::{Capabilities, Codec as _, packet};

use super::support::{
    CAPACITY, Client, NATIVE, SHA2, config, connect, database, expect_nothing_left, log_in, long_query,
    messages, options, options_for, play, settle, stage, user,
};

/// A client that is logged in over TLS. Its password may be shown.
async fn log_in_over_tls(
    stage: &Stage,
    capacity: usize,
    options: &Options,
) -> ScriptedClient<impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + use<>> {
    let end = stage.client(capacity).expect("room for a client");
    ScriptedClient::connect_tls(end, options, believer(None).unwrap()).await
}

fn secure(user: &str, password: &str) -> Options {
    Options::unix("", user, password)
}

/// A greeted client that has asked for TLS and not begun with it.
async fn asked(stage: &Stage) -> Client {
    let mut client = Client::new(connect(stage));
    let info = client.read_greeting().await.unwrap();
    let capabilities = info.capabilities & (CAPABILITIES | Capabilities::SSL);
    let request = packet::SslRequest { capabilities, max_packet: 1 << 24, collation: 45 };
    client.send(&request.encode(capabilities)).await;
    client
}

fn with_tls_user() -> Config {
    Config {
        users: vec![User { use_ssl: true, ..user("app", "secret") }, user("open", "secret")].into(),
        ..config()
    }
}

#[test]
fn c17_queries_of_any_size_arrive_over_tls() {
    play(async || {
        for capacity in [1000, CAPACITY, 1 << 18] {
            let (stage, mut servers) = stage(config());
            let mut client = log_in_over_tls(&stage, capacity, &secure("app", "secret")).await;
            client.send_query("DO 0").await;
            let mut server = servers.accept().await;
            server.expect_query("DO 0").await;
            server.ok().await;
            client.expect_ok().await;
            for len in [1, 16_000, 16_384, 16_385, 32_768, 65_536, 65_537, 200_000] {
                let payload = long_query(len);
                let (command, ()) = tokio::join!(server.read_command(), client.send_at(0, &payload));
                assert!(command == payload, "{len} bytes, {capacity} at a time");
                let cell = "y".repeat(len);
                let answer = async {
                    server.rows(&["a"], &[&[Some(&cell)]]).await;
                };
                let ((), result) = tokio::join!(answer, client.expect_result());
                assert_eq!(result.first().map(|cell| cell.len()), Some(len), "{capacity} at a time");
            }
            drop(client);
            server.expect_end().await;
            expect_nothing_left(&stage).await;
        }
    });
}

#[test]
fn every_form_of_a_password_is_proven_over_tls() {
    play(async || {
        let users = vec![user("clear", "secret"), user("native", NATIVE), user("sha2", SHA2)];
        let (stage, _servers) = stage(Config { users: users.into(), ..config() });
        for name in ["clear", "native", "sha2"] {
            for plugin in [native::NAME, caching_sha2::NAME] {
                log_in_over_tls(&stage, CAPACITY, &secure(name, "secret").auth_plugin(plugin)).await;
            }
        }
    });
}

#[test]
fn clients_that_send_little_at_a_time_get_tls_as_well() {
    play(async || {
        let (stage, _servers) = stage(config());
        for capacity in [300, 500, 1000] {
            log_in_over_tls(&stage, capacity, &secure("app", "secret")).await;
        }
    });
}

#[test]
fn a_login_behind_the_request_for_tls_does_not_count() {
    play(async || {
        let (stage, mut servers) = stage(config());
        // What an attacker in between could add: a whole login, in the clear, in the same bytes or
        // later.
        for together in [true, false] {
            let mut client = Client::new(connect(&stage));
            let info = client.read_greeting().await.unwrap();
            let capabilities = info.capabilities & (CAPABILITIES | Capabilities::SSL);
            let request = packet::SslRequest { capabilities, max_packet: 1 << 24, collation: 45 };
            let login = packet::Login {
                capabilities,
                max_packet: 1 << 24,
                collation: 45,
                username: b"app",
                auth_answer: &native::answer(b"secret", &info.nonce),
                schema: None,
                auth_plugin: Some(native::NAME.as_bytes()),
                attributes: None,
                zstd_level: None,
            };
            let query = messages(0, &[b"\x03DO 1"]);
            let request = messages(1, &[&request.encode(capabilities)]);
            let login = messages(2, &[&login.encode(capabilities)]);
            if together {
                client.send_bytes(&[request, login, query].concat()).await;
            } else {
                client.send_bytes(&request).await;
                settle().await;
                client.send_bytes(&[login, query].concat()).await;
            }
            // An alert of TLS (21), no OK.
            assert_eq!(client.read_bytes(1).await, [21]);
            drop(client);
            assert!(servers.settled().await.is_none(), "no session is logged in");
        }
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_silent_tls_handshake_has_the_time_of_a_login() {
    play(async || {
        let mut config = config();
        config.variables.connect_timeout_client = Duration::from_secs(7);
        let (stage, _servers) = stage(config);
        for begin in [&b""[..], b"\x16", b"\x16\x03\x01\x02\x00\x01", b"\x16\x03\x01\x00\x04\x01\x00\x10\x00"]
        {
            let started = Instant::now();
            let mut client = asked(&stage).await;
            client.send_bytes(begin).await;
            client.expect_end().await;
            assert_eq!(started.elapsed().as_secs(), 7, "{begin:?}");
        }
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_user_that_must_use_tls_gets_the_error_for_a_wrong_password_without_it() {
    play(async || {
        let (stage, _servers) = stage(with_tls_user());
        let mut refusals = Vec::new();
        for (name, password) in [("app", "secret"), ("app", "wrong")] {
            let mut client = Client::new(connect(&stage));
            let error = client.log_in(&options_for(name, password)).await.expect_err("refused");
            assert_eq!(error.code, 1045);
            refusals.push(error.to_string());
        }
        assert_eq!(refusals[0], refusals[1]);
        log_in_over_tls(&stage, CAPACITY, &secure("app", "secret")).await;
    });
}

/// The payload of a change to the user `app`.
fn change(nonce: &[u8; 20]) -> Vec<u8> {
    let change = command::ChangeUser {
        username: b"app",
        auth_answer: &native::answer(b"secret", nonce),
        schema: b"",
        collation: Some(45),
        auth_plugin: Some(native::NAME.as_bytes()),
        attributes: None,
    };
    change.encode(CAPABILITIES - Capabilities::CONNECT_ATTRS)
}

#[test]
fn changing_to_a_user_that_must_use_tls_takes_tls() {
    play(async || {
        let (stage, _servers) = stage(with_tls_user());
        let options = |options: Options| options.capabilities(CAPABILITIES - Capabilities::CONNECT_ATTRS);
        let mut client = Client::new(connect(&stage));
        let info = client.log_in(&options(options_for("open", "secret"))).await.unwrap();
        client.send_at(0, &change(&info.nonce)).await;
        client.expect_err(1045).await;

        let end = connect(&stage);
        let options = options(secure("open", "secret"));
        let mut client =
            testkit::client::Client::over_tls(end, &options, believer(None).unwrap()).await.unwrap();
        let other = secure("app", "secret").capabilities(CAPABILITIES - Capabilities::CONNECT_ATTRS);
        client.change_user(&other).await.unwrap();
    });
}

#[test]
fn idle_clients_hear_over_tls_that_the_proxy_ends() {
    play(async || {
        let (stage, _servers) = stage(config());
        let mut client = log_in_over_tls(&stage, CAPACITY, &secure("app", "secret")).await;
        stage.drain();
        settle().await;
        client.packets().expect_seq(1);
        client.expect_err(1053).await;
        // The end of TLS, then of the connection: a client can tell it from one that was cut.
        client.expect_end().await;
    });
}

#[test]
fn a_server_without_tls_is_not_used_when_it_must_speak_it() {
    play(async || {
        let servers = vec![Server { use_ssl: true, ..database("db") }];
        let (stage, mut servers) = stage(Config { servers: servers.into(), ..config() });
        let mut client = log_in(&stage).await;
        client.send_query("DO 1").await;
        let mut server = ScriptedServer::new(servers.dialled().await.1);
        server.greet().await;
        let error = client.expect_err(9002).await;
        assert!(error.message.contains("db:3306: it offers no TLS, but use_ssl = 1"), "{error}");
        server.expect_end().await;
        expect_nothing_left_but(&stage, 1).await;
    });
}

/// This many sessions and no connection to a server.
async fn expect_nothing_left_but(stage: &Stage, sessions: usize) {
    settle().await;
    assert_eq!((stage.sessions(), stage.usage(0).open), (sessions, 0));
}

#[test]
fn a_server_that_offers_tls_and_speaks_none_is_an_error() {
    play(async || {
        let servers = vec![Server { use_ssl: true, ..database("db") }];
        let (stage, mut servers) = stage(Config { servers: servers.into(), ..config() });
        let mut client = log_in(&stage).await;
        // Its answer to the request for TLS; and what it may have sent before, which must not count
        // as an answer.
        for early in [true, false] {
            client.send_query("DO 1").await;
            let mut server = ScriptedServer::new(servers.dialled().await.1);
            let greeting = packet::Greeting {
                server_version: b"8.4.0",
                connection_id: 1,
                nonce: testkit::script::NONCE,
                capabilities: testkit::script::CAPABILITIES | Capabilities::SSL,
                collation: 45,
                status: wire::StatusFlags::AUTOCOMMIT,
                auth_plugin: native::NAME.as_bytes(),
            };
            let ok = messages(2, &[&[0, 0, 0, 2, 0, 0, 0]]);
            if early {
                let greeting = messages(0, &[&greeting.encode(greeting.capabilities)]);
                server.send_bytes(&[greeting, ok].concat()).await;
            } else {
                server.greet_with(&greeting).await;
                assert_eq!(server.read().await.len(), packet::SslRequest::LEN);
                server.send_bytes(&ok).await;
            }
            let error = client.expect_err(9002).await;
            assert!(error.message.contains("TLS: "), "{error}");
        }
        client.send_command(Kind::Quit, b"").await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn both_versions_of_tls_are_spoken() {
    play(async || {
        let (stage, _servers) = stage(config());
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            let config = believer(Some(version)).unwrap();
            let client = ScriptedClient::connect_tls(connect(&stage), &options(), config).await;
            drop(client);
        }
    });
}
