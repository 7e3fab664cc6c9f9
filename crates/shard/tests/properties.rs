//! No shard is pruned that has a row which meets the condition: random functions and conditions
//! against all keys of a small range, each placed alone. And no text makes a reader panic.

use std::ops::Bound;
use std::path::Path;

use proptest::prelude::*;
use shard::groovy::{Template, expand};
use shard::placement::gaea::{Murmur, Slots};
use shard::placement::sphere::{AutoInterval, CutMod, HashMod, Inline};
use shard::placement::{
    Dates, Function, Hash, Intervals, Item, Level, List, Modulo, Ranges, Sign, Step, StepUnit, Unit,
};
use shard::read::{Options, kingshard, own, sphere};
use shard::{
    ColumnType, Condition, DateTime, Draft, Layout, Node, Placement, Prune, Shard, Table, Test, Value,
};

/// Integers that rows have.
const KEYS: std::ops::RangeInclusive<i64> = -60..=60;
/// Beginning of the times that rows have: 60 days before and after it.
const NOON: i64 = 1_709_208_000;

const DATETIME: ColumnType = ColumnType::DateTime { fraction_digits: 0 };
const BIGINT: ColumnType = ColumnType::Integer { min: i64::MIN, max: u64::MAX };

/// Functions over integers, with their numbers of shards.
fn integers(shards: u32, choice: usize) -> Function {
    let names: Vec<String> = (0..shards).map(|number| format!("t_{number}")).collect();
    let inline =
        |source: String| Function::Inline(Inline::new(Template::parse(&source, &["k"]).unwrap(), &names));
    let bounds = |count: u32| (0..count).map(|bound| i64::from(bound) * 20 - 50).collect::<Vec<_>>();
    match choice {
        0 => Function::Modulo(Modulo { shards, sign: Sign::Floor }),
        1 => Function::Modulo(Modulo { shards, sign: Sign::Absolute }),
        2 => Function::Hash(Hash { shards, weights: false }),
        3 => Function::Ranges(Ranges::open(bounds(shards - 1)).unwrap()),
        4 => Function::Ranges(Ranges::closed(bounds(shards + 1)).unwrap()),
        5 => Function::HashMod(HashMod { shards, normalized: false }),
        6 => Function::CutMod(CutMod { shards, start: 1, stop: 0 }),
        7 => Function::Murmur(Murmur::new(3, shards, 16).unwrap()),
        8 => Function::Slots(Slots::new(&[1, shards - 1], &[1_025 - shards, 1], None).unwrap()),
        9 => inline(format!("t_${{k % {shards}}}")),
        10 => inline(format!("t_${{Math.abs(k.hashCode() * 7 + 1) % {shards}}}")),
        _ => {
            let items = KEYS.filter(|key| key % 3 != 0);
            let shard = |key: i64| Shard::try_from(key.unsigned_abs()).unwrap() % shards;
            List::new(items.map(|key| (Item::Integer(key), shard(key))).collect(), Some(shards - 1))
                .map(Function::List)
                .unwrap()
        }
    }
}

/// Functions over times.
fn times(choice: usize) -> Function {
    let time = |days: i64| DateTime::from_seconds(NOON + days * 86_400).unwrap();
    let dates = |unit: Unit| {
        let mut numbers: Vec<u32> = (-50..50).map(|day| unit.number(time(day).date())).collect();
        numbers.dedup();
        Function::Dates(Dates::new(unit, numbers, 0).unwrap())
    };
    match choice {
        0 => dates(Unit::Day),
        1 => dates(Unit::Month),
        2 => dates(Unit::Year),
        3 => Function::AutoInterval(AutoInterval::new(time(-40), time(40), 777_777).unwrap()),
        _ => {
            let step = Step { amount: 5, unit: StepUnit::Days };
            let beginnings = Intervals::beginnings(time(-40), time(40), step).unwrap();
            let shared = beginnings.into_iter().zip((0..).map(|interval: Shard| interval / 3));
            Function::Intervals(Intervals::new(&shared.collect::<Vec<_>>(), step).unwrap())
        }
    }
}

