//! Reads and writes of one session at two servers: what goes where, and what goes along.

use std::time::Duration;

use config::{Config, QueryRule};
use proxy::stage::Stage;
use wire::StatusFlags;
use wire::command::Kind;

use super::support::{
    CAPACITY, Client, Database, Servers, first_query, log_in, pair_of_servers, play, reset, run, settle,
    stage, stage_with,
};

pub(super) struct Scene {
    pub(super) stage: Stage,
    pub(super) servers: Servers,
    pub(super) client: Client,
    pub(super) writer: Database,
    pub(super) reader: Database,
}

/// A session that has written and read.
pub(super) async fn scene(config: Config) -> Scene {
    let (stage, mut servers) = stage(config);
    let mut client = log_in(&stage).await;
    client.send_query("DELETE FROM t").await;
    let (to, end) = servers.dialled().await;
    assert_eq!(to, "db:3306");
    let mut writer = Database::accept(end).await.0;
    writer.expect_query("DELETE FROM t").await;
    writer.ok().await;
    client.expect_ok().await;
    client.send_query("SELECT a FROM t").await;
    let (to, end) = servers.dialled().await;
    assert_eq!(to, "reader:3306");
    let mut reader = Database::accept(end).await.0;
    reader.expect_query("SELECT a FROM t").await;
    reader.ok().await;
    client.expect_ok().await;
    Scene { stage, servers, client, writer, reader }
}

#[test]
fn only_plain_reads_go_to_a_reader() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        for sql in [
            "SELECT a FROM t WHERE b = 1",
            "select count(*) from t join u using (a)",
            "(SELECT 1) UNION (SELECT a FROM t)",
            "WITH x AS (SELECT 1) SELECT * FROM x",
            // This is not proven to be a plain read, but the client knows better.
            "/* access_mode=read_only */ SELECT f(1)",
        ] {
            run(&mut client, &mut reader, sql).await;
        }
        for sql in [
            "INSERT INTO t VALUES (1)",
            "SELECT a FROM t FOR UPDATE",
            "SELECT a FROM t LOCK IN SHARE MODE",
            "SELECT @a := 1",
            "SELECT GET_LOCK('a', 1)",
            "SELECT f(a) FROM t",
            "SELECT a INTO OUTFILE '/x' FROM t",
            "SELECT NEXTVAL(s)",
            "SELECT 1; SELECT 2",
            "/*!50000 DELETE FROM t */",
            "SELECT /* ' */ 'a\\'' FROM t WHERE \"b\\\"\" = ''",
            "SELECT \"f\"(1)",
            "/* access_mode=read_write */ SELECT a FROM t",
            "/* access_mode=read_only */ SELECT a FROM t FOR UPDATE",
            "EXPLAIN SELECT a FROM t",
            "SELEKT a FROM t",
        ] {
            run(&mut client, &mut writer, sql).await;
        }
    });
}

/// Their digests, which are cut, are the same.
#[test]
fn statements_that_differ_behind_the_end_of_their_digest_are_told_apart() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        let long = format!("SELECT {}a FROM t", "a, ".repeat(2_000));
        run(&mut client, &mut reader, &long).await;
        run(&mut client, &mut writer, &format!("{long} FOR UPDATE")).await;
    });
}

#[test]
fn c08_a_transaction_stays_where_it_began() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        writer.status |= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut writer, "BEGIN").await;
        run(&mut client, &mut writer, "SELECT a FROM t").await;
        writer.status -= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut writer, "COMMIT").await;
        run(&mut client, &mut reader, "SELECT a FROM t").await;
        // With the next access of a table a transaction would begin.
        writer.status -= StatusFlags::AUTOCOMMIT;
        run(&mut client, &mut writer, "SET autocommit=0").await;
        run(&mut client, &mut writer, "SELECT a FROM t").await;
    });
}

#[test]
fn a_transaction_that_only_reads_goes_to_a_reader_whole() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        reader.status |= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut reader, "START TRANSACTION READ ONLY").await;
        run(&mut client, &mut reader, "SELECT a FROM t FOR UPDATE").await;
        // It ends with the next one, which may write.
        client.send_query("BEGIN").await;
        reader.expect_query("COMMIT").await;
        reader.status -= StatusFlags::IN_TRANSACTION;
        reader.ok().await;
        writer.expect_query("BEGIN").await;
        writer.status |= StatusFlags::IN_TRANSACTION;
        writer.ok().await;
        client.expect_ok().await;
        run(&mut client, &mut writer, "SELECT a FROM t").await;
    });
}

