//! Sessions that share connections and call stored routines: their server is asked what these do,
//! and the session is bound where they leave something, or where that is unknown.

use testkit::client::Options;
use wire::command::Kind;

use super::shared::{asked, comes, config, two_of};
use super::shared_by_name::is_bound;
use super::shared_traces::{COLUMN, in_schema};
use super::support::{Client, Database, begin, commit, options, play, reset, run};

/// A routine that the server is asked for.
#[derive(Clone, Copy)]
enum Is {
    Procedure,
    Function,
}

pub(super) const FIRST: &str = "SELECT ROW_COUNT(), FOUND_ROWS(), @@character_set_results, @@sql_mode";

/// The server tells how many rows there were.
async fn tells_rows(server: &mut Database, changed: &str, found: &str) {
    tells_first(server, [Some(changed), Some(found), Some("utf8mb4"), Some("STRICT_TRANS_TABLES")]).await;
}

async fn tells_first(server: &mut Database, row: [Option<&str>; 4]) {
    server.expect_query(FIRST).await;
    server.rows(&["a", "b", "c", "d"], &[&row]).await;
}

/// It is asked for this routine, and tells what it is, if it has anything to tell: of one
/// parameter, which is called `n`.
async fn tells(server: &mut Database, is: Is, schema: &str, name: &str, body: Option<&str>) {
    tells_near(server, is, (None, schema, name), body, true).await;
}

/// The same of one that was called by a name with a schema, and that was altered or not.
async fn tells_near(
    server: &mut Database,
    is: Is,
    (near, schema, name): (Option<&str>, &str, &str),
    body: Option<&str>,
    is_old: bool,
) {
    let (kind, returns) = match is {
        Is::Procedure => ("PROCEDURE", ""),
        Is::Function => ("FUNCTION", " RETURNS int(11)"),
    };
    server.expect_query(&format!("SHOW CREATE {kind} `{schema}`.`{name}`")).await;
    let text = body.map(|body| {
        format!("CREATE DEFINER=`app`@`%` {kind} `{name}`(n INT){returns}\n    READS SQL DATA\n{body}")
    });
    let row = [Some(name), Some("STRICT_TRANS_TABLES"), text.as_deref(), Some("utf8mb4")];
    server.rows(&["a", "b", "c", "d"], &[&row]).await;
    let package = near.map_or_else(String::new, |near| {
        format!(
            " AND NOT EXISTS (SELECT 1 FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{near}' \
             AND ROUTINE_NAME = '{schema}' AND ROUTINE_TYPE LIKE 'PACKAGE%')"
        )
    });
    server
        .expect_query(&format!(
            "SELECT 1 FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = '{schema}' \
             AND ROUTINE_NAME = '{name}' AND ROUTINE_TYPE = '{kind}' AND ROUTINE_BODY = 'SQL' \
             AND LAST_ALTERED < SYSDATE() - INTERVAL 3701 SECOND{package}"
        ))
        .await;
    let rows: &[&[Option<&str>]] = if is_old { &[&[Some("1")]] } else { &[] };
    server.rows(&["1"], rows).await;
}

/// It does not tell.
pub(super) async fn does_not_tell(server: &mut Database, procedure: &str) {
    tells_rows(server, "0", "0").await;
    tells(server, Is::Procedure, "db", procedure, None).await;
}

/// The other session gets the connection. Stored code may have had a key generated.
async fn is_free(client: &mut Client, server: &mut Database) {
    client.send_query("SELECT 2").await;
    asked(server, "0").await;
    comes(client, server, "SELECT 2").await;
}

#[test]
fn c04_a_procedure_that_leaves_nothing_binds_no_session() {
    play(async || {
        for body in ["SELECT n", "SET n = 1", "BEGIN DECLARE a INT; SET a = n; UPDATE t SET b = a; END"] {
            let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
            run(&mut one, &mut server, "CALL p(1)").await;
            tells_rows(&mut server, "0", "1").await;
            tells(&mut server, Is::Procedure, "db", "p", Some(body)).await;
            is_free(&mut two, &mut server).await;
        }
    });
}

