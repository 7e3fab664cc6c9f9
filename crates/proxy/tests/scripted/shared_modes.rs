//! Prepared statements of sessions that share connections, where texts mean something else than
//! they did: in another schema, another SQL mode, other character sets.

use config::{Config, QueryRule};
use wire::command::Kind;

use super::shared::{comes, config, takes_back, two_of};
use super::shared_by_name::is_bound;
use super::shared_routines::does_not_tell;
use super::shared_sets::tells;
use super::shared_traces::{EXECUTE, in_schema, prepared};
use super::support::{Client, Database, begin, options, play, rule, run};

/// The first session prepares this, and the second one gets the connection.
async fn prepares_and_leaves(one: &mut Client, two: &mut Client, server: &mut Database, sql: &str) {
    one.send_command(Kind::StmtPrepare, sql.as_bytes()).await;
    server.expect_command(Kind::StmtPrepare, sql.as_bytes()).await;
    prepared(server, 1, 0).await;
    one.read().await;
    two.send_query("SELECT 2").await;
    server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
    comes(two, server, "SELECT 2").await;
}

/// The server has something to say about a statement.
async fn warns(client: &mut Client, server: &mut Database) {
    client.send_query("SELECT x").await;
    server.expect_query("SELECT x").await;
    server.err(1054, "42S22", "Unknown column 'x'").await;
    client.expect_err(1054).await;
}

/// The proxy says this on its own.
async fn run_own(server: &mut Database, sql: &str) {
    server.expect_query(sql).await;
    server.ok().await;
}

/// The statement is prepared where it is executed from then on, and the connection is the
/// session's until the statement is closed.
#[test]
fn c16_a_statement_that_would_be_another_one_now_binds_until_it_is_closed() {
    for sql in ["SET sql_mode = 'ANSI'", "SET NAMES latin1", "USE other"] {
        play(async || {
            let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
            prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT \"a\" FROM t").await;
            one.send_query(sql).await;
            server.expect_command(Kind::StmtPrepare, b"SELECT \"a\" FROM t").await;
            prepared(&mut server, 3, 0).await;
            comes(&mut one, &mut server, sql).await;
            is_bound(&mut two).await;
            one.send_command(Kind::StmtExecute, &EXECUTE).await;
            server.expect_command(Kind::StmtExecute, &[3, 0, 0, 0, 0, 1, 0, 0, 0]).await;
            server.ok().await;
            one.expect_ok().await;
            is_bound(&mut two).await;
            one.send_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
            server.expect_command(Kind::StmtClose, &3_u32.to_le_bytes()).await;
            run(&mut one, &mut server, "SELECT 3").await;
            two.send_query("SELECT 2").await;
            server.read_command().await;
        });
    }
}

/// One that asks about the statement before was prepared with the answer in its text, which was
/// good for one execution: there was no statement for the next one.
#[test]
fn c16_a_statement_that_asks_about_the_one_before_is_prepared_as_it_is() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        run(&mut one, &mut server, "UPDATE t SET a = 1").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT ROW_COUNT()").await;
        one.send_query("SET NAMES latin1").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT ROW_COUNT()").await;
        prepared(&mut server, 3, 0).await;
        comes(&mut one, &mut server, "SET NAMES latin1").await;
        for _ in 0..2 {
            one.send_command(Kind::StmtExecute, &EXECUTE).await;
            server.expect_command(Kind::StmtExecute, &[3, 0, 0, 0, 0, 1, 0, 0, 0]).await;
            server.ok().await;
            one.expect_ok().await;
        }
    });
}

