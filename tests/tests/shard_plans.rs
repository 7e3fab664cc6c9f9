//! Statements over sharded tables that come again: where they go is remembered, and what the
//! session or the tables have become meanwhile counts.

use std::sync::LazyLock;

use e2e::{Backend, Proxy, Setup, on_each_server, run};
use testkit::client::{Client, Options, Value};
use testkit::server::{PASSWORD, USER};

static DB: LazyLock<[Backend; 2]> = LazyLock::new(|| [Backend::start(&[]), Backend::start(&[])]);
static MYSQL: LazyLock<Option<[Backend; 2]>> =
    LazyLock::new(|| Some([Backend::start_mysql(&[])?, Backend::start_mysql(&[])?]));

on_each_server!(
    queries_go_to_the_shard_of_each_value,
    executions_go_to_the_shard_of_each_value,
    transactions_and_questions_about_the_last_statement_count,
    settings_count,
    a_query_that_fails_leaves_the_session_as_it_was,
);

/// How often each statement comes: its plan is remembered from the second time on.
const TIMES: usize = 4;

/// Rows of the table: even ones are at the first server.
const ROWS: i64 = 10;

/// A proxy before the two parts of a table in a schema of the test's own.
fn proxy(servers: &[Backend; 2], schema: &str) -> Proxy {
    for db in servers {
        db.sql(&format!(
            "CREATE DATABASE {schema}; \
             CREATE TABLE {schema}.orders (id INT PRIMARY KEY, k INT NOT NULL, name VARCHAR(20))"
        ));
    }
    let [first, second] = servers;
    let table = format!(
        "schema = '{schema}'\ntable = 'orders'\nkey = 'id'\nfunction = 'mod'\nnodes = '${{0..1}}/{schema}.orders'"
    );
    Setup::before(&first.sandbox, &first.server)
        .server(&second.server, "hostgroup_id = 1\n")
        .row("shards.table", &table)
        .row("shards.home", "hostgroup = 0")
        .start()
}

/// A client of a table with all rows.
async fn connect(proxy: &Proxy, schema: &str) -> Client {
    let mut client =
        Client::connect(&Options::tcp(proxy.tcp(), USER, PASSWORD).schema(schema)).await.unwrap();
    for id in 1..=ROWS {
        let insert = format!("REPLACE INTO orders VALUES ({id}, {}, 'order {id}')", ROWS - id);
        client.query(&insert).await.unwrap();
    }
    client
}

/// Rows as texts, with their columns separated by spaces.
async fn rows(client: &mut Client, sql: &str) -> Vec<String> {
    let result = client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let text = |row: Vec<Option<String>>| {
        row.into_iter().map(|cell| cell.unwrap_or_else(|| "NULL".to_owned())).collect::<Vec<_>>().join(" ")
    };
    result.text().unwrap().into_iter().map(text).collect()
}

/// The one row of each id, often enough for a plan to be remembered.
async fn each_id_is_found(client: &mut Client) {
    for id in 1..=ROWS {
        let found = rows(client, &format!("SELECT id, name FROM orders WHERE id = {id}")).await;
        assert_eq!(found, [format!("{id} order {id}")]);
    }
}

const NEWEST: &str = "SELECT id FROM orders ORDER BY k LIMIT 3";

fn queries_go_to_the_shard_of_each_value(servers: &'static [Backend; 2]) {
    let proxy = proxy(servers, "texts");
    run(async {
        let mut client = connect(&proxy, "texts").await;
        each_id_is_found(&mut client).await;
        for _ in 0..TIMES {
            assert_eq!(rows(&mut client, NEWEST).await, ["10", "9", "8"]);
            assert_eq!(rows(&mut client, "SELECT id FROM orders WHERE id = 77").await, [""; 0]);
        }
        // Another client of the worker, in another schema.
        let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("mysql");
        let mut other = Client::connect(&options).await.unwrap();
        for _ in 0..TIMES {
            let error = other.query("SELECT id, name FROM orders WHERE id = 3").await.unwrap_err();
            assert!(error.to_string().contains("orders"), "{error}");
        }
        client.query("ALTER TABLE orders ADD COLUMN more INT NOT NULL DEFAULT 5").await.unwrap();
        assert_eq!(rows(&mut client, "SELECT * FROM orders WHERE id = 3").await, ["3 7 order 3 5"]);
        each_id_is_found(&mut client).await;
        client.query("ALTER TABLE orders DROP COLUMN more").await.unwrap();
        each_id_is_found(&mut client).await;
    });
}

