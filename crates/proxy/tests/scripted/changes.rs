//! What statements change that are not what they seem: rewritten ones, and several in one text.

use config::{Config, QueryRule};
use wire::command::Kind;

use super::split::{Scene, rule, rules, scene};
use super::support::{pair_of_servers, play, run};

/// A rule that puts `with` in the place of `what`, and `config` with it.
fn rewriting(mut config: Config, what: &str, with: &str) -> Config {
    config.query_rules.push(QueryRule {
        match_digest: None,
        match_pattern: Some(what.to_owned()),
        replace_pattern: Some(with.to_owned()),
        ..rule(100, "")
    });
    config
}

#[test]
fn a_rewritten_statement_changes_what_its_new_text_says() {
    play(async || {
        let reads = QueryRule { destination_hostgroup: Some(1), ..rule(200, "^SELECT") };
        let config = rewriting(rules(vec![reads]), "^SETUP$", "SET sql_mode = 'ANSI'");
        let Scene { mut client, mut writer, mut reader, stage, .. } = scene(config).await;
        client.send_query("SETUP").await;
        writer.expect_query("SET sql_mode = 'ANSI'").await;
        writer.ok().await;
        client.expect_ok().await;
        client.send_query("SELECT a FROM t").await;
        reader.expect_query("SET SESSION sql_mode = 'ANSI'").await;
        reader.ok().await;
        reader.expect_query("SELECT a FROM t").await;
        reader.ok().await;
        client.expect_ok().await;
        assert_eq!(stage.command("SET").count, 1);
    });
}

#[test]
fn a_set_that_was_rewritten_to_something_else_sets_nothing() {
    play(async || {
        let reads = QueryRule { destination_hostgroup: Some(1), ..rule(200, "^SELECT") };
        let config = rewriting(rules(vec![reads]), "^SET sql_mode.*", "DO 0");
        let Scene { mut client, mut writer, mut reader, .. } = scene(config).await;
        client.send_query("SET sql_mode = 'ANSI'").await;
        writer.expect_query("DO 0").await;
        writer.ok().await;
        client.expect_ok().await;
        run(&mut client, &mut reader, "SELECT a FROM t").await;
    });
}

#[test]
fn what_was_rewritten_to_a_write_is_split_as_one() {
    play(async || {
        let config = rewriting(pair_of_servers(), "FROM old", "FROM t FOR UPDATE");
        let Scene { mut client, mut writer, .. } = scene(config).await;
        client.send_query("SELECT a FROM old").await;
        writer.expect_query("SELECT a FROM t FOR UPDATE").await;
        writer.ok().await;
        client.expect_ok().await;
    });
}

/// Of a long statement rules see the beginning.
#[test]
fn a_statement_is_not_cut_by_being_rewritten() {
    play(async || {
        let config = rewriting(pair_of_servers(), "old", "new");
        let Scene { mut client, mut writer, .. } = scene(config).await;
        let sql = format!("INSERT INTO old VALUES ('{}')", "x".repeat(64_000));
        run(&mut client, &mut writer, &sql).await;
    });
}

#[test]
fn of_several_statements_each_may_keep_the_session() {
    for sql in [
        "LOCK TABLES t READ; SET sql_mode = 'ANSI'",
        "UNLOCK TABLES; SET sql_mode = 'ANSI'",
        "SELECT 1; LOCK TABLES t READ",
        "FLUSH TABLES; USE other",
        "SELECT 1; CREATE TEMPORARY TABLE x (a INT)",
        "INSERT INTO t VALUES (1); CALL p()",
    ] {
        for digests in [true, false] {
            play(async || {
                let mut config = pair_of_servers();
                config.variables.query_digests = digests;
                let Scene { mut client, mut writer, .. } = scene(config).await;
                run(&mut client, &mut writer, sql).await;
                run(&mut client, &mut writer, "UNLOCK TABLES").await;
                run(&mut client, &mut writer, "SELECT a FROM t").await;
            });
        }
    }
}

#[test]
fn several_statements_that_leave_nothing_behind_do_not_keep_the_session() {
    for sql in [
        "SELECT 1; SELECT 2",
        "INSERT INTO t VALUES (1); DELETE FROM t;",
        "SELECT a FROM t FOR UPDATE; UPDATE t SET a = 1",
        "CREATE PROCEDURE p() BEGIN SET sql_mode = ''; LOCK TABLES t READ; END",
    ] {
        play(async || {
            let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
            run(&mut client, &mut writer, sql).await;
            run(&mut client, &mut reader, "SELECT a FROM t").await;
        });
    }
}

/// The first of them has had its effect.
#[test]
fn several_statements_keep_the_session_also_if_one_fails() {
    play(async || {
        let Scene { mut client, mut writer, .. } = scene(pair_of_servers()).await;
        let sql = "SET sql_mode = 'ANSI'; SELECT nothing";
        client.send_query(sql).await;
        writer.expect_query(sql).await;
        writer.err(1054, "42S22", "Unknown column 'nothing'").await;
        client.expect_err(1054).await;
        run(&mut client, &mut writer, "SELECT a FROM t").await;
    });
}

/// It frees no table.
#[test]
fn to_unlock_the_instance_is_not_to_unlock_tables() {
    play(async || {
        let Scene { mut client, mut writer, .. } = scene(pair_of_servers()).await;
        run(&mut client, &mut writer, "LOCK TABLES t READ").await;
        run(&mut client, &mut writer, "UNLOCK INSTANCE").await;
        run(&mut client, &mut writer, "SELECT a FROM t").await;
    });
}

#[test]
fn nothing_is_counted_by_digest_once_digests_are_off() {
    play(async || {
        let config = pair_of_servers();
        let Scene { mut client, mut writer, stage, .. } = scene(config.clone()).await;
        client.send_command(Kind::StmtPrepare, b"DO 1").await;
        writer.expect_command(Kind::StmtPrepare, b"DO 1").await;
        writer.send(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
        client.read().await;
        let mut without = config;
        without.variables.query_digests = false;
        for (config, count) in [(None, Some(1)), (Some(without), None)] {
            if let Some(config) = config {
                stage.apply(config).unwrap();
            }
            let execute = b"\x01\0\0\0\0\x01\0\0\0";
            client.send_command(Kind::StmtExecute, execute).await;
            writer.expect_command(Kind::StmtExecute, execute).await;
            writer.ok().await;
            client.expect_ok().await;
            let digests = stage.take_digests();
            let executed = digests.iter().find(|digest| *digest.text == *b"DO ?");
            assert_eq!(executed.map(|digest| digest.count), count);
        }
    });
}
