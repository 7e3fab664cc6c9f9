//! Statements over a shop of four shards, and where they go.

use shard::placement::{Function, Hash, Level, Modulo, Sign};
use shard::{Draft, Group, Node, Reason, Sequence, SequenceKind, Table, TableKind, Value};
use sql::conditional::Dialect;
use sql::parse::Settings;

use super::*;
use crate::merge::Order;

mod changed;
mod counted;
mod crowded;
mod defined;
mod derived;
mod explained;
mod hinted;
mod inserted;
mod labels;
mod limited;
mod loaded;
mod numbered;
mod outlines;
mod refused;
mod routed;
mod scattered;
mod sound;
mod templates;

/// Columns that all tables of these tests have.
struct SameColumns(Vec<ColumnInfo>);

impl Definitions for SameColumns {
    fn columns(&self, _schema: &str, table: &str) -> Option<&[ColumnInfo]> {
        (table != "unknown").then_some(&self.0)
    }

    fn auto_increment(&self, _schema: &str, table: &str) -> Option<&str> {
        ["items", "notes"].contains(&table).then_some("id")
    }

    fn default_value(&self, _schema: &str, table: &str, column: &str) -> Option<Value<'_>> {
        (table == "notes" && column == "user_id").then_some(Value::Text(b"7"))
    }

    fn row_key(&self, _schema: &str, table: &str) -> Option<Vec<KeyColumn>> {
        let column = |name: &str| KeyColumn { name: name.to_owned(), written: Written::Number };
        match table {
            "notes" => None,
            "orders" => Some(["user_id", "id"].map(column).into()),
            _ => Some(vec![column("id")]),
        }
    }
}

fn columns() -> SameColumns {
    let integer = ColumnType::Integer { min: i64::MIN, max: i64::MAX.unsigned_abs() };
    let column = |name: &str, compares, sorts| ColumnInfo { name: name.to_owned(), compares, sorts };
    SameColumns(vec![
        column("id", integer, Sorting::Value),
        column("user_id", integer, Sorting::Value),
        column("name", ColumnType::Text, Sorting::Weight(Some(b"\0 ".as_slice().into()))),
        column("state", ColumnType::Other, Sorting::Number),
        column("data", ColumnType::Other, Sorting::None),
    ])
}

fn nodes(table: impl Fn(u32) -> String) -> Vec<Node> {
    (0..4).map(|n| Node { hostgroup: 10 + n, schema: "shop".to_owned(), table: table(n) }).collect()
}

fn sharded(name: &str, key: &str, nodes: Vec<Node>) -> Table {
    let function = Function::Modulo(Modulo { shards: 4, sign: Sign::Floor });
    let level = Level { columns: vec![0], function, nodes: None };
    Table::sharded(["shop", name], nodes, vec![key.to_owned()], vec![level])
}

fn sequence(table: &str) -> Sequence {
    let kind = SequenceKind::Segment { step: 100 };
    Sequence { schema: "shop".to_owned(), table: table.to_owned(), column: "id".to_owned(), kind }
}

/// All on one server, two in each schema.
fn parts() -> Vec<Node> {
    let node =
        |n: u32| Node { hostgroup: 10, schema: format!("shop_{}", n / 2), table: format!("parts_{n}") };
    (0..4).map(node).collect()
}

/// `people` by the bytes of their names.
fn people(nodes: Vec<Node>) -> Table {
    let function = Function::Hash(Hash { shards: 4, weights: false });
    let level = Level { columns: vec![0], function, nodes: None };
    Table::sharded(["shop", "people"], nodes, vec!["name".to_owned()], vec![level])
}

/// `users` by `id` and `orders` by `user_id` are colocated; the parts of `events` have numbers;
/// every server has `countries`; `prices` is on one. `items` has a sequence, `tickets` are sharded
/// by theirs, and `notes` have none.
fn layout() -> Layout {
    let named = |name: &'static str| nodes(move |_| name.to_owned());
    let table = |name: &str, kind| Table { schema: "shop".to_owned(), name: name.to_owned(), kind };
    let price = Node { hostgroup: 11, schema: "shop".to_owned(), table: "prices".to_owned() };
    let codes =
        (0..3).map(|n| Node { hostgroup: 10, schema: format!("shop_{n}"), table: "codes".to_owned() });
    let codes = codes.collect();
    let draft = Draft {
        hostgroups: vec![10, 11, 12, 13],
        tables: vec![
            sharded("users", "id", named("users")),
            sharded("orders", "user_id", named("orders")),
            sharded("events", "user_id", nodes(|n| format!("events_{n}"))),
            sharded("items", "user_id", nodes(|n| format!("items_{n}"))),
            sharded("tickets", "id", named("tickets")),
            people(named("people")),
            sharded("parts", "id", parts()),
            table("codes", TableKind::Reference { nodes: codes }),
            sharded("notes", "user_id", named("notes")),
            table("countries", TableKind::Reference { nodes: named("countries") }),
            table("prices", TableKind::Single { node: price }),
        ],
        groups: vec![Group { schema: "shop".into(), tables: vec!["users".into(), "orders".into()] }],
        sequences: ["items", "tickets"].map(sequence).into(),
        homes: Vec::new(),
    };
    Layout::new(draft).unwrap()
}

fn planned(sql: &str, parameters: &[Value<'_>]) -> Plan {
    asking(sql, parameters, Asked::default())
}

fn asking(sql: &str, parameters: &[Value<'_>], asked: Asked<'_>) -> Plan {
    with_asked(sql, parameters, asked, plan)
}

fn with_request<T>(sql: &str, parameters: &[Value<'_>], use_it: impl FnOnce(&Request<'_>) -> T) -> T {
    with_asked(sql, parameters, Asked::default(), use_it)
}

fn with_asked<T>(
    sql: &str,
    parameters: &[Value<'_>],
    asked: Asked<'_>,
    use_it: impl FnOnce(&Request<'_>) -> T,
) -> T {
    let mut tree = Tree::default();
    tree.read(sql.as_bytes(), &Settings::of(Dialect::of(b"8.4.3").unwrap())).unwrap();
    let (layout, definitions) = (layout(), columns());
    let parameters: Vec<_> = parameters.iter().copied().map(Some).collect();
    let request = Request {
        sql: sql.as_bytes(),
        tree: &tree,
        modes: Modes::default(),
        schema: "shop",
        layout: &layout,
        definitions: &definitions,
        parameters: &parameters,
        asked,
    };
    use_it(&request)
}

fn text(branch: &Branch) -> Option<&str> {
    branch.text.as_deref().map(|text| std::str::from_utf8(text).unwrap())
}
