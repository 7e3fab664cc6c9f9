//! Answers from the query cache: what servers see, and what clients get.

use config::{Config, Listener, QueryRule, Role, User};
use proxy::stage::Stage;
use tokio::time::sleep;
use upstream::Defaults;
use wire::command::Kind;
use wire::{Capabilities, StatusFlags};

use super::support::{
    CLASSIC, Client, Database, begin, commit, config, first_query, log_in, log_in_as, messages, ms, options,
    options_for, play, rule, run, session_in, settle, user,
};

pub(super) const SQL: &str = "SELECT a FROM t";

/// Answers to reads of tables are kept for a second.
pub(super) fn cached() -> Config {
    with_attributes("")
}

/// The same with attributes of the rule.
pub(super) fn with_attributes(attributes: &str) -> Config {
    let mut config = config();
    let attributes = attributes.to_owned();
    let mut rule = QueryRule { cache_ttl: Some(ms(1000)), attributes, ..rule(1, "") };
    (rule.match_pattern, rule.match_digest) = (None, Some("^SELECT".to_owned()));
    config.query_rules = vec![rule].into();
    config
}

/// A client, and its server.
async fn session() -> (Stage, Client, Database) {
    let (stage, _, client, server) = session_in(cached()).await;
    (stage, client, server)
}

/// A query that a server answers.
pub(super) async fn miss(client: &mut Client, server: &mut Database, sql: &str, answer: &str) {
    client.send_query(sql).await;
    server.expect_query(sql).await;
    server.rows(&["a"], &[&[Some(answer)]]).await;
    client.expect_rows(&[&[Some(answer)]]).await;
}

/// A server is asked over a new connection for what sessions begin with, and for the definition of
/// `db.t`, and tells of a plain table.
pub(super) async fn tells_of_table(server: &mut Database) {
    tells_of_rows(server).await;
    server.expect_query(Defaults::question(true)).await;
    server.rows(&["a"], &[&[Some("1")]]).await;
    tells_definition(server).await;
}

async fn tells_of_rows(server: &mut Database) {
    server.expect_query("SELECT ROW_COUNT(), FOUND_ROWS(), @@character_set_results, @@sql_mode").await;
    let row = [Some("-1"), Some("1"), Some("utf8mb4"), Some("")];
    server.rows(&["a", "b", "c", "d"], &[&row]).await;
}

async fn tells_definition(server: &mut Database) {
    server.expect_query(&cache::question("db", "t")).await;
    let table = [Some("table"), Some("BASE TABLE"), Some("InnoDB")];
    server.rows(&["a", "b", "c"], &[&table, &[Some("may"), Some("INSERT"), Some("")]]).await;
}

/// A query that no server sees.
pub(super) async fn hit(client: &mut Client, sql: &str, answer: &str) {
    client.send_query(sql).await;
    client.expect_rows(&[&[Some(answer)]]).await;
}

#[test]
fn an_answer_is_given_again_without_a_server_until_its_time_is_over() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        miss(&mut client, &mut server, SQL, "1").await;
        hit(&mut client, SQL, "1").await;
        let mut other = log_in(&stage).await;
        hit(&mut other, SQL, "1").await;
        hit(&mut other, "SELECT a FROM t /* trace 7 */", "1").await;
        assert_eq!(stage.usage(0).open, 1, "the other client needs no connection");
        sleep(ms(1000)).await;
        miss(&mut client, &mut server, SQL, "2").await;
        hit(&mut other, SQL, "2").await;
    });
}

