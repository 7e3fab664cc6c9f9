//! What is a session's own while it shares connections: settings, schema, prepared statements, keys
//! and rows of the statement before.

use config::Server;
use wire::command::Kind;

use super::shared::{asked, comes, config, question, takes_back, two, two_of};
use super::support::{Client, Database, first_query, log_in, options, play, reset, rule, run, settle, stage};

/// A statement that makes a key, of which the server says that it is this.
pub(super) async fn insert(client: &mut Client, server: &mut Database, id: u64) {
    client.send_query("INSERT INTO t VALUES ()").await;
    server.expect_query("INSERT INTO t VALUES ()").await;
    server.ok_with(1, id).await;
    client.expect_ok().await;
}

#[test]
fn what_the_client_has_set_is_said_where_it_is_not() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SET sql_mode = 'ANSI'").await;
        run(&mut one, &mut server, "SELECT 1").await;
        // The other one has not set it.
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        one.send_query("SELECT 3").await;
        server.expect_query("SET SESSION sql_mode = 'ANSI'").await;
        server.ok().await;
        comes(&mut one, &mut server, "SELECT 3").await;
    });
}

#[test]
fn sessions_that_have_set_the_same_need_not_say_it() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        for client in [&mut one, &mut two] {
            client.send_query("SET NAMES utf8mb4").await;
            loop {
                let command = server.read_command().await;
                if command.first() == Some(&(Kind::ResetConnection as u8)) {
                    server.ok().await;
                    question(&mut server).await;
                } else {
                    assert!(command.ends_with(b"SET NAMES utf8mb4"));
                    server.ok().await;
                    break;
                }
            }
            client.expect_ok().await;
        }
        run(&mut one, &mut server, "SELECT 1").await;
        run(&mut two, &mut server, "SELECT 2").await;
    });
}

#[test]
fn each_is_in_its_schema() {
    play(async || {
        let (_stage, mut servers, mut one, mut two, mut server) =
            two_of(config(), &options().schema("one"), &options().schema("two")).await;
        one.send_query("SELECT 1").await;
        server.expect_command(Kind::InitDb, b"one").await;
        server.ok().await;
        comes(&mut one, &mut server, "SELECT 1").await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::InitDb, b"two").await;
        server.err(1049, "42000", "Unknown database 'two'").await;
        // What needs no schema works in none, over a connection that is closed behind it.
        for sql in ["SELECT 2", "SELECT 3"] {
            server.expect_command(Kind::Quit, b"").await;
            drop(server);
            server = servers.accept().await;
            server.expect_command(Kind::InitDb, b"two").await;
            server.err(1049, "42000", "Unknown database 'two'").await;
            comes(&mut two, &mut server, sql).await;
            if sql == "SELECT 2" {
                two.send_query("SELECT 3").await;
            }
        }
    });
}

#[test]
fn the_last_key_stays_with_its_session() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        insert(&mut one, &mut server, 7).await;
        // It may be that, or what it was before: only the server knows.
        two.send_query("SELECT 2").await;
        asked(&mut server, "6").await;
        comes(&mut two, &mut server, "SELECT 2").await;
        two.send_query("SELECT LAST_INSERT_ID()").await;
        server.expect_query("SET last_insert_id = 0").await;
        server.ok().await;
        server.expect_query("SELECT LAST_INSERT_ID()").await;
        server.rows(&["LAST_INSERT_ID()"], &[&[Some("0")]]).await;
        two.expect_rows(&[&[Some("0")]]).await;
        run(&mut one, &mut server, "SELECT 1").await;
        one.send_query("SELECT LAST_INSERT_ID()").await;
        server.expect_query("SET last_insert_id = 6").await;
        server.ok().await;
        server.expect_query("SELECT LAST_INSERT_ID()").await;
        server.rows(&["LAST_INSERT_ID()"], &[&[Some("6")]]).await;
        one.expect_rows(&[&[Some("6")]]).await;
    });
}

#[test]
fn a_key_that_the_client_has_set_is_its_own() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        insert(&mut one, &mut server, 7).await;
        two.send_query("SELECT 2").await;
        asked(&mut server, "7").await;
        comes(&mut two, &mut server, "SELECT 2").await;
        run(&mut one, &mut server, "SET last_insert_id = 33").await;
        run(&mut one, &mut server, "SELECT LAST_INSERT_ID()").await;
    });
}

/// What is sent ahead is not taken for what comes of the command in front of it.
#[test]
fn a_setting_that_is_sent_ahead_is_not_lost() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_query("SELECT x").await;
        one.send_query("SET sql_mode = 'ANSI'").await;
        server.expect_query("SELECT x").await;
        server.err(1064, "42000", "You have an error").await;
        server.expect_query("SET sql_mode = 'ANSI'").await;
        server.ok().await;
        one.expect_err(1064).await;
        one.packets().expect_seq(1);
        one.expect_ok().await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