#[test]
fn c04_what_was_set_is_said_again_where_it_is_not_known() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        run(&mut client, &mut writer, "SET NAMES latin1").await;
        run(&mut client, &mut writer, "SET sql_mode='ANSI', @a = 1").await;
        run(&mut client, &mut writer, "USE other").await;
        run(&mut client, &mut writer, "SET sql_mode=''").await;
        client.send_query("SELECT a FROM t").await;
        reader.expect_query("SET NAMES latin1").await;
        reader.expect_query("SET @a = 1").await;
        reader.expect_command(Kind::InitDb, b"other").await;
        reader.expect_query("SET SESSION sql_mode = ''").await;
        for seq in [1, 1, 1, 1] {
            reader.packets().expect_seq(seq);
            reader.ok().await;
        }
        reader.expect_query("SELECT a FROM t").await;
        reader.ok().await;
        client.expect_ok().await;
        // Once is enough, also for the other one.
        run(&mut client, &mut reader, "SELECT a FROM t").await;
        run(&mut client, &mut writer, "DELETE FROM t").await;
    });
}

#[test]
fn c04_switches_that_were_set_one_after_the_other_are_all_said_again() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        let all = ["mrr=on,mrr_sort_keys=on", "index_merge=off"].map(|switches| {
            [
                format!("SET optimizer_switch='{switches}'"),
                format!("SET SESSION optimizer_switch = '{switches}'"),
            ]
        });
        for [said, _] in &all {
            run(&mut client, &mut writer, said).await;
        }
        client.send_query("SELECT a FROM t").await;
        for [_, again] in &all {
            reader.expect_query(again).await;
        }
        for _ in &all {
            reader.packets().expect_seq(1);
            reader.ok().await;
        }
        reader.expect_query("SELECT a FROM t").await;
        reader.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn a_setting_that_failed_is_not_said_again() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        client.send_query("SET NAMES nonsense").await;
        writer.expect_query("SET NAMES nonsense").await;
        writer.err(1115, "42000", "Unknown character set: 'nonsense'").await;
        client.expect_err(1115).await;
        run(&mut client, &mut reader, "SELECT a FROM t").await;
    });
}

#[test]
fn what_a_reader_cannot_do_the_writer_does() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        run(&mut client, &mut writer, "USE fresh").await;
        for _ in 0..2 {
            client.send_query("SELECT a FROM t").await;
            reader.expect_command(Kind::InitDb, b"fresh").await;
            reader.err(1049, "42000", "Unknown database 'fresh'").await;
            writer.expect_query("SELECT a FROM t").await;
            writer.ok().await;
            client.expect_ok().await;
        }
    });
}

#[test]
fn without_a_reader_the_writer_reads() {
    play(async || {
        let mut config = pair_of_servers();
        config.servers.truncate(1);
        let (stage, mut servers) = stage(config);
        let mut client = log_in(&stage).await;
        let mut writer = first_query(&mut client, &mut servers).await;
        run(&mut client, &mut writer, "SELECT a FROM t").await;
    });
}

/// What Ruby on Rails says first.
#[test]
fn c04_modes_that_are_added_the_reader_has() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        let modes = "sql_mode = CONCAT(CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), ',NO_AUTO_VALUE_ON_ZERO')";
        let set = format!("SET @@SESSION.{modes}, @@SESSION.sql_auto_is_null = 0");
        run(&mut client, &mut writer, &set).await;
        super::shared_sets::tells(&mut writer, "sql_mode", "STRICT_ALL_TABLES").await;
        client.send_query("SELECT a FROM t").await;
        reader.expect_query("SET SESSION sql_auto_is_null = 0").await;
        reader.ok().await;
        reader.expect_query("SET SESSION sql_mode = 'STRICT_ALL_TABLES'").await;
        reader.ok().await;
        reader.expect_query("SELECT a FROM t").await;
        reader.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn c04_what_cannot_be_said_again_keeps_the_session() {
    for sql in [
        "SET time_zone = @old, optimizer_switch = @old",
        "SET optimizer_switch = @old",
        "SET ROLE admin",
        "USE p\u{e4}",
        "CREATE TEMPORARY TABLE x (a INT)",
        "LOCK TABLES t READ",
        "FLUSH TABLES WITH READ LOCK",
        "SELECT 1; LOCK TABLES t READ",
        "CALL p()",
    ] {
        play(async || {
            let Scene { mut client, mut writer, .. } = scene(pair_of_servers()).await;
            run(&mut client, &mut writer, sql).await;
            run(&mut client, &mut writer, "SELECT a FROM t").await;
        });
    }
}

