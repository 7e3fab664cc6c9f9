//! Statistics per digest: how often, how long, how much; by user, schema, hostgroup and, if that is
//! asked for, client.
//!
//! A statement costs two looks into the worker's own table: [`Table::enter`] when it is sent,
//! [`Table::note`] when it is answered. A reader gets the table in slices, between which the
//! worker serves its clients.
//!
//! - `table`: the entries, and which of them go when there are too many;
//! - `tally`: what is counted of one;
//! - `times`: how long executions took;
//! - `who`: whose they were;
//! - [`report`]: the tables of all workers put together.

pub mod report;
mod shards;
mod table;
mod tally;
mod times;
mod who;

use std::cell::{Cell, RefCell};
use std::sync::Arc;

pub use self::table::{Copied, Place, Size, Table};
pub use self::tally::Done;
pub use self::who::{Names, Who};

use self::who::Everybody;

/// The statistics of one worker.
#[derive(Debug)]
pub struct Digests {
    /// What is counted.
    pub table: RefCell<Table>,
    everybody: RefCell<Everybody>,
    /// Whether clients are told apart by their addresses.
    pub by_client: Cell<bool>,
}

impl Digests {
    /// An empty table for hashes that depend on `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            table: RefCell::new(Table::new(seed)),
            everybody: RefCell::default(),
            by_client: Cell::new(false),
        }
    }

    /// Sets what is configured: how many bytes the table may take, and whether clients are told
    /// apart by their addresses.
    pub fn configure(&self, budget: usize, by_client: bool) {
        self.table.borrow_mut().set_budget(budget);
        self.by_client.set(by_client);
    }

    /// The [`Who`] with these names.
    pub fn who(&self, names: Names) -> Arc<Who> {
        self.everybody.borrow_mut().who(names)
    }

    /// Takes the table away, whatever its size. `running` gets a function that gives the place in
    /// the new table for one in the old one: what runs now is counted there.
    pub fn take(&self, running: impl FnOnce(&mut dyn FnMut(Place) -> Option<Place>)) -> Table {
        let mut table = self.table.borrow_mut();
        let new = table.successor();
        let old = std::mem::replace(&mut *table, new);
        running(&mut |place| table.transfer(&old, place));
        old
    }

    /// Keeps to a budget that has become smaller; bounded work. The memory of what is pushed out is
    /// used again, and given back when nothing is left or all is taken away.
    pub fn trim(&self) {
        let mut table = self.table.borrow_mut();
        for _ in 0..TRIMS_PER_TURN {
            if table.make_room(0, None) {
                break;
            }
        }
        // Places of entries are kept for those that come; of an empty table none is needed.
        if table.has_only_free_places() {
            *table = table.successor();
        }
    }
}

/// Digests that a worker copies in one turn of its loop for who reads the statistics: some 20 us,
/// less than a statement waits for its server.
pub const DIGESTS_PER_TURN: u32 = 64;

/// How often [`Digests::trim`] pushes digests out, 64 at a time: some hundred microseconds.
const TRIMS_PER_TURN: usize = 16;

#[cfg(test)]
mod tests;