#[test]
fn c03_c07_c21_settings_schema_and_account_have_answers_of_their_own() {
    play(async || {
        let mut config = with_attributes(r#"{"cache": {"scope": "user"}}"#);
        config.users.push(user("other", "secret"));
        let (stage, mut servers, mut client, mut server) = session_in(config).await;
        miss(&mut client, &mut server, SQL, "1").await;
        run(&mut client, &mut server, "SET wait_timeout = 100").await;
        hit(&mut client, SQL, "1").await;
        run(&mut client, &mut server, "SET time_zone = '+01:00'").await;
        miss(&mut client, &mut server, SQL, "2").await;
        hit(&mut client, SQL, "2").await;
        run(&mut client, &mut server, "USE shop").await;
        miss(&mut client, &mut server, SQL, "3").await;
        let mut other = log_in_as(&stage, &options_for("other", "secret")).await;
        let mut its_server = first_query(&mut other, &mut servers).await;
        miss(&mut other, &mut its_server, SQL, "4").await;
        hit(&mut log_in(&stage).await, SQL, "1").await;
    });
}

#[test]
fn c21_an_account_gets_others_answers_once_it_has_run_the_digest_itself() {
    play(async || {
        let mut config = with_attributes("");
        config.pointsman.judge_tables = true;
        config.users.push(user("other", "secret"));
        let (stage, mut servers, mut client, mut server) = session_in(config).await;
        run(&mut client, &mut server, "USE db").await;
        miss(&mut client, &mut server, "SELECT a FROM t WHERE b = 1", "1").await;
        tells_of_table(&mut server).await;
        miss(&mut client, &mut server, "SELECT a FROM t WHERE b = 1", "1").await;
        let mut other = log_in_as(&stage, &options_for("other", "secret")).await;
        let mut its_server = first_query(&mut other, &mut servers).await;
        run(&mut other, &mut its_server, "USE db").await;
        miss(&mut other, &mut its_server, "SELECT a FROM t WHERE b = 2", "2").await;
        tells_of_table(&mut its_server).await;
        miss(&mut other, &mut its_server, "SELECT a FROM t WHERE b = 2", "2").await;
        hit(&mut other, "SELECT a FROM t WHERE b = 1", "1").await;
        hit(&mut client, "SELECT a FROM t WHERE b = 2", "2").await;
        // Its digest does not tell all that is read.
        let secret = "SELECT a FROM t /*!50000 JOIN secret */ WHERE b = 1";
        miss(&mut client, &mut server, secret, "3").await;
        miss(&mut other, &mut its_server, secret, "4").await;
    });
}

/// What is behind its tables is asked for again, and known from then on.
#[test]
fn an_answer_is_kept_again_right_behind_a_definition() {
    play(async || {
        let mut config = with_attributes("");
        config.pointsman.judge_tables = true;
        let (stage, mut servers, mut reader, mut server) = session_in(config).await;
        run(&mut reader, &mut server, "USE db").await;
        miss(&mut reader, &mut server, SQL, "1").await;
        tells_of_table(&mut server).await;
        miss(&mut reader, &mut server, SQL, "1").await;
        hit(&mut reader, SQL, "1").await;
        let mut writer = log_in(&stage).await;
        let mut its_server = first_query(&mut writer, &mut servers).await;
        run(&mut writer, &mut its_server, "CREATE PROCEDURE p() SELECT 1").await;
        // So long the server may have needed to make it known to others.
        sleep(ms(10)).await;
        miss(&mut reader, &mut server, SQL, "2").await;
        tells_of_rows(&mut server).await;
        tells_definition(&mut server).await;
        miss(&mut reader, &mut server, SQL, "3").await;
        sleep(ms(9)).await;
        hit(&mut reader, SQL, "3").await;
    });
}

/// A server shows each account its own rows there.
#[test]
fn c21_schemas_of_servers_are_not_cached_whatever_way_they_are_named() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        run(&mut client, &mut server, "USE information_schema").await;
        miss(&mut client, &mut server, "SELECT a FROM tables", "1").await;
        miss(&mut client, &mut server, "SELECT a FROM tables", "2").await;
    });
}

