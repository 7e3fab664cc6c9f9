//! `SET`s whose effect is not what is written in them: in a comment that only some servers execute,
//! or to what only the server knows.

use wire::StatusFlags;

use super::shared::{asked, comes, config, takes_back, two};
use super::support::{Client, Database, begin, play, run, session_in};

/// It has to be reset for the second session.
async fn is_taken_back(client: &mut Client, server: &mut Database) {
    client.send_query("SELECT 2").await;
    takes_back(server).await;
    comes(client, server, "SELECT 2").await;
}

/// The server is MariaDB 10.11.6.
#[test]
fn c04_a_set_in_a_comment_that_the_server_executes_is_one() {
    play(async || {
        for sql in [
            "/*!40101 SET sql_mode = 'ANSI' */",
            "/*!40101 SET SQL_MODE='ANSI' */;",
            "/* a */ /*! SET SESSION sql_mode = 'ANSI' */",
            "/*M!100100 SET @@sql_mode = 'ANSI' */",
        ] {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            run(&mut one, &mut server, sql).await;
            run(&mut one, &mut server, "SELECT 1").await;
            is_taken_back(&mut two, &mut server).await;
            one.send_query("SELECT 3").await;
            // Another server may have another version.
            server.expect_query("SET SESSION sql_mode = 'ANSI'").await;
            server.ok().await;
            comes(&mut one, &mut server, "SELECT 3").await;
        }
    });
}

#[test]
fn c04_a_set_in_a_comment_that_the_server_does_not_execute_is_none() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        for sql in [
            "/*!80000 SET SESSION information_schema_stats_expiry = 0 */",
            "/*!50717 SET time_zone = '+03:00' */",
            "/*!101107 SET sql_mode = 'ANSI' */",
            "/*M!110400 SET @a = @@sql_mode */",
            // Dumps of MariaDB begin like this.
            r"/*M!999999\- enable the sandbox mode */",
            "/*!80000 CALL p() */",
        ] {
            run(&mut one, &mut server, sql).await;
            run(&mut one, &mut server, "SELECT 1").await;
            two.send_query("SELECT 2").await;
            if sql.contains("sandbox") || sql.contains("CALL") {
                // The number is asked for as if it had been executed.
                asked(&mut server, "0").await;
            }
            comes(&mut two, &mut server, "SELECT 2").await;
        }
        run(&mut one, &mut server, "SELECT 3").await;
    });
}

#[test]
fn a_set_of_which_a_part_is_in_a_comment_binds() {
    play(async || {
        for sql in ["SET /*!40101 NAMES */ utf8", "/*!40101 SET sql_mode = 'ANSI' */ , time_zone = '+00:00'"]
        {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            run(&mut one, &mut server, sql).await;
            two.send_query("SELECT 2").await;
            two.expect_err(9001).await;
        }
    });
}

/// The server tells what a variable is.
pub(super) async fn tells(server: &mut Database, variable: &str, value: &str) {
    server.expect_query(&format!("SELECT @@session.{variable}")).await;
    server.rows(&[&format!("@@session.{variable}")], &[&[Some(value)]]).await;
}

#[test]
fn c04_what_is_not_written_in_a_set_the_server_tells() {
    play(async || {
        for (sql, variable, value) in [
            ("SET sql_mode = @before", "sql_mode", "ANSI_QUOTES,NO_ZERO_DATE"),
            ("SET @@SESSION.Time_Zone := CONCAT('+0', 3, ':00')", "time_zone", "+03:00"),
            ("/*!40101 SET character_set_client = @saved_cs_client */;", "character_set_client", "utf8mb3"),
        ] {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            run(&mut one, &mut server, sql).await;
            tells(&mut server, variable, value).await;
            is_taken_back(&mut two, &mut server).await;
            one.send_query("SELECT 3").await;
            server.expect_query(&format!("SET SESSION {variable} = '{value}'")).await;
            server.ok().await;
            comes(&mut one, &mut server, "SELECT 3").await;
        }
    });
}

