//! The tables that a transaction changes.

use std::collections::BTreeMap;
use std::fmt;

use bitflags::bitflags;

/// Tables of one transaction, at most. A transaction with more may have changed every table.
pub(super) const TABLES_MAX: usize = 1024;

/// A table by its names. Bytes of names that are not UTF-8 are U+FFFD.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Table {
    /// The schema's name.
    pub schema: String,
    /// The table's name.
    pub name: String,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

bitflags! {
    /// How the log shows that a table is changed. Without any flag the table is only named in front
    /// of rows of others: a cascade or a trigger may have changed the table. The log need not show
    /// what cascades change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct How: u8 {
        /// There are rows of the table.
        const ROWS = 1;
        /// A statement changes the table. What its triggers and cascades change is not in the log.
        const STATEMENT = 1 << 1;
        /// The table's definition is changed, or all of its rows at once.
        const DEFINITION = 1 << 2;
    }
}

/// Why every table may have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// A statement that is not understood, or too long.
    Statement,
    /// A change of definitions that is not that of tables alone.
    Definitions,
    /// An XA transaction is committed that was prepared before the stream began.
    UnknownXid,
    /// An event of an unknown type.
    UnknownEvent,
    /// Rows of a table that was not named.
    UnknownTable,
    /// A compressed transaction that cannot be expanded.
    Compressed,
    /// Too many tables.
    Many,
}

/// The tables that a transaction changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tables {
    /// These.
    These(BTreeMap<Table, How>),
    /// Any.
    All(Why),
}

impl Default for Tables {
    fn default() -> Self {
        Self::These(BTreeMap::new())
    }
}

impl Tables {
    /// Adds a table.
    pub(super) fn add(&mut self, table: Table, how: How) {
        let Self::These(these) = self else { return };
        if these.len() >= TABLES_MAX && !these.contains_key(&table) {
            return self.all(Why::Many);
        }
        *these.entry(table).or_insert(How::empty()) |= how;
    }

    /// Every table may have changed. The first reason is kept.
    pub(super) fn all(&mut self, why: Why) {
        if let Self::These(_) = self {
            *self = Self::All(why);
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::These(these) => these.len(),
            Self::All(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(number: usize) -> Table {
        Table { schema: "s".to_owned(), name: number.to_string() }
    }

    #[test]
    fn a_table_is_changed_in_several_ways() {
        let mut tables = Tables::default();
        for how in [How::empty(), How::ROWS, How::STATEMENT] {
            tables.add(table(1), how);
        }
        assert_eq!(tables, Tables::These(BTreeMap::from([(table(1), How::ROWS | How::STATEMENT)])));
    }

    #[test]
    fn too_many_are_all() {
        let mut tables = Tables::default();
        for number in 0..TABLES_MAX {
            tables.add(table(number), How::ROWS);
        }
        assert_eq!(tables.len(), TABLES_MAX);
        tables.add(table(0), How::ROWS);
        assert_eq!(tables.len(), TABLES_MAX);
        tables.add(table(TABLES_MAX), How::ROWS);
        assert_eq!(tables, Tables::All(Why::Many));
        tables.all(Why::Statement);
        tables.add(table(1), How::ROWS);
        assert_eq!((tables.len(), tables), (0, Tables::All(Why::Many)));
    }
}
