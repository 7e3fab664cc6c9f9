//! Commands that a client sends before it has the answers to those before.

use std::time::Duration;

use proptest::collection::vec;
use testkit::client::CAPABILITIES;
use testkit::script::NONCE;
use tokio::join;
use wire::command::Kind;
use wire::frame::put_message;
use wire::{Capabilities, StatusFlags, packet};

use super::support::{
    Client, Database, Servers, config, expect_alive, first_query, log_in, log_in_as, long_query, messages,
    options, play, play_all, session, session_in, settle, stage,
};

/// More commands than go to a server at once.
const MANY: usize = 300;

/// Commands, each as one message.
fn commands(payloads: &[&[u8]]) -> Vec<u8> {
    payloads.iter().flat_map(|payload| messages(0, &[payload])).collect()
}

async fn expect_ok(client: &mut Client, number: u64) {
    client.packets().expect_seq(1);
    assert_eq!(client.expect_ok().await.affected_rows, number);
}

async fn answer(server: &mut Database, query: &str, number: u64) {
    server.expect_query(query).await;
    server.ok_with(number, 0).await;
}

#[test]
fn commands_reach_the_server_before_the_first_is_answered() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_bytes(&commands(&[b"\x03A", b"\x03B", b"\x0e"])).await;
        server.expect_query("A").await;
        server.expect_query("B").await;
        assert_eq!(server.read_command().await, [Kind::Ping as u8]);
        for number in 1..=3 {
            server.packets().expect_seq(1);
            server.ok_with(number, 0).await;
        }
        for number in 1..=3 {
            expect_ok(&mut client, number).await;
        }
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn c01_each_command_gets_its_own_answer_wherever_the_answers_are_cut() {
    let inputs = (1..6_usize, vec(1..40_usize, 0..20));
    play_all(config(), inputs, async |stage, servers, (count, cuts)| {
        let mut client = log_in(stage).await;
        let mut server = first_query(&mut client, servers).await;
        let texts: Vec<String> = (0..count).map(|number| format!("\x03Q{number}")).collect();
        let payloads: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        client.send_bytes(&commands(&payloads)).await;
        let mut answers = Vec::new();
        for number in 0..count {
            server.expect_query(&format!("Q{number}")).await;
            // OK with this many affected rows.
            let ok = [0, u8::try_from(number).unwrap(), 0, 2, 0, 0, 0];
            put_message(&mut answers, 1, &ok);
        }
        let send = async {
            let mut rest = &answers[..];
            for cut in cuts.iter().chain([&usize::MAX]) {
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                server.packets().write_bytes(piece).await.unwrap();
                settle().await;
                rest = after;
            }
        };
        let receive = async {
            for number in 0..count {
                expect_ok(&mut client, number as u64).await;
            }
        };
        join!(send, receive);
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn an_error_is_the_answer_to_its_own_command_only() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_bytes(&commands(&[b"\x03A", b"\x03B", b"\x03C"])).await;
        answer(&mut server, "A", 1).await;
        server.expect_query("B").await;
        server.err(1146, "42S02", "no such table").await;
        answer(&mut server, "C", 3).await;
        expect_ok(&mut client, 1).await;
        client.packets().expect_seq(1);
        client.expect_err(1146).await;
        expect_ok(&mut client, 3).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_close_between_two_commands_has_no_answer() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_bytes(&commands(&[b"\x03A", b"\x19\x01\0\0\0", b"\x03B", b"\x19\x02\0\0\0"])).await;
        answer(&mut server, "A", 1).await;
        assert_eq!(server.read_command().await, b"\x19\x01\0\0\0");
        answer(&mut server, "B", 2).await;
        assert_eq!(server.read_command().await, b"\x19\x02\0\0\0");
        expect_ok(&mut client, 1).await;
        expect_ok(&mut client, 2).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn the_last_status_counts() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        client.send_bytes(&commands(&[b"\x03BEGIN", b"\x03COMMIT"])).await;
        server.expect_query("BEGIN").await;
        server.expect_query("COMMIT").await;
        server.status |= StatusFlags::IN_TRANSACTION;
        server.packets().expect_seq(1);
        server.ok().await;
        server.status -= StatusFlags::IN_TRANSACTION;
        server.packets().expect_seq(1);
        server.ok().await;
        expect_ok(&mut client, 0).await;
        expect_ok(&mut client, 0).await;
        // Outside a transaction a drain ends the session at once.
        stage.drain();
        client.packets().expect_seq(1);
        client.expect_err(1053).await;
    });
}

