//! Sessions that share connections and call stored routines: their server is asked what these do, and the session is bound where they leave
//! something, or where nobody knows.

use testkit::client::Options;

use super::shared::{asked, comes, config, two_of};
use super::shared_by_name::is_bound;
use super::shared_traces::in_schema;
use super::support::{Client, Database, begin, commit, options, play, run};

/// A routine that the server is asked for.
#[derive(Clone, Copy)]
enum Is {
    Procedure,
    Function,
}

/// The server tells how many rows there were.
async fn tells_rows(server: &mut Database, changed: &str, found: &str) {
    server.expect_query("SELECT ROW_COUNT(), FOUND_ROWS()").await;
    server.rows(&["a", "b"], &[&[Some(changed), Some(found)]]).await;
}

/// It is asked for this routine, and tells its body, if it has one to tell, and that of it one parameter is called `n`.
async fn tells(server: &mut Database, is: Is, schema: &str, name: &str, body: Option<&str>) {
    let kind = match is {
        Is::Procedure => "PROCEDURE",
        Is::Function => "FUNCTION",
    };
    server
        .expect_query(&format!(
            "SELECT HEX(CONVERT(ROUTINE_DEFINITION USING utf8mb4)), SQL_MODE FROM information_schema.ROUTINES \
             WHERE ROUTINE_SCHEMA = '{schema}' AND ROUTINE_NAME = '{name}' AND ROUTINE_TYPE = '{kind}' \
             AND ROUTINE_BODY = 'SQL' AND LENGTH(ROUTINE_DEFINITION) <= 16384 \
             AND LAST_ALTERED < SYSDATE() - INTERVAL 3 SECOND"
        ))
        .await;
    let hex: Option<String> = body.map(|body| {
        let digits = body.bytes().flat_map(|byte| [byte >> 4, byte & 15]);
        digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
    });
    let row = [hex.as_deref(), Some("STRICT_TRANS_TABLES")];
    match hex {
        Some(_) => server.rows(&["a", "b"], &[&row]).await,
        None => server.rows(&["a", "b"], &[]).await,
    }
    server
        .expect_query(&format!(
            "SELECT PARAMETER_NAME FROM information_schema.PARAMETERS WHERE SPECIFIC_SCHEMA = '{schema}' \
             AND SPECIFIC_NAME = '{name}' AND ROUTINE_TYPE = '{kind}' AND PARAMETER_NAME IS NOT NULL LIMIT 64"
        ))
        .await;
    server.rows(&["a"], &[&[Some("n")]]).await;
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
fn c04_a_procedure_that_leaves_nothing_binds_nobody() {
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

/// Those that a routine calls are in its schema.
#[test]
fn c04_what_a_routine_calls_is_asked_for_as_well() {
    play(async || {
        for leaves in [false, true] {
            let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
            run(&mut one, &mut server, "CALL other.p(f(1))").await;
            tells_rows(&mut server, "0", "1").await;
            tells(&mut server, Is::Procedure, "other", "p", Some("BEGIN CALL q(); SELECT a.g(n); END")).await;
            tells(&mut server, Is::Function, "db", "f", Some("RETURN f(n) + 1")).await;
            tells(&mut server, Is::Procedure, "other", "q", Some("CALL p(1)")).await;
            let body = if leaves { "RETURN @a" } else { "RETURN n" };
            tells(&mut server, Is::Function, "a", "g", Some(body)).await;
            if leaves { is_bound(&mut two).await } else { is_free(&mut two, &mut server).await }
        }
    });
}

#[test]
fn c04_a_function_that_leaves_nothing_binds_nobody() {
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

/// In a transaction the session is bound anyway, and at MySQL the question would begin one where it is not committed by itself.
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
        for sql in ["CALL p(1, @a)", "CALL `p q`()", "EXECUTE p USING @a", "SELECT f(1); SELECT 2"] {
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

/// An operator can have it that servers are not asked.
#[test]
fn nobody_is_asked_where_that_is_not_wanted() {
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

/// Nobody knows then what is lost with it.
#[test]
fn a_server_that_is_lost_while_it_is_asked_is_missed() {
    play(async || {
        let (_stage, _servers, mut one, _two, mut server) = in_schema("db").await;
        run(&mut one, &mut server, "CALL p(1)").await;
        server.expect_query("SELECT ROW_COUNT(), FOUND_ROWS()").await;
        server.shut_down().await;
        one.send_query("SELECT 1").await;
        one.expect_err(1053).await;
    });
}
