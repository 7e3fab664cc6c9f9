//! Files of kingshard and ShardingSphere-Proxy, served as they are.

use std::path::{Path, PathBuf};

use e2e::tools::pointsman;
use e2e::{Backend, Proxy, run};
use testkit::client::{Client, Options};
use testkit::guard::Sandbox;
use testkit::server::{PASSWORD, USER};

/// Settings of this proxy: an admin port that no other test has.
const OWN: &str = "pointsman: {admin_address: '127.0.0.1:0', admin_credentials: 'admin:admin'}\n";

/// kingshard's file, whose only node is this server.
fn kingshard(port: u16) -> String {
    format!(
        "addr: 127.0.0.1:0\nuser_list:\n- {{user: {USER}, password: {PASSWORD}}}\nnodes:\n\
         - {{name: node1, user: {USER}, password: {PASSWORD}, master: '127.0.0.1:{port}'}}\nschema_list:\n\
         - user: {USER}\n  nodes: [node1]\n  default: node1\n  shard:\n\
         \x20 - {{db: test, table: parts, key: id, nodes: [node1], type: hash, locations: [2]}}\n{OWN}"
    )
}

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    file
}

/// Folder of ShardingSphere-Proxy's files for this server, without rules.
fn shardingsphere(sandbox: &Sandbox, port: u16) -> PathBuf {
    let folder = sandbox.path().join("conf");
    std::fs::create_dir(&folder).unwrap();
    let users = format!("authority: {{users: [{{user: '{USER}@%', password: {PASSWORD}}}]}}\n");
    written(&folder, "global.yaml", &format!("{users}props: {{proxy-default-port: 0}}\n{OWN}"));
    let source = format!(
        "databaseName: test\ndataSources:\n  ds:\n    url: jdbc:mysql://127.0.0.1:{port}/test?useSSL=false\n\
         \x20   username: {USER}\n    password: {PASSWORD}\nrules: []\n"
    );
    written(&folder, "database-test.yaml", &source);
    folder
}

/// Writes to a table that no rule names, and reads it.
async fn write_and_read(proxy: &Proxy, table: &str) {
    let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test");
    let mut client = Client::connect(&options).await.unwrap();
    client.query(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, name VARCHAR(9))")).await.unwrap();
    client.query(&format!("INSERT INTO {table} VALUES (1, 'one'), (2, 'two')")).await.unwrap();
    let name = client.query(&format!("SELECT name FROM {table} WHERE id = 2")).await.unwrap();
    assert_eq!(name.first().as_deref(), Some("two"));
}

/// kingshard's hash is the key modulo the number of tables.
async fn rows_are_where_kingshard_puts_them(server: &Backend, proxy: &Proxy) {
    for number in 0..2 {
        server.sql(&format!("CREATE TABLE test.parts_000{number} (id INT PRIMARY KEY, name VARCHAR(9))"));
    }
    let mut client =
        Client::connect(&Options::tcp(proxy.tcp(), USER, PASSWORD).schema("test")).await.unwrap();
    for id in 4..8 {
        client.query(&format!("INSERT INTO parts VALUES ({id}, 'p{id}')")).await.unwrap();
    }
    let name = client.query("SELECT name FROM parts WHERE id = 7").await.unwrap();
    assert_eq!(name.first().as_deref(), Some("p7"));
    assert_eq!(server.sql("SELECT GROUP_CONCAT(id ORDER BY id) FROM test.parts_0001").trim(), "5,7");
    let all = client.query("SELECT id FROM parts ORDER BY id").await.unwrap();
    assert_eq!(all.rows, [b"\x014", b"\x015", b"\x016", b"\x017"], "{all:?}");
}

/// The first cell of an answer of the admin port.
async fn admin(proxy: &Proxy, statements: &[&str]) -> Option<String> {
    let mut client = Client::connect(&Options::tcp(proxy.admin(), "admin", "admin")).await.unwrap();
    let mut last = None;
    for statement in statements {
        last = client.query(statement).await.unwrap().first();
    }
    last
}

#[test]
fn kingshards_file_is_served() {
    let server = Backend::start(&[]);
    let file = written(server.sandbox.path(), "ks.yaml", &kingshard(server.server.port()));
    let proxy = Proxy::start(&server.sandbox, &file, &[], &[]);
    run(async {
        write_and_read(&proxy, "plain").await;
        rows_are_where_kingshard_puts_them(&server, &proxy).await;
        let nodes = "SELECT group_concat(physical_table) FROM runtime_pointsman_shard_nodes";
        assert_eq!(admin(&proxy, &[nodes]).await.as_deref(), Some("parts_0000,parts_0001"));
        let again =
            ["DELETE FROM pointsman_shard_nodes", "LOAD SHARDS FROM CONFIG", "LOAD SHARDS TO RUNTIME", nodes];
        assert_eq!(admin(&proxy, &again).await.as_deref(), Some("parts_0000,parts_0001"));
    });
}

