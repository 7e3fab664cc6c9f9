//! The definitions of logical tables that a planner uses.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::collation::Collations;
use super::columns::columns;
use super::row_key::row_key;
use super::table::{ColumnDefinition, DefaultValue, TableDefinition};
use crate::plan::{ColumnInfo, Definitions, KeyColumn};
use shard::Value;

/// What is known of a logical table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its columns, as a planner needs them; none if its nodes have other columns.
    pub columns: Option<Vec<ColumnInfo>>,
    /// The definition of its first node.
    pub definition: TableDefinition,
}

impl Known {
    /// What the definitions of some nodes say, the first node first. None without a definition.
    pub fn of(nodes: &[&TableDefinition], collations: &Collations) -> Option<Self> {
        let first = *nodes.first()?;
        Some(Self { columns: columns(nodes, collations), definition: first.clone() })
    }

    /// Bytes that it takes, about.
    fn bytes(&self) -> usize {
        let of_columns =
            self.columns.iter().flatten().map(|column| size_of::<ColumnInfo>() + column.name.len());
        self.definition.bytes() + of_columns.sum::<usize>()
    }
}

/// Definitions of logical tables, each with its age, within a number of bytes.
///
/// A clone shares the definitions. Times are those of one clock that never goes back.
#[derive(Debug, Clone)]
pub struct Catalog {
    schemas: HashMap<String, HashMap<String, Entry>>,
    bytes: usize,
    bytes_max: usize,
    age_max: Duration,
}

#[derive(Debug, Clone)]
struct Entry {
    known: Option<Arc<Known>>,
    /// What is wrong with the table.
    wrong: Option<String>,
    bytes: usize,
    read_at: Duration,
}

impl Catalog {
    /// An empty catalog of at most so many bytes, whose tables are asked for again at this age.
    pub fn new(bytes_max: usize, age_max: Duration) -> Self {
        Self { schemas: HashMap::new(), bytes: 0, bytes_max, age_max }
    }

    /// Whether rows of a table may have the time of their change without being given it: by the
    /// expression of a default, or by `ON UPDATE`. A table that is not known may.
    pub fn depends_on_time(&self, schema: &str, table: &str) -> bool {
        let Some(known) = self.get(schema, table) else { return true };
        known.definition.columns.iter().any(|column| {
            matches!(column.default, DefaultValue::Expression(_))
                || column.extra.to_ascii_lowercase().contains("on update")
        })
    }

    /// Whether a table should be asked for: it is not known, or too old.
    pub fn wants(&self, schema: &str, table: &str, now: Duration) -> bool {
        let is_young = |entry: &Entry| now.saturating_sub(entry.read_at) < self.age_max;
        !self.entry(schema, table).is_some_and(is_young)
    }

    /// What is known of a table, whatever its age.
    pub fn get(&self, schema: &str, table: &str) -> Option<&Arc<Known>> {
        self.entry(schema, table)?.known.as_ref()
    }

    /// What is wrong with a table, if anything is.
    pub fn wrong(&self, schema: &str, table: &str) -> Option<&str> {
        self.entry(schema, table)?.wrong.as_deref()
    }

    /// Keeps what was read of a table at `now`, and what is wrong with it. The oldest tables go
    /// where there is no room. What needs more than all room is not kept.
    pub fn insert(
        &mut self,
        schema: &str,
        table: &str,
        known: Option<Known>,
        wrong: Option<String>,
        now: Duration,
    ) {
        self.forget(schema, table);
        let besides = schema.len() + table.len() + wrong.as_ref().map_or(0, String::len);
        let known = known.filter(|known| known.bytes() + besides <= self.bytes_max);
        if known.is_none() && wrong.is_none() {
            return;
        }
        let bytes = known.as_ref().map_or(0, Known::bytes) + besides;
        while self.bytes + bytes > self.bytes_max && self.forget_oldest() {}
        self.bytes += bytes;
        let entry = Entry { known: known.map(Arc::new), wrong, bytes, read_at: now };
        self.schemas.entry(schema.to_owned()).or_default().insert(table.to_owned(), entry);
    }

    /// A table is at `now` as it was.
    pub fn renew(&mut self, schema: &str, table: &str, now: Duration) {
        if let Some(entry) = self.schemas.get_mut(schema).and_then(|tables| tables.get_mut(table)) {
            entry.read_at = now;
        }
    }

    /// Forgets a table: a statement may have changed its definition.
    pub fn forget(&mut self, schema: &str, table: &str) {
        let Some(tables) = self.schemas.get_mut(schema) else { return };
        if let Some(entry) = tables.remove(table) {
            self.bytes -= entry.bytes;
        }
        if tables.is_empty() {
            self.schemas.remove(schema);
        }
    }

    /// Forgets all tables.
    pub fn clear(&mut self) {
        self.schemas.clear();
        self.bytes = 0;
    }

    /// Bytes that are taken, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn entry(&self, schema: &str, table: &str) -> Option<&Entry> {
        self.schemas.get(schema)?.get(table)
    }

    /// Forgets the table that was read first. False if there is none.
    fn forget_oldest(&mut self) -> bool {
        let of_schema = |(schema, tables): (&'_ String, &'_ HashMap<String, Entry>)| {
            let oldest = tables.iter().min_by_key(|(_, entry)| entry.read_at);
            oldest.map(|(table, entry)| (entry.read_at, schema.clone(), table.clone()))
        };
        let Some((_, schema, table)) = self.schemas.iter().filter_map(of_schema).min() else { return false };
        self.forget(&schema, &table);
        true
    }
}

