//! Servers that die, and servers that say something wrong: the client hears of it where that is
//! possible, and never gets an answer that is not its own.

use proptest::collection::vec;
use proptest::prelude::*;
use tokio::join;
use wire::{Codec as _, StatusFlags, packet};

use super::support::{
    CAPACITY, Client, Database, SCRATCH, config, expect_alive, expect_nothing_left, first_query, log_in,
    long_query, messages, options, play, play_all, run, session, session_in, settle, stage, stage_with,
};

/// A query that the server has read and not answered yet.
async fn asked() -> (proxy::stage::Stage, Client, Database) {
    let (stage, mut client, mut server) = session().await;
    client.send_query("SELECT 1").await;
    server.expect_query("SELECT 1").await;
    (stage, client, server)
}

/// A session that cannot do without its server, which has read a query and not answered it yet.
async fn bound_and_asked() -> (proxy::stage::Stage, Client, Database) {
    let (stage, mut client, mut server) = bound().await;
    client.send_query("SELECT 1").await;
    server.expect_query("SELECT 1").await;
    (stage, client, server)
}

/// A session that cannot do without its server.
async fn bound() -> (proxy::stage::Stage, Client, Database) {
    let (stage, mut client, mut server) = session().await;
    run(&mut client, &mut server, "CREATE TEMPORARY TABLE t (a INT)").await;
    (stage, client, server)
}

/// The payload of an OK packet.
fn ok() -> Vec<u8> {
    packet::Ok {
        header: packet::OkHeader::Ok,
        affected_rows: 99,
        last_insert_id: 0,
        status: StatusFlags::AUTOCOMMIT,
        warnings: 0,
        info: b"",
        session_state: None,
    }
    .encode(testkit::client::CAPABILITIES)
}

