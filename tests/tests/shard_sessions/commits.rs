//! What the client hears of a `COMMIT` that not all servers have done, and where transactions are.

use e2e::{admin, run};
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};
use wire::StatusFlags;
use wire::command::Kind;

use crate::world::{Servers, World, change, code, refused, rows};

/// A client of the far server itself.
async fn far(world: &World) -> Client {
    let address = world.servers.far.server.address();
    Client::connect(&Options::tcp(address, USER, PASSWORD).schema(world.name)).await.unwrap()
}

/// Closes the connection of the only session in the world's schema at the far server, other than
/// that of `direct`.
async fn close_far(direct: &mut Client, world: &World) {
    let sql = format!(
        "SELECT id FROM information_schema.processlist WHERE db = '{}' AND id <> CONNECTION_ID()",
        world.name
    );
    for id in rows(direct, &sql).await {
        change(direct, &format!("KILL {id}")).await;
    }
    while !rows(direct, &sql).await.is_empty() {}
}

pub(crate) fn a_commit_without_one_server_takes_all_back(servers: &'static Servers) {
    let world = servers.world("lost_before").best_effort();
    let proxy = world.proxy();
    run(async {
        let (mut client, mut direct) = (world.connect(&proxy).await, far(&world).await);
        for ends in ["COMMIT", "COMMIT AND CHAIN", "BEGIN", "CREATE TABLE another (id INT)"] {
            change(&mut client, "BEGIN").await;
            change(&mut client, "INSERT INTO plain (note) VALUES ('lost')").await;
            change(&mut client, "UPDATE orders SET note = 'lost'").await;
            close_far(&mut direct, &world).await;
            let (number, error) = refused(&mut client, ends).await;
            assert_eq!(number, 1213, "{ends}: {error}");
            rows(&mut client, "SELECT note FROM orders WHERE id = 1").await;
            assert!(!client.status().contains(StatusFlags::IN_TRANSACTION), "{ends}");
            change(&mut client, "COMMIT").await;
            assert_eq!(world.near("SELECT COUNT(*) FROM orders WHERE note = 'lost'"), "0", "{ends}");
            assert_eq!(world.far("SELECT COUNT(*) FROM orders WHERE note = 'lost'"), "0", "{ends}");
            assert!(rows(&mut client, "SELECT note FROM plain").await.is_empty(), "{ends}");
        }
        // What only reads there is lost, too: its locks were.
        change(&mut client, "BEGIN").await;
        change(&mut client, "UPDATE orders SET note = 'lost' WHERE id = 2").await;
        rows(&mut client, "SELECT note FROM orders WHERE id = 1 FOR UPDATE").await;
        close_far(&mut direct, &world).await;
        assert_eq!(refused(&mut client, "COMMIT").await.0, 1213);
        assert_eq!(world.near("SELECT note FROM orders WHERE id = 2"), "order 2");
    });
}

pub(crate) fn a_commit_in_part_names_its_parts(servers: &'static Servers) {
    let world = servers.world("in_part").best_effort();
    let proxy = world.proxy();
    run(async {
        let (mut client, mut direct) = (world.connect(&proxy).await, far(&world).await);
        change(&mut client, "BEGIN").await;
        change(&mut client, "UPDATE orders SET note = 'half'").await;
        // COMMIT waits there.
        change(&mut direct, "FLUSH TABLES WITH READ LOCK").await;
        client.send_command(Kind::Query, b"COMMIT").await.unwrap();
        // Not before it waits: a session that is killed on its way there may find the lock free.
        let committing =
            "SELECT id FROM information_schema.processlist WHERE db = 'in_part' AND info = 'COMMIT'";
        let waiting = loop {
            if let Some(id) =
                rows(&mut direct, &format!("{committing} AND state LIKE 'Waiting for %'")).await.pop()
            {
                break id;
            }
        };
        change(&mut direct, &format!("KILL {waiting}")).await;
        let (number, error) = code(&client.read_result().await.unwrap_err());
        while !rows(&mut direct, committing).await.is_empty() {}
        change(&mut direct, "UNLOCK TABLES").await;
        assert_eq!(number, 9010, "{error}");
        assert!(error.contains("committed at hostgroup 1; not known at hostgroup 2 (error 9009)"), "{error}");
        assert!(!error.contains("restart"), "{error}");
        assert_eq!(world.near("SELECT note FROM orders WHERE id = 2"), "half");
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "order 1");
        // The transaction is over, and the session goes on.
        let notes = rows(&mut client, "SELECT note FROM orders WHERE id IN (1, 2) ORDER BY id").await;
        assert_eq!(notes, ["order 1", "half"]);
        assert!(!client.status().contains(StatusFlags::IN_TRANSACTION));
    });
}

