//! Prepared statements that a server wants to have prepared again (error 1615), and those that cannot be executed twice.

use wire::command::Kind;
use wire::{Codec as _, StatusFlags, packet};

use super::support::{Client, Database, begin, play, session};

/// The text of every statement here.
const TEXT: &[u8] = b"SELECT a FROM t";

/// The body of an execute of this statement, without parameters.
fn execute(id: u32) -> Vec<u8> {
    [&id.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat()
}

/// The server prepares the statement, and calls it `id`.
async fn prepared(server: &mut Database, id: u32) -> packet::PrepareOk {
    server.expect_command(Kind::StmtPrepare, TEXT).await;
    let ok =
        packet::PrepareOk { statement_id: id, columns: 0, params: 0, warnings: 0, metadata_follows: None };
    server.send_packet(&ok).await;
    ok
}

/// The client prepares a statement, which the server calls 5.
async fn prepare(client: &mut Client, server: &mut Database) {
    client.send_command(Kind::StmtPrepare, TEXT).await;
    let ok = prepared(server, 5).await;
    let answer = ok.encode(client.capabilities());
    client.expect(&answer).await;
}

/// The server is asked to execute what it calls `id`, and wants to have it prepared again.
async fn wants_it_again(server: &mut Database, id: u32) {
    server.expect_command(Kind::StmtExecute, &execute(id)).await;
    server.err(1615, "HY000", "Prepared statement needs to be re-prepared").await;
}

/// The proxy does that; the server calls it `id` from now on.
async fn gets_it_again(server: &mut Database, before: u32, id: u32) {
    server.expect_command(Kind::StmtClose, &before.to_le_bytes()).await;
    prepared(server, id).await;
}

#[test]
fn a_statement_that_needs_it_is_prepared_again() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        begin(&mut client, &mut server).await;
        prepare(&mut client, &mut server).await;
        client.send_command(Kind::StmtExecute, &execute(5)).await;
        wants_it_again(&mut server, 5).await;
        gets_it_again(&mut server, 5, 6).await;
        server.expect_command(Kind::StmtExecute, &execute(6)).await;
        server.ok().await;
        client.expect_ok().await;
        // It is called so from now on, and the client does not know.
        client.send_command(Kind::StmtExecute, &execute(5)).await;
        server.expect_command(Kind::StmtExecute, &execute(6)).await;
        server.ok().await;
        assert!(
            client.expect_ok().await.status.contains(StatusFlags::IN_TRANSACTION),
            "the transaction goes on"
        );
    });
}

#[test]
fn a_statement_is_not_prepared_again_for_ever() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        prepare(&mut client, &mut server).await;
        for _ in 0..2 {
            client.send_command(Kind::StmtExecute, &execute(5)).await;
            // Whatever it is called by then.
            let command = server.read_command().await;
            let mut id = u32::from_le_bytes(command[1..5].try_into().unwrap());
            for _ in 0..3 {
                server.err(1615, "HY000", "Prepared statement needs to be re-prepared").await;
                gets_it_again(&mut server, id, id + 1).await;
                id += 1;
                server.expect_command(Kind::StmtExecute, &execute(id)).await;
            }
            server.err(1615, "HY000", "Prepared statement needs to be re-prepared").await;
            client.expect_err(1615).await;
        }
    });
}

#[test]
fn a_statement_that_cannot_be_prepared_any_more_is_told_as_it_was() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        prepare(&mut client, &mut server).await;
        client.send_command(Kind::StmtExecute, &execute(5)).await;
        wants_it_again(&mut server, 5).await;
        server.expect_command(Kind::StmtClose, &5u32.to_le_bytes()).await;
        server.expect_command(Kind::StmtPrepare, TEXT).await;
        server.err(1146, "42S02", "Table 't' doesn't exist").await;
        client.expect_err(1615).await;
    });
}

/// The values would be missing.
#[test]
fn c16_an_execution_with_values_in_parts_is_not_sent_twice() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        prepare(&mut client, &mut server).await;
        let part = [&5u32.to_le_bytes()[..], &[0, 0], b"x"].concat();
        client.send_command(Kind::SendLongData, &part).await;
        server.expect_command(Kind::SendLongData, &part).await;
        client.send_command(Kind::StmtExecute, &execute(5)).await;
        wants_it_again(&mut server, 5).await;
        client.expect_err(1615).await;
        client.send_command(Kind::SendLongData, &part).await;
        server.expect_command(Kind::SendLongData, &part).await;
        client.send_command(Kind::StmtExecute, &execute(5)).await;
        server.expect_command(Kind::StmtExecute, &execute(5)).await;
        drop(server);
        client.expect_err(1213).await;
    });
}
