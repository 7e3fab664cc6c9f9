//! Sessions that share connections and use tables: their server is asked what is behind the names,
//! once, and a session is bound where that leaves something.

use config::{Config, QueryRule};
use proxy::stage::Stage;
use testkit::client::Options;
use wire::StatusFlags;

use super::left_statements::{executes, expect_close, prepares};
use super::shared::{asked, comes, config as usual, two_of};
use super::shared_by_name::is_bound;
use super::support::{
    Client, Database, Servers, begin, commit, first_query, log_in_as, options, play, rule, run, stage,
};

const ROWS: &str = "SELECT ROW_COUNT(), FOUND_ROWS(), @@character_set_results, @@sql_mode";

fn config() -> Config {
    let mut config = usual();
    config.pointsman.judge_tables = true;
    config
}

async fn two() -> (Stage, Servers, Client, Client, Database) {
    let in_one: Options = options().schema("db");
    two_of(config(), &in_one, &in_one).await
}

/// The server is asked what is behind names, one after the other, and tells these definitions.
async fn tells(server: &mut Database, all: &[(&str, &[(&str, &str)])]) {
    server.expect_query(ROWS).await;
    let row = [Some("0"), Some("1"), Some("utf8mb4"), Some("STRICT_TRANS_TABLES")];
    server.rows(&["a", "b", "c", "d"], &[&row]).await;
    tells_more(server, all).await;
}

async fn tells_more(server: &mut Database, all: &[(&str, &[(&str, &str)])]) {
    for (name, definitions) in all {
        let (schema, name) = name.split_once('.').unwrap();
        server
            .expect_query(&format!(
                "SELECT 'view', HEX(VIEW_DEFINITION), '' FROM information_schema.VIEWS \
                 WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME = '{name}' UNION ALL \
                 SELECT 'trigger', HEX(ACTION_STATEMENT), SQL_MODE FROM information_schema.TRIGGERS \
                 WHERE EVENT_OBJECT_SCHEMA = '{schema}' AND EVENT_OBJECT_TABLE = '{name}' UNION ALL \
                 SELECT 'default', '', '' FROM information_schema.COLUMNS \
                 WHERE TABLE_SCHEMA = '{schema}' AND TABLE_NAME = '{name}' \
                 AND COLUMN_DEFAULT LIKE '%nextval(%' LIMIT 64"
            ))
            .await;
        let hex = |text: &str| text.bytes().fold(String::new(), |all, byte| all + &format!("{byte:02X}"));
        let all: Vec<_> = definitions.iter().map(|(kind, text)| (*kind, hex(text))).collect();
        let rows: Vec<_> =
            all.iter().map(|(kind, hex)| [Some(*kind), Some(hex.as_str()), Some("")]).collect();
        let rows: Vec<&[Option<&str>]> = rows.iter().map(|row| &row[..]).collect();
        server.rows(&["view", "hex", ""], &rows).await;
    }
}

/// The other session gets the connection.
async fn is_free(client: &mut Client, server: &mut Database) {
    client.send_query("SELECT 2").await;
    asked(server, "0").await;
    comes(client, server, "SELECT 2").await;
}

/// A statement with a table fails; an idle second later the server has this to say of it.
async fn fails(client: &mut Client, server: &mut Database) {
    let sql = "INSERT INTO t VALUES (1)";
    client.send_query(sql).await;
    server.expect_query(sql).await;
    server.err(1062, "23000", "Duplicate entry '1'").await;
    client.expect_err(1062).await;
}

/// The error is kept first: the question would take it away.
#[test]
fn a_table_of_a_failed_statement_is_asked_for_behind_its_error() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        fails(&mut one, &mut server).await;
        is_bound(&mut two).await;
        server.expect_query("SHOW WARNINGS LIMIT 2").await;
        let row = [Some("Error"), Some("1062"), Some("Duplicate entry '1'")];
        server.rows(&["Level", "Code", "Message"], &[&row]).await;
        tells(&mut server, &[("db.t", &[])]).await;
        is_free(&mut two, &mut server).await;
    });
}

/// Whether the next statement has tables for certain is not known before the question, either.
#[test]
fn an_error_that_a_later_statement_has_taken_away_does_not_bind() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        fails(&mut one, &mut server).await;
        run(&mut one, &mut server, "INSERT INTO t VALUES (2)").await;
        is_bound(&mut two).await;
        server.expect_query("SHOW WARNINGS LIMIT 2").await;
        server.rows(&["Level", "Code", "Message"], &[]).await;
        tells(&mut server, &[("db.t", &[])]).await;
        is_free(&mut two, &mut server).await;
    });
}