#[test]
fn c04_a_routine_that_leaves_something_binds() {
    play(async || {
        for body in [Some("SET sql_mode = ''"), Some("SET @a = n"), Some("DO GET_LOCK('a', 1)"), None] {
            let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
            run(&mut one, &mut server, "CALL p(1)").await;
            tells_rows(&mut server, "0", "1").await;
            tells(&mut server, Is::Procedure, "db", "p", body).await;
            is_bound(&mut two).await;
            // It is asked once: there is nothing more to be bound by.
            run(&mut one, &mut server, "CALL p(1)").await;
            run(&mut one, &mut server, "SELECT 1").await;
        }
    });
}

/// What it is now it may not have been when it was called.
#[test]
fn c04_a_routine_that_was_altered_binds() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        run(&mut one, &mut server, "CALL p(1)").await;
        tells_rows(&mut server, "0", "1").await;
        tells_near(&mut server, Is::Procedure, (None, "db", "p"), Some("SELECT n"), false).await;
        is_bound(&mut two).await;
        run(&mut one, &mut server, "SELECT 1").await;
    });
}

/// A server that comes back from another schema knows the character set of the session's again.
#[test]
fn c04_a_routine_of_another_schema_binds_a_session_that_was_reset() {
    play(async || {
        for (sql, near, schema) in [("CALL p(1)", None, "db"), ("CALL other.p(1)", Some("db"), "other")] {
            let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
            reset(&mut one, &mut server).await;
            run(&mut one, &mut server, sql).await;
            tells_rows(&mut server, "0", "1").await;
            tells_near(&mut server, Is::Procedure, (near, schema, "p"), Some("SELECT n"), true).await;
            if schema == "other" {
                is_bound(&mut two).await;
                run(&mut one, &mut server, "SELECT 1").await;
            } else {
                two.send_query("SELECT 2").await;
                asked(&mut server, "0").await;
            }
        }
    });
}

/// In some character sets and modes an answer is not what it seems to be.
#[test]
fn c04_a_definition_that_is_not_told_as_it_is_binds() {
    play(async || {
        for (charset, modes) in
            [(Some("gbk"), ""), (Some("filename"), ""), (None, ""), (Some("latin1"), "ANSI,ORACLE")]
        {
            let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
            run(&mut one, &mut server, "CALL p(1)").await;
            tells_first(&mut server, [Some("0"), Some("1"), charset, Some(modes)]).await;
            is_bound(&mut two).await;
            run(&mut one, &mut server, "SELECT 1").await;
        }
    });
}

/// The procedure is not that of the schema which the session is known to have been in.
#[test]
fn c04_a_routine_of_an_unknown_schema_binds() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        run(&mut one, &mut server, "USE `\u{e9}`").await;
        run(&mut one, &mut server, "CALL p(1)").await;
        run(&mut one, &mut server, "USE db").await;
        run(&mut one, &mut server, "SELECT 1").await;
        is_bound(&mut two).await;
    });
}

/// Those that a routine calls are in its schema.
#[test]
fn c04_what_a_routine_calls_is_asked_for_as_well() {
    play(async || {
        for leaves in [false, true] {
            let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
            run(&mut one, &mut server, "CALL other.p(f(1))").await;
            tells_rows(&mut server, "0", "1").await;
            let body = "BEGIN CALL q(); SELECT a.g(n); END";
            tells_near(&mut server, Is::Procedure, (Some("db"), "other", "p"), Some(body), true).await;
            tells(&mut server, Is::Function, "db", "f", Some("RETURN f(n) + 1")).await;
            tells(&mut server, Is::Procedure, "other", "q", Some("CALL p(1)")).await;
            let body = if leaves { "RETURN @a" } else { "RETURN n" };
            tells_near(&mut server, Is::Function, (Some("other"), "a", "g"), Some(body), true).await;
            if leaves {
                is_bound(&mut two).await;
            } else {
                // By a name without a schema it could be another one.
                tells(&mut server, Is::Procedure, "other", "p", Some("SELECT n")).await;
                is_free(&mut two, &mut server).await;
            }
        }
    });
}

#[test]
fn c04_a_function_that_leaves_nothing_binds_no_session() {
    play(async || {
        for sql in ["SELECT f(a), COUNT(*) FROM t", "UPDATE t SET a = f(1)"] {
            let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
            run(&mut one, &mut server, sql).await;
            tells_rows(&mut server, "1", "1").await;
            tells(&mut server, Is::Function, "db", "f", Some("RETURN n")).await;
            is_free(&mut two, &mut server).await;
        }
    });
}

