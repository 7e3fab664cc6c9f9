//! Prepared statements of a session that writes and reads at different servers.

use config::{Config, QueryRule};
use tokio::join;
use wire::StatusFlags;
use wire::command::Kind;

use super::shared::let_in;
use super::split::{Scene, rule, rules, scene};
use super::support::{Client, Database, log_in, pair_of_servers, play, run};

/// The answer to a `COM_STMT_PREPARE`: this number, one parameter, no column.
pub(super) async fn prepared(server: &mut Database, id: u32) {
    let head = [&[0][..], &id.to_le_bytes(), &[0, 0, 1, 0, 0, 0, 0]].concat();
    server.send(&head).await;
    server.send(b"\x03def\0\0\0\x01?\0\x0c\x3f\0\0\0\0\0\x03\0\0\0\0\0").await;
}

/// Has a statement prepared by `server`, which calls it `id`; what the client calls it.
pub(super) async fn prepare(client: &mut Client, server: &mut Database, sql: &[u8], id: u32) -> [u8; 4] {
    client.send_command(Kind::StmtPrepare, sql).await;
    server.expect_command(Kind::StmtPrepare, sql).await;
    prepared(server, id).await;
    let answer = client.read().await;
    client.read().await;
    answer[1..5].try_into().unwrap()
}

#[test]
fn c16_a_prepared_read_goes_where_it_belongs_each_time() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        let sql = b"SELECT a FROM t WHERE b = ?";
        client.send_command(Kind::StmtPrepare, sql).await;
        reader.expect_command(Kind::StmtPrepare, sql).await;
        prepared(&mut reader, 7).await;
        let answer = client.read().await;
        assert_eq!(answer[..5], [0, 7, 0, 0, 0]);
        client.read().await;
        // A value of a type, and the next one of the same.
        let first = b"\x07\0\0\0\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0";
        client.send_command(Kind::StmtExecute, first).await;
        reader.expect_command(Kind::StmtExecute, first).await;
        reader.ok().await;
        client.expect_ok().await;
        writer.status |= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut writer, "BEGIN").await;
        client.send_command(Kind::StmtExecute, b"\x07\0\0\0\0\x01\0\0\0\0\0\x06\0\0\0").await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        prepared(&mut writer, 2).await;
        let told = b"\x02\0\0\0\0\x01\0\0\0\0\x01\x03\0\x06\0\0\0";
        writer.expect_command(Kind::StmtExecute, told).await;
        writer.ok().await;
        client.expect_ok().await;
        // A statement that the writer calls like the reader calls the other one.
        let sql = b"UPDATE t SET a = ?";
        client.send_command(Kind::StmtPrepare, sql).await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        prepared(&mut writer, 7).await;
        let answer = client.read().await;
        let id = &answer[1..5];
        assert_ne!(id, [7, 0, 0, 0]);
        client.read().await;
        let execute = |id: &[u8]| [id, b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat();
        client.send_command(Kind::StmtExecute, &execute(id)).await;
        writer.expect_command(Kind::StmtExecute, &execute(b"\x07\0\0\0")).await;
        writer.ok().await;
        client.expect_ok().await;
        // Closed wherever it is.
        client.send_command(Kind::StmtClose, b"\x07\0\0\0").await;
        reader.expect_command(Kind::StmtClose, b"\x07\0\0\0").await;
        writer.expect_command(Kind::StmtClose, b"\x02\0\0\0").await;
        // The writer calls the other one so.
        client.send_command(Kind::StmtExecute, b"\x07\0\0\0\0\x01\0\0\0\0\0\x06\0\0\0").await;
        client.expect_err(1243).await;
    });
}

#[test]
fn c16_types_are_added_to_an_execution_of_any_size() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        let sql = b"SELECT a FROM t WHERE b = ?";
        let id = prepare(&mut client, &mut reader, sql, 1).await;
        let first = [&id[..], b"\0\x01\0\0\0\0\x01\xfd\0\x01x"].concat();
        client.send_command(Kind::StmtExecute, &first).await;
        reader.expect_command(Kind::StmtExecute, &first).await;
        reader.ok().await;
        client.expect_ok().await;
        writer.status |= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut writer, "BEGIN").await;
        // More than is waited for; its length stands in front of it.
        let value = [&b"\xfd\x40\x0d\x03"[..], &b"x".repeat(200_000)].concat();
        let second = [&id[..], b"\0\x01\0\0\0\0\0", &value].concat();
        let serve = async {
            writer.expect_command(Kind::StmtPrepare, sql).await;
            prepared(&mut writer, 9).await;
            let told = [&b"\x09\0\0\0\0\x01\0\0\0\0\x01\xfd\0"[..], &value].concat();
            writer.expect_command(Kind::StmtExecute, &told).await;
            writer.ok().await;
        };
        join!(client.send_command(Kind::StmtExecute, &second), serve);
        client.expect_ok().await;
    });
}

