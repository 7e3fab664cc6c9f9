//! What a server keeps of a session's statements besides what was set: for each, a session that
//! shares connections gets the answer that it would get on one of its own.

use proxy::stage::Stage;
use testkit::client::Options;
use wire::command::Kind;
use wire::{StatusFlags, packet};

use super::shared::{comes, config, question, takes_back, two, two_of};
use super::support::{CLASSIC, Client, Database, Servers, messages, options, play, reset, run};

/// A `COM_STMT_PREPARE` of statement `id`, without parameters, of which the server says that it has
/// so many columns.
pub(super) async fn prepared(server: &mut Database, id: u8, columns: u8) {
    server.send(&[0, id, 0, 0, 0, columns, 0, 0, 0, 0, 0, 0]).await;
    for _ in 0..columns {
        server.send(&COLUMN).await;
    }
}

/// The definition of a column, and one row of it.
pub(super) const COLUMN: [u8; 23] = *b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";
pub(super) const EXECUTE: [u8; 9] = [1, 0, 0, 0, 0, 1, 0, 0, 0];

/// The second session has the connection, which is as it wants it.
async fn takes(client: &mut Client, server: &mut Database) {
    run(client, server, "SELECT 2").await;
}

/// What a server tells of a statement that has changed so many rows.
async fn changes(client: &mut Client, server: &mut Database, rows: u64) {
    client.send_query("UPDATE t SET a = 1").await;
    server.expect_query("UPDATE t SET a = 1").await;
    server.ok_with(rows, 0).await;
    client.expect_ok().await;
}

#[test]
fn a_look_at_the_diagnostics_leaves_the_number_of_rows() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        changes(&mut one, &mut server, 5).await;
        takes(&mut two, &mut server).await;
        one.send_query("GET DIAGNOSTICS @n = NUMBER").await;
        // What is there is about the other session.
        server.expect_query("SELECT 1 FROM (SELECT 1) AS pointsman").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        comes(&mut one, &mut server, "GET DIAGNOSTICS @n = NUMBER").await;
        one.send_query("SELECT ROW_COUNT()").await;
        comes(&mut one, &mut server, "SELECT COALESCE(5, ROW_COUNT()) AS `ROW_COUNT()`").await;
    });
}

/// Another session may have left warnings, and gone.
#[test]
fn c06_a_prepared_statement_does_not_count_the_warnings_of_another_session() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SELECT 1").await;
        takes(&mut two, &mut server).await;
        one.send_command(Kind::StmtPrepare, b"SELECT @@warning_count").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT @@warning_count").await;
        prepared(&mut server, 1, 0).await;
        one.read().await;
        one.send_command(Kind::StmtExecute, &EXECUTE).await;
        server.expect_query("SELECT 1 FROM (SELECT 1) AS pointsman").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        let close = [&[Kind::StmtClose as u8][..], &1_u32.to_le_bytes()].concat();
        assert_eq!(server.read_command().await, close);
        server.expect_command(Kind::StmtPrepare, b"SELECT @@warning_count").await;
        prepared(&mut server, 1, 0).await;
        server.expect_command(Kind::StmtExecute, &EXECUTE).await;
        server.ok().await;
        one.expect_ok().await;
    });
}

/// `GET DIAGNOSTICS` leaves that number as it is, so what is sent with it asks about the statement
/// before.
#[test]
fn c05_a_number_of_rows_that_is_asked_for_at_once_with_diagnostics_is_its_askers() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        changes(&mut one, &mut server, 5).await;
        takes(&mut two, &mut server).await;
        let (first, second) = ("GET DIAGNOSTICS @n = NUMBER", "SELECT ROW_COUNT()");
        let commands = [first, second].map(|sql| messages(0, &[&[b"\x03", sql.as_bytes()].concat()]));
        one.send_bytes(&commands.concat()).await;
        server.expect_query("SELECT 1 FROM (SELECT 1) AS pointsman").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        one.packets().expect_seq(1);
        comes(&mut one, &mut server, first).await;
        one.packets().expect_seq(1);
        comes(&mut one, &mut server, "SELECT COALESCE(5, ROW_COUNT()) AS `ROW_COUNT()`").await;
    });
}

