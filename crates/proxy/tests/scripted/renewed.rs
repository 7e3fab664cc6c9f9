//! Prepared statements that a server wants to have prepared again (error 1615), and those that
//! cannot be executed twice.

use config::Config;
use proxy::stage::Stage;
use testkit::client::CAPABILITIES;
use testkit::script::{CAPABILITIES as SERVERS, NONCE, ScriptedServer};
use wire::command::Kind;
use wire::{Capabilities, Codec as _, StatusFlags, packet};

use super::support::{
    self, CLASSIC, Client, Database, Servers, begin, config, log_in, log_in_as, options, play, prepare_ok,
    secs, session, session_in, settle, stage,
};

/// The text of every statement here.
const TEXT: &[u8] = b"SELECT a FROM t";

/// Bytes of texts that are kept for one session.
const KEPT: usize = 8 << 20;

/// The body of an execute of this statement, without parameters.
fn execute(id: u32) -> Vec<u8> {
    [&id.to_le_bytes()[..], &[0, 1, 0, 0, 0]].concat()
}

/// The server prepares the statement, and calls it `id`.
async fn prepared(server: &mut Database, id: u32) -> packet::PrepareOk {
    server.expect_command(Kind::StmtPrepare, TEXT).await;
    let ok = prepare_ok(id);
    server.send_packet(&ok).await;
    ok
}

/// The client prepares a statement, which the server calls 5.
async fn prepare(client: &mut Client, server: &mut Database) {
    support::prepare(client, server, TEXT, 5).await;
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

/// The client executes its statement, which the server wants to be prepared again after two
/// seconds. Returns how many commands there were before.
async fn executes_for_long(stage: &Stage, client: &mut Client, server: &mut Database) -> u64 {
    let before = stage.global("Questions");
    let _ = stage.take_digests();
    client.send_command(Kind::StmtExecute, &execute(5)).await;
    tokio::time::sleep(secs(2)).await;
    wants_it_again(server, 5).await;
    gets_it_again(server, 5, 6).await;
    before
}

/// It was counted as often as its server got it, with an error that its client never saw.
#[test]
fn a_statement_that_is_prepared_again_is_one_statement() {
    let mut config = config();
    config.users[0].attributes.max_concurrent = Some(1);
    play(async || {
        let (stage, _servers, mut client, mut server) = session_in(config.clone()).await;
        prepare(&mut client, &mut server).await;
        let before = executes_for_long(&stage, &mut client, &mut server).await;
        server.expect_command(Kind::StmtExecute, &execute(6)).await;
        let running = &stage.processes()[0];
        assert!(running.time >= secs(2), "{running:?}");
        server.ok().await;
        client.expect_ok().await;
        assert_eq!(stage.global("Questions") - before, 1);
        assert_eq!(stage.global("Com_frontend_stmt_execute"), 1);
        assert_eq!(stage.global("Com_backend_stmt_execute"), 2);
        assert_eq!(stage.errors(false).len(), 0);
        assert_eq!(stage.take_digests().iter().map(|digest| digest.count).sum::<u64>(), 1);
        // What its client does see is counted.
        client.send_command(Kind::StmtExecute, &execute(5)).await;
        wants_it_again(&mut server, 6).await;
        server.expect_command(Kind::StmtClose, &6_u32.to_le_bytes()).await;
        server.expect_command(Kind::StmtPrepare, TEXT).await;
        server.err(1146, "42S02", "Table 't' doesn't exist").await;
        client.expect_err(1615).await;
        let errors = stage.errors(false);
        assert_eq!(errors.iter().map(|error| error.code).collect::<Vec<_>>(), [1615]);
        assert_eq!(stage.take_digests().iter().map(|digest| digest.count).sum::<u64>(), 1);
    });
}

/// It ran unseen: nothing was counted, logged or shown of it.
#[test]
fn a_statement_that_is_prepared_again_and_goes_on_elsewhere_is_one_statement() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session_in(config()).await;
        prepare(&mut client, &mut server).await;
        let before = executes_for_long(&stage, &mut client, &mut server).await;
        drop(server);
        let mut server = servers.accept().await;
        prepared(&mut server, 1).await;
        server.expect_command(Kind::StmtExecute, &execute(1)).await;
        let running = &stage.processes()[0];
        assert!(running.time >= secs(2), "{running:?}");
        server.ok().await;
        client.expect_ok().await;
        assert_eq!(stage.global("Questions") - before, 1);
        assert_eq!(stage.take_digests().iter().map(|digest| digest.count).sum::<u64>(), 1);
    });
}

