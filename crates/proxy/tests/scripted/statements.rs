//! Prepared statements: the binary protocol passes as it is.

use testkit::client::CAPABILITIES;
use wire::command::Kind;
use wire::{Capabilities, Codec as _, StatusFlags, packet};

use super::support::{
    CLASSIC, Client, Database, config, expect_alive, expect_nothing_left, log_in, messages, options, play,
    session, session_of, settle, stage,
};

/// The handle of every statement here.
const ID: u32 = 5;

/// A column or parameter definition.
fn definition(capabilities: Capabilities) -> Vec<u8> {
    let column = packet::Column {
        catalog: b"def",
        schema: b"",
        table: b"",
        org_table: b"",
        name: b"?",
        org_name: b"",
        extended_type: b"",
        collation: 63,
        max_len: 0,
        kind: 8,
        flags: 0,
        decimals: 0,
        default_value: packet::DefaultValue::Absent,
    };
    column.encode(capabilities)
}

/// The body of a command about statement [`ID`].
fn about_statement(rest: &[u8]) -> Vec<u8> {
    [&ID.to_le_bytes()[..], rest].concat()
}

/// The body of an execute without parameters, with these cursor flags.
fn execute(flags: u8) -> Vec<u8> {
    about_statement(&[flags, 1, 0, 0, 0])
}

/// Prepares a statement with so many parameters and columns, and reads the whole answer.
async fn prepare(client: &mut Client, server: &mut Database, params: u16, columns: u16) {
    let capabilities = client.capabilities();
    let definition = definition(capabilities);
    client.send_command(Kind::StmtPrepare, b"SELECT ?").await;
    server.expect_command(Kind::StmtPrepare, b"SELECT ?").await;
    let ok = packet::PrepareOk { statement_id: ID, columns, params, warnings: 0, metadata_follows: None };
    server.send_packet(&ok).await;
    client.expect(&ok.encode(capabilities)).await;
    for count in [params, columns].into_iter().filter(|count| *count > 0) {
        for _ in 0..count {
            server.send(&definition).await;
            client.expect(&definition).await;
        }
        if !capabilities.contains(Capabilities::DEPRECATE_EOF) {
            server.eof().await;
            assert_eq!(client.read().await[0], 0xfe);
        }
    }
}

#[test]
fn a_prepare_answer_ends_behind_its_last_definition() {
    for capabilities in [CAPABILITIES, CLASSIC] {
        for (params, columns) in [(0, 0), (2, 0), (0, 3), (1, 1), (3, 300)] {
            play(async || {
                let (_stage, mut client, mut server) =
                    session_of(&options().capabilities(capabilities)).await;
                prepare(&mut client, &mut server, params, columns).await;
                expect_alive(&mut client, &mut server).await;
            });
        }
    }
}

#[test]
fn an_execution_of_the_last_statement_without_its_parameters_is_malformed() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        prepare(&mut client, &mut server, 1, 0).await;
        // Nothing, no flag, and no types where the flag says that they follow.
        for rest in [&b""[..], b"\0", b"\x01", b"\0\x01", b"\0\x01\x03"] {
            let command = [b"\xff\xff\xff\xff\0\x01\0\0\0", rest].concat();
            client.send_command(Kind::StmtExecute, &command).await;
            client.expect_err(1835).await;
        }
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_statement_that_cannot_be_prepared_is_an_error() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_command(Kind::StmtPrepare, b"SELEC ?").await;
        server.expect_command(Kind::StmtPrepare, b"SELEC ?").await;
        server.err(1064, "42000", "You have an error").await;
        client.expect_err(1064).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_prepare_can_be_the_first_command() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        client.send_command(Kind::StmtPrepare, b"DO 1").await;
        let mut server = servers.accept().await;
        server.expect_command(Kind::StmtPrepare, b"DO 1").await;
        server.err(1295, "HY000", "This command is not supported").await;
        client.expect_err(1295).await;
    });
}

