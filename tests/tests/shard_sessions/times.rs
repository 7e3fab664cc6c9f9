//! The time of changes at several servers.

use e2e::run;
use testkit::client::{Client, Value};

use crate::world::{Servers, World, change, refused, rows};

/// The times of these rows at both servers: all are one.
async fn is_one(client: &mut Client, world: &World, ids: &str) -> String {
    let sql = format!("SELECT made FROM orders WHERE id IN ({ids})");
    let mut made = rows(client, &sql).await;
    assert_eq!(made.len(), 4, "{made:?}");
    let near = world.near(&sql);
    assert!(near.lines().count() == 2 && near.contains(&made[0]), "{near}: {made:?}");
    made.dedup();
    assert_eq!(made.len(), 1, "{ids}: {made:?}");
    made.remove(0)
}

pub(crate) fn all_servers_have_one_time(servers: &'static Servers) {
    let world = servers.world("times").best_effort();
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        let update = client.prepare("UPDATE orders SET made = NOW(6) WHERE id > ?").await.unwrap();
        for (begin, end) in [("DO 0", "DO 0"), ("BEGIN", "COMMIT"), ("SET autocommit = 0", "COMMIT")] {
            change(&mut client, "DELETE FROM orders WHERE id > 20").await;
            change(&mut client, "COMMIT").await;
            change(&mut client, begin).await;
            let insert = "INSERT INTO orders (id, note) VALUES (21, 'a'), (22, 'b'), (23, 'c'), (24, 'd')";
            assert_eq!(change(&mut client, insert).await, 4, "{begin}");
            change(&mut client, end).await;
            let made = is_one(&mut client, &world, "21, 22, 23, 24").await;
            change(&mut client, "UPDATE orders SET made = NOW(6) WHERE id > 20").await;
            change(&mut client, "COMMIT").await;
            let later = is_one(&mut client, &world, "21, 22, 23, 24").await;
            assert!(later > made, "{begin}: {later}");
            client.execute(&update, &[Value::Int(20)]).await.unwrap();
            change(&mut client, "COMMIT").await;
            let last = is_one(&mut client, &world, "21, 22, 23, 24").await;
            // Servers have their own clocks again.
            change(&mut client, "UPDATE orders SET made = NOW(6) WHERE id = 21").await;
            change(&mut client, "COMMIT").await;
            let own = rows(&mut client, "SELECT made FROM orders WHERE id = 21").await;
            assert!(last > later && own[0] > last, "{begin}: {later}, {last}, {own:?}");
        }
    });
}

pub(crate) fn a_time_ends_with_its_change(servers: &'static Servers) {
    let world = servers.world("failed_times").best_effort();
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        for begin in ["DO 0", "BEGIN"] {
            change(&mut client, begin).await;
            let twice =
                "INSERT INTO orders (id, note) VALUES (31, 'a'), (32, 'b'), (1, 'there'), (2, 'there')";
            assert_eq!(refused(&mut client, twice).await.0, 1062);
            assert!(rows(&mut client, "SELECT id FROM orders WHERE id > 30").await.is_empty());
            for id in [1, 2] {
                change(&mut client, &format!("UPDATE orders SET made = NOW(6) WHERE id = {id}")).await;
                change(&mut client, &format!("UPDATE orders SET note = made WHERE id = {id}")).await;
                change(&mut client, &format!("UPDATE orders SET made = NOW(6) WHERE id = {id}")).await;
                let sql = format!("SELECT made > note FROM orders WHERE id = {id}");
                assert_eq!(rows(&mut client, &sql).await, ["1"], "{begin}: the clock of the server stands");
            }
            change(&mut client, "ROLLBACK").await;
        }
        // What the client has set holds everywhere.
        change(&mut client, "SET timestamp = 1000000000").await;
        change(&mut client, "UPDATE orders SET made = NOW() WHERE id < 5").await;
        let made = "SELECT DISTINCT UNIX_TIMESTAMP(made) FROM orders WHERE id = 1";
        assert!(rows(&mut client, made).await[0].starts_with("1000000000"));
        assert_eq!(rows(&mut client, &made.replace("= 1", "= 2")).await, rows(&mut client, made).await);
    });
}
