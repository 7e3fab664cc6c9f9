//! Stored functions with the names of builtin ones, sequences behind defaults, and what else a
//! text leaves without saying so.

use e2e::{Backend, Proxy, Setup, run};
use testkit::client::{Client, Options, Value};
use testkit::server::PASSWORD;

use super::{USER, binds, value};

/// A proxy with one connection.
fn narrow(backend: &Backend) -> Proxy {
    Setup::new(&backend.sandbox)
        .server(&backend.server, "max_connections = 1")
        .one_thread()
        .variable("multiplexing", true)
        .variable("connect_timeout_server_max", 500)
        .user(USER, PASSWORD, "")
        .admin("mysql_ifaces", "\"127.0.0.1:0\"")
        .start()
}

/// Options of the proxy, with a schema of these objects.
fn defined(backend: &Backend, proxy: &Proxy, schema: &str, objects: &[&str]) -> Options {
    backend.sql(&format!("CREATE DATABASE {schema}"));
    run(async {
        let direct = Options::tcp(backend.server.address(), USER, PASSWORD).schema(schema);
        let mut definer = Client::connect(&direct).await.unwrap();
        for sql in objects {
            definer.query(&format!("CREATE {sql}")).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        definer.quit().await.unwrap();
    });
    Options::tcp(proxy.tcp(), USER, PASSWORD).schema(schema)
}

pub(super) fn c04_a_builtin_name_apart_from_its_parenthesis_binds(backend: &Backend) {
    let proxy = narrow(backend);
    let objects = [
        "FUNCTION `sum`(n INT) RETURNS INT READS SQL DATA BEGIN SET @leak = n; RETURN n; END",
        "FUNCTION `now`() RETURNS INT READS SQL DATA BEGIN SET @leak = 2; RETURN 2; END",
    ];
    let options = defined(backend, &proxy, "apart", &objects);
    for sql in ["SELECT sum(1)", "SELECT NOW()", "SELECT ABS (1)"] {
        assert!(!run(binds(&options, sql)), "{sql} binds");
    }
    for sql in ["SELECT sum (1)", "SELECT SUM\n(1)", "SELECT now/**/()"] {
        assert!(run(binds(&options, sql)), "{sql} binds nobody");
    }
}

pub(super) fn pins_are_named_by_what_was_said(backend: &Backend) {
    let proxy = narrow(backend);
    let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test");
    run(async {
        let mut admin = Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap();
        let mut one = Client::connect(&options).await.unwrap();
        for (sql, reason) in [
            ("CREATE TEMPORARY TABLE mine (a INT)", "temporary_table"),
            ("SELECT 1 UNION SELECT 2; SELECT 3", "found_rows"),
        ] {
            one.query_all(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
            let pins = "SELECT GROUP_CONCAT(reason) FROM stats_pointsman_pins WHERE sessions > 0";
            assert_eq!(value(&mut admin, pins).await.as_deref(), Some(reason), "{sql}");
            if reason == "found_rows" {
                assert_eq!(value(&mut one, "SELECT FOUND_ROWS()").await.as_deref(), Some("1"));
            }
            one.reset_connection().await.unwrap();
        }
        one.quit().await.unwrap();
    });
}

/// Another session wants the connection in between.
pub(super) fn c06_found_rows_are_those_of_the_server(backend: &Backend) {
    let proxy = narrow(backend);
    let options = defined(backend, &proxy, "found", &["TABLE few (a INT)"]);
    backend.sql("INSERT INTO found.few VALUES (1), (2), (3)");
    let direct = Options::tcp(backend.server.address(), USER, PASSWORD).schema("found");
    run(async {
        let mut direct = Client::connect(&direct).await.unwrap();
        let mut one = Client::connect(&options).await.unwrap();
        let mut other = Client::connect(&options).await.unwrap();
        for sql in [
            "SELECT a FROM few",
            "SELECT a FROM few LIMIT 1 OFFSET 1",
            "SELECT a FROM few LIMIT 2, 5",
            "SELECT a FROM few LIMIT 5 OFFSET 9",
            "SELECT a FROM few UNION ALL SELECT a FROM few LIMIT 2",
            "(SELECT a FROM few LIMIT 1 OFFSET 1)",
            "SELECT a FROM few; SELECT 1",
        ] {
            let mut found = Vec::new();
            for client in [&mut direct, &mut one] {
                client.query_all(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
                // It gets none where the first session has to keep it.
                let _ = other.query("SELECT 'another'").await;
                found.push(value(client, "SELECT FOUND_ROWS()").await);
            }
            assert_eq!(found[0], found[1], "{sql}");
            one.query("SELECT 1").await.unwrap();
        }
        let sql = "SELECT a FROM few LIMIT ? OFFSET ?";
        for (limit, offset) in [(2, 0), (1, 1), (5, 2), (5, 9)] {
            let mut found = Vec::new();
            for client in [&mut direct, &mut one] {
                let statement = client.prepare(sql).await.unwrap();
                client.execute(&statement, &[Value::Int(limit), Value::Int(offset)]).await.unwrap();
                let _ = other.query("SELECT 'another'").await;
                found.push(value(client, "SELECT FOUND_ROWS()").await);
                client.close(statement).await.unwrap();
            }
            assert_eq!(found[0], found[1], "{limit} {offset}");
            one.query("SELECT 1").await.unwrap();
        }
    });
}

/// MySQL has no sequences.
pub(super) fn c04_a_write_that_takes_a_value_of_a_sequence_binds(backend: &Backend) {
    if backend.is_mysql() {
        return;
    }
    let proxy = narrow(backend);
    let objects = ["SEQUENCE s", "TABLE drawn (a INT DEFAULT NEXTVAL(s), b INT)"];
    let options = defined(backend, &proxy, "draws", &objects);
    // The first statement with a table binds until its server has been asked about it.
    run(binds(&options, "SELECT b FROM drawn"));
    assert!(!run(binds(&options, "SELECT b FROM drawn")), "a read binds");
    for sql in
        ["INSERT INTO drawn (b) VALUES (1)", "INSERT INTO drawn () VALUES ()", "SELECT DEFAULT(a) FROM drawn"]
    {
        assert!(run(binds(&options, sql)), "{sql} binds nobody");
    }
    run(async {
        let mut one = Client::connect(&options).await.unwrap();
        one.query("INSERT INTO drawn (b) VALUES (2)").await.unwrap();
        assert!(value(&mut one, "SELECT LASTVAL(s)").await.is_some());
        one.quit().await.unwrap();
    });
}

/// Drivers in Rust go on at the server's own socket if they are told of one.
pub(super) fn the_socket_of_a_server_is_not_told(backend: &Backend) {
    let proxy = narrow(backend);
    let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test");
    run(async {
        let mut client = Client::connect(&options).await.unwrap();
        for sql in ["SELECT @@socket", "SELECT @@GLOBAL.socket"] {
            assert_eq!(value(&mut client, sql).await.as_deref(), Some(""), "{sql}");
        }
        let statement = client.prepare("SELECT @@socket, @@wait_timeout").await.unwrap();
        assert_eq!(statement.columns[0].name, "@@socket");
        let row = client.execute(&statement, &[]).await.unwrap().rows.remove(0);
        assert!(!row.contains(&b'/'), "{row:?}");
        client.quit().await.unwrap();
    });
}