impl Definitions for Catalog {
    fn columns(&self, schema: &str, table: &str) -> Option<&[ColumnInfo]> {
        self.get(schema, table)?.columns.as_deref()
    }

    fn auto_increment(&self, schema: &str, table: &str) -> Option<&str> {
        self.get(schema, table)?.definition.auto_increment().map(|column| column.name.as_str())
    }

    fn default_value(&self, schema: &str, table: &str, column: &str) -> Option<Value<'_>> {
        let column = self.get(schema, table)?.definition.column(column)?;
        match &column.default {
            DefaultValue::Null if !column.is_auto_increment() => Some(Value::Null),
            // A text that is no canonical integer is stored as another one, or refused.
            DefaultValue::Constant(text) => Some(Value::Text(text.as_bytes())),
            _ => None,
        }
    }

    fn fields(&self, schema: &str, table: &str) -> Option<&[ColumnInfo]> {
        let known = self.get(schema, table)?;
        let is_plain = |column: &ColumnDefinition| !column.is_invisible() && !column.is_generated();
        known.columns.as_deref().filter(|_| known.definition.columns.iter().all(is_plain))
    }

    fn row_key(&self, schema: &str, table: &str) -> Option<Vec<KeyColumn>> {
        row_key(&self.get(schema, table)?.definition)
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{MYSQL, table};
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn known() -> Known {
        Known::of(&[&table(MYSQL, &[["id", "int"]], &[])], &Collations::default()).unwrap()
    }

    #[test]
    fn tables_are_wanted_when_they_are_unknown_or_old() {
        let mut catalog = Catalog::new(1 << 20, 10 * SECOND);
        assert!(catalog.wants("shop", "orders", Duration::ZERO));
        catalog.insert("shop", "orders", Some(known()), None, SECOND);
        assert!(!catalog.wants("shop", "orders", 10 * SECOND));
        assert!(catalog.wants("shop", "orders", 11 * SECOND));
        assert_eq!(catalog.columns("shop", "orders").map(<[ColumnInfo]>::len), Some(1));
        assert_eq!(catalog.columns("shop", "items"), None);
        catalog.renew("shop", "orders", 11 * SECOND);
        assert!(!catalog.wants("shop", "orders", 20 * SECOND));
        catalog.forget("shop", "orders");
        assert!(catalog.get("shop", "orders").is_none());
        assert_eq!(catalog.bytes(), 0);
    }

    #[test]
    fn times_are_found_in_defaults_and_on_update() {
        let mut catalog = Catalog::new(1 << 20, SECOND);
        assert!(catalog.depends_on_time("shop", "t"), "nothing is known of it");
        let mut depends = |default: DefaultValue, extra: &str| {
            let mut table = table(MYSQL, &[["id", "int"], ["a", "datetime"]], &[]);
            (table.columns[1].default, table.columns[1].extra) = (default, extra.to_owned());
            let known = Known::of(&[&table], &Collations::default());
            catalog.insert("shop", "t", known, None, SECOND);
            catalog.depends_on_time("shop", "t")
        };
        assert!(!depends(DefaultValue::Constant("2026-11-27".to_owned()), ""));
        assert!(depends(DefaultValue::Expression("CURRENT_TIMESTAMP".to_owned()), ""));
        assert!(depends(DefaultValue::Null, "DEFAULT_GENERATED on update CURRENT_TIMESTAMP"));
    }

    #[test]
    fn a_planner_gets_constants_as_defaults() {
        let mut table = table(MYSQL, &[["id", "int"], ["a", "int"], ["b", "int"], ["c", "int"]], &[]);
        table.columns[2].default = DefaultValue::Constant("7".to_owned());
        table.columns[3].default = DefaultValue::Expression("uuid()".to_owned());
        let mut catalog = Catalog::new(1 << 20, SECOND);
        catalog.insert("shop", "t", Known::of(&[&table], &Collations::default()), None, SECOND);
        let default = |column| catalog.default_value("shop", "t", column);
        assert_eq!(catalog.auto_increment("shop", "t"), Some("id"));
        assert_eq!([default("id"), default("c"), default("d")], [None; 3]);
        assert_eq!([default("A"), default("b")], [Some(Value::Null), Some(Value::Text(b"7"))]);
    }

    #[test]
    fn the_oldest_tables_make_room() {
        let each = known().bytes() + "shop".len() + 1;
        let mut catalog = Catalog::new(2 * each, SECOND);
        for (name, second) in [("a", 1), ("b", 0), ("a", 2), ("c", 3)] {
            catalog.insert("shop", name, Some(known()), None, second * SECOND);
        }
        assert!(catalog.get("shop", "a").is_some() && catalog.get("shop", "c").is_some());
        assert!(catalog.get("shop", "b").is_none());
        assert_eq!(catalog.bytes(), 2 * each);
        let mut small = Catalog::new(each - 1, SECOND);
        small.insert("shop", "a", Some(known()), None, SECOND);
        assert_eq!((small.bytes(), small.get("shop", "a").is_some()), (0, false));
        small.insert("shop", "a", Some(known()), Some("it differs".to_owned()), SECOND);
        assert_eq!((small.wrong("shop", "a"), small.get("shop", "a").is_some()), (Some("it differs"), false));
        small.insert("shop", "a", None, None, SECOND);
        assert_eq!((small.bytes(), small.wrong("shop", "a")), (0, None));
        catalog.clear();
        assert_eq!(catalog.bytes(), 0);
    }
}
