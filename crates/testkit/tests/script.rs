//! Scripted client and server, against each other over memory.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::net::SocketAddr;
use std::time::Duration;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::{KeySize, OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, PrivateDecryptingKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use testkit::client::{CAPABILITIES, Options};
use testkit::script::{NONCE, ScriptedClient, ScriptedServer};
use tokio::io::{DuplexStream, duplex};
use tokio::join;
use wire::command::Kind;
use wire::{Capabilities, StatusFlags};

fn options() -> Options {
    Options::tcp(SocketAddr::from(([127, 0, 0, 1], 1)), "ann", "secret").schema("shop")
}

/// A logged-in pair, where the client announces these capabilities. Reads see parts of packets.
async fn pair(capabilities: Capabilities) -> (ScriptedClient<DuplexStream>, ScriptedServer<DuplexStream>) {
    pair_over(7, capabilities).await
}

/// A logged-in pair whose connection holds this many bytes in each direction.
async fn pair_over(
    buffer_len: usize,
    capabilities: Capabilities,
) -> (ScriptedClient<DuplexStream>, ScriptedServer<DuplexStream>) {
    let (near, far) = duplex(buffer_len);
    let options = options().capabilities(capabilities);
    let (client, (server, _)) = join!(ScriptedClient::connect(near, &options), ScriptedServer::accept(far));
    (client, server)
}

#[tokio::test]
async fn the_server_sees_the_login() {
    let (near, far) = duplex(64);
    let options = options();
    let (_client, (_server, login)) =
        join!(ScriptedClient::connect(near, &options), ScriptedServer::accept(far));
    assert_eq!(login.username, "ann");
    assert_eq!(login.schema.as_deref(), Some("shop"));
    assert_eq!(login.auth_plugin.as_deref(), Some("mysql_native_password"));
    assert_eq!(login.auth_answer, wire::auth::native::answer(b"secret", &NONCE));
    assert_eq!(login.capabilities, CAPABILITIES | Capabilities::CONNECT_WITH_DB);
    assert_eq!(login.attributes.unwrap(), b"\x0c_client_name\x07testkit");
}

#[tokio::test]
async fn results_come_with_and_without_eof_packets() {
    for capabilities in [CAPABILITIES, CAPABILITIES - Capabilities::DEPRECATE_EOF] {
        let (mut client, mut server) = pair(capabilities).await;
        let serve = async {
            server.expect_query("SELECT name FROM item").await;
            server.status |= StatusFlags::IN_TRANSACTION;
            server.rows(&["name"], &[&[Some("pen")], &[None], &[Some("")]]).await;
            server.expect_query("UPDATE item SET name = 'ink'").await;
            server.ok_with(3, 9).await;
            server.expect_command(Kind::InitDb, b"other").await;
            server.err(1049, "42000", "Unknown database 'other'").await;
        };
        let ask = async {
            client.send_query("SELECT name FROM item").await;
            let result = client.expect_rows(&[&[Some("pen")], &[None], &[Some("")]]).await;
            assert_eq!(result.columns[0].name, "name");
            assert_eq!(result.status, StatusFlags::AUTOCOMMIT | StatusFlags::IN_TRANSACTION);
            client.send_query("UPDATE item SET name = 'ink'").await;
            let ok = client.expect_ok().await;
            assert_eq!((ok.affected_rows, ok.last_insert_id), (3, 9));
            client.send_command(Kind::InitDb, b"other").await;
            let error = client.expect_err(1049).await;
            assert_eq!(error.to_string(), "1049 (42000): Unknown database 'other'");
        };
        join!(serve, ask);
    }
}

#[tokio::test]
async fn a_row_that_starts_like_an_end_is_a_row() {
    let (mut client, mut server) = pair_over(100_000, CAPABILITIES).await;
    let cell = "x".repeat(1 << 24);
    let serve = async {
        server.expect_query("SELECT long").await;
        server.rows(&["long"], &[&[Some(&cell)]]).await;
    };
    let ((), result) = join!(serve, client.query("SELECT long"));
    let result = result.unwrap();
    assert_eq!(result.rows.len(), 1);
    assert_eq!(result.rows[0][0], 0xfe);
    assert_eq!(result.first().as_deref(), Some(cell.as_str()));
}

#[tokio::test]
async fn the_password_can_go_encrypted() {
    let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
    let der = AsDer::<PublicKeyX509Der<'_>>::as_der(&key.public_key()).unwrap();
    let body = STANDARD.encode(der.as_ref());
    let pem =
        format!("-----BEGIN PUBLIC KEY-----\n{}\n{}\n-----END PUBLIC KEY-----\n", &body[..64], &body[64..]);
    let key = OaepPrivateDecryptingKey::new(key).unwrap();

    let (near, far) = duplex(64);
    let (mut client, mut server) = (ScriptedClient::new(near), ScriptedServer::new(far));
    let serve = async {
        server.greet().await;
        assert_eq!(server.read_login().await.auth_plugin.as_deref(), Some("caching_sha2_password"));
        server.send(&[0x01, 0x04]).await; // the full exchange
        server.expect(&[0x02]).await; // asks for the key
        server.send(&[&[0x01], pem.as_bytes()].concat()).await;
        let cipher = server.read().await;
        let mut plain = vec![0; key.min_output_size()];
        let masked = key.decrypt(&OAEP_SHA1_MGF1SHA1, &cipher, &mut plain, None).unwrap();
        assert_eq!(masked, b"secret\0".iter().zip(NONCE).map(|(a, b)| a ^ b).collect::<Vec<u8>>());
        server.ok().await;
    };
    let options = options().auth_plugin("caching_sha2_password");
    let (result, ()) = join!(client.log_in(&options), serve);
    result.unwrap();
}

#[tokio::test]
async fn a_refused_login_is_a_value() {
    let (near, far) = duplex(64);
    let (mut client, mut server) = (ScriptedClient::new(near), ScriptedServer::new(far));
    let serve = async {
        server.greet().await;
        server.read_login().await;
        server.err(1045, "28000", "Access denied").await;
    };
    let options = options();
    let (result, ()) = join!(client.log_in(&options), serve);
    assert_eq!(result.unwrap_err().code, 1045);
}

#[tokio::test]
async fn both_see_the_other_leave() {
    let (client, mut server) = pair(CAPABILITIES).await;
    drop(client);
    assert_eq!(server.next_command().await, None);
    let (mut client, server) = pair(CAPABILITIES).await;
    drop(server);
    client.expect_end().await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "waited in vain for a message")]
async fn waiting_has_an_end() {
    let (_client, mut server) = pair(CAPABILITIES).await;
    server.patience(Duration::from_hours(1));
    server.expect_query("never").await;
}

#[tokio::test]
#[should_panic(expected = "SELECT 2")]
async fn a_wrong_query_is_shown() {
    let (mut client, mut server) = pair(CAPABILITIES).await;
    join!(client.send_query("SELECT 2"), server.expect_query("SELECT 1"));
}

#[tokio::test]
#[should_panic(expected = "OutOfOrder { expected: 0, got: 3 }")]
async fn a_wrong_sequence_id_is_noticed() {
    let (mut client, mut server) = pair(CAPABILITIES).await;
    join!(client.send_at(3, b"\x03SELECT 1"), server.expect_query("SELECT 1"));
}
