//! What a session that shares connections may ask about what it said last, where the answer to that
//! did not tell it, or the server has not heard it.

use config::QueryRule;
use testkit::client::{CAPABILITIES, Options};
use wire::command::Kind;
use wire::packet::{self, SessionState, StateChange};
use wire::{Capabilities, Codec as _, StatusFlags};

use super::shared::{asked, comes, config, let_in, takes_back, two, two_of};
use super::shared_by_name::is_bound;
use super::shared_state::insert;
use super::shared_traces::{EXECUTE, prepared};
use super::support::{
    Client, Database, log_in, messages, options, pair_of_servers, play, rule, run, settle, stage,
};

/// The first session prepares this as its statement 1, and the other one has the connection then,
/// where it was closed.
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

/// Servers take a comment behind the last semicolon for a statement, which changes nothing, and say
/// OK to it.
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
    const MESSAGE: &str =
        "MESSAGE_TEXT = _utf8mb4 X'5468652073746174656d656e742028312920686173206e6f206f70656e20637572736f72'";
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "SELECT a FROM t").await;
        run(&mut one, &mut server, "LOCK TABLES u READ").await;
        one.send_command(Kind::StmtFetch, &[1, 0, 0, 0, 1, 0, 0, 0]).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.err(1100, "HY000", "Table 't' was not locked with LOCK TABLES").await;
        assert_eq!(one.expect_err(1421).await.message, "The statement (1) has no open cursor");
        one.send_query("SHOW WARNINGS").await;
        server.expect_query(&format!("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1421, {MESSAGE}")).await;
        server.err(1421, "HY000", "The statement (1) has no open cursor").await;
        comes(&mut one, &mut server, "SHOW WARNINGS").await;
    });
}

/// The reply that opens it has no rows, and the server has counted all that there are.
#[test]
fn c06_how_many_rows_a_cursor_has_only_the_server_knows() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        prepared(&mut server, 1, 0).await;
        one.read().await;
        let with_cursor = [1, 0, 0, 0, 1, 1, 0, 0, 0];
        one.send_command(Kind::StmtExecute, &with_cursor).await;
        server.expect_command(Kind::StmtExecute, &with_cursor).await;
        server.status |= StatusFlags::CURSOR_EXISTS;
        server.columns(&["a"]).await;
        if one.capabilities().contains(Capabilities::DEPRECATE_EOF) {
            server.end_of_rows().await;
        }
        one.expect_result().await;
        server.status -= StatusFlags::CURSOR_EXISTS;
        one.send_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        is_bound(&mut two).await;
        run(&mut one, &mut server, "SELECT FOUND_ROWS()").await;
        run(&mut two, &mut server, "SELECT 2").await;
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

/// What stored code has done before an error is not taken back, such as the temporary tables that
/// it has made.
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

/// Servers end it as they end rows, with one packet or the other, and count it as rows. Where the
/// key that was generated last is brought to the connection behind it, that has to be told.
#[test]
fn c06_a_list_of_fields_counts_as_rows() {
    for capabilities in [CAPABILITIES, CAPABILITIES - Capabilities::DEPRECATE_EOF] {
        play(async || {
            let options = options().capabilities(capabilities);
            let (_stage, _servers, mut one, mut two, mut server) = two_of(config(), &options, &options).await;
            insert(&mut one, &mut server, 7).await;
            two.send_query("INSERT INTO t VALUES ()").await;
            asked(&mut server, "7").await;
            server.expect_query("SET last_insert_id = 0").await;
            server.ok().await;
            server.expect_query("INSERT INTO t VALUES ()").await;
            server.ok_with(1, 9).await;
            two.expect_ok().await;
            one.send_command(Kind::FieldList, b"t\0").await;
            asked(&mut server, "9").await;
            server.expect_command(Kind::FieldList, b"t\0").await;
            server.end_of_rows().await;
            one.read().await;
            one.send_query("SELECT LAST_INSERT_ID(), ROW_COUNT()").await;
            server.expect_query("SET last_insert_id = 7").await;
            server.ok().await;
            let told = "SELECT LAST_INSERT_ID(), COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`";
            comes(&mut one, &mut server, told).await;
        });
    }
}