/// The answer was Done, and the statement went on.
#[test]
fn a_statement_is_killed_while_it_is_prepared_again() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        prepare(&mut client, &mut server).await;
        client.send_command(Kind::StmtExecute, &execute(5)).await;
        wants_it_again(&mut server, 5).await;
        server.expect_command(Kind::StmtClose, &5_u32.to_le_bytes()).await;
        server.expect_command(Kind::StmtPrepare, TEXT).await;
        let mut other = log_in(&stage).await;
        let id = stage.processes().iter().map(|row| row.id).min().unwrap();
        other.send_query(&format!("KILL QUERY {id}")).await;
        settle().await;
        let ok = prepare_ok(6);
        server.send_packet(&ok).await;
        client.expect_err(1317).await;
        other.expect_ok().await;
        client.send_command(Kind::StmtExecute, &execute(5)).await;
        server.expect_command(Kind::StmtExecute, &execute(6)).await;
        server.ok().await;
        client.expect_ok().await;
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

/// What a server says that has MariaDB's own capabilities.
fn mariadb() -> packet::Greeting<'static> {
    packet::Greeting {
        server_version: b"5.5.5-10.11.6-MariaDB-scripted",
        connection_id: 7,
        nonce: NONCE,
        capabilities: (SERVERS - Capabilities::LONG_PASSWORD) | Capabilities::MARIADB_CACHE_METADATA,
        collation: 45,
        status: StatusFlags::AUTOCOMMIT,
        auth_plugin: b"mysql_native_password",
    }
}

/// The next connection, to such a server.
pub(super) async fn accept(servers: &mut Servers) -> Database {
    let mut server = ScriptedServer::new(servers.dialled().await.1);
    server.greet_with(&mariadb()).await;
    let login = server.read_login().await;
    server.let_in(&login).await;
    server
}

/// A client of MariaDB's with these capabilities, which keeps what it is told of columns. It is
/// known that its server can do that: another one has been there.
async fn keeps_columns(capabilities: Capabilities) -> (Stage, Servers, Client) {
    keeps_columns_in(config(), capabilities).await
}

/// The same with a configuration.
pub(super) async fn keeps_columns_in(config: Config, capabilities: Capabilities) -> (Stage, Servers, Client) {
    let (stage, mut servers) = stage(config);
    let mut first = log_in(&stage).await;
    first.send_query("DO 0").await;
    let mut known = accept(&mut servers).await;
    known.expect_query("DO 0").await;
    known.ok().await;
    first.expect_ok().await;
    let caches = (capabilities - Capabilities::LONG_PASSWORD) | Capabilities::MARIADB_CACHE_METADATA;
    let client = log_in_as(&stage, &options().capabilities(caches)).await;
    (stage, servers, client)
}

/// A statement with one column, and what the server says of that.
async fn tells(server: &mut Database, id: u32, column: &[u8]) {
    server.expect_command(Kind::StmtPrepare, TEXT).await;
    let ok =
        packet::PrepareOk { statement_id: id, columns: 1, params: 0, warnings: 0, metadata_follows: None };
    server.send_packet(&ok).await;
    server.send(column).await;
}

/// Servers leave out columns that they have told before. After a loss they have told them to the
/// proxy, which has prepared the statement again.
#[test]
fn c15_a_client_that_keeps_columns_hears_that_they_are_others() {
    for (again, is_same) in [(&b"a column"[..], true), (b"another one", false)] {
        play(async || {
            let (_stage, mut servers, mut client) = keeps_columns(CAPABILITIES).await;
            client.send_command(Kind::StmtPrepare, TEXT).await;
            let mut server = accept(&mut servers).await;
            tells(&mut server, 5, b"a column").await;
            client.read().await;
            client.expect(b"a column").await;
            drop(server);
            settle().await;
            client.send_command(Kind::StmtExecute, &execute(5)).await;
            let mut server = accept(&mut servers).await;
            tells(&mut server, 5, again).await;
            if is_same {
                server.expect_command(Kind::StmtExecute, &execute(5)).await;
                server.ok().await;
                client.expect_ok().await;
            } else {
                server.expect_command(Kind::StmtClose, &5u32.to_le_bytes()).await;
                client.expect_err(1615).await;
            }
        });
    }
}