#[test]
fn a_large_statement_is_prepared_beside_others_elsewhere() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        let read = prepare(&mut client, &mut reader, b"SELECT a FROM t WHERE b = ?", 1).await;
        let sql = [&b"INSERT INTO t VALUES (?), ('"[..], &b"x".repeat(200_000), b"')"].concat();
        let serve = async {
            writer.expect_command(Kind::StmtPrepare, &sql).await;
            prepared(&mut writer, 1).await;
        };
        join!(client.send_command(Kind::StmtPrepare, &sql), serve);
        let answer = client.read().await;
        client.read().await;
        assert_ne!(answer[1..5], read, "it has a number of its own");
    });
}

#[test]
fn what_is_prepared_is_not_the_next_transaction() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        run(&mut client, &mut writer, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").await;
        let id = prepare(&mut client, &mut writer, b"SELECT a FROM t WHERE b = ?", 1).await;
        client.send_command(Kind::Ping, b"").await;
        writer.expect_command(Kind::Ping, b"").await;
        writer.ok().await;
        client.expect_ok().await;
        let execute = [&id[..], b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat();
        client.send_command(Kind::StmtExecute, &execute).await;
        writer.expect_command(Kind::StmtExecute, &execute).await;
        writer.ok().await;
        client.expect_ok().await;
        run(&mut client, &mut reader, "SELECT a FROM t").await;
    });
}

/// What a statement means was settled when it was prepared: in another schema it cannot be prepared
/// at another server any more.
#[test]
fn c08_a_read_in_a_transaction_stays_there_whatever_its_schema_was() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        let known = prepare(&mut client, &mut reader, b"SELECT a FROM t WHERE b = ?", 1).await;
        let unknown = prepare(&mut client, &mut reader, b"SELECT a FROM u WHERE b = ?", 2).await;
        let execute = |id: &[u8]| [id, b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat();
        writer.status |= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut writer, "BEGIN").await;
        client.send_command(Kind::StmtExecute, &execute(&known)).await;
        writer.expect_command(Kind::StmtPrepare, b"SELECT a FROM t WHERE b = ?").await;
        prepared(&mut writer, 5).await;
        writer.expect_command(Kind::StmtExecute, &execute(b"\x05\0\0\0")).await;
        writer.ok().await;
        client.expect_ok().await;
        run(&mut client, &mut writer, "USE elsewhere").await;
        client.send_command(Kind::StmtExecute, &execute(&known)).await;
        writer.expect_command(Kind::StmtExecute, &execute(b"\x05\0\0\0")).await;
        writer.ok().await;
        client.expect_ok().await;
        client.send_command(Kind::StmtExecute, &execute(&unknown)).await;
        client.expect_err(1615).await;
        run(&mut client, &mut writer, "INSERT INTO t VALUES (1)").await;
    });
}

