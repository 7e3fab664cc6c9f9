//! Prepared statements of sessions that share connections, where texts mean something else than
//! they did: in another schema, another SQL mode, other character sets.

use config::{Config, QueryRule};
use wire::command::Kind;

use super::shared::{comes, config, two, two_of};
use super::shared_routines::does_not_tell;
use super::shared_sets::tells;
use super::shared_traces::{EXECUTE, in_schema, prepared};
use super::support::{Client, Database, begin, options, play, rule, run};

/// What decides what texts mean.
const QUESTION: &str = "SELECT @@sql_mode, @@character_set_client, @@collation_connection, DATABASE()";

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

/// The server is asked what texts mean there, and says this of its SQL mode.
async fn modes(server: &mut Database, sql_mode: &str) {
    modes_in(server, sql_mode, Some("anywhere")).await;
}

/// The same, and in which schema the session is.
async fn modes_in(server: &mut Database, sql_mode: &str, schema: Option<&str>) {
    server.expect_query(QUESTION).await;
    let row = [Some(sql_mode), Some("utf8mb4"), Some("utf8mb4_bin"), schema];
    server.rows(&["a", "b", "c", "d"], &[&row]).await;
}

/// The proxy says this on its own.
async fn run_own(server: &mut Database, sql: &str) {
    server.expect_query(sql).await;
    server.ok().await;
}

/// What sets such modes.
fn set_to(sql_mode: &str) -> String {
    format!(
        "SET sql_mode = '{sql_mode}', character_set_client = 'utf8mb4', collation_connection = 'utf8mb4_bin'"
    )
}

/// To prepare a statement anew takes warnings away: so it is done when it is executed, and means
/// what it meant.
#[test]
fn c06_warnings_outlive_a_change_of_what_texts_mean() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT \"a\" FROM t").await;
        warns(&mut one, &mut server).await;
        one.send_query("SET sql_mode = 'ANSI'").await;
        modes(&mut server, "TRADITIONAL").await;
        comes(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        run(&mut one, &mut server, "SHOW WARNINGS").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        modes(&mut server, "ANSI").await;
        server.expect_query(&set_to("TRADITIONAL")).await;
        server.ok().await;
        server.expect_command(Kind::StmtPrepare, b"SELECT \"a\" FROM t").await;
        prepared(&mut server, 3, 0).await;
        server.expect_query(&set_to("ANSI")).await;
        server.ok().await;
        server.expect_command(Kind::StmtExecute, &[3, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

/// With `sql_select_limit = 0` the question has no row: what is in its place was taken for one, and
/// said again.
#[test]
fn c16_a_server_that_does_not_say_what_texts_mean_prepares_them_at_once() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT \"a\" FROM t").await;
        run(&mut one, &mut server, "SET sql_select_limit = 0").await;
        warns(&mut one, &mut server).await;
        one.send_query("SET sql_mode = 'ANSI'").await;
        server.expect_query(QUESTION).await;
        server.rows(&["a", "b", "c", "d"], &[]).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT \"a\" FROM t").await;
        prepared(&mut server, 3, 0).await;
        comes(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        server.expect_command(Kind::StmtExecute, &[3, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

/// The same if the schema is another one. Where the server refuses to go there, the client hears
/// it, and what was prepared is closed.
#[test]
fn c16_a_statement_is_prepared_in_the_schema_of_its_time() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
        warns(&mut one, &mut server).await;
        one.send_query("USE other").await;
        modes(&mut server, "ANSI").await;
        comes(&mut one, &mut server, "USE other").await;
        for is_there in [false, true] {
            one.send_command(Kind::StmtExecute, &EXECUTE).await;
            modes(&mut server, "ANSI").await;
            server.expect_command(Kind::InitDb, b"db").await;
            if is_there {
                server.ok().await;
            } else {
                server.err(1049, "42000", "Unknown database 'db'").await;
            }
            server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
            prepared(&mut server, 4, 0).await;
            server.expect_command(Kind::InitDb, b"other").await;
            server.ok().await;
            if is_there {
                server.expect_command(Kind::StmtExecute, &[4, 0, 0, 0, 0, 1, 0, 0, 0]).await;
                server.ok().await;
                one.expect_ok().await;
            } else {
                server.expect_command(Kind::StmtClose, &4_u32.to_le_bytes()).await;
                // What was said since has hidden it.
                let digits = "556e6b6e6f776e2064617461626173652027646227";
                let signal = format!(
                    "SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1049, MESSAGE_TEXT = _utf8mb4 X'{digits}'"
                );
                server.expect_query(&signal).await;
                server.err(1049, "42000", "Unknown database 'db'").await;
                one.expect_err(1049).await;
            }
        }
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

/// A function that is not known may read no table, and then leaves the warnings, at MariaDB.
#[test]
fn c06_warnings_outlive_a_function_that_is_not_known() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
        warns(&mut one, &mut server).await;
        run(&mut one, &mut server, "SELECT f(1)").await;
        one.send_query("SET sql_mode = 'ANSI'").await;
        modes(&mut server, "TRADITIONAL").await;
        comes(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
    });
}

/// The question took away how many rows there were, and so it was not asked, and the warnings were
/// lost.
#[test]
fn c06_warnings_outlive_a_change_of_what_texts_mean_where_only_the_server_knows_the_number_of_rows() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
        run(&mut one, &mut server, "SELECT SQL_CALC_FOUND_ROWS 1 FROM t LIMIT 1").await;
        warns(&mut one, &mut server).await;
        one.send_query("SET sql_mode = 'ANSI'").await;
        server.expect_query(&format!("{QUESTION}, FOUND_ROWS()")).await;
        let row = [Some(""), Some("utf8mb4"), Some("utf8mb4_bin"), Some("db"), Some("17")];
        server.rows(&["a", "b", "c", "d", "e"], &[&row]).await;
        comes(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        one.send_query("SELECT FOUND_ROWS()").await;
        server.expect_query("SELECT COALESCE(17, FOUND_ROWS()) AS `FOUND_ROWS()`").await;
        server.ok().await;
        one.expect_ok().await;
    });
}

