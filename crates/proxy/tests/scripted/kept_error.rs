//! The error of a failed statement: it binds its session to the connection for a moment only.

use testkit::client::CAPABILITIES;

use super::pipeline::accept_with;
use super::shared::{comes, config, two};
use super::shared_routines::FIRST;
use super::split::{Scene, scene};
use super::support::{Client, Database, log_in, messages, ms, pair_of_servers, play, run, secs, stage};

const QUESTION: &str = "SHOW WARNINGS LIMIT 2";
const FAILS: &str = "SELECT a FROM t WHERE a = 1 FOR UPDATE";
const MESSAGE: &str = "Duplicate entry '1'";
const TOLD_AGAIN: &str = "SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062, \
                          MESSAGE_TEXT = _utf8mb4 X'4475706c696361746520656e74727920273127'";

async fn fails(client: &mut Client, server: &mut Database) {
    client.send_query(FAILS).await;
    server.expect_query(FAILS).await;
    server.err(1062, "23000", MESSAGE).await;
    client.expect_err(1062).await;
}

/// The server is asked for all that it has to say of the last statement, and says this.
async fn tells(server: &mut Database, rows: &[[&str; 3]]) {
    server.expect_query(QUESTION).await;
    let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|cell| Some(*cell)).collect()).collect();
    let rows: Vec<&[_]> = rows.iter().map(Vec::as_slice).collect();
    server.rows(&["Level", "Code", "Message"], &rows).await;
}

async fn tells_it(server: &mut Database) {
    tells(server, &[["Error", "1062", MESSAGE]]).await;
}

/// The server tells an error as it is made to.
async fn tells_again(server: &mut Database) {
    server.expect_query(TOLD_AGAIN).await;
    server.err(1062, "23000", MESSAGE).await;
}

/// An idle second later others get the connection, and the session has its error all the same.
#[test]
fn c06_an_error_outlives_its_connection() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        fails(&mut one, &mut server).await;
        // Directly behind it the session has its connection.
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        tells_it(&mut server).await;
        run(&mut two, &mut server, "SELECT 3").await;
        for _ in 0..2 {
            one.send_query("SHOW WARNINGS").await;
            tells_again(&mut server).await;
            comes(&mut one, &mut server, "SHOW WARNINGS").await;
            // It binds anew.
            tells_it(&mut server).await;
            run(&mut two, &mut server, "SELECT 4").await;
        }
        // At MariaDB it outlives statements without tables, and is over with one that has some.
        run(&mut one, &mut server, "SELECT 5").await;
        one.send_query("SELECT @@error_count").await;
        tells_again(&mut server).await;
        comes(&mut one, &mut server, "SELECT @@error_count").await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        run(&mut one, &mut server, "SHOW WARNINGS").await;
    });
}

/// Only the server knows whether these have tables, and take it away: it has to have it.
#[test]
fn c06_an_error_may_be_over_with_code_that_is_not_seen() {
    play(async || {
        for sql in ["PREPARE p FROM 'DELETE FROM t'", "EXECUTE p", "CALL p()"] {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            fails(&mut one, &mut server).await;
            tells_it(&mut server).await;
            run(&mut two, &mut server, "SELECT 3").await;
            one.send_query(sql).await;
            tells_again(&mut server).await;
            comes(&mut one, &mut server, sql).await;
            run(&mut one, &mut server, "SHOW WARNINGS").await;
        }
    });
}

/// The server is lost while it tells the error again, and the transaction with it.
#[test]
fn c09_a_transaction_that_is_lost_with_the_error_is_not_gone_on_with() {
    play(async || {
        let (_stage, mut servers, mut one, mut two, mut server) = two().await;
        fails(&mut one, &mut server).await;
        tells_it(&mut server).await;
        run(&mut two, &mut server, "SELECT 3").await;
        one.send_query("BEGIN").await;
        server.expect_query("BEGIN").await;
        server.status |= wire::StatusFlags::IN_TRANSACTION;
        server.ok().await;
        one.expect_ok().await;
        one.send_query("EXECUTE p").await;
        server.expect_query(TOLD_AGAIN).await;
        drop(server);
        one.expect_err(1213).await;
        // It was told, and the next statement is in no transaction.
        one.send_query("SELECT 4").await;
        let mut server = servers.accept().await;
        comes(&mut one, &mut server, "SELECT 4").await;
    });
}

/// It is over with each of several statements that were sent together.
#[test]
fn c06_an_error_is_over_with_statements_that_run_together() {
    play(async || {
        let (_stage, _servers, mut one, _two, mut server) = two().await;
        fails(&mut one, &mut server).await;
        tells_it(&mut server).await;
        let texts = ["INSERT INTO t VALUES (2)", "INSERT INTO t VALUES (3)"];
        let commands = texts.map(|text| messages(0, &[format!("\x03{text}").as_bytes()]));
        one.send_bytes(&commands.concat()).await;
        for text in texts {
            server.expect_query(text).await;
        }
        for _ in texts {
            server.packets().expect_seq(1);
            server.ok_with(1, 0).await;
        }
        for _ in texts {
            one.packets().expect_seq(1);
            one.expect_ok().await;
        }
        one.send_query("SHOW WARNINGS").await;
        server.expect_query("SELECT 1 FROM (SELECT 1) AS pointsman").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        comes(&mut one, &mut server, "SHOW WARNINGS").await;
    });
}

