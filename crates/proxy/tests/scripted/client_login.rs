//! Logins of clients: every credential with every method, and how many clients there may be.

use config::{AuthPlugin, Config, User};
use proxy::stage::Stage;
use testkit::client::{CAPABILITIES, ServerInfo};
use testkit::script::ScriptedServer;
use wire::auth::{caching_sha2, native};
use wire::{Capabilities, Codec as _, packet};

use super::support::{
    CLASSIC, Client, NATIVE, SHA2, config, connect, expect_nothing_left, first_query, log_in, log_in_as,
    messages, options, options_for, play, settle, stage, user,
};

/// The methods that clients begin with.
pub(super) const PLUGINS: [&str; 2] = [native::NAME, caching_sha2::NAME];

/// One user for each way to write the password `secret`, and one without a password.
pub(super) fn users() -> Vec<User> {
    vec![user("clear", "secret"), user("native", NATIVE), user("sha2", SHA2), user("empty", "")]
}

pub(super) fn config_of(users: Vec<User>) -> Config {
    Config { users: users.into(), ..config() }
}

/// A login packet with everything in it.
pub(super) fn login_payload(info: &ServerInfo, name: &str, answer: &[u8]) -> Vec<u8> {
    packet::Login {
        capabilities: CAPABILITIES & info.capabilities,
        max_packet: 1 << 24,
        collation: 45,
        username: name.as_bytes(),
        auth_answer: answer,
        schema: Some(b"shop"),
        auth_plugin: Some(native::NAME.as_bytes()),
        attributes: Some(b"\x01a\x01b"),
        zstd_level: None,
    }
    .encode(info.capabilities)
}

/// Greets a new client.
pub(super) async fn greeted(stage: &Stage) -> (Client, ServerInfo) {
    let mut client = Client::new(connect(stage));
    let info = client.read_greeting().await.expect("a greeting");
    (client, info)
}

#[test]
fn every_password_is_checked_by_every_method() {
    for default in [AuthPlugin::MysqlNativePassword, AuthPlugin::CachingSha2Password] {
        play(async || {
            let mut config = config_of(users());
            config.variables.default_authentication_plugin = default;
            let (stage, _servers) = stage(config);
            for plugin in PLUGINS {
                for name in ["clear", "native", "sha2"] {
                    log_in_as(&stage, &options_for(name, "secret").auth_plugin(plugin)).await;
                    for wrong in ["wrong", ""] {
                        let options = options_for(name, wrong).auth_plugin(plugin);
                        let mut client = Client::new(connect(&stage));
                        let error = client.log_in(&options).await.expect_err("a wrong password");
                        assert_eq!(error.code, 1045, "{name} by {plugin} with {wrong:?}");
                        client.expect_end().await;
                    }
                }
                log_in_as(&stage, &options_for("empty", "").auth_plugin(plugin)).await;
                let mut client = Client::new(connect(&stage));
                let options = options_for("empty", "secret").auth_plugin(plugin);
                assert_eq!(client.log_in(&options).await.expect_err("no password").code, 1045);
            }
            expect_nothing_left(&stage).await;
        });
    }
}

#[test]
fn a_stored_hash_is_checked_fast_once_the_password_was_seen() {
    play(async || {
        let (stage, _servers) = stage(config_of(users()));
        let options = options_for("sha2", "secret").auth_plugin(caching_sha2::NAME);
        log_in_as(&stage, &options).await;
        let (mut client, info) = greeted(&stage).await;
        client.send_login(&info, &options, &caching_sha2::answer(b"secret", &info.nonce)).await;
        client.expect(&[1, 3]).await;
        client.expect_ok().await;
        // A wrong password is not refused by what was learned: it may have been changed. It is
        // asked for.
        let (mut client, info) = greeted(&stage).await;
        client.send_login(&info, &options, &caching_sha2::answer(b"wrong", &info.nonce)).await;
        client.expect(&[1, 4]).await;
    });
}

#[test]
fn the_greeting_offers_what_the_proxy_can_do() {
    play(async || {
        let mut config = config();
        config.variables.server_version = "8.4.0-test".to_owned();
        config.variables.default_authentication_plugin = AuthPlugin::CachingSha2Password;
        let (stage, _servers) = stage(config);
        let (_first, info) = greeted(&stage).await;
        assert_eq!((info.version.as_str(), info.auth_plugin.as_str()), ("8.4.0-test", caching_sha2::NAME));
        let compression = Capabilities::COMPRESS | Capabilities::ZSTD_COMPRESSION;
        assert!(info.capabilities.contains(CAPABILITIES | compression));
        assert!(!info.capabilities.contains(Capabilities::QUERY_ATTRIBUTES));
        assert!(info.nonce.iter().all(|byte| (1..=127).contains(byte)));
        let (_second, other) = greeted(&stage).await;
        assert_ne!(other.nonce, info.nonce);
        assert_ne!(other.connection_id, info.connection_id);
    });
}

