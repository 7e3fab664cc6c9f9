//! Deadlocks at one server, which rolls back what its branches have in common.

use e2e::{run, wait_for};
use testkit::client::{Client, Options};
use testkit::server::{PASSWORD, USER};
use wire::command::Kind;

use crate::world::{Servers, World, change, rows};

/// `ER_LOCK_DEADLOCK`.
const DEADLOCK: u16 = 1213;

/// Statements at the near server that wait for a lock of this world's parts.
fn waiting(world: &World) -> usize {
    world.waiting(&["events_", &format!("{}_1", world.name)])
}

/// A client of the near server itself that has locked the second row of the first part, and has
/// done so much that a deadlock is not its own.
async fn rival(world: &World) -> Client {
    let address = world.servers.near.server.address();
    let mut rival = Client::connect(&Options::tcp(address, USER, PASSWORD).schema(world.name)).await.unwrap();
    change(&mut rival, "BEGIN").await;
    let many = "INSERT INTO plain (note) SELECT 'much' FROM information_schema.collations";
    assert!(change(&mut rival, many).await > 100);
    change(&mut rival, &format!("UPDATE {}_1.events_0 SET note = 'rival' WHERE id = 8", world.name)).await;
    rival
}

pub(crate) fn a_deadlock_in_one_branch_takes_all_back(servers: &'static Servers) {
    let world = servers.world("deadlocked").best_effort();
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        for sql in [
            "UPDATE events SET note = 'all'",
            "DELETE FROM events ORDER BY id LIMIT 7",
            "UPDATE events SET note = 'some' LIMIT 7",
        ] {
            for begin in ["DO 0", "BEGIN"] {
                change(&mut client, begin).await;
                if begin == "BEGIN" {
                    change(&mut client, "UPDATE orders SET note = 'lost' WHERE id = 1").await;
                    change(&mut client, "INSERT INTO plain (note) VALUES ('lost')").await;
                }
                let mut rival = rival(&world).await;
                client.send_command(Kind::Query, sql.as_bytes()).await.unwrap();
                wait_for(sql, || waiting(&world) == 1);
                // The statement has locked this row before.
                let crossing = format!("UPDATE {}_1.events_0 SET note = 'rival' WHERE id = 4", world.name);
                change(&mut rival, &crossing).await;
                let error = client.read_result().await.unwrap_err();
                assert_eq!(error.code(), Some(DEADLOCK), "{sql}: {error}");
                assert!(error.to_string().contains("Deadlock found"), "{sql}: {error}");
                change(&mut rival, "ROLLBACK").await;
                // There is no transaction any more, neither here nor at home.
                change(&mut client, "COMMIT").await;
                let events = rows(&mut client, "SELECT note FROM events ORDER BY id").await;
                let expected: Vec<_> = (1..=8).map(|id| format!("event {id}")).collect();
                assert_eq!(events, expected, "{begin}; {sql}");
                assert_eq!(world.far("SELECT note FROM orders WHERE id = 1"), "order 1", "{sql}");
                assert!(rows(&mut client, "SELECT note FROM plain").await.is_empty(), "{begin}; {sql}");
            }
        }
    });
}