/// The name of a schema that is not certain was missing, and the client heard that there is no such
/// statement.
#[test]
fn c16_a_statement_is_prepared_in_the_schema_of_its_time_where_that_of_now_is_not_certain() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT \"a\" FROM t").await;
        warns(&mut one, &mut server).await;
        one.send_query("SET sql_mode = 'ANSI'").await;
        modes(&mut server, "TRADITIONAL").await;
        comes(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        run(&mut one, &mut server, "USE other; SELECT 1").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        modes_in(&mut server, "ANSI", Some("other")).await;
        server.expect_command(Kind::InitDb, b"db").await;
        server.ok().await;
        server.expect_query(&set_to("TRADITIONAL")).await;
        server.ok().await;
        server.expect_command(Kind::StmtPrepare, b"SELECT \"a\" FROM t").await;
        prepared(&mut server, 3, 0).await;
        server.expect_command(Kind::InitDb, b"other").await;
        server.ok().await;
        server.expect_query(&set_to("ANSI")).await;
        server.ok().await;
        server.expect_command(Kind::StmtExecute, &[3, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
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

/// What decides what texts mean is not set by everything of which nobody knows what it sets.
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

/// What the server says of it then is not about the client's statements, and it is prepared as what
/// it was.
#[test]
fn c16_a_statement_that_cannot_be_prepared_while_tables_are_locked_keeps_its_modes() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
        run(&mut one, &mut server, "LOCK TABLES u READ").await;
        one.send_query("SET sql_mode = 'ANSI'").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.err(1100, "HY000", "Table 't' was not locked with LOCK TABLES").await;
        run_own(&mut server, "SELECT 1 FROM (SELECT 1) AS pointsman").await;
        modes(&mut server, "TRADITIONAL").await;
        comes(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        run(&mut one, &mut server, "UNLOCK TABLES").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        modes(&mut server, "ANSI").await;
        run_own(&mut server, &set_to("TRADITIONAL")).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        prepared(&mut server, 3, 0).await;
        run_own(&mut server, &set_to("ANSI")).await;
        server.expect_command(Kind::StmtExecute, &[3, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

/// It was taken for one of the schema that was said last, and executed by whoever was in that.
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

/// A client without multiple statements says several. Which schema it is in then, if any, the
/// server knows.
#[test]
fn c16_a_statement_is_prepared_again_in_no_schema() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM s.t").await;
        warns(&mut one, &mut server).await;
        one.send_query("USE b; SELECT 1; USE a").await;
        modes_in(&mut server, "ANSI", None).await;
        server.expect_query("USE b; SELECT 1; USE a").await;
        server.err(1064, "42000", "You have an error in your SQL syntax").await;
        one.expect_err(1064).await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        modes_in(&mut server, "ANSI", None).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM s.t").await;
        prepared(&mut server, 2, 0).await;
        server.expect_command(Kind::StmtExecute, &[2, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

/// What it tells is where it was prepared, and nothing leaves all schemas.
#[test]
fn c16_a_statement_that_tells_the_schema_is_prepared_while_there_is_none() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT database()").await;
        warns(&mut one, &mut server).await;
        one.send_query("USE b").await;
        modes_in(&mut server, "ANSI", None).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT database()").await;
        prepared(&mut server, 2, 0).await;
        comes(&mut one, &mut server, "USE b").await;
    });
}

/// As long as the session is in no schema the statement can be prepared when it is executed, and
/// the warnings stay. When it goes into one, it is prepared before, and is the session's from then
/// on.
#[test]
fn c06_warnings_of_a_session_in_no_schema_outlive_a_set_of_modes() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT database()").await;
        warns(&mut one, &mut server).await;
        one.send_query("SET sql_mode = 'ANSI'").await;
        modes_in(&mut server, "TRADITIONAL", None).await;
        comes(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        run(&mut one, &mut server, "SHOW WARNINGS").await;
        one.send_query("USE b").await;
        modes_in(&mut server, "ANSI", None).await;
        run_own(&mut server, &set_to("TRADITIONAL")).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT database()").await;
        prepared(&mut server, 2, 0).await;
        run_own(&mut server, &set_to("ANSI")).await;
        comes(&mut one, &mut server, "USE b").await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        server.expect_command(Kind::StmtExecute, &[2, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
    });
}