#[test]
fn binary_rows_pass_as_they_are() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        prepare(&mut client, &mut server, 0, 1).await;
        client.send_command(Kind::StmtExecute, &execute(0)).await;
        server.expect_command(Kind::StmtExecute, &execute(0)).await;
        server.columns(&["n"]).await;
        // A binary row starts with 0x00, like an OK packet.
        server.send(&[0, 0, 42, 0, 0, 0, 0, 0, 0, 0]).await;
        server.send(&[0, 4]).await;
        server.end_of_rows().await;
        let result = client.expect_result().await;
        assert_eq!(result.rows, [&[0, 0, 42, 0, 0, 0, 0, 0, 0, 0][..], &[0, 4]]);
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn c15_columns_are_those_that_the_server_has_now() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        prepare(&mut client, &mut server, 0, 1).await;
        // Another client adds a column. The server says so with the rows, and when the statement is
        // prepared again.
        client.send_command(Kind::StmtExecute, &execute(0)).await;
        server.expect_command(Kind::StmtExecute, &execute(0)).await;
        server.columns(&["a", "b"]).await;
        server.send(&[0, 0, 1, b'1', 1, b'2']).await;
        server.end_of_rows().await;
        let result = client.expect_result().await;
        assert_eq!((result.columns.len(), result.rows), (2, vec![vec![0, 0, 1, b'1', 1, b'2']]));
        prepare(&mut client, &mut server, 0, 2).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn the_next_command_does_not_wait_for_the_close_of_a_statement() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let close = [&[Kind::StmtClose as u8], &about_statement(b"")[..]].concat();
        let both = [messages(0, &[&close]), messages(0, &[b"\x03SELECT 1"])].concat();
        client.send_bytes(&both).await;
        settle().await;
        assert_eq!(server.stream().unread(), both.len(), "both are with the server before any answer");
        server.expect_command(Kind::StmtClose, &about_statement(b"")).await;
        server.expect_query("SELECT 1").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        client.packets().expect_seq(1);
        client.expect_rows(&[&[Some("1")]]).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_command_without_an_answer_is_passed_on_at_once() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_command(Kind::StmtClose, &about_statement(b"")).await;
        server.expect_command(Kind::StmtClose, &about_statement(b"")).await;
        client.send_command(Kind::SendLongData, &about_statement(b"\0\0data")).await;
        server.expect_command(Kind::SendLongData, &about_statement(b"\0\0data")).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn several_closes_and_a_goodbye_come_in_one_write() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        let close = [&[Kind::StmtClose as u8], &about_statement(b"")[..]].concat();
        let quit = [Kind::Quit as u8];
        client
            .send_bytes(&[messages(0, &[&close]), messages(0, &[&close]), messages(0, &[&quit])].concat())
            .await;
        for _ in 0..2 {
            server.expect_command(Kind::StmtClose, &about_statement(b"")).await;
        }
        server.expect_command(Kind::Quit, b"").await;
        server.expect_end().await;
        client.expect_end().await;
        expect_nothing_left(&stage).await;
    });
}

#[test]
fn closing_what_was_never_prepared_opens_no_connection() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut client = log_in(&stage).await;
        client.send_command(Kind::StmtClose, &about_statement(b"")).await;
        client.send_command(Kind::SendLongData, &about_statement(b"\0\0data")).await;
        client.send_command(Kind::Ping, b"").await;
        client.expect_ok().await;
        assert!(servers.settled().await.is_none());
    });
}

#[test]
fn c17_long_data_of_any_length_goes_ahead_of_its_statement() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        prepare(&mut client, &mut server, 1, 0).await;
        for len in [0, 1, 1 << 14, 100_000] {
            let body = about_statement(&[&[0, 0][..], &vec![b'x'; len]].concat());
            tokio::join!(
                client.send_command(Kind::SendLongData, &body),
                server.expect_command(Kind::SendLongData, &body)
            );
        }
        client.send_command(Kind::StmtExecute, &execute(0)).await;
        server.expect_command(Kind::StmtExecute, &execute(0)).await;
        server.ok_with(1, 0).await;
        assert_eq!(client.expect_ok().await.affected_rows, 1);
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_reset_statement_has_one_packet_as_its_answer() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_command(Kind::StmtReset, &about_statement(b"")).await;
        server.expect_command(Kind::StmtReset, &about_statement(b"")).await;
        server.err(1243, "HY000", "Unknown prepared statement handler (5)").await;
        client.expect_err(1243).await;
        expect_alive(&mut client, &mut server).await;
    });
}