#[test]
fn a_statement_that_was_prepared_in_another_schema_binds_its_connection() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.send(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
        one.read().await;
        run(&mut one, &mut server, "USE other").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        one.send_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        run(&mut one, &mut server, "SELECT 1").await;
        // No command leaves all schemas: who is in none gets another connection in its place.
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::Quit, b"").await;
    });
}

#[test]
fn rows_of_the_statement_before_are_remembered() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_query("UPDATE t SET a = 1").await;
        server.expect_query("UPDATE t SET a = 1").await;
        server.ok_with(5, 0).await;
        one.expect_ok().await;
        run(&mut two, &mut server, "SELECT 2").await;
        one.send_query("SELECT ROW_COUNT()").await;
        server.expect_query("SELECT COALESCE(5, ROW_COUNT()) AS `ROW_COUNT()`").await;
        server.rows(&["ROW_COUNT()"], &[&[Some("5")]]).await;
        one.expect_rows(&[&[Some("5")]]).await;
    });
}

/// It was taken for one that has changed none.
#[test]
fn a_write_that_returns_no_rows_has_returned_rows() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_query("DELETE FROM t WHERE a = 1 RETURNING a").await;
        server.expect_query("DELETE FROM t WHERE a = 1 RETURNING a").await;
        server.rows(&["a"], &[]).await;
        one.expect_rows(&[]).await;
        run(&mut two, &mut server, "SELECT 2").await;
        one.send_query("SELECT ROW_COUNT()").await;
        server.expect_query("SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`").await;
        server.rows(&["ROW_COUNT()"], &[&[Some("-1")]]).await;
        one.expect_rows(&[&[Some("-1")]]).await;
    });
}

#[test]
fn c06_statements_are_prepared_again_where_they_are_not() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_command(Kind::StmtPrepare, b"SELECT 1").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT 1").await;
        let answer = |id: u8| [0, id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        server.send(&answer(1)).await;
        one.read().await;
        // The session that gets the connection has no use for the statement.
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        one.send_command(Kind::StmtExecute, &[1, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT 1").await;
        server.send(&answer(2)).await;
        server.expect_command(Kind::StmtExecute, &[2, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
        two.send_query("SELECT 4").await;
        server.expect_command(Kind::StmtClose, &2_u32.to_le_bytes()).await;
        comes(&mut two, &mut server, "SELECT 4").await;
    });
}

#[test]
fn c04_several_statements_are_not_allowed_to_the_next_session() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_command(Kind::SetOption, &[1, 0]).await;
        server.expect_command(Kind::SetOption, &[1, 0]).await;
        server.ok().await;
        one.expect_ok().await;
        run(&mut one, &mut server, "SELECT 1").await;
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        // Neither a reset nor a login takes it back.
        server.expect_command(Kind::SetOption, &[0, 0]).await;
        server.ok().await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

#[test]
fn c07_a_connection_that_has_not_taken_the_settings_is_not_shared() {
    let mut config = config();
    let other = Server { hostgroup_id: 1, ..config.servers[0].clone() };
    config.servers.push(other);
    config.query_rules.push(rule(1, "^SELECT"));
    config.query_rules[0].destination_hostgroup = Some(1);
    play(async || {
        let (stage, mut servers) = stage(config.clone());
        let mut one = log_in(&stage).await;
        let mut writer = first_query(&mut one, &mut servers).await;
        run(&mut one, &mut writer, "USE elsewhere").await;
        one.send_query("SELECT 1").await;
        let mut reader = servers.accept().await;
        reader.expect_command(Kind::InitDb, b"elsewhere").await;
        reader.err(1049, "42000", "Unknown database 'elsewhere'").await;
        reader.expect_command(Kind::Quit, b"").await;
        let mut reader = servers.accept().await;
        reader.expect_command(Kind::InitDb, b"elsewhere").await;
        reader.err(1049, "42000", "Unknown database 'elsewhere'").await;
        comes(&mut one, &mut reader, "SELECT 1").await;
        run(&mut one, &mut writer, "DO 1").await;
        settle().await;
        let free: Vec<u32> = stage.free_connections().iter().map(|free| free.hostgroup).collect();
        assert_eq!(free, [0], "the other one may not be taken for one that is in the schema");
    });
}

/// The client knows the one of the reader by another number than the server does: the answer goes
/// through the proxy's hands.
#[test]
fn c06_warnings_bind_of_a_statement_that_is_prepared_beside_others() {
    let mut config = config();
    let other = Server { hostgroup_id: 1, ..config.servers[0].clone() };
    config.servers.push(other);
    config.query_rules.push(rule(1, "^SELECT"));
    config.query_rules[0].destination_hostgroup = Some(1);
    for (warnings, free) in [(0, [0, 1].as_slice()), (1, [0].as_slice())] {
        play(async || {
            let (stage, mut servers) = stage(config.clone());
            let mut one = log_in(&stage).await;
            let mut writer = first_query(&mut one, &mut servers).await;
            one.send_command(Kind::StmtPrepare, b"DO 1").await;
            writer.expect_command(Kind::StmtPrepare, b"DO 1").await;
            writer.send(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).await;
            one.read().await;
            one.send_command(Kind::StmtPrepare, b"SELECT 1").await;
            let mut reader = servers.accept().await;
            reader.expect_command(Kind::StmtPrepare, b"SELECT 1").await;
            reader.send(&[0, 1, 0, 0, 0, 0, 0, 0, 0, 0, warnings, 0]).await;
            one.read().await;
            settle().await;
            let mut resting: Vec<u32> = stage.free_connections().iter().map(|free| free.hostgroup).collect();
            resting.sort_unstable();
            assert_eq!(resting, free);
        });
    }
}

/// The end of what is sent behind a statement says nothing of its key.
#[test]
fn a_key_of_a_statement_that_others_were_sent_behind_is_not_lost() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_query("INSERT INTO t VALUES ()").await;
        one.send_command(Kind::Ping, b"").await;
        server.expect_query("INSERT INTO t VALUES ()").await;
        server.ok_with(1, 7).await;
        server.expect_command(Kind::Ping, b"").await;
        server.ok().await;
        one.expect_ok().await;
        one.packets().expect_seq(1);
        one.expect_ok().await;
        two.send_query("SELECT 2").await;
        asked(&mut server, "7").await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

#[test]
fn c15_statements_mean_what_they_meant_when_they_were_prepared() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        let answer = |id: u8| [0, id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        one.send_command(Kind::StmtPrepare, b"SELECT 'x'").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT 'x'").await;
        server.send(&answer(1)).await;
        one.read().await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        // Prepared behind this it would be another one.
        one.send_query("SET NAMES latin1").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT 'x'").await;
        server.send(&answer(2)).await;
        comes(&mut one, &mut server, "SET NAMES latin1").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        one.send_command(Kind::StmtExecute, &[1, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.expect_command(Kind::StmtExecute, &[2, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

#[test]
fn c07_a_schema_that_is_not_certain_outlives_a_reset() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "USE /*!50000 a */").await;
        reset(&mut one, &mut server).await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        run(&mut one, &mut server, "USE a").await;
        run(&mut one, &mut server, "SELECT 1").await;
        // It is in a schema now, and this one in none.
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::Quit, b"").await;
    });
}

/// MariaDB takes a read of a table without transactions for none.
#[test]
fn c06_the_next_transaction_is_not_over_with_a_read() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SET TRANSACTION READ ONLY").await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        run(&mut one, &mut server, "ROLLBACK").await;
        run(&mut two, &mut server, "SELECT 2").await;
    });
}

