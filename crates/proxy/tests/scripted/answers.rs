//! Answers of every shape: each arrives as the server has sent it, and the next command gets its
//! own.

use proptest::collection::vec;
use testkit::client::CAPABILITIES;
use tokio::join;
use wire::command::Kind;
use wire::{Capabilities, Codec as _, StatusFlags, packet};

use wire::frame::MAX_PAYLOAD;

use super::support::{
    CLASSIC, Client, Database, config, expect_alive, first_query, log_in, messages, options, pieces, play,
    play_all, session, session_of, settle, stage_with,
};

/// Sends a query that the server is about to answer.
async fn ask(client: &mut Client, server: &mut Database, sql: &str) {
    client.send_query(sql).await;
    server.expect_query(sql).await;
}

#[test]
fn several_results_are_one_answer() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        ask(&mut client, &mut server, "SELECT 1; DO 2; SELECT 3").await;
        server.status |= StatusFlags::MORE_RESULTS;
        server.rows(&["1"], &[&[Some("1")]]).await;
        server.ok_with(2, 0).await;
        server.status -= StatusFlags::MORE_RESULTS;
        server.rows(&["3"], &[&[Some("3")], &[None]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
        assert_eq!(client.expect_ok().await.affected_rows, 2);
        client.expect_rows(&[&[Some("3")], &[None]]).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn c18_an_error_ends_an_answer_that_promised_more() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        ask(&mut client, &mut server, "DO 1; SELEC 2; DO 3").await;
        server.status |= StatusFlags::MORE_RESULTS;
        server.ok().await;
        server.err(1064, "42000", "You have an error").await;
        server.status -= StatusFlags::MORE_RESULTS;
        client.expect_ok().await;
        client.expect_err(1064).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn an_error_in_the_place_of_a_row_ends_the_answer() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        ask(&mut client, &mut server, "SELECT slow").await;
        server.columns(&["slow"]).await;
        server.row(&[Some("1")]).await;
        server.err(3024, "HY000", "Query execution was interrupted").await;
        client.expect_err(3024).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn an_error_passes_with_its_state_and_text() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        ask(&mut client, &mut server, "INSERT again").await;
        server.err(1062, "23000", "Duplicate entry '1' for key 'PRIMARY'").await;
        let error = client.expect_err(1062).await;
        assert_eq!(error.to_string(), "1062 (23000): Duplicate entry '1' for key 'PRIMARY'");
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn rows_may_start_like_other_packets() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        ask(&mut client, &mut server, "SELECT odd").await;
        // A NULL first looks like a file request, an empty string like OK, 252 bytes need a length
        // of three.
        let long = "x".repeat(300);
        let rows: &[&[Option<&str>]] = &[&[None, None], &[Some(""), None], &[Some(&long), Some("")]];
        server.rows(&["a", "b"], rows).await;
        client.expect_rows(rows).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_result_without_rows_is_an_answer() {
    for capabilities in [CAPABILITIES, CLASSIC] {
        play(async || {
            let (_stage, mut client, mut server) = session_of(&options().capabilities(capabilities)).await;
            ask(&mut client, &mut server, "SELECT nothing").await;
            server.rows(&["a"], &[]).await;
            let result = client.expect_rows(&[]).await;
            assert_eq!(result.columns.len(), 1);
            expect_alive(&mut client, &mut server).await;
        });
    }
}

#[test]
fn a_client_with_eof_packets_gets_eof_packets() {
    play(async || {
        let (_stage, mut client, mut server) = session_of(&options().capabilities(CLASSIC)).await;
        assert_eq!(server.capabilities() & CLASSIC, CLASSIC);
        assert_eq!(server.capabilities(), client.capabilities(), "both sides see the same packets");
        ask(&mut client, &mut server, "SELECT 1; SELECT 2").await;
        server.status |= StatusFlags::MORE_RESULTS;
        server.rows(&["1"], &[&[Some("1")]]).await;
        server.status -= StatusFlags::MORE_RESULTS;
        server.rows(&["2"], &[&[Some("2")]]).await;
        client.expect_rows(&[&[Some("1")]]).await;
        client.expect_rows(&[&[Some("2")]]).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn statistics_are_a_line_of_text() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_command(Kind::Statistics, b"").await;
        server.expect_command(Kind::Statistics, b"").await;
        server.send(b"Uptime: 5  Threads: 1").await;
        client.expect(b"Uptime: 5  Threads: 1").await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_field_list_is_columns_without_a_count() {
    for capabilities in [CAPABILITIES, CLASSIC] {
        play(async || {
            let (_stage, mut client, mut server) = session_of(&options().capabilities(capabilities)).await;
            client.send_command(Kind::FieldList, b"item\0").await;
            server.expect_command(Kind::FieldList, b"item\0").await;
            let field = field(b"price").encode(capabilities);
            server.send(&field).await;
            server.send(&field).await;
            server.end_of_rows().await;
            client.expect(&field).await;
            client.expect(&field).await;
            assert_eq!(client.read().await[0], 0xfe);
            expect_alive(&mut client, &mut server).await;
        });
    }
}

/// A column as `COM_FIELD_LIST` shows it.
fn field(name: &[u8]) -> packet::Column<'_> {
    packet::Column {
        catalog: b"def",
        schema: b"shop",
        table: b"item",
        org_table: b"item",
        name,
        org_name: name,
        extended_type: b"",
        collation: 63,
        max_len: 11,
        kind: 3,
        flags: 0,
        decimals: 0,
        default_value: packet::DefaultValue::Text(b"0"),
    }
}

#[test]
fn c32_a_client_without_session_track_gets_ok_packets_without_it() {
    play(async || {
        let capabilities = CAPABILITIES - Capabilities::SESSION_TRACK;
        let (_stage, mut client, mut server) = session_of(&options().capabilities(capabilities)).await;
        assert!(!server.capabilities().contains(Capabilities::SESSION_TRACK));
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_result_larger_than_every_buffer_arrives() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        ask(&mut client, &mut server, "SELECT much").await;
        let cell = "x".repeat(1000);
        let row: &[Option<&str>] = &[Some(&cell)];
        let rows = vec![row; 2000];
        let ((), result) = join!(server.rows(&["much"], &rows), client.expect_result());
        assert_eq!(result.rows.len(), 2000);
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn c17_rows_around_a_full_packet_are_rows() {
    play(async || {
        let (stage, mut servers) = stage_with(config(), 1 << 20, |_| false);
        let mut client = Client::connect(stage.client(1 << 20).unwrap(), &options()).await;
        let mut server = first_query(&mut client, &mut servers).await;
        ask(&mut client, &mut server, "SELECT long").await;
        // With the four bytes of its length one row fills a packet, so that an empty one follows;
        // the other starts with 0xfe, like the end of the rows.
        for len in [MAX_PAYLOAD - 4, MAX_PAYLOAD + 1] {
            let cell = "x".repeat(len);
            let row: &[Option<&str>] = &[Some(&cell)];
            let rows = [row];
            let ((), result) = join!(server.rows(&["long"], &rows), client.expect_result());
            assert!(result.first().is_some_and(|got| got == cell), "a cell of {len} bytes");
            ask(&mut client, &mut server, "SELECT long").await;
        }
    });
}

/// An answer with everything in it: results, rows, an OK in between, session state, an error at the
/// end.
fn motley_answer() -> Vec<u8> {
    let more = StatusFlags::AUTOCOMMIT | StatusFlags::MORE_RESULTS;
    let ok = |header, status, session_state| {
        let (affected_rows, last_insert_id, warnings, info) = (300, 70_000, 1, &b"info"[..]);
        packet::Ok { header, affected_rows, last_insert_id, status, warnings, info, session_state }
            .encode(CAPABILITIES)
    };
    let column = packet::Column { default_value: packet::DefaultValue::Absent, ..field(b"name") };
    let column = column.encode(CAPABILITIES);
    let long = [&[0xfc, 0x2c, 0x01][..], &[b'x'; 300]].concat();
    let state = packet::SessionState::new(b"\x01\x05\x04shop");
    messages(
        1,
        &[
            b"\x01",
            &column,
            &long,
            b"\xfb",
            b"\0",
            &ok(packet::OkHeader::Eof, more, None),
            &ok(packet::OkHeader::Ok, more | StatusFlags::SESSION_STATE_CHANGED, Some(state)),
            b"\x02",
            &column,
            &column,
            &ok(packet::OkHeader::Eof, more, None),
            b"\xff\x28\x04#42000You have an error",
        ],
    )
}

#[test]
fn an_answer_may_be_cut_anywhere() {
    let answer = motley_answer();
    play_all(config(), vec(1..40_usize, 0..12), async |stage, servers, cuts| {
        let mut client = log_in(stage).await;
        let mut server = first_query(&mut client, servers).await;
        ask(&mut client, &mut server, "CALL motley()").await;
        for piece in pieces(&answer, &cuts) {
            server.send_bytes(piece).await;
            settle().await;
        }
        let got = client.read_bytes(answer.len()).await;
        assert!(got == answer, "expected {}, got {}", answer.escape_ascii(), got.escape_ascii());
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn an_answer_may_come_byte_by_byte() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        ask(&mut client, &mut server, "CALL motley()").await;
        let answer = motley_answer();
        for byte in &answer {
            server.send_bytes(std::slice::from_ref(byte)).await;
            settle().await;
            assert_eq!(client.read_bytes(1).await, [*byte], "what has come is passed on at once");
        }
        expect_alive(&mut client, &mut server).await;
    });
}