#[test]
fn a_table_is_asked_for_once() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SELECT a FROM t JOIN x.u WHERE a = 1").await;
        tells(&mut server, &[("db.t", &[]), ("x.u", &[])]).await;
        is_free(&mut two, &mut server).await;
        for sql in ["SELECT a FROM t JOIN x.u WHERE a = 2", "SELECT b FROM t", "UPDATE x.u SET a = 1"] {
            run(&mut one, &mut server, sql).await;
            run(&mut two, &mut server, "SELECT 2").await;
        }
    });
}

#[test]
fn c04_views_and_triggers_that_leave_something_bind() {
    play(async || {
        for definition in [
            ("view", "select get_lock('v',0) AS `g`"),
            ("view", "select last_insert_id() AS `g`"),
            ("view", "select `db`.`t`.`a` AS `a` from `db`.`t` where `unfinished"),
            ("trigger", "SET @a = NEW.a"),
            ("trigger", "BEGIN SET NEW.a = 1; SET SESSION sql_mode = ''; END"),
        ] {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            run(&mut one, &mut server, "SELECT a FROM t").await;
            tells(&mut server, &[("db.t", &[definition])]).await;
            is_bound(&mut two).await;
            // It is asked once: there is nothing more to be bound by.
            run(&mut one, &mut server, "SELECT a FROM t").await;
        }
    });
}

#[test]
fn views_and_triggers_that_leave_nothing_are_followed() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "INSERT INTO t VALUES (1)").await;
        let trigger = ("trigger", "BEGIN SET NEW.a = UPPER(NEW.a); INSERT INTO log SELECT b FROM v; END");
        tells(&mut server, &[("db.t", &[trigger])]).await;
        let view = ("view", "select `x`.`u`.`b` AS `b` from `x`.`u`");
        tells_more(&mut server, &[("db.log", &[]), ("db.v", &[view])]).await;
        tells_more(&mut server, &[("x.u", &[])]).await;
        is_free(&mut two, &mut server).await;
    });
}

/// What the user may not see has no definition.
#[test]
fn a_view_that_may_not_be_seen_does_not_bind() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        tells(&mut server, &[("db.t", &[("view", "")])]).await;
        is_free(&mut two, &mut server).await;
    });
}

#[test]
fn tables_of_a_transaction_are_asked_for_behind_it() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        begin(&mut one, &mut server).await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        run(&mut one, &mut server, "SELECT a FROM u").await;
        commit(&mut one, &mut server).await;
        tells(&mut server, &[("db.t", &[]), ("db.u", &[])]).await;
        is_free(&mut two, &mut server).await;
    });
}

/// The definition may come into force later, at a replica: what is found out right then holds for
/// no time.
#[test]
fn tables_are_asked_for_again_behind_a_definition() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        tells(&mut server, &[("db.t", &[])]).await;
        is_free(&mut two, &mut server).await;
        run(&mut two, &mut server, "CREATE OR REPLACE VIEW t AS SELECT GET_LOCK('a', 1)").await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        tells(&mut server, &[("db.t", &[])]).await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        tells(&mut server, &[("db.t", &[("view", "select get_lock('a',1) AS `a`")])]).await;
        is_bound(&mut two).await;
    });
}

#[test]
fn an_execution_asks_for_its_tables_once() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares(&mut one, &mut server, "SELECT a FROM t", 7).await;
        for round in 0..2 {
            executes(&mut one, &mut server, 7, 7).await;
            if round == 0 {
                tells(&mut server, &[("db.t", &[])]).await;
            }
        }
        two.send_query("SELECT 2").await;
        expect_close(&mut server, 7).await;
        asked(&mut server, "0").await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

/// Two sessions use a table at the same time: the one whose statement ends later need not ask.
#[test]
fn a_table_that_another_session_has_asked_for_is_known() {
    play(async || {
        let mut config = config();
        config.servers[0].max_connections = 2;
        let in_one: Options = options().schema("db");
        let (stage, mut servers) = stage(config);
        let mut one = log_in_as(&stage, &in_one).await;
        let mut server = first_query(&mut one, &mut servers).await;
        begin(&mut one, &mut server).await;
        let mut two = log_in_as(&stage, &in_one).await;
        let mut other = first_query(&mut two, &mut servers).await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        run(&mut two, &mut other, "SELECT a FROM t").await;
        tells(&mut other, &[("db.t", &[])]).await;
        run(&mut two, &mut other, "SELECT 2").await;
        commit(&mut one, &mut server).await;
        run(&mut one, &mut server, "SELECT 1").await;
    });
}

