//! What plans cost. Prints, asserts nothing about time:
//! `cargo test -p planner --release --test figures -- --ignored --nocapture`.

use std::time::Instant;

use planner::plan::{Asked, ColumnInfo, Definitions, Request, Sorting};
use shard::placement::{Function, Level, Modulo, Sign};
use shard::{ColumnType, Draft, Layout, Node, Table};

/// Columns of `orders` and of whatever else a statement names.
struct Columns(Vec<ColumnInfo>);

impl Definitions for Columns {
    fn columns(&self, _schema: &str, _table: &str) -> Option<&[ColumnInfo]> {
        Some(&self.0)
    }
}

/// Texts of about 60 KB, whose parts repeat.
fn crowded() -> Vec<(&'static str, String)> {
    let all = |count: usize, between: &str, part: &dyn Fn(usize) -> String| {
        (0..count).map(part).collect::<Vec<_>>().join(between)
    };
    let from = "SELECT * FROM orders WHERE ";
    vec![
        ("or", from.to_owned() + &all(3_750, " OR ", &|i| format!("user_id={i}"))),
        ("comparisons", format!("{from}user_id{}", " = 1".repeat(14_000))),
        ("and of or", from.to_owned() + &all(1_800, " AND ", &|i| format!("(user_id={i} OR user_id={i})"))),
        ("aggregates", format!("SELECT {} FROM orders", all(3_400, ",", &|i| format!("SUM(user_id+{i})")))),
        (
            "order",
            format!(
                "SELECT {} FROM orders ORDER BY {}",
                all(3_400, ",", &|i| format!("user_id AS a{i}")),
                all(60, ",", &|i| format!("a{i}"))
            ),
        ),
        ("in", format!("{from}user_id IN ({})", all(11_000, ",", &|i| i.to_string()))),
        (
            "joins",
            "SELECT * FROM orders a0".to_owned()
                + &all(1_200, "", &|i| {
                    format!(" JOIN orders a{} ON a{}.user_id = a{i}.user_id", i + 1, i + 1)
                }),
        ),
        (
            "subqueries",
            from.to_owned()
                + &all(1_100, " AND ", &|_| "id IN (SELECT id FROM orders WHERE user_id = 1)".into()),
        ),
        (
            "deep",
            format!(
                "{from}user_id = 1{}",
                " AND (SELECT user_id FROM orders WHERE id = id) = 1".repeat(1_150)
            ),
        ),
        ("union", all(1_500, " UNION ALL ", &|i| format!("SELECT * FROM orders WHERE id = {i}"))),
        ("names", format!("SELECT {} FROM orders", all(3_700, ", ", &|_| "orders.user_id".into()))),
        (
            "update",
            format!("UPDATE orders SET {} WHERE user_id = 1", all(4_500, ", ", &|_| "user_id = 1".into())),
        ),
        (
            "between",
            format!("{from}user_id BETWEEN 0 AND 9 AND {}", all(3_900, " AND ", &|i| format!("user_id>{i}"))),
        ),
        (
            "derived",
            format!("SELECT {} FROM (SELECT * FROM orders) d", all(3_500, ", ", &|_| "d.user_id + 1".into())),
        ),
    ]
}

#[test]
#[ignore = "prints figures; run it in release on an idle machine"]
fn plans() {
    let integer = ColumnType::Integer { min: i64::MIN, max: i64::MAX.unsigned_abs() };
    let info = |name: &str| ColumnInfo { name: name.to_owned(), compares: integer, sorts: Sorting::Value };
    let definitions = Columns(["id", "user_id"].map(info).into());
    for names in [["orders", "orders"], ["orders_0", "orders_1"]] {
        let node = |(hostgroup, name): (u32, &str)| Node {
            hostgroup,
            schema: "shop".to_owned(),
            table: name.to_owned(),
        };
        let nodes = (1..).zip(names).map(node).collect();
        let level = Level {
            columns: vec![0],
            function: Function::Modulo(Modulo { shards: 2, sign: Sign::Floor }),
            nodes: None,
        };
        let table = Table::sharded(["shop", "orders"], nodes, vec!["user_id".to_owned()], vec![level]);
        let draft = Draft { hostgroups: vec![1, 2], tables: vec![table], ..Draft::default() };
        let layout = Layout::new(draft).unwrap();
        for (name, text) in crowded() {
            let mut tree = sql::parse::Tree::default();
            let start = Instant::now();
            let settings = sql::parse::Settings::of(sql::Dialect::of(b"8.4.3").unwrap());
            let read = tree.read(text.as_bytes(), &settings).map(|_| ());
            let reading = start.elapsed();
            let request = Request {
                sql: text.as_bytes(),
                tree: &tree,
                modes: sql::Modes::default(),
                schema: "shop",
                layout: &layout,
                definitions: &definitions,
                parameters: &[],
                asked: Asked::default(),
            };
            let start = Instant::now();
            let plan = read.is_ok().then(|| planner::plan::plan(&request));
            let planning = start.elapsed();
            let shown: String = format!("{plan:?}").chars().take(90).collect();
            println!(
                "{name}, {} bytes, {} nodes: read in {reading:?}, planned in {planning:?} {shown}",
                text.len(),
                tree.len()
            );
        }
    }
}
