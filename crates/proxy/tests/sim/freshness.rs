//! How old an answer may be: rows that were promised before a read came, and rows that are there.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::model::owner;
use super::sharding::is_sharded;

/// A point in the order of what clients see.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    number: u64,
    at: Instant,
}

/// Rows whose writers have got their OK, and when.
#[derive(Debug, Default)]
pub(super) struct Acknowledged {
    last: Cell<u64>,
    rows: RefCell<BTreeMap<u64, Moment>>,
}

impl Acknowledged {
    /// Now, behind all that was noted before.
    pub(super) fn now(&self) -> Moment {
        self.last.set(self.last.get() + 1);
        Moment { number: self.last.get(), at: Instant::now() }
    }

    /// These rows are promised from now on, if they were not before.
    pub(super) fn note(&self, rows: &BTreeSet<u64>) {
        let now = self.now();
        let mut all = self.rows.borrow_mut();
        for row in rows {
            all.entry(*row).or_insert(now);
        }
    }

    /// The sharded rows of this owner that are promised, in their order.
    pub(super) fn sharded_of(&self, of: u64) -> Vec<u64> {
        let rows = self.rows.borrow();
        rows.keys().copied().filter(|row| owner(*row) == of && is_sharded(*row)).collect()
    }

    /// Rows of this owner that a read has to show that was sent then, if it may be so old.
    pub(super) fn before(&self, of: u64, sent: Moment, age: Option<Duration>) -> BTreeSet<u64> {
        let is_before = |one: &Moment| match age {
            None => one.number < sent.number,
            // At the very moment either order is right.
            Some(age) => one.at + age < sent.at,
        };
        let rows = self.rows.borrow();
        let all = rows.iter().filter(|(row, moment)| owner(**row) == of && is_before(moment));
        all.map(|(row, _)| *row).collect()
    }
}