#[test]
fn more_commands_than_fit_are_answered_in_order() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let texts: Vec<String> = (0..MANY).map(|number| format!("\x03Q{number}")).collect();
        let payloads: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
        client.send_bytes(&commands(&payloads)).await;
        let serve = async {
            for number in 0..MANY {
                answer(&mut server, &format!("Q{number}"), number as u64).await;
            }
        };
        let receive = async {
            for number in 0..MANY {
                expect_ok(&mut client, number as u64).await;
            }
        };
        join!(serve, receive);
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_command_that_is_cut_waits_for_the_answer_before_it() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let mut bytes = commands(&[b"\x03A", b"\x03BC"]);
        let last = bytes.pop().unwrap();
        client.send_bytes(&bytes).await;
        answer(&mut server, "A", 1).await;
        expect_ok(&mut client, 1).await;
        client.send_bytes(&[last]).await;
        answer(&mut server, "BC", 2).await;
        expect_ok(&mut client, 2).await;
    });
}

#[test]
fn a_command_that_is_too_large_is_refused_in_its_turn() {
    play(async || {
        let mut config = config();
        config.variables.max_allowed_packet = 8192;
        let (_stage, _servers, mut client, mut server) = session_in(config).await;
        client.send_bytes(&commands(&[b"\x03A", &long_query(8193)])).await;
        answer(&mut server, "A", 1).await;
        expect_ok(&mut client, 1).await;
        client.packets().expect_seq(1);
        client.expect_err(1153).await;
    });
}

#[test]
fn a_goodbye_behind_a_command_waits_for_its_answer() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_bytes(&commands(&[b"\x03A", b"\x01"])).await;
        answer(&mut server, "A", 1).await;
        expect_ok(&mut client, 1).await;
        assert_eq!(server.read_command().await, [Kind::Quit as u8]);
    });
}

#[test]
fn c19_nothing_is_sent_behind_a_statement_that_may_load_a_file() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_bytes(&commands(&[b"\x03A", b"\x03LOAD DATA LOCAL", b"\x03B"])).await;
        answer(&mut server, "A", 1).await;
        server.expect_query("LOAD DATA LOCAL").await;
        server.packets().write(b"\xfbfile").await.unwrap();
        expect_ok(&mut client, 1).await;
        // The server has got nothing that it would take for the file; the client answers out of
        // turn.
        client.packets().expect_seq(1);
        assert_eq!(client.packets().read().await.unwrap(), b"\xfbfile");
    });
}

#[test]
fn c19_only_the_statement_that_loads_a_file_may_be_asked_for_one() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_bytes(&commands(&[b"\x03A", b"\x03LOAD DATA LOCAL"])).await;
        server.expect_query("A").await;
        server.packets().write(b"\xfbfile").await.unwrap();
        client.packets().expect_seq(1);
        client.expect_err(1148).await;
    });
}

#[test]
fn statements_with_attributes_are_looked_at_behind_them() {
    play(async || {
        let announced = CAPABILITIES | Capabilities::QUERY_ATTRIBUTES;
        let (stage, mut servers) = stage(config());
        // From the login to a server the proxy learns what it can offer to the next client.
        let mut first = log_in(&stage).await;
        first.send_query("DO 0").await;
        let _database = accept_with(&mut servers, announced).await;
        let mut client = log_in_as(&stage, &options().capabilities(announced)).await;
        client.send_bytes(&commands(&[b"\x03\0\x01A"])).await;
        let mut server = accept_with(&mut servers, announced).await;
        assert_eq!(server.read_command().await, b"\x03\0\x01A");
        server.ok_with(0, 0).await;
        expect_ok(&mut client, 0).await;
        client.send_bytes(&commands(&[b"\x03\0\x01A", b"\x03\0\x01LOAD DATA LOCAL", b"\x03\0\x01B"])).await;
        assert_eq!(server.read_command().await, b"\x03\0\x01A");
        assert_eq!(server.read_command().await, b"\x03\0\x01LOAD DATA LOCAL");
        let third = tokio::time::timeout(Duration::from_secs(1), server.read_command());
        assert!(third.await.is_err(), "the third command waits");
        for number in 1..=2 {
            server.packets().expect_seq(1);
            server.ok_with(number, 0).await;
            expect_ok(&mut client, number).await;
        }
        assert_eq!(server.read_command().await, b"\x03\0\x01B");
        server.ok_with(3, 0).await;
        expect_ok(&mut client, 3).await;
    });
}

/// The next connection to a server, which announces these capabilities.
pub(super) async fn accept_with(servers: &mut Servers, capabilities: Capabilities) -> Database {
    let mut server = Database::new(servers.dialled().await.1);
    server
        .greet_with(&packet::Greeting {
            server_version: b"9.7.0",
            connection_id: 8,
            nonce: NONCE,
            capabilities,
            collation: 255,
            status: StatusFlags::AUTOCOMMIT,
            auth_plugin: b"mysql_native_password",
        })
        .await;
    server.read_login().await;
    server.ok().await;
    server
}
