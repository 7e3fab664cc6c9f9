//! Logins that fail: what the client hears, what it does not, and for how long it may try.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use proxy::stage::Stage;
use testkit::client::{CAPABILITIES, ServerInfo};
use tokio::time::Instant;
use wire::auth::{caching_sha2, native};
use wire::{Capabilities, Codec as _, packet};

use super::client_login::{PLUGINS, config_of, greeted, login_payload, users};
use super::support::{
    Client, NATIVE, SHA2, config, connect, expect_nothing_left, messages, options_for, play, play_all,
    settle, stage, user,
};

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

/// Messages that a client with a wrong password gets, without what differs from login to login.
async fn refusal(stage: &Stage, name: &str, plugin: &str, answer_len: usize) -> Vec<String> {
    let (mut client, info) = greeted(stage).await;
    client.send_login(&info, &options_for(name, "?").auth_plugin(plugin), &vec![7; answer_len]).await;
    let mut messages = Vec::new();
    loop {
        let message = client.read().await;
        match message[..] {
            [0xff, ..] => {
                messages.push(String::from_utf8_lossy(&message).replace(name, "NAME"));
                client.expect_end().await;
                return messages;
            }
            [0xfe, ..] => {
                let switch = packet::AuthSwitch::decode(&message, CAPABILITIES).expect("a switch");
                messages.push(format!("switch to {}", String::from_utf8_lossy(switch.plugin)));
                client.send(&vec![7; if switch.plugin == native::NAME.as_bytes() { 20 } else { 32 }]).await;
            }
            [1, 4] => {
                messages.push("full exchange".to_owned());
                client.send(&[2]).await;
            }
            [1, b'-', ..] => {
                messages.push("key".to_owned());
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
                let messages = refusal(&stage, "known", plugin, len).await;
                for name in ["nobody", "somebody", "known2", "Known"] {
                    assert_eq!(refusal(&stage, name, plugin, len).await, messages, "{name} by {plugin}");
                }
            }
        });
    }
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
        let mut config = config();
        config.variables.have_ssl = false;
        let (stage, _servers) = stage(config);
        let (mut client, info) = greeted(&stage).await;
        assert!(!info.capabilities.contains(Capabilities::SSL));
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
        // The proxy reads on for a while: closing while the client sends would lose the error.
        drop(client);
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

/// A client that stops after `part` of its login is sent away when its time is over, to the
/// millisecond.
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
