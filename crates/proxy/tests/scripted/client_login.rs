//! Logins of clients: every credential with every method, refusals that tell nothing, and the deadline.

use std::time::Duration;

use config::{AuthPlugin, Config, User};
use proptest::collection::vec;
use proptest::prelude::*;
use proxy::stage::Stage;
use testkit::client::{CAPABILITIES, ServerInfo};
use tokio::time::Instant;
use wire::auth::{caching_sha2, native};
use wire::{Capabilities, Codec as _, packet};

use super::support::{
    CLASSIC, Client, config, connect, expect_nothing_left, first_query, log_in, log_in_as, messages, options,
    options_for, play, play_all, settle, stage, user,
};

/// SHA1(SHA1("secret")) in hexadecimal digits, as `mysql_native_password` stores it.
const NATIVE: &str = "*14E65567ABDB5135D0CFD9A70B3032C179A49EE7";

/// `secret` as `caching_sha2_password` stores it.
const SHA2: &str = "$A$005$012345678901234567895fkz3MBocEd.OaaR71/j.w9RXSrKttgCSpI2fGX1100";

/// The methods that clients begin with.
const PLUGINS: [&str; 2] = [native::NAME, caching_sha2::NAME];

/// One user for each way to write the password `secret`, and one without a password.
fn users() -> Vec<User> {
    vec![user("clear", "secret"), user("native", NATIVE), user("sha2", SHA2), user("empty", "")]
}

fn config_of(users: Vec<User>) -> Config {
    Config { users, ..config() }
}

/// Greets a new client.
async fn greeted(stage: &Stage) -> (Client, ServerInfo) {
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
        // A wrong password is not refused by what was learned: it may have been changed. It is asked for.
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
        assert!(info.capabilities.contains(CAPABILITIES));
        let none = Capabilities::SSL | Capabilities::COMPRESS | Capabilities::ZSTD_COMPRESSION;
        assert!(!info.capabilities.intersects(none | Capabilities::QUERY_ATTRIBUTES));
        assert!(info.nonce.iter().all(|byte| (1..=127).contains(byte)));
        let (_second, other) = greeted(&stage).await;
        assert_ne!(other.nonce, info.nonce);
        assert_ne!(other.connection_id, info.connection_id);
    });
}

#[test]
fn a_refusal_names_user_host_and_whether_there_was_a_password() {
    play(async || {
        let (stage, _servers) = stage(config());
        for (password, using) in [("wrong", "YES"), ("", "NO")] {
            for plugin in PLUGINS {
                let mut client = Client::new(connect(&stage));
                let options = options_for("app", password).auth_plugin(plugin);
                let error = client.log_in(&options).await.expect_err("a wrong password");
                let expected = format!(
                    "1045 (28000): Access denied for user 'app'@'localhost' (using password: {using})"
                );
                assert_eq!(error.to_string(), expected, "{plugin}");
            }
        }
    });
}

/// All that a client with a wrong password hears, with what differs from login to login left out.
async fn refusal(stage: &Stage, name: &str, plugin: &str, answer_len: usize) -> Vec<String> {
    let (mut client, info) = greeted(stage).await;
    client.send_login(&info, &options_for(name, "?").auth_plugin(plugin), &vec![7; answer_len]).await;
    let mut heard = Vec::new();
    loop {
        let message = client.read().await;
        match message[..] {
            [0xff, ..] => {
                heard.push(String::from_utf8_lossy(&message).replace(name, "NAME"));
                client.expect_end().await;
                return heard;
            }
            [0xfe, ..] => {
                let switch = packet::AuthSwitch::decode(&message, CAPABILITIES).expect("a switch");
                heard.push(format!("switch to {}", String::from_utf8_lossy(switch.plugin)));
                client.send(&vec![7; if switch.plugin == native::NAME.as_bytes() { 20 } else { 32 }]).await;
            }
            [1, 4] => {
                heard.push("full exchange".to_owned());
                client.send(&[2]).await;
            }
            [1, b'-', ..] => {
                heard.push("key".to_owned());
                client.send(&[7; 256]).await;
            }
            _ => panic!("heard {}", message.escape_ascii()),
        }
    }
}

