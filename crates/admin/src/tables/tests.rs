//! The tables against the reference of ProxySQL's, where that is at hand.

use std::path::Path;

use super::*;

/// What the reference says about ProxySQL, which is not part of the repository.
const REFERENCE: &str = "../../../shared/reference/proxysql-surface.md";

/// A table of the reference: its name, and of each column the name, whether it may be NULL, and the
/// default.
type Described = (String, Vec<(String, bool, Option<String>)>);

fn reference() -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(REFERENCE);
    let text = std::fs::read_to_string(path).ok();
    if text.is_none() {
        eprintln!("skipped: the comparison needs {REFERENCE}");
    }
    text
}

/// `=0`, `='x'` and the like behind a type.
fn default_of(text: &str) -> Option<String> {
    let value = text.split_once('=')?.1.trim();
    Some(value.trim_matches(['\'', '(', ')']).to_owned()).filter(|value| value != "NULL")
}

/// The tables that the reference describes by a heading and rows of columns.
fn headed(text: &str) -> Vec<Described> {
    let mut tables: Vec<Described> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("#### `").and_then(|rest| rest.split('`').next()) {
            tables.push((name.to_owned(), Vec::new()));
        } else if let (Some((_, columns)), Some(row)) = (tables.last_mut(), line.strip_prefix("| `")) {
            let mut cells = row.splitn(3, '|');
            let (name, kind) = (cells.next().unwrap(), cells.next().unwrap());
            let name = name.trim().trim_end_matches('`').to_owned();
            columns.push((name, kind.contains("null ok"), default_of(kind)));
        } else if line.starts_with("Smaller ones") {
            break;
        }
    }
    tables
}

/// The tables that the reference describes in one line.
fn compact(text: &str) -> Vec<Described> {
    let mut tables = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("- **")) {
        let Some((head, rest)) = line.split_once("): ") else { continue };
        if !head.contains("PK(") {
            continue;
        }
        let name = head.split([' ', '*']).next().unwrap().to_owned();
        let columns = rest.split(". ").next().unwrap().trim_end_matches('.');
        // Commas between brackets are those of a check.
        let mut depth = 0;
        let columns: Vec<String> = columns
            .split(|c: char| {
                depth += i32::from(c == '[') - i32::from(c == ']');
                c == ',' && depth == 0
            })
            .map(|column| column.split(" [").next().unwrap().trim().to_owned())
            .collect();
        let column = |text: &String| {
            let (name, kind) = text.split_once(' ').unwrap();
            (name.trim_matches('`').to_owned(), kind.contains('?'), default_of(kind))
        };
        let columns: Vec<_> = columns.iter().map(column).collect();
        if let Some(twin) = head.split("(+ `").nth(1).and_then(|rest| rest.split('`').next()) {
            tables.push((twin.to_owned(), columns.clone()));
        }
        tables.push((name, columns));
    }
    tables
}

/// What SQLite says of a table that `ddl` makes.
fn made(ddl: &str, name: &str) -> Described {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch(ddl).unwrap();
    let mut statement =
        connection.prepare("SELECT name, \"notnull\", dflt_value FROM pragma_table_info(?1)").unwrap();
    let columns = statement
        .query_map([name], |row| {
            let default: Option<String> = row.get(2)?;
            Ok((row.get(0)?, !row.get::<_, bool>(1)?, default.map(|text| text.trim_matches('\'').to_owned())))
        })
        .unwrap();
    (name.to_owned(), columns.collect::<Result<_, _>>().unwrap())
}

#[test]
fn tables_have_the_columns_of_proxysql() {
    let Some(text) = reference() else { return };
    let ours: Vec<(String, String)> = Schema::ALL.iter().flat_map(|schema| schema.tables()).collect();
    // Of other builds and plugins of ProxySQL, and of its bootstrap.
    let elsewhere = ["mysql_ldap_mapping", "clickhouse_users", "debug_levels", "debug_filters"];
    let mut compared = 0;
    for described in headed(&text).into_iter().chain(compact(&text)) {
        let (name, columns) = &described;
        if elsewhere.contains(&name.as_str()) {
            continue;
        }
        let ddl = ours.iter().find(|(known, _)| known == name).map(|(_, ddl)| ddl);
        let ddl = ddl.unwrap_or_else(|| panic!("there is no table {name}"));
        let found = made(ddl, name);
        for (ours, theirs) in found.1.iter().zip(columns) {
            assert_eq!(ours, theirs, "{name}");
        }
        assert_eq!(found.1.len(), columns.len(), "{name}");
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}

#[test]
fn tables_of_runtime_are_those_of_memory() {
    let tables = Schema::Main.tables();
    for (name, ddl) in &tables {
        let Some(plain) = name.strip_prefix("runtime_") else { continue };
        if let Some((_, original)) = tables.iter().find(|(name, _)| name == plain) {
            assert_eq!(ddl.replacen(name.as_str(), plain, 1), *original, "{name}");
        }
    }
}
