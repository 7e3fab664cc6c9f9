//! What `SHOW WARNINGS` tells of statements over several shards.

use e2e::run;

use crate::world::{Servers, change, code, refused, rows};

pub(crate) fn all_shards_tell_their_warnings(servers: &'static Servers) {
    let world = servers.world("warned").best_effort();
    let proxy = world.proxy();
    let long = "x".repeat(50);
    run(async {
        let mut client = world.connect(&proxy).await;
        let cut = |row: u32| format!("Warning 1265 Data truncated for column 'note' at row {row}");
        for begin in ["DO 0", "BEGIN"] {
            change(&mut client, begin).await;
            for (sql, at) in [
                (
                    format!(
                        "INSERT IGNORE INTO orders (id, note) VALUES (20, 'a'), (21, '{long}'), (22, 'b'), (24, '{long}')"
                    ),
                    &[2, 4][..],
                ),
                (format!("UPDATE IGNORE orders SET note = '{long}' WHERE id IN (2, 3, 4)"), &[1, 2, 3]),
                (
                    format!("UPDATE IGNORE events SET note = '{long}' WHERE id IN (1, 2, 3, 4, 5)"),
                    &[1, 2, 3, 4, 5],
                ),
            ] {
                change(&mut client, &sql).await;
                let expected: Vec<_> = at.iter().copied().map(cut).collect();
                for _ in 0..2 {
                    assert_eq!(rows(&mut client, "SHOW WARNINGS").await, expected, "{sql}");
                }
                assert_eq!(rows(&mut client, "SHOW WARNINGS LIMIT 1, 1").await, expected[1..2], "{sql}");
                let count = expected.len().to_string();
                assert_eq!(rows(&mut client, "SELECT @@warning_count").await, [count.as_str()], "{sql}");
                assert_eq!(rows(&mut client, "SHOW COUNT(*) ERRORS").await, ["0"], "{sql}");
            }
            // Home knows nothing of them. MySQL does not prepare this.
            if !servers.near.is_mysql() {
                let show = client.prepare("SHOW WARNINGS").await.unwrap();
                let sql = format!("UPDATE IGNORE orders SET note = '{long}' WHERE id IN (1, 2)");
                change(&mut client, &sql).await;
                let (number, error) = code(&client.execute(&show, &[]).await.unwrap_err());
                assert_eq!(number, 1235, "{error}");
                client.close(show).await.unwrap();
            }
            change(&mut client, "DELETE FROM orders WHERE id > 8").await;
            assert_eq!(rows(&mut client, "SHOW WARNINGS").await, [""; 0]);
        }
    });
}

pub(crate) fn the_error_of_one_shard_is_told(servers: &'static Servers) {
    let world = servers.world("failed").best_effort();
    let proxy = world.proxy();
    run(async {
        let mut client = world.connect(&proxy).await;
        for begin in ["DO 0", "BEGIN"] {
            change(&mut client, begin).await;
            let sql = format!(
                "INSERT INTO orders (id, note) VALUES (30, 'a'), (32, 'b'), (31, '{}')",
                "x".repeat(50)
            );
            let (number, _) = refused(&mut client, &sql).await;
            assert_eq!(number, 1406);
            let expected = ["Error 1406 Data too long for column 'note' at row 3"];
            assert_eq!(rows(&mut client, "SHOW WARNINGS").await, expected);
            assert_eq!(rows(&mut client, "SHOW ERRORS").await, expected);
            assert_eq!(rows(&mut client, "SELECT @@error_count").await, ["1"]);
        }
    });
}
