//! A template says of every statement with its outline what the planner says of that statement, in
//! all modes and for tables and columns of any name.

use proptest::prelude::*;
use shard::placement::{Dates, Item, List, Ranges, Unit};
use sql::lexer::Charset;
use sql::{Digest, Options, Outline};

use super::super::{Goes, Template};
use super::*;

/// Columns with names that hold digits and quotes, and of all types that keys have.
struct OddColumns(Vec<ColumnInfo>);

impl Definitions for OddColumns {
    fn columns(&self, _schema: &str, _table: &str) -> Option<&[ColumnInfo]> {
        Some(&self.0)
    }
}

fn odd_columns() -> OddColumns {
    let SameColumns(mut all) = columns();
    let mut add = |name: &str, compares| {
        all.push(ColumnInfo { name: name.to_owned(), compares, sorts: Sorting::Value });
    };
    let integer = ColumnType::Integer { min: i64::MIN, max: i64::MAX.unsigned_abs() };
    add("key 1", integer);
    add("key 2", integer);
    add("5", integer);
    add("6", integer);
    add("day", ColumnType::Date);
    add("code", ColumnType::Bytes { length_max: 20 });
    OddColumns(all)
}

/// Tables by all kinds of functions. `logs-1` and `logs-2` have their nodes in other orders, and so
/// have `2024` and `2025`.
fn odd_layout() -> Layout {
    let table = |name: &str, key: &str, turn: u32, function| {
        let node = |n: u32| Node {
            hostgroup: 10 + (n + turn) % 4,
            schema: "shop".to_owned(),
            table: name.to_owned(),
        };
        let level = Level { columns: vec![0], function, nodes: None };
        Table::sharded(["shop", name], (0..4).map(node).collect(), vec![key.to_owned()], vec![level])
    };
    let modulo = || Function::Modulo(Modulo { shards: 4, sign: Sign::Floor });
    let days = vec![20_261_126, 20_261_127, 20_261_128, 20_261_129];
    let items = (0..4).map(|n: u32| (Item::Integer(n.into()), n));
    let parts = |n: u32| Node { hostgroup: 10 + n, schema: "shop".to_owned(), table: format!("parts_{n}") };
    let level = Level { columns: vec![0], function: modulo(), nodes: None };
    let draft = Draft {
        hostgroups: vec![10, 11, 12, 13],
        tables: vec![
            table("orders", "user_id", 0, modulo()),
            table("logs-1", "user_id", 0, modulo()),
            table("logs-2", "user_id", 1, modulo()),
            table("2024", "user_id", 0, modulo()),
            table("2025", "user_id", 1, modulo()),
            table("keyed", "key 1", 0, modulo()),
            table("numbered", "5", 0, modulo()),
            table("people", "code", 0, Function::Hash(Hash { shards: 4, weights: false })),
            table("days", "day", 0, Function::Dates(Dates::new(Unit::Day, days, 0).unwrap())),
            table("spans", "id", 0, Function::Ranges(Ranges::closed(vec![0, 5, 8, 11, 100]).unwrap())),
            table("lists", "user_id", 0, Function::List(List::new(items.collect(), None).unwrap())),
            Table::sharded(
                ["shop", "parts"],
                (0..4).map(parts).collect(),
                vec!["user_id".into()],
                vec![level],
            ),
        ],
        ..Draft::default()
    };
    Layout::new(draft).unwrap()
}

