//! What a worker knows of tables: whether a view or triggers are behind a name that do more than
//! the statement says.
//!
//! What is known holds for a while, and until a session defines a view, a trigger or a routine.
//! Statements are looked through once where those with the same digest have the same tables.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use route::Caller;
use sql::shape::Table;

use crate::limits::{RELATION_AGE_MAX_MS, SEEN_THROUGH_MAX};
use crate::remembered::Remembered;

/// How often what may be behind the name of a table has begun to change, or has changed. Shared by
/// all workers.
#[derive(Debug, Default)]
pub struct Definitions(AtomicU64);

impl Definitions {
    /// A statement that may define something is about to be sent. Its reply is known when the
    /// returned value is dropped.
    pub fn begin(self: &Arc<Self>) -> Defining {
        self.0.fetch_add(1, Release);
        Defining(Arc::clone(self))
    }

    /// Another number than before each change.
    pub fn version(&self) -> u64 {
        self.0.load(Acquire)
    }
}

/// A statement in flight that may define something.
#[derive(Debug)]
#[must_use = "the statement ends when this is dropped"]
pub struct Defining(Arc<Definitions>);

impl Drop for Defining {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Release);
    }
}

/// What is behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behind {
    /// Nothing that outlives a statement, as far as the user may see.
    Nothing,
    /// A column's default takes values of a sequence: that matters to writes and to
    /// `DEFAULT(column)`.
    Sequence,
    /// Something does, or may.
    Something,
}

/// For whom something is known: users see what they may, and hostgroups have tables of their own.
#[derive(Debug, Clone, Copy)]
pub struct Whose<'a> {
    /// The user, the schema and the listener.
    pub caller: &'a Caller,
    /// The hostgroup.
    pub hostgroup: u32,
}

/// What one worker knows.
#[derive(Debug)]
pub struct Relations {
    /// What is behind names, by the hostgroup, the user and the name.
    known: Remembered<Behind>,
    /// Statements with nothing behind their tables, at the places that their hashes have.
    seen_through: RefCell<Box<[(u64, u64)]>>,
    /// Since when definitions are the same; nothing if that is longer than it matters.
    since: Cell<Option<u64>>,
}

const _: () = assert!(SEEN_THROUGH_MAX.is_power_of_two(), "places are the lower bits of hashes");

impl Default for Relations {
    fn default() -> Self {
        Self {
            known: Remembered::default(),
            seen_through: RefCell::new(vec![(0, 0); SEEN_THROUGH_MAX].into()),
            since: Cell::new(None),
        }
    }
}

impl Relations {
    /// Forgets everything if the [version](Definitions::version) of definitions is another one.
    /// Returns the time in milliseconds that goes with what is found out now: `exactly` as long as
    /// definitions are new, else `about` now.
    pub fn refresh(&self, version: u64, about: u64, exactly: impl Fn() -> u64) -> u64 {
        if self.known.refresh(version) {
            self.since.set(Some(exactly()));
            self.seen_through.borrow_mut().fill((0, 0));
        }
        match self.since.get() {
            Some(since) if about < since + RELATION_AGE_MAX_MS => exactly(),
            _ => {
                self.since.set(None);
                about
            }
        }
    }

    /// The version of the definitions that this is about.
    pub const fn version(&self) -> u64 {
        self.known.version()
    }

    /// Whether nothing is behind the tables of statements with this digest.
    pub fn sees_through(&self, whose: Whose<'_>, digest: u64, now: u64) -> bool {
        let key = key_of(whose, digest);
        self.seen_through.borrow().get(place(key)).is_some_and(|(known, until)| *known == key && now < *until)
    }

    /// Whether nothing is behind all these names. If so, that is known from now on of statements
    /// with this digest, where it tells which tables they have.
    pub fn are_harmless(&self, whose: Whose<'_>, all: &[Table], digest: Option<u64>, now: u64) -> bool {
        let mut until = self.until(now);
        for table in all {
            match self.entry(whose, table, now) {
                Some((Behind::Nothing, its)) => until = until.min(its),
                _ => return false,
            }
        }
        let key = digest.map(|digest| key_of(whose, digest));
        if let Some(key) = key
            && let Some(entry) = self.seen_through.borrow_mut().get_mut(place(key))
        {
            *entry = (key, until);
        }
        true
    }

    /// What is behind this name, if that is known.
    pub fn behind(&self, whose: Whose<'_>, table: &Table, now: u64) -> Option<Behind> {
        self.entry(whose, table, now).map(|(behind, _)| behind)
    }

    fn entry(&self, whose: Whose<'_>, table: &Table, now: u64) -> Option<(Behind, u64)> {
        self.known.get((whose.hostgroup, whose.caller.user(), table), now)
    }