/// MariaDB's clients execute what they have prepared last without waiting for its number. If that
/// was refused it is not the one before.
#[test]
fn nothing_is_the_last_statement_where_the_last_one_was_refused() {
    play(async || {
        let refusal = QueryRule { error_msg: Some("not today".to_owned()), ..rule(1, "^DELETE FROM u") };
        let config = Config { query_rules: vec![refusal].into(), ..pair_of_servers() };
        let Scene { mut client, mut writer, .. } = scene(config).await;
        let sql = b"UPDATE t SET a = ?";
        client.send_command(Kind::StmtPrepare, sql).await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        prepared(&mut writer, 7).await;
        client.read().await;
        client.read().await;
        let execute = |id: &[u8]| [id, b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat();
        let last = execute(b"\xff\xff\xff\xff");
        client.send_command(Kind::StmtExecute, &last).await;
        // A server's last one may be another session's.
        writer.expect_command(Kind::StmtExecute, &execute(b"\x07\0\0\0")).await;
        writer.ok().await;
        client.expect_ok().await;
        client.send_command(Kind::StmtPrepare, b"DELETE FROM u WHERE a = ?").await;
        client.expect_err(1148).await;
        client.send_command(Kind::StmtExecute, &last).await;
        client.expect_err(1243).await;
        client.send_command(Kind::StmtExecute, &execute(b"\x07\0\0\0")).await;
        writer.expect_command(Kind::StmtExecute, &execute(b"\x07\0\0\0")).await;
        writer.ok().await;
        client.expect_ok().await;
    });
}

/// The OK of a rule would be taken for the number of a statement, and its text for the numbers of
/// parameters and columns, for which a client waits.
#[test]
fn what_a_rule_answers_with_ok_is_not_prepared() {
    play(async || {
        let answer = QueryRule { ok_msg: Some("fine".to_owned()), ..rule(1, "^DELETE FROM u") };
        let config = Config { query_rules: vec![answer].into(), ..pair_of_servers() };
        let Scene { mut client, mut writer, .. } = scene(config).await;
        client.send_command(Kind::StmtPrepare, b"DELETE FROM u WHERE a = ?").await;
        let error = client.expect_err(1295).await;
        assert!(error.message.ends_with("a query rule answers it with OK"), "{error:?}");
        client.send_query("DELETE FROM u WHERE a = 1").await;
        assert_eq!(client.expect_ok().await.info, "fine");
        run(&mut client, &mut writer, "UPDATE t SET a = 1").await;
    });
}

/// Also if its text means something else by now, so that it cannot be prepared anew.
#[test]
fn c04_an_execution_past_the_lock_on_a_hostgroup_is_refused() {
    play(async || {
        let to_reader = QueryRule { destination_hostgroup: Some(1), ..rule(1, "^SELECT") };
        let Scene { mut client, mut writer, mut reader, .. } = scene(rules(vec![to_reader])).await;
        let id = prepare(&mut client, &mut reader, b"SELECT \"a\" FROM t WHERE b = ?", 7).await;
        run(&mut client, &mut writer, "SET sql_mode = 'ANSI'").await;
        run(&mut client, &mut writer, "SET ROLE admin").await;
        let execute = [&id[..], b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat();
        client.send_command(Kind::StmtExecute, &execute).await;
        client.expect_err(9006).await;
        run(&mut client, &mut writer, "DELETE FROM t").await;
    });
}

/// An execution of this statement, with this flag for cursors and the value 5.
fn execute(id: u8, cursor: u8) -> Vec<u8> {
    [&[id, 0, 0, 0, cursor][..], b"\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat()
}

/// A session that has executed a read at the reader, and is in a transaction at the writer.
async fn in_transaction(sql: &[u8], cursor: u8) -> Scene {
    let mut scene = scene(pair_of_servers()).await;
    let Scene { client, writer, reader, .. } = &mut scene;
    prepare(client, reader, sql, 7).await;
    client.send_command(Kind::StmtExecute, &execute(7, cursor)).await;
    reader.expect_command(Kind::StmtExecute, &execute(7, cursor)).await;
    reader.ok().await;
    client.expect_ok().await;
    writer.status |= StatusFlags::IN_TRANSACTION;
    run(client, writer, "BEGIN").await;
    scene
}

#[test]
fn c17_a_cursor_is_read_where_it_was_opened() {
    play(async || {
        let sql = b"SELECT a FROM t WHERE b = ?";
        let Scene { mut client, mut writer, .. } = in_transaction(sql, 0).await;
        client.send_command(Kind::StmtExecute, &execute(7, 1)).await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        prepared(&mut writer, 2).await;
        writer.expect_command(Kind::StmtExecute, &execute(2, 1)).await;
        writer.ok().await;
        client.expect_ok().await;
        client.send_command(Kind::StmtFetch, b"\x07\0\0\0\x01\0\0\0").await;
        writer.expect_command(Kind::StmtFetch, b"\x02\0\0\0\x01\0\0\0").await;
        writer.end_of_rows().await;
        assert_eq!(client.read().await[0], 0xfe);
    });
}

#[test]
fn c17_an_execution_in_a_transaction_leaves_a_cursor_elsewhere() {
    play(async || {
        let sql = b"SELECT a FROM t WHERE b = ?";
        let Scene { mut client, mut writer, .. } = in_transaction(sql, 1).await;
        client.send_command(Kind::StmtExecute, &execute(7, 0)).await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        prepared(&mut writer, 2).await;
        writer.expect_command(Kind::StmtExecute, &execute(2, 0)).await;
        writer.ok().await;
        client.expect_ok().await;
    });
}

/// Without autocommit an execution begins a transaction, with a cursor as well: at the writer.
#[test]
fn c08_an_execution_begins_no_transaction_where_a_cursor_was() {
    play(async || {
        for cursor in [0, 1] {
            let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
            let sql = b"SELECT a FROM t WHERE b = ?";
            prepare(&mut client, &mut reader, sql, 7).await;
            client.send_command(Kind::StmtExecute, &execute(7, 1)).await;
            reader.expect_command(Kind::StmtExecute, &execute(7, 1)).await;
            reader.ok().await;
            client.expect_ok().await;
            writer.status -= StatusFlags::AUTOCOMMIT;
            run(&mut client, &mut writer, "SET autocommit=0").await;
            client.send_command(Kind::StmtExecute, &execute(7, cursor)).await;
            writer.expect_command(Kind::StmtPrepare, sql).await;
            prepared(&mut writer, 2).await;
            writer.expect_command(Kind::StmtExecute, &execute(2, cursor)).await;
            writer.ok().await;
            client.expect_ok().await;
        }
    });
}

/// So are the values that were sent before it.
#[test]
fn c17_without_autocommit_parts_go_where_the_execution_begins_its_transaction() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        let sql = b"SELECT a FROM t WHERE b = ?";
        prepare(&mut client, &mut reader, sql, 7).await;
        writer.status -= StatusFlags::AUTOCOMMIT;
        run(&mut client, &mut writer, "SET autocommit=0").await;
        client.send_command(Kind::SendLongData, b"\x07\0\0\0\0\0x").await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        prepared(&mut writer, 2).await;
        writer.expect_command(Kind::SendLongData, b"\x02\0\0\0\0\0x").await;
        client.send_command(Kind::StmtExecute, b"\x07\0\0\0\0\x01\0\0\0\0\x01\xfc\0").await;
        writer.expect_command(Kind::StmtExecute, b"\x02\0\0\0\0\x01\0\0\0\0\x01\xfc\0").await;
        writer.ok().await;
        client.expect_ok().await;
    });
}