fn in_modes<T>(
    sql: &[u8],
    modes: Modes,
    layout: &Layout,
    parameters: &[Option<Value<'_>>],
    use_it: impl FnOnce(&Request<'_>) -> T,
) -> Option<T> {
    let mut tree = Tree::default();
    let settings = Settings { modes, ..Settings::of(Dialect::of(b"8.4.3").unwrap()) };
    tree.read(sql, &settings).ok()?;
    let definitions = odd_columns();
    let request = Request {
        sql,
        tree: &tree,
        modes,
        schema: "shop",
        layout,
        definitions: &definitions,
        parameters,
        asked: Asked::default(),
    };
    Some(use_it(&request))
}

/// Tables with their keys, as statements write them.
const TABLES: [(&str, &str); 16] = [
    ("orders", "user_id"),
    ("orders AS o", "o.user_id"),
    ("shop.orders", "`user_id`"),
    ("`logs-1`", "user_id"),
    ("`logs-2`", "`logs-2`.user_id"),
    ("shop.2024", "user_id"),
    ("shop.2025 `a'b`", "`a'b`.user_id"),
    ("keyed", "`key 1`"),
    ("numbered n", "n.5"),
    ("people", "code"),
    ("people AS `it's`", "`it's`.code"),
    ("days", "day"),
    ("spans", "id"),
    ("lists", "user_id"),
    ("parts", "user_id"),
    ("\"orders\"", "\"user_id\""),
];

/// Conditions: `K` is the key, `V` a value.
const KEYED: [&str; 18] = [
    "K = V",
    "V = K",
    "(K) = (V)",
    "K IN (V)",
    "K IN (V, V)",
    "K IN (V, V, V, V, V)",
    "K BETWEEN V AND V",
    "K > V",
    "V >= K",
    "K <= V",
    "K <=> V",
    "K NOT IN (V, V)",
    "NOT K = V",
    "(K = V OR id = V)",
    "K = -V",
    "K IN ({d V}, {d V}, {d V}, {d V}, {d V}, {d V}, {d V}, {d V})",
    "K = V = 1",
    "K = V XOR id = 1",
];

const OTHERS: [&str; 22] = [
    "id = V",
    "name < V",
    "name = 'it''s'",
    "name = 'a\\'",
    "name = 'a\\'b'",
    "name <> \"it's\"",
    "state = \"x\"",
    "\"id\" = V",
    "name = \"id\"",
    "`a'b` > 1",
    "`6` > V",
    "id > x'37'",
    "name = _utf8'a'",
    "name = N'a'",
    "id < 0x10",
    "id < 1.5",
    "id IN (SELECT 1)",
    "id IN (SELECT V LIMIT V)",
    "id > .5",
    "name = 'a' 'b'",
    "name = '\u{e4}\u{5c3d}'",
    "id = 5 /* it's 7 */",
];

const ITEMS: [&str; 9] = [
    "*",
    "id",
    "id, V",
    "name AS 'x', id",
    "name `1x`",
    "DISTINCT id",
    "COUNT(*)",
    "id AS V",
    "name AS \"y\"",
];

const ENDS: [&str; 10] = [
    "",
    "",
    "",
    " ORDER BY id",
    " ORDER BY 1",
    " LIMIT 3",
    " LIMIT V",
    " ORDER BY id DESC LIMIT 2, V",
    " FOR UPDATE",
    " GROUP BY V",
];

const VALUES: [&str; 18] = [
    "6",
    "7",
    "8",
    "0",
    "1",
    "3",
    "9",
    "007",
    "18446744073709551616",
    "9223372036854775808",
    "'6'",
    "'7'",
    "'7abc'",
    "'2026-11-27'",
    "'2026-11-28'",
    "''",
    "'abc'",
    "NULL",
];

/// What may stand in the place of a plain value with this quote.
fn others(quote: u8) -> &'static [&'static str] {
    match quote {
        b'\'' => &[
            "'6'",
            "'7'",
            "'8'",
            "'2026-11-29'",
            "'b'",
            "'it''s'",
            "'; --'",
            "' OR 1=1 OR '",
            "'b` > 0 OR `c'",
            "'\u{e4}'",
            "'id'",
        ],
        b'"' => &["\"id\"", "\"6\"", "\"7\"", "\" OR 1=1 OR state <> \"", "\"logs-2\"", "\"it's\""],
        _ => &["6", "7", "8", "0", "2", "11", "2025", "99999999999999999999", "0009"],
    }
}

/// A statement with other plain values in the places of those of its outline.
fn filled(outline: &Outline, sql: &str, mut pick: impl FnMut() -> usize) -> String {
    let (mut out, mut from) = (String::new(), 0);
    for value in outline.values() {
        out.push_str(&sql[from..value.start]);
        let all = others(sql.as_bytes()[value.start]);
        let number = pick() % (all.len() + 1);
        out.push_str(all.get(number).unwrap_or(&&sql[value.start..value.end]));
        from = value.end;
    }
    out.push_str(&sql[from..]);
    out
}

fn outline(sql: &str) -> Option<Outline> {
    let mut digest = Digest::default();
    digest.read(sql.as_bytes(), &Options::default());
    Outline::of(sql.as_bytes(), &digest)
}

/// A statement, or an execution with these parameters.
type Said<'a> = (&'a str, &'a [Option<Value<'a>>]);

/// Whether a template says anything of the second statement. What it says is what the planner does.
fn agrees((one, values): Said<'_>, (other, other_values): Said<'_>, modes: Modes, layout: &Layout) -> bool {
    let made = in_modes(one.as_bytes(), modes, layout, values, |request| match plan(request) {
        Plan::One(branch) => Some((Template::of(request, &[branch])?, None)),
        Plan::Many(plan) => Some((Template::of(request, &plan.branches)?, Some(plan))),
        _ => None,
    });
    let Some((template, first)) = made.flatten() else { return false };
    let Some(goes) = template.goes(layout, other.as_bytes(), other_values) else { return false };
    let planned = in_modes(other.as_bytes(), modes, layout, other_values, plan);
    let of = || format!("{modes:?}\n{one} {values:?}\n{other} {other_values:?}\n{goes:?}\n{planned:?}");
    match (&goes, &planned) {
        (Goes::One(branch), Some(Plan::One(plan))) => assert_eq!(branch, plan, "{}", of()),
        (Goes::Many(branches), Some(Plan::Many(plan))) => {
            let first = first.as_ref().unwrap();
            assert_eq!((&first.order, &first.window), (&plan.order, &plan.window), "{}", of());
            assert_eq!(branches, &plan.branches, "{}", of());
        }
        _ => panic!("{}", of()),
    }
    true
}