/// The first session comes back to a connection that the second has had, where its setting is said
/// again, which the server warns of.
async fn warned_again() -> (Stage, Servers, Client, Client, Database) {
    const SET: &str = "SET max_sort_length = 20";
    let (stage, servers, mut one, mut two, mut server) = two().await;
    let deprecated = packet::Ok { warnings: 1, ..packet::Ok::plain(server.status) };
    one.send_query(SET).await;
    server.expect_query(SET).await;
    server.send_packet(&deprecated).await;
    one.expect_ok().await;
    run(&mut one, &mut server, "SELECT a FROM t").await;
    two.send_query("SELECT 2").await;
    takes_back(&mut server).await;
    comes(&mut two, &mut server, "SELECT 2").await;
    one.send_query("UPDATE t SET a = 1").await;
    server.expect_query("SET SESSION max_sort_length = 20").await;
    server.send_packet(&deprecated).await;
    server.expect_query("UPDATE t SET a = 1").await;
    server.ok_with(5, 0).await;
    one.expect_ok().await;
    (stage, servers, one, two, server)
}

/// MySQL counts the warnings that there are in its answer to a `COM_PING`.
#[test]
fn c06_a_ping_that_counts_the_warnings_of_a_setting_has_none() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = warned_again().await;
        server.status = StatusFlags::AUTOCOMMIT;
        one.send_command(Kind::Ping, b"").await;
        server.expect_command(Kind::Ping, b"").await;
        let counted = packet::Ok { warnings: 1, ..packet::Ok::plain(StatusFlags::AUTOCOMMIT) };
        server.send_packet(&counted).await;
        one.read().await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.ok().await;
        comes(&mut two, &mut server, "SELECT 2").await;
    });
}

/// At MariaDB the warnings of a `SET` outlive statements without tables, also where it was the
/// proxy that said it.
#[test]
fn c05_the_warning_of_a_setting_that_is_repeated_is_hidden() {
    play(async || {
        let (_stage, _servers, mut one, _two, mut server) = warned_again().await;
        run(&mut one, &mut server, "SELECT 1").await;
        one.send_query("SHOW COUNT(*) WARNINGS").await;
        server.expect_query("SELECT 1 FROM (SELECT 1) AS pointsman").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        comes(&mut one, &mut server, "SHOW COUNT(*) WARNINGS").await;
        run(&mut one, &mut server, "SHOW WARNINGS").await;
    });
}

#[test]
fn to_forget_a_setting_s_warning_hides_no_number_of_rows() {
    play(async || {
        let (_stage, _servers, mut one, _two, mut server) = warned_again().await;
        one.send_query("GET DIAGNOSTICS @n = NUMBER").await;
        server.expect_query("SELECT 1 FROM (SELECT 1) AS pointsman").await;
        server.rows(&["1"], &[&[Some("1")]]).await;
        comes(&mut one, &mut server, "GET DIAGNOSTICS @n = NUMBER").await;
        one.send_query("SELECT ROW_COUNT()").await;
        comes(&mut one, &mut server, "SELECT COALESCE(5, ROW_COUNT()) AS `ROW_COUNT()`").await;
    });
}

/// Each answer counts for its own statement, not for the last one.
#[test]
fn c18_statements_sent_together_have_their_own_numbers_of_rows() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SELECT 0").await;
        let (first, second) = ("SELECT a FROM t", "SELECT b FROM t");
        let commands = [first, second].map(|sql| messages(0, &[&[b"\x03", sql.as_bytes()].concat()]));
        one.send_bytes(&commands.concat()).await;
        server.expect_query(first).await;
        server.rows(&["a"], &[&[Some("1")], &[Some("2")]]).await;
        one.packets().expect_seq(1);
        one.expect_rows(&[&[Some("1")], &[Some("2")]]).await;
        server.expect_query(second).await;
        server.rows(&["b"], &[&[Some("3")]]).await;
        one.packets().expect_seq(1);
        one.expect_rows(&[&[Some("3")]]).await;
        takes(&mut two, &mut server).await;
        one.send_query("SELECT FOUND_ROWS()").await;
        comes(&mut one, &mut server, "SELECT COALESCE(1, FOUND_ROWS()) AS `FOUND_ROWS()`").await;
    });
}

/// Its answer goes through the proxy's hands, and counts like any other.
#[test]
fn a_question_for_the_connections_id_counts_rows() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        changes(&mut one, &mut server, 5).await;
        one.send_query("SELECT CONNECTION_ID()").await;
        server.expect_query("SELECT CONNECTION_ID()").await;
        server.rows(&["CONNECTION_ID()"], &[&[Some("7")]]).await;
        one.expect_result().await;
        takes(&mut two, &mut server).await;
        one.send_query("SELECT ROW_COUNT()").await;
        comes(&mut one, &mut server, "SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`").await;
    });
}

