//! What look-ups and plans cost. Prints, asserts nothing about time:
//! `cargo test -p shard --release --test figures -- --ignored --nocapture`.

use std::hint::black_box;
use std::time::Instant;

use shard::groovy::Template;
use shard::placement::gaea::Murmur;
use shard::placement::sphere::{HashMod, Inline};
use shard::placement::{Function, Hash, Level, Modulo, Ranges, Sign};
use shard::plan::{Asked, ColumnInfo, Definitions, Request, Sorting};
use shard::{ColumnType, Condition, Draft, Layout, Node, Table, Test, Value};

/// Look-ups of one round.
const ROUND: u32 = 100_000;

/// Nanoseconds that a look-up in a table takes, at best of seven rounds: the table by its name, and
/// the shard of a key.
fn cost(function: Function, column: ColumnType, text: bool) -> f64 {
    let node = |number| Node { hostgroup: 1, schema: "shop".to_owned(), table: format!("t_{number}") };
    let nodes = (0..function.shards()).map(node).collect();
    let level = Level { columns: vec![0], function, nodes: None };
    let table = Table::sharded(["shop", "t"], nodes, vec!["k".to_owned()], vec![level]);
    let draft = Draft { hostgroups: vec![1], tables: vec![table], ..Draft::default() };
    let layout = Layout::new(draft).unwrap();
    let mut best = f64::MAX;
    for _ in 0..7 {
        let start = Instant::now();
        for key in 0..ROUND {
            let value = if text { Value::Text(b"some user's name") } else { Value::Signed(key.into()) };
            let condition = Condition { column, test: Test::Equal(black_box(value)) };
            let table = layout.table(black_box("shop"), black_box("t")).unwrap();
            black_box(table.placement().unwrap().prune(&[condition]));
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(ROUND));
    }
    best
}

#[test]
#[ignore = "prints figures; run it in release on an idle machine"]
fn look_ups() {
    let names: Vec<String> = (0..8).map(|number| format!("t_{number}")).collect();
    let inline = |source| Function::Inline(Inline::new(Template::parse(source, &["k"]).unwrap(), &names));
    let integer = ColumnType::Integer { min: i64::MIN, max: u64::MAX };
    let bytes = ColumnType::Bytes { length_max: 64 };
    for (name, function) in [
        ("mod", Function::Modulo(Modulo { shards: 8, sign: Sign::Floor })),
        ("hash", Function::Hash(Hash { shards: 8, weights: false })),
        ("range", Function::Ranges(Ranges::open((1..1_000).map(|bound| bound * 1_000).collect()).unwrap())),
        ("hash_mod", Function::HashMod(HashMod { shards: 8, normalized: false })),
        ("consistent", Function::Murmur(Murmur::new(0, 8, 160).unwrap())),
        ("inline k % 8", inline("t_${k % 8}")),
    ] {
        println!("{name}, integers: {:.0} ns", cost(function, integer, false));
    }
    for (name, function) in [
        ("hash", Function::Hash(Hash { shards: 8, weights: false })),
        ("consistent", Function::Murmur(Murmur::new(0, 8, 160).unwrap())),
        ("inline k.hashCode()", inline("t_${Math.abs(k.hashCode() % 8)}")),
    ] {
        println!("{name}, texts: {:.0} ns", cost(function, bytes, true));
    }
}

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
            let plan = read.is_ok().then(|| shard::plan::plan(&request));
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
