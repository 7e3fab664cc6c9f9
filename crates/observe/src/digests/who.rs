//! Whose statements are counted: user, schema and, if they are told apart by it, the client's
//! address. A session asks for its [`Who`] when it begins and when its schema changes; a statement
//! costs the reading of a number.

use std::collections::HashMap;
use std::sync::Arc;

/// Whose statements.
#[derive(Debug, PartialEq, Eq)]
pub struct Who {
    /// No other [`Who`] that the same worker remembers has it.
    pub(super) id: u32,
    /// By what they are told apart.
    pub names: Names,
}

/// What one [`Who`] is told apart by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Names {
    /// The user.
    pub user: Arc<[u8]>,
    /// The schema; empty for none.
    pub schema: Arc<[u8]>,
    /// The client's address; empty unless clients are told apart by their addresses.
    pub client: Arc<[u8]>,
}

impl Who {
    /// Whether the client's address is a part of it: it is called something then, whatever it is.
    pub fn is_by_client(&self) -> bool {
        !self.names.client.is_empty()
    }

    /// Bytes that it takes, about: it is in two maps.
    pub(super) fn bytes(&self) -> usize {
        let names = &self.names;
        2 * size_of::<Self>() + 160 + names.user.len() + names.schema.len() + names.client.len()
    }
}

/// Every [`Who`] that a worker remembers.
#[derive(Debug, Default)]
pub(super) struct Everybody {
    known: HashMap<Names, Arc<Who>>,
    next_id: u32,
    /// When there are this many, unused ones are forgotten.
    clear_at: usize,
}

/// How many are kept before unused ones are looked for.
const KEPT_MIN: usize = 256;

impl Everybody {
    /// Who has these names.
    pub(super) fn who(&mut self, names: Names) -> Arc<Who> {
        if let Some(who) = self.known.get(&names) {
            return Arc::clone(who);
        }
        if self.known.len() >= self.clear_at.max(KEPT_MIN) {
            self.known.retain(|_, who| Arc::strong_count(who) > 1);
            // So that each look at all is paid for by as many new ones.
            self.clear_at = 2 * self.known.len();
        }
        // After four billion a number comes again, for other names: those that had it were not used
        // for as long.
        self.next_id = self.next_id.wrapping_add(1);
        let who = Arc::new(Who { id: self.next_id, names: names.clone() });
        self.known.insert(names, Arc::clone(&who));
        who
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(user: &str, schema: &str) -> Names {
        Names { user: user.as_bytes().into(), schema: schema.as_bytes().into(), client: Arc::default() }
    }

    #[test]
    fn c07_the_same_user_in_another_schema_has_another_entry() {
        let mut everybody = Everybody::default();
        let first = everybody.who(names("a", "x"));
        assert_eq!(everybody.who(names("a", "x")).id, first.id);
        assert_ne!(everybody.who(names("a", "y")).id, first.id);
        assert_ne!(everybody.who(names("ax", "")).id, first.id);
    }

    #[test]
    fn who_is_not_used_is_forgotten() {
        let mut everybody = Everybody::default();
        let kept = everybody.who(names("kept", ""));
        for n in 0..100_000 {
            everybody.who(names(&n.to_string(), ""));
        }
        assert!(everybody.known.len() <= 2 * KEPT_MIN, "{}", everybody.known.len());
        assert_eq!(everybody.who(names("kept", "")).id, kept.id);
    }
}
