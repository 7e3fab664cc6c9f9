//! Which statement runs, and whether the next one has to wait: what makes a KILL exact.
//!
//! Somebody who wants to kill a statement looks up its number, takes his time to reach the server, and kills only if the
//! same number runs still. From then until the server has answered, no other statement is sent, so that there is nothing
//! else that could be hit. Commands that a client has sent together, before the first answer, count as one.

use std::cell::Cell;

/// The statements of one session.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Counts beginnings and ends: odd while a statement runs.
    count: Cell<u64>,
    /// KILLs that are on their way to the server.
    holds: Cell<u32>,
}

impl Turns {
    /// A statement is with the server.
    pub(super) fn begin(&self) {
        debug_assert!(self.current().is_none(), "one after the other");
        self.count.set(self.count.get() | 1);
    }

    /// Its answer is with the client.
    pub(super) fn end(&self) {
        debug_assert!(self.current().is_some(), "what ends has begun");
        self.count.set(self.count.get() + 1);
    }

    /// The number of the statement that runs.
    pub(super) fn current(&self) -> Option<u64> {
        let count = self.count.get();
        (count % 2 == 1).then_some(count)
    }

    /// Whether no statement may be sent.
    pub(super) const fn is_held(&self) -> bool {
        self.holds.get() > 0
    }

    pub(super) fn hold(&self) {
        self.holds.set(self.holds.get() + 1);
    }

    /// The opposite; whether nobody holds any more.
    pub(super) fn release(&self) -> bool {
        debug_assert!(self.is_held(), "held before");
        self.holds.set(self.holds.get().saturating_sub(1));
        !self.is_held()
    }
}
