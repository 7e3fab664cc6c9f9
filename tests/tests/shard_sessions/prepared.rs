//! Prepared statements at several inner sessions.

use e2e::run;
use testkit::client::{Client, QueryResult, Statement, Value};

use crate::world::{Servers, change, code, refused, rows};

/// Error of what is not done over shards.
const NOT_SUPPORTED: u16 = 1235;

/// Bytes of values in parts that are kept: 1 MiB.
const PART: usize = 600 * 1024;

async fn execute(client: &mut Client, statement: &Statement, ids: &[i64]) -> QueryResult {
    let values: Vec<_> = ids.iter().copied().map(Value::Int).collect();
    client.execute(statement, &values).await.unwrap()
}

/// Integers in the first column of binary rows.
fn ids(result: &QueryResult) -> Vec<i32> {
    let mut all: Vec<_> =
        result.rows.iter().map(|row| i32::from_le_bytes(*row[2..].first_chunk().unwrap())).collect();
    all.sort_unstable();
    all
}

pub(crate) fn numbers_are_those_of_each_inner_session(servers: &'static Servers) {
    let world = servers.world("numbers");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        // They are prepared in another order at each inner session: parts of one server are read at
        // the same time by several.
        let one = client.prepare("SELECT id FROM events WHERE id = ?").await.unwrap();
        let some = client.prepare("SELECT id, note FROM events WHERE id IN (?, ?, ?, ?)").await.unwrap();
        let all = client.prepare("SELECT id, 1 FROM events").await.unwrap();
        for begin in ["DO 0", "BEGIN", "DO 1"] {
            change(&mut client, begin).await;
            for id in [4, 5, 6, 7] {
                assert_eq!(ids(&execute(&mut client, &one, &[id]).await), [i32::try_from(id).unwrap()]);
                assert_eq!(ids(&execute(&mut client, &some, &[1, 2, 3, 4]).await), [1, 2, 3, 4]);
                assert_eq!(ids(&execute(&mut client, &all, &[]).await), [1, 2, 3, 4, 5, 6, 7, 8]);
            }
            change(&mut client, "COMMIT").await;
        }
        client.close(some).await.unwrap();
        assert_eq!(ids(&execute(&mut client, &all, &[]).await), [1, 2, 3, 4, 5, 6, 7, 8]);
    });
}

pub(crate) fn they_keep_what_their_texts_meant(servers: &'static Servers) {
    let world = servers.world("meant");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        let read = client.prepare("SELECT id FROM orders WHERE id = ?").await.unwrap();
        let change_one = client.prepare("UPDATE orders SET note = \"id\" WHERE id = ?").await.unwrap();
        let add = client.prepare("INSERT INTO orders (id) VALUES (?)").await.unwrap();
        for setting in [
            "DO 0",
            "USE meant",
            "SET NAMES latin1",
            "SET time_zone = '+01:00'",
            "SET sql_mode = 'ANSI_QUOTES'",
            "USE information_schema",
        ] {
            change(&mut client, setting).await;
            for id in [3, 4] {
                assert_eq!(
                    ids(&execute(&mut client, &read, &[id]).await),
                    [i32::try_from(id).unwrap()],
                    "{setting}"
                );
                change(&mut client, &format!("UPDATE meant.orders SET note = 'old' WHERE id = {id}")).await;
                execute(&mut client, &change_one, &[id]).await;
                let sql = format!("SELECT note FROM meant.orders WHERE id = {id}");
                assert_eq!(rows(&mut client, &sql).await, ["id"], "{setting}");
            }
        }
        execute(&mut client, &add, &[20]).await;
        assert_eq!(rows(&mut client, "SELECT id FROM meant.orders WHERE id = 20").await, ["20"]);
        change(&mut client, "BEGIN").await;
        assert_eq!(ids(&execute(&mut client, &read, &[3]).await), [3]);
        let refused = client.execute(&change_one, &[Value::Int(3)]).await;
        let (number, error) = code(&refused.unwrap_err());
        assert!(number == NOT_SUPPORTED && error.contains("sql_mode"), "{number}: {error}");
    });
}

