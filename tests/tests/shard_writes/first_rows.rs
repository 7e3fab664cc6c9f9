//! `UPDATE` and `DELETE` with `LIMIT`.

use e2e::{Backend, Proxy};
use testkit::client::{Client, ClientError, Options, Value};
use testkit::server::{PASSWORD, USER};
use wire::command::Kind;

use super::{COLUMNS, SHARDS, connect, count, split};

/// Rows of the table.
const ROWS: u32 = 40;

/// A table with rows, whose state is a third of their id.
fn filled(db: &Backend, schema: &str, transactions: &str) -> Proxy {
    let proxy = split(db, schema, COLUMNS, "id", transactions);
    for id in 1..=ROWS {
        db.sql(&format!("INSERT INTO {schema}.t_{} VALUES ({id}, {}, 'row')", id % SHARDS, id / 3));
    }
    proxy
}

async fn changed(client: &mut Client, sql: &str) -> (u64, String) {
    let ok = client.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    (ok.affected_rows, ok.info)
}

async fn error(client: &mut Client, sql: &str) -> String {
    match client.query(sql).await {
        Err(ClientError::Server(error)) => format!("{} {}", error.code, error.message),
        other => panic!("{sql}: {other:?}"),
    }
}

pub(super) async fn in_turn(db: &'static Backend) {
    let proxy = filled(db, "turns", "best_effort");
    let mut client = connect(&proxy, "turns").await;
    let (rows, info) = changed(&mut client, "UPDATE t SET note = 'new' WHERE id > 4 LIMIT 25").await;
    assert_eq!((rows, info.as_str()), (25, "Rows matched: 25  Changed: 25  Warnings: 0"));
    assert_eq!(count(db, "turns", "note = 'new' AND id > 4"), 25);
    // Rows that stay as they are count.
    let (_, info) = changed(&mut client, "UPDATE t SET note = 'new' LIMIT 1000").await;
    assert_eq!(info, "Rows matched: 40  Changed: 15  Warnings: 0");
    assert_eq!(changed(&mut client, "DELETE FROM t WHERE state > 3 LIMIT 3").await.0, 3);
    assert_eq!(changed(&mut client, "DELETE FROM t LIMIT 0").await.0, 0);
    assert_eq!(client.query("SELECT ROW_COUNT()").await.unwrap().first().as_deref(), Some("0"));
    assert_eq!(count(db, "turns", "1"), ROWS - 3);
    client.query("BEGIN").await.unwrap();
    assert_eq!(changed(&mut client, "DELETE FROM t LIMIT 30").await.0, 30);
    client.query("ROLLBACK").await.unwrap();
    assert_eq!(count(db, "turns", "1"), ROWS - 3);
    assert_eq!(changed(&mut client, "DELETE FROM t LIMIT 100").await.0, u64::from(ROWS - 3));
}

pub(super) async fn in_order(db: &'static Backend) {
    let proxy = filled(db, "firsts", "best_effort");
    let mut client = connect(&proxy, "firsts").await;
    let (rows, info) =
        changed(&mut client, "UPDATE t SET note = 'last' WHERE state < 12 ORDER BY state DESC, id LIMIT 4")
            .await;
    assert_eq!((rows, info.as_str()), (4, "Rows matched: 4  Changed: 4  Warnings: 0"));
    assert_eq!(count(db, "firsts", "note = 'last' AND id IN (33, 34, 35, 30)"), 4);
    assert_eq!(changed(&mut client, "DELETE FROM t ORDER BY id LIMIT 10").await.0, 10);
    assert_eq!(count(db, "firsts", "id <= 10"), 0);
    assert_eq!(changed(&mut client, "DELETE FROM t WHERE id < 0 ORDER BY id LIMIT 10").await.0, 0);
    client.query("BEGIN").await.unwrap();
    assert_eq!(changed(&mut client, "DELETE FROM t ORDER BY id DESC LIMIT 1000").await.0, 30);
    let left = client.query("SELECT id FROM t").await.unwrap();
    assert_eq!(left.rows.len(), 0);
    client.query("ROLLBACK").await.unwrap();
    assert_eq!(count(db, "firsts", "1"), ROWS - 10);
}