#[test]
fn a_server_that_dies_before_its_answer_is_reported() {
    play(async || {
        let (stage, mut client, server) = bound_and_asked().await;
        drop(server);
        let error = client.expect_err(2013).await;
        assert_eq!(
            error.to_string(),
            "2013 (HY000): Lost connection to MySQL server during query (server db:3306)"
        );
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_server_that_dies_between_two_packets_is_reported_in_the_place_of_the_next() {
    play(async || {
        let (stage, mut client, mut server) = asked().await;
        server.columns(&["1"]).await;
        server.row(&[Some("1")]).await;
        drop(server);
        // Sequence ids are checked: the error continues the answer.
        client.expect_err(2013).await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_server_that_dies_within_a_packet_leaves_nothing_to_say() {
    // Within the payload, and within the header.
    for cut in [6, 2] {
        play(async || {
            let (stage, mut client, mut server) = asked().await;
            let answer = messages(1, &[&ok()]);
            server.send_bytes(&answer[..cut]).await;
            drop(server);
            assert_eq!(client.read_bytes(cut).await, answer[..cut]);
            client.expect_end().await;
            expect_nothing_left(&stage).await;
        });
    }
}

#[test]
fn a_server_that_dies_while_idle_takes_a_session_along_that_cannot_do_without_it() {
    play(async || {
        let (stage, mut client, server) = bound().await;
        drop(server);
        client.packets().expect_seq(1);
        let error = client.expect_err(1053).await;
        assert_eq!(
            error.message,
            "Server shutdown in progress: server db:3306 has closed the connection; lost with it: temporary_table"
        );
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_server_that_dies_before_a_command_is_complete_is_reported_behind_it() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        let command = messages(0, &[&long_query(200_000)]);
        join!(client.send_bytes(&command[..100_000]), server.read_bytes(100_000));
        settle().await;
        drop(server);
        settle().await;
        assert_eq!(stage.usage(0).open, 0, "no session waits for the rest");
        // The client does not read before it has sent all of it.
        client.send_bytes(&command[100_000..]).await;
        client.packets().expect_seq(1);
        client.expect_err(2013).await;
        client.expect_end().await;
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn the_refusal_of_an_incomplete_command_reaches_the_client() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        let command = messages(0, &[&long_query(200_000)]);
        join!(client.send_bytes(&command[..100_000]), server.read_bytes(100_000));
        settle().await;
        server.packets().expect_seq(1);
        server.err(1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes").await;
        drop(server);
        settle().await;
        client.send_bytes(&command[100_000..]).await;
        client.packets().expect_seq(1);
        let error = client.expect_err(1153).await;
        assert_eq!(error.message, "Got a packet bigger than 'max_allowed_packet' bytes");
        client.expect_end().await;
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn the_error_that_ends_a_server_connection_reaches_the_client() {
    play(async || {
        let (stage, mut client, mut server) = bound_and_asked().await;
        server.err(1317, "70100", "Query execution was interrupted").await;
        drop(server);
        client.expect_err(1317).await;
        client.packets().expect_seq(1);
        client.expect_err(1053).await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn the_error_that_ends_an_idle_server_connection_reaches_the_client() {
    play(async || {
        let (stage, mut client, mut server) = bound().await;
        server.packets().expect_seq(1);
        server.err(4031, "HY000", "The client was disconnected by the server because of inactivity").await;
        drop(server);
        client.packets().expect_seq(1);
        client.expect_err(4031).await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn the_last_words_of_a_server_may_come_in_pieces() {
    play(async || {
        let (stage, mut client, mut server) = bound().await;
        for byte in messages(1, &[b"\xff\xbf\x0f#HY000The client was disconnected"]) {
            server.send_bytes(&[byte]).await;
            settle().await;
        }
        client.packets().expect_seq(1);
        client.expect_err(4031).await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn c02_what_follows_the_last_words_is_not_passed_on() {
    play(async || {
        let (stage, mut client, mut server) = bound().await;
        let error = messages(1, &[b"\xff\xbf\x0f#HY000The client was disconnected"]);
        server.send_bytes(&[error, messages(1, &[&ok()])].concat()).await;
        client.packets().expect_seq(1);
        client.expect_err(4031).await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn the_beginning_of_last_words_is_not_said() {
    play(async || {
        let (stage, mut client, mut server) = bound().await;
        server.send_bytes(&messages(1, &[b"\xff\xbf\x0f#HY000The client"])[..9]).await;
        settle().await;
        drop(server);
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn c02_a_stray_answer_on_an_idle_connection_reaches_no_client() {
    play(async || {
        let (stage, mut client, mut server) = bound().await;
        server.send_bytes(&messages(1, &[&ok()])).await;
        // The client must not find it there when it reads the answer to its next query.
        client.expect_end().await;
        server.expect_gone().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn c02_more_than_an_answer_ends_the_session_behind_the_answer() {
    play(async || {
        let (stage, mut client, mut server) = asked().await;
        let answer = messages(1, &[&ok()]);
        server.send_bytes(&[&answer[..], &answer].concat()).await;
        assert_eq!(client.read_bytes(answer.len()).await, answer);
        client.expect_end().await;
        server.expect_gone().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn c02_the_next_query_does_not_get_what_was_left_in_the_socket() {
    // The answer fills the proxy's buffer to the last byte, so that the read does not show that
    // there is more.
    play(async || {
        let (stage, mut servers) = stage_with(config(), 2 * SCRATCH, |_| false);
        let mut client = Client::connect(stage.client(2 * SCRATCH).unwrap(), &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        let (first, second) = (messages(0, &[b"\x03SELECT 1"]), messages(0, &[b"\x03SELECT 2"]));
        // Cut, so that the server does not have it yet.
        client.send_bytes(&[&first, &second[..second.len() - 1]].concat()).await;
        server.expect_query("SELECT 1").await;
        let mut info = packet::Ok::decode(&ok(), testkit::client::CAPABILITIES)
            .unwrap()
            .encode(testkit::client::CAPABILITIES);
        info.truncate(info.len() - 1);
        let text = vec![b'i'; SCRATCH - 4 - info.len() - 3];
        wire::codec::put_lenenc_bytes(&mut info, &text);
        let answer = messages(1, &[&info]);
        assert_eq!(answer.len(), SCRATCH);
        server.send_bytes(&[answer.clone(), messages(1, &[&ok()])].concat()).await;
        assert!(client.read_bytes(SCRATCH).await == answer);
        server.expect_gone().await;
        client.send_bytes(&second[second.len() - 1..]).await;
        let mut other = servers.accept().await;
        other.expect_query("SELECT 2").await;
        other.ok().await;
        client.packets().expect_seq(1);
        client.expect_ok().await;
        drop(client);
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_wrong_sequence_id_ends_the_session_with_an_error() {
    play(async || {
        let (stage, mut client, mut server) = asked().await;
        server.send_bytes(&messages(7, &[&ok()])).await;
        client.expect_err(2013).await;
        client.expect_end().await;
        server.expect_gone().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn a_wrong_sequence_id_behind_good_packets_is_reported_in_order() {
    // The good ones came in the same read, of which nothing is passed on.
    play(async || {
        let (stage, mut client, mut server) = asked().await;
        let good = messages(1, &[b"\x01"]);
        server.send_bytes(&[good, messages(9, &[b"\0"])].concat()).await;
        client.expect_err(2013).await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn an_answer_of_another_kind_ends_the_session_with_an_error() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        client.send_command(wire::command::Kind::StmtPrepare, b"SELECT 1").await;
        server.read_command().await;
        server.send(b"\x01").await;
        client.expect_err(2013).await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn an_empty_packet_for_an_answer_ends_the_session_with_an_error() {
    play(async || {
        let (stage, mut client, mut server) = asked().await;
        server.send(b"").await;
        client.expect_err(2013).await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn garbage_for_an_answer_costs_one_session() {
    let garbage = prop_oneof![
        vec(any::<u8>(), 0..200),
        vec(vec(any::<u8>(), 0..30), 0..6).prop_map(|payloads| {
            let payloads: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
            messages(1, &payloads)
        }),
    ];
    play_all(config(), garbage, async |stage, servers, garbage| {
        let mut client = log_in(stage).await;
        let mut server = first_query(&mut client, servers).await;
        run(&mut client, &mut server, "CREATE TEMPORARY TABLE t (a INT)").await;
        client.send_query("SELECT 1").await;
        server.expect_query("SELECT 1").await;
        server.send_bytes(&garbage).await;
        settle().await;
        drop(server);
        client.expect_gone().await;
        drop(client);
        expect_nothing_left(stage).await;
    });
}

#[test]
fn a_server_that_dies_does_not_disturb_the_others() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut first = log_in(&stage).await;
        let mut first_server = first_query(&mut first, &mut servers).await;
        run(&mut first, &mut first_server, "CREATE TEMPORARY TABLE t (a INT)").await;
        let mut second = log_in(&stage).await;
        let mut second_server = first_query(&mut second, &mut servers).await;
        drop(first_server);
        first.packets().expect_seq(1);
        first.expect_err(1053).await;
        first.expect_end().await;
        expect_alive(&mut second, &mut second_server).await;
        assert_eq!((stage.usage(0).open, stage.sessions()), (1, 1));
    });
}

#[test]
fn c10_a_command_whose_answer_was_lost_is_not_sent_again() {
    play(async || {
        let (_stage, mut servers, mut client, mut server) = session_in(config()).await;
        client.send_query("INSERT once").await;
        server.expect_query("INSERT once").await;
        drop(server);
        client.expect_err(9009).await;
        assert!(servers.settled().await.is_none(), "no other connection is opened for it");
    });
}

#[test]
fn a_large_answer_may_break_off_anywhere() {
    for len in [1, 4, 5, 1000, CAPACITY, CAPACITY + 7, 40_000] {
        play(async || {
            let (stage, mut client, mut server) = asked().await;
            let row = vec![b'x'; 20_000];
            let answer = messages(1, &[b"\x01", &ok_column(), &row, &row, &row]);
            let part = &answer[..len];
            let serve = async {
                server.send_bytes(part).await;
                drop(server);
            };
            let ((), got) = join!(serve, client.read_bytes(len));
            assert!(got == part);
            // An error where a packet may begin, nothing where none may.
            client.expect_gone().await;
            expect_nothing_left(&stage).await;
        });
    }
}

/// A column definition.
fn ok_column() -> Vec<u8> {
    packet::Column {
        catalog: b"def",
        schema: b"",
        table: b"",
        org_table: b"",
        name: b"c",
        org_name: b"",
        extended_type: b"",
        collation: 45,
        max_len: 1,
        kind: 253,
        flags: 0,
        decimals: 0,
        default_value: packet::DefaultValue::Absent,
    }
    .encode(testkit::client::CAPABILITIES)
}