#[test]
fn shardingspheres_folder_is_served() {
    let server = Backend::start(&[]);
    let folder = shardingsphere(&server.sandbox, server.server.port());
    let proxy = Proxy::start(&server.sandbox, &folder, &[], &[]);
    run(async {
        write_and_read(&proxy, "plain").await;
        let home = "SELECT schema_name FROM runtime_pointsman_shard_homes";
        assert_eq!(admin(&proxy, &["LOAD SHARDS FROM CONFIG", home]).await.as_deref(), Some("test"));
    });
}

/// A database of two data sources, with tables under other names, as in ShardingSphere's examples.
const SHARDING: &str = r"
databaseName: sharding_db
dataSources:
  ds_0: {url: 'jdbc:mysql://127.0.0.1:PORT/demo_ds_0?useSSL=false', username: USER, password: PASSWORD}
  ds_1: {url: 'jdbc:mysql://127.0.0.1:PORT/demo_ds_1?useSSL=false', username: USER, password: PASSWORD}
rules:
- !SHARDING
  tables:
    t_order:
      actualDataNodes: ds_${0..1}.t_order_${0..1}
      databaseStrategy: {standard: {shardingColumn: user_id, shardingAlgorithmName: by_user}}
      tableStrategy: {standard: {shardingColumn: order_id, shardingAlgorithmName: by_order}}
  shardingAlgorithms:
    by_user: {type: INLINE, props: {algorithm-expression: 'ds_${user_id % 2}'}}
    by_order: {type: INLINE, props: {algorithm-expression: 't_order_${order_id % 2}'}}
";

#[test]
fn rows_are_where_shardingsphere_puts_them() {
    let server = Backend::start(&[]);
    server.sql("CREATE DATABASE sharding_db");
    for node in ["demo_ds_0.t_order_0", "demo_ds_0.t_order_1", "demo_ds_1.t_order_0", "demo_ds_1.t_order_1"] {
        let (schema, _) = node.split_once('.').unwrap();
        server.sql(&format!("CREATE DATABASE IF NOT EXISTS {schema}"));
        server
            .sql(&format!("CREATE TABLE {node} (order_id BIGINT PRIMARY KEY, user_id INT, name VARCHAR(9))"));
    }
    let folder = server.sandbox.path().join("conf");
    std::fs::create_dir(&folder).unwrap();
    let users = format!("authority: {{users: [{{user: {USER}, password: {PASSWORD}}}]}}\n");
    written(&folder, "server.yaml", &format!("{users}props: {{proxy-default-port: 0}}\n{OWN}"));
    let text = SHARDING.replace("PORT", &server.server.port().to_string());
    written(&folder, "config-sharding.yaml", &text.replace("USER", USER).replace("PASSWORD", PASSWORD));
    let proxy = Proxy::start(&server.sandbox, &folder, &[], &[]);
    run(async {
        let options = Options::tcp(proxy.tcp(), USER, PASSWORD).schema("sharding_db");
        let mut client = Client::connect(&options).await.unwrap();
        for (order, user) in [(10, 1), (11, 1), (12, 2), (13, 2)] {
            let row = format!("INSERT INTO t_order VALUES ({order}, {user}, 'o{order}')");
            client.query(&row).await.unwrap();
        }
        for (node, order) in
            [("0.t_order_0", 12), ("0.t_order_1", 13), ("1.t_order_0", 10), ("1.t_order_1", 11)]
        {
            let there = server.sql(&format!("SELECT GROUP_CONCAT(order_id) FROM demo_ds_{node}"));
            assert_eq!(there.trim(), order.to_string(), "{node}");
        }
        let one = client.query("SELECT name FROM t_order WHERE user_id = 1 AND order_id = 11").await.unwrap();
        assert_eq!(one.first().as_deref(), Some("o11"));
        let all = client.query("SELECT t_order.order_id FROM t_order ORDER BY order_id DESC").await.unwrap();
        assert_eq!(all.rows, [b"\x0213", b"\x0212", b"\x0211", b"\x0210"], "{all:?}");
    });
}

#[test]
fn a_check_says_what_cannot_be_kept() {
    let server = Backend::start(&[]);
    let text = kingshard(1).replace("type: hash", "type: modulo");
    let file = written(server.sandbox.path(), "ks.yaml", &text);
    let output = pointsman(&server.sandbox, ["check", "--config", &file.display().to_string()]);
    let text = format!("{output:?}");
    assert!(text.contains("ks.yaml:11: `schema_list[0].shard[0].type`: must be `hash`, `range`"), "{text}");
}
