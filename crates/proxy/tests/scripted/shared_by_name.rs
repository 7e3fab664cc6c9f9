//! Statements that are prepared by name, in text, over connections that sessions share: they are
//! prepared again where they are needed, and nobody else finds them.

use wire::command::Kind;

use super::shared::{comes, two};
use super::shared_traces::{EXECUTE, prepared};
use super::support::{Client, Database, play, prepare, run};

const ONE: &str = "PREPARE p FROM 'SELECT a FROM t WHERE b = ?'";
const ONE_AGAIN: &str = "PREPARE `p` FROM 'SELECT a FROM t WHERE b = ?'";

/// The server is told to forget the statement `p` of the session before, and has the next statement
/// of this one.
async fn takes(client: &mut Client, server: &mut Database, sql: &str) {
    client.send_query(sql).await;
    server.expect_query("DEALLOCATE PREPARE `p`").await;
    server.ok().await;
    comes(client, server, sql).await;
}

/// The server is told first what the session has prepared.
async fn brings(client: &mut Client, server: &mut Database, sql: &str) {
    client.send_query(sql).await;
    server.expect_query(ONE_AGAIN).await;
    server.ok().await;
    comes(client, server, sql).await;
}

/// The first session has prepared a statement, and an error at the connection from which the second
/// one has had it taken away.
async fn errs_elsewhere(one: &mut Client, two: &mut Client, server: &mut Database) {
    run(one, server, ONE).await;
    takes(two, server, "SELECT 2").await;
    one.send_query("INSERT INTO t VALUES (1)").await;
    server.expect_query("INSERT INTO t VALUES (1)").await;
    server.err(1062, "23000", "Duplicate entry").await;
    one.expect_err(1062).await;
}

/// The second session does not get the connection.
pub(super) async fn is_bound(client: &mut Client) {
    client.send_query("SELECT 2").await;
    client.expect_err(9001).await;
}

#[test]
fn c04_what_is_prepared_by_name_is_prepared_again_where_it_is_executed() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, ONE).await;
        run(&mut one, &mut server, "EXECUTE p USING @a").await;
        takes(&mut two, &mut server, "SELECT 2").await;
        // It needs the statement only to execute it.
        run(&mut one, &mut server, "SELECT 3").await;
        run(&mut two, &mut server, "SELECT 4").await;
        brings(&mut one, &mut server, "EXECUTE p USING @a").await;
        run(&mut one, &mut server, "EXECUTE P USING @a").await;
        takes(&mut two, &mut server, "UPDATE t SET a = 1").await;
        brings(&mut one, &mut server, "DEALLOCATE PREPARE p").await;
        run(&mut two, &mut server, "SELECT 5").await;
        run(&mut one, &mut server, ONE).await;
        takes(&mut two, &mut server, "SELECT 6").await;
        brings(&mut one, &mut server, "DROP PREPARE `p`").await;
        run(&mut two, &mut server, "SELECT 7").await;
    });
}

#[test]
fn c04_each_session_has_its_own_statement_of_a_name() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, ONE).await;
        takes(&mut two, &mut server, "PREPARE p FROM 'SELECT ''two'''").await;
        run(&mut two, &mut server, "EXECUTE p").await;
        one.send_query("EXECUTE p USING @a").await;
        server.expect_query("DEALLOCATE PREPARE `p`").await;
        server.ok().await;
        server.expect_query(ONE_AGAIN).await;
        server.ok().await;
        comes(&mut one, &mut server, "EXECUTE p USING @a").await;
        two.send_query("EXECUTE p").await;
        server.expect_query("DEALLOCATE PREPARE `p`").await;
        server.ok().await;
        server.expect_query("PREPARE `p` FROM 'SELECT ''two'''").await;
        server.ok().await;
        comes(&mut two, &mut server, "EXECUTE p").await;
    });
}

#[test]
fn c15_what_cannot_be_prepared_again_is_refused_as_its_server_does() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, ONE).await;
        takes(&mut two, &mut server, "DROP TABLE t").await;
        one.send_query("EXECUTE p USING @a").await;
        server.expect_query(ONE_AGAIN).await;
        server.err(1146, "42S02", "Table 't' doesn't exist").await;
        assert_eq!(one.expect_err(1146).await.message, "Table 't' doesn't exist");
        // The table is there again.
        one.send_query("SHOW WARNINGS").await;
        comes(&mut one, &mut server, "SHOW WARNINGS").await;
        brings(&mut one, &mut server, "EXECUTE p USING @a").await;
        takes(&mut two, &mut server, "DROP TABLE t").await;
        one.send_query("DEALLOCATE PREPARE p").await;
        server.expect_query(ONE_AGAIN).await;
        server.err(1146, "42S02", "Table 't' doesn't exist").await;
        one.expect_ok().await;
        server.expect_query("SELECT 1 FROM (SELECT 1) AS pointsman").await;
        server.ok().await;
        run(&mut one, &mut server, "EXECUTE p USING @a").await;
    });
}