pub(super) async fn prepared(db: &'static Backend) {
    let proxy = filled(db, "executed", "best_effort");
    let mut client = connect(&proxy, "executed").await;
    for sql in [
        "UPDATE t SET note = ? WHERE state > ? ORDER BY id LIMIT ?",
        "UPDATE t SET note = ? WHERE state > ? LIMIT ?",
    ] {
        let statement = client.prepare(sql).await.unwrap();
        for (note, rows) in [("one", 7), ("two", 3)] {
            let values = [Value::Bytes(note.into()), Value::Int(5), Value::Int(rows)];
            let ok = client.execute(&statement, &values).await.unwrap();
            assert_eq!(ok.affected_rows, rows.unsigned_abs(), "{sql}");
        }
        assert_eq!(count(db, "executed", "note = 'two'"), 3);
        client.query("UPDATE t SET note = 'row'").await.unwrap();
    }
}

pub(super) async fn failed(db: &'static Backend) {
    let proxy = filled(db, "failing", "best_effort");
    let mut client = connect(&proxy, "failing").await;
    for sql in [
        "UPDATE t SET note = REPEAT('x', id) WHERE id BETWEEN 15 AND 24 ORDER BY id LIMIT 9",
        "UPDATE t SET note = REPEAT('x', id) WHERE id BETWEEN 15 AND 24 LIMIT 9",
    ] {
        for begin in ["DO 1", "BEGIN"] {
            client.query(begin).await.unwrap();
            let error = error(&mut client, sql).await;
            assert!(error.starts_with("1406 Data too long for column 'note'"), "{error}");
            client.query("COMMIT").await.unwrap();
            assert_eq!(count(db, "failing", "note = 'row'"), ROWS, "{sql}");
        }
    }
}

pub(super) async fn refused(db: &'static Backend) {
    let proxy = filled(db, "refusals", "single");
    let mut client = connect(&proxy, "refusals").await;
    for sql in ["DELETE FROM t LIMIT 1", "DELETE FROM t ORDER BY id LIMIT 1"] {
        let error = error(&mut client, sql).await;
        assert!(error.starts_with("1235 ") && error.contains("shard_transactions"), "{error}");
    }
    client.query("DELETE FROM t WHERE id IN (4, 5) ORDER BY id LIMIT 1").await.unwrap();
    assert_eq!(count(db, "refusals", "id IN (4, 5)"), 1);
    drop(proxy);
    let proxy = split(db, "keyless", "id INT NOT NULL, note TEXT", "id", "best_effort");
    let mut client = connect(&proxy, "keyless").await;
    client.query("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')").await.unwrap();
    let error = error(&mut client, "DELETE FROM t ORDER BY id LIMIT 1").await;
    assert!(error.contains("no unique key without NULLs"), "{error}");
    assert_eq!(changed(&mut client, "DELETE FROM t LIMIT 2").await.0, 2);
    assert_eq!(count(db, "keyless", "1"), 1);
}

pub(super) async fn killed(db: &'static Backend) {
    let proxy = filled(db, "killing", "best_effort");
    let mut client = connect(&proxy, "killing").await;
    let id = client.query("SELECT CONNECTION_ID()").await.unwrap().first().unwrap();
    let mut locking = Client::connect(&Options::tcp(db.server.address(), USER, PASSWORD)).await.unwrap();
    locking.query("BEGIN").await.unwrap();
    locking.query("SELECT * FROM killing.t_2 FOR UPDATE").await.unwrap();
    for sql in ["DELETE FROM t WHERE note = 'row' LIMIT 39", "DELETE FROM t ORDER BY id LIMIT 39"] {
        client.send_command(Kind::Query, sql.as_bytes()).await.unwrap();
        let waits = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%killing%t\\_2%' \
                     AND info NOT LIKE '%processlist%'";
        e2e::wait_for("the lock", || db.sql(waits).trim() == "1");
        connect(&proxy, "killing").await.query(&format!("KILL QUERY {id}")).await.unwrap();
        let error = client.read_result().await.unwrap_err();
        assert_eq!(error.code(), Some(1317), "{sql}: {error}");
        assert_eq!(count(db, "killing", "1"), ROWS);
    }
    locking.query("ROLLBACK").await.unwrap();
    assert_eq!(changed(&mut client, "DELETE FROM t ORDER BY id LIMIT 39").await.0, 39);
}
