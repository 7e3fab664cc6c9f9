//! The client against a real server.

#![allow(clippy::unwrap_used, reason = "tests")]

use testkit::client::{CAPABILITIES, Client, Options, Value};
use testkit::guard::Sandbox;
use testkit::mariadb::{self, PASSWORD, Setup, USER};
use wire::{Capabilities, StatusFlags};

#[test]
fn it_speaks_with_mariadb() {
    let binaries = mariadb::find().unwrap();
    let sandbox = Sandbox::new().unwrap();
    let server = Setup::new("server").start(&binaries, &sandbox).unwrap();
    server.sql("CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY, name TEXT)").unwrap();
    let tcp = Options::tcp(server.address(), USER, PASSWORD).schema("shop");
    let unix = Options::unix(server.socket(), USER, PASSWORD).schema("shop");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for options in [&tcp, &unix, &tcp.clone().capabilities(CAPABILITIES - Capabilities::DEPRECATE_EOF)] {
            let mut client = Client::connect(options).await.unwrap();
            assert_eq!(client.server().version, format!("5.5.5-{}", binaries.version));
            text(&mut client).await;
            prepared(&mut client).await;
            several_results(&mut client).await;
            files(&mut client).await;
            state(&mut client, options).await;
            client.quit().await.unwrap();
        }
        refused(&tcp).await;
    });
}

async fn text(client: &mut Client) {
    client.query("DELETE FROM item").await.unwrap();
    let insert = client.query("INSERT INTO item VALUES (1, 'pen'), (2, NULL)").await.unwrap();
    assert_eq!((insert.affected_rows, insert.columns.len()), (2, 0));
    let rows = client.query("SELECT * FROM item ORDER BY id").await.unwrap();
    let expected = [vec![Some("1".to_owned()), Some("pen".to_owned())], vec![Some("2".to_owned()), None]];
    assert_eq!(rows.text().unwrap(), expected);
    assert_eq!(rows.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(), ["id", "name"]);
    assert_eq!(client.query("SELECT nonsense").await.unwrap_err().code(), Some(1054));
    client.query("BEGIN").await.unwrap();
    assert!(client.status().contains(StatusFlags::IN_TRANSACTION));
    client.query("COMMIT").await.unwrap();
    assert!(!client.status().contains(StatusFlags::IN_TRANSACTION));
    client.ping().await.unwrap();
}

async fn prepared(client: &mut Client) {
    let statement = client.prepare("SELECT ?, ?, ?, name FROM item WHERE id = ?").await.unwrap();
    assert_eq!((statement.params, statement.columns.len()), (4, 4));
    client.send_long_data(&statement, 1, b"long ").await.unwrap();
    client.send_long_data(&statement, 1, b"text").await.unwrap();
    let params = [Value::Int(-7), Value::Sent, Value::Null, Value::from(1)];
    let result = client.execute(&statement, &params).await.unwrap();
    // Header, bitmap with the third column NULL, then the values.
    let row = b"\0\x10\xf9\xff\xff\xff\xff\xff\xff\xff\x09long text\x03pen";
    assert_eq!(result.rows, [row.to_vec()]);
    client.close(statement).await.unwrap();

    let statement = client.prepare("SELECT seq FROM seq_1_to_5").await.unwrap();
    let opened = client.open_cursor(&statement, &[]).await.unwrap();
    assert!(opened.rows.is_empty() && opened.status.contains(StatusFlags::CURSOR_EXISTS));
    assert_eq!(client.fetch(&statement, 3).await.unwrap().rows.len(), 3);
    let last = client.fetch(&statement, 3).await.unwrap();
    assert_eq!(last.rows.len(), 2);
    assert!(last.status.contains(StatusFlags::LAST_ROW_SENT));
    client.close(statement).await.unwrap();
    assert_eq!(client.prepare("SELEC").await.unwrap_err().code(), Some(1064));
}

async fn several_results(client: &mut Client) {
    let results = client.query_all("SELECT 1; DO 0; SELECT 2").await.unwrap();
    assert_eq!(results.len(), 3);
    assert_eq!(results[2].first().as_deref(), Some("2"));
    assert_eq!(client.query("SELECT 1; SELECT 3").await.unwrap().first().as_deref(), Some("3"));
    // A result and a row of more than one packet.
    let long = client.query("SELECT REPEAT('x', 20000000)").await.unwrap();
    assert_eq!(long.first().unwrap().len(), 20_000_000);
}

async fn files(client: &mut Client) {
    let sql = "LOAD DATA LOCAL INFILE 'any' REPLACE INTO TABLE item (id, name)";
    let loaded = client.load_local(sql, b"5\tfive\n6\tsix\n", 4).await.unwrap();
    assert_eq!(loaded.affected_rows, 2);
    assert_eq!(
        client.query("SELECT name FROM item WHERE id = 6").await.unwrap().first().as_deref(),
        Some("six")
    );
}

async fn state(client: &mut Client, options: &Options) {
    client.query("SET @a = 1").await.unwrap();
    client.reset_connection().await.unwrap();
    assert_eq!(client.query("SELECT @a").await.unwrap().first(), None);
    client.init_db("mysql").await.unwrap();
    assert_eq!(client.query("SELECT DATABASE()").await.unwrap().first().as_deref(), Some("mysql"));
    client.change_user(options).await.unwrap();
    assert_eq!(client.query("SELECT DATABASE()").await.unwrap().first().as_deref(), Some("shop"));
}

async fn refused(options: &Options) {
    let wrong = options.clone().schema("missing");
    assert_eq!(Client::connect(&wrong).await.unwrap_err().code(), Some(1049));
    // The server asks for its own method when the client starts with another.
    let other = options.clone().auth_plugin("caching_sha2_password");
    assert!(Client::connect(&other).await.is_ok());
}
