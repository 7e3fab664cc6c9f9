//! What is counted where servers get other commands than clients send.

use proxy::stage::Stage;
use wire::StatusFlags;
use wire::command::Kind;

use super::split::{Scene, scene};
use super::split_prepared::{prepare, prepared};
use super::support::{pair_of_servers, play, run};

/// What clients have sent of a command, and what servers have got.
fn sides(stage: &Stage, what: &str) -> [u64; 2] {
    ["frontend", "backend"].map(|side| stage.global(&format!("Com_{side}_{what}")))
}

#[test]
fn servers_are_told_what_the_client_has_said_elsewhere() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, stage, .. } = scene(pair_of_servers()).await;
        run(&mut client, &mut writer, "SET NAMES latin1").await;
        run(&mut client, &mut writer, "USE other").await;
        client.send_query("SELECT a FROM t").await;
        reader.expect_query("SET NAMES latin1").await;
        reader.expect_command(Kind::InitDb, b"other").await;
        for seq in [1, 1] {
            reader.packets().expect_seq(seq);
            reader.ok().await;
        }
        reader.expect_query("SELECT a FROM t").await;
        reader.ok().await;
        client.expect_ok().await;
        assert_eq!(sides(&stage, "set_names"), [1, 2]);
        assert_eq!(sides(&stage, "init_db"), [0, 1]);
        assert_eq!(stage.global("Com_frontend_use_db"), 1);
    });
}

#[test]
fn statements_are_prepared_and_closed_at_more_than_one_server() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, stage, .. } = scene(pair_of_servers()).await;
        let sql = b"SELECT a FROM t WHERE b = ?";
        let id = prepare(&mut client, &mut reader, sql, 7).await;
        writer.status |= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut writer, "BEGIN").await;
        let execute = |id: &[u8]| [id, b"\0\x01\0\0\0\0\x01\x03\0\x05\0\0\0"].concat();
        client.send_command(Kind::StmtExecute, &execute(&id)).await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        prepared(&mut writer, 2).await;
        writer.expect_command(Kind::StmtExecute, &execute(b"\x02\0\0\0")).await;
        writer.ok().await;
        client.expect_ok().await;
        client.send_command(Kind::StmtClose, &id).await;
        reader.expect_command(Kind::StmtClose, &id).await;
        writer.expect_command(Kind::StmtClose, b"\x02\0\0\0").await;
        assert_eq!(sides(&stage, "stmt_prepare"), [1, 2]);
        assert_eq!(sides(&stage, "stmt_execute"), [1, 1]);
        assert_eq!(sides(&stage, "stmt_close"), [1, 2]);
    });
}

#[test]
fn what_is_prepared_beside_others_is_counted_once_and_its_errors_too() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, stage, mut servers } = scene(pair_of_servers()).await;
        prepare(&mut client, &mut reader, b"SELECT a FROM t WHERE b = ?", 1).await;
        let sql = b"UPDATE t SET a = ?";
        client.send_command(Kind::StmtPrepare, sql).await;
        writer.expect_command(Kind::StmtPrepare, sql).await;
        writer.err(1146, "42S02", "Table 't' does not exist").await;
        client.expect_err(1146).await;
        let errors = stage.errors(false);
        let told: Vec<_> = errors.iter().map(|error| (error.code, &*error.message)).collect();
        assert_eq!(told, [(1146, "Table 't' does not exist")]);
        assert_eq!((sides(&stage, "stmt_prepare"), stage.global("Questions")), ([2, 2], 4));
        // There is no answer at all, wherever it is tried.
        client.send_command(Kind::StmtPrepare, sql).await;
        for _ in 0..5 {
            writer.expect_command(Kind::StmtPrepare, sql).await;
            drop(writer);
            writer = servers.accept().await;
        }
        writer.expect_command(Kind::StmtPrepare, sql).await;
        drop(writer);
        client.expect_err(9008).await;
        assert_eq!((sides(&stage, "stmt_prepare"), stage.global("Questions")), ([3, 8], 5));
        // The proxy has made that error itself.
        let errors = stage.errors(false);
        let own: Vec<_> = errors.iter().filter(|error| error.is_own()).collect();
        let [own] = own[..] else { panic!("{errors:?}") };
        assert_eq!((own.code, own.count, &*own.user, own.port), (9008, 1, "app", 0));
        assert!(!own.message.is_empty() && own.hostgroup <= 1, "{own:?}");
    });
}