/// Behind an error that has ended a transaction servers tell session trackers of it with the next
/// OK, be it the answer to what the proxy has said.
#[test]
fn c06_what_a_server_tells_the_proxy_of_a_transaction_the_client_is_told() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        insert(&mut one, &mut server, 7).await;
        two.send_query("INSERT INTO t VALUES ()").await;
        asked(&mut server, "7").await;
        server.expect_query("SET last_insert_id = 0").await;
        server.ok().await;
        server.expect_query("INSERT INTO t VALUES ()").await;
        server.ok_with(1, 9).await;
        two.expect_ok().await;
        one.send_query("BEGIN").await;
        asked(&mut server, "9").await;
        server.status |= StatusFlags::IN_TRANSACTION;
        comes(&mut one, &mut server, "BEGIN").await;
        one.send_query("LOCK TABLES t READ").await;
        server.expect_query("LOCK TABLES t READ").await;
        server.err(1146, "42S02", "Table 't' doesn't exist").await;
        one.expect_err(1146).await;
        server.status -= StatusFlags::IN_TRANSACTION;
        one.send_query("SELECT LAST_INSERT_ID()").await;
        server.expect_query("SET last_insert_id = 7").await;
        let over = SessionState::encode(&[StateChange::TransactionState(b"________")]);
        let told = packet::Ok {
            session_state: Some(SessionState::new(&over)),
            ..packet::Ok::plain(server.status | StatusFlags::SESSION_STATE_CHANGED)
        };
        let told = told.encode(server.capabilities());
        server.send(&told).await;
        server.expect_query("SELECT LAST_INSERT_ID()").await;
        server.ok().await;
        assert_eq!(one.read().await, told);
        run(&mut one, &mut server, "SELECT 1").await;
    });
}

/// Servers do not answer a part of a value. Where the statement cannot be prepared when it comes,
/// it goes out when the statement is executed.
#[test]
fn c15_a_value_sent_in_parts_waits_for_its_statement() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "INSERT INTO t VALUES (?)").await;
        run(&mut one, &mut server, "SET TRANSACTION READ ONLY").await;
        for part in [b'x', b'y'] {
            one.send_command(Kind::SendLongData, &[1, 0, 0, 0, 0, 0, part]).await;
            server.expect_command(Kind::StmtPrepare, b"INSERT INTO t VALUES (?)").await;
            server.err(1792, "25006", "Cannot execute statement in a READ ONLY transaction.").await;
            server.expect_query("SELECT 1 FROM (SELECT 1) AS pointsman").await;
            server.ok().await;
        }
        run(&mut one, &mut server, "SELECT a FROM t").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        server.expect_command(Kind::StmtPrepare, b"INSERT INTO t VALUES (?)").await;
        prepared(&mut server, 3, 0).await;
        for part in [b'x', b'y'] {
            server.expect_command(Kind::SendLongData, &[3, 0, 0, 0, 0, 0, part]).await;
        }
        server.expect_command(Kind::StmtExecute, &[3, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::StmtClose, &3_u32.to_le_bytes()).await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

/// Where only the beginning of its number had come, a part of a value went to whatever the server
/// knows by the client's number.
#[test]
fn c15_a_command_that_is_cut_in_the_number_of_its_statement_is_about_that_statement() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        prepares_and_leaves(&mut one, &mut two, &mut server, "INSERT INTO t VALUES (?)").await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        server.expect_command(Kind::StmtPrepare, b"INSERT INTO t VALUES (?)").await;
        prepared(&mut server, 3, 0).await;
        server.expect_command(Kind::StmtExecute, &[3, 0, 0, 0, 0, 1, 0, 0, 0]).await;
        server.ok().await;
        one.expect_ok().await;
        for piece in [&[8, 0, 0, 0, Kind::SendLongData as u8, 1][..], &[0, 0, 0, 0, 0, b'x']] {
            one.send_bytes(piece).await;
            settle().await;
        }
        server.expect_command(Kind::SendLongData, &[3, 0, 0, 0, 0, 0, b'x']).await;
    });
}

/// Where there are none behind them, only the server knows how many there are.
#[test]
fn c06_rows_that_an_offset_passes_by_are_counted() {
    play(async || {
        for (sql, rows, found) in [
            ("SELECT a FROM t LIMIT 5 OFFSET 7", 2, Some(9)),
            ("SELECT a FROM t LIMIT 7, 5", 1, Some(8)),
            ("SELECT a FROM t LIMIT 5 OFFSET 0", 0, Some(0)),
            ("SELECT a FROM t LIMIT 5 OFFSET 7", 0, None),
            ("SELECT a FROM t UNION SELECT b FROM u LIMIT 2", 2, None),
        ] {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            one.send_query(sql).await;
            server.expect_query(sql).await;
            let all = vec![&[Some("1")][..]; rows];
            server.rows(&["a"], &all).await;
            one.expect_rows(&all).await;
            let Some(found) = found else {
                is_bound(&mut two).await;
                continue;
            };
            two.send_query("SELECT 2").await;
            comes(&mut two, &mut server, "SELECT 2").await;
            one.send_query("SELECT FOUND_ROWS()").await;
            let told = format!("SELECT COALESCE({found}, FOUND_ROWS()) AS `FOUND_ROWS()`");
            comes(&mut one, &mut server, &told).await;
        }
    });
}

