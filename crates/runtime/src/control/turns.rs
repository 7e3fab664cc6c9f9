//! Which statement runs, and whether the next one has to wait: what makes a KILL exact.
//!
//! A KILL of a statement notes its number, takes some time to reach the server, and kills only if
//! the statement of that number still runs. From then until the server has answered, no other
//! statement is sent, so that the KILL cannot hit another one. Commands that a client has sent
//! together, before the first answer, count as one.

use std::cell::Cell;

/// The statements of one session.
#[derive(Debug, Default)]
pub struct Turns {
    /// Counts beginnings and ends: odd while a statement runs.
    count: Cell<u64>,
    /// KILLs that are on their way to the server.
    holds: Cell<u32>,
    /// KILLs that are being prepared, or are on their way.
    aims: Cell<u32>,
    /// Whether the last of them is over since [`Turns::take_spared`].
    spared: Cell<bool>,
}

impl Turns {
    /// A statement is with the server, from now until `Control::end_statement`.
    pub fn begin(&self) {
        debug_assert!(self.current().is_none(), "one after the other");
        self.count.set(self.count.get() | 1);
    }

    /// Its answer is with the client.
    pub(super) fn end(&self) {
        debug_assert!(self.current().is_some(), "what ends has begun");
        self.count.set(self.count.get() + 1);
    }

    /// The number of the statement that runs.
    pub fn current(&self) -> Option<u64> {
        let count = self.count.get();
        (count % 2 == 1).then_some(count)
    }

    /// What is the same as long as no statement begins or ends.
    pub(crate) const fn moment(&self) -> u64 {
        self.count.get()
    }

    /// Whether a KILL is aimed at the session's connection: it has to stay where it is.
    pub const fn is_aimed_at(&self) -> bool {
        self.aims.get() > 0
    }

    /// From now until `Control::spare` a KILL is aimed at the session's connection, by the id that
    /// its server gave it: no other session may have it.
    pub(crate) fn aim(&self) {
        self.aims.set(self.aims.get() + 1);
    }

    /// The opposite of [`aim`](Self::aim); whether no KILL is aimed any more.
    pub(super) fn spare(&self) -> bool {
        debug_assert!(self.is_aimed_at(), "aimed at before");
        self.aims.set(self.aims.get().saturating_sub(1));
        self.spared.set(!self.is_aimed_at());
        self.spared.get()
    }

    /// The session is to look whether others may have its connection.
    pub(super) fn look_again(&self) {
        self.spared.set(true);
    }

    /// Whether no KILL is aimed any more, or the session is to look again; true once each time.
    pub const fn take_spared(&self) -> bool {
        self.spared.replace(false)
    }

    /// Whether the next statement has to wait, because a KILL is on its way to the server.
    pub const fn is_held(&self) -> bool {
        self.holds.get() > 0
    }

    pub(super) fn hold(&self) {
        self.holds.set(self.holds.get() + 1);
    }

    /// The opposite of [`hold`](Self::hold); whether no KILL holds statements back any more.
    pub(super) fn release(&self) -> bool {
        debug_assert!(self.is_held(), "held before");
        self.holds.set(self.holds.get().saturating_sub(1));
        !self.is_held()
    }
}