/// The writer has the statement under the same number, but not the value that was sent.
#[test]
fn c17_an_execution_does_not_leave_parts_behind() {
    play(async || {
        let mut scene = with_a_part_at_the_reader().await;
        scene.client.send_command(Kind::StmtExecute, &execute(7, 0)).await;
        scene.client.expect_err(1615).await;
    });
}

/// The part ends with the statement at the reader. That at the writer is as it was.
#[test]
fn c17_a_reset_takes_back_parts_that_are_elsewhere() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = with_a_part_at_the_reader().await;
        client.send_command(Kind::StmtReset, b"\x07\0\0\0").await;
        reader.expect_command(Kind::StmtClose, b"\x07\0\0\0").await;
        client.expect_ok().await;
        client.send_command(Kind::StmtExecute, &execute(7, 0)).await;
        writer.expect_command(Kind::StmtExecute, &execute(7, 0)).await;
        writer.ok().await;
        client.expect_ok().await;
    });
}

/// A session in a transaction, with a statement that reader and writer call the same. The reader
/// has a part of a value for it.
async fn with_a_part_at_the_reader() -> Scene {
    let sql = b"SELECT a FROM t WHERE b = ?";
    let mut scene = in_transaction(sql, 0).await;
    let Scene { client, writer, reader, .. } = &mut scene;
    client.send_command(Kind::StmtExecute, &execute(7, 0)).await;
    writer.expect_command(Kind::StmtPrepare, sql).await;
    prepared(writer, 7).await;
    writer.expect_command(Kind::StmtExecute, &execute(7, 0)).await;
    writer.ok().await;
    client.expect_ok().await;
    writer.status -= StatusFlags::IN_TRANSACTION;
    run(client, writer, "COMMIT").await;
    client.send_command(Kind::SendLongData, b"\x07\0\0\0\0\0x").await;
    reader.expect_command(Kind::SendLongData, b"\x07\0\0\0\0\0x").await;
    writer.status |= StatusFlags::IN_TRANSACTION;
    run(client, writer, "BEGIN").await;
    scene
}

#[test]
fn a_reset_of_a_statement_tells_of_the_transaction() {
    play(async || {
        let mut scene = in_transaction(b"SELECT a FROM t WHERE b = ?", 0).await;
        scene.client.send_command(Kind::StmtReset, b"\x07\0\0\0").await;
        let answer = scene.client.read().await;
        assert_eq!(answer[..4], [0, 0, 0, 3], "in a transaction, with autocommit");
        // A cursor ends with the statement at the reader.
        let mut scene = in_transaction(b"SELECT a FROM t WHERE b = ?", 1).await;
        scene.client.send_command(Kind::StmtReset, b"\x07\0\0\0").await;
        scene.reader.expect_command(Kind::StmtClose, b"\x07\0\0\0").await;
        let answer = scene.client.read().await;
        assert_eq!(answer[..4], [0, 0, 0, 3]);
    });
}

