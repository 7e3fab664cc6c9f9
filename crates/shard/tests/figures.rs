//! What look-ups cost. Prints, asserts nothing about time:
//! `cargo test -p shard --release --test figures -- --ignored --nocapture`.

use std::hint::black_box;
use std::time::Instant;

use shard::groovy::Template;
use shard::placement::gaea::Murmur;
use shard::placement::sphere::{HashMod, Inline};
use shard::placement::{Function, Hash, Level, Modulo, Ranges, Sign};
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