fn placement(function: Function) -> Placement {
    let node = |number| Node { hostgroup: 0, schema: "s".to_owned(), table: format!("t_{number}") };
    let nodes: Vec<Node> = (0..function.shards()).map(node).collect();
    let level = Level { columns: vec![0], function, nodes: None };
    let table = Table::sharded(["s", "t"], nodes, vec!["k".to_owned()], vec![level]);
    let draft = Draft { hostgroups: vec![0], tables: vec![table], ..Draft::default() };
    let layout = Layout::new(draft).unwrap();
    layout.table("s", "t").unwrap().placement().unwrap().clone()
}

/// Which shards may be asked.
fn is_asked(pruned: &Prune, shard: Shard) -> bool {
    match pruned {
        Prune::One(one) => *one == shard,
        Prune::Some(some) => some.as_slice().contains(&shard),
        Prune::All(_) => true,
    }
}

fn bound(kind: u8, value: Value<'static>) -> Bound<Value<'static>> {
    match kind {
        0 => Bound::Included(value),
        1 => Bound::Excluded(value),
        _ => Bound::Unbounded,
    }
}

fn meets(key: i64, lower: Bound<i64>, upper: Bound<i64>) -> bool {
    std::ops::RangeBounds::contains(&(lower, upper), &key)
}

fn plain(kind: u8, value: i64) -> Bound<i64> {
    match kind {
        0 => Bound::Included(value),
        1 => Bound::Excluded(value),
        _ => Bound::Unbounded,
    }
}

proptest! {
    #[test]
    fn integer_rows_are_found(
        shards in 2_u32..9,
        choice in 0_usize..12,
        list in prop::collection::vec(KEYS, 1..6),
        ends in (KEYS, KEYS, 0_u8..3, 0_u8..3),
    ) {
        let placement = placement(integers(shards, choice));
        let values: Vec<_> = list.iter().map(|key| Value::Signed(*key)).collect();
        let condition = |test| [Condition { column: BIGINT, test }];
        let in_list = placement.prune(&condition(Test::In(&values)));
        let (lower, upper, kind, other) = ends;
        let range = Test::Range(bound(kind, Value::Signed(lower)), bound(other, Value::Signed(upper)));
        let in_range = placement.prune(&condition(range));
        for key in KEYS {
            let Ok(shard) = placement.place(&[(BIGINT, Value::Signed(key))]) else { continue };
            let equal = placement.prune(&condition(Test::Equal(Value::Signed(key))));
            prop_assert!(is_asked(&equal, shard), "{key}");
            prop_assert!(!list.contains(&key) || is_asked(&in_list, shard), "{key}");
            let is_met = meets(key, plain(kind, lower), plain(other, upper));
            prop_assert!(!is_met || is_asked(&in_range, shard), "{key}");
        }
    }

    #[test]
    fn rows_with_times_are_found(
        choice in 0_usize..5,
        ends in (-60_i64..60, -60_i64..60, 0_u8..3, 0_u8..3),
        second in 0_i64..86_400,
    ) {
        let placement = placement(times(choice));
        let time = |day: i64| Value::DateTime(DateTime::from_seconds(NOON + day * 86_400 + second).unwrap());
        let (lower, upper, kind, other) = ends;
        let test = Test::Range(bound(kind, time(lower)), bound(other, time(upper)));
        let pruned = placement.prune(&[Condition { column: DATETIME, test }]);
        for day in -60..=60 {
            let Ok(shard) = placement.place(&[(DATETIME, time(day))]) else { continue };
            let is_met = meets(day, plain(kind, lower), plain(other, upper));
            prop_assert!(!is_met || is_asked(&pruned, shard), "{day}");
        }
    }

    #[test]
    fn expressions_never_panic(source in "[a-z0-9_.${}()+*%'\\[\\], -]{0,40}") {
        let _ = expand(&source);
        let _ = Template::parse(&source, &["k"]);
    }

    #[test]
    fn files_never_panic(cut in 0_usize..3_000, put in "[:\\-\\[\\]{}&*!# \na-z0-9]{0,6}") {
        for text in [
            include_str!("golden/kingshard.yaml"),
            include_str!("golden/sphere-5.yaml"),
            include_str!("golden/sphere-4.yaml"),
            include_str!("golden/own.toml"),
        ] {
            let at = cut % text.len();
            let changed = format!("{}{put}{}", &text[..at], &text[(at + put.len()).min(text.len())..]);
            let file = Path::new("changed");
            let _ = kingshard(file, &changed, Options::default());
            let _ = sphere(&[(file, &changed)], Options::default());
            let _ = own(file, &changed, &[1, 2]);
        }
    }
}
