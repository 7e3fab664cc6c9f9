//! When tables were changed through this proxy.
//!
//! A table is one of [`SLOTS`] slots, by a hash of its name; tables that share a slot are
//! invalidated together, which costs hits and never correctness. Rules, digests and users that are
//! flushed by name are slots of the same kind.
//!
//! The rule: an answer was read at some [`Moment`], which is taken before its query is sent. It is
//! neither stored nor served if a write to one of its tables is in flight, or if one has ended
//! since that moment. A write is in flight from before it is sent until its reply is known. So a
//! write whose reply a client has is never followed by an answer from before it.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};

use crate::cause::Cause;

/// Slots for what is flushed by name. A power of two, so that a part of a hash is an index.
const SLOTS: usize = 4096;

/// The first of as many slots for tables that are written. They are others, so that a table which
/// is written often shares none with answers of the mode `ttl`.
const WRITTEN: u16 = 4096;

/// The slot that each write changes.
const ANY_WRITE: u16 = 8192;

/// The slot that a write changes of which the tables are not known.
const UNKNOWN_WRITE: u16 = 8193;

/// The slot that a change of definitions changes.
const DEFINITIONS: u16 = 8194;

/// All slots.
const SLOTS_ALL: usize = 8195;

const _: () = assert!(SLOTS == WRITTEN as usize && 2 * SLOTS == ANY_WRITE as usize, "slots are apart");

/// What an answer depends on or a write changes: a list of slots, or everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    slots: Vec<u16>,
    is_all: bool,
}

impl Scope {
    /// Nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new(), is_all: false }
    }

    /// Everything: for a write of which the tables are not known.
    #[must_use]
    pub const fn all() -> Self {
        Self { slots: Vec::new(), is_all: true }
    }

    /// What a write changes of which the tables are not known: all that any write changes.
    #[must_use]
    pub fn of_unknown_write() -> Self {
        Self { slots: vec![ANY_WRITE, UNKNOWN_WRITE], is_all: false }
    }

    /// What a write to the tables with these hashes changes.
    #[must_use]
    pub fn of_write(tables: &[u64]) -> Self {
        let mut scope = Self { slots: vec![ANY_WRITE], is_all: false };
        for table in tables {
            scope.push(WRITTEN + slot_of(*table));
        }
        scope
    }

    /// What a change of a definition changes.
    #[must_use]
    pub fn of_definitions() -> Self {
        Self { slots: vec![DEFINITIONS], is_all: false }
    }

    /// Adds changes of definitions.
    pub fn add_definitions(&mut self) {
        self.push(DEFINITIONS);
    }

    /// Adds each write to any table: for an answer of which the tables are not known.
    pub fn add_any_write(&mut self) {
        self.push(ANY_WRITE);
    }

    /// Adds writes to the tables with these hashes, and those of which the tables are not known.
    pub fn add_writes_to(&mut self, tables: &[u64]) {
        self.push(UNKNOWN_WRITE);
        for table in tables {
            self.push(WRITTEN + slot_of(*table));
        }
    }

    /// Adds what this 64-bit hash stands for: a table that is flushed, a rule, a digest, a user.
    pub fn add(&mut self, hash: u64) {
        self.push(slot_of(hash));
    }

    /// How many slots it has.
    pub(crate) const fn len(&self) -> usize {
        self.slots.len()
    }

    fn push(&mut self, slot: u16) {
        if !self.slots.contains(&slot) {
            self.slots.push(slot);
        }
    }
}

/// The slot of a hash among as many as there are for names.
fn slot_of(hash: u64) -> u16 {
    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below 4,096")]
    let slot = (hash % SLOTS as u64) as u16;
    slot
}

/// What changes a slot.
const fn cause_of(slot: u16) -> Cause {
    match slot {
        DEFINITIONS => Cause::Definition,
        WRITTEN.. => Cause::Write,
        _ => Cause::Flush,
    }
}

/// When the query of an answer was sent, counted in writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub(crate) u64);

/// What is known of one slot.
#[derive(Debug, Default)]
struct Slot {
    /// The number of the last write that has ended.
    changed: AtomicU64,
    /// Writes that have not.
    in_flight: AtomicU32,
    /// The last one that has begun is of the server's binary log.
    is_logged: AtomicBool,
}

impl Slot {
    /// Whether an answer of this moment is as new as the slot.
    fn allows(&self, moment: Moment) -> bool {
        // A write that ends between the two loads has advanced `changed` first.
        self.in_flight.load(Acquire) == 0 && self.changed.load(Acquire) <= moment.0
    }

    /// Whether a write is in flight, and the number of the last one that has ended.
    fn last_change(&self) -> (bool, u64) {
        (self.in_flight.load(Acquire) > 0, self.changed.load(Acquire))
    }