/// Of what passes there nothing is known.
#[test]
fn c20_no_own_writes_are_promised_beside_fast_forward_and_layer_4() {
    let with_user = |config: &mut Config| {
        config.users.push(User { fast_forward: true, ..user("fast", "secret") });
    };
    let with_listener = |config: &mut Config| {
        config.listeners.push(Listener { role: Role::Tcp, ..Listener::default() });
    };
    for add in [&with_user as &dyn Fn(&mut Config), &with_listener] {
        play(async || {
            let mut config = with_attributes(r#"{"cache": {"mode": "own"}}"#);
            add(&mut config);
            let (_stage, _servers, mut client, mut server) = session_in(config).await;
            miss(&mut client, &mut server, SQL, "1").await;
            miss(&mut client, &mut server, SQL, "2").await;
        });
    }
}

#[test]
fn what_is_no_function_of_tables_and_text_goes_to_a_server() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        for sql in [
            "SELECT NOW() FROM t",
            "SELECT a FROM t FOR UPDATE",
            "SELECT @x FROM t",
            "SELECT 1",
            "SELECT SQL_NO_CACHE a FROM t",
        ] {
            miss(&mut client, &mut server, sql, "1").await;
            miss(&mut client, &mut server, sql, "2").await;
        }
    });
}

#[test]
fn transactions_and_what_is_left_at_a_server_get_no_answers() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        miss(&mut client, &mut server, SQL, "1").await;
        begin(&mut client, &mut server).await;
        miss(&mut client, &mut server, SQL, "2").await;
        commit(&mut client, &mut server).await;
        hit(&mut client, SQL, "1").await;
        run(&mut client, &mut server, "SET SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED").await;
        miss(&mut client, &mut server, SQL, "3").await;
        run(&mut client, &mut server, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED").await;
        miss(&mut client, &mut server, SQL, "4").await;
        hit(&mut client, SQL, "4").await;
        run(&mut client, &mut server, "CREATE TEMPORARY TABLE t (a INT)").await;
        miss(&mut client, &mut server, SQL, "5").await;
        run(&mut client, &mut server, "DROP TABLE t").await;
        hit(&mut client, SQL, "4").await;
        server.status = StatusFlags::empty();
        run(&mut client, &mut server, "SET autocommit = 0").await;
        miss(&mut client, &mut server, SQL, "6").await;
    });
}

#[test]
fn errors_and_warnings_are_not_kept() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        for _ in 0..2 {
            client.send_query(SQL).await;
            server.expect_query(SQL).await;
            server.err(1146, "42S02", "No such table").await;
            client.expect_err(1146).await;
        }
        client.send_query(SQL).await;
        server.expect_query(SQL).await;
        server.columns(&["a"]).await;
        server.row(&[Some("1")]).await;
        server.send(&[0xfe, 0, 0, 2, 0, 1, 0]).await;
        client.expect_result().await;
        miss(&mut client, &mut server, SQL, "2").await;
        miss(&mut client, &mut server, SQL, "3").await;
        hit(&mut client, SQL, "3").await;
    });
}

#[test]
fn c32_clients_get_an_answer_in_their_own_form() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        miss(&mut client, &mut server, SQL, "1").await;
        let compressed = options().capabilities(CLASSIC | Capabilities::COMPRESS);
        let classic = options().capabilities(CLASSIC);
        for options in [classic, compressed] {
            let mut other = log_in_as(&stage, &options).await;
            for _ in 0..3 {
                hit(&mut other, SQL, "1").await;
            }
        }
    });
}

#[test]
fn pipelined_hits_and_misses_keep_their_order() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        miss(&mut client, &mut server, SQL, "1").await;
        let queries = [SQL, SQL, "SELECT b FROM t", SQL];
        let payloads: Vec<Vec<u8>> = queries.iter().map(|sql| [b"\x03", sql.as_bytes()].concat()).collect();
        let bytes: Vec<u8> = payloads.iter().flat_map(|payload| messages(0, &[payload])).collect();
        client.send_bytes(&bytes).await;
        for _ in 0..2 {
            client.packets().expect_seq(1);
            client.expect_rows(&[&[Some("1")]]).await;
        }
        server.expect_query("SELECT b FROM t").await;
        server.rows(&["b"], &[&[Some("2")]]).await;
        for answer in ["2", "1"] {
            client.packets().expect_seq(1);
            client.expect_rows(&[&[Some(answer)]]).await;
        }
    });
}

