//! Servers that are switched off, and layouts that change, while transactions are open at shards.

use e2e::{Proxy, admin, run};
use testkit::client::Client;

use crate::world::{Servers, World, change, refused, rows};

/// Error of a transaction that is over.
const ROLLED_BACK: u16 = 1213;

fn administered(servers: &'static Servers, name: &'static str) -> (World, Proxy) {
    let world = servers.world(name).with(|setup| setup.admin("mysql_ifaces", "'127.0.0.1:0'"));
    let proxy = world.proxy();
    (world, proxy)
}

async fn order(proxy: &Proxy, statements: &[&str]) {
    let mut operator = admin::connect(proxy).await;
    for sql in statements {
        operator.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// A client that has written at the far server, and has read at the near one, in a transaction.
async fn writer(world: &World, proxy: &Proxy) -> Client {
    let mut client = world.connect(proxy).await;
    change(&mut client, "BEGIN").await;
    change(&mut client, "UPDATE orders SET note = 'lost' WHERE id = 1").await;
    assert_eq!(rows(&mut client, "SELECT note FROM orders WHERE id = 2").await, ["order 2"]);
    client
}

pub(crate) fn a_server_that_is_off_ends_the_transaction(servers: &'static Servers) {
    let (world, proxy) = administered(servers, "switched_off");
    run(async {
        for next in ["COMMIT", "SELECT note FROM orders WHERE id = 2", "SELECT note FROM plain"] {
            let mut client = writer(&world, &proxy).await;
            let off = "UPDATE mysql_servers SET status = 'OFFLINE_HARD' WHERE hostgroup_id = 2";
            order(&proxy, &[off, "LOAD MYSQL SERVERS TO RUNTIME"]).await;
            // Its connection is closed at once: the row is free.
            world.far("SET innodb_lock_wait_timeout = 20; UPDATE orders SET made = NOW() WHERE id = 1");
            let (number, error) = refused(&mut client, next).await;
            assert_eq!(number, ROLLED_BACK, "{next}: {error}");
            assert!(error.contains("OFFLINE_HARD"), "{error}");
            // It is told once, and there is no transaction any more.
            assert!(rows(&mut client, "SELECT note FROM plain").await.is_empty());
            change(&mut client, "UPDATE orders SET note = 'order 2' WHERE id = 2").await;
            change(&mut client, "ROLLBACK").await;
            let on = "UPDATE mysql_servers SET status = 'ONLINE' WHERE hostgroup_id = 2";
            order(&proxy, &[on, "LOAD MYSQL SERVERS TO RUNTIME"]).await;
            assert_eq!(rows(&mut client, "SELECT note FROM orders WHERE id = 1").await, ["order 1"]);
        }
    });
}

pub(crate) fn another_layout_ends_the_transaction(servers: &'static Servers) {
    let (world, proxy) = administered(servers, "moved");
    run(async {
        for change_of_layout in [
            &[
                "DELETE FROM pointsman_shard_nodes WHERE table_name = 'tickets'",
                "DELETE FROM pointsman_shard_tables WHERE table_name = 'tickets'",
            ][..],
            &[
                "DELETE FROM pointsman_shard_groups",
                "DELETE FROM pointsman_shard_homes",
                "DELETE FROM pointsman_shard_nodes",
                "DELETE FROM pointsman_shard_tables",
            ],
        ] {
            let mut lost = writer(&world, &proxy).await;
            // Nothing of it changes with other modules.
            order(&proxy, &["LOAD MYSQL USERS TO RUNTIME", "LOAD SHARDS TO RUNTIME"]).await;
            assert_eq!(rows(&mut lost, "SELECT note FROM orders WHERE id = 1").await, ["lost"]);
            let mut kept = world.connect(&proxy).await;
            change(&mut kept, "BEGIN").await;
            change(&mut kept, "UPDATE orders SET note = 'kept' WHERE id = 3").await;
            order(&proxy, change_of_layout).await;
            order(&proxy, &["LOAD SHARDS TO RUNTIME"]).await;
            // What is done may be committed.
            change(&mut kept, "COMMIT").await;
            assert_eq!(world.far("SELECT note FROM orders WHERE id = 3"), "kept");
            world.far("UPDATE orders SET note = 'order 3' WHERE id = 3");
            let (number, error) = refused(&mut lost, "SELECT note FROM orders WHERE id = 2").await;
            assert_eq!(number, ROLLED_BACK, "{error}");
            assert!(error.contains("layout"), "{error}");
            assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "order 1");
            change(&mut lost, "UPDATE orders SET note = 'order 2' WHERE id = 2").await;
            assert_eq!(world.near("SELECT note FROM orders WHERE id = 2"), "order 2");
        }
        // Without sharded tables, the home has a table of that name.
        let mut client = world.connect(&proxy).await;
        let all = rows(&mut client, "SELECT id FROM orders ORDER BY id").await;
        assert_eq!(all, ["2", "4", "6", "8"]);
    });
}

pub(crate) fn maintenance_reaches_all_nodes(servers: &'static Servers) {
    let world = servers.world("cared");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        for (sql, nodes) in [
            ("ANALYZE TABLE events", 4),
            ("CHECK TABLE events", 4),
            ("OPTIMIZE TABLE events", 4),
            ("ANALYZE TABLE orders, cared.`lines`", 4),
        ] {
            let all = rows(&mut client, sql).await;
            assert!(all.iter().all(|row| row.starts_with("cared.")), "{sql}: {all:?}");
            let done = all.iter().filter(|row| row.ends_with("status OK"));
            assert_eq!(done.count(), nodes, "{sql}: {all:?}");
        }
    });
}
