//! `SET`s whose effect is not written in them plainly: a session that has said one still reads from
//! the reader, which has what was set.

use e2e::{Make, run};
use testkit::client::Client;

use super::{Pair, connect, value};

/// The value of an expression at one of the servers.
async fn at(server: &str, client: &mut Client, expression: &str) -> String {
    let mode = if server == "reader" { "read_only" } else { "read_write" };
    let sql = format!("/* access_mode={mode} */ SELECT CONCAT(name, ' ', {expression}) FROM who");
    let value = value(client, &sql).await;
    let own = value.strip_prefix(server).and_then(|value| value.strip_prefix(' '));
    own.unwrap_or_else(|| panic!("{expression}: {value}")).to_owned()
}

/// What each statement sets, the reader has, and the session still reads there.
fn follow(pair: &Pair, sets: &[(&str, &str)]) {
    let proxy = pair.proxy();
    run(async {
        for (sql, expression) in sets {
            let mut client = connect(&proxy).await;
            client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
            let expected = at("writer", &mut client, expression).await;
            assert_eq!(at("reader", &mut client, expression).await, expected, "{sql}");
            assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader", "{sql}");
        }
    });
}

pub(super) fn c04_sets_in_comments_follow_the_session(pair: &Pair) {
    follow(
        pair,
        &[
            ("/*!40101 SET NAMES latin1 */", "@@character_set_client"),
            ("/*!50503 SET NAMES utf8mb4 */;", "@@character_set_results"),
            ("/*!40014 SET FOREIGN_KEY_CHECKS=0, UNIQUE_CHECKS=0 */", "@@unique_checks"),
            ("/*! SET SESSION sql_mode = 'ANSI_QUOTES' */", "@@sql_mode"),
            // Some server executes one of these, and no server the next.
            ("/*!80000 SET sql_mode = 'PIPES_AS_CONCAT' */", "@@sql_mode"),
            ("/*M!100100 SET sql_mode = 'HIGH_NOT_PRECEDENCE' */", "@@sql_mode"),
            ("/*!999999 SET group_concat_max_len = 77 */", "@@group_concat_max_len"),
            // Dumps begin like this.
            ("/*M!999999\\- enable the sandbox mode */", "@@sql_mode"),
            ("/*!40101 SET sql_mode = IFNULL(@OLD_SQL_MODE, 'ANSI_QUOTES') */", "@@sql_mode"),
        ],
    );
}

pub(super) fn c04_what_is_executed_by_name_does_what_it_says(pair: &Pair) {
    let proxy = pair.proxy();
    run(async {
        let mut client = connect(&proxy).await;
        let all = async |client: &mut Client, statements: &[&str]| {
            for sql in statements {
                client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
        };
        let statements = [
            "PREPARE p FROM 'SELECT COUNT(*) FROM t WHERE id > ?'",
            "SET @n = 0",
            "EXECUTE p USING @n",
            "PREPARE q FROM 'INSERT INTO t (a) VALUES (''by name'')'",
            "EXECUTE q",
            "DEALLOCATE PREPARE q",
        ];
        all(&mut client, &statements).await;
        let id = value(&mut client, "SELECT MAX(id) FROM t FOR UPDATE").await;
        assert_eq!(value(&mut client, "SELECT LAST_INSERT_ID()").await, id);
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "writer", "p is there");
        all(&mut client, &["DEALLOCATE PREPARE p"]).await;
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
        let set = ["PREPARE p FROM 'SET sql_mode = ''ANSI_QUOTES'''", "EXECUTE p", "DEALLOCATE PREPARE p"];
        all(&mut client, &set).await;
        assert_eq!(value(&mut client, "SELECT @@sql_mode").await, "ANSI_QUOTES");
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "writer", "it is set there");
    });
}

pub(super) fn c04_values_that_only_the_server_knows_follow_the_session(pair: &Pair) {
    follow(
        pair,
        &[
            ("SET sql_mode = @@global.sql_mode", "@@sql_mode"),
            ("SET sql_mode = (SELECT REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY', ''))", "@@sql_mode"),
            ("SET sql_mode = CONCAT(@@global.sql_mode, ',ANSI_QUOTES')", "@@sql_mode"),
            ("SET sql_mode = IFNULL(@old, 'ANSI_QUOTES')", "@@sql_mode"),
            ("SET sql_mode = IFNULL(@old, '')", "@@sql_mode"),
            ("SET group_concat_max_len = @@max_allowed_packet", "@@group_concat_max_len"),
            ("SET SESSION long_query_time = 1.5 + 2", "@@long_query_time"),
            ("SET SESSION foreign_key_checks = NOT @@foreign_key_checks", "@@foreign_key_checks"),
            ("SET @@session.time_zone = CONCAT('+0', 3, ':00')", "@@time_zone"),
            ("SET character_set_client = @@character_set_server", "@@character_set_client"),
            ("SET collation_connection = CONCAT('latin1', '_bin')", "@@character_set_connection"),
            ("SET default_storage_engine = CONCAT('My', 'ISAM')", "@@default_storage_engine"),
        ],
    );
    let proxy = pair.proxy();
    run(async {
        let mut client = connect(&proxy).await;
        // NULL, of which there is no text.
        client.query("SET character_set_results = NULLIF('a', 'a')").await.unwrap();
        assert_eq!(at("reader", &mut client, "IFNULL(@@character_set_results, 'none')").await, "none");
        // Of several at once it tells each.
        client.query("SET sql_mode = IFNULL(@old, ''), time_zone = IFNULL(@old, '+03:00')").await.unwrap();
        assert_eq!(at("reader", &mut client, "@@time_zone").await, "+03:00");
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
        client.reset_connection().await.unwrap();
        // Of one that fails nothing is left.
        client.query("SET sql_mode = CONCAT('no', 'mode')").await.unwrap_err();
        client.query("UPDATE who SET n = n").await.unwrap();
        assert_eq!(value(&mut client, "SELECT name FROM who").await, "reader");
    });
}

pub(super) fn c04_what_is_set_for_one_transaction_does_not_follow_the_session(pair: &Pair) {
    let proxy = pair.proxy();
    let variable = if pair.writer.make == Make::MySql { "transaction_isolation" } else { "tx_isolation" };
    run(async {
        let mut client = connect(&proxy).await;
        let before = at("reader", &mut client, &format!("@@session.{variable}")).await;
        client.query(&format!("SET @@{variable} = 'READ-UNCOMMITTED'")).await.unwrap();
        assert_eq!(at("writer", &mut client, &format!("@@session.{variable}")).await, before);
        client.query("COMMIT").await.unwrap();
        assert_eq!(at("reader", &mut client, &format!("@@session.{variable}")).await, before);
    });
}