#[test]
fn c15_an_error_names_a_statement_as_its_client_does() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        let answer = |id: u8| [0, id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        one.send_command(Kind::StmtPrepare, b"SELECT 'x'").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT 'x'").await;
        server.send(&answer(1)).await;
        one.read().await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        one.send_command(Kind::StmtFetch, &[1, 0, 0, 0, 1, 0, 0, 0]).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT 'x'").await;
        server.send(&answer(2)).await;
        server.expect_command(Kind::StmtFetch, &[2, 0, 0, 0, 1, 0, 0, 0]).await;
        server.err(1421, "HY000", "The statement (2) has no open cursor.").await;
        assert_eq!(one.expect_err(1421).await.message, "The statement (1) has no open cursor.");
    });
}

#[test]
fn c05_a_command_that_is_no_statement_leaves_the_warnings_of_the_one_before() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_query("SELECT a FROM nowhere").await;
        server.expect_query("SELECT a FROM nowhere").await;
        server.err(1146, "42S02", "no such table").await;
        one.expect_err(1146).await;
        one.send_command(Kind::Ping, b"").await;
        server.expect_command(Kind::Ping, b"").await;
        server.ok().await;
        one.expect_ok().await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
        run(&mut one, &mut server, "SHOW WARNINGS").await;
    });
}

/// Another reset would take its key from the one who had the connection before.
#[test]
fn c05_a_session_that_was_reset_resets_no_connection_that_is_as_it_wants() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        reset(&mut two, &mut server).await;
        one.send_command(Kind::ResetConnection, b"").await;
        // The first one has not been reset yet.
        takes_back(&mut server).await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.ok().await;
        one.expect_ok().await;
        insert(&mut one, &mut server, 7).await;
        two.send_query("SELECT 2").await;
        asked(&mut server, "7").await;
        comes(&mut two, &mut server, "SELECT 2").await;
        run(&mut one, &mut server, "SELECT LAST_INSERT_ID()").await;
    });
}