#[test]
fn an_xa_transaction_stays_to_its_end() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        run(&mut client, &mut writer, "XA START 'a'").await;
        run(&mut client, &mut writer, "XA END 'a'").await;
        run(&mut client, &mut writer, "SELECT a FROM t").await;
        run(&mut client, &mut writer, "XA ROLLBACK 'a'").await;
        run(&mut client, &mut reader, "SELECT a FROM t").await;
    });
}

#[test]
fn unlocked_tables_free_nothing_else() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        for sql in ["LOCK TABLES t READ", "FLUSH TABLES WITH READ LOCK"] {
            run(&mut client, &mut writer, sql).await;
            run(&mut client, &mut writer, "SELECT a FROM t").await;
            run(&mut client, &mut writer, "UNLOCK TABLES").await;
            run(&mut client, &mut reader, "SELECT a FROM t").await;
        }
        run(&mut client, &mut writer, "CREATE TEMPORARY TABLE x (a INT)").await;
        run(&mut client, &mut writer, "LOCK TABLES t READ").await;
        run(&mut client, &mut writer, "UNLOCK TABLES").await;
        run(&mut client, &mut writer, "SELECT a FROM x").await;
    });
}

#[test]
fn c05_who_asks_about_the_statement_before_asks_its_server() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        run(&mut client, &mut reader, "SELECT a FROM t").await;
        run(&mut client, &mut reader, "SHOW WARNINGS").await;
        run(&mut client, &mut writer, "SELECT LAST_INSERT_ID()").await;
        run(&mut client, &mut writer, "INSERT INTO t VALUES (1)").await;
        run(&mut client, &mut writer, "SELECT ROW_COUNT()").await;
    });
}

#[test]
fn the_next_transaction_only_is_kept_for_the_next() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        run(&mut client, &mut writer, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").await;
        run(&mut client, &mut writer, "SELECT a FROM t").await;
        run(&mut client, &mut reader, "SELECT a FROM t").await;
    });
}

#[test]
fn a_reader_that_goes_away_is_not_noticed() {
    play(async || {
        let Scene { mut client, mut writer, reader, mut servers, stage: _stage } =
            scene(pair_of_servers()).await;
        drop(reader);
        settle().await;
        run(&mut client, &mut writer, "DELETE FROM t").await;
        client.send_query("SELECT a FROM t").await;
        let mut reader = servers.accept().await;
        reader.expect_query("SELECT a FROM t").await;
        reader.ok().await;
        client.expect_ok().await;
        // Also while it is in use, but idle.
        drop(reader);
        settle().await;
        client.send_query("SELECT a FROM t").await;
        let mut reader = servers.accept().await;
        reader.expect_query("SELECT a FROM t").await;
        reader.ok().await;
        client.expect_ok().await;
    });
}

/// What the client was told of is over with its next statement, and what a function may have left
/// is no reason to end a session.
#[test]
fn a_reader_that_goes_away_is_not_noticed_after_an_error() {
    play(async || {
        let Scene { mut client, mut reader, mut servers, stage: _stage, .. } = scene(pair_of_servers()).await;
        run(&mut client, &mut reader, "/* access_mode=read_only */ SELECT f(1)").await;
        client.send_query("SELECT b FROM t").await;
        reader.expect_query("SELECT b FROM t").await;
        reader.err(1054, "42S22", "Unknown column 'b'").await;
        client.expect_err(1054).await;
        drop(reader);
        settle().await;
        client.send_query("SELECT a FROM t").await;
        let mut reader = servers.accept().await;
        reader.expect_query("SELECT a FROM t").await;
        reader.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn a_reset_session_begins_anew() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, mut servers, stage: _stage } =
            scene(pair_of_servers()).await;
        run(&mut client, &mut writer, "CREATE TEMPORARY TABLE x (a INT)").await;
        reset(&mut client, &mut writer).await;
        assert_eq!(reader.read_command().await, [Kind::Quit as u8]);
        reader.expect_end().await;
        client.send_query("SELECT a FROM t").await;
        // A login has set the client's character set; after a reset it is the server's.
        let mut reader = servers.accept().await;
        reader.expect_command(Kind::ResetConnection, b"").await;
        reader.ok().await;
        reader.expect_query("SELECT a FROM t").await;
        reader.ok().await;
        client.expect_ok().await;
    });
}