/// In a transaction the session is bound anyway, and at MySQL the question would begin one where it
/// is not committed by itself.
#[test]
fn c01_no_question_comes_into_a_transaction() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        begin(&mut one, &mut server).await;
        run(&mut one, &mut server, "CALL p(1)").await;
        run(&mut one, &mut server, "SELECT f(1)").await;
        commit(&mut one, &mut server).await;
        tells_rows(&mut server, "0", "1").await;
        tells(&mut server, Is::Procedure, "db", "p", Some("SELECT n")).await;
        tells(&mut server, Is::Function, "db", "f", Some("RETURN n")).await;
        is_free(&mut two, &mut server).await;
        server.status = wire::StatusFlags::empty();
        run(&mut one, &mut server, "SET autocommit = 0").await;
        run(&mut one, &mut server, "CALL p(1)").await;
        run(&mut one, &mut server, "SELECT 1").await;
        is_bound(&mut two).await;
    });
}

#[test]
fn c04_what_is_not_known_binds_whatever_else_was_called() {
    play(async || {
        for sql in ["CALL p(1, @a)", "CALL `p q`()", "PREPARE q FROM @a", "SELECT f(1); SELECT 2"] {
            let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
            run(&mut one, &mut server, sql).await;
            run(&mut one, &mut server, "CALL p(1)").await;
            run(&mut one, &mut server, "SELECT 1").await;
            is_bound(&mut two).await;
        }
    });
}

#[test]
fn what_the_questions_hide_is_known_behind_them() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        run(&mut one, &mut server, "CALL p(1)").await;
        tells_rows(&mut server, "-1", "7").await;
        tells(&mut server, Is::Procedure, "db", "p", Some("SELECT a INTO n FROM t")).await;
        one.send_query("SELECT ROW_COUNT(), FOUND_ROWS()").await;
        let told =
            "SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`, COALESCE(7, FOUND_ROWS()) AS `FOUND_ROWS()`";
        comes(&mut one, &mut server, told).await;
        is_free(&mut two, &mut server).await;
    });
}

/// A function that is called for many rows at once may leave as much as one that is called once.
#[test]
fn c04_a_bulk_execution_leaves_what_an_execution_leaves() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        let sql = b"INSERT INTO t (a) VALUES (f(?))";
        one.send_command(Kind::StmtPrepare, sql).await;
        server.expect_command(Kind::StmtPrepare, sql).await;
        // It has one value and no columns.
        server.send(&[0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]).await;
        server.send(&COLUMN).await;
        for _ in 0..2 {
            one.read().await;
        }
        // The types of its values are sent, which are an integer each time.
        let bulk = [1, 0, 0, 0, 128, 0, 3, 0, 0, 7, 0, 0, 0, 0, 8, 0, 0, 0];
        one.send_command(Kind::StmtBulkExecute, &bulk).await;
        server.expect_command(Kind::StmtBulkExecute, &bulk).await;
        server.ok().await;
        one.expect_ok().await;
        tells_rows(&mut server, "2", "0").await;
        tells(&mut server, Is::Function, "db", "f", Some("RETURN @a")).await;
        is_bound(&mut two).await;
        run(&mut one, &mut server, "SELECT 1").await;
    });
}

/// An operator can have it that servers are not asked.
#[test]
fn no_server_is_asked_for_routines_without_judge_routines() {
    play(async || {
        let mut config = config();
        config.pointsman.judge_routines = false;
        let in_one: Options = options().schema("db");
        let (_stage, _servers, mut one, mut two, mut server) = two_of(config, &in_one, &in_one).await;
        run(&mut one, &mut server, "CALL p(1)").await;
        is_bound(&mut two).await;
        run(&mut one, &mut server, "SELECT 1").await;
    });
}

/// It is unknown then what is lost with the server.
#[test]
fn a_server_that_is_lost_while_it_is_asked_is_missed() {
    play(async || {
        let (_stage, _servers, mut one, _two, mut server) = in_schema("db").await;
        run(&mut one, &mut server, "CALL p(1)").await;
        server.expect_query(FIRST).await;
        server.shut_down().await;
        one.send_query("SELECT 1").await;
        one.expect_err(1053).await;
    });
}