/// It may be there for the execution before.
#[test]
fn c16_a_statement_with_an_answer_in_its_text_is_prepared_anew_before_modes_change() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        run(&mut one, &mut server, "UPDATE t SET a = 1").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT ROW_COUNT()").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        server.expect_query("SELECT 1 FROM (SELECT 1) AS pointsman").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        let told = b"SELECT COALESCE(0, ROW_COUNT()) AS `ROW_COUNT()`";
        server.expect_command(Kind::StmtPrepare, told).await;
        prepared(&mut server, 3, 0).await;
        server.expect_command(Kind::StmtExecute, &[3, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
        one.send_query("SET NAMES latin1").await;
        server.expect_command(Kind::StmtClose, &3_u32.to_le_bytes()).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT ROW_COUNT()").await;
        prepared(&mut server, 4, 0).await;
        comes(&mut one, &mut server, "SET NAMES latin1").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        server.expect_command(Kind::StmtExecute, &[4, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

/// What is prepared under the modes of now is an ordinary statement.
#[test]
fn a_statement_that_is_prepared_under_other_modes_binds_no_session() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        run(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        one.send_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        prepared(&mut server, 1, 0).await;
        one.read().await;
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        server.expect_command(Kind::InitDb, b"db").await;
        server.ok().await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

/// To prepare a statement takes an error away that MariaDB keeps behind a `SET`: the session keeps
/// it.
#[test]
fn c06_an_error_outlives_a_change_of_what_texts_mean() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT \"a\" FROM t").await;
        warns(&mut one, &mut server).await;
        one.send_query("SET sql_mode = 'ANSI'").await;
        server.expect_query("SHOW WARNINGS LIMIT 2").await;
        let row = [Some("Error"), Some("1054"), Some("Unknown column 'x'")];
        server.rows(&["Level", "Code", "Message"], &[&row]).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT \"a\" FROM t").await;
        prepared(&mut server, 3, 0).await;
        comes(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        one.send_query("SHOW WARNINGS").await;
        let signal = server.read_command().await;
        assert!(signal.starts_with(b"\x03SIGNAL SQLSTATE '42S22' SET MYSQL_ERRNO = 1054"));
        server.err(1054, "42S22", "Unknown column 'x'").await;
        comes(&mut one, &mut server, "SHOW WARNINGS").await;
    });
}

/// The question for an error that is to be kept has lost the connection, and nothing with it.
#[test]
fn a_change_of_what_texts_mean_survives_a_lost_connection() {
    play(async || {
        let (_stage, mut servers, mut one, mut two, mut server) = in_schema("db").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT \"a\" FROM t").await;
        warns(&mut one, &mut server).await;
        one.send_query("SET sql_mode = 'ANSI'").await;
        server.expect_query("SHOW WARNINGS LIMIT 2").await;
        drop(server);
        let mut server = servers.accept().await;
        server.expect_command(Kind::StmtPrepare, b"SELECT \"a\" FROM t").await;
        prepared(&mut server, 1, 0).await;
        comes(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
    });
}

/// Prepared now it would be another statement.
#[test]
fn c16_a_statement_of_other_modes_is_not_prepared_anew_for_error_1615() {
    play(async || {
        let (_stage, _servers, mut one, _two, mut server) = in_schema("db").await;
        one.send_command(Kind::StmtPrepare, b"SELECT \"a\" FROM t").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT \"a\" FROM t").await;
        prepared(&mut server, 1, 0).await;
        one.read().await;
        run(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        server.expect_command(Kind::StmtExecute, &EXECUTE).await;
        server.err(1615, "HY000", "Prepared statement needs to be re-prepared").await;
        one.expect_err(1615).await;
    });
}

/// They were prepared when they were executed, and read the table of another schema.
#[test]
fn c16_statements_mean_what_they_meant_behind_what_may_change_the_schema() {
    for (sql, is_asked) in [
        ("USE other; SELECT 1", false),
        ("SET sql_mode = CONCAT('AN', 'SI')", true),
        // At MySQL, `group_concat_max_len` counts when a statement is prepared.
        ("CALL p()", false),
    ] {
        play(async || {
            let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
            prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
            one.send_query(sql).await;
            server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
            prepared(&mut server, 3, 0).await;
            comes(&mut one, &mut server, sql).await;
            if is_asked {
                tells(&mut server, "sql_mode", "ANSI").await;
            }
            if sql == "CALL p()" {
                does_not_tell(&mut server, "p").await;
            }
            one.send_command(Kind::StmtExecute, &EXECUTE).await;
            server.expect_command(Kind::StmtExecute, &[3, 0, 0, 0, 0, 1, 0, 0, 0]).await;
            server.ok().await;
            one.expect_ok().await;
        });
    }
}

#[test]
fn c16_statements_mean_what_they_meant_behind_stored_code_that_is_prepared() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        one.send_command(Kind::StmtPrepare, b"CALL p()").await;
        server.expect_command(Kind::StmtPrepare, b"CALL p()").await;
        prepared(&mut server, 7, 0).await;
        one.read().await;
        one.send_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        prepared(&mut server, 1, 0).await;
        one.read().await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::StmtClose, &7_u32.to_le_bytes()).await;
        server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        let call = [7, 0, 0, 0, 0, 1, 0, 0, 0];
        one.send_command(Kind::StmtExecute, &call).await;
        let mut ids = [0; 2];
        for id in [8, 9] {
            let command = server.read_command().await;
            ids[usize::from(command.ends_with(b"CALL p()"))] = id;
            prepared(&mut server, id, 0).await;
        }
        let [read, call] = ids.map(|id| [id, 0, 0, 0, 0, 1, 0, 0, 0]);
        server.expect_command(Kind::StmtExecute, &call).await;
        server.ok().await;
        one.expect_ok().await;
        does_not_tell(&mut server, "p").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        server.expect_command(Kind::StmtExecute, &read).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

