//! Sessions and statements that are killed, and clients that leave.

use e2e::{run, wait_for};
use testkit::client::Client;
use wire::command::Kind;

use crate::world::{Servers, World, change, refused, rows};

/// `ER_QUERY_INTERRUPTED`.
const INTERRUPTED: u16 = 1317;

pub(crate) fn a_killed_session_loses_its_transaction(servers: &'static Servers) {
    let world = servers.world("killed");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        change(&mut client, "BEGIN").await;
        change(&mut client, "UPDATE orders SET note = 'lost' WHERE id = 1").await;
        let mut other = world.connect(&proxy).await;
        change(&mut other, &format!("KILL {}", client.server().connection_id)).await;
        client.query("COMMIT").await.unwrap_err();
        // The lock of the row is free.
        assert_eq!(change(&mut other, "UPDATE orders SET note = 'later' WHERE id = 1").await, 1);
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "later");
    });
}

/// A row that another session has locked.
async fn locked(world: &World, proxy: &e2e::Proxy) -> Client {
    let mut other = world.connect(proxy).await;
    change(&mut other, "BEGIN").await;
    change(&mut other, "UPDATE orders SET note = 'locked' WHERE id = 2").await;
    other
}

/// Statements at the near server that wait for a lock of this world's tables.
fn waiting(world: &World) -> usize {
    world.waiting(&[&format!("{}.orders", world.name)])
}

pub(crate) fn a_killed_statement_leaves_the_transaction(servers: &'static Servers) {
    let world = servers.world("interrupted").best_effort();
    let proxy = world.proxy();
    run(async {
        let mut other = locked(&world, &proxy).await;
        let mut client = world.connect(&proxy).await;
        // Reads wait for locks, too.
        change(&mut client, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE").await;
        change(&mut client, "BEGIN").await;
        change(&mut client, "UPDATE orders SET note = 'kept' WHERE id = 1").await;
        for sql in [
            "SELECT note FROM interrupted.orders ORDER BY id",
            "UPDATE interrupted.orders SET note = 'all'",
            "UPDATE interrupted.orders SET note = 'one' WHERE id = 2",
        ] {
            client.send_command(Kind::Query, sql.as_bytes()).await.unwrap();
            wait_for(sql, || waiting(&world) == 1);
            let id = client.server().connection_id;
            change(&mut other, &format!("KILL QUERY {id}")).await;
            let error = client.read_result().await.unwrap_err();
            assert_eq!(error.code(), Some(INTERRUPTED), "{sql}: {error}");
            // What it had done before is there.
            let notes = rows(&mut client, "SELECT note FROM orders WHERE id = 1").await;
            assert_eq!(notes, ["kept"], "{sql}");
        }
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "order 1");
        change(&mut client, "COMMIT").await;
        assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "kept");
        change(&mut other, "ROLLBACK").await;
        assert_eq!(world.near("SELECT note FROM orders WHERE id = 2"), "order 2");
    });
}

pub(crate) fn a_client_that_leaves_ends_what_runs(servers: &'static Servers) {
    let world = servers.world("gone").best_effort();
    let proxy = world.proxy();
    run(async {
        let mut other = locked(&world, &proxy).await;
        for begin in ["DO 0", "BEGIN"] {
            let mut client = world.connect(&proxy).await;
            change(&mut client, begin).await;
            let sql = "UPDATE gone.orders SET note = 'gone'";
            client.send_command(Kind::Query, sql.as_bytes()).await.unwrap();
            wait_for("a statement that waits", || waiting(&world) == 1);
            drop(client);
            wait_for("the end of the statement", || waiting(&world) == 0);
        }
        change(&mut other, "ROLLBACK").await;
        // Nothing holds a lock: the other shard may have committed its part outside a transaction.
        assert_eq!(change(&mut other, "UPDATE orders SET note = 'free'").await, 8);
        assert_eq!(refused(&mut other, "KILL QUERY 4294967295").await.0, 1094);
    });
}
