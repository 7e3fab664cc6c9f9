//! `LAST_INSERT_ID()` where servers of shards make ids.

use e2e::run;
use testkit::client::{Client, Value};

use crate::world::{Servers, change, rows};

const ASK: &str = "SELECT LAST_INSERT_ID()";

async fn insert(client: &mut Client, sql: &str) -> u64 {
    client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}")).last_insert_id
}

pub(crate) fn ids_of_a_single_table_are_the_sessions(servers: &'static Servers) {
    let world = servers.world("single_ids").best_effort();
    let proxy = world.proxy();
    run(async {
        world.far("ALTER TABLE tickets AUTO_INCREMENT = 70");
        let mut client = world.connect(&proxy).await;
        let asked = client.prepare(ASK).await.unwrap();
        for begin in ["DO 0", "BEGIN"] {
            change(&mut client, begin).await;
            // Made at the home, then at a shard; asked for at home, and in a statement of each.
            let home = insert(&mut client, "INSERT INTO plain (note) VALUES ('a')").await;
            assert_eq!(rows(&mut client, ASK).await, [home.to_string()]);
            let ticket = insert(&mut client, "INSERT INTO tickets (note) VALUES ('a')").await;
            assert!(ticket >= 70 && ticket != home, "{ticket}");
            assert_eq!(rows(&mut client, ASK).await, [ticket.to_string()], "{begin}");
            let executed = client.execute(&asked, &[]).await.unwrap().rows;
            assert_eq!(executed[0][2..10], ticket.to_le_bytes(), "{begin}");
            change(&mut client, "UPDATE orders SET note = LAST_INSERT_ID() WHERE id IN (1, 2)").await;
            let notes = rows(&mut client, "SELECT note FROM orders WHERE id IN (1, 2)").await;
            assert_eq!(notes, [ticket.to_string(), ticket.to_string()], "{begin}");
            change(&mut client, "INSERT INTO plain (note) SELECT LAST_INSERT_ID()").await;
            let home = rows(&mut client, ASK).await;
            let noted = rows(&mut client, "SELECT note FROM plain ORDER BY id DESC LIMIT 1").await;
            assert_eq!(noted, [ticket.to_string()], "{begin}");
            // The home's again, in a statement for a shard.
            change(&mut client, "UPDATE tickets SET note = LAST_INSERT_ID()").await;
            assert_eq!(rows(&mut client, "SELECT DISTINCT note FROM tickets").await, home, "{begin}");
        }
        change(&mut client, "COMMIT").await;
    });
}

pub(crate) fn ids_that_are_said_change_nothing(servers: &'static Servers) {
    let world = servers.world("said_ids");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        let home = insert(&mut client, "INSERT INTO plain VALUES (9, 'said'), (NULL, 'made')").await;
        assert_eq!(home, 10);
        // The far server's own value is another one.
        insert(&mut client, "INSERT INTO tickets VALUES (5, 'said')").await;
        assert_eq!(rows(&mut client, ASK).await, ["10"]);
        change(&mut client, "INSERT INTO orders (id, note) VALUES (21, 'said')").await;
        assert_eq!(rows(&mut client, ASK).await, ["10"]);
        // Equal to what the server made before for another session.
        let made = insert(&mut client, "INSERT INTO tickets (note) VALUES ('made')").await;
        assert_eq!(rows(&mut client, ASK).await, [made.to_string()]);
        assert_eq!(rows(&mut client, "SELECT LAST_INSERT_ID(), ROW_COUNT()").await, [format!("{made} -1")]);
        let home = insert(&mut client, "INSERT INTO plain (note) VALUES ('made')").await;
        change(&mut client, "UPDATE orders SET note = 'one' WHERE id = 1").await;
        let both = rows(&mut client, "SELECT LAST_INSERT_ID(), ROW_COUNT()").await;
        assert_eq!(both, [format!("{home} 1")], "the shard that is asked has another one");
    });
}

pub(crate) fn ids_that_are_set_are_the_sessions(servers: &'static Servers) {
    let world = servers.world("set_ids");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        change(&mut client, "UPDATE orders SET note = LAST_INSERT_ID(41) WHERE id = 1").await;
        assert_eq!(rows(&mut client, ASK).await, ["41"]);
        let set = client.prepare("UPDATE orders SET note = LAST_INSERT_ID(?) WHERE id = ?").await.unwrap();
        client.execute(&set, &[Value::Int(43), Value::Int(2)]).await.unwrap();
        assert_eq!(rows(&mut client, ASK).await, ["43"]);
        change(&mut client, "UPDATE events SET note = LAST_INSERT_ID(44) WHERE id = 3").await;
        assert_eq!(rows(&mut client, ASK).await, ["44"], "under another name");
        client.reset_connection().await.unwrap();
        assert_eq!(rows(&mut client, ASK).await, ["0"]);
    });
}
