//! A query that is planned over two shards, which are one table here, and the keys of its rows.

use planner::define::Catalog;
use planner::merge::{Columns, Key, Protocol};
use planner::plan::{Asked, Plan, Request, Scatter, plan};
use shard::placement::{Function, Level, Modulo, Sign};
use shard::{Draft, Layout, Node, Table};
use sql::Modes;
use sql::conditional::Dialect;
use sql::parse::{Settings, Tree};
use testkit::client::Client;
use wire::command::Kind;
use wire::packet::{Column, ColumnCount};
use wire::{Capabilities, Codec as _};

/// The plan of a statement over two shards, each of which has the table.
pub(crate) fn planned(version: &str, name: &str, sql: &str, catalog: &Catalog) -> Plan {
    let node = |hostgroup| Node { hostgroup, schema: "test".to_owned(), table: name.to_owned() };
    let function = Function::Modulo(Modulo { shards: 2, sign: Sign::Floor });
    let level = Level { columns: vec![0], function, nodes: None };
    let table = Table::sharded(["test", name], vec![node(1), node(2)], vec!["id".to_owned()], vec![level]);
    let draft = Draft { hostgroups: vec![1, 2], tables: vec![table], ..Draft::default() };
    let layout = Layout::new(draft).unwrap();
    let mut tree = Tree::default();
    tree.read(sql.as_bytes(), &Settings::of(Dialect::of(version.as_bytes()).unwrap())).unwrap();
    plan(&Request {
        sql: sql.as_bytes(),
        tree: &tree,
        modes: Modes::default(),
        schema: "test",
        layout: &layout,
        definitions: catalog,
        parameters: &[],
        asked: Asked::default(),
    })
}

/// The rows of the statement of a shard, with their keys, in the order of the server.
pub(crate) async fn rows(client: &mut Client, sql: &str, scatter: &Scatter) -> Vec<(Vec<u8>, Key)> {
    client.query("USE test").await.unwrap();
    let branch = scatter.branches.first().unwrap();
    client.send_command(Kind::Query, branch.text.as_deref().unwrap_or(sql.as_bytes())).await.unwrap();
    let (columns, rows) = answer(client).await;
    let decoded: Vec<_> =
        columns.iter().map(|column| Column::decode(column, Capabilities::PROTOCOL_41).unwrap()).collect();
    let columns = Columns::new(Protocol::Text, &decoded, scatter.order.len()).unwrap();
    let keyed = |row: &Vec<u8>| {
        let (mut key, mut visible) = (Key::default(), Vec::new());
        columns.read_key(row, &mut key).unwrap();
        columns.put_visible(row, &mut visible).unwrap();
        (visible, key)
    };
    rows.iter().map(keyed).collect()
}

/// Columns and rows of an answer, as they came.
async fn answer(client: &mut Client) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let capabilities = client.capabilities();
    let head = client.packets().read().await.unwrap();
    let count = ColumnCount::decode(&head, capabilities).unwrap_or_else(|_| panic!("{head:?}")).count;
    let mut columns = Vec::new();
    for _ in 0..count {
        columns.push(client.packets().read().await.unwrap());
    }
    if !capabilities.contains(Capabilities::DEPRECATE_EOF) {
        client.packets().read().await.unwrap();
    }
    let mut rows = Vec::new();
    loop {
        let row = client.packets().read().await.unwrap();
        if row.first() == Some(&0xfe) {
            return (columns, rows);
        }
        assert_ne!(row.first(), Some(&0xff), "{}", String::from_utf8_lossy(&row));
        rows.push(row);
    }
}
