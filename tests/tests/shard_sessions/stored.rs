//! Routines, views and triggers beside sharded tables.

use e2e::{Backend, run};
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};

use crate::world::{Servers, World, change, code, refused, rows};

/// Error of what is not done over shards.
const NOT_SUPPORTED: u16 = 1235;

async fn direct(world: &World, server: &Backend) -> Client {
    let options = Options::tcp(server.server.address(), USER, PASSWORD).schema(world.name);
    Client::connect(&options).await.unwrap()
}

/// Stored code at both servers.
async fn stored(world: &World) {
    for server in [&world.servers.near, &world.servers.far] {
        let mut direct = direct(world, server).await;
        for sql in [
            "FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN n * 2",
            "FUNCTION all_orders() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM orders)",
            "FUNCTION through() RETURNS INT READS SQL DATA RETURN all_orders() + 1",
            "FUNCTION quoted() RETURNS INT READS SQL DATA BEGIN DECLARE a TEXT DEFAULT 'it''s'; \
             RETURN (SELECT COUNT(*) FROM orders); END",
            "PROCEDURE empties() TRUNCATE orders",
            "PROCEDURE indexes() CREATE INDEX made_at ON orders (made)",
            "PROCEDURE show_orders() SELECT * FROM orders",
            "PROCEDURE mark_orders() UPDATE orders SET note = 'marked'",
            "PROCEDURE through_it() CALL show_orders()",
            "PROCEDURE made(what TEXT) BEGIN SET @made = what; PREPARE s FROM @made; EXECUTE s; END",
            "PROCEDURE twice_it(n INT) SELECT twice(n)",
            "TABLE logged (id INT)",
            "TABLE counted (id INT)",
            "TRIGGER logged_orders AFTER INSERT ON logged FOR EACH ROW UPDATE orders SET note = 'logged'",
            "TRIGGER counted_log AFTER INSERT ON counted FOR EACH ROW INSERT INTO logged VALUES (NEW.id)",
            "VIEW seen AS SELECT id FROM orders",
            "VIEW seen_again AS SELECT id FROM seen",
            "VIEW called AS SELECT all_orders() AS n",
            "VIEW harmless AS SELECT twice(4) AS n",
        ] {
            change(&mut direct, &format!("CREATE {sql}")).await;
        }
    }
}

const WRONG: [&str; 24] = [
    "CALL sys.execute_prepared_stmt('SELECT COUNT(*) FROM o')",
    "SELECT quoted()",
    "CALL empties()",
    "CALL indexes()",
    "CREATE TEMPORARY TABLE x SELECT COUNT(*) AS n FROM seen",
    "CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO UPDATE orders SET note = 'event'",
    "PREPARE s FROM 'SELECT COUNT(*) FROM se\\en'",
    "EXPLAIN SELECT * FROM seen",
    "SELECT all_orders()",
    "SELECT ALL_ORDERS ()",
    "SELECT `through`()",
    "DO through()",
    "SET @n = all_orders()",
    "CALL show_orders()",
    "CALL mark_orders",
    "CALL through_it()",
    "CALL made('SELECT 1')",
    "SELECT * FROM seen",
    "SELECT COUNT(*) FROM seen_again, called",
    "INSERT INTO logged VALUES (1)",
    "INSERT INTO counted VALUES (1)",
    "PREPARE s FROM 'SELECT all_orders()'",
    "SELECT note, all_orders() FROM orders WHERE id = 2",
    "SELECT id FROM orders WHERE id > all_orders()",
];

/// MySQL has none of these.
const WRONG_AT_MARIADB: [&str; 4] = [
    "BEGIN NOT ATOMIC SELECT COUNT(*) FROM orders; END",
    "EXECUTE IMMEDIATE CONCAT('SELECT COUNT(*) FROM or', 'ders')",
    "EXECUTE IMMEDIATE 'SELECT all_orders()'",
    "ANALYZE SELECT * FROM seen",
];

/// What sees no part of a sharded table runs.
async fn others_run(client: &mut Client) {
    assert_eq!(rows(client, "SELECT twice(4)").await, ["8"]);
    assert_eq!(rows(client, "SELECT n FROM harmless").await, ["8"]);
    assert_eq!(rows(client, "SELECT id, twice(id) FROM orders WHERE id = 1").await, ["1 2"]);
    change(client, "CALL twice_it(4)").await;
    for table in ["plain", "logged", "counted"] {
        // Triggers do not run when a table is read.
        assert_eq!(rows(client, &format!("SELECT COUNT(*) FROM {table}")).await, ["0"]);
    }
}

