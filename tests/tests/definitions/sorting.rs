//! Rows in the order of their hidden keys, beside the order of the server.
//!
//! A query is planned over two shards, which are one table here. The server's rank of each row is
//! asked for beside it: the keys of two rows that follow each other rise exactly where ranks do.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use e2e::Backend;
use e2e::dice::Dice;
use shard::define::{Catalog, Known};
use shard::merge::{Columns, Key, Protocol};
use shard::placement::{Function, Level, Modulo, Sign};
use shard::plan::{Asked, Plan, Request, Scatter, Sorting, plan};
use shard::{Draft, Layout, Node, Table};
use sql::Modes;
use sql::conditional::Dialect;
use sql::parse::{Settings, Tree};
use testkit::client::Client;
use wire::command::Kind;
use wire::packet::{Column, ColumnCount};
use wire::{Capabilities, Codec as _};

use crate::collations;
use crate::reading::{collations as read_collations, connect, table};
use crate::types::{self, TYPES};

/// Rows of a table.
const ROWS: usize = 300;

/// Pieces of texts: with and without case and accents, with spaces and signs between them.
const PIECES: [&str; 40] = [
    "a", "A", "b", "B", "á", "Ä", "ä", "ß", "s", "ss", "z", "Z", " ", "  ", "\t", "!", "-", "0", "9", "10",
    "ch", "c", "h", "ll", "l", "ł", "æ", "ae", "œ", "ø", "о", "я", "Ж", "ｱ", "あ", "ア", "中", "文", "😀",
    "\u{301}",
];

pub(crate) async fn of_types(db: &Backend) {
    let seed = 30;
    let name = "typed";
    types::read(db, name, &TYPES).await;
    let mut dice = Dice::new(seed, 0);
    let mut rows = String::new();
    for id in 0..ROWS {
        let _ = write!(rows, "{}({id}", if id == 0 { "" } else { ", " });
        for of in TYPES {
            let _ = write!(rows, ", {}", value(&mut dice, of));
        }
        rows.push(')');
    }
    insert(db, name, &rows).await;
    check(db, name).await;
}

pub(crate) async fn of_texts(db: &Backend) {
    let all = if db.is_mysql() { collations::MYSQL } else { collations::MARIADB };
    for (number, of) in ["VARCHAR(20)", "CHAR(12)"].into_iter().enumerate() {
        let name = format!("texts_{number}");
        let columns = collations::columns(of, &all);
        let columns: Vec<_> = columns.iter().map(String::as_str).collect();
        types::read(db, &name, &columns).await;
        let mut dice = Dice::new(31, number);
        let mut rows = String::new();
        for id in 0..ROWS {
            let _ = write!(rows, "{}({id}", if id == 0 { "" } else { ", " });
            let text = text(&mut dice);
            for collation in all {
                let charset = collation.split('_').next().unwrap_or(collation);
                let _ = write!(rows, ", CONVERT({text} USING {charset})");
            }
            rows.push(')');
        }
        insert(db, &name, &rows).await;
        check(db, &name).await;
    }
}

async fn insert(db: &Backend, name: &str, rows: &str) {
    let mut client = connect(db).await;
    // Values that do not fit are cut.
    client.query("SET sql_mode = '', time_zone = 'Europe/Berlin'").await.ok();
    client.query("SET sql_mode = ''").await.unwrap();
    client.query(&format!("INSERT INTO test.{name} VALUES {rows}")).await.unwrap();
}

/// A text of some pieces as bytes, which both servers take as UTF-8.
fn text(dice: &mut Dice) -> String {
    let text: String = (0..dice.below(4)).map(|_| *dice.pick(&PIECES)).collect();
    let mut literal = String::from("_utf8mb4 X'");
    for byte in text.bytes() {
        let _ = write!(literal, "{byte:02x}");
    }
    literal + "'"
}

