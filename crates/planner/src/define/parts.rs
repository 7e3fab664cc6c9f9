//! The parts of a definition as texts, by which tables are compared.

use super::table::{ColumnDefinition, DefaultValue, ForeignKey, Index, TableDefinition};

/// The parts of a table, sorted. Names of indexes and foreign keys are none: names of foreign keys
/// differ from table to table of one schema. `logical` gives the name for a physical schema and
/// table that a foreign key refers to.
pub(super) fn parts(table: &TableDefinition, logical: impl Fn(&[String; 2]) -> String) -> Vec<String> {
    let engine = table.engine.as_deref().unwrap_or("none");
    let mut parts = vec![format!("{}, engine {engine}", table.kind)];
    parts.extend((1..).zip(&table.columns).map(|(number, column)| self::column(number, column)));
    parts.extend(table.indexes.iter().map(index));
    parts.extend(table.foreign_keys.iter().map(|key| foreign_key(key, &logical(&key.table))));
    parts.sort_unstable();
    parts
}

/// Whether a part is a key that is not unique.
pub(super) fn is_plain_key(part: &str) -> bool {
    part.starts_with("key (")
}

/// Parts of `one` that `other` lacks. Both are sorted.
pub(super) fn lacking<'a>(one: &'a [String], other: &[String]) -> Vec<&'a str> {
    let mut other = other.iter().peekable();
    let mut lacking = Vec::new();
    for part in one {
        while other.next_if(|next| *next < part).is_some() {}
        if other.next_if_eq(&part).is_none() {
            lacking.push(part.as_str());
        }
    }
    lacking
}

fn column(number: usize, column: &ColumnDefinition) -> String {
    let ColumnDefinition { name, full_type, extra, .. } = column;
    let null = if column.is_nullable { "NULL" } else { "NOT NULL" };
    let collation = column.collation.as_ref().map_or(String::new(), |found| format!(" {}", found.name));
    let default = match &column.default {
        DefaultValue::Missing => String::new(),
        DefaultValue::Null => " DEFAULT NULL".to_owned(),
        DefaultValue::Constant(text) => format!(" DEFAULT '{text}'"),
        DefaultValue::Expression(text) => format!(" DEFAULT ({text})"),
    };
    let expression = column.expression.as_ref().map_or(String::new(), |text| format!(" AS ({text})"));
    let extra = if extra.is_empty() { String::new() } else { format!(" {extra}") };
    format!("column {number} `{name}` {full_type}{collation} {null}{default}{expression}{extra}")
}

fn index(index: &Index) -> String {
    let kind = match (index.name.as_str(), index.is_unique) {
        ("PRIMARY", _) => "primary key",
        (_, true) => "unique key",
        (_, false) => "key",
    };
    let parts = index.parts.iter().map(|part| {
        let name = part.column.as_ref().map_or("an expression".to_owned(), |name| format!("`{name}`"));
        part.prefix.map_or(name.clone(), |prefix| format!("{name}({prefix})"))
    });
    format!("{kind} ({})", parts.collect::<Vec<_>>().join(", "))
}

fn foreign_key(key: &ForeignKey, table: &str) -> String {
    let names = |names: &[String]| names.join(", ");
    // MySQL and MariaDB have other words for the same.
    let action = |word: &str| if word == "NO ACTION" { "RESTRICT".to_owned() } else { word.to_owned() };
    let (update, delete) = (action(&key.on_update), action(&key.on_delete));
    let (columns, referenced) = (names(&key.columns), names(&key.referenced));
    format!("foreign key ({columns}) to {table} ({referenced}), on update {update}, on delete {delete}")
}

#[cfg(test)]
mod tests {
    use super::super::sample::{MARIADB, MYSQL, table};
    use super::*;

    #[test]
    fn a_fingerprint_minds_columns_and_keys_but_no_names_of_keys() {
        let index = |name, column| [Some("2"), Some("1"), Some(name), Some("1"), Some(column), None];
        let columns = [["id", "int"], ["a", "int"]];
        let print = |of: &TableDefinition| of.fingerprint(|to| to.join("."));
        let one = table(MYSQL, &columns, &[&index("k", "a")]);
        assert_eq!(print(&one), print(&table(MARIADB, &columns, &[&index("other", "a")])));
        assert_ne!(print(&one), print(&table(MYSQL, &columns, &[&index("k", "id")])));
        assert_ne!(print(&one), print(&table(MYSQL, &[["id", "int"], ["a", "bigint"]], &[&index("k", "a")])));
        assert_ne!(print(&one), print(&table(MYSQL, &[["a", "int"], ["id", "int"]], &[&index("k", "a")])));
    }

    #[test]
    fn parts_that_are_lacking_are_counted() {
        let parts = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        assert_eq!(lacking(&parts(&["a", "b", "b", "d"]), &parts(&["b", "c", "d"])), ["a", "b"]);
        assert_eq!(lacking(&parts(&[]), &parts(&["b"])), Vec::<&str>::new());
        assert_eq!(lacking(&parts(&["b"]), &parts(&[])), ["b"]);
    }
}