#[test]
fn a_transaction_that_is_lost_while_statements_are_prepared_is_told() {
    for sql in ["CALL p()", "SET sql_mode = 'ANSI'"] {
        play(async || {
            let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
            prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
            begin(&mut one, &mut server).await;
            one.send_query(sql).await;
            server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
            server.shut_down().await;
            one.expect_err(1213).await;
        });
    }
}

/// Who has written the code knows that it changes no modes.
#[test]
fn nothing_is_prepared_before_code_that_a_rule_vouches_for() {
    let row = QueryRule { multiplex: Some(2), apply: true, ..rule(1, "p") };
    let config = Config { query_rules: vec![row].into(), ..config() };
    play(async || {
        let in_one = options().schema("db");
        let (_stage, _servers, mut one, mut two, mut server) = two_of(config, &in_one, &in_one).await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
        run(&mut one, &mut server, "CALL p()").await;
    });
}

#[test]
fn nothing_is_prepared_before_stored_code_is_closed() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
        one.send_command(Kind::StmtPrepare, b"CALL p()").await;
        server.expect_command(Kind::StmtPrepare, b"CALL p()").await;
        prepared(&mut server, 7, 0).await;
        one.read().await;
        one.send_command(Kind::StmtClose, &7_u32.to_le_bytes()).await;
        server.expect_command(Kind::StmtClose, &7_u32.to_le_bytes()).await;
    });
}

/// A `SET` of an unknown value does not always set a mode, which decides what texts mean.
#[test]
fn a_variable_that_is_no_mode_has_nothing_prepared() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
        for sql in ["SET timestamp = 1750000000 + 5", "SET SESSION max_sort_length = @n; SELECT 1"] {
            run(&mut one, &mut server, sql).await;
        }
    });
}

/// What the server says of it then is not about the client's statements. Where its text means
/// something else the client has to prepare it again.
#[test]
fn c16_a_statement_that_cannot_be_prepared_while_tables_are_locked_is_prepared_again_by_its_client() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
        run(&mut one, &mut server, "LOCK TABLES u READ").await;
        one.send_query("SET sql_mode = 'ANSI'").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.err(1100, "HY000", "Table 't' was not locked with LOCK TABLES").await;
        run_own(&mut server, "SELECT 1 FROM (SELECT 1) AS pointsman").await;
        comes(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        run(&mut one, &mut server, "UNLOCK TABLES").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        one.expect_err(1615).await;
        one.send_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        run(&mut one, &mut server, "SELECT 1").await;
    });
}

/// The statement was taken for one of the schema that was named last, and sessions in that schema
/// executed it.
#[test]
fn c15_a_statement_of_a_schema_that_is_not_certain_binds_its_connection() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        for sql in ["USE db", "USE /*!50000 other */"] {
            run(&mut one, &mut server, sql).await;
        }
        one.send_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        prepared(&mut server, 3, 0).await;
        one.read().await;
        run(&mut one, &mut server, "USE db").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        one.send_command(Kind::StmtClose, &3_u32.to_le_bytes()).await;
        server.expect_command(Kind::StmtClose, &3_u32.to_le_bytes()).await;
        run(&mut one, &mut server, "SELECT 1").await;
        run(&mut two, &mut server, "SELECT 2").await;
    });
}
