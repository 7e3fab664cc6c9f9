//! Attributes of statements that say which side of a replication pair they want.

use proxy::stage::Stage;
use testkit::client::CAPABILITIES;
use wire::Capabilities;
use wire::command::{Kind, StmtExecute};

use super::pipeline::accept_with;
use super::split_prepared::prepare;
use super::support::{Client, Database, log_in, log_in_as, options, pair_of_servers, play, stage};

const ANNOUNCED: Capabilities = CAPABILITIES.union(Capabilities::QUERY_ATTRIBUTES);

struct Scene {
    _stage: Stage,
    client: Client,
    writer: Database,
    reader: Database,
}

/// A session that has written and read, with attributes.
async fn scene() -> Scene {
    let (stage, mut servers) = stage(pair_of_servers());
    // From the login to a server the proxy learns what it can offer to the next client.
    let mut first = log_in(&stage).await;
    first.send_query("DO 0").await;
    let _database = accept_with(&mut servers, ANNOUNCED).await;
    let mut client = log_in_as(&stage, &options().capabilities(ANNOUNCED)).await;
    let delete = b"\0\x01DELETE FROM t";
    client.send_command(Kind::Query, delete).await;
    let mut writer = accept_with(&mut servers, ANNOUNCED).await;
    writer.expect_command(Kind::Query, delete).await;
    writer.ok().await;
    client.expect_ok().await;
    client.send_command(Kind::Query, b"\0\x01SELECT a FROM t").await;
    let mut reader = accept_with(&mut servers, ANNOUNCED).await;
    reader.expect_command(Kind::Query, b"\0\x01SELECT a FROM t").await;
    reader.ok().await;
    client.expect_ok().await;
    Scene { _stage: stage, client, writer, reader }
}

/// An execution with the value 5 for a number, and with attributes of type `VARCHAR`.
pub(super) fn execution(id: [u8; 4], attributes: &[(&[u8], &[u8])]) -> Vec<u8> {
    let text = |text: &[u8]| [&[u8::try_from(text.len()).unwrap()], text].concat();
    let count = u8::try_from(attributes.len() + 1).unwrap();
    let mut body = [&id[..], &[StmtExecute::PARAM_COUNT, 1, 0, 0, 0, count, 0, 1], b"\x03\0\0"].concat();
    for (name, _) in attributes {
        body.extend([&b"\xfe\0"[..], &text(name)].concat());
    }
    body.extend(5_u32.to_le_bytes());
    for (_, value) in attributes {
        body.extend(text(value));
    }
    body
}

/// A statement runs at this server, which knows it as `known_as`, with all that the client has
/// said.
async fn run(
    client: &mut Client,
    server: &mut Database,
    (id, known_as): ([u8; 4], [u8; 4]),
    attributes: &[(&[u8], &[u8])],
) {
    client.send_command(Kind::StmtExecute, &execution(id, attributes)).await;
    server.expect_command(Kind::StmtExecute, &execution(known_as, attributes)).await;
    server.ok().await;
    client.expect_ok().await;
}

const ASKS_TO_READ: (&[u8], &[u8]) = (b"access_mode", b"read_only");
const ASKS_TO_WRITE: (&[u8], &[u8]) = (b"access_mode", b"read_write");
const OTHER: (&[u8], &[u8]) = (b"traceparent", b"read_only");

#[test]
fn an_execution_goes_where_its_attribute_says() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene().await;
        let sql = b"SELECT a FROM t WHERE b = ?";
        let id = prepare(&mut client, &mut reader, sql, 7).await;
        for attributes in [&[][..], &[ASKS_TO_READ], &[OTHER], &[(b"access_mode", b"both")]] {
            run(&mut client, &mut reader, (id, id), attributes).await;
        }
        client.send_command(Kind::StmtExecute, &execution(id, &[OTHER, ASKS_TO_WRITE])).await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        super::split_prepared::prepared(&mut writer, 3).await;
        let at_writer = 3_u32.to_le_bytes();
        writer.expect_command(Kind::StmtExecute, &execution(at_writer, &[OTHER, ASKS_TO_WRITE])).await;
        writer.ok().await;
        client.expect_ok().await;
        run(&mut client, &mut writer, (id, at_writer), &[ASKS_TO_WRITE]).await;
        // It holds for one execution.
        run(&mut client, &mut reader, (id, id), &[]).await;
    });
}

#[test]
fn an_execution_with_doubtful_effects_may_be_sent_to_a_reader() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene().await;
        // What certainly writes stays where it belongs, whatever the client says.
        let id = prepare(&mut client, &mut writer, b"UPDATE t SET a = ?", 9).await;
        run(&mut client, &mut writer, (id, id), &[ASKS_TO_READ]).await;
        let sql = b"SELECT f(?)";
        let id = prepare(&mut client, &mut writer, sql, 7).await;
        run(&mut client, &mut writer, (id, id), &[]).await;
        client.send_command(Kind::StmtExecute, &execution(id, &[ASKS_TO_READ])).await;
        reader.expect_command(Kind::StmtPrepare, sql).await;
        super::split_prepared::prepared(&mut reader, 3).await;
        reader.expect_command(Kind::StmtExecute, &execution(3_u32.to_le_bytes(), &[ASKS_TO_READ])).await;
        reader.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn types_that_are_said_again_are_those_of_the_parameters() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene().await;
        let sql = b"SELECT a FROM t WHERE b = ?";
        let id = prepare(&mut client, &mut reader, sql, 7).await;
        run(&mut client, &mut reader, (id, id), &[OTHER]).await;
        client.send_command(Kind::Query, b"\0\x01BEGIN").await;
        writer.expect_command(Kind::Query, b"\0\x01BEGIN").await;
        writer.status |= wire::StatusFlags::IN_TRANSACTION;
        writer.ok().await;
        client.expect_ok().await;
        // Without types: they are those of last time.
        let rest = b"\x08\x01\0\0\0\x01\0\0\x06\0\0\0";
        client.send_command(Kind::StmtExecute, &[&id[..], rest].concat()).await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        super::split_prepared::prepared(&mut writer, 3).await;
        let told = b"\x03\0\0\0\x08\x01\0\0\0\x01\0\x01\x03\0\0\x06\0\0\0";
        writer.expect_command(Kind::StmtExecute, told).await;
        writer.ok().await;
        client.expect_ok().await;
    });
}