fn executions_go_to_the_shard_of_each_value(servers: &'static [Backend; 2]) {
    let proxy = proxy(servers, "executions");
    run(async {
        let mut client = connect(&proxy, "executions").await;
        let statement = client.prepare("SELECT id FROM orders WHERE id = ? AND k >= ?").await.unwrap();
        for id in (1..=ROWS).chain(1..=ROWS) {
            let found = client.execute(&statement, &[Value::Int(id), Value::Int(0)]).await.unwrap();
            assert_eq!(found.rows.len(), 1, "{id}");
        }
        // A text is no key of an integer that is known for certain: both servers are asked.
        for value in [Value::Bytes(b"7".to_vec()), Value::Null, Value::Int(7)] {
            let expected = usize::from(!matches!(value, Value::Null));
            let found = client.execute(&statement, &[value, Value::Int(0)]).await.unwrap();
            assert_eq!(found.rows.len(), expected);
        }
    });
}

fn transactions_and_questions_about_the_last_statement_count(servers: &'static [Backend; 2]) {
    let proxy = proxy(servers, "transactions");
    run(async {
        let mut client = connect(&proxy, "transactions").await;
        each_id_is_found(&mut client).await;
        client.query("BEGIN").await.unwrap();
        client.query("UPDATE orders SET name = 'changed' WHERE id = 3").await.unwrap();
        assert_eq!(rows(&mut client, "SELECT id, name FROM orders WHERE id = 3").await, ["3 changed"]);
        assert_eq!(rows(&mut client, "SELECT id, name FROM orders WHERE id = 4").await, ["4 order 4"]);
        client.query("ROLLBACK").await.unwrap();
        each_id_is_found(&mut client).await;
        client.query("SET autocommit = 0").await.unwrap();
        client.query("UPDATE orders SET name = 'changed' WHERE id = 3").await.unwrap();
        assert_eq!(rows(&mut client, "SELECT id, name FROM orders WHERE id = 3").await, ["3 changed"]);
        client.query("ROLLBACK").await.unwrap();
        client.query("SET autocommit = 1").await.unwrap();
        for id in [3, 4, 3] {
            let sql = format!("SELECT SQL_CALC_FOUND_ROWS id FROM orders WHERE id = {id} LIMIT 0");
            assert_eq!(rows(&mut client, &sql).await, [""; 0]);
            assert_eq!(rows(&mut client, "SELECT FOUND_ROWS()").await, ["1"]);
        }
    });
}

fn settings_count(servers: &'static [Backend; 2]) {
    let proxy = proxy(servers, "settings");
    run(async {
        let mut client = connect(&proxy, "settings").await;
        for limit in ["2", "DEFAULT", "4"] {
            client.query(&format!("SET sql_select_limit = {limit}")).await.unwrap();
            for _ in 0..TIMES {
                let found = rows(&mut client, "SELECT id FROM orders ORDER BY k").await;
                assert_eq!(found.len(), limit.parse().unwrap_or(10), "{limit}");
            }
        }
        client.query("SET sql_select_limit = DEFAULT").await.unwrap();
        for (mode, is_name) in [("", false), ("ANSI_QUOTES", true), ("", false)] {
            client.query(&format!("SET sql_mode = '{mode}'")).await.unwrap();
            for _ in 0..TIMES {
                let found = rows(&mut client, "SELECT \"name\" FROM orders WHERE id = 3").await;
                assert_eq!(found, [if is_name { "order 3" } else { "name" }], "{mode}");
            }
        }
    });
}

fn a_query_that_fails_leaves_the_session_as_it_was(servers: &'static [Backend; 2]) {
    let proxy = proxy(servers, "errors");
    run(async {
        let mut client = connect(&proxy, "errors").await;
        for id in [3, 4, 3, 4] {
            let sql = format!("SELECT (SELECT 1 UNION SELECT 2), id FROM orders WHERE id = {id}");
            let error = client.query(&sql).await.unwrap_err();
            assert!(error.to_string().contains("1242"), "{error}");
            let warned = rows(&mut client, "SHOW WARNINGS").await;
            assert!(warned.len() == 1 && warned[0].starts_with("Error 1242"), "{warned:?}");
        }
        each_id_is_found(&mut client).await;
        assert_eq!(rows(&mut client, "SELECT 1").await, ["1"]);
    });
}
