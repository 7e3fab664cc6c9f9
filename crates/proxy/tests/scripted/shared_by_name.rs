//! Statements that are prepared by name, in text: the session keeps its connection as long as it
//! has any.

use super::shared::{PACKET_QUESTION, asked, comes, takes_back, two};
use super::support::{Client, Database, play, reset, run};

const ONE: &str = "PREPARE p FROM 'SELECT a FROM t WHERE b = ?'";

/// The server is asked what packets it takes, before the connection changes hands for the first
/// time.
async fn asked_for_packets(server: &mut Database) {
    server.expect_query(PACKET_QUESTION).await;
    server.rows(&["m"], &[&[Some("16777216")]]).await;
}

/// The second session gets the connection. Whether an execution has generated a key only the
/// server knows.
async fn is_free(client: &mut Client, server: &mut Database) {
    client.send_query("SELECT 2").await;
    asked(server, "0").await;
    comes(client, server, "SELECT 2").await;
}

/// The second session does not get the connection.
pub(super) async fn is_bound(client: &mut Client) {
    client.send_query("SELECT 2").await;
    client.expect_err(9001).await;
}

#[test]
fn c04_a_statement_by_name_binds_until_the_last_is_given_up() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, ONE).await;
        is_bound(&mut two).await;
        run(&mut one, &mut server, "PREPARE Q FROM 'DELETE FROM t'").await;
        run(&mut one, &mut server, "EXECUTE p USING @a").await;
        run(&mut one, &mut server, "EXECUTE q").await;
        run(&mut one, &mut server, "DEALLOCATE PREPARE P").await;
        is_bound(&mut two).await;
        run(&mut one, &mut server, "DROP PREPARE `q`").await;
        is_free(&mut two, &mut server).await;
    });
}

#[test]
fn c04_a_statement_by_name_binds_until_a_reset() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, ONE).await;
        is_bound(&mut two).await;
        reset(&mut one, &mut server).await;
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

/// A reset leaves the roles that stored code has set.
#[test]
fn c04_a_reset_behind_stored_code_ends_the_connection() {
    play(async || {
        let (_stage, mut servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "PREPARE p FROM 'CALL q()'").await;
        is_bound(&mut two).await;
        reset(&mut one, &mut server).await;
        two.send_query("SELECT 2").await;
        server.expect_command(wire::command::Kind::Quit, b"").await;
        drop(server);
        let mut server = servers.accept().await;
        comes(&mut two, &mut server, "SELECT 2").await;
        // What the reset has changed was told over the connection that is closed.
        one.send_query("SELECT ROW_COUNT()").await;
        asked_for_packets(&mut server).await;
        takes_back(&mut server).await;
        comes(&mut one, &mut server, "SELECT COALESCE(0, ROW_COUNT()) AS `ROW_COUNT()`").await;
    });
}

/// Servers give up the statement that had the name before. That is not relied on.
#[test]
fn c04_a_statement_by_name_binds_behind_one_that_was_refused() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, ONE).await;
        one.send_query("PREPARE p FROM 'SELECT'").await;
        server.expect_query("PREPARE p FROM 'SELECT'").await;
        server.err(1064, "42000", "You have an error").await;
        one.expect_err(1064).await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        is_bound(&mut two).await;
    });
}

/// What its executions leave outlives the name.
#[test]
fn c04_a_statement_by_name_that_is_no_plain_read_or_write_binds_as_stored_code() {
    play(async || {
        for prepared in [
            "'CREATE TEMPORARY TABLE x (a INT)'",
            "'SELECT GET_LOCK(''a'', 1)'",
            "'SELECT @a := 1'",
            "'SET sql_mode = ''ANSI'' '",
            "'SELECT f(1)'",
            "'CALL q()'",
            "'SELECT ROW_COUNT()'",
            "'SELECT SQL_CALC_FOUND_ROWS a FROM t'",
            "'INSERT INTO t VALUES (1) RETURNING a'",
            "'SELECT 1; CALL q()'",
            "'SELECT \\'a\\''",
            "@text",
        ] {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            run(&mut one, &mut server, &format!("PREPARE p FROM {prepared}")).await;
            run(&mut one, &mut server, "EXECUTE p").await;
            run(&mut one, &mut server, "DEALLOCATE PREPARE p").await;
            is_bound(&mut two).await;
        }
    });
}

#[test]
fn c04_what_an_execution_does_besides_binds() {
    play(async || {
        for execute in ["EXECUTE p USING f(1)", "EXECUTE IMMEDIATE 'SELECT 1'"] {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            run(&mut one, &mut server, ONE).await;
            run(&mut one, &mut server, execute).await;
            run(&mut one, &mut server, "DEALLOCATE PREPARE p").await;
            is_bound(&mut two).await;
        }
    });
}

/// Also while another session has the connection.
#[test]
fn c06_the_number_of_rows_of_an_execution_is_known() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "PREPARE p FROM 'SELECT a FROM t'").await;
        one.send_query("EXECUTE p").await;
        server.expect_query("EXECUTE p").await;
        server.rows(&["a"], &[&[Some("1")], &[Some("2")]]).await;
        one.expect_rows(&[&[Some("1")], &[Some("2")]]).await;
        run(&mut one, &mut server, "DEALLOCATE PREPARE p").await;
        is_free(&mut two, &mut server).await;
        one.send_query("SELECT FOUND_ROWS()").await;
        comes(&mut one, &mut server, "SELECT COALESCE(2, FOUND_ROWS()) AS `FOUND_ROWS()`").await;
    });
}
