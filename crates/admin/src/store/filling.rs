//! Filling tables of statistics, before a statement that names them.

use std::sync::Arc;

use memtable::{Lists, Rows};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::rows;
use crate::answer::AdminError;
use crate::who::Rights;

/// The tables of statistics that accounts of one kind read.
pub(crate) struct Filling<'a> {
    pub(super) connection: &'a mut Connection,
    pub(super) lists: &'a Lists,
    /// For which accounts: those that only read statistics see no literals of statements.
    pub(crate) rights: Rights,
}

impl Filling<'_> {
    /// Empties the table `table` of the schema `stats` and fills it with `rows`, whose cells are
    /// text, numbers or NULL.
    pub(crate) fn refill(
        &mut self,
        table: &str,
        rows: impl IntoIterator<Item = Vec<Value>>,
    ) -> Result<(), AdminError> {
        rows::refill(self.connection, "stats", table, rows).map_err(AdminError::from)
    }

    /// The same for a table of the schema `monitor`.
    pub(crate) fn refill_checks(
        &mut self,
        table: &str,
        rows: impl IntoIterator<Item = Vec<Value>>,
    ) -> Result<(), AdminError> {
        rows::refill(self.connection, "monitor", table, rows).map_err(AdminError::from)
    }

    /// Makes these the rows of a table of the schema `stats` that shows a list, for the next
    /// statement.
    pub(crate) fn show(&mut self, table: &str, rows: Arc<dyn Rows>) {
        self.lists.show(table, rows);
    }
}
