//! What a session that shares connections may ask about what it said last, where the answer to that did not tell it, or the server has not
//! heard it.

use testkit::client::{CAPABILITIES, Options};
use wire::Capabilities;
use wire::command::Kind;

use super::shared::{asked, comes, config, takes_back, two, two_of};
use super::shared_traces::{EXECUTE, prepared};
use super::support::{Client, Database, options, play, run};

/// The first session prepares this as its statement 1, and the other one has the connection then, where it was closed.
async fn prepares_and_leaves(one: &mut Client, two: &mut Client, server: &mut Database, sql: &str) {
    one.send_command(Kind::StmtPrepare, sql.as_bytes()).await;
    server.expect_command(Kind::StmtPrepare, sql.as_bytes()).await;
    prepared(server, 1, 0).await;
    one.read().await;
    two.send_query("SELECT 2").await;
    server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
    comes(two, server, "SELECT 2").await;
}

/// MySQL warns that the command is deprecated, and counts no warnings in its answer.
#[test]
fn c06_a_list_of_fields_warns_without_saying_so() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SELECT 1").await;
        one.send_command(Kind::FieldList, b"t\0").await;
        server.expect_command(Kind::FieldList, b"t\0").await;
        server.end_of_rows().await;
        one.read().await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        run(&mut one, &mut server, "SHOW WARNINGS").await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        run(&mut two, &mut server, "SELECT 2").await;
    });
}

/// Servers take a comment behind the last semicolon for a statement, which changes nothing, and say OK to it.
#[test]
fn c06_a_comment_behind_rows_is_a_statement_that_changes_nothing() {
    play(async || {
        let several: Options = options().capabilities(CAPABILITIES | Capabilities::MULTI_STATEMENTS);
        let (_stage, _servers, mut one, mut two, mut server) = two_of(config(), &several, &several).await;
        one.send_query("SHOW COLUMNS FROM t; -- why").await;
        server.expect_query("SHOW COLUMNS FROM t; -- why").await;
        server.ok().await;
        one.expect_ok().await;
        run(&mut two, &mut server, "SELECT 2").await;
        one.send_query("SELECT ROW_COUNT()").await;
        comes(&mut one, &mut server, "SELECT COALESCE(0, ROW_COUNT()) AS `ROW_COUNT()`").await;
    });
}

/// It cannot have a cursor where it is not.
#[test]
fn c15_a_statement_that_cannot_be_prepared_has_no_cursor() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
        run(&mut one, &mut server, "LOCK TABLES u READ").await;
        one.send_command(Kind::StmtFetch, &[1, 0, 0, 0, 1, 0, 0, 0]).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.err(1100, "HY000", "Table 't' was not locked with LOCK TABLES").await;
        let digits = "5468652073746174656d656e742028312920686173206e6f206f70656e20637572736f72";
        let signal =
            format!("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1421, MESSAGE_TEXT = _utf8mb4 X'{digits}'");
        server.expect_query(&signal).await;
        server.err(1421, "HY000", "The statement (1) has no open cursor").await;
        assert_eq!(one.expect_err(1421).await.message, "The statement (1) has no open cursor");
        run(&mut one, &mut server, "SHOW WARNINGS").await;
    });
}

#[test]
fn c06_an_execution_that_was_refused_can_be_asked_about() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.err(1146, "42S02", "Table 't' doesn't exist").await;
        one.expect_err(1146).await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        run(&mut one, &mut server, "SHOW WARNINGS").await;
    });
}

/// What stored code has done before an error is not taken back, such as the temporary tables that it has made.
#[test]
fn c04_stored_code_that_fails_binds() {
    for sql in [
        "CREATE TEMPORARY TABLE t2 AS SELECT f2()",
        "SELECT GET_LOCK('a', 0), a FROM t",
        "SELECT f(1)",
        "CALL p()",
    ] {
        play(async || {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            one.send_query(sql).await;
            server.expect_query(sql).await;
            server.err(1050, "42S01", "Table 't2' already exists").await;
            one.expect_err(1050).await;
            run(&mut one, &mut server, "SELECT a FROM t2").await;
            two.send_query("SELECT 2").await;
            two.expect_err(9001).await;
        });
    }
}

#[test]
fn what_is_no_statement_leaves_no_function() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_query("SELECT f(1), FROM t").await;
        server.expect_query("SELECT f(1), FROM t").await;
        server.err(1064, "42000", "You have an error in your SQL syntax").await;
        one.expect_err(1064).await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        two.send_query("SELECT 2").await;
        asked(&mut server, "0").await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

/// Servers answer it as they end rows, and count it as rows.
#[test]
fn c06_what_is_fetched_counts_as_rows() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        prepared(&mut server, 1, 0).await;
        one.read().await;
        run(&mut one, &mut server, "UPDATE t SET a = 1").await;
        one.send_command(Kind::StmtFetch, &[1, 0, 0, 0, 1, 0, 0, 0]).await;
        server.expect_command(Kind::StmtFetch, &[1, 0, 0, 0, 1, 0, 0, 0]).await;
        server.end_of_rows().await;
        one.read().await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        one.send_query("SELECT ROW_COUNT()").await;
        comes(&mut one, &mut server, "SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`").await;
    });
}

#[test]
fn c06_an_option_that_is_set_counts_as_rows() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "UPDATE t SET a = 1").await;
        one.send_command(Kind::SetOption, &[1, 0]).await;
        server.expect_command(Kind::SetOption, &[1, 0]).await;
        server.end_of_rows().await;
        one.read().await;
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        server.expect_command(Kind::SetOption, &[0, 0]).await;
        server.end_of_rows().await;
        comes(&mut two, &mut server, "SELECT 2").await;
        one.send_query("SELECT ROW_COUNT()").await;
        server.expect_command(Kind::SetOption, &[1, 0]).await;
        server.end_of_rows().await;
        comes(&mut one, &mut server, "SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`").await;
    });
}
