//! Rows that get their ids from the proxy.

use std::collections::HashSet;

use e2e::{Backend, Proxy, Setup};
use testkit::client::{Client, ClientError, Options, Value};

/// Tables of a sharded table.
const NODES: usize = 4;

/// Sessions that insert at the same time, and statements of each.
const SESSIONS: usize = 8;
const STATEMENTS: usize = 40;

/// Makes a schema with the tables of `orders`, one of which has a row with the id 42, and a proxy
/// before them.
fn proxy(db: &Backend, schema: &str, users: &[(&str, &str)]) -> Proxy {
    db.sql(&format!("CREATE DATABASE {schema}"));
    for number in 0..NODES {
        db.sql(&format!(
            "CREATE TABLE {schema}.orders_{number} (
                 id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, note VARCHAR(20)
             ) ENGINE=InnoDB"
        ));
    }
    db.sql(&format!("INSERT INTO {schema}.orders_2 VALUES (42, 'first')"));
    let mut setup = Setup::before(&db.sandbox, &db.server)
        .row(
            "shards.table",
            &format!(
                "schema = '{schema}'\ntable = 'orders'\nkey = 'id'\nfunction = 'mod'\n\
                 nodes = '0/{schema}.orders_${{0..3}}'"
            ),
        )
        .row("shards.sequence", &format!("schema = '{schema}'\ntable = 'orders'\ncolumn = 'id'\nstep = 30"))
        .row("shards.home", "hostgroup = 0");
    for (name, password) in users {
        setup = setup.user(name, password, "");
    }
    setup.start()
}

async fn connect(proxy: &Proxy, schema: &str) -> Client {
    Client::connect(&proxy.options().schema(schema)).await.unwrap()
}

/// The ids of all rows, by the numbers of their tables.
fn stored(db: &Backend, schema: &str) -> Vec<(u64, usize)> {
    let of = |number: usize| {
        let ids = db.sql(&format!("SELECT id FROM {schema}.orders_{number} ORDER BY id"));
        ids.lines().map(|id| (id.parse().unwrap(), number)).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = (0..NODES).flat_map(of).collect();
    all.sort_unstable();
    all
}

pub(crate) async fn get_ids(db: &Backend) {
    let proxy = proxy(db, "ids_rows", &[]);
    let mut client = connect(&proxy, "ids_rows").await;
    let mut insert = async |sql: &str| client.query(sql).await.unwrap().last_insert_id;
    assert_eq!(insert("INSERT INTO orders (note) VALUES ('a'), ('b'), ('c')").await, 43);
    assert_eq!(insert("INSERT INTO orders VALUES (NULL, 'd'), (0, 'e'), (DEFAULT, 'f')").await, 46);
    // An id of the client raises the sequence.
    insert("INSERT INTO orders VALUES (1000, 'g')").await;
    assert_eq!(insert("INSERT INTO orders (note) VALUES ('h')").await, 1_001);
    insert("INSERT INTO orders VALUES (5, 'i')").await;
    assert_eq!(insert("INSERT INTO orders SET note = 'j'").await, 1_002);
    let last = client.query("SELECT LAST_INSERT_ID()").await.unwrap().first();
    assert_eq!(last.as_deref(), Some("1002"));
    // Ids are used up by what is rolled back, and the counter keeps no client's transaction.
    client.query("SET autocommit = 0").await.unwrap();
    assert_eq!(client.query("INSERT INTO orders (note) VALUES ('k')").await.unwrap().last_insert_id, 1_003);
    client.query("ROLLBACK").await.unwrap();
    client.query("SET autocommit = 1").await.unwrap();
    let statement = client.prepare("INSERT INTO orders (note) VALUES (?), (?)").await.unwrap();
    let values = [Value::Bytes(b"l".to_vec()), Value::Bytes(b"m".to_vec())];
    assert_eq!(client.execute(&statement, &values).await.unwrap().last_insert_id, 1_004);
    // Ids of the client are no ids that the statement has made: that of the last row is told.
    let own = "INSERT INTO orders VALUES (2002, 'n'), (2001, 'o'), (2003, 'p'), (2004, 'q'), (2000, 'r')";
    assert_eq!(client.query(own).await.unwrap().last_insert_id, 2_000);
    let last = client.query("SELECT LAST_INSERT_ID()").await.unwrap().first();
    assert_eq!(last.as_deref(), Some("1004"));
    let own = 2_000..=2_004;
    let ids = [5, 42, 43, 44, 45, 46, 47, 48, 1_000, 1_001, 1_002, 1_004, 1_005].into_iter().chain(own);
    let expected: Vec<_> = ids.map(|id| (id, usize::try_from(id).unwrap() % NODES)).collect();
    assert_eq!(stored(db, "ids_rows"), expected);
}

pub(crate) async fn of_sessions(db: &Backend) {
    let proxy = proxy(db, "ids_sessions", &[]);
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        let mut client = connect(&proxy, "ids_sessions").await;
        sessions.push(tokio::spawn(async move {
            let mut last = 0;
            for number in 0..STATEMENTS {
                let rows = vec!["('x')"; number % 7 + 1].join(", ");
                let sql = format!("INSERT INTO orders (note) VALUES {rows}");
                let first = client.query(&sql).await.unwrap().last_insert_id;
                assert!(first > last, "{first} behind {last}");
                last = first + u64::try_from(number % 7).unwrap();
            }
        }));
    }
    for session in sessions {
        session.await.unwrap();
    }
    let all = stored(db, "ids_sessions");
    let rows: usize = (0..STATEMENTS).map(|number| number % 7 + 1).sum();
    assert_eq!(all.len(), SESSIONS * rows + 1);
    let distinct: HashSet<_> = all.iter().map(|(id, _)| id).collect();
    assert_eq!(distinct.len(), all.len());
}

