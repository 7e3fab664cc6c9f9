//! Statements in text, and what they answer.

use e2e::{Backend, on_each_server, run};
use testkit::client::{CAPABILITIES, Client, Options, Value};
use testkit::mariadb::{PASSWORD, USER};
use wire::{Capabilities, StatusFlags};

use super::{connect, proxy, value};

on_each_server! {
    c32_answers_are_those_of_the_server_whatever_the_client_can_do,
    c18_results_of_several_statements_keep_their_order,
    procedures_return_all_their_results,
    an_error_leaves_the_session_as_it_was,
}

/// Statements of all kinds; everything that they leave behind belongs to the connection.
const STATEMENTS: [&str; 21] = [
    "CREATE TEMPORARY TABLE same (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(20) CHARACTER SET latin1)",
    "SELECT 1, NULL, '', 2.50, x'00ff', CURRENT_USER(), DATABASE(), @@autocommit, @@sql_mode",
    "INSERT INTO same (name) VALUES ('a'), ('\u{e4}'), (NULL)",
    "SELECT * FROM same ORDER BY id",
    "UPDATE same SET name = 'a' WHERE name = 'a'",
    "SELECT * FROM same WHERE id < 0",
    "SELECT 1/0; SHOW WARNINGS",
    "BEGIN; DELETE FROM same; SELECT ROW_COUNT(); ROLLBACK; SELECT COUNT(*) FROM same",
    "SET NAMES latin1; SELECT name FROM same; SET NAMES utf8mb4",
    "SET autocommit = 0",
    "SELECT COUNT(*) FROM same",
    "SET autocommit = 1",
    "USE mysql; USE test",
    "INSERT INTO same VALUES (NULL, 'z'); SELECT LAST_INSERT_ID(), FOUND_ROWS()",
    "SELECT @@character_set_client, @@collation_connection, @@collation_server",
    "SELECT nonsense FROM nowhere",
    "SELEC",
    "",
    "-- nothing",
    "SELECT seq, REPEAT('x', seq % 300) FROM seq_1_to_2000",
    "SELECT 1; SELECT nonsense; SELECT 2",
];

fn c32_answers_are_those_of_the_server_whatever_the_client_can_do(db: &Backend) {
    let proxy = proxy(db);
    let optional = Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK;
    let sets = [
        CAPABILITIES,
        CAPABILITIES - Capabilities::DEPRECATE_EOF,
        CAPABILITIES - Capabilities::SESSION_TRACK,
        CAPABILITIES - optional,
        CAPABILITIES - Capabilities::MULTI_STATEMENTS,
        CAPABILITIES | Capabilities::FOUND_ROWS | Capabilities::IGNORE_SPACE,
    ];
    run(async {
        for capabilities in sets {
            let connect = async |options: Options| {
                let options = options.schema("test").capabilities(capabilities).collation(33);
                Client::connect(&options).await.unwrap()
            };
            let mut direct = connect(Options::tcp(db.server.address(), USER, PASSWORD)).await;
            let mut ours = connect(proxy.options()).await;
            for sql in STATEMENTS {
                let expected = direct.query_all(sql).await.map_err(|error| error.to_string());
                let got = ours.query_all(sql).await.map_err(|error| error.to_string());
                assert_eq!(got, expected, "{sql:?} with {capabilities:?}");
                assert_eq!(ours.status(), direct.status(), "{sql:?} with {capabilities:?}");
            }
        }
    });
}

fn c18_results_of_several_statements_keep_their_order(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        let mut client = connect(&proxy).await;
        let sql = "SELECT 1; DO 0; SELECT 2, 3; SELECT ';'; CREATE TEMPORARY TABLE several (a INT); SELECT 4";
        let results = client.query_all(sql).await.unwrap();
        let firsts: Vec<_> = results.iter().map(testkit::client::QueryResult::first).collect();
        assert_eq!(
            firsts,
            [Some("1"), None, Some("2"), Some(";"), None, Some("4")].map(|v| v.map(String::from))
        );
        // The error of the second ends the answer: nothing of the third may follow.
        assert_eq!(client.query_all("SELECT 1; SELEC; SELECT 3").await.unwrap_err().code(), Some(1064));
        assert_eq!(value(&mut client, "SELECT 'next'").await.as_deref(), Some("next"));
        let many = (0..500).map(|i| format!("SELECT {i}")).collect::<Vec<_>>().join(";");
        assert_eq!(client.query_all(&many).await.unwrap().len(), 500);
    });
}

fn procedures_return_all_their_results(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        let mut client = connect(&proxy).await;
        let two = "CREATE PROCEDURE two(OUT o INT) BEGIN SELECT 1; SELECT 2 UNION SELECT 3; SET o = 7; END";
        let fails =
            "CREATE PROCEDURE fails() BEGIN SELECT 1; SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END";
        for procedure in [two, fails] {
            client.query(procedure).await.unwrap();
        }
        let results = client.query_all("CALL two(@o)").await.unwrap();
        assert_eq!(results.iter().map(|result| result.rows.len()).collect::<Vec<_>>(), [1, 2, 0]);
        assert_eq!(value(&mut client, "SELECT @o").await.as_deref(), Some("7"));
        let error = client.query_all("CALL fails()").await.unwrap_err();
        assert_eq!(error.to_string(), "server error 1644 (45000): no");
        let statement = client.prepare("CALL two(?)").await.unwrap();
        client.execute(&statement, &[Value::Null]).await.unwrap();
        // Rows of the second SELECT, the OUT parameter, and the end.
        for rows in [2, 1, 0] {
            assert!(client.status().contains(StatusFlags::MORE_RESULTS));
            assert_eq!(client.read_result().await.unwrap().rows.len(), rows);
        }
        assert!(!client.status().contains(StatusFlags::MORE_RESULTS));
        assert_eq!(value(&mut client, "SELECT 1").await.as_deref(), Some("1"));
    });
}

fn an_error_leaves_the_session_as_it_was(db: &Backend) {
    let proxy = proxy(db);
    run(async {
        let mut client = connect(&proxy).await;
        client.query("CREATE TEMPORARY TABLE kept (a INT PRIMARY KEY)").await.unwrap();
        client.query("INSERT INTO kept VALUES (1)").await.unwrap();
        for (sql, code) in
            [("INSERT INTO kept VALUES (1)", 1062), ("SELEC", 1064), ("SELECT * FROM gone", 1146)]
        {
            assert_eq!(client.query(sql).await.unwrap_err().code(), Some(code));
            assert_eq!(value(&mut client, "SELECT a FROM kept").await.as_deref(), Some("1"));
        }
    });
}