/// A value of a type, as SQL.
fn value(dice: &mut Dice, of: &str) -> String {
    if dice.chance(5) {
        return "NULL".to_owned();
    }
    let small = dice.below(7);
    let word = of.split(['(', ' ']).next().unwrap_or(of);
    match word {
        "DATE" | "DATETIME" => {
            format!("'20{:02}-0{}-1{} 02:3{small}:00.{small}5'", dice.below(3), 1 + small, small)
        }
        // The hour that summer time has twice, or all of a week.
        "TIMESTAMP" => format!("FROM_UNIXTIME({} + 0.25 * {small})", 1_729_987_200 + 900 * dice.below(12)),
        "TIME" => format!(
            "'{}{}:5{small}:0{small}.{small}5'",
            if dice.chance(30) { "-" } else { "" },
            dice.below(800)
        ),
        "YEAR" => format!("{}", 1_970 + dice.below(60)),
        "ENUM" | "SET" => format!("{}", 1 + dice.below(3)),
        "BIT" => format!("{}", dice.below(2) * 256 + dice.below(2)),
        "JSON" => format!("'[{small}]'"),
        "GEOMETRY" | "POINT" => format!("ST_GeomFromText('POINT({small} 1)')"),
        _ if of.contains("CHAR") || of.contains("TEXT") || of.contains("BLOB") || of.contains("BINARY") => {
            text(dice)
        }
        _ => {
            let sign = if dice.chance(40) && !of.contains("UNSIGNED") { "-" } else { "" };
            let digits = dice.roll() >> dice.below(64);
            format!("{sign}{}.{}e{}", digits % 1_000_000, dice.below(1_000), dice.below(9))
        }
    }
}

/// Asserts that the order by each column that rows merge by is the server's.
async fn check(db: &Backend, name: &str) {
    let mut client = connect(db).await;
    let found = table(&mut client, "test", name).await.unwrap();
    let known = read_collations(&mut client, &found).await;
    let mut catalog = Catalog::new(1 << 20, Duration::MAX);
    catalog.insert("test", name, Known::of(&[&found], &known).unwrap(), Duration::ZERO);
    client.query("SET sql_select_limit = DEFAULT, sql_mode = ''").await.unwrap();
    let mut merged = 0;
    for column in catalog.get("test", name).unwrap().columns.clone().unwrap() {
        for direction in ["", " DESC"] {
            let sql = format!("SELECT id FROM {name} ORDER BY {}{direction}", column.name);
            let plan = planned(&found.version, name, &sql, &catalog);
            if column.sorts == Sorting::None {
                assert!(matches!(plan, Plan::Refused(_)), "{sql}: {plan:?}");
                continue;
            }
            let Plan::Many(scatter) = plan else { panic!("{sql}: {plan:?}") };
            rises(&mut client, &sql, &scatter, (name, &column.name, direction)).await;
            merged += 1;
        }
    }
    assert!(merged >= 40, "{merged} orders");
}

/// The plan of a statement over two shards, each of which has the table.
fn planned(version: &str, name: &str, sql: &str, catalog: &Catalog) -> Plan {
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

/// Asserts that keys rise where ranks do, and nowhere else.
async fn rises(
    client: &mut Client,
    sql: &str,
    scatter: &Scatter,
    (name, column, direction): (&str, &str, &str),
) {
    client.query("USE test").await.unwrap();
    let ranks = format!("SELECT id, RANK() OVER (ORDER BY {column}{direction}) FROM {name}");
    let ranks = client.query(&ranks).await.unwrap().text().unwrap();
    let ranks: HashMap<Vec<u8>, u32> = ranks
        .into_iter()
        .map(|row| (row[0].clone().unwrap().into_bytes(), row[1].as_deref().unwrap().parse().unwrap()))
        .collect();
    let branch = scatter.branches.first().unwrap();
    let text = branch.text.as_deref().unwrap_or(sql.as_bytes());
    client.send_command(Kind::Query, text).await.unwrap();
    let (columns, rows) = answer(client).await;
    assert_eq!(rows.len(), ROWS, "{}", String::from_utf8_lossy(text));
    let decoded: Vec<_> =
        columns.iter().map(|column| Column::decode(column, Capabilities::PROTOCOL_41).unwrap()).collect();
    let columns = Columns::new(Protocol::Text, &decoded, scatter.order.len()).unwrap();
    let mut last: Option<(u32, Key)> = None;
    for row in &rows {
        let (mut key, mut id) = (Key::default(), Vec::new());
        columns.read_key(row, &mut key).unwrap();
        columns.put_visible(row, &mut id).unwrap();
        let rank = ranks[&id[1..]];
        if let Some((last_rank, last_key)) = &last {
            let expected = last_rank.cmp(&rank);
            assert_ne!(expected, Ordering::Greater, "{sql}: the server does not sort by rank");
            assert_eq!(scatter.order.compare(last_key, &key), expected, "{sql}: {last_key:?} {key:?}");
        }
        last = Some((rank, key));
    }
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