/// What ends the columns says in which state the session is.
#[test]
fn c15_columns_are_the_same_whatever_is_said_of_the_session() {
    play(async || {
        let (_stage, mut servers, mut client) = keeps_columns(CLASSIC).await;
        client.send_command(Kind::StmtPrepare, TEXT).await;
        let mut server = accept(&mut servers).await;
        tells(&mut server, 5, b"a column").await;
        server.send(b"\xfe\0\0\x02\0").await;
        for packet in 0..3 {
            assert!(!client.read().await.is_empty(), "{packet}");
        }
        drop(server);
        settle().await;
        client.send_command(Kind::StmtExecute, &execute(5)).await;
        let mut server = accept(&mut servers).await;
        tells(&mut server, 5, b"a column").await;
        server.send(b"\xfe\0\0\x22\0").await;
        server.expect_command(Kind::StmtExecute, &execute(5)).await;
        server.ok().await;
        client.expect_ok().await;
    });
}

/// The proxy could not prepare it anew.
#[test]
fn a_statement_whose_text_is_not_kept_stays_where_it_is() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let text = [TEXT, &vec![b' '; 60_000]].concat();
        let last = u32::try_from(KEPT / text.len()).unwrap() + 1;
        for id in 1..=last {
            support::prepare(&mut client, &mut server, &text, id).await;
        }
        client.send_command(Kind::StmtExecute, &execute(last)).await;
        wants_it_again(&mut server, last).await;
        client.expect_err(1615).await;
        client.send_command(Kind::StmtExecute, &execute(last)).await;
        server.expect_command(Kind::StmtExecute, &execute(last)).await;
        server.ok().await;
        client.expect_ok().await;
    });
}

/// The next execution heard that it does not exist (1243).
#[test]
fn c16_a_statement_that_came_in_pieces_outlives_its_server() {
    for shared in [false, true] {
        let mut config = config();
        config.variables.multiplexing = shared;
        play(async || {
            let (_stage, mut servers, mut client, mut server) = session_in(config.clone()).await;
            let text = [TEXT, &vec![b' '; 1 << 20], b"WHERE a = 1"].concat();
            let ok = prepare_ok(5);
            tokio::join!(
                client.send_command(Kind::StmtPrepare, &text),
                server.expect_command(Kind::StmtPrepare, &text),
            );
            server.send_packet(&ok).await;
            let answer = ok.encode(client.capabilities());
            client.expect(&answer).await;
            drop(server);
            settle().await;
            client.send_command(Kind::StmtExecute, &execute(5)).await;
            let mut server = servers.accept().await;
            server.expect_command(Kind::StmtPrepare, &text).await;
            server.send_packet(&packet::PrepareOk { statement_id: 1, ..ok }).await;
            server.expect_command(Kind::StmtExecute, &execute(1)).await;
            server.ok().await;
            client.expect_ok().await;
        });
    }
}

/// Of a statement that is too large to be kept the proxy has only a part; the part alone may be a
/// statement as well.
#[test]
fn c16_a_statement_that_came_in_pieces_is_not_prepared_anew_without_the_last_ones() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        let text = [TEXT, &vec![b' '; KEPT], b"WHERE a = 1"].concat();
        tokio::join!(
            client.send_command(Kind::StmtPrepare, &text),
            server.expect_command(Kind::StmtPrepare, &text),
        );
        let ok = prepare_ok(5);
        server.send_packet(&ok).await;
        let answer = ok.encode(client.capabilities());
        client.expect(&answer).await;
        client.send_command(Kind::StmtExecute, &execute(5)).await;
        wants_it_again(&mut server, 5).await;
        client.expect_err(1615).await;
        client.send_command(Kind::StmtExecute, &execute(5)).await;
        server.expect_command(Kind::StmtExecute, &execute(5)).await;
        server.ok().await;
        client.expect_ok().await;
    });
}
