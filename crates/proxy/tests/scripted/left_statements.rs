//! Prepared statements that stay at a connection when it becomes another session's: who executes
//! them there, and who must not.

use config::Config;
use wire::StatusFlags;
use wire::command::Kind;

use super::shared::{comes, config, two_of};
use super::shared_traces::{COLUMN, in_schema, prepared};
use super::support::{Client, Database, Servers, options, play, run};
use proxy::stage::Stage;

/// As many statements may stay.
pub(super) fn config_with(max_stmts_per_connection: u32) -> Config {
    let mut config = config();
    config.variables.max_stmts_per_connection = max_stmts_per_connection;
    config
}

async fn two() -> (Stage, Servers, Client, Client, Database) {
    two_of(config_with(20), &options(), &options()).await
}

/// The client prepares a statement, and the server calls it `id`.
pub(super) async fn prepares(client: &mut Client, server: &mut Database, sql: &str, id: u8) {
    client.send_command(Kind::StmtPrepare, sql.as_bytes()).await;
    server.expect_command(Kind::StmtPrepare, sql.as_bytes()).await;
    prepared(server, id, 0).await;
    client.read().await;
}

/// An execution of a statement without parameters.
fn execution(id: u8) -> [u8; 9] {
    [id, 0, 0, 0, 0, 1, 0, 0, 0]
}

/// What the client knows as `own` is executed as `id` at once.
pub(super) async fn executes(client: &mut Client, server: &mut Database, own: u8, id: u8) {
    client.send_command(Kind::StmtExecute, &execution(own)).await;
    server.expect_command(Kind::StmtExecute, &execution(id)).await;
    server.ok().await;
    client.expect_ok().await;
}

pub(super) async fn expect_close(server: &mut Database, id: u8) {
    server.expect_command(Kind::StmtClose, &u32::from(id).to_le_bytes()).await;
}

/// A statement of the session that gets the connection next, in front of which a statement of the
/// one before is closed.
async fn closes_and_runs(client: &mut Client, server: &mut Database, id: u8) {
    client.send_query("SELECT 2").await;
    expect_close(server, id).await;
    comes(client, server, "SELECT 2").await;
}

#[test]
fn c16_sessions_execute_what_another_one_has_left() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares(&mut one, &mut server, "DO 1", 1).await;
        run(&mut two, &mut server, "SELECT 2").await;
        executes(&mut one, &mut server, 1, 1).await;
        // Its client may call it something else.
        prepares(&mut two, &mut server, "SELECT 3", 2).await;
        prepares(&mut two, &mut server, "DO 1", 3).await;
        // Of two that are the same the later one stays.
        one.send_command(Kind::StmtExecute, &execution(1)).await;
        expect_close(&mut server, 1).await;
        server.expect_command(Kind::StmtExecute, &execution(3)).await;
        server.ok().await;
        one.expect_ok().await;
        executes(&mut two, &mut server, 3, 3).await;
        executes(&mut two, &mut server, 2, 2).await;
    });
}

/// Servers remember the parameter types of a statement from the session that has executed it last.
#[test]
fn c15_two_statements_of_one_text_remain_two() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares(&mut one, &mut server, "DO 1", 1).await;
        prepares(&mut one, &mut server, "DO 1", 2).await;
        executes(&mut one, &mut server, 1, 1).await;
        closes_and_runs(&mut two, &mut server, 1).await;
        executes(&mut one, &mut server, 1, 2).await;
        one.send_command(Kind::StmtExecute, &execution(2)).await;
        server.expect_command(Kind::StmtPrepare, b"DO 1").await;
        prepared(&mut server, 3, 0).await;
        server.expect_command(Kind::StmtExecute, &execution(3)).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