/// What is known of one statement holds for others with its digest only if these name the same
/// tables: digests may lack digits and capital letters, and the end of a long statement.
#[test]
fn c04_tables_are_told_apart_where_digests_are_not() {
    let long = format!("SELECT {} FROM ", vec!["some_column"; 300].join(", "));
    for (no_digits, lowercase, begin, one, other) in [
        (true, false, "SELECT a FROM ", "t1", "t2"),
        (false, true, "SELECT a FROM ", "t", "T"),
        (false, false, long.as_str(), "t", "u"),
    ] {
        play(async || {
            let mut config = config();
            config.variables.query_digests_no_digits = no_digits;
            config.variables.query_digests_lowercase = lowercase;
            let in_one: Options = options().schema("db");
            let (_stage, _servers, mut first, mut two, mut server) = two_of(config, &in_one, &in_one).await;
            run(&mut first, &mut server, &format!("{begin}{one}")).await;
            tells(&mut server, &[(&format!("db.{one}"), &[])]).await;
            run(&mut first, &mut server, &format!("{begin}{one}")).await;
            run(&mut first, &mut server, &format!("{begin}{other}")).await;
            tells(&mut server, &[(&format!("db.{other}"), &[("trigger", "SET @a = NEW.a")])]).await;
            is_bound(&mut two).await;
        });
    }
}

/// A rule may make statements with other tables of those with one digest.
#[test]
fn c04_tables_are_those_of_the_statement_that_is_sent() {
    play(async || {
        let mut config = config();
        config
            .query_rules
            .push(QueryRule { replace_pattern: Some("FROM v".to_owned()), ..rule(1, "FROM t WHERE a = 2") });
        let in_one: Options = options().schema("db");
        let (_stage, _servers, mut one, mut two, mut server) = two_of(config, &in_one, &in_one).await;
        run(&mut one, &mut server, "SELECT a FROM t WHERE a = 1").await;
        tells(&mut server, &[("db.t", &[])]).await;
        run(&mut one, &mut server, "SELECT a FROM t WHERE a = 1").await;
        one.send_query("SELECT a FROM t WHERE a = 2").await;
        server.expect_query("SELECT a FROM v").await;
        server.ok().await;
        one.expect_ok().await;
        tells(&mut server, &[("db.v", &[("view", "select get_lock('v',0) AS `g`")])]).await;
        is_bound(&mut two).await;
    });
}

/// At MySQL a question begins a transaction where `autocommit` is off. It ends whatever
/// `completion_type` says.
#[test]
fn a_question_leaves_no_transaction_open() {
    play(async || {
        let (_stage, _servers, mut one, _two, mut server) = two().await;
        server.status = StatusFlags::empty();
        run(&mut one, &mut server, "SET autocommit = 0").await;
        server.status = StatusFlags::IN_TRANSACTION;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        one.send_query("COMMIT").await;
        server.expect_query("COMMIT").await;
        server.status = StatusFlags::empty();
        server.ok().await;
        one.expect_ok().await;
        server.status = StatusFlags::IN_TRANSACTION;
        tells(&mut server, &[("db.t", &[])]).await;
        server.expect_query("COMMIT AND NO CHAIN NO RELEASE").await;
        server.status = StatusFlags::empty();
        server.ok().await;
        run(&mut one, &mut server, "SELECT 1").await;
    });
}

/// It is none of the client's: no error tells that it is lost.
#[test]
fn the_transaction_of_a_question_is_lost_without_a_word() {
    play(async || {
        let (_stage, mut servers, mut one, _two, mut server) = two().await;
        server.status = StatusFlags::empty();
        run(&mut one, &mut server, "SET autocommit = 0").await;
        server.status = StatusFlags::IN_TRANSACTION;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        one.send_query("COMMIT").await;
        server.expect_query("COMMIT").await;
        server.status = StatusFlags::empty();
        server.ok().await;
        one.expect_ok().await;
        server.status = StatusFlags::IN_TRANSACTION;
        tells(&mut server, &[("db.t", &[])]).await;
        server.expect_query("COMMIT AND NO CHAIN NO RELEASE").await;
        drop(server);
        one.send_query("SELECT 1").await;
        let mut server = servers.accept().await;
        server.status = StatusFlags::empty();
        server.expect_query("SET SESSION autocommit = 0").await;
        server.ok().await;
        comes(&mut one, &mut server, "SELECT 1").await;
    });
}