#[test]
fn the_number_of_warnings_is_a_row() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        takes(&mut two, &mut server).await;
        one.send_query("SHOW COUNT(*) WARNINGS").await;
        loop {
            let command = server.read_command().await;
            if command.ends_with(b"WARNINGS") {
                break;
            }
            server.rows(&["1"], &[&[Some("1")]]).await;
        }
        server.rows(&["@@session.warning_count"], &[&[Some("0")]]).await;
        one.expect_rows(&[&[Some("0")]]).await;
        one.send_query("SELECT FOUND_ROWS()").await;
        let command = server.read_command().await;
        let text = String::from_utf8_lossy(&command).into_owned();
        assert!(!text.contains("COALESCE(0"), "{text}");
    });
}

#[test]
fn to_reset_a_statement_that_is_not_there_leaves_the_warnings() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t").await;
        prepared(&mut server, 1, 0).await;
        one.read().await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        one.send_query("SELECT x").await;
        server.expect_query("SELECT x").await;
        server.err(1054, "42S22", "Unknown column 'x'").await;
        one.expect_err(1054).await;
        one.send_command(Kind::StmtReset, &1_u32.to_le_bytes()).await;
        one.expect_ok().await;
        run(&mut one, &mut server, "SHOW WARNINGS").await;
    });
}

#[test]
fn warnings_name_a_statement_as_the_client_does() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_command(Kind::StmtPrepare, b"SELECT 1").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT 1").await;
        prepared(&mut server, 1, 0).await;
        one.read().await;
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        one.send_command(Kind::StmtFetch, &[1, 0, 0, 0, 1, 0, 0, 0]).await;
        server.expect_command(Kind::StmtPrepare, b"SELECT 1").await;
        prepared(&mut server, 7, 0).await;
        server.expect_command(Kind::StmtFetch, &[7, 0, 0, 0, 1, 0, 0, 0]).await;
        server.err(1421, "HY000", "The statement (7) has no open cursor").await;
        assert_eq!(one.expect_err(1421).await.message, "The statement (1) has no open cursor");
        one.send_query("SHOW WARNINGS").await;
        let digits = "5468652073746174656d656e742028312920686173206e6f206f70656e20637572736f72";
        let signal =
            format!("SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1421, MESSAGE_TEXT = _utf8mb4 X'{digits}'");
        server.expect_query(&signal).await;
        server.err(1421, "HY000", "The statement (1) has no open cursor").await;
        comes(&mut one, &mut server, "SHOW WARNINGS").await;
    });
}

/// Two clients that are in a schema, and the connection that the second has.
pub(super) async fn in_schema(schema: &str) -> (Stage, Servers, Client, Client, Database) {
    let in_one: Options = options().schema(schema);
    two_of(config(), &in_one, &in_one).await
}

/// A reset takes the schema's character set away, and leaves the schema.
#[test]
fn c04_a_schema_that_a_session_has_not_reset_has_its_character_set() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        run(&mut two, &mut server, "SET sql_mode = 'ANSI'").await;
        one.send_query("SELECT 1").await;
        takes_back(&mut server).await;
        server.expect_command(Kind::InitDb, b"db").await;
        server.ok().await;
        comes(&mut one, &mut server, "SELECT 1").await;
    });
}

#[test]
fn c04_a_schema_that_a_session_has_reset_has_not() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        run(&mut one, &mut server, "USE other").await;
        reset(&mut one, &mut server).await;
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        server.expect_command(Kind::InitDb, b"db").await;
        server.ok().await;
        comes(&mut two, &mut server, "SELECT 2").await;
        one.send_query("SELECT 1").await;
        server.expect_command(Kind::InitDb, b"other").await;
        server.ok().await;
        server.expect_command(Kind::ResetConnection, b"").await;
        server.ok().await;
        question(&mut server).await;
        comes(&mut one, &mut server, "SELECT 1").await;
    });
}

#[test]
fn a_variable_that_keeps_its_type_is_said_as_it_was() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        run(&mut one, &mut server, "SET @a = 1").await;
        run(&mut one, &mut server, "SET @a = NULL").await;
        two.send_query("SELECT 2").await;
        takes_back(&mut server).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        one.send_query("SELECT @a").await;
        for said in ["SET @a = 1", "SET @a = NULL"] {
            server.expect_query(said).await;
            server.ok().await;
        }
        comes(&mut one, &mut server, "SELECT @a").await;
    });
}

