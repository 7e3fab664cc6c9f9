//! Statements that make answers of the query cache too old, or what is known of tables.
//!
//! An answer in the mode `own` is from after the last write to its tables that a client of this
//! proxy was told to have succeeded. A write counts against the tables that it names, and those
//! that triggers and views behind them change. In a transaction that set grows with each statement,
//! and counts from before the `COMMIT` is sent. Where it is not known, the write is one to all
//! tables.

use wire::reply::Event;

use super::facts::cache::forget_before;
use super::segments::At;
use super::state::Past;

impl At<'_> {
    /// The client is about to get a part of a reply, with `event` behind it. The command may have
    /// been a write, and the cache was not told of it.
    #[cold]
    pub(super) fn end_unwatched(&mut self, event: Event) {
        let is_over = matches!(event, Event::Done(_)) && self.pipelined.is_empty();
        self.state.past.set(Past::UNWATCHED, !is_over);
        forget_before(&self.entry.worker.shared.cache);
    }
}