/// A connection at another server is given away behind an `INSERT`. What its server says of the key
/// is about the statements before that.
#[test]
fn c05_a_key_is_not_replaced_by_that_of_another_connection() {
    play(async || {
        let mut config = pair_of_servers();
        config.variables.multiplexing = true;
        config.servers.iter_mut().for_each(|server| server.max_connections = 1);
        let believed = QueryRule { multiplex: Some(2), destination_hostgroup: Some(1), ..rule(1, "f") };
        config.query_rules = vec![QueryRule { apply: true, ..believed }].into();
        let (stage, mut servers) = stage(config);
        let (mut one, mut two) = (log_in(&stage).await, log_in(&stage).await);
        one.send_query("SELECT f(1)").await;
        let mut reader = servers.accept().await;
        comes(&mut one, &mut reader, "SELECT f(1)").await;
        one.send_query("INSERT INTO t VALUES ()").await;
        let mut writer = servers.accept().await;
        writer.expect_query("INSERT INTO t VALUES ()").await;
        writer.ok_with(1, 7).await;
        one.expect_ok().await;
        two.send_query("SELECT a FROM t").await;
        asked(&mut reader, "0").await;
        let_in(&mut reader).await;
        comes(&mut two, &mut reader, "SELECT a FROM t").await;
        run(&mut one, &mut writer, "SELECT LAST_INSERT_ID()").await;
    });
}

/// MariaDB's clients execute the statement that they have prepared last before they know it. What
/// fails behind it does not hide that it has made a key.
#[test]
fn c05_a_key_of_an_execution_of_the_last_statement_is_not_another_sessions() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SELECT 1").await;
        let last = b"\x17\xff\xff\xff\xff\0\x01\0\0\0";
        let commands = [&b"\x16INSERT INTO t VALUES ()"[..], last, b"\x03SELECT nothing"];
        one.send_bytes(&commands.map(|payload| messages(0, &[payload])).concat()).await;
        server.expect_command(Kind::StmtPrepare, b"INSERT INTO t VALUES ()").await;
        server.expect_command(Kind::StmtExecute, &last[1..]).await;
        server.expect_query("SELECT nothing").await;
        server.packets().expect_seq(1);
        prepared(&mut server, 1, 0).await;
        server.packets().expect_seq(1);
        server.ok_with(1, 9).await;
        server.packets().expect_seq(1);
        server.err(1054, "42S22", "Unknown column 'nothing' in 'field list'").await;
        one.packets().expect_seq(1);
        one.read().await;
        one.packets().expect_seq(1);
        one.expect_ok().await;
        one.packets().expect_seq(1);
        one.expect_err(1054).await;
        run(&mut one, &mut server, "SELECT a FROM t").await;
        two.send_query("SELECT LAST_INSERT_ID()").await;
        server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        asked(&mut server, "9").await;
        server.expect_query("SET last_insert_id = 0").await;
        server.ok().await;
        comes(&mut two, &mut server, "SELECT LAST_INSERT_ID()").await;
        one.send_query("SELECT LAST_INSERT_ID()").await;
        server.expect_query("SET last_insert_id = 9").await;
        server.ok().await;
        comes(&mut one, &mut server, "SELECT LAST_INSERT_ID()").await;
    });
}

/// What such an execution sets has to be known before the next command is sent.
#[test]
fn c04_what_an_execution_of_the_last_statement_sets_is_the_sessions() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SELECT 1").await;
        let last = b"\x17\xff\xff\xff\xff\0\x01\0\0\0";
        let commands = [&b"\x16SET sql_safe_updates = 1"[..], last];
        one.send_bytes(&commands.map(|payload| messages(0, &[payload])).concat()).await;
        server.expect_command(Kind::StmtPrepare, b"SET sql_safe_updates = 1").await;
        prepared(&mut server, 1, 0).await;
        server.expect_command(Kind::StmtExecute, &EXECUTE).await;
        server.ok().await;
        one.packets().expect_seq(1);
        one.read().await;
        one.packets().expect_seq(1);
        one.expect_ok().await;
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}
