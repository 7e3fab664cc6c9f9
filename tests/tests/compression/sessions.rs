//! What a session is made of, with each side compressed or not.

use e2e::{Backend, on_each_server, run};
use testkit::client::{Client, Value};
use wire::StatusFlags;

use super::{METHODS, connect, proxy};

on_each_server! {
    every_kind_of_answer_is_the_same,
    a_changed_user_and_a_reset_connection_stay_compressed,
    a_server_that_compresses_is_asked_to,
}

/// Runs a test with every combination of compressed and plain sides.
fn on_every_combination(db: &Backend, test: &impl AsyncFn(&mut Client)) {
    for compression in [false, true] {
        let proxy = proxy(db, compression);
        for method in METHODS {
            run(async {
                let mut client = connect(&proxy, method).await;
                test(&mut client).await;
                client.quit().await.unwrap();
            });
        }
    }
}

fn every_kind_of_answer_is_the_same(db: &Backend) {
    on_every_combination(db, &async |client| {
        // Rows: few, and as many as fill many frames.
        let rows = client
            .query("SELECT seq, SHA2(seq, 256), NULL FROM seq_1_to_10000 ORDER BY seq")
            .await
            .unwrap()
            .rows;
        assert_eq!(rows.len(), 10_000);
        assert!(rows[9_999].starts_with(b"\x0510000"));
        // Several results, and an error behind one.
        let results =
            client.query_all("SELECT 1; DO 2; SELECT seq FROM seq_1_to_2000; SELECT 'end'").await.unwrap();
        assert_eq!(results.iter().map(|result| result.rows.len()).collect::<Vec<_>>(), [1, 0, 2000, 1]);
        assert!(client.query_all("SELECT 1; SELECT nothing").await.is_err());
        // A cursor.
        let statement =
            client.prepare("SELECT seq FROM seq_1_to_2000 WHERE seq > ? ORDER BY seq").await.unwrap();
        client.open_cursor(&statement, &[Value::Int(500)]).await.unwrap();
        let mut fetched = 0;
        while !client.status().contains(StatusFlags::LAST_ROW_SENT) {
            fetched += client.fetch(&statement, 400).await.unwrap().rows.len();
        }
        assert_eq!(fetched, 1500);
        client.close(statement).await.unwrap();
        // A file of more packets than there are ids.
        client.query("CREATE TEMPORARY TABLE file (line VARCHAR(100))").await.unwrap();
        let lines: Vec<String> = (0..5000).map(|i| format!("line {i}")).collect();
        let file = lines.join("\n") + "\n";
        let load = "LOAD DATA LOCAL INFILE 'x' INTO TABLE file";
        let loaded = client.load_local(load, file.as_bytes(), 100).await.unwrap();
        assert_eq!(loaded.affected_rows, 5000);
        let last = client.query("SELECT COUNT(*), MAX(line) FROM file").await.unwrap();
        assert_eq!(last.rows, [b"\x045000\x08line 999"]);
        client.query("DROP TABLE file").await.unwrap();
    });
}

fn a_changed_user_and_a_reset_connection_stay_compressed(db: &Backend) {
    let proxy = proxy(db, true);
    for method in METHODS {
        run(async {
            let mut client = connect(&proxy, method).await;
            for _ in 0..3 {
                client.change_user(&proxy.options()).await.unwrap();
                assert_eq!(client.query("SELECT 1").await.unwrap().first().as_deref(), Some("1"));
                client.reset_connection().await.unwrap();
                client.ping().await.unwrap();
                client.init_db("test").await.unwrap();
            }
        });
    }
}

fn a_server_that_compresses_is_asked_to(db: &Backend) {
    for (compression, expected) in [(true, "ON"), (false, "OFF")] {
        let proxy = proxy(db, compression);
        for method in METHODS {
            run(async {
                let mut client = connect(&proxy, method).await;
                let result = client.query("SHOW SESSION STATUS LIKE 'Compression'").await.unwrap();
                assert_eq!(result.text().unwrap()[0][1].as_deref(), Some(expected));
            });
        }
    }
}
