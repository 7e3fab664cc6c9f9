//! Tables of SQLite whose rows are a list in memory.
//!
//! Statistics of 100,000 statements are in memory already when an admin asks for them. To write
//! them into a table of SQLite first, with its index, and to delete them again takes several times
//! as long as to look at them. So such a table is a virtual one: SQLite asks for the cells that a
//! statement needs, and nothing is copied for those that it does not.
//!
//! A table is created with the columns of a usual one,
//! `CREATE VIRTUAL TABLE t USING memtable (a INT, b VARCHAR)`, which `PRAGMA table_info` shows, but
//! for defaults; [`as_usual`] turns that back into a usual definition. It is empty, and nothing can
//! be written into it: what it shows is what [`Lists::show`] was given for its name. Source of the
//! interface: "The Virtual Table Mechanism Of SQLite" in its documentation.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod index;
mod memory;
mod table;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::types::Value;
use rusqlite::vtab::Module;
use rusqlite::{Connection, Result};

use index::Index;
pub use memory::memory_used;
use table::Table;

/// What SQLite calls tables of this kind.
pub const MODULE: &str = "memtable";

/// How the definition of such a table begins, as SQLite keeps it.
const CREATE: &str = "CREATE VIRTUAL TABLE ";

/// The rows of a table.
pub trait Rows: Send + Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// What is in the column with this number, from 0 on, of a row before [`count`](Self::count).
    fn cell(&self, row: usize, column: usize) -> Value;

    /// The numbers of all rows, for work that looks at each of them: it may rest now and then.
    fn each(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        Box::new(0..self.count())
    }
}

/// By their columns, those that statements have looked for rows with; nothing as long as that was
/// once.
type Indexes = HashMap<Box<[usize]>, Option<Arc<Index>>>;

/// What a table shows.
struct Shown {
    rows: Arc<dyn Rows>,
    indexes: Mutex<Indexes>,
}

impl Shown {
    /// An index by these columns, unless this is the first look-up by them: to read all rows once
    /// is less work.
    fn index(&self, columns: &[usize]) -> Option<Arc<Index>> {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(index) = indexes.get_mut(columns) else {
            indexes.insert(columns.into(), None);
            return None;
        };
        Some(Arc::clone(index.get_or_insert_with(|| Arc::new(Index::new(&*self.rows, columns)))))
    }
}

/// What tables show, by their names in lower case. Clones share it.
#[derive(Clone, Default)]
pub struct Lists(Arc<Mutex<HashMap<String, Arc<Shown>>>>);

impl Lists {
    /// The table with this name shows `rows` from the next statement on.
    pub fn show(&self, table: &str, rows: Arc<dyn Rows>) {
        let shown = Arc::new(Shown { rows, indexes: Mutex::default() });
        self.change(|lists| lists.insert(table.to_ascii_lowercase(), shown));
    }

    /// All tables are empty from the next statement on.
    pub fn clear(&self) {
        let lists = self.change(std::mem::take);
        // Outside of the lock: it may take a while.
        drop(lists);
    }

    /// The tables of this kind that statements of `connection` create or name show what is in these
    /// lists.
    ///
    /// # Errors
    ///
    /// SQLite has no memory.
    pub fn add_to(&self, connection: &Connection) -> Result<()> {
        const TABLES: Module<'static, Table> = Module::read_only_module();
        connection.create_module(MODULE, &TABLES, Some(self.clone()))
    }

    /// What this table shows.
    fn of(&self, table: &str) -> Option<Arc<Shown>> {
        self.change(|lists| lists.get(table).cloned())
    }

    fn change<T>(&self, change: impl FnOnce(&mut HashMap<String, Arc<Shown>>) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl std::fmt::Debug for Lists {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = self.change(|lists| {
            lists.iter().map(|(name, shown)| (name.clone(), shown.rows.count())).collect::<Vec<_>>()
        });
        f.debug_tuple("Lists").field(&shown).finish()
    }
}

/// The definition of a table of this kind, made of that of a usual one:
/// `CREATE TABLE name (columns)`.
#[must_use]
pub fn definition(usual: &str) -> String {
    usual.replacen("CREATE TABLE ", CREATE, 1).replacen('(', &format!("USING {MODULE} ("), 1)
}

/// The other way round, in SQL: of a definition that SQLite keeps (`sql`, an expression), that of a
/// usual table.
#[must_use]
pub fn as_usual(sql: &str) -> String {
    format!("replace(replace({sql}, '{CREATE}', 'CREATE TABLE '), ' USING {MODULE} (', ' (')")
}

#[cfg(test)]
mod tests;
