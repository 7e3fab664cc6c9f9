//! The tables that an expression can name.

use crate::expression::Expression;

/// Tables with their aliases.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scope {
    tables: Vec<(usize, String)>,
    /// Conditions that WHERE has to have.
    pub(crate) pending: Vec<Expression>,
}

impl Scope {
    pub(crate) fn add(&mut self, table: usize, alias: String) {
        self.tables.push((table, alias));
    }

    pub(crate) fn len(&self) -> usize {
        self.tables.len()
    }

    /// The alias of one of its tables.
    pub(crate) fn alias(&self, at: usize) -> &str {
        &self.tables[at].1
    }

    /// The number of one of its tables among all.
    pub(crate) fn table(&self, at: usize) -> usize {
        self.tables[at].0
    }

    pub(crate) fn has_table(&self, table: usize) -> bool {
        self.tables.iter().any(|(other, _)| *other == table)
    }
}
