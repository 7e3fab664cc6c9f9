//! Answers of the query cache for clients that keep the columns of prepared statements (MariaDB's
//! capability `CACHE_METADATA`): servers leave out of an execution what the client knows.

use config::QueryRule;
use proxy::stage::Stage;
use testkit::client::CAPABILITIES;
use wire::command::Kind;
use wire::{Capabilities, packet};

use super::cached::cached;
use super::renewed::{accept, keeps_columns_in};
use super::support::{Client, Database, Servers, log_in_as, options, play};

const TEXT: &[u8] = b"SELECT a FROM t";
const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c?\0\x01\0\0\0\x01\0\0\0\0\0";
const OTHER: &[u8] = b"\x03def\0\0\0\x01b\0\x0c?\0\x01\0\0\0\x01\0\0\0\0\0";
const END: &[u8] = b"\xfe\0\0\x02\0\0\0";

/// The statement 5 is executed without parameters.
const EXECUTION: [u8; 9] = [5, 0, 0, 0, 0, 1, 0, 0, 0];

async fn session() -> (Stage, Servers, Client) {
    keeps_columns_in(cached(), CAPABILITIES).await
}

/// The client prepares the statement over a connection of its own, and is told this column.
async fn prepare(client: &mut Client, servers: &mut Servers, column: &[u8]) -> Database {
    client.send_command(Kind::StmtPrepare, TEXT).await;
    let mut server = accept(servers).await;
    server.expect_command(Kind::StmtPrepare, TEXT).await;
    let ok =
        packet::PrepareOk { statement_id: 5, columns: 1, params: 0, warnings: 0, metadata_follows: None };
    server.send_packet(&ok).await;
    server.send(column).await;
    client.read().await;
    client.expect(column).await;
    server
}

/// An execution that the server answers with these packets in front of the row.
async fn miss(client: &mut Client, server: &mut Database, head: &[&[u8]], value: u8) {
    client.send_command(Kind::StmtExecute, &EXECUTION).await;
    server.expect_command(Kind::StmtExecute, &EXECUTION).await;
    let row: &[u8] = &[0, 0, value];
    for packet in head.iter().chain(&[row, END]) {
        server.send(packet).await;
    }
    for packet in head.iter().chain(&[row, END]) {
        client.expect(packet).await;
    }
}

/// An execution that no server sees.
async fn hit(client: &mut Client, value: u8) {
    client.send_command(Kind::StmtExecute, &EXECUTION).await;
    for packet in [b"\x01\0", &[0, 0, value][..], END] {
        client.expect(packet).await;
    }
}

async fn another(stage: &Stage) -> Client {
    let caches = (CAPABILITIES - Capabilities::LONG_PASSWORD) | Capabilities::MARIADB_CACHE_METADATA;
    log_in_as(stage, &options().capabilities(caches)).await
}

#[test]
fn c15_rows_alone_are_given_again_to_clients_that_know_the_same_columns() {
    play(async || {
        let (stage, mut servers, mut client) = session().await;
        let mut server = prepare(&mut client, &mut servers, COLUMN).await;
        miss(&mut client, &mut server, &[b"\x01\0"], 7).await;
        hit(&mut client, 7).await;
        let mut same = another(&stage).await;
        let _its_server = prepare(&mut same, &mut servers, COLUMN).await;
        hit(&mut same, 7).await;
        // The table was changed in between.
        let mut other = another(&stage).await;
        let mut its_server = prepare(&mut other, &mut servers, OTHER).await;
        miss(&mut other, &mut its_server, &[b"\x01\0"], 8).await;
        hit(&mut other, 8).await;
        hit(&mut client, 7).await;
    });
}

/// Of some columns the preparation does not know all yet.
#[test]
fn c15_a_client_that_was_told_other_columns_gets_the_answers_to_these() {
    play(async || {
        let (stage, mut servers, mut client) = session().await;
        let mut server = prepare(&mut client, &mut servers, COLUMN).await;
        miss(&mut client, &mut server, &[b"\x01\x01", OTHER], 7).await;
        let not_stored = stage.cache().not_stored_text();
        assert_eq!(not_stored, "other columns than it was prepared with=1");
        // What the server leaves out now are those.
        miss(&mut client, &mut server, &[b"\x01\0"], 8).await;
        hit(&mut client, 8).await;
        // Another one that knows the ones from before gets none of these.
        let mut before = another(&stage).await;
        let mut its_server = prepare(&mut before, &mut servers, COLUMN).await;
        miss(&mut before, &mut its_server, &[b"\x01\0"], 9).await;
        hit(&mut before, 9).await;
        hit(&mut client, 8).await;
    });
}

#[test]
fn c15_a_client_gets_no_answers_if_it_is_not_known_what_it_was_told() {
    play(async || {
        let (stage, mut servers, mut client) = session().await;
        let mut elsewhere = cached();
        let rule = QueryRule { match_digest: Some("^DELETE".to_owned()), ..elsewhere.query_rules[0].clone() };
        elsewhere.query_rules = vec![rule].into();
        stage.apply(elsewhere).unwrap();
        let mut server = prepare(&mut client, &mut servers, COLUMN).await;
        miss(&mut client, &mut server, &[b"\x01\0"], 6).await;
        // No rule caches it, so this is not looked at.
        miss(&mut client, &mut server, &[b"\x01\x01", OTHER], 7).await;
        stage.apply(cached()).unwrap();
        for value in [8, 9] {
            miss(&mut client, &mut server, &[b"\x01\0"], value).await;
        }
        assert_eq!(stage.cache().refused_text(), "the client keeps columns=2");
        // It is told anew.
        miss(&mut client, &mut server, &[b"\x01\x01", COLUMN], 10).await;
        miss(&mut client, &mut server, &[b"\x01\0"], 11).await;
        hit(&mut client, 11).await;
    });
}