#[test]
fn c05_statements_behind_a_hit_are_told_of_it() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        miss(&mut client, &mut server, SQL, "1").await;
        client.send_query("UPDATE t SET a = 2").await;
        server.expect_query("UPDATE t SET a = 2").await;
        server.ok_with(7, 0).await;
        client.expect_ok().await;
        hit(&mut client, SQL, "1").await;
        client.send_query("SELECT FOUND_ROWS(), ROW_COUNT()").await;
        let told =
            "SELECT COALESCE(1, FOUND_ROWS()) AS `FOUND_ROWS()`, COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`";
        server.expect_query(told).await;
        server.rows(&["a", "b"], &[&[Some("1"), Some("-1")]]).await;
        client.expect_result().await;
    });
}

#[test]
fn hits_are_counted() {
    play(async || {
        let (stage, mut client, mut server) = session().await;
        miss(&mut client, &mut server, SQL, "1").await;
        hit(&mut client, SQL, "1").await;
        hit(&mut client, SQL, "1").await;
        assert_eq!(stage.command("SELECT").count, 3);
        let digests = stage.take_digests();
        let of_sql = digests.iter().filter(|row| *row.text == *SQL.as_bytes());
        let mut counts: Vec<_> = of_sql.map(|row| (row.hostgroup, row.count, row.rows_sent)).collect();
        counts.sort_unstable();
        assert_eq!(counts, [(0, 1, 1), (u32::MAX, 2, 2)]);
    });
}

#[test]
fn executions_are_told_apart_by_their_values() {
    play(async || {
        let (stage, mut servers, mut client, mut server) = session_in(cached()).await;
        prepare_one(&mut client, &mut server).await;
        let execute = |value: u8, types: bool| {
            let types: &[u8] = if types { &[0, 1, 1, 0, value] } else { &[0, 0, value] };
            [&[1, 0, 0, 0, 0, 1, 0, 0, 0], types].concat()
        };
        for (value, answer) in [(7, 70), (8, 80)] {
            client.send_command(Kind::StmtExecute, &execute(value, true)).await;
            server.expect_command(Kind::StmtExecute, &execute(value, true)).await;
            binary(&mut server, answer).await;
            expect_binary(&mut client, answer).await;
        }
        for (value, answer, types) in [(7, 70, true), (8, 80, true), (7, 70, false)] {
            client.send_command(Kind::StmtExecute, &execute(value, types)).await;
            expect_binary(&mut client, answer).await;
        }
        miss(&mut client, &mut server, "SELECT a FROM t WHERE b = 7", "70").await;
        let mut other = log_in(&stage).await;
        let mut its_server = first_query(&mut other, &mut servers).await;
        prepare_one(&mut other, &mut its_server).await;
        other.send_command(Kind::StmtExecute, &execute(7, true)).await;
        expect_binary(&mut other, 70).await;
        // The server has not seen the types.
        other.send_command(Kind::StmtExecute, &execute(9, false)).await;
        its_server.expect_command(Kind::StmtExecute, &execute(9, true)).await;
        binary(&mut its_server, 90).await;
        expect_binary(&mut other, 90).await;
    });
}

