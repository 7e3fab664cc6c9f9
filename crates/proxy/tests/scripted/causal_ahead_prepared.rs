//! Executions of prepared statements that are sent with the question whether their reader has the
//! writes: what becomes of the statement where the reply is dropped.

use wire::StatusFlags;
use wire::command::Kind;

use super::causal_ahead::{READ, Scene, UUID, accept, expect_question, expect_wait, say, write};
use super::split_prepared::{prepare, prepared};
use super::support::{Client, Database, log_in, play, run};

const PREPARED: &[u8] = b"SELECT a FROM t WHERE b = ?";

/// An execution of a statement that its server calls by this number.
fn execution(id: &[u8]) -> Vec<u8> {
    [id, b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat()
}

/// The client prepares a read at the reader, which calls it 7 and has the first write. Returns what
/// the client calls it.
async fn prepare_at_reader(client: &mut Client, reader: &mut Database) -> Vec<u8> {
    client.send_command(Kind::StmtPrepare, PREPARED).await;
    expect_wait(reader, 1).await;
    reader.rows(&["now", "then"], &[&[Some("1"), Some("1")]]).await;
    reader.expect_command(Kind::StmtPrepare, PREPARED).await;
    prepared(reader, 7).await;
    let id = client.read().await[1..5].to_vec();
    client.read().await;
    id
}

/// The reader, which has the execution, lacks the write, also after a wait: the writer is to
/// prepare the read.
async fn lack(Scene { writer, reader, .. }: &mut Scene) {
    say(reader, "0").await;
    reader.ok_with(5, 0).await;
    reader.expect_command(Kind::StmtClose, b"\x07\0\0\0").await;
    lack_after_wait(writer, reader).await;
    writer.expect_command(Kind::StmtPrepare, PREPARED).await;
}

/// The reader lacks the write also after a wait, and the writer has it.
async fn lack_after_wait(writer: &mut Database, reader: &mut Database) {
    expect_wait(reader, 2).await;
    reader.rows(&["now", "then"], &[&[Some("0"), Some("0")]]).await;
    writer.expect_query(&format!("SELECT GTID_SUBTRACT('{UUID}:2', @@global.gtid_executed)")).await;
    writer.rows(&["lacked"], &[&[Some("")]]).await;
}

/// The client has prepared a read at the reader, and writes again. It executes the read, and the
/// reader has the execution with the question.
async fn execute(scene: &mut Scene) {
    let Scene { client, writer, reader, .. } = scene;
    let id = prepare_at_reader(client, reader).await;
    write(client, writer, 2).await;
    client.send_command(Kind::StmtExecute, &execution(&id)).await;
    expect_question(reader, 2).await;
    reader.expect_command(Kind::StmtExecute, &execution(b"\x07\0\0\0")).await;
}

#[test]
fn c12_executions_go_with_the_question_too() {
    play(async || {
        let mut scene = Scene::begin().await;
        execute(&mut scene).await;
        say(&mut scene.reader, "1").await;
        scene.reader.ok_with(5, 0).await;
        assert_eq!(scene.client.expect_ok().await.affected_rows, 5);
    });
}

#[test]
fn c12_an_execution_that_was_dropped_is_the_writers_under_its_number() {
    play(async || {
        let mut scene = Scene::begin().await;
        execute(&mut scene).await;
        lack(&mut scene).await;
        let Scene { client, writer, .. } = &mut scene;
        prepared(writer, 2).await;
        writer.expect_command(Kind::StmtExecute, &execution(b"\x02\0\0\0")).await;
        writer.ok_with(6, 0).await;
        assert_eq!(client.expect_ok().await.affected_rows, 6);
    });
}

/// The server has taken types from the dropped execution, and its reply may have told of columns:
/// no one goes on with that statement.
#[test]
fn c12_an_execution_that_was_dropped_is_sent_again_with_another_statement() {
    play(async || {
        let mut scene = Scene::begin().await;
        execute(&mut scene).await;
        let Scene { client, reader, .. } = &mut scene;
        say(reader, "0").await;
        reader.ok_with(5, 0).await;
        reader.expect_command(Kind::StmtClose, b"\x07\0\0\0").await;
        expect_wait(reader, 2).await;
        reader.rows(&["now", "then"], &[&[Some("0"), Some("1")]]).await;
        reader.expect_command(Kind::StmtPrepare, PREPARED).await;
        prepared(reader, 9).await;
        reader.expect_command(Kind::StmtExecute, &execution(b"\x09\0\0\0")).await;
        reader.ok_with(6, 0).await;
        assert_eq!(client.expect_ok().await.affected_rows, 6);
        // The types are known there.
        let untyped = |id: &[u8]| [id, b"\0\x01\0\0\0\0\0\x06\0\0\0"].concat();
        client.send_command(Kind::StmtExecute, &untyped(b"\x07\0\0\0")).await;
        reader.expect_command(Kind::StmtExecute, &untyped(b"\x09\0\0\0")).await;
    });
}

/// The statement comes to the reader for an execution that does not go there: another session has
/// found the reader late meanwhile. What counts as sent there goes with the statement.
#[test]
fn c12_an_execution_that_is_held_back_leaves_no_types_behind() {
    play(async || {
        let Scene { stage, mut servers, mut client, mut writer, mut reader, .. } = Scene::begin().await;
        writer.status |= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut writer, "BEGIN").await;
        let id = prepare(&mut client, &mut writer, PREPARED, 3).await;
        writer.status -= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut writer, "COMMIT").await;
        client.send_command(Kind::StmtExecute, &execution(&id)).await;
        reader.expect_command(Kind::StmtPrepare, PREPARED).await;
        let mut other = log_in(&stage).await;
        other.send_query(READ).await;
        let mut second = accept(&mut servers).await;
        expect_question(&mut second, 1).await;
        second.expect_query(READ).await;
        say(&mut second, "0").await;
        second.rows(&["a"], &[&[Some("old")]]).await;
        expect_wait(&mut second, 1).await;
        prepared(&mut reader, 7).await;
        reader.expect_command(Kind::StmtClose, b"\x07\0\0\0").await;
        expect_wait(&mut reader, 1).await;
        reader.rows(&["now", "then"], &[&[Some("0"), Some("0")]]).await;
        writer.expect_query(&format!("SELECT GTID_SUBTRACT('{UUID}:1', @@global.gtid_executed)")).await;
        writer.rows(&["lacked"], &[&[Some("")]]).await;
        writer.expect_command(Kind::StmtExecute, &execution(b"\x03\0\0\0")).await;
    });
}