#[test]
fn users_that_are_off_or_for_servers_only_are_unknown() {
    play(async || {
        let off = User { active: false, ..user("off", "secret") };
        let backend = User { frontend: false, ..user("backend", "secret") };
        let (stage, _servers) = stage(config_of(vec![off, backend, user("app", "secret")]));
        for name in ["off", "backend", "nobody", ""] {
            let mut client = Client::new(connect(&stage));
            let error = client.log_in(&options_for(name, "secret")).await.expect_err("refused");
            assert_eq!(error.code, 1045, "{name}");
        }
    });
}

#[test]
fn a_user_has_no_more_clients_than_it_may_have() {
    play(async || {
        let (stage, _servers) =
            stage(config_of(vec![User { max_connections: 2, ..user("app", "secret") }, user("b", "secret")]));
        let first = log_in(&stage).await;
        let _second = log_in(&stage).await;
        let mut third = Client::new(connect(&stage));
        let error = third.log_in(&options()).await.expect_err("one too many");
        assert_eq!((error.code, error.sql_state.as_str()), (1226, "42000"));
        assert!(error.message.contains("'app'") && error.message.contains('2'), "{error}");
        third.expect_end().await;
        log_in_as(&stage, &options_for("b", "secret")).await;
        drop(first);
        settle().await;
        log_in(&stage).await;
    });
}

#[test]
fn a_failed_login_takes_no_place_of_its_user() {
    play(async || {
        let (stage, _servers) = stage(config_of(vec![User { max_connections: 1, ..user("app", "secret") }]));
        for _ in 0..3 {
            let mut client = Client::new(connect(&stage));
            assert_eq!(client.log_in(&options_for("app", "wrong")).await.unwrap_err().code, 1045);
        }
        log_in(&stage).await;
    });
}

#[test]
fn there_are_no_more_clients_than_there_may_be() {
    play(async || {
        let mut config = config();
        config.variables.max_connections = 2;
        let (stage, _servers) = stage(config);
        let (first, _second) = (connect(&stage), log_in(&stage).await);
        assert!(stage.client(100).is_none(), "also those that have not logged in count");
        drop(first);
        settle().await;
        assert!(stage.client(100).is_some());
    });
}

#[test]
fn old_clients_log_in() {
    play(async || {
        let (stage, mut servers) = stage(config_of(users()));
        let old = CLASSIC - Capabilities::PLUGIN_AUTH_LENENC - Capabilities::CONNECT_ATTRS;
        for capabilities in [old, old - Capabilities::PLUGIN_AUTH] {
            for name in ["clear", "native"] {
                let mut client =
                    log_in_as(&stage, &options_for(name, "secret").capabilities(capabilities)).await;
                first_query(&mut client, &mut servers).await;
            }
            // Who cannot name methods cannot switch to one that a stored hash needs.
            if !capabilities.contains(Capabilities::PLUGIN_AUTH) {
                let mut client = Client::new(connect(&stage));
                let options = options_for("sha2", "secret").capabilities(capabilities);
                assert_eq!(client.log_in(&options).await.unwrap_err().code, 1045);
            }
        }
    });
}

#[test]
fn a_login_may_come_byte_by_byte() {
    play(async || {
        let (stage, _servers) = stage(config());
        let (mut client, info) = greeted(&stage).await;
        let login = login_payload(&info, "app", &native::answer(b"secret", &info.nonce));
        for byte in messages(1, &[&login]) {
            client.send_bytes(&[byte]).await;
            settle().await;
        }
        client.packets().expect_seq(2);
        client.expect_ok().await;
    });
}

#[test]
fn results_end_with_eof_where_either_side_is_to_have_it_so() {
    for (client, server, offered) in [(true, true, true), (false, true, false), (true, false, false)] {
        play(async || {
            let mut config = config();
            config.variables.enable_client_deprecate_eof = client;
            config.variables.enable_server_deprecate_eof = server;
            let (stage, mut servers) = stage(config);
            let mut one = Client::new(connect(&stage));
            let greeting = one.log_in(&options()).await.unwrap();
            assert_eq!(greeting.capabilities.contains(Capabilities::DEPRECATE_EOF), offered);
            one.send_query("SELECT 1").await;
            let (mut server, seen) = ScriptedServer::accept(servers.dialled().await.1).await;
            assert_eq!(seen.capabilities.contains(Capabilities::DEPRECATE_EOF), offered);
            server.expect_query("SELECT 1").await;
            server.rows(&["1"], &[&[Some("1")]]).await;
            one.expect_rows(&[&[Some("1")]]).await;
        });
    }
}
