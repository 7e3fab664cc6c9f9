//! Statements and their shapes: `shapes.txt` has a statement on one line and its shape, indented,
//! on the next.
//!
//! To write the shapes anew, and then to read the difference:
//! `POINTSMAN_WRITE_GOLDEN=1 cargo test -p sql --test shape`.

use sql::shape::{Effects, Table};
use sql::{Modes, Shape};

fn show(shape: &Shape) -> String {
    let mut text = format!("{:?}{}", shape.kind, if shape.several { " and more" } else { "" });
    if shape.is_plain_read() {
        text += ", plain read";
    }
    if !shape.effects.is_empty() {
        let names: Vec<&str> = shape.effects.iter_names().map(|(name, _)| name).collect();
        text += ", ";
        text += &names.join(" ");
    }
    for (what, tables) in [("reads", &shape.reads), ("writes", &shape.writes)] {
        if !tables.is_empty() {
            let names: Vec<String> = tables.iter().map(name).collect();
            for part in [", ", what, " ", &names.join(" ")] {
                text += part;
            }
        }
    }
    text
}

fn name(table: &Table) -> String {
    table.schema.as_ref().map(|schema| format!("{schema}.")).unwrap_or_default() + &table.name
}

#[test]
fn golden() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shapes.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let mut fresh = String::new();
    for line in text.lines() {
        if line.starts_with("    ") {
            continue;
        }
        fresh += line;
        fresh.push('\n');
        if !line.is_empty() && !line.starts_with("## ") {
            fresh += "    ";
            fresh += &show(&Shape::of(line.as_bytes(), Modes::default()));
            fresh.push('\n');
        }
    }
    if std::env::var_os("POINTSMAN_WRITE_GOLDEN").is_some() {
        std::fs::write(path, &fresh).unwrap();
    }
    for (want, got) in text.lines().zip(fresh.lines()) {
        assert_eq!(want, got, "see the top of this file");
    }
    assert_eq!(text.len(), fresh.len(), "see the top of this file");
}

#[test]
fn modes_matter() {
    // Without escapes, the string ends before FOR UPDATE.
    let sql = b"select '\\' for update -- '";
    assert!(Shape::of(sql, Modes::default()).is_plain_read());
    let modes = Modes { no_backslash_escapes: true, ..Modes::default() };
    assert!(Shape::of(sql, modes).effects.contains(Effects::LOCKS_ROWS));
    let ansi = Modes { ansi_quotes: true, ..Modes::default() };
    let shape = Shape::of(b"select \"f\"(1) from \"t\"\"1\"", ansi);
    assert_eq!(show(&shape), "Select, FUNCTION, reads t\"1");
}

#[test]
fn large_and_deep_statements_are_bounded() {
    let deep = format!("select {}1{}", "(".repeat(1_000_000), ")".repeat(1_000_000));
    assert_eq!(show(&Shape::of(deep.as_bytes(), Modes::default())), "Select, WRITES UNKNOWN");
    let insert = format!("insert into t values {}(1)", "(1,'two'),".repeat(1_000_000));
    let shape = Shape::of(insert.as_bytes(), Modes::default());
    assert_eq!(show(&shape), "Insert, WRITES UNKNOWN, writes t");
    let sum = format!("select 1{}", "+1".repeat(20_000));
    assert!(Shape::of(sum.as_bytes(), Modes::default()).is_plain_read());
}