    fn begin(&self, is_logged: bool) {
        self.in_flight.fetch_add(1, Release);
        self.is_logged.store(is_logged, Relaxed);
    }

    fn end(&self, number: u64) {
        self.changed.fetch_max(number, Release);
        self.in_flight.fetch_sub(1, Release);
    }
}

/// The last changes of all tables. Shared by all workers; reading takes no lock.
#[derive(Debug)]
pub struct Versions {
    /// Writes that have ended.
    writes: AtomicU64,
    slots: Box<[Slot]>,
    /// Writes to everything.
    all: Slot,
    /// How many writes there were when everything was flushed last.
    flushed: AtomicU64,
}

impl Default for Versions {
    fn default() -> Self {
        let slots = std::iter::repeat_with(Slot::default).take(SLOTS_ALL).collect();
        Self { writes: AtomicU64::new(0), slots, all: Slot::default(), flushed: AtomicU64::new(0) }
    }
}

impl Versions {
    /// The moment to remember with an answer, taken before its query is sent; nothing if a write to
    /// its tables is in flight, whose effect the query may or may not see.
    #[must_use]
    pub fn moment(&self, scope: &Scope) -> Option<Moment> {
        // Before the slots: a write that ends in between makes the answer too old, not too new.
        let moment = Moment(self.writes.load(Acquire));
        self.allows(scope, moment).then_some(moment)
    }

    /// Whether an answer of this moment may be stored or served now.
    #[must_use]
    pub fn allows(&self, scope: &Scope, moment: Moment) -> bool {
        if scope.is_all {
            return self.slots.iter().chain([&self.all]).all(|slot| slot.allows(moment));
        }
        self.all.allows(moment) && self.slots_of(scope).all(|slot| slot.allows(moment))
    }

    /// Whether definitions and privileges are what they were at this moment.
    #[must_use]
    #[inline]
    pub fn have_same_definitions(&self, moment: Moment) -> bool {
        let definitions = self.slots.get(usize::from(DEFINITIONS));
        self.all.allows(moment) && definitions.is_some_and(|slot| slot.allows(moment))
    }

    /// A write begins; it ends when the returned value is dropped. To be called before the write is
    /// sent, or, in a transaction, before its COMMIT is.
    pub fn begin_write(self: &Arc<Self>, scope: Scope) -> Write {
        self.begin(scope, false)
    }

    /// The same for a write that the binary log of the server tells.
    pub fn begin_logged(self: &Arc<Self>, scope: Scope) -> Write {
        self.begin(scope, true)
    }

    fn begin(self: &Arc<Self>, scope: Scope, is_logged: bool) -> Write {
        self.each(&scope, |slot| slot.begin(is_logged));
        Write { versions: Arc::clone(self), scope }
    }

    /// Everything of this scope is too old from now on.
    pub fn flush(self: &Arc<Self>, scope: Scope) {
        let is_all = scope.is_all;
        drop(self.begin_write(scope));
        if is_all {
            self.flushed.fetch_max(self.writes.load(Acquire), Release);
        }
    }

    /// What has changed last of what this scope depends on: it has made an answer too old, if
    /// anything has.
    #[must_use]
    pub fn last_cause(&self, scope: &Scope) -> Cause {
        let of_slot = |number: &u16| {
            let slot = self.slots.get(usize::from(*number));
            let is_logged = slot.is_some_and(|slot| slot.is_logged.load(Relaxed));
            let cause = match cause_of(*number) {
                Cause::Write if is_logged => Cause::Log,
                cause => cause,
            };
            (slot.map_or((false, 0), Slot::last_change), cause)
        };
        let of_all = match self.all.last_change() {
            (false, number) if number <= self.flushed.load(Acquire) => Cause::Flush,
            _ => Cause::Privileges,
        };
        let all = std::iter::once((self.all.last_change(), of_all));
        let last = scope.slots.iter().map(of_slot).chain(all).max_by_key(|(changed, _)| *changed);
        last.map_or(of_all, |(_, cause)| cause)
    }

    fn slots_of<'a>(&'a self, scope: &'a Scope) -> impl Iterator<Item = &'a Slot> {
        scope.slots.iter().filter_map(|slot| self.slots.get(usize::from(*slot)))
    }

    fn each(&self, scope: &Scope, act: impl Fn(&Slot)) {
        if scope.is_all {
            act(&self.all);
        } else {
            self.slots_of(scope).for_each(act);
        }
    }
}

/// A write in flight.
#[derive(Debug)]
#[must_use = "the write ends when this is dropped"]
pub struct Write {
    versions: Arc<Versions>,
    scope: Scope,
}