pub(crate) fn stored_code_that_sees_a_part_does_not_run(servers: &'static Servers) {
    let world = servers.world("parts");
    let proxy = world.proxy();
    run(async {
        stored(&world).await;
        let mut client = world.connect(&proxy).await;
        others_run(&mut client).await;
        let of_mariadb = WRONG_AT_MARIADB.into_iter().filter(|_| !servers.near.is_mysql());
        for sql in WRONG.into_iter().chain(of_mariadb) {
            let (number, error) = refused(&mut client, sql).await;
            assert_eq!(number, NOT_SUPPORTED, "{sql}: {error}");
        }
        let (_, error) = refused(&mut client, "SELECT through()").await;
        let why = "a routine: all_orders' over sharded tables: it uses parts.orders";
        assert!(error.contains(why), "{error}");
        // It is refused when it is prepared, or when it is executed.
        for sql in ["SELECT all_orders()", "SELECT id FROM seen"] {
            assert_eq!(code(&client.prepare(sql).await.unwrap_err()).0, NOT_SUPPORTED, "{sql}");
        }
        let at_shard = client.prepare("SELECT all_orders() FROM orders WHERE id = 1").await.unwrap();
        assert_eq!(code(&client.execute(&at_shard, &[]).await.unwrap_err()).0, NOT_SUPPORTED);
        // Nothing was done.
        let marked = "SELECT COUNT(*) FROM orders WHERE note NOT LIKE 'order%'";
        assert_eq!((world.near(marked), world.far(marked)), ("0".to_owned(), "0".to_owned()));
        // A hint says whose rows are meant.
        assert_eq!(rows(&mut client, "/* shard=1 */ SELECT all_orders()").await, ["4"]);
        others_run(&mut client).await;
    });
}

pub(crate) fn stored_code_is_looked_at_anew_when_it_is_defined(servers: &'static Servers) {
    let world = servers.world("redefined");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        let plain = "VIEW seen AS SELECT id FROM plain";
        change(&mut client, &format!("CREATE {plain}")).await;
        assert!(rows(&mut client, "SELECT id FROM seen").await.is_empty());
        let seen = client.prepare("SELECT id FROM seen").await.unwrap();
        client.execute(&seen, &[]).await.unwrap();
        world.near(
            "CREATE FUNCTION counting() RETURNS INT READS SQL DATA RETURN (SELECT COUNT(*) FROM orders)",
        );
        change(&mut client, "CREATE OR REPLACE VIEW seen AS SELECT counting() AS id").await;
        assert_eq!(refused(&mut client, "SELECT id FROM seen").await.0, NOT_SUPPORTED);
        assert_eq!(code(&client.execute(&seen, &[]).await.unwrap_err()).0, NOT_SUPPORTED);
        // What is wrong can be taken away.
        change(&mut client, "DROP FUNCTION counting").await;
        change(&mut client, &format!("CREATE OR REPLACE {plain}")).await;
        assert!(rows(&mut client, "SELECT id FROM seen").await.is_empty());
        change(&mut client, "DROP VIEW seen").await;
    });
}

pub(crate) fn stored_code_that_its_user_may_not_read_does_not_run(servers: &'static Servers) {
    let name = "hidden";
    let world = servers.world(name).with(|setup| setup.user("reader", "reads", ""));
    let proxy = world.proxy();
    run(async {
        let mut near = direct(&world, &servers.near).await;
        for sql in [
            "CREATE FUNCTION twice(n INT) RETURNS INT DETERMINISTIC RETURN n * 2",
            "CREATE VIEW seen AS SELECT id FROM plain",
            "CREATE USER reader@'%' IDENTIFIED BY 'reads'",
            "GRANT SELECT, INSERT ON hidden.plain TO reader@'%'",
            "GRANT SELECT ON hidden.seen TO reader@'%'",
            "GRANT EXECUTE ON FUNCTION hidden.twice TO reader@'%'",
        ] {
            change(&mut near, sql).await;
        }
        let mut owner = world.connect(&proxy).await;
        let options = Options::tcp(proxy.tcp(), "reader", "reads").schema(name);
        let mut reader = Client::connect(&options).await.unwrap();
        let sees = ["SELECT twice(4)", "SELECT id FROM seen"];
        for sql in sees {
            let (number, error) = refused(&mut reader, sql).await;
            assert_eq!(number, NOT_SUPPORTED, "{sql}: {error}");
            assert!(error.contains("may not read its definition"), "{sql}: {error}");
            rows(&mut owner, sql).await;
            // What another user has seen does not change that.
            assert_eq!(refused(&mut reader, sql).await.0, NOT_SUPPORTED, "{sql}");
            rows(&mut reader, &format!("/* shard=1 */ {sql}")).await;
        }
        assert!(rows(&mut reader, "SELECT id FROM plain").await.is_empty());
    });
}
