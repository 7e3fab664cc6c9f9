//! What a worker knows of stored code beside sharded tables. It holds for as long as a table's
//! definition, and until a session defines something through the proxy.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use planner::stored::{Found, Object};

use crate::limits::{DEFINITION_AGE_MAX, STORED_MAX};

/// A user sees what it may: the user, the hostgroup, and what is there.
type Key = (Box<[u8]>, u32, Object);

/// What is behind names at servers.
#[derive(Debug, Default)]
pub struct StoredCode {
    /// By hostgroup and name, with the time when it was found.
    known: RefCell<HashMap<Key, (Found, Duration)>>,
    /// The version of definitions that this is about.
    version: Cell<u64>,
}

impl StoredCode {
    /// Forgets everything if the version of definitions is another one.
    pub fn refresh(&self, version: u64) {
        if self.version.replace(version) != version {
            self.clear();
        }
    }

    /// What is known of an object.
    pub fn get(&self, key: &Key, now: Duration) -> Option<Found> {
        let known = self.known.borrow();
        let (found, at) = known.get(key)?;
        (now.saturating_sub(*at) < DEFINITION_AGE_MAX).then(|| found.clone())
    }

    /// This was found at `now`, when definitions had this version.
    pub fn learn(&self, key: Key, found: &Found, (now, version): (Duration, u64)) {
        if version != self.version.get() {
            return;
        }
        let mut known = self.known.borrow_mut();
        if known.len() >= STORED_MAX {
            known.clear();
        }
        known.insert(key, (found.clone(), now));
    }

    /// Nothing is known any more.
    pub fn clear(&self) {
        self.known.borrow_mut().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_holds_for_a_while_and_until_something_is_defined() {
        let stored = StoredCode::default();
        let object = || Object::Table { schema: "a".to_owned(), name: "b".to_owned(), is_written: false };
        let key = |user: &[u8]| (user.into(), 1, object());
        let now = Duration::from_secs(5);
        let holds = |stored: &StoredCode, at| stored.get(&key(b"u"), at).is_some();
        stored.learn(key(b"u"), &Found::default(), (now, 0));
        assert!(holds(&stored, now) && !holds(&stored, now + DEFINITION_AGE_MAX));
        assert!(stored.get(&key(b"v"), now).is_none());
        stored.refresh(1);
        assert!(!holds(&stored, now));
        stored.learn(key(b"u"), &Found::default(), (now, 0));
        assert!(!holds(&stored, now), "it was found before");
    }
}