/// The variable is there from then on, and is NULL of another type than one that is not.
#[test]
fn a_set_that_fails_binds_if_it_names_a_user_variable() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_query("SET @a = 1, time_zone = 'bogus'").await;
        server.expect_query("SET @a = 1, time_zone = 'bogus'").await;
        server.err(1298, "HY000", "Unknown or incorrect time zone").await;
        one.expect_err(1298).await;
        // The error alone would bind no longer than this.
        run(&mut one, &mut server, "SELECT a FROM t").await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
    });
}

#[test]
fn warnings_of_a_statement_that_is_not_the_last_of_a_text_bind() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = two().await;
        one.send_query("DELETE FROM t; SELECT 1").await;
        server.expect_query("DELETE FROM t; SELECT 1").await;
        let more = packet::Ok {
            warnings: 1,
            ..packet::Ok::plain(StatusFlags::AUTOCOMMIT | StatusFlags::MORE_RESULTS)
        };
        server.send_packet(&more).await;
        server.ok().await;
        one.read().await;
        one.read().await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
    });
}

#[test]
fn c06_warnings_told_when_a_statement_is_prepared_bind() {
    for (warnings, params, columns) in [(1, 0, 0), (1, 1, 1), (0, 1, 1)] {
        play(async || {
            let (_stage, _servers, mut one, mut two, mut server) = two().await;
            one.send_command(Kind::StmtPrepare, b"SELECT ?").await;
            server.expect_command(Kind::StmtPrepare, b"SELECT ?").await;
            server.send(&[0, 1, 0, 0, 0, columns, 0, params, 0, 0, warnings, 0]).await;
            one.read().await;
            for _ in 0..params + columns {
                server.send(&COLUMN).await;
                one.read().await;
            }
            two.send_query("SELECT 2").await;
            if warnings == 0 {
                server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
                comes(&mut two, &mut server, "SELECT 2").await;
                return;
            }
            two.expect_err(9001).await;
            run(&mut one, &mut server, "SHOW WARNINGS").await;
        });
    }
}

/// A table has got another column since the statement was prepared, and the connection is another
/// one.
#[test]
fn c15_a_statement_with_other_columns_is_executed_and_tells_it() {
    play(async || {
        let classic = options().capabilities(CLASSIC);
        let (_stage, _servers, mut one, mut two, mut server) = two_of(config(), &classic, &classic).await;
        one.send_command(Kind::StmtPrepare, b"SELECT * FROM t").await;
        server.expect_command(Kind::StmtPrepare, b"SELECT * FROM t").await;
        prepared(&mut server, 1, 1).await;
        server.eof().await;
        for _ in 0..3 {
            one.read().await;
        }
        two.send_query("SELECT 2").await;
        server.expect_command(Kind::StmtClose, &1_u32.to_le_bytes()).await;
        comes(&mut two, &mut server, "SELECT 2").await;
        for (execution, high) in [4, 0].into_iter().enumerate() {
            one.send_command(Kind::StmtExecute, &EXECUTE).await;
            if execution == 0 {
                server.expect_command(Kind::StmtPrepare, b"SELECT * FROM t").await;
                prepared(&mut server, 1, 2).await;
                server.eof().await;
            }
            server.expect_command(Kind::StmtExecute, &EXECUTE).await;
            server.send(&[2]).await;
            server.send(&COLUMN).await;
            server.send(&COLUMN).await;
            server.eof().await;
            server.eof().await;
            for _ in 0..3 {
                one.read().await;
            }
            for _ in 0..2 {
                assert_eq!(one.read().await, [0xfe, 0, 0, 2, high]);
            }
        }
    });
}

/// The variable exists from then on, and is `NULL` of another type than one that does not.
#[test]
fn c06_a_statement_that_sets_a_user_variable_binds_when_it_is_prepared() {
    play(async || {
        let (_stage, _servers, mut one, mut two, mut server) = in_schema("db").await;
        one.send_command(Kind::StmtPrepare, b"SET @a = 1").await;
        server.expect_command(Kind::StmtPrepare, b"SET @a = 1").await;
        prepared(&mut server, 3, 0).await;
        one.read().await;
        two.send_query("SELECT 2").await;
        two.expect_err(9001).await;
    });
}
