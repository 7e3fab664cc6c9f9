//! Tables that may have 100,000 rows: SQLite reads them where they are, and asks for the cells that
//! a statement needs.

use std::sync::Arc;

use config::in_turns;
use memtable::Rows;
use rusqlite::types::Value;

use super::tables::text;

/// One reading of the data plane.
pub(super) struct Found<T>(pub(super) Vec<T>);

impl<T> Drop for Found<T> {
    /// To free so much takes a while.
    fn drop(&mut self) {
        in_turns(std::mem::take(&mut self.0)).for_each(drop);
    }
}

/// A reading as the rows of a table.
pub(super) struct Listed<T> {
    pub(super) found: Arc<Found<T>>,
    /// What is in the column with this number.
    pub(super) cell: fn(&T, usize) -> Value,
}

impl<T: Send + Sync> Rows for Listed<T> {
    fn count(&self) -> usize {
        self.found.0.len()
    }

    fn cell(&self, row: usize, column: usize) -> Value {
        self.found.0.get(row).map_or(Value::Null, |found| (self.cell)(found, column))
    }

    fn each(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        Box::new(in_turns(0..self.count()))
    }
}

/// Bytes as text: what is no UTF-8 in them is shown as such.
pub(super) fn lossy(bytes: &[u8]) -> Value {
    text(String::from_utf8_lossy(bytes))
}