impl Drop for Write {
    fn drop(&mut self) {
        let number = self.versions.writes.fetch_add(1, Release) + 1;
        self.versions.each(&self.scope, |slot| slot.end(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(hashes: &[u64]) -> Scope {
        let mut scope = Scope::new();
        for hash in hashes {
            scope.add(*hash);
        }
        scope
    }

    #[test]
    fn c20_an_answer_read_while_a_write_was_in_flight_is_not_stored() {
        let (versions, t) = (Arc::new(Versions::default()), scope(&[1]));
        let write = versions.begin_write(t.clone());
        assert_eq!(versions.moment(&t), None, "nobody knows whether the query sees the write");
        drop(write);
        assert!(versions.moment(&t).is_some());
    }

    #[test]
    fn c20_a_write_that_ends_after_the_query_was_sent_makes_its_answer_too_old() {
        let (versions, t, u) = (Arc::new(Versions::default()), scope(&[1]), scope(&[2]));
        let (of_t, of_u) = (versions.moment(&t).unwrap(), versions.moment(&u).unwrap());
        let write = versions.begin_write(t.clone());
        assert!(!versions.allows(&t, of_t), "in flight");
        drop(write);
        assert!(!versions.allows(&t, of_t), "ended");
        assert!(versions.allows(&u, of_u), "another table");
        assert!(versions.moment(&t).is_some_and(|moment| versions.allows(&t, moment)));
    }

    #[test]
    fn a_write_to_unknown_tables_is_one_to_all() {
        let (versions, t) = (Arc::new(Versions::default()), scope(&[1]));
        let moment = versions.moment(&t).unwrap();
        versions.flush(Scope::all());
        assert!(!versions.allows(&t, moment));
    }

    #[test]
    fn an_answer_that_depends_on_everything_is_invalidated_by_each_write() {
        let (versions, all) = (Arc::new(Versions::default()), Scope::all());
        let moment = versions.moment(&all).unwrap();
        versions.flush(scope(&[7]));
        assert!(!versions.allows(&all, moment));
    }

    #[test]
    fn c20_a_write_counts_against_its_tables_and_answers_of_unknown_tables() {
        let versions = Arc::new(Versions::default());
        let (mut of_t, mut of_u, mut of_unknown, flushed) =
            (Scope::new(), Scope::new(), Scope::new(), scope(&[1]));
        of_t.add_writes_to(&[1]);
        of_u.add_writes_to(&[2]);
        of_unknown.add_any_write();
        let all = [&of_t, &of_u, &of_unknown, &flushed];
        let invalidated = |write: Scope| {
            let moment = versions.moment(&Scope::new()).unwrap();
            versions.flush(write);
            all.map(|scope| !versions.allows(scope, moment))
        };
        assert_eq!(invalidated(Scope::of_write(&[1])), [true, false, true, false]);
        assert_eq!(invalidated(Scope::of_write(&[])), [false, false, true, false]);
        assert_eq!(invalidated(Scope::of_unknown_write()), [true, true, true, false]);
        assert_eq!(invalidated(scope(&[1])), [false, false, false, true]);
        assert_eq!(invalidated(Scope::of_definitions()), [false; 4]);
        assert_eq!(invalidated(Scope::all()), [true; 4]);
    }

    #[test]
    fn the_last_change_is_what_makes_an_answer_too_old() {
        let versions = Arc::new(Versions::default());
        let mut t = scope(&[1]);
        t.add_writes_to(&[1]);
        t.add_definitions();
        let changes = [
            (Scope::of_write(&[1]), Cause::Write),
            (Scope::of_definitions(), Cause::Definition),
            (scope(&[1]), Cause::Flush),
            (Scope::of_unknown_write(), Cause::Write),
        ];
        for (change, cause) in changes {
            versions.flush(change.clone());
            versions.flush(scope(&[7]));
            assert_eq!(versions.last_cause(&t), cause, "{change:?}");
        }
        versions.flush(Scope::all());
        assert_eq!(versions.last_cause(&t), Cause::Flush);
        drop(versions.begin_write(Scope::all()));
        assert_eq!(versions.last_cause(&t), Cause::Privileges);
        let write = versions.begin_write(Scope::of_write(&[1]));
        versions.flush(Scope::of_definitions());
        assert_eq!(versions.last_cause(&t), Cause::Write, "it is in flight");
        drop(write);
        drop(versions.begin_logged(Scope::of_write(&[1])));
        assert_eq!(versions.last_cause(&t), Cause::Log);
    }

    #[test]
    fn two_writes_to_a_table_are_both_waited_for() {
        let (versions, t) = (Arc::new(Versions::default()), scope(&[1]));
        let (first, second) = (versions.begin_write(t.clone()), versions.begin_write(t.clone()));
        drop(first);
        assert_eq!(versions.moment(&t), None);
        drop(second);
        assert!(versions.moment(&t).is_some());
    }
}
