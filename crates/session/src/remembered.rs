//! What a worker has found out about names, each for a while, and until a session defines
//! something.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash, RandomState};

use crate::limits::REMEMBERED_MAX;

/// Findings, at most [`REMEMBERED_MAX`]. Times are in milliseconds.
#[derive(Debug)]
pub struct Remembered<T> {
    /// By the hash of what they are about; until this time.
    known: RefCell<HashMap<u64, (T, u64)>>,
    hasher: RandomState,
    /// The version of definitions that they are about.
    version: Cell<u64>,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self { known: RefCell::default(), hasher: RandomState::new(), version: Cell::new(0) }
    }
}

impl<T: Clone> Remembered<T> {
    /// Forgets everything if the [version](crate::relations::Definitions::version) of definitions
    /// is another one. Whether it is.
    pub fn refresh(&self, version: u64) -> bool {
        let is_another = self.version.replace(version) != version;
        if is_another {
            self.clear();
        }
        is_another
    }

    /// The version of the definitions that this is about.
    pub const fn version(&self) -> u64 {
        self.version.get()
    }

    /// What is known at `now`, and until when.
    pub fn get(&self, about: impl Hash, now: u64) -> Option<(T, u64)> {
        let known = self.known.borrow();
        known.get(&self.hasher.hash_one(about)).filter(|(_, until)| now < *until).cloned()
    }

    /// Takes note of a finding that counts `until` then, if definitions are still of the version
    /// that they had when it was asked for.
    pub fn note(&self, about: impl Hash, finding: T, (version, until): (u64, u64)) {
        if version != self.version() {
            return;
        }
        let mut known = self.known.borrow_mut();
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(self.hasher.hash_one(about), (finding, until));
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.known.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_holds_for_a_while_and_until_something_is_defined() {
        let found = Remembered::default();
        let holds = |found: &Remembered<u8>, user: &str, now| found.get((user, 1), now).is_some();
        found.note(("u", 1), 7, (0, 10));
        assert_eq!(found.get(("u", 1), 9), Some((7, 10)));
        assert!(!holds(&found, "u", 10) && !holds(&found, "v", 9));
        assert!(found.refresh(1) && !found.refresh(1) && !holds(&found, "u", 9));
        found.note(("u", 1), 7, (0, 10));
        assert!(!holds(&found, "u", 9), "it was asked for before");
    }

    #[test]
    fn there_is_a_limit() {
        let found = Remembered::default();
        (0..=REMEMBERED_MAX).for_each(|number| found.note(number, (), (0, 1)));
        assert_eq!(found.known.borrow().len(), 1);
    }
}