/// The session has locked tables at the writer: a prepared read belongs there. What the writer
/// cannot prepare, as texts mean something else now, the client prepares again.
#[test]
fn c12_a_prepared_read_leaves_no_locked_tables() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        let sql = b"SELECT a FROM t WHERE b = ?";
        let id = prepare(&mut client, &mut reader, sql, 7).await;
        let execute = [&id[..], b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat();
        run(&mut client, &mut writer, "LOCK TABLES t READ").await;
        client.send_command(Kind::StmtExecute, &execute).await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        writer.err(1100, "HY000", "Table 't' was not locked with LOCK TABLES").await;
        client.expect_err(1100).await;
        run(&mut client, &mut writer, "USE other").await;
        client.send_command(Kind::StmtExecute, &execute).await;
        client.expect_err(1615).await;
    });
}

/// In a transaction a statement with other columns at the writer is not executed outside of it.
#[test]
fn c08_a_prepared_read_does_not_leave_its_transaction() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        let sql = b"SELECT a FROM t WHERE b = ?";
        let id = prepare(&mut client, &mut reader, sql, 7).await;
        writer.status |= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut writer, "BEGIN").await;
        let execute = [&id[..], b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat();
        client.send_command(Kind::StmtExecute, &execute).await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        // Without parameters.
        writer.send(&[0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
        writer.expect_command(Kind::StmtClose, b"\x02\0\0\0").await;
        client.expect_err(1615).await;
    });
}

#[test]
fn c16_a_statement_that_the_writer_refuses_does_not_leave_its_transaction() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        let sql = b"SELECT a FROM t WHERE b = ?";
        let id = prepare(&mut client, &mut reader, sql, 1).await;
        writer.status |= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut writer, "BEGIN").await;
        let execution = [&id[..], b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat();
        client.send_command(Kind::StmtExecute, &execution).await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        writer.err(1461, "42000", "Can't create more than max_prepared_stmt_count statements").await;
        client.expect_err(1461).await;
    });
}

/// Servers call their first statements the same. What the client has closed is not executed as the
/// other one.
#[test]
fn c16_a_closed_statement_is_not_executed_as_another() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        let read = prepare(&mut client, &mut reader, b"SELECT a FROM t WHERE b = ?", 7).await;
        let write = prepare(&mut client, &mut writer, b"UPDATE t SET a = ?", 7).await;
        let execution = |id: [u8; 4]| [&id[..], b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat();
        client.send_command(Kind::StmtClose, &read).await;
        reader.expect_command(Kind::StmtClose, b"\x07\0\0\0").await;
        for kind in [Kind::SendLongData, Kind::StmtExecute] {
            client.send_command(kind, &execution(read)).await;
        }
        client.expect_err(1243).await;
        client.send_command(Kind::StmtExecute, &execution(write)).await;
        writer.expect_command(Kind::StmtExecute, &execution([7, 0, 0, 0])).await;
        writer.ok().await;
        client.expect_ok().await;
    });
}

/// The same where the writer's connection is idle, and another session has the reader's.
#[test]
fn c16_a_closed_statement_is_not_executed_as_another_at_an_idle_connection() {
    play(async || {
        let mut config = pair_of_servers();
        config.variables.multiplexing = true;
        let Scene { stage, mut client, mut writer, mut reader, .. } = scene(config).await;
        let read = prepare(&mut client, &mut reader, b"SELECT a FROM t WHERE b = ?", 7).await;
        prepare(&mut client, &mut writer, b"UPDATE t SET a = ?", 7).await;
        client.send_command(Kind::StmtClose, &read).await;
        reader.expect_command(Kind::StmtClose, b"\x07\0\0\0").await;
        run(&mut client, &mut reader, "SELECT a FROM t").await;
        let mut other = log_in(&stage).await;
        other.send_query("SELECT b FROM t").await;
        let_in(&mut reader).await;
        reader.expect_query("SELECT b FROM t").await;
        reader.ok().await;
        other.expect_ok().await;
        client
            .send_command(Kind::StmtExecute, &[&read[..], b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat())
            .await;
        client.expect_err(1243).await;
    });
}
