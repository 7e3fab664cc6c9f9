//! `COM_CHANGE_USER`: a client logs in anew, and nothing is left of who it was.

use std::time::Duration;

use config::{CheckLogins, Config, Server};
use testkit::client::Options;
use tokio::time::Instant;
use wire::auth::native;
use wire::codec::put_nul_bytes;
use wire::command::{self, Kind};
use wire::{Codec as _, StatusFlags, packet};

use super::support::{
    Client, Database, Servers, config, database, expect_alive, expect_nothing_left, first_query, log_in,
    messages, options, options_for, play, settle, stage, user,
};

/// `app` and `other`, whose password is `word` and whose servers are those of hostgroup 1.
fn two_users() -> Config {
    let other = config::User { default_hostgroup: 1, ..user("other", "word") };
    let servers = vec![database("db"), Server { hostgroup_id: 1, ..database("elsewhere") }];
    Config { users: vec![user("app", "secret"), other].into(), servers: servers.into(), ..config() }
}

/// The payload of a change to a user of `mysql_native_password`.
pub(super) fn change(nonce: &[u8; 20], user: &str, password: &str, schema: &str) -> Vec<u8> {
    let mut payload = vec![Kind::ChangeUser as u8];
    put_nul_bytes(&mut payload, user.as_bytes());
    let answer = if password.is_empty() { Vec::new() } else { native::answer(password.as_bytes(), nonce) };
    payload.push(u8::try_from(answer.len()).unwrap());
    payload.extend_from_slice(&answer);
    put_nul_bytes(&mut payload, schema.as_bytes());
    payload.extend_from_slice(&[33, 0]);
    put_nul_bytes(&mut payload, native::NAME.as_bytes());
    payload.extend_from_slice(b"\x05\x01a\x02bc");
    payload
}

/// A client whose greeting's nonce is known.
pub(super) async fn client(stage: &proxy::stage::Stage, options: &Options) -> (Client, [u8; 20]) {
    let mut client = Client::new(super::support::connect(stage));
    let info = client.log_in(options).await.unwrap();
    (client, info.nonce)
}

#[test]
fn the_new_user_gets_a_connection_of_its_own() {
    play(async || {
        let (stage, mut servers) = stage(two_users());
        let (mut client, nonce) = client(&stage, &options()).await;
        let mut old = first_query(&mut client, &mut servers).await;
        client.send_at(0, &change(&nonce, "other", "word", "shop")).await;
        old.expect_command(Kind::ResetConnection, b"").await;
        settle().await;
        assert_eq!(stage.usage(0).open, 1, "the server may still have locks to let go of");
        old.ok().await;
        client.expect_ok().await;
        old.expect_command(Kind::Quit, b"").await;
        old.expect_end().await;
        assert_eq!(stage.usage(0).open, 0);
        client.send_query("SELECT 1").await;
        let (server, end) = servers.dialled().await;
        assert_eq!(server, "elsewhere:3306");
        let (mut new, login) = testkit::script::ScriptedServer::accept(end).await;
        assert_eq!((login.username.as_str(), login.schema.as_deref()), ("other", Some("shop")));
        let attributes = &b"\x10_pointsman_cache\x012\x01a\x02bc"[..];
        assert_eq!((login.collation, login.attributes.as_deref()), (33, Some(attributes)));
        assert_eq!(login.auth_answer, native::answer(b"word", &testkit::script::NONCE));
        new.expect_query("SELECT 1").await;
        new.ok().await;
        client.expect_ok().await;
        expect_alive(&mut client, &mut new).await;
    });
}

#[test]
fn c03_a_connection_id_is_the_new_users() {
    play(async || {
        let (stage, mut servers) = stage(two_users());
        let mut client = Client::new(super::support::connect(&stage));
        let info = client.log_in(&options()).await.unwrap();
        client.send_at(0, &change(&info.nonce, "other", "word", "shop")).await;
        client.expect_ok().await;
        let kill = format!("KILL {}", info.connection_id);
        let mut old = log_in(&stage).await;
        old.send_query(&kill).await;
        let (_stands_in, login) = Database::accept(servers.dialled().await.1).await;
        assert_eq!(login.username, "other");
        let (mut side, login) = Database::accept(servers.dialled().await.1).await;
        assert_eq!(login.username, "app");
        side.expect_query("KILL CONNECTION 7").await;
        side.err(1095, "HY000", "You are not owner of thread 7").await;
        old.expect_err(1095).await;
        let mut new = super::support::log_in_as(&stage, &options_for("other", "word")).await;
        new.send_query(&kill).await;
        new.expect_ok().await;
        super::kill::expect_killed(&mut client).await;
    });
}