pub(crate) fn home_is_in_no_transaction_of_shards(servers: &'static Servers) {
    let world = servers.world("not_home").with(|setup| setup.admin("mysql_ifaces", "'127.0.0.1:0'"));
    let proxy = world.proxy();
    run(async {
        let mut operator = admin::connect(&proxy).await;
        let mut client = world.connect(&proxy).await;
        rows(&mut client, "SELECT note FROM orders WHERE id = 1").await;
        let asked = "SELECT SUM(Queries) FROM stats_mysql_connection_pool WHERE hostgroup = 0";
        let before = rows(&mut operator, asked).await;
        for begin in ["BEGIN", "START TRANSACTION", "begin work"] {
            for end in ["COMMIT", "ROLLBACK"] {
                change(&mut client, begin).await;
                assert!(client.status().contains(StatusFlags::IN_TRANSACTION), "{begin}");
                change(&mut client, "UPDATE orders SET note = CONCAT(note, '.') WHERE id = 1").await;
                change(&mut client, end).await;
                assert!(!client.status().contains(StatusFlags::IN_TRANSACTION), "{end}");
            }
        }
        assert_eq!(rows(&mut operator, asked).await, before);
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "order 1...");
        // With a statement there, it is in it.
        for end in ["ROLLBACK", "COMMIT"] {
            change(&mut client, "BEGIN").await;
            change(&mut client, "INSERT INTO plain (note) VALUES ('new')").await;
            assert_eq!(world.near("SELECT COUNT(*) FROM plain"), "0", "{end}");
            change(&mut client, end).await;
        }
        assert_eq!(world.near("SELECT COUNT(*) FROM plain"), "1");
    });
}

pub(crate) fn prepared_statements_begin_and_end_transactions(servers: &'static Servers) {
    let world = servers.world("begun_prepared");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        let commit = client.prepare("COMMIT").await.unwrap();
        let rollback = client.prepare("ROLLBACK").await.unwrap();
        let begin = match client.prepare("BEGIN").await {
            Ok(begin) => Some(begin),
            // MySQL's own answer: clients send it as text.
            Err(error) => {
                assert_eq!(code(&error).0, 1295, "{error}");
                None
            }
        };
        for (end, note) in [(&rollback, "order 1"), (&commit, "kept")] {
            for at_home in [false, true] {
                match &begin {
                    Some(begin) => drop(client.execute(begin, &[]).await.unwrap()),
                    None => drop(change(&mut client, "BEGIN").await),
                }
                if at_home {
                    rows(&mut client, "SELECT note FROM plain").await;
                }
                change(&mut client, "UPDATE orders SET note = 'kept' WHERE id = 1").await;
                assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "order 1");
                client.execute(end, &[]).await.unwrap();
                assert!(!client.status().contains(StatusFlags::IN_TRANSACTION));
                assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), note);
                world.far("UPDATE orders SET note = 'order 1' WHERE id = 1");
            }
        }
        // What is prepared at home commits at shards, as it does there.
        let define = client.prepare("CREATE TABLE another (id INT)").await.unwrap();
        change(&mut client, "BEGIN").await;
        change(&mut client, "UPDATE orders SET note = 'kept' WHERE id = 1").await;
        client.execute(&define, &[]).await.unwrap();
        change(&mut client, "ROLLBACK").await;
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "kept");
        // A transaction that has written at home writes nowhere else.
        let write = client.prepare("INSERT INTO plain (note) VALUES ('new')").await.unwrap();
        change(&mut client, "BEGIN").await;
        client.execute(&write, &[]).await.unwrap();
        let (number, error) = refused(&mut client, "UPDATE orders SET note = 'x' WHERE id = 1").await;
        assert!(number == 1235 && error.contains("single"), "{number}: {error}");
        change(&mut client, "ROLLBACK").await;
    });
}

pub(crate) fn autocommit_ends_what_it_ends_at_one_server(servers: &'static Servers) {
    const CHANGE: &str = "UPDATE orders SET note = 'kept' WHERE id = 1";
    let world = servers.world("switched");
    let proxy = world.proxy();
    let (off, on) = ("SET autocommit = 0", "SET autocommit = 1");
    run(async {
        for (texts, note) in [
            (["BEGIN", CHANGE, off], "order 1"),
            (["BEGIN", CHANGE, on], "order 1"),
            ([off, CHANGE, off], "order 1"),
            ([off, CHANGE, on], "kept"),
        ] {
            let mut client = world.connect(&proxy).await;
            for sql in texts.into_iter().chain(["ROLLBACK"]) {
                change(&mut client, sql).await;
            }
            assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), note, "{texts:?}");
        }
    });
}

pub(crate) fn the_admin_port_tells_shards_and_their_texts(servers: &'static Servers) {
    let world = servers.world("explained").with(|setup| setup.admin("mysql_ifaces", "'127.0.0.1:0'"));
    let proxy = world.proxy();
    let about_shards = |rows: Vec<String>| {
        let is_it =
            |row: &String| ["shard", "table ", "order ", "limit "].iter().any(|step| row.starts_with(step));
        rows.into_iter().filter(is_it).collect::<Vec<_>>()
    };
    run(async {
        let mut operator = admin::connect(&proxy).await;
        let mut client = world.connect(&proxy).await;
        for sql in [
            "SELECT note FROM orders WHERE id = 1",
            "SELECT note FROM events WHERE id = 3",
            "SELECT note FROM events ORDER BY id LIMIT 3",
            "UPDATE events SET note = 'x'",
            "SELECT COUNT(*) FROM orders",
            "SELECT note FROM plain",
        ] {
            let own = about_shards(rows(&mut client, &format!("EXPLAIN ROUTE {sql}")).await);
            let asked = format!("POINTSMAN EXPLAIN ROUTE USER {USER} SCHEMA explained {sql}");
            assert_eq!(about_shards(rows(&mut operator, &asked).await), own, "{sql}");
            assert!(own.first().is_some_and(|row| row.starts_with("shards ")), "{sql}: {own:?}");
        }
    });
}
