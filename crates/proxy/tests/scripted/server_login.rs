//! Logins to servers: what they see of the client, every method, and every way to refuse.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use config::{Config, User};
use proxy::stage::Stage;
use testkit::client::CAPABILITIES;
use testkit::script::{CAPABILITIES as SERVER_CAPABILITIES, NONCE, ScriptedServer};
use wire::auth::{caching_sha2, native};
use wire::{Capabilities, StatusFlags, packet};

use super::support::{
    CLASSIC, Client, Database, Servers, config, expect_alive, expect_nothing_left, first_query, log_in,
    log_in_as, options, options_for, play, stage, user,
};

/// SHA1(SHA1("secret")) in hexadecimal digits.
const NATIVE: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";

/// `secret` as `caching_sha2_password` stores it.
const SHA2: &str = "$A$005$012345678901234567895fkz3MBocEd.OaaR71/j.w9RXSrKttgCSpI2fGX1100";

/// What a server says first.
fn greeting(auth_plugin: &str, capabilities: Capabilities) -> packet::Greeting<'_> {
    packet::Greeting {
        server_version: b"8.4.0",
        connection_id: 7,
        nonce: NONCE,
        capabilities,
        collation: 45,
        status: StatusFlags::AUTOCOMMIT,
        auth_plugin: auth_plugin.as_bytes(),
    }
}

/// A client that has asked for something, and the server that the proxy connects to, before its greeting.
async fn asked(config: Config, name: &str) -> (Stage, Servers, Client, Database) {
    let (stage, mut servers) = stage(config);
    let mut client = log_in_as(&stage, &options_for(name, "secret")).await;
    client.send_query("SELECT 1").await;
    let server = ScriptedServer::new(servers.dialled().await.1);
    (stage, servers, client, server)
}

/// The login has succeeded: the query comes, and is answered.
async fn expect_query(client: &mut Client, server: &mut Database) {
    server.expect_query("SELECT 1").await;
    server.ok_with(1, 0).await;
    assert_eq!(client.expect_ok().await.affected_rows, 1);
    expect_alive(client, server).await;
}

#[test]
fn the_server_sees_the_client() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let options =
            options().schema("shop").collation(33).attributes(&[("_pid", "17"), ("program_name", "test")]);
        let mut client = log_in_as(&stage, &options).await;
        client.send_query("SELECT 1").await;
        let (mut server, login) = ScriptedServer::accept(servers.dialled().await.1).await;
        assert_eq!(login.username, "app");
        assert_eq!(login.schema.as_deref(), Some("shop"));
        assert_eq!(login.collation, 33);
        assert_eq!(login.max_packet, 1 << 30);
        assert_eq!(login.attributes.as_deref(), Some(&b"\x04_pid\x0217\x0cprogram_name\x04test"[..]));
        assert_eq!(login.auth_plugin.as_deref(), Some(native::NAME));
        assert_eq!(login.auth_answer, native::answer(b"secret", &NONCE));
        assert_eq!(login.capabilities, client.capabilities(), "both sides agreed on the same");
        expect_query(&mut client, &mut server).await;
    });
}

#[test]
fn c32_the_server_sees_what_the_client_can_do_and_no_more() {
    let fewer = [Capabilities::MULTI_STATEMENTS, Capabilities::SESSION_TRACK, Capabilities::LOCAL_FILES];
    for missing in fewer {
        play(async || {
            let (stage, mut servers) = stage(config());
            let more = Capabilities::FOUND_ROWS | Capabilities::INTERACTIVE | Capabilities::IGNORE_SPACE;
            let mut client =
                log_in_as(&stage, &options().capabilities((CAPABILITIES - missing) | more)).await;
            client.send_query("SELECT 1").await;
            let (_server, login) = ScriptedServer::accept(servers.dialled().await.1).await;
            assert!(!login.capabilities.intersects(missing), "{missing:?}");
            assert!(login.capabilities.contains(more));
        });
    }
}

#[test]
fn c07_the_first_schema_is_the_client_s_then_the_user_s_then_the_default() {
    let with_schema = User { default_schema: Some("users".to_owned()), ..user("with", "secret") };
    let mut config = Config { users: vec![user("without", "secret"), with_schema], ..config() };
    config.variables.default_schema = "fallback".to_owned();
    let cases = [
        ("with", Some("own"), "own"),
        ("with", Some(""), "users"),
        ("with", None, "users"),
        ("without", None, "fallback"),
    ];
    for (name, named, expected) in cases {
        play(async || {
            let (stage, mut servers) = stage(config.clone());
            let mut options = options_for(name, "secret");
            if let Some(schema) = named {
                options = options.schema(schema);
            }
            let mut client = log_in_as(&stage, &options).await;
            client.send_query("SELECT 1").await;
            let (_, login) = ScriptedServer::accept(servers.dialled().await.1).await;
            assert_eq!(login.schema.as_deref(), Some(expected), "{name} with {named:?}");
        });
    }
}

#[test]
fn a_user_without_a_password_sends_none() {
    play(async || {
        let config = Config { users: vec![user("empty", "")], ..config() };
        let (stage, mut servers) = stage(config);
        let mut client = log_in_as(&stage, &options_for("empty", "")).await;
        client.send_query("SELECT 1").await;
        let (mut server, login) = ScriptedServer::accept(servers.dialled().await.1).await;
        assert_eq!(login.auth_answer, b"");
        expect_query(&mut client, &mut server).await;
    });
}