fn modes() -> impl Strategy<Value = Modes> {
    let charset = prop::sample::select(vec![Charset::Plain, Charset::Plain, Charset::Gbk, Charset::Sjis]);
    (0..4u8, charset).prop_map(|(bits, charset)| Modes {
        ansi_quotes: bits & 1 != 0,
        no_backslash_escapes: bits & 2 != 0,
        charset,
    })
}

fn value() -> impl Strategy<Value = Option<Value<'static>>> {
    let day = |day| shard::Date::new(2026, 11, day).unwrap();
    prop::sample::select(vec![
        None,
        Some(Value::Null),
        Some(Value::Signed(6)),
        Some(Value::Signed(7)),
        Some(Value::Signed(-1)),
        Some(Value::Signed(3)),
        Some(Value::Unsigned(8)),
        Some(Value::Unsigned(u64::MAX)),
        Some(Value::Text(b"7")),
        Some(Value::Text(b"7x")),
        Some(Value::Text(b"2026-11-28")),
        Some(Value::Date(day(27))),
        Some(Value::Date(day(29))),
    ])
}

/// A statement with one condition for the key. Values are parameters mostly, if any is.
fn statements(are_parameters: bool) -> impl Strategy<Value = String> {
    let of = |all: &'static [&'static str]| prop::sample::select(all);
    let others = prop::collection::vec(of(&OTHERS), 0..4);
    let key = prop::sample::select(&TABLES[..]);
    let values = prop::collection::vec(of(&VALUES), 24);
    let parts = (of(&ITEMS), key, of(&KEYED), others, of(&ENDS), 0..4usize, any::<bool>());
    (parts, values).prop_map(move |((items, (table, key), keyed, others, end, at, is_derived), values)| {
        let mut all: Vec<String> = others.iter().map(|one| (*one).to_owned()).collect();
        all.insert(at.min(all.len()), keyed.replace('K', key));
        let mut sql = format!("SELECT {items} FROM {table} WHERE {}{end}", all.join(" AND "));
        if is_derived && items != "*" && at == 3 {
            sql = format!("SELECT 1 FROM ({sql}) AS d");
        }
        let mut values =
            values.into_iter().map(|value| if are_parameters && value != "0" { "?" } else { value });
        while let Some(place) = sql.find('V') {
            let is_word = sql[place..].starts_with("VA");
            sql.replace_range(place..=place, if is_word { "v" } else { values.next().unwrap_or("1") });
        }
        sql
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn statements_of_one_outline_go_where_the_planner_says(
        one in statements(false),
        modes in modes(),
        picks in prop::collection::vec(any::<usize>(), 1..40),
    ) {
        if let Some(outline) = outline(&one) {
            let layout = odd_layout();
            let mut picks = picks.into_iter().cycle();
            for _ in 0..4 {
                let other = filled(&outline, &one, || picks.next().unwrap_or_default());
                prop_assert!(outline.fits(other.as_bytes()));
                agrees((&one, &[]), (&other, &[]), modes, &layout);
            }
        }
    }

    #[test]
    fn executions_go_where_the_planner_says(
        sql in statements(true),
        sets in prop::collection::vec(prop::collection::vec(value(), 24), 5),
    ) {
        let layout = odd_layout();
        for values in &sets {
            agrees((&sql, &sets[0]), (&sql, values), Modes::default(), &layout);
        }
    }

    /// Of several conditions a template may look at another one than the planner, and at one only.
    #[test]
    fn no_row_is_missed_whose_key_meets_several_conditions(
        conditions in prop::collection::vec((0..6usize, [0..14i64, 0..14, 0..14, 0..14]), 2..4),
        others in prop::collection::vec([0..14i64, 0..14, 0..14, 0..14], 3),
        is_mod in any::<bool>(),
    ) {
        let (table, key) = if is_mod { ("orders", "user_id") } else { ("spans", "id") };
        let text = |(kind, [a, b, c, d]): (usize, [i64; 4])| match kind {
            0 => format!("{key} = {a}"),
            1 => format!("{key} IN ({a}, {b})"),
            2 => format!("{key} IN ({a}, {b}, {c}, {d})"),
            3 => format!("{key} BETWEEN {a} AND {b}"),
            4 => format!("{key} > {a}"),
            _ => format!("{a} >= {key}"),
        };
        let meets = |value: i64, (kind, [a, b, c, d]): (usize, [i64; 4])| match kind {
            0 => value == a,
            1 => [a, b].contains(&value),
            2 => [a, b, c, d].contains(&value),
            3 => (a..=b).contains(&value),
            4 => value > a,
            _ => a >= value,
        };
        let other = conditions.iter().zip(&others).map(|((kind, _), values)| (*kind, *values));
        let other: Vec<_> = other.collect();
        let sql = |all: &[(usize, [i64; 4])]| {
            let all: Vec<_> = all.iter().map(|one| text(*one)).collect();
            format!("SELECT * FROM {table} WHERE {}", all.join(" AND "))
        };
        let (one, two, layout) = (sql(&conditions), sql(&other), odd_layout());
        let goes = in_modes(one.as_bytes(), Modes::default(), &layout, &[], |request| {
            let template = match plan(request) {
                Plan::One(branch) => Template::of(request, &[branch]),
                Plan::Many(plan) => Template::of(request, &plan.branches),
                _ => None,
            };
            template?.goes(&layout, two.as_bytes(), &[])
        });
        let all = match goes.flatten() {
            Some(Goes::One(branch)) => vec![branch],
            Some(Goes::Many(branches)) => branches,
            None => return Ok(()),
        };
        for value in (0..100).filter(|value| other.iter().all(|one| meets(*value, *one))) {
            let shard = if is_mod { value % 4 } else { [5, 8, 11].iter().filter(|end| value >= **end).map(|_| 1).sum() };
            let has = all.iter().any(|branch| i64::from(branch.hostgroup) == 10 + shard);
            prop_assert!(has, "{one}\n{two}\n{value} {all:?}");
        }
    }
}

#[test]
fn names_that_have_values_in_an_outline_have_no_template() {
    let layout = odd_layout();
    let modes = Modes::default();
    let ansi = Modes { ansi_quotes: true, ..modes };
    let raw = Modes { no_backslash_escapes: true, ..modes };
    for (modes, one, other, expected) in [
        (modes, "SELECT id FROM orders WHERE user_id = 6", "SELECT id FROM orders WHERE user_id = 7", true),
        (
            ansi,
            "SELECT id FROM orders WHERE user_id = '6'",
            "SELECT id FROM orders WHERE user_id = '7'",
            true,
        ),
        (raw, "SELECT id FROM orders WHERE user_id = 6", "SELECT id FROM orders WHERE user_id = 7", true),
        (
            modes,
            "SELECT * FROM `logs-1` WHERE user_id = 6",
            "SELECT * FROM `logs-2` WHERE user_id = 6",
            false,
        ),
        (
            modes,
            "SELECT * FROM shop.2024 WHERE user_id = 6",
            "SELECT * FROM shop.2025 WHERE user_id = 6",
            false,
        ),
        (modes, "SELECT * FROM keyed WHERE `key 1` = 6", "SELECT * FROM keyed WHERE `key 2` = 6", false),
        (modes, "SELECT * FROM numbered n WHERE n.5 = 6", "SELECT * FROM numbered n WHERE n.6 = 6", false),
        (ansi, "SELECT * FROM orders WHERE \"user_id\" = 6", "SELECT * FROM orders WHERE \"id\" = 6", false),
        (
            raw,
            r"SELECT id FROM orders WHERE user_id = 6 AND name = 'a\' AND name <> 'x' AND `a'b` > 0",
            r"SELECT id FROM orders WHERE user_id = 6 AND name = 'a\' AND name <> 'x' OR `a'b` > 0",
            false,
        ),
    ] {
        assert_eq!(agrees((one, &[]), (other, &[]), modes, &layout), expected, "{modes:?} {one}");
    }
}

#[test]
fn a_text_in_braces_is_no_text() {
    let layout = odd_layout();
    let sql = |values: [&str; 4]| {
        let [a, b, c, d] = values;
        format!("SELECT id FROM people WHERE code IN ({{d '{a}'}}, {{d '{b}'}}, {{d '{c}'}}, {{d '{d}'}})")
    };
    let all = sql(["2026-11-20", "2026-11-21", "2026-11-22", "2026-11-23"]);
    for n in 0..200 {
        let days = [n, n + 1, n + 2, n + 3].map(|n| format!("20{:02}-11-{:02}", n / 28, n % 28 + 1));
        let one = sql([&days[0], &days[1], &days[2], &days[3]]);
        agrees((&one, &[]), (&all, &[]), Modes::default(), &layout);
        agrees((&one, &[]), (&sql([&days[0]; 4]), &[]), Modes::default(), &layout);
    }
}