/// Opens a cursor: columns come at once, rows when they are asked for.
async fn open_cursor(client: &mut Client, server: &mut Database) {
    client.send_command(Kind::StmtExecute, &execute(1)).await;
    server.expect_command(Kind::StmtExecute, &execute(1)).await;
    server.status |= StatusFlags::CURSOR_EXISTS;
    server.columns(&["n"]).await;
    if client.capabilities().contains(Capabilities::DEPRECATE_EOF) {
        server.end_of_rows().await;
    }
    let result = client.expect_result().await;
    assert!(result.status.contains(StatusFlags::CURSOR_EXISTS) && result.rows.is_empty());
    server.status -= StatusFlags::CURSOR_EXISTS;
}

/// Asks for rows of the cursor and reads them up to the packet that ends them, whose status this
/// returns.
async fn fetch(client: &mut Client, server: &mut Database, rows: &[&[u8]]) -> u8 {
    client.send_command(Kind::StmtFetch, &about_statement(&[2, 0, 0, 0])).await;
    server.expect_command(Kind::StmtFetch, &about_statement(&[2, 0, 0, 0])).await;
    for row in rows {
        server.send(row).await;
        client.expect(row).await;
    }
    server.end_of_rows().await;
    let end = client.read().await;
    assert_eq!(end[0], 0xfe);
    end[3]
}

#[test]
fn c17_a_cursor_gives_its_rows_in_portions() {
    for capabilities in [CAPABILITIES, CLASSIC] {
        play(async || {
            let (_stage, mut client, mut server) = session_of(&options().capabilities(capabilities)).await;
            prepare(&mut client, &mut server, 0, 1).await;
            open_cursor(&mut client, &mut server).await;
            fetch(&mut client, &mut server, &[&[0, 0, 1], &[0, 0, 2]]).await;
            expect_alive(&mut client, &mut server).await;
            server.status |= StatusFlags::LAST_ROW_SENT;
            let status = fetch(&mut client, &mut server, &[&[0, 0, 3]]).await;
            assert_eq!(status & 0x80, 0x80, "the last row was sent");
            expect_alive(&mut client, &mut server).await;
        });
    }
}

#[test]
fn c17_a_command_that_asks_for_a_cursor_may_be_cut_anywhere() {
    play(async || {
        let (_stage, mut client, mut server) = session_of(&options().capabilities(CLASSIC)).await;
        let payload = [&[Kind::StmtExecute as u8][..], &execute(1)].concat();
        let bytes = messages(0, &[&payload]);
        for at in 1..bytes.len() {
            let (first, second) = bytes.split_at(at);
            client.send_bytes(first).await;
            settle().await;
            client.send_bytes(second).await;
            server.expect_command(Kind::StmtExecute, &execute(1)).await;
            server.status |= StatusFlags::CURSOR_EXISTS;
            server.columns(&["n"]).await;
            server.status -= StatusFlags::CURSOR_EXISTS;
            client.packets().expect_seq(1);
            assert!(client.expect_result().await.rows.is_empty(), "cut at {at}");
        }
    });
}

#[test]
fn a_fetch_without_a_cursor_is_an_error() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_command(Kind::StmtFetch, &about_statement(&[2, 0, 0, 0])).await;
        server.expect_command(Kind::StmtFetch, &about_statement(&[2, 0, 0, 0])).await;
        server.err(1326, "24000", "Cursor is not open").await;
        client.expect_err(1326).await;
        expect_alive(&mut client, &mut server).await;
    });
}

#[test]
fn a_procedure_with_out_parameters_has_several_binary_results() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        client.send_command(Kind::StmtExecute, &execute(0)).await;
        server.expect_command(Kind::StmtExecute, &execute(0)).await;
        server.status |= StatusFlags::MORE_RESULTS;
        server.columns(&["n"]).await;
        server.send(&[0, 0, 1]).await;
        server.end_of_rows().await;
        server.status |= StatusFlags::PS_OUT_PARAMS;
        server.columns(&["out"]).await;
        server.send(&[0, 0, 2]).await;
        server.end_of_rows().await;
        server.status = StatusFlags::AUTOCOMMIT;
        server.ok().await;
        assert_eq!(client.expect_result().await.rows, [[0, 0, 1]]);
        assert_eq!(client.expect_result().await.rows, [[0, 0, 2]]);
        client.expect_ok().await;
        expect_alive(&mut client, &mut server).await;
    });
}