#[test]
fn c15_the_types_of_another_session_are_not_taken_for_ones_own() {
    /// An execution with one value, a number of eight bytes.
    const NUMBER: [u8; 21] = [2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0];
    /// The same with a text, and with another one, whose type is not told again.
    const TEXT: [u8; 15] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 253, 0, 1, b'a'];
    const TEXT_AGAIN: [u8; 13] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, b'b'];
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        for (client, id, execution) in [(&mut one, 1, &TEXT[..]), (&mut two, 2, &NUMBER)] {
            client.send_command(Kind::StmtPrepare, b"DO ?").await;
            server.expect_command(Kind::StmtPrepare, b"DO ?").await;
            server.send(&[0, id, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).await;
            server.send(&COLUMN).await;
            client.read().await;
            client.read().await;
            client.send_command(Kind::StmtExecute, execution).await;
            server.expect_command(Kind::StmtExecute, execution).await;
            server.ok().await;
            client.expect_ok().await;
        }
        one.send_command(Kind::StmtExecute, &TEXT_AGAIN).await;
        expect_close(&mut server, 1).await;
        server.expect_command(Kind::StmtExecute, &[2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 253, 0, 1, b'b']).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

/// Servers read a value without a type as texts were read when its type was sent.
#[test]
fn c32_a_value_without_a_type_is_in_the_character_set_of_its_type() {
    const TEXT: [u8; 15] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 253, 0, 1, b'a'];
    const TEXT_AGAIN: [u8; 13] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, b'b'];
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        one.send_command(Kind::StmtPrepare, b"DO ?").await;
        server.expect_command(Kind::StmtPrepare, b"DO ?").await;
        server.send(&[0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).await;
        server.send(&COLUMN).await;
        one.read().await;
        one.read().await;
        one.send_command(Kind::StmtExecute, &TEXT).await;
        server.expect_command(Kind::StmtExecute, &TEXT).await;
        server.ok().await;
        one.expect_ok().await;
        closes_and_runs(&mut two, &mut server, 1).await;
        one.send_query("SET NAMES latin1").await;
        server.expect_command(Kind::StmtPrepare, b"DO ?").await;
        server.send(&[0, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).await;
        server.send(&COLUMN).await;
        comes(&mut one, &mut server, "SET NAMES latin1").await;
        one.send_command(Kind::StmtExecute, &TEXT_AGAIN).await;
        one.expect_err(1615).await;
        one.send_command(Kind::StmtExecute, &TEXT).await;
        server.expect_command(Kind::StmtExecute, &[2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 253, 0, 1, b'a']).await;
        server.ok().await;
        one.expect_ok().await;
        one.send_command(Kind::StmtExecute, &TEXT_AGAIN).await;
        server.expect_command(Kind::StmtExecute, &[2, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, b'b']).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

#[test]
fn c15_what_a_server_has_changed_is_closed() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares(&mut one, &mut server, "DO 1", 1).await;
        one.send_command(Kind::StmtExecute, &execution(1)).await;
        server.expect_command(Kind::StmtExecute, &execution(1)).await;
        // SERVER_STATUS_METADATA_CHANGED, and autocommit.
        server.send(&[0, 0, 0, 2, 4, 0, 0]).await;
        one.read().await;
        closes_and_runs(&mut two, &mut server, 1).await;
    });
}

#[test]
fn c16_a_statement_that_has_got_long_data_is_not_shared() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares(&mut one, &mut server, "DO 1", 1).await;
        one.send_command(Kind::SendLongData, &[1, 0, 0, 0, 0, 0, b'x']).await;
        server.expect_command(Kind::SendLongData, &[1, 0, 0, 0, 0, 0, b'x']).await;
        one.send_command(Kind::StmtReset, &1_u32.to_le_bytes()).await;
        server.expect_command(Kind::StmtReset, &1_u32.to_le_bytes()).await;
        server.ok().await;
        one.expect_ok().await;
        closes_and_runs(&mut two, &mut server, 1).await;
    });
}

#[test]
fn a_statement_that_a_session_closed_is_not_executed() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares(&mut one, &mut server, "DO 1", 1).await;
        prepares(&mut two, &mut server, "DO 1", 2).await;
        two.send_command(Kind::StmtClose, &2_u32.to_le_bytes()).await;
        expect_close(&mut server, 2).await;
        executes(&mut one, &mut server, 1, 1).await;
        one.send_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        expect_close(&mut server, 1).await;
        prepares(&mut two, &mut server, "DO 1", 3).await;
    });
}

#[test]
fn c29_no_more_stay_than_may() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) =
            two_of(config_with(2), &options(), &options()).await;
        for (sql, id) in [("DO 1", 1), ("DO 2", 2), ("DO 3", 3)] {
            prepares(&mut one, &mut server, sql, id).await;
        }
        closes_and_runs(&mut two, &mut server, 1).await;
        executes(&mut one, &mut server, 3, 3).await;
        executes(&mut one, &mut server, 2, 2).await;
    });
}

/// Each of two clients may call a statement 1.
#[test]
fn c02_a_number_that_the_client_does_not_have_is_no_statement_of_another_session() {
    for kind in [Kind::StmtExecute, Kind::StmtReset] {
        play(async || {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            prepares(&mut one, &mut server, "DELETE FROM t", 1).await;
            let command = if kind == Kind::StmtExecute { &execution(1)[..] } else { &[1, 0, 0, 0] };
            two.send_command(kind, command).await;
            expect_close(&mut server, 1).await;
            server.expect_command(kind, command).await;
            server.err(1243, "HY000", "Unknown prepared statement handler").await;
            two.expect_err(1243).await;
        });
    }
}