#[test]
fn an_unknown_user_hears_what_a_known_one_with_a_wrong_password_hears() {
    for known in [user("known", "secret"), user("known", NATIVE), user("known", SHA2)] {
        play(async || {
            let (stage, _servers) = stage(config_of(vec![known.clone()]));
            for (plugin, len) in
                [(native::NAME, 20), (caching_sha2::NAME, 32), ("strange", 5), (native::NAME, 0)]
            {
                let heard = refusal(&stage, "known", plugin, len).await;
                for name in ["nobody", "somebody", "known2", "Known"] {
                    assert_eq!(refusal(&stage, name, plugin, len).await, heard, "{name} by {plugin}");
                }
            }
        });
    }
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

/// A login packet with everything in it.
fn login_payload(info: &ServerInfo, name: &str, answer: &[u8]) -> Vec<u8> {
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

#[test]
fn c27_truncated_login_is_refused() {
    play(async || {
        let (stage, _servers) = stage(config());
        let (_, info) = greeted(&stage).await;
        let len = login_payload(&info, "app", &[7; 20]).len();
        for len in 0..len {
            let (mut client, info) = greeted(&stage).await;
            let login = login_payload(&info, "app", &native::answer(b"secret", &info.nonce));
            client.send_at(1, &login[..len]).await;
            client.expect_err(1043).await;
            client.expect_end().await;
        }
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn c27_garbage_for_a_login_costs_one_session() {
    let garbage = prop_oneof![
        vec(any::<u8>(), 0..200),
        vec(any::<u8>(), 0..200).prop_map(|payload| messages(1, &[&payload])),
        // Behind the fixed fields of a plausible login.
        vec(any::<u8>(), 0..200).prop_map(|rest| {
            let capabilities = u32::try_from(CAPABILITIES.bits()).expect("32 bits");
            let head = [&capabilities.to_le_bytes()[..], &[0, 0, 0, 1, 45], &[0; 23]].concat();
            messages(1, &[&[head, rest].concat()])
        }),
    ];
    play_all(config(), garbage, async |stage, _, garbage| {
        let (mut client, _) = greeted(stage).await;
        client.send_bytes(&garbage).await;
        settle().await;
        client.shut_down().await;
        client.expect_gone().await;
        drop(client);
        expect_nothing_left(stage).await;
    });
}

#[test]
fn a_login_with_a_wrong_sequence_id_is_refused() {
    play(async || {
        let (stage, _servers) = stage(config());
        let (mut client, info) = greeted(&stage).await;
        let login = login_payload(&info, "app", &native::answer(b"secret", &info.nonce));
        client.send_at(0, &login).await;
        client.packets().expect_seq(1);
        client.expect_err(1043).await;
        client.expect_end().await;
    });
}

#[test]
fn a_request_for_tls_that_was_not_offered_is_refused() {
    play(async || {
        let (stage, _servers) = stage(config());
        let (mut client, _) = greeted(&stage).await;
        let capabilities = CAPABILITIES | Capabilities::SSL;
        let request = packet::SslRequest { capabilities, max_packet: 1 << 24, collation: 45 };
        client.send(&request.encode(capabilities)).await;
        client.expect_err(1043).await;
        client.expect_end().await;
    });
}

#[test]
fn a_login_that_is_too_long_is_refused() {
    play(async || {
        let (stage, _servers) = stage(config());
        let (mut client, _) = greeted(&stage).await;
        // Only its header comes: the length is enough.
        client.send_bytes(&[0, 0, 0x10, 1]).await;
        client.packets().expect_seq(1);
        client.expect_err(1043).await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_client_that_leaves_during_its_login_leaves_nothing() {
    play(async || {
        let (stage, _servers) = stage(config());
        for len in [0, 2, 20] {
            let (mut client, info) = greeted(&stage).await;
            let login = messages(1, &[&login_payload(&info, "app", &[7; 20])]);
            client.send_bytes(&login[..len]).await;
            settle().await;
            assert_eq!(stage.sessions(), 1);
            drop(client);
            expect_nothing_left(&stage).await;
        }
    });
}

/// A client that stops after `part` of its login is sent away when its time is over, to the millisecond.
async fn expect_deadline(part: impl AsyncFnOnce(&mut Client, &ServerInfo)) {
    let mut config = config_of(users());
    config.variables.connect_timeout_client = Duration::from_millis(7_500);
    let (stage, _servers) = stage(config);
    let start = Instant::now();
    let (mut client, info) = greeted(&stage).await;
    part(&mut client, &info).await;
    client.expect_end().await;
    assert_eq!(start.elapsed(), Duration::from_millis(7_500));
    expect_nothing_left(&stage).await;
}

#[test]
fn c24_a_login_has_a_deadline() {
    play(async || expect_deadline(async |_, _| {}).await);
}

#[test]
fn c24_a_login_in_pieces_has_the_same_deadline() {
    play(async || {
        expect_deadline(async |client, info| {
            for byte in &messages(1, &[&login_payload(info, "app", &[7; 20])])[..7] {
                client.send_bytes(&[*byte]).await;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        })
        .await;
    });
}

#[test]
fn c24_a_login_that_stops_at_a_question_has_the_same_deadline() {
    play(async || {
        expect_deadline(async |client, info| {
            let options = options_for("sha2", "secret").auth_plugin(caching_sha2::NAME);
            client.send_login(info, &options, &caching_sha2::answer(b"secret", &info.nonce)).await;
            client.expect(&[1, 4]).await;
            client.send(&[2]).await;
            assert_eq!(client.read().await[..12], *b"\x01-----BEGIN ");
        })
        .await;
    });
}