pub(crate) fn tables_are_shown_as_texts_show_them(servers: &'static Servers) {
    let world = servers.world("shown");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        for sql in
            ["SHOW TABLES", "SELECT table_name FROM information_schema.tables WHERE table_schema = 'shown'"]
        {
            let mut expected = rows(&mut client, sql).await;
            let statement = client.prepare(sql).await.unwrap();
            let result = execute(&mut client, &statement, &[]).await;
            let mut shown: Vec<_> =
                result.rows.iter().map(|row| String::from_utf8(row[3..].to_vec()).unwrap()).collect();
            expected.sort();
            shown.sort();
            assert!(expected.iter().any(|name| name == "events"), "{expected:?}");
            assert_eq!(shown, expected, "{sql}");
        }
    });
}

pub(crate) fn values_that_were_cut_are_refused(servers: &'static Servers) {
    let world = servers.world("cut");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        let statement = client.prepare("UPDATE orders SET note = ? WHERE id = ?").await.unwrap();
        let part = vec![b'x'; PART];
        for _ in 0..2 {
            client.send_long_data(&statement, 0, &part).await.unwrap();
        }
        let cut = client.execute(&statement, &[Value::Sent, Value::Int(1)]).await;
        let (number, error) = code(&cut.unwrap_err());
        assert!(number == NOT_SUPPORTED && error.contains("in parts"), "{number}: {error}");
        assert_eq!(rows(&mut client, "SELECT note FROM orders WHERE id = 1").await, ["order 1"]);
        // The next one has its own parts.
        client.send_long_data(&statement, 0, b"in ").await.unwrap();
        client.send_long_data(&statement, 0, b"parts").await.unwrap();
        client.execute(&statement, &[Value::Sent, Value::Int(1)]).await.unwrap();
        assert_eq!(rows(&mut client, "SELECT note FROM orders WHERE id = 1").await, ["in parts"]);
        client.execute(&statement, &[Value::from("whole"), Value::Int(1)]).await.unwrap();
        assert_eq!(rows(&mut client, "SELECT note FROM orders WHERE id = 1").await, ["whole"]);
    });
}

pub(crate) fn texts_over_sharded_tables_are_not_prepared_by_name(servers: &'static Servers) {
    let world = servers.world("by_name");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        change(&mut client, "SET @text = 'SELECT * FROM orders'").await;
        for sql in ["PREPARE s FROM 'SELECT * FROM orders'", "PREPARE s FROM @text"] {
            assert_eq!(refused(&mut client, sql).await.0, NOT_SUPPORTED, "{sql}");
        }
        if world.servers.near.is_mysql() {
            return;
        }
        let sql = "EXECUTE IMMEDIATE 'SELECT * FROM orders'";
        assert_eq!(refused(&mut client, sql).await.0, NOT_SUPPORTED);
        change(&mut client, "PREPARE s FROM 'SELECT note FROM plain'").await;
        assert!(rows(&mut client, "EXECUTE s").await.is_empty());
    });
}

pub(crate) fn joins_that_lead_one_way_are_right(servers: &'static Servers) {
    let world = servers.world("one_way");
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        for id in [1, 2, 5] {
            change(&mut client, &format!("INSERT INTO `lines` VALUES ({id}, 1)")).await;
        }
        let outer = "SELECT o.id, l.number FROM orders o LEFT JOIN `lines` l ON l.id = o.id \
                     WHERE o.id < 4 ORDER BY o.id";
        assert_eq!(rows(&mut client, outer).await, ["1 1", "2 1", "3 NULL"]);
        // Orders of other shards would have to be met.
        let wrong = "SELECT o.id, p.id FROM orders o JOIN orders p ON p.note = o.note \
                     LEFT JOIN `lines` l ON l.id = o.id AND l.id = p.id";
        let (number, error) = refused(&mut client, wrong).await;
        assert!(number == NOT_SUPPORTED && error.contains("not joined by their keys"), "{number}: {error}");
    });
}
