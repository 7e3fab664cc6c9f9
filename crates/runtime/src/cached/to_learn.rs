//! What servers are still to be asked of tables, for the query cache.

use session::limits::TABLES_MAX;
use sql::shape::Table;

/// Tables whose definitions the query cache needs.
#[derive(Debug)]
pub struct ToLearn {
    /// The hostgroup to ask.
    pub hostgroup: u32,
    /// The tables with their schemas, at most [`TABLES_MAX`].
    pub tables: Vec<Table>,
}

impl ToLearn {
    /// Nothing to be asked of a server of this hostgroup but its defaults.
    pub const fn of(hostgroup: u32) -> Self {
        Self { hostgroup, tables: Vec::new() }
    }

    /// Whether it is a server of this hostgroup that is to be asked.
    pub const fn is_at(&self, hostgroup: u32) -> bool {
        self.hostgroup == hostgroup
    }

    /// This definition is to be asked for as well, if there is room.
    pub fn add(&mut self, table: Table) {
        if self.tables.len() < TABLES_MAX && !self.tables.contains(&table) {
            self.tables.push(table);
        }
    }
}