#[test]
fn a_session_that_ends_says_goodbye_everywhere() {
    play(async || {
        let Scene { mut client, mut writer, mut reader, .. } = scene(pair_of_servers()).await;
        client.send_command(Kind::Quit, b"").await;
        assert_eq!(reader.read_command().await, [Kind::Quit as u8]);
        assert_eq!(writer.read_command().await, [Kind::Quit as u8]);
    });
}

/// Rules, and no split.
pub(super) fn rules(rules: Vec<QueryRule>) -> Config {
    let mut config = pair_of_servers();
    config.variables.read_write_split = false;
    config.query_rules = rules.into();
    config
}

pub(super) fn rule(rule_id: i64, match_digest: &str) -> QueryRule {
    QueryRule {
        rule_id,
        active: true,
        match_digest: Some(match_digest.to_owned()),
        apply: true,
        ..QueryRule::default()
    }
}

#[test]
fn rules_answer_rewrite_and_send_away() {
    play(async || {
        let config = rules(vec![
            QueryRule { ok_msg: Some("fine".to_owned()), ..rule(1, "^PING$") },
            QueryRule { error_msg: Some("not today".to_owned()), ..rule(2, "^DROP") },
            QueryRule {
                match_pattern: Some("old".to_owned()),
                replace_pattern: Some("brand_new".to_owned()),
                destination_hostgroup: Some(1),
                ..rule(3, "old")
            },
            QueryRule { destination_hostgroup: Some(1), ..rule(4, "^SELECT") },
        ]);
        let Scene { mut client, mut writer, mut reader, .. } = scene(config).await;
        client.send_query("PING").await;
        assert_eq!(client.expect_ok().await.info, "fine");
        client.send_query("DROP TABLE t").await;
        assert_eq!(client.expect_err(1148).await.message, "not today");
        client.send_query("UPDATE old SET a = 1").await;
        reader.expect_query("UPDATE brand_new SET a = 1").await;
        reader.ok().await;
        client.expect_ok().await;
        run(&mut client, &mut reader, "SELECT 1").await;
        run(&mut client, &mut writer, "/* hostgroup=0 */ SELECT 1").await;
        // A session that has something that cannot be set elsewhere is not sent there.
        run(&mut client, &mut writer, "SET ROLE admin").await;
        client.send_query("SELECT 1").await;
        let error = client.expect_err(9006).await;
        assert!(error.message.contains("locked to hostgroup 0 but trying to reach hostgroup 1"), "{error:?}");
        run(&mut client, &mut writer, "DELETE FROM t").await;
    });
}

#[test]
fn no_session_waits_for_readers_that_cannot_be_reached() {
    play(async || {
        let (stage, mut servers) =
            stage_with(pair_of_servers(), CAPACITY, |endpoint| endpoint.to_string().starts_with("reader"));
        let mut client = log_in(&stage).await;
        let mut writer = first_query(&mut client, &mut servers).await;
        let begun = tokio::time::Instant::now();
        for _ in 0..20 {
            run(&mut client, &mut writer, "SELECT a FROM t").await;
        }
        let waited = begun.elapsed();
        assert!(waited < Duration::from_secs(5), "{waited:?}: the clock only moves when all tasks wait");
    });
}

#[test]
fn a_transaction_that_cannot_be_committed_is_not_left() {
    play(async || {
        let Scene { mut client, mut reader, .. } = scene(pair_of_servers()).await;
        reader.status |= StatusFlags::IN_TRANSACTION;
        run(&mut client, &mut reader, "START TRANSACTION READ ONLY").await;
        client.send_query("BEGIN").await;
        reader.expect_query("COMMIT").await;
        reader.err(1180, "HY000", "Got error during COMMIT").await;
        client.expect_err(1180).await;
        run(&mut client, &mut reader, "SELECT a FROM t").await;
    });
}