#[test]
fn c21_no_answer_is_from_before_a_change_of_privileges() {
    play(async || {
        let (_stage, mut client, mut server) = session().await;
        for sql in [
            "REVOKE SELECT ON t FROM app",
            "CREATE USER x",
            "UPDATE mysql.user SET x = 1",
            "ALTER USER x ACCOUNT LOCK",
            "FLUSH PRIVILEGES",
        ] {
            miss(&mut client, &mut server, SQL, "1").await;
            hit(&mut client, SQL, "1").await;
            run(&mut client, &mut server, sql).await;
            settle().await;
            miss(&mut client, &mut server, SQL, "2").await;
            hit(&mut client, SQL, "2").await;
            run(&mut client, &mut server, "REVOKE ALL ON t FROM z").await;
            settle().await;
        }
        // In the mode `ttl` a write changes nothing.
        miss(&mut client, &mut server, SQL, "3").await;
        run(&mut client, &mut server, "UPDATE t SET a = 2").await;
        hit(&mut client, SQL, "3").await;
    });
}

#[test]
fn a_text_that_was_answered_before_is_answered_only_to_sessions_that_are_the_same() {
    play(async || {
        let mut config = cached();
        config.users.push(user("other", "secret"));
        let (stage, mut servers, mut client, mut server) = session_in(config).await;
        miss(&mut client, &mut server, SQL, "1").await;
        for _ in 0..100 {
            hit(&mut client, SQL, "1").await;
        }
        let burst: Vec<u8> =
            (0..50).flat_map(|_| messages(0, &[[b"\x03", SQL.as_bytes()].concat().as_slice()])).collect();
        client.send_bytes(&burst).await;
        for _ in 0..50 {
            client.packets().expect_seq(1);
            client.expect_rows(&[&[Some("1")]]).await;
        }
        assert_eq!(stage.command("SELECT").count, 151);
        let mut other = log_in_as(&stage, &options_for("other", "secret")).await;
        let mut its_server = first_query(&mut other, &mut servers).await;
        miss(&mut other, &mut its_server, SQL, "1").await;
        hit(&mut client, SQL, "1").await;
        begin(&mut client, &mut server).await;
        miss(&mut client, &mut server, SQL, "3").await;
        commit(&mut client, &mut server).await;
        hit(&mut client, SQL, "1").await;
        run(&mut client, &mut server, "CREATE TEMPORARY TABLE u (a INT)").await;
        miss(&mut client, &mut server, SQL, "4").await;
        run(&mut client, &mut server, "DROP TABLE u").await;
        hit(&mut client, SQL, "1").await;
        run(&mut client, &mut server, "SET sql_mode = ''").await;
        miss(&mut client, &mut server, SQL, "5").await;
        run(&mut other, &mut its_server, "REVOKE SELECT ON t FROM app").await;
        settle().await;
        miss(&mut client, &mut server, SQL, "6").await;
        let mut config = cached();
        config.query_rules = Vec::new().into();
        stage.apply(config).unwrap();
        miss(&mut client, &mut server, SQL, "7").await;
    });
}

/// The client prepares a statement with one parameter, and one column.
async fn prepare_one(client: &mut Client, server: &mut Database) {
    client.send_command(Kind::StmtPrepare, b"SELECT a FROM t WHERE b = ?").await;
    server.expect_command(Kind::StmtPrepare, b"SELECT a FROM t WHERE b = ?").await;
    server.send(&[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]).await;
    server.send(COLUMN).await;
    server.send(COLUMN).await;
    for _ in 0..3 {
        client.read().await;
    }
}

/// The description of a column.
const COLUMN: &[u8] = b"\x03def\0\0\0\x01a\0\x0c?\0\x01\0\0\0\x01\0\0\0\0\0";

/// One row with one number of a byte.
async fn binary(server: &mut Database, value: u8) {
    for packet in [b"\x01", COLUMN, &[0, 0, value], b"\xfe\0\0\x02\0\0\0"] {
        server.send(packet).await;
    }
}

async fn expect_binary(client: &mut Client, value: u8) {
    for packet in [b"\x01", COLUMN, &[0, 0, value], b"\xfe\0\0\x02\0\0\0"] {
        client.expect(packet).await;
    }
}