/// The statement before the question is the client's, not that.
#[test]
fn c06_what_is_asked_behind_a_set_is_not_noticed() {
    play(async || {
        let (_stage, _servers, mut one, _two, mut server) = two().await;
        run(&mut one, &mut server, "SET sql_mode = @before").await;
        one.send_query("SELECT ROW_COUNT()").await;
        tells(&mut server, "sql_mode", "").await;
        comes(&mut one, &mut server, "SELECT COALESCE(0, ROW_COUNT()) AS `ROW_COUNT()`").await;
    });
}

#[test]
fn a_set_of_which_the_server_does_not_tell_binds() {
    play(async || {
        for value in ["it's", "\\", "\u{e4}"] {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            run(&mut one, &mut server, "SET sql_mode = @before").await;
            tells(&mut server, "sql_mode", value).await;
            two.send_query("SELECT 2").await;
            two.expect_err(9001).await;
            // It is known now.
            run(&mut one, &mut server, "SET sql_mode = ''").await;
            is_taken_back(&mut two, &mut server).await;
        }
    });
}

/// A transaction tracker would tell of the question.
#[test]
fn in_a_transaction_nothing_is_asked_but_behind_it() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        begin(&mut one, &mut server).await;
        run(&mut one, &mut server, "SET sql_mode = @before").await;
        server.status = StatusFlags::AUTOCOMMIT;
        run(&mut one, &mut server, "COMMIT").await;
        tells(&mut server, "sql_mode", "ANSI").await;
        is_taken_back(&mut two, &mut server).await;
    });
}

/// What `SET CHARACTER SET` comes to depends on the schema of its moment.
#[test]
fn c04_character_sets_are_said_as_what_they_came_to() {
    play(async || {
        for sql in ["SET CHARACTER SET gbk", "SET NAMES DEFAULT", "SET old_mode = ''"] {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            run(&mut one, &mut server, sql).await;
            server
                .expect_query(
                    "SELECT CONCAT_WS(' ', @@session.character_set_client, \
                     IFNULL(@@session.character_set_results, 'NULL'), @@session.collation_connection)",
                )
                .await;
            server.rows(&["names"], &[&[Some("gbk NULL latin1_bin")]]).await;
            is_taken_back(&mut two, &mut server).await;
            one.send_query("SELECT 3").await;
            if sql.contains("old_mode") {
                server.expect_query("SET SESSION old_mode = ''").await;
                server.ok().await;
            }
            let names = "SET character_set_client = gbk, character_set_results = NULL, \
                         collation_connection = latin1_bin";
            server.expect_query(names).await;
            server.ok().await;
            comes(&mut one, &mut server, "SELECT 3").await;
        }
    });
}

#[test]
fn c04_of_several_variables_the_server_tells_each() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SET sql_mode = @a, sql_notes = 0, time_zone = DEFAULT").await;
        server.expect_query("SELECT @@session.sql_mode, @@session.time_zone").await;
        server.rows(&["one", "two"], &[&[Some("ANSI"), Some("+01:00")]]).await;
        is_taken_back(&mut two, &mut server).await;
        one.send_query("SELECT 3").await;
        for set in ["sql_notes = 0", "sql_mode = 'ANSI'", "time_zone = '+01:00'"] {
            server.expect_query(&format!("SET SESSION {set}")).await;
            server.ok().await;
        }
        comes(&mut one, &mut server, "SELECT 3").await;
    });
}

/// Each session has a connection of its own: the proxy need not know the values.
#[test]
fn where_nothing_is_shared_nothing_is_asked() {
    let mut config = config();
    config.variables.multiplexing = false;
    config.servers[0].max_connections = 2;
    play(async || {
        let (_stage, _servers, mut one, mut server) = session_in(config.clone()).await;
        run(&mut one, &mut server, "SET sql_mode = @before").await;
        run(&mut one, &mut server, "SELECT 1").await;
    });
}

/// Clients of MariaDB take the command out of the first line of a dump, and send what is left with
/// the next.
#[test]
fn c04_the_first_statement_of_a_dump_is_the_set_in_it() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        let sql = "/*M!999999 enable the sandbox mode */ \n/*!40101 SET sql_mode = 'ANSI' */";
        run(&mut one, &mut server, sql).await;
        two.send_query("SELECT 2").await;
        asked(&mut server, "0").await;
        takes_back(&mut server).await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}
