//! Logins to servers: what they see of the client, by every method.

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use config::{Config, TrackGtids, User};
use proxy::stage::Stage;
use testkit::client::CAPABILITIES;
use testkit::script::{CAPABILITIES as SERVER_CAPABILITIES, NONCE, ScriptedServer};
use wire::auth::{caching_sha2, native};
use wire::{Capabilities, StatusFlags, packet};

use super::support::{
    CLASSIC, Client, Database, NATIVE, SHA2, Servers, config, expect_alive, first_query, log_in_as, options,
    options_for, play, stage, user,
};

/// What a server says first.
pub(super) fn greeting(auth_plugin: &str, capabilities: Capabilities) -> packet::Greeting<'_> {
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

/// A client that has asked for something, and the server that the proxy connects to, before its
/// greeting.
pub(super) async fn asked(config: Config, name: &str) -> (Stage, Servers, Client, Database) {
    let (stage, mut servers) = stage(config);
    let mut client = log_in_as(&stage, &options_for(name, "secret")).await;
    client.send_query("SELECT 1").await;
    let server = ScriptedServer::new(servers.dialled().await.1);
    (stage, servers, client, server)
}

/// The login has succeeded: the query comes, and is answered.
pub(super) async fn expect_query(client: &mut Client, server: &mut Database) {
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
        let attributes = b"\x10_pointsman_cache\x012\x04_pid\x0217\x0cprogram_name\x04test";
        assert_eq!(login.attributes.as_deref(), Some(&attributes[..]));
        assert_eq!(login.auth_plugin.as_deref(), Some(native::NAME));
        assert_eq!(login.auth_answer, native::answer(b"secret", &NONCE));
        assert_eq!(login.capabilities, client.capabilities(), "both sides agreed on the same");
        expect_query(&mut client, &mut server).await;
    });
}

/// The proxy asks for `SESSION_TRACK` on its own, which would have the server believe otherwise.
#[test]
fn a_proxy_in_front_that_cannot_be_told_ages_is_announced_as_such() {
    play(async || {
        let mut config = config();
        config.variables.default_session_track_gtids = TrackGtids::OwnGtid;
        let (stage, mut servers) = stage(config);
        let capabilities = CAPABILITIES - Capabilities::SESSION_TRACK;
        let options = options().capabilities(capabilities).attributes(&[("_pointsman_cache", "2")]);
        let mut client = log_in_as(&stage, &options).await;
        client.send_query("SELECT 1").await;
        let (_server, login) = ScriptedServer::accept(servers.dialled().await.1).await;
        assert!(login.capabilities.contains(Capabilities::SESSION_TRACK | Capabilities::DEPRECATE_EOF));
        let attributes = b"\x10_pointsman_cache\x010\x10_pointsman_cache\x012";
        assert_eq!(login.attributes.as_deref(), Some(&attributes[..]));
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
    let mut config = Config { users: vec![user("without", "secret"), with_schema].into(), ..config() };
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
        let config = Config { users: vec![user("empty", "")].into(), ..config() };
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
        let config = Config { users: vec![user("app", NATIVE)].into(), ..config() };
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
        let (stage, mut servers) = stage(Config { users: vec![user("app", SHA2)].into(), ..config() });
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
