//! The databases of accounts that may only read statistics.
//!
//! A thread of its own has them, so that no statement of such an account stops an admin, and they
//! are filled without literals of statements. Of what the admin port has, only the file of the
//! history is shared.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use memtable::Lists;
use rusqlite::Connection;

use super::filling::Filling;
use super::held::{Held, Lease};
use super::{memory, run};
use crate::answer::{AdminError, Answer};
use crate::who::Rights;

/// The schemas `stats`, which is the default one, `monitor` and `stats_history`. It belongs to one
/// thread.
#[derive(Debug)]
pub(crate) struct Statistics {
    pub(super) connection: Connection,
    pub(super) lists: Lists,
    /// Keeps the names of the databases in memory from being taken by another store of this
    /// process.
    pub(super) _name: Arc<u8>,
    stop: Arc<AtomicBool>,
    held: Held,
}

impl Statistics {
    pub(super) fn new(connection: Connection, lists: Lists, name: Arc<u8>) -> Self {
        Self { connection, lists, _name: name, stop: Arc::default(), held: Held::default() }
    }

    /// Set, it makes the statement that runs or begins end with an error.
    pub(crate) fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// The tables, to be filled.
    pub(crate) fn filling(&mut self) -> Filling<'_> {
        Filling { connection: &mut self.connection, lists: &self.lists, rights: Rights::Stats }
    }

    /// Runs the first statement of `sql`, which can only read. The lease is for as long as the
    /// answer is there.
    pub(crate) fn query(&mut self, sql: &str) -> (Answer, Lease) {
        let answered = run::as_stats(&mut self.connection, sql, &self.stop, &self.held);
        self.lists.clear();
        answered
    }

    /// A lease for an answer that has no rows of tables.
    pub(crate) fn no_lease(&self) -> Lease {
        self.held.lease()
    }

    /// Empties those of the tables `names` that are statistics.
    pub(crate) fn clear(&self, names: &[String]) -> Result<(), AdminError> {
        memory::clear_stats(&self.connection, names)
    }
}