/// The client has changed its schema since it prepared the read, which the writer cannot prepare as
/// what it was. The late reader does not execute it in place of the writer.
#[test]
fn c12_an_execution_that_the_writer_cannot_prepare_does_not_run_at_a_late_reader() {
    play(async || {
        let mut scene = Scene::begin().await;
        let Scene { client, writer, reader, .. } = &mut scene;
        let id = prepare_at_reader(client, reader).await;
        run(client, writer, "USE other").await;
        write(client, writer, 2).await;
        client.send_command(Kind::StmtExecute, &execution(&id)).await;
        reader.expect_command(Kind::InitDb, b"other").await;
        reader.ok().await;
        lack_after_wait(writer, reader).await;
        client.expect_err(1615).await;
        // The reader has caught up.
        client.send_command(Kind::StmtExecute, &execution(&id)).await;
        expect_wait(reader, 2).await;
        reader.rows(&["now", "then"], &[&[Some("1"), Some("1")]]).await;
        reader.expect_command(Kind::StmtExecute, &execution(b"\x07\0\0\0")).await;
    });
}

/// The writer refuses to prepare the read: its answer is the client's.
#[test]
fn c12_an_execution_that_the_writer_refuses_does_not_run_at_a_late_reader() {
    play(async || {
        let mut scene = Scene::begin().await;
        execute(&mut scene).await;
        lack(&mut scene).await;
        let Scene { client, writer, .. } = &mut scene;
        writer.err(1146, "42S02", "Table 't' doesn't exist").await;
        client.expect_err(1146).await;
        // The reader has neither the statement nor an execution.
        run(client, writer, "DELETE FROM t").await;
    });
}

#[test]
fn c17_a_cursor_is_read_at_a_reader_that_lacks_later_writes() {
    play(async || {
        let mut scene = Scene::begin().await;
        let Scene { client, writer, reader, .. } = &mut scene;
        let id = prepare_at_reader(client, reader).await;
        let opening = |id: &[u8]| [id, b"\x01\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat();
        client.send_command(Kind::StmtExecute, &opening(&id)).await;
        reader.expect_command(Kind::StmtExecute, &opening(b"\x07\0\0\0")).await;
        reader.ok().await;
        client.expect_ok().await;
        write(client, writer, 2).await;
        client.send_command(Kind::StmtFetch, &[&id[..], b"\x01\0\0\0"].concat()).await;
        reader.expect_command(Kind::StmtFetch, b"\x07\0\0\0\x01\0\0\0").await;
        reader.end_of_rows().await;
        assert_eq!(client.read().await[0], 0xfe);
    });
}