/// The session that gets the connection finds nothing of it.
#[test]
fn c06_the_error_of_another_session_is_not_told() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        fails(&mut one, &mut server).await;
        tells_it(&mut server).await;
        two.send_query("SHOW WARNINGS").await;
        server.expect_query("SELECT 1 FROM (SELECT 1) AS pointsman").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        comes(&mut two, &mut server, "SHOW WARNINGS").await;
    });
}

/// What could not be told again keeps its connection.
#[test]
fn c06_what_is_more_than_the_error_binds() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        fails(&mut one, &mut server).await;
        tells(&mut server, &[["Warning", "1265", "Data truncated"], ["Error", "1062", MESSAGE]]).await;
        tokio::time::sleep(secs(10)).await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        run(&mut one, &mut server, "SHOW WARNINGS").await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        run(&mut two, &mut server, "SELECT 2").await;
    });
}

/// MySQL has forgotten it with the next statement.
#[test]
fn at_mysql_an_error_binds_up_to_the_next_statement() {
    play(async || {
        let (stage, mut servers) = stage(config());
        let mut one = log_in(&stage).await;
        one.send_query("SELECT 1").await;
        let mut server = accept_with(&mut servers, CAPABILITIES).await;
        comes(&mut one, &mut server, "SELECT 1").await;
        fails(&mut one, &mut server).await;
        run(&mut one, &mut server, "SHOW WARNINGS").await;
        assert_eq!(stage.usage(0).resting, 0);
        run(&mut one, &mut server, "ROLLBACK").await;
        tokio::time::sleep(ms(1)).await;
        assert_eq!(stage.usage(0).resting, 1);
    });
}

/// A statement at another hostgroup has another connection.
#[test]
fn an_error_does_not_keep_the_writer_of_a_session_that_reads() {
    play(async || {
        let mut config = pair_of_servers();
        config.variables.multiplexing = true;
        let Scene { stage, mut client, mut writer, mut reader, .. } = scene(config).await;
        fails(&mut client, &mut writer).await;
        client.send_query("SELECT a FROM t").await;
        tells_it(&mut writer).await;
        comes(&mut client, &mut reader, "SELECT a FROM t").await;
        tokio::time::sleep(ms(1)).await;
        assert_eq!((stage.usage(0).resting, stage.usage(1).resting), (1, 1));
    });
}

/// What the writer may still have to say is older than the error that was kept.
#[test]
fn c05_an_error_that_is_kept_is_not_asked_about_elsewhere() {
    play(async || {
        let mut config = pair_of_servers();
        config.variables.multiplexing = true;
        let Scene { mut client, mut writer, mut reader, .. } = scene(config).await;
        fails(&mut client, &mut writer).await;
        client.send_query("SELECT a FROM t").await;
        // It is not the error that the client was told: that connection stays bound.
        tells(&mut writer, &[]).await;
        reader.expect_query("SELECT a FROM t").await;
        reader.err(1062, "23000", MESSAGE).await;
        client.expect_err(1062).await;
        client.send_query("SELECT @@time_zone").await;
        tells_it(&mut reader).await;
        comes(&mut client, &mut writer, "SELECT @@time_zone").await;
        client.send_query("SELECT 5").await;
        comes(&mut client, &mut reader, "SELECT 5").await;
        client.send_query("SHOW WARNINGS").await;
        tells_again(&mut reader).await;
        comes(&mut client, &mut reader, "SHOW WARNINGS").await;
    });
}

/// What takes away the warnings of the question for another session's error hides the number of
/// rows too: it is asked for before.
#[test]
fn c06_rows_that_only_the_server_counts_are_not_hidden_with_the_warnings() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        fails(&mut one, &mut server).await;
        let sql = "SELECT a FROM t UNION SELECT b FROM u LIMIT 2";
        two.send_query(sql).await;
        two.expect_err(9001).await;
        tells_it(&mut server).await;
        two.send_query(sql).await;
        comes(&mut two, &mut server, sql).await;
        two.send_query("SELECT FOUND_ROWS()").await;
        server.expect_query(FIRST).await;
        let columns = ["ROW_COUNT()", "FOUND_ROWS()", "@@character_set_results", "@@sql_mode"];
        server.rows(&columns, &[&[Some("-1"), Some("5"), Some("utf8mb4"), Some("")]]).await;
        server.expect_query("SELECT 1 FROM (SELECT 1) AS pointsman").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        comes(&mut two, &mut server, "SELECT COALESCE(5, FOUND_ROWS()) AS `FOUND_ROWS()`").await;
    });
}
