//! Rows in the order of their hidden keys, beside the order of the server.
//!
//! The rank of each row is asked for beside the rows: the keys of two rows that follow each
//! other rise exactly where ranks do.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use e2e::Backend;
use e2e::dice::Dice;
use planner::define::{Catalog, Known};
use planner::plan::{Plan, Scatter, Sorting};
use testkit::client::Client;

use crate::collations;
use crate::merging::{self, planned};
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

/// Texts that are longer than what servers sort by: the next key counts where they do not differ
/// before.
pub(crate) async fn of_long_texts(db: &Backend) {
    let mut types = vec![
        "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci",
        "VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci",
        "VARCHAR(1020) CHARACTER SET latin1",
        "VARBINARY(1020)",
    ];
    if db.is_mysql() {
        types.extend([
            "TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs",
            "VARCHAR(2000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
            "TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
            "TEXT CHARACTER SET latin1 COLLATE latin1_german2_ci",
            "VARBINARY(5000)",
            "BLOB",
        ]);
    }
    types::read(db, "long_texts", &types).await;
    let mut rows = Vec::new();
    for piece in ["a", "ﷺ", "ä"] {
        for times in [10, 62, 100, 250, 500, 511, 1_019] {
            for last in ["b", "", "a", " ", "!"] {
                let text = format!("CONCAT(REPEAT('{piece}', {times}), '{last}')");
                let cells = format!(", {text}").repeat(types.len());
                rows.push(format!("({}{cells})", rows.len()));
            }
        }
    }
    let mut client = connect(db).await;
    // Values that do not fit are cut.
    client.query("SET NAMES utf8mb4, sql_mode = ''").await.unwrap();
    client.query(&format!("INSERT INTO test.long_texts VALUES {}", rows.join(", "))).await.unwrap();
    let (version, catalog) = known(&mut client, "long_texts").await;
    for column in 0..types.len() {
        let sql = format!("SELECT id FROM long_texts ORDER BY c{column}, id");
        let Plan::Many(scatter) = planned(&version, "long_texts", &sql, &catalog) else { panic!("{sql}") };
        let found = merging::rows(&mut client, &sql, &scatter).await;
        assert_eq!(found.len(), rows.len());
        for pair in found.windows(2) {
            let order = scatter.order.compare(&pair[0].1, &pair[1].1);
            assert_eq!(
                order,
                Ordering::Less,
                "{sql}: {:?}",
                pair.iter().map(|(id, _)| &id[1..]).collect::<Vec<_>>()
            );
        }
    }
}

/// The version of the server, and what it says of a table.
async fn known(client: &mut Client, name: &str) -> (String, Catalog) {
    let found = table(client, "test", name).await.unwrap();
    let known = read_collations(client, &found).await;
    let mut catalog = Catalog::new(1 << 20, Duration::MAX);
    catalog.insert("test", name, Known::of(&[&found], &known), None, Duration::ZERO);
    client.query("SET sql_select_limit = DEFAULT, sql_mode = ''").await.unwrap();
    (found.version, catalog)
}

/// Asserts that the order by each column that rows merge by is the server's.
async fn check(db: &Backend, name: &str) {
    let mut client = connect(db).await;
    let (version, catalog) = known(&mut client, name).await;
    let mut merged = 0;
    for column in catalog.get("test", name).unwrap().columns.clone().unwrap() {
        for direction in ["", " DESC"] {
            let sql = format!("SELECT id FROM {name} ORDER BY {}{direction}", column.name);
            let plan = planned(&version, name, &sql, &catalog);
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

/// Asserts that keys rise where ranks do, and nowhere else.
async fn rises(
    client: &mut Client,
    sql: &str,
    scatter: &Scatter,
    (name, column, direction): (&str, &str, &str),
) {
    let ranks = format!("SELECT id, RANK() OVER (ORDER BY {column}{direction}) FROM test.{name}");
    let ranks = client.query(&ranks).await.unwrap().text().unwrap();
    let ranks: HashMap<Vec<u8>, u32> = ranks
        .into_iter()
        .map(|row| (row[0].clone().unwrap().into_bytes(), row[1].as_deref().unwrap().parse().unwrap()))
        .collect();
    let rows = merging::rows(client, sql, scatter).await;
    assert_eq!(rows.len(), ROWS, "{sql}");
    for pair in rows.windows(2) {
        let [one, other] = [&pair[0], &pair[1]].map(|(id, key)| (ranks[&id[1..]], key));
        let expected = one.0.cmp(&other.0);
        assert_ne!(expected, Ordering::Greater, "{sql}: the server does not sort by rank");
        assert_eq!(scatter.order.compare(one.1, other.1), expected, "{sql}: {:?} {:?}", one.1, other.1);
    }
}