/// Statements that set what `LAST_INSERT_ID()` is, at the server of a node.
pub(crate) async fn last_ids_of_shards(db: &Backend) {
    let proxy = proxy(db, "ids_last", &[]);
    let mut client = connect(&proxy, "ids_last").await;
    let asked = client.prepare("SELECT LAST_INSERT_ID()").await.unwrap();
    client.query("CREATE TABLE plain (id INT AUTO_INCREMENT PRIMARY KEY, note VARCHAR(9))").await.unwrap();
    for (sql, expected) in [
        ("UPDATE orders SET note = LAST_INSERT_ID(77) WHERE id = 42", "77"),
        ("UPDATE orders SET note = 'x' WHERE id = 42", "77"),
        ("INSERT INTO plain (note) VALUES ('a')", "1"),
        ("UPDATE orders SET note = 'y' WHERE id = 42", "1"),
        ("UPDATE orders SET note = LAST_INSERT_ID(78) WHERE id = 42", "78"),
        ("INSERT INTO plain (id, note) VALUES (50, LAST_INSERT_ID())", "78"),
        ("INSERT INTO orders (note) VALUES ('b')", "43"),
    ] {
        client.query(sql).await.unwrap();
        let last = client.query("SELECT LAST_INSERT_ID()").await.unwrap().first();
        assert_eq!(last.as_deref(), Some(expected), "{sql}");
        let row = client.execute(&asked, &[]).await.unwrap().rows.remove(0);
        assert!(row.ends_with(&expected.parse::<u64>().unwrap().to_le_bytes()), "{sql}: {row:?}");
    }
    assert_eq!(
        client.query("SELECT note FROM plain WHERE id = 50").await.unwrap().first().as_deref(),
        Some("78")
    );
}

pub(crate) async fn without_privileges(db: &Backend) {
    db.sql("CREATE USER poor IDENTIFIED BY 'pw'");
    let proxy = proxy(db, "ids_poor", &[("poor", "pw")]);
    db.sql("GRANT ALL ON ids_poor.* TO poor");
    let options = Options::tcp(proxy.tcp(), "poor", "pw").schema("ids_poor");
    let mut client = Client::connect(&options).await.unwrap();
    let refused = client.query("INSERT INTO orders (note) VALUES ('a')").await;
    let Err(ClientError::Server(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.code, 1467, "{error:?}");
    assert!(
        error.message.contains("id for a row of ids_poor.orders") && error.message.contains("denied"),
        "{error:?}"
    );
    // It goes on, and with privileges it has ids.
    db.sql("GRANT CREATE, SELECT, INSERT, UPDATE ON pointsman.* TO poor");
    assert_eq!(client.query("INSERT INTO orders (note) VALUES ('a')").await.unwrap().last_insert_id, 43);
}
