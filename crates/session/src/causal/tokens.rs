//! The transactions that reads must see, of scopes with several sessions.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gtid::{Gtid, Highest};

use super::clusters::Clusters;

/// Parts of the map, each with its own lock.
const PARTS: usize = 16;

/// Scopes of a part that are kept without a session in them. Tokens of further ones are merged into
/// what all new scopes of the part begin with: reads may wait for more than they have to, and never
/// for less.
pub const SCOPES_PER_PART_MAX: usize = 1_024;

/// Bytes of the longest name of an application. Of longer ones the beginning counts, so that some
/// share a scope: their reads wait for more than they have to.
pub const SCOPE_NAME_BYTES_MAX: usize = 128;

/// What sessions have in common whose reads see each other's writes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The user's name.
    User(Arc<[u8]>),
    /// The name of the application.
    Application(Box<[u8]>),
}

impl Scope {
    /// The scope of the application with this name.
    pub fn application(name: &[u8]) -> Self {
        Self::Application(name.get(..SCOPE_NAME_BYTES_MAX).unwrap_or(name).into())
    }
}

/// The highest transactions of one scope.
#[derive(Debug, Default)]
pub struct Shared {
    highest: Mutex<Clusters>,
    /// How often it has changed.
    version: AtomicU64,
}

impl Shared {
    fn highest(&self) -> MutexGuard<'_, Clusters> {
        self.highest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A server of this cluster has acknowledged this transaction to a session of the scope.
    pub fn raise(&self, cluster: u32, gtid: Gtid) {
        if self.highest().raise(cluster, gtid) {
            self.version.fetch_add(1, Ordering::Release);
        }
    }

    /// How often the scope has changed. What was read behind this is at least as new.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The transactions of a cluster that reads of the scope must see.
    pub fn tokens(&self, cluster: u32) -> Highest {
        self.highest().of(cluster)
    }

    /// Puts what is `left` of its origin in the place of a cluster's transaction that is `lost`,
    /// unless a later one has come. Returns whether the lost one was there.
    pub fn replace_lost(&self, cluster: u32, lost: &Gtid, left: Option<Gtid>) -> bool {
        let replaced = self.highest().replace(cluster, lost, left);
        if replaced {
            self.version.fetch_add(1, Ordering::Release);
        }
        replaced
    }
}

/// All scopes of the process.
#[derive(Debug, Default)]
pub struct Tokens {
    hasher: RandomState,
    parts: [Mutex<Part>; PARTS],
}

#[derive(Debug, Default)]
struct Part {
    scopes: HashMap<Scope, Arc<Shared>>,
    /// The tokens of scopes that are not kept any more.
    dropped: Clusters,
}

impl Tokens {
    /// The tokens of a scope.
    pub fn of(&self, scope: Scope) -> Arc<Shared> {
        let at = usize::try_from(self.hasher.hash_one(&scope) % PARTS as u64).unwrap_or_default();
        let Some(part) = self.parts.get(at) else { return Arc::default() };
        part.lock().unwrap_or_else(PoisonError::into_inner).scope(scope)
    }
}

impl Part {
    fn scope(&mut self, scope: Scope) -> Arc<Shared> {
        if let Some(shared) = self.scopes.get(&scope) {
            return Arc::clone(shared);
        }
        if self.scopes.len() >= SCOPES_PER_PART_MAX {
            self.forget_unused();
        }
        let shared = Shared { highest: Mutex::new(self.dropped.clone()), version: AtomicU64::new(0) };
        let shared = Arc::new(shared);
        self.scopes.insert(scope, Arc::clone(&shared));
        shared
    }

    /// Drops the scopes that no session has.
    fn forget_unused(&mut self) {
        let Self { scopes, dropped } = self;
        scopes.retain(|_, shared| {
            let is_used = Arc::strong_count(shared) > 1;
            if !is_used {
                dropped.merge(&shared.highest());
            }
            is_used
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gtid(text: &str) -> Gtid {
        text.parse().unwrap()
    }

    #[test]
    fn sessions_of_a_scope_have_the_same_tokens() {
        let tokens = Tokens::default();
        let user = || tokens.of(Scope::User(b"app"[..].into()));
        let (one, two) = (user(), user());
        let before = two.version();
        one.raise(10, gtid("0-1-7"));
        assert_ne!(two.version(), before);
        one.raise(10, gtid("0-1-5"));
        assert!(two.tokens(10).reaches(&gtid("0-1-7")));
        let other = tokens.of(Scope::application(b"app"));
        assert!(other.tokens(10).is_empty(), "the application is no user");
        let left = Some(gtid("0-2-6"));
        assert!(!two.replace_lost(10, &gtid("0-1-5"), left) && !two.replace_lost(20, &gtid("0-1-7"), left));
        assert!(two.replace_lost(10, &gtid("0-1-7"), left), "it is still there");
        assert!(one.tokens(10).reaches(&gtid("0-1-6")) && !one.tokens(10).reaches(&gtid("0-1-7")));
    }

    #[test]
    fn scopes_are_bounded_and_none_forgets() {
        let mut part = Part::default();
        let held = part.scope(Scope::application(b"held"));
        part.scope(Scope::application(b"gone")).raise(10, gtid("0-1-7"));
        for at in 0..2 * SCOPES_PER_PART_MAX {
            part.scope(Scope::application(at.to_string().as_bytes()));
        }
        assert!(part.scopes.len() <= SCOPES_PER_PART_MAX);
        held.raise(10, gtid("1-1-1"));
        let tokens = |part: &mut Part, name: &[u8]| part.scope(Scope::application(name)).tokens(10);
        assert!(tokens(&mut part, b"held").reaches(&gtid("1-1-1")));
        assert!(tokens(&mut part, b"gone").reaches(&gtid("0-1-7")));
    }

    #[test]
    fn long_names_share_a_scope() {
        let name = |end| [&[b'x'; SCOPE_NAME_BYTES_MAX][..], end].concat();
        assert_eq!(Scope::application(&name(b"1")), Scope::application(&name(b"2")));
    }
}
