//! Prepared statements at MySQL, which converts values to what earlier ones were: no session gets a
//! statement for which the server remembers other values than the session's own.

use testkit::client::Options;
use wire::command::Kind;
use wire::{Capabilities, StatusFlags};

use super::compress::accept;
use super::left_statements::{config_with, expect_close};
use super::shared::{comes, let_in, two_of};
use super::shared_traces::COLUMN;
use super::support::{Client, Database, Servers, log_in_as, options, play, stage};
use proxy::stage::Stage;

/// An execution of the first statement with 7.
const NUMBER: &[u8] = &[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 8, 0, 7, 0, 0, 0, 0, 0, 0, 0];
/// With a NULL that is called a number.
const NULL: &[u8] = &[1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1, 8, 0];
/// With 'a'.
const TEXT: &[u8] = &[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 253, 0, 1, b'a'];
/// With 1.5.
const REAL: &[u8] = &[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f];
/// With a NULL whose type is not told again.
const UNTYPED: &[u8] = &[1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0];

/// Two clients with one connection to MySQL, where statements stay.
pub(super) async fn two_at_mysql() -> (Stage, Servers, Client, Client, Database) {
    let all: Options = options();
    let (stage, mut servers) = stage(config_with(20));
    let mut one = log_in_as(&stage, &all).await;
    one.send_query("DO 0").await;
    let (mut server, _) = accept(&mut servers, Capabilities::default()).await;
    comes(&mut one, &mut server, "DO 0").await;
    let mut two = log_in_as(&stage, &all).await;
    two.send_query("SELECT 0").await;
    let_in(&mut server).await;
    comes(&mut two, &mut server, "SELECT 0").await;
    (stage, servers, one, two, server)
}

/// The server is to prepare the statement, which it calls `id`.
async fn prepares(server: &mut Database, id: u8) {
    server.expect_command(Kind::StmtPrepare, b"DO ?").await;
    server.send(&[0, id, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).await;
    server.send(&COLUMN).await;
}

async fn prepare(client: &mut Client, server: &mut Database, id: u8) {
    client.send_command(Kind::StmtPrepare, b"DO ?").await;
    prepares(server, id).await;
    client.read().await;
    client.read().await;
}

/// The server executes the first statement of a client, which it calls `id`.
async fn executed(client: &mut Client, server: &mut Database, execution: &[u8], id: u8) {
    server.expect_command(Kind::StmtExecute, &[&[id], &execution[1..]].concat()).await;
    server.ok().await;
    client.expect_ok().await;
}

async fn executes(client: &mut Client, server: &mut Database, execution: &[u8], id: u8) {
    client.send_command(Kind::StmtExecute, execution).await;
    executed(client, server, execution, id).await;
}

/// Behind 23, MySQL says of `SELECT ?` with 'abc' that it is 0.
#[test]
fn c04_no_value_is_made_what_that_of_another_session_was() {
    for other in [TEXT, REAL, NULL] {
        play(async || {
            let (_stage, _servers, mut one, mut two, mut server) = two_at_mysql().await;
            prepare(&mut one, &mut server, 1).await;
            prepare(&mut two, &mut server, 2).await;
            // Of two that are the same the later one stays, and the first session to execute gets
            // it.
            one.send_command(Kind::StmtExecute, NUMBER).await;
            expect_close(&mut server, 1).await;
            executed(&mut one, &mut server, NUMBER, 2).await;
            two.send_command(Kind::StmtExecute, &[&[2], &other[1..]].concat()).await;
            prepares(&mut server, 3).await;
            executed(&mut two, &mut server, other, 3).await;
            // From now on each finds its own.
            executes(&mut one, &mut server, NUMBER, 2).await;
            two.send_command(Kind::StmtExecute, &[&[2], &other[1..]].concat()).await;
            executed(&mut two, &mut server, other, 3).await;
            executes(&mut one, &mut server, TEXT, 2).await;
        });
    }
}

/// Who says the same as others goes on with what they have left.
#[test]
fn c16_sessions_with_values_of_the_same_types_share_statements() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two_at_mysql().await;
        prepare(&mut one, &mut server, 1).await;
        executes(&mut one, &mut server, NUMBER, 1).await;
        prepare(&mut two, &mut server, 2).await;
        let second = |execution: &[u8]| [&[2], &execution[1..]].concat();
        two.send_command(Kind::StmtExecute, &second(NUMBER)).await;
        executed(&mut two, &mut server, NUMBER, 2).await;
        // Of two that are the same the later one stays. A NULL leaves it as it is.
        one.send_command(Kind::StmtExecute, UNTYPED).await;
        expect_close(&mut server, 1).await;
        let typed = [&UNTYPED[..10], &[1, 8, 0]].concat();
        executed(&mut one, &mut server, &typed, 2).await;
        two.send_command(Kind::StmtExecute, &second(TEXT)).await;
        executed(&mut two, &mut server, TEXT, 2).await;
        executes(&mut one, &mut server, NUMBER, 2).await;
    });
}