#[test]
fn a_hash_is_enough_for_a_server_of_the_same_method() {
    play(async || {
        let config = Config { users: vec![user("app", NATIVE)], ..config() };
        let (_stage, _servers, mut client, mut server) = asked(config, "app").await;
        server.greet().await;
        assert_eq!(server.read_login().await.auth_answer, native::answer(b"secret", &NONCE));
        server.ok().await;
        expect_query(&mut client, &mut server).await;
    });
}

#[test]
fn a_password_shown_once_serves_later_logins_too() {
    play(async || {
        let (stage, mut servers) = stage(Config { users: vec![user("app", SHA2)], ..config() });
        // The first login shows the password, the second only a proof.
        for _ in 0..2 {
            let options = options().auth_plugin(caching_sha2::NAME);
            let mut client = log_in_as(&stage, &options).await;
            first_query(&mut client, &mut servers).await;
        }
    });
}

#[test]
fn a_server_may_ask_for_another_method() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = asked(config(), "app").await;
        server.greet_with(&greeting(caching_sha2::NAME, SERVER_CAPABILITIES)).await;
        assert_eq!(server.read_login().await.auth_answer, caching_sha2::answer(b"secret", &NONCE));
        let nonce = *b"another nonce of 20!";
        server.send_packet(&packet::AuthSwitch { plugin: native::NAME.as_bytes(), data: &nonce }).await;
        server.expect(&native::answer(b"secret", &nonce)).await;
        server.ok().await;
        expect_query(&mut client, &mut server).await;
    });
}

#[test]
fn caching_sha2_with_a_server_that_knows_the_password() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = asked(config(), "app").await;
        server.greet_with(&greeting(caching_sha2::NAME, SERVER_CAPABILITIES)).await;
        server.read_login().await;
        server.send(&[1, 3]).await;
        server.ok().await;
        expect_query(&mut client, &mut server).await;
    });
}

#[test]
fn caching_sha2_with_a_server_that_wants_the_password() {
    let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
    let der = AsDer::<PublicKeyX509Der<'_>>::as_der(&key.public_key()).unwrap();
    let body = BASE64_STANDARD.encode(der.as_ref());
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
    let key = OaepPrivateDecryptingKey::new(key).unwrap();
    play(async || {
        let (_stage, _servers, mut client, mut server) = asked(config(), "app").await;
        server.greet_with(&greeting(caching_sha2::NAME, SERVER_CAPABILITIES)).await;
        server.read_login().await;
        server.send(&[1, 4]).await;
        server.expect(&[2]).await;
        server.send(&[b"\x01", pem.as_bytes()].concat()).await;
        let cipher = server.read().await;
        let mut plain = vec![0; key.min_output_size()];
        let masked = key.decrypt(&OAEP_SHA1_MGF1SHA1, &cipher, &mut plain, None).unwrap();
        assert_eq!(masked, caching_sha2::mask(b"secret", &NONCE));
        server.ok().await;
        expect_query(&mut client, &mut server).await;
    });
}

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
        server.send_packet(&packet::AuthSwitch { plugin: b"client_ed25519", data: &[7; 32] }).await;
        expect_no_login(&mut client, &mut server, &["client_ed25519"]).await;
        assert_eq!(stage.usage(0).open, 0);
        first_query(&mut client, &mut servers).await;
    });
}

#[test]
fn a_method_for_which_the_password_is_missing_is_named() {
    play(async || {
        let config = Config { users: vec![user("app", NATIVE)], ..config() };
        let (_stage, _servers, mut client, mut server) = asked(config, "app").await;
        server.greet_with(&greeting(caching_sha2::NAME, SERVER_CAPABILITIES)).await;
        server.read_login().await;
        server.send_packet(&packet::AuthSwitch { plugin: caching_sha2::NAME.as_bytes(), data: &NONCE }).await;
        expect_no_login(&mut client, &mut server, &["caching_sha2_password", "SHA-1"]).await;
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
fn c32_a_classic_client_and_a_classic_server_go_together() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in_as(&stage, &options().capabilities(CLASSIC)).await;
        client.send_query("SELECT 1").await;
        let mut server = ScriptedServer::new(servers.dialled().await.1);
        server.greet_with(&greeting(native::NAME, SERVER_CAPABILITIES - Capabilities::DEPRECATE_EOF)).await;
        server.read_login().await;
        server.ok().await;
        expect_query(&mut client, &mut server).await;
    });
}

#[test]
fn a_server_without_attributes_gets_none() {
    play(async || {
        let (_stage, _servers, mut client, mut server) = asked(config(), "app").await;
        server.greet_with(&greeting(native::NAME, SERVER_CAPABILITIES - Capabilities::CONNECT_ATTRS)).await;
        assert_eq!(server.read_login().await.attributes, None);
        server.ok().await;
        expect_query(&mut client, &mut server).await;
    });
}

#[test]
fn a_server_that_refuses_to_greet_is_heard() {
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
fn a_server_that_refuses_the_login_is_heard() {
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
        let (stage, mut servers) = stage(Config { servers: vec![], ..config() });
        let mut client = log_in(&stage).await;
        client.send_query("SELECT 1").await;
        client.expect_err(9001).await;
        assert!(servers.settled().await.is_none());
    });
}