#[test]
fn c06_a_collation_that_no_login_has_room_for_reaches_the_server() {
    play(async || {
        let (stage, mut servers) = stage(two_users());
        let (mut client, nonce) = client(&stage, &options()).await;
        let mut payload = change(&nonce, "app", "secret", "shop");
        let at = payload.windows(3).position(|bytes| bytes == [0, 33, 0]).unwrap() + 1;
        payload[at..at + 2].copy_from_slice(&2304_u16.to_le_bytes());
        client.send_at(0, &payload).await;
        client.expect_ok().await;
        client.send_query("SELECT 1").await;
        let (mut server, login) = Database::accept(servers.dialled().await.1).await;
        assert_eq!(login.collation, 45);
        // The server's own nonce is another one: the proof is not the client's.
        let answer = native::answer(b"secret", &testkit::script::NONCE);
        let command = server.read_command().await;
        let change = command::ChangeUser::decode(&command, testkit::client::CAPABILITIES).unwrap();
        assert_eq!((change.username, change.auth_answer), (&b"app"[..], &answer[..]));
        assert_eq!((change.schema, change.collation), (&b"shop"[..], Some(2304)));
        assert_eq!(change.attributes, Some(&b"\x10_pointsman_cache\x012\x01a\x02bc"[..]));
        server.ok().await;
        server.expect_query("SELECT 1").await;
        server.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn c04_a_change_to_the_same_user_starts_over() {
    play(async || {
        let (stage, mut servers) = stage(two_users());
        let (mut client, nonce) = client(&stage, &options()).await;
        let mut old = first_query(&mut client, &mut servers).await;
        client.send_at(0, &change(&nonce, "app", "secret", "")).await;
        client.expect_ok().await;
        old.expect_gone().await;
        let mut new = first_query(&mut client, &mut servers).await;
        expect_alive(&mut client, &mut new).await;
    });
}

#[test]
fn a_wrong_password_ends_the_session_as_with_mysql() {
    play(async || {
        let mut config = two_users();
        config.variables.server_version = "8.4.0".to_owned();
        let (stage, mut servers) = stage(config);
        let (mut client, nonce) = client(&stage, &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        client.send_at(0, &change(&nonce, "other", "wrong", "")).await;
        let error = client.expect_err(1045).await;
        assert_eq!(error.message, "Access denied for user 'other'@'localhost' (using password: YES)");
        client.expect_end().await;
        server.expect_gone().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_wrong_password_leaves_the_old_user_as_with_mariadb() {
    play(async || {
        let mut config = two_users();
        config.variables.server_version = "10.11.6-MariaDB".to_owned();
        let (stage, mut servers) = stage(config);
        let (mut client, nonce) = client(&stage, &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        for code in [1045, 1045, 1045] {
            client.send_at(0, &change(&nonce, "other", "wrong", "")).await;
            client.expect_err(code).await;
            server.expect_gone().await;
            server = first_query(&mut client, &mut servers).await;
        }
        client.send_at(0, &change(&nonce, "other", "word", "")).await;
        client.expect_err(1047).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_change_before_the_first_query_opens_no_connection() {
    play(async || {
        let (stage, mut servers) = stage(two_users());
        let (mut client, nonce) = client(&stage, &options()).await;
        client.send_at(0, &change(&nonce, "other", "word", "")).await;
        client.expect_ok().await;
        assert!(servers.settled().await.is_none());
    });
}

#[test]
fn c01_commands_behind_a_change_wait_for_it() {
    play(async || {
        let (stage, mut servers) = stage(two_users());
        let (mut client, nonce) = client(&stage, &options()).await;
        let old = first_query(&mut client, &mut servers).await;
        let change = change(&nonce, "other", "word", "");
        client.send_bytes(&[messages(0, &[&change]), messages(0, &[b"\x03SELECT 1"])].concat()).await;
        client.packets().expect_seq(1);
        client.expect_ok().await;
        let mut new = servers.accept().await;
        new.expect_query("SELECT 1").await;
        new.ok_with(1, 0).await;
        client.packets().expect_seq(1);
        assert_eq!(client.expect_ok().await.affected_rows, 1);
        drop(old);
        expect_alive(&mut client, &mut new).await;
    });
}

#[test]
fn a_change_may_need_another_method() {
    play(async || {
        let (stage, _servers) = stage(two_users());
        let (mut client, nonce) = client(&stage, &options()).await;
        // An answer of a method that the proxy does not know.
        let mut payload = change(&nonce, "other", "word", "");
        let name = payload.windows(native::NAME.len()).position(|at| at == native::NAME.as_bytes()).unwrap();
        payload[name..name + 7].copy_from_slice(b"strange");
        client.send_at(0, &payload).await;
        let switch = client.read().await;
        let switch: packet::AuthSwitch<'_> = wire::Codec::decode(&switch, client.capabilities()).unwrap();
        assert_eq!(switch.plugin, b"caching_sha2_password");
        let nonce: [u8; 20] = switch.data.strip_suffix(&[0]).unwrap().try_into().unwrap();
        client.send(&wire::auth::caching_sha2::answer(b"word", &nonce)).await;
        client.expect(&[1, 3]).await;
        client.expect_ok().await;
    });
}

#[test]
fn a_transaction_ends_with_its_user() {
    play(async || {
        let (stage, mut servers) = stage(two_users());
        let (mut client, nonce) = client(&stage, &options()).await;
        let mut old = first_query(&mut client, &mut servers).await;
        client.send_query("BEGIN").await;
        old.expect_query("BEGIN").await;
        old.status |= StatusFlags::IN_TRANSACTION;
        old.ok().await;
        client.expect_ok().await;
        client.send_at(0, &change(&nonce, "other", "word", "")).await;
        client.expect_ok().await;
        old.expect_gone().await;
        // Nothing is left that a drain would wait for.
        let start = Instant::now();
        stage.drain();
        client.packets().expect_seq(1);
        client.expect_err(1053).await;
        assert_eq!(start.elapsed(), Duration::ZERO);
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn the_places_of_users_are_exact_after_a_change() {
    play(async || {
        let mut config = two_users();
        config.users[0].max_connections = 1;
        let (stage, _servers) = stage(config);
        let (mut changed, nonce) = client(&stage, &options()).await;
        changed.send_at(0, &change(&nonce, "other", "word", "")).await;
        changed.expect_ok().await;
        let second = log_in(&stage).await;
        let mut third = Client::new(super::support::connect(&stage));
        assert_eq!(third.log_in(&options()).await.unwrap_err().code, 1226);
        drop(second);
        settle().await;
        log_in(&stage).await;
    });
}

#[test]
fn a_change_to_the_same_user_needs_no_second_place() {
    play(async || {
        let mut config = two_users();
        config.users[0].max_connections = 1;
        let (stage, mut servers) = stage(config);
        let (mut client, nonce) = client(&stage, &options()).await;
        for _ in 0..3 {
            client.send_at(0, &change(&nonce, "app", "secret", "")).await;
            client.expect_ok().await;
        }
        let _server = first_query(&mut client, &mut servers).await;
        let mut other = Client::new(super::support::connect(&stage));
        assert_eq!(other.log_in(&options()).await.unwrap_err().code, 1226);
        drop(client);
        settle().await;
        log_in(&stage).await;
    });
}

#[test]
fn c27_a_truncated_change_ends_the_session() {
    play(async || {
        let (stage, _servers) = stage(two_users());
        let whole = change(&[1; 20], "other", "word", "shop");
        for len in 1..whole.len() {
            let mut client = log_in(&stage).await;
            client.send_at(0, &whole[..len]).await;
            let error = client.read_result().await;
            assert!(error.is_err(), "{len} bytes of a change were accepted");
        }
    });
}

#[test]
fn what_init_connect_does_to_the_status_is_known_after_a_change() {
    let mut config = config();
    config.pointsman.check_logins = CheckLogins::Always;
    "SET autocommit = 0".clone_into(&mut config.variables.init_connect);
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let begins = async |servers: &mut Servers| {
            let mut server = servers.accept().await;
            server.status -= StatusFlags::AUTOCOMMIT;
            server.expect_query("SET autocommit = 0").await;
            server.ok().await;
            server
        };
        let options = options();
        let ((mut client, nonce), mut old) = tokio::join!(client(&stage, &options), begins(&mut servers));
        client.send_at(0, &change(&nonce, "app", "secret", "")).await;
        old.expect_command(Kind::ResetConnection, b"").await;
        old.ok().await;
        let _server = begins(&mut servers).await;
        let status = client.expect_ok().await.status;
        assert!(!status.contains(StatusFlags::AUTOCOMMIT), "{status:?}");
    });
}