/// MariaDB takes a value that is sent in parts for what the value before was: behind a number it
/// returns an address of its memory.
#[test]
fn c04_a_value_in_parts_never_goes_to_a_statement_that_others_have_executed() {
    let part = |id: u8| [id, 0, 0, 0, 0, 0, b'x'];
    for is_executed_before in [false, true] {
        play(async || {
            let (_stage, _servers, mut one, mut two, mut server) =
                two_of(config_with(20), &options(), &options()).await;
            prepare(&mut two, &mut server, 1).await;
            prepare(&mut one, &mut server, 2).await;
            two.send_query("SELECT 2").await;
            expect_close(&mut server, 1).await;
            comes(&mut two, &mut server, "SELECT 2").await;
            let second = |execution: &[u8]| [&[2], &execution[1..]].concat();
            one.send_command(Kind::StmtExecute, &second(NUMBER)).await;
            executed(&mut one, &mut server, NUMBER, 2).await;
            if is_executed_before {
                // Then it is as if it were his own.
                executes(&mut two, &mut server, TEXT, 2).await;
            }
            two.send_command(Kind::SendLongData, &part(1)).await;
            let id = if is_executed_before {
                2
            } else {
                prepares(&mut server, 3).await;
                3
            };
            server.expect_command(Kind::SendLongData, &part(id)).await;
            executes(&mut two, &mut server, TEXT, id).await;
        });
    }
}

/// Later it would be prepared in another schema.
#[test]
fn c04_a_statement_that_may_get_values_in_parts_is_prepared_before_the_schema_changes() {
    play(async || {
        let in_one = options().schema("db");
        let (_stage, _servers, mut one, mut two, mut server) =
            two_of(config_with(20), &in_one, &in_one).await;
        prepare(&mut two, &mut server, 1).await;
        prepare(&mut one, &mut server, 2).await;
        two.send_query("USE other").await;
        expect_close(&mut server, 1).await;
        prepares(&mut server, 3).await;
        comes(&mut two, &mut server, "USE other").await;
        two.send_command(Kind::SendLongData, &[1, 0, 0, 0, 0, 0, b'x']).await;
        server.expect_command(Kind::SendLongData, &[3, 0, 0, 0, 0, 0, b'x']).await;
        executes(&mut two, &mut server, TEXT, 3).await;
    });
}

/// What values of two types come to depends on their order.
#[test]
fn c04_a_statement_that_has_had_values_of_several_types_is_not_shared() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two_at_mysql().await;
        prepare(&mut one, &mut server, 1).await;
        executes(&mut one, &mut server, NUMBER, 1).await;
        executes(&mut one, &mut server, REAL, 1).await;
        two.send_query("SELECT 2").await;
        expect_close(&mut server, 1).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        one.send_command(Kind::StmtExecute, NUMBER).await;
        prepares(&mut server, 4).await;
        executed(&mut one, &mut server, NUMBER, 4).await;
    });
}

/// The client has told them, and does not know that its execution came to no server.
#[test]
fn c04_types_of_an_execution_that_was_refused_hold_for_the_next_one() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two_at_mysql().await;
        prepare(&mut one, &mut server, 1).await;
        two.send_query("BEGIN").await;
        server.expect_query("BEGIN").await;
        server.status |= StatusFlags::IN_TRANSACTION;
        server.ok().await;
        two.expect_ok().await;
        one.send_command(Kind::StmtExecute, NUMBER).await;
        one.expect_err(9001).await;
        two.send_query("COMMIT").await;
        server.expect_query("COMMIT").await;
        server.status -= StatusFlags::IN_TRANSACTION;
        server.ok().await;
        two.expect_ok().await;
        one.send_command(Kind::StmtExecute, UNTYPED).await;
        let typed = [&UNTYPED[..10], &[1, 8, 0]].concat();
        executed(&mut one, &mut server, &typed, 1).await;
    });
}