/// Behind these it might be another statement if it were prepared again.
#[test]
fn c15_a_statement_by_name_stays_what_it_was_when_it_was_prepared() {
    play(async || {
        for changes in
            ["USE other", "SET sql_mode = 'ANSI_QUOTES'", "SET NAMES latin1", "CALL q()", "SET @@x = f()"]
        {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            run(&mut one, &mut server, ONE).await;
            takes(&mut two, &mut server, "SELECT 2").await;
            brings(&mut one, &mut server, changes).await;
            is_bound(&mut two).await;
            run(&mut one, &mut server, "EXECUTE p USING @a").await;
        }
    });
}

/// Stored code may prepare another statement by the name, also when the call was prepared.
#[test]
fn c15_a_statement_by_name_is_there_before_stored_code_runs() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepare(&mut one, &mut server, b"CALL q()", 1).await;
        run(&mut one, &mut server, ONE).await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::StmtClose, &[1, 0, 0, 0]).await;
        server.expect_query("DEALLOCATE PREPARE `p`").await;
        server.ok().await;
        comes(&mut two, &mut server, "SELECT 2").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        server.expect_command(Kind::StmtPrepare, b"CALL q()").await;
        prepared(&mut server, 1, 0).await;
        server.expect_query(ONE_AGAIN).await;
        server.ok().await;
        server.expect_command(Kind::StmtExecute, &EXECUTE).await;
        server.ok().await;
        one.expect_ok().await;
        run(&mut one, &mut server, "EXECUTE p USING @a").await;
        is_bound(&mut two).await;
    });
}

/// Where tables are locked a statement of others cannot be prepared.
#[test]
fn c15_a_statement_by_name_is_there_before_tables_are_locked() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, ONE).await;
        takes(&mut two, &mut server, "SELECT 2").await;
        brings(&mut one, &mut server, "LOCK TABLES u WRITE").await;
        run(&mut one, &mut server, "EXECUTE p USING @a").await;
        run(&mut one, &mut server, "UNLOCK TABLES").await;
        takes(&mut two, &mut server, "SELECT 2").await;
        // It is not forgotten where it could not be prepared.
        one.send_query("SET sql_mode = ''").await;
        server.expect_query(ONE_AGAIN).await;
        server.err(1100, "HY000", "Table 't' was not locked with LOCK TABLES").await;
        server.expect_query("SELECT 1 FROM (SELECT 1) AS pointsman").await;
        server.ok().await;
        comes(&mut one, &mut server, "SET sql_mode = ''").await;
        brings(&mut one, &mut server, "EXECUTE p USING @a").await;
    });
}

/// Its error would be gone if the statement were prepared there in front of the `SET`, which leaves
/// it at MariaDB.
#[test]
fn c05_a_statement_by_name_takes_no_error_away_in_front_of_a_setting() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        errs_elsewhere(&mut one, &mut two, &mut server).await;
        for set in [
            "SET max_sort_length = 20",
            "SET rand_seed1 = 1, rand_seed2 = 2",
            // MySQL's statements go by these as they were when they were prepared.
            "SET time_zone = '-11:30', group_concat_max_len = 9",
        ] {
            run(&mut one, &mut server, set).await;
        }
        run(&mut one, &mut server, "GET DIAGNOSTICS @n = NUMBER").await;
        run(&mut one, &mut server, "UPDATE t SET a = 1").await;
        brings(&mut one, &mut server, "EXECUTE p USING @a").await;
    });
}

/// At MariaDB warnings outlive that it is given up.
#[test]
fn c05_a_statement_by_name_that_is_elsewhere_is_given_up_where_there_are_warnings() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        errs_elsewhere(&mut one, &mut two, &mut server).await;
        one.send_query("DEALLOCATE PREPARE p").await;
        one.expect_ok().await;
        run(&mut one, &mut server, "GET DIAGNOSTICS @n = NUMBER").await;
        one.send_query("SELECT ROW_COUNT()").await;
        comes(&mut one, &mut server, "SELECT COALESCE(0, ROW_COUNT()) AS `ROW_COUNT()`").await;
        run(&mut one, &mut server, "UPDATE t SET a = 1").await;
        // There is none of that name.
        run(&mut one, &mut server, "DEALLOCATE PREPARE p").await;
    });
}

/// Servers give up the statement that had the name before, also if the next one is an error.
#[test]
fn c04_a_name_of_which_the_statement_was_refused_stands_for_nothing() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, ONE).await;
        takes(&mut two, &mut server, "SELECT 2").await;
        one.send_query("PREPARE p FROM 'SELECT'").await;
        server.expect_query("PREPARE p FROM 'SELECT'").await;
        server.err(1064, "42000", "You have an error").await;
        one.expect_err(1064).await;
        run(&mut one, &mut server, "EXECUTE p").await;
    });
}

/// What a server says to it depends on what was said there before, or on what it finds there.
#[test]
fn c04_what_is_not_the_same_elsewhere_binds() {
    play(async || {
        for text in [
            "SELECT ROW_COUNT()",
            "SELECT FOUND_ROWS()",
            "SELECT @a",
            "SELECT f(1)",
            "SET @a = 1",
            "DO SLEEP(0)",
        ] {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            run(&mut one, &mut server, &format!("PREPARE p FROM '{text}'")).await;
            is_bound(&mut two).await;
            run(&mut one, &mut server, "DEALLOCATE PREPARE p").await;
            run(&mut two, &mut server, "SELECT 2").await;
        }
    });
}
