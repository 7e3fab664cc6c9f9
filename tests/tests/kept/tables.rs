//! Tables behind whose names views and triggers are that leave something in a session.

use e2e::{Backend, Setup, run};
use testkit::client::{Client, Options};
use testkit::server::PASSWORD;

use super::{USER, binds, value};

/// Each of these leaves something: a lock, a user variable, or needs what an `INSERT` left.
const BINDING: [&str; 5] = [
    "SELECT * FROM locks",
    "SELECT * FROM sets",
    "SELECT * FROM over_locks",
    "INSERT INTO noted VALUES (1)",
    "INSERT INTO noting VALUES (1)",
];

const HARMLESS: [&str; 3] =
    ["SELECT * FROM plain", "INSERT INTO checked VALUES (1)", "SELECT * FROM over_plain"];

pub(super) fn c04_views_and_triggers_bind_where_they_leave_something(backend: &Backend) {
    backend.sql("CREATE DATABASE views");
    let proxy = Setup::new(&backend.sandbox)
        .server(&backend.server, "max_connections = 1")
        .one_thread()
        .variable("multiplexing", true)
        .variable("connect_timeout_server_max", 500)
        .user(USER, PASSWORD, "")
        .start();
    let direct = Options::tcp(backend.server.address(), USER, PASSWORD).schema("views");
    run(async {
        let mut definer = Client::connect(&direct).await.unwrap();
        for sql in [
            "FUNCTION keeps() RETURNS INT READS SQL DATA BEGIN SET @kept = 12; RETURN 1; END",
            "TABLE checked (a INT)",
            "TABLE noted (a INT)",
            "TABLE noting (a INT)",
            "TABLE numbers (id INT PRIMARY KEY AUTO_INCREMENT, a INT)",
            "VIEW locks AS SELECT GET_LOCK('v', 0) AS a",
            "VIEW over_locks AS SELECT a FROM locks",
            "VIEW sets AS SELECT keeps() AS a",
            "VIEW last AS SELECT LAST_INSERT_ID() AS a",
            "VIEW plain AS SELECT CONCAT(a, UPPER('x'), NOW()) AS a FROM checked WHERE a > 1",
            "VIEW over_plain AS SELECT a FROM plain UNION SELECT 'it''s'",
            "TRIGGER checks BEFORE INSERT ON checked FOR EACH ROW SET NEW.a = NEW.a + 1",
            "TRIGGER notes BEFORE INSERT ON noted FOR EACH ROW SET @noted = NEW.a",
            "TRIGGER passes_on AFTER INSERT ON noting FOR EACH ROW INSERT INTO noted VALUES (NEW.a)",
        ] {
            definer.query(&format!("CREATE {sql}")).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        definer.quit().await.unwrap();
    });
    let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("views");
    for sql in HARMLESS {
        assert!(!run(binds(&options, sql)), "{sql} binds");
    }
    for sql in BINDING {
        assert!(run(binds(&options, sql)), "{sql} binds nobody");
        assert!(run(binds(&options, sql)), "{sql} binds nobody when it is known");
    }
    run(async {
        let mut one = Client::connect(&options).await.unwrap();
        let mut other = Client::connect(&options).await.unwrap();
        one.query("INSERT INTO numbers (a) VALUES (1)").await.unwrap();
        other.query("INSERT INTO numbers (a) VALUES (2)").await.unwrap();
        assert_eq!(value(&mut one, "SELECT a FROM last").await.as_deref(), Some("1"));
        one.quit().await.unwrap();
        other.quit().await.unwrap();
        // Who never commits on their own is not bound for good, either.
        let mut one = Client::connect(&options).await.unwrap();
        for sql in ["SET autocommit = 0", "CREATE TABLE late (a INT)", "SELECT * FROM late", "COMMIT"] {
            one.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        let mut other = Client::connect(&options).await.unwrap();
        assert_eq!(value(&mut other, "SELECT 7").await.as_deref(), Some("7"));
        // What was harmless is not any more.
        other.query("CREATE TRIGGER late BEFORE INSERT ON late FOR EACH ROW SET @late = 1").await.unwrap();
        other.quit().await.unwrap();
        one.quit().await.unwrap();
    });
    assert!(run(binds(&options, "INSERT INTO late VALUES (1)")), "a trigger that is new binds nobody");
}