    /// Takes note of what is behind this name, if definitions are still of the version that they
    /// had when that was asked for.
    pub fn note(&self, whose: Whose<'_>, table: &Table, behind: Behind, (version, now): (u64, u64)) {
        let about = (whose.hostgroup, whose.caller.user(), table);
        self.known.note(about, behind, (version, self.until(now)));
    }

    /// How long what is found out now may be counted on. A definition may come into force later
    /// than it counts: at a replica, or because its connection was lost. What has been the same for
    /// a short time is asked for again soon.
    fn until(&self, now: u64) -> u64 {
        let unchanged = self.since.get().map_or(RELATION_AGE_MAX_MS, |since| now.saturating_sub(since));
        now + unchanged.min(RELATION_AGE_MAX_MS)
    }
}

fn key_of(whose: Whose<'_>, digest: u64) -> u64 {
    // An odd number without a pattern, so that hostgroups do not cancel out each other.
    let hostgroup = u64::from(whose.hostgroup).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    digest ^ whose.caller.hash_of_names().rotate_left(17) ^ hostgroup
}

fn place(key: u64) -> usize {
    usize::try_from(key & (SEEN_THROUGH_MAX as u64 - 1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000;

    fn relation(name: &str) -> Table {
        Table { schema: Some("a".into()), name: name.into() }
    }

    #[test]
    fn a_statement_is_seen_through_when_all_its_tables_are() {
        let (relations, caller) = (Relations::default(), Caller::new(b"u", b"a", "", 0));
        let whose = Whose { caller: &caller, hostgroup: 1 };
        let both = [relation("t"), relation("v")];
        relations.note(whose, &both[0], Behind::Nothing, (relations.version(), NOW));
        assert!(!relations.are_harmless(whose, &both, Some(7), NOW));
        relations.note(whose, &both[1], Behind::Nothing, (relations.version(), NOW));
        assert!(relations.are_harmless(whose, &both, Some(7), NOW) && relations.sees_through(whose, 7, NOW));
        let other = Caller::new(b"w", b"a", "", 0);
        assert!(!relations.sees_through(Whose { caller: &other, ..whose }, 7, NOW));
        assert!(!relations.sees_through(Whose { hostgroup: 2, ..whose }, 7, NOW));
        relations.note(whose, &both[1], Behind::Something, (relations.version(), NOW));
        assert_eq!(relations.behind(whose, &both[1], NOW), Some(Behind::Something));
        assert!(!relations.are_harmless(whose, &both, Some(8), NOW));
    }

    #[test]
    fn what_is_known_has_an_end() {
        let (relations, caller) = (Relations::default(), Caller::new(b"u", b"a", "", 0));
        let whose = Whose { caller: &caller, hostgroup: 1 };
        let known = |now| relations.behind(whose, &relation("t"), now).is_some();
        relations.note(whose, &relation("t"), Behind::Nothing, (0, NOW));
        assert!(known(NOW + RELATION_AGE_MAX_MS - 1) && !known(NOW + RELATION_AGE_MAX_MS));
        assert_eq!(relations.refresh(1, NOW - 900, || NOW), NOW);
        assert!(!known(NOW));
        // Whether the definition was in force when it was asked for is not certain.
        relations.note(whose, &relation("t"), Behind::Nothing, (1, NOW));
        assert!(!known(NOW));
        relations.note(whose, &relation("t"), Behind::Nothing, (1, NOW + 5));
        assert!(known(NOW + 9) && !known(NOW + 10));
        assert_eq!(relations.refresh(1, NOW + RELATION_AGE_MAX_MS, || 7), NOW + RELATION_AGE_MAX_MS);
    }

    #[test]
    fn what_was_asked_for_before_a_definition_is_not_known_after_it() {
        let (relations, caller) = (Relations::default(), Caller::new(b"u", b"a", "", 0));
        let (whose, definitions) = (Whose { caller: &caller, hostgroup: 1 }, Arc::<Definitions>::default());
        let refresh = |now| relations.refresh(definitions.version(), now, || now);
        let known = |now| relations.behind(whose, &relation("t"), now).is_some();
        let defining = definitions.begin();
        refresh(NOW);
        let asked = relations.version();
        relations.note(whose, &relation("t"), Behind::Nothing, (asked, NOW + 5));
        drop(defining);
        refresh(NOW + 6);
        assert!(!known(NOW + 6), "the definition has ended since");
        relations.note(whose, &relation("t"), Behind::Nothing, (asked, NOW + 8));
        assert!(!known(NOW + 8), "it was asked for before the end");
        relations.note(whose, &relation("t"), Behind::Nothing, (relations.version(), NOW + 8));
        assert!(known(NOW + 9));
    }
}