#[test]
fn c02_nor_can_it_be_closed() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares(&mut one, &mut server, "DO 1", 1).await;
        run(&mut two, &mut server, "SELECT 2").await;
        two.send_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        run(&mut two, &mut server, "SELECT 3").await;
        executes(&mut one, &mut server, 1, 1).await;
    });
}

/// The same text reads another table in another schema.
#[test]
fn c15_a_statement_of_another_schema_is_another_one() {
    play(async || {
        let in_schema = |schema| options().schema(schema);
        let (_stage, _servers, mut one, mut two, mut server) =
            two_of(config_with(20), &in_schema("one"), &in_schema("two")).await;
        prepares(&mut two, &mut server, "SELECT a FROM t", 1).await;
        one.send_query("SELECT 1").await;
        server.expect_command(Kind::InitDb, b"one").await;
        server.ok().await;
        comes(&mut one, &mut server, "SELECT 1").await;
        prepares(&mut one, &mut server, "SELECT a FROM t", 2).await;
        two.send_command(Kind::StmtExecute, &execution(1)).await;
        server.expect_command(Kind::InitDb, b"two").await;
        server.ok().await;
        server.expect_command(Kind::StmtExecute, &execution(1)).await;
        server.ok().await;
        two.expect_ok().await;
    });
}

/// Where it could not be prepared the types were forgotten, and the next execution made no sense.
#[test]
fn c15_the_types_of_an_execution_that_was_refused_are_those_of_the_next_one() {
    const TYPED: [u8; 15] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 253, 0, 1, b'a'];
    const UNTYPED: [u8; 13] = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, b'b'];
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) =
            two_of(config_with(0), &options(), &options()).await;
        let answer = async |server: &mut Database, id: u8| {
            server.expect_command(Kind::StmtPrepare, b"DO ?").await;
            server.send(&[0, id, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).await;
            server.send(&COLUMN).await;
        };
        one.send_command(Kind::StmtPrepare, b"DO ?").await;
        answer(&mut server, 1).await;
        one.read().await;
        one.read().await;
        two.send_query("SELECT 2").await;
        expect_close(&mut server, 1).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        one.send_command(Kind::StmtExecute, &TYPED).await;
        server.expect_command(Kind::StmtPrepare, b"DO ?").await;
        server.err(1792, "25006", "Cannot execute statement in a READ ONLY transaction").await;
        one.expect_err(1792).await;
        one.send_command(Kind::StmtExecute, &UNTYPED).await;
        answer(&mut server, 5).await;
        server.expect_command(Kind::StmtExecute, &[5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 253, 0, 1, b'b']).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

/// The client is told once that a statement has other columns: a connection where it is prepared
/// with the old ones would have it told again.
#[test]
fn c15_a_client_that_was_told_of_other_columns_executes_no_statement_with_the_old_ones() {
    /// Two columns and no row.
    async fn has_two(server: &mut Database, client: &mut Client) -> Vec<u8> {
        server.send(&[2]).await;
        server.send(&COLUMN).await;
        server.send(&COLUMN).await;
        server.end_of_rows().await;
        for _ in 0..3 {
            client.read().await;
        }
        client.read().await
    }
    let prepares = async |client: &mut Client, server: &mut Database, id| {
        client.send_command(Kind::StmtPrepare, b"SELECT * FROM t").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT * FROM t").await;
        prepared(server, id, 1).await;
        client.read().await;
        client.read().await;
    };
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares(&mut one, &mut server, 1).await;
        one.send_command(Kind::StmtExecute, &execution(1)).await;
        server.expect_command(Kind::StmtExecute, &execution(1)).await;
        let plain = server.status;
        server.status |= StatusFlags::METADATA_CHANGED;
        has_two(&mut server, &mut one).await;
        server.status = plain;
        closes_and_runs(&mut two, &mut server, 1).await;
        prepares(&mut two, &mut server, 2).await;
        one.send_command(Kind::StmtExecute, &execution(1)).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT * FROM t").await;
        prepared(&mut server, 3, 2).await;
        server.expect_command(Kind::StmtExecute, &execution(3)).await;
        let end = has_two(&mut server, &mut one).await;
        assert_eq!(end, [0xfe, 0, 0, 2, 0, 0, 0], "it knows");
    });
}
