//! The query cache of a process: what all workers share of it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use crate::advice::Adviser;
use crate::catalog::{Catalog, Learnt};
use crate::doorkeeper::Doorkeeper;
use crate::flights::Flights;
use crate::key::Keys;
use crate::proven::Proven;
use crate::sources::Sources;
use crate::store::{Store, Usage};
use crate::timeline::Timeline;
use crate::versions::Versions;
use crate::writing::Unknown;

/// The part of the budget that replies may take which are being copied: 1 in this.
const CAPTURE_SHARE: usize = 20;

/// The part of the budget that definitions may take: 1 in this.
const CATALOG_SHARE: usize = 32;

/// Sweeps between two that forget definitions which are too old.
const CATALOG_SWEEPS: usize = 64;

/// The query cache of a process.
#[derive(Debug)]
pub struct Cache {
    /// Makes the keys of answers.
    pub keys: Keys,
    /// The answers.
    pub store: Store,
    /// Equal queries that run once.
    pub flights: Arc<Flights>,
    /// Keys that were asked for lately, where few lookups hit.
    pub doorkeeper: Doorkeeper,
    /// When tables were changed.
    pub versions: Arc<Versions>,
    /// Which moments there were in the past.
    pub timeline: Timeline,
    /// What rules would do that cache more.
    pub adviser: Adviser,
    /// Which accounts have run which digests.
    pub proven: Arc<Proven>,
    /// What was learnt of tables.
    pub catalog: Catalog,
    /// Servers whose binary logs are followed.
    pub sources: Sources,
    /// Writes that may still go on at servers.
    pub(crate) unknown: Unknown,
    /// Whether there may be answers that writes or changes of privileges make too old.
    watches: AtomicBool,
    /// Whether there may be answers that only writes to their tables make too old.
    watches_tables: AtomicBool,
    /// Whether clients may write without a word to the cache.
    is_bypassed: AtomicBool,
    budget: AtomicUsize,
    /// Bytes of replies that are being copied.
    captured: AtomicUsize,
    /// How often it was swept.
    turn: AtomicUsize,
}

/// Bytes of a reply that is being copied. They count in the budget until this is dropped.
#[derive(Debug)]
pub struct Captured {
    cache: Arc<Cache>,
    bytes: usize,
}

impl Cache {
    /// An empty cache for this many bytes. The secret is that of its keys.
    #[must_use]
    pub fn new(secret: [u64; 2], budget: usize) -> Self {
        let doorkeeper = Doorkeeper::default();
        Self {
            keys: Keys::new(secret),
            store: Store::new(for_store(budget, &doorkeeper)),
            doorkeeper,
            flights: Arc::default(),
            versions: Arc::default(),
            timeline: Timeline::default(),
            adviser: Adviser::default(),
            proven: Arc::default(),
            catalog: Catalog::new(budget / CATALOG_SHARE),
            sources: Sources::default(),
            unknown: Unknown::default(),
            watches: AtomicBool::new(false),
            watches_tables: AtomicBool::new(false),
            is_bypassed: AtomicBool::new(false),
            budget: AtomicUsize::new(budget),
            captured: AtomicUsize::new(0),
            turn: AtomicUsize::new(0),
        }
    }

    /// Has another budget from now on; what is too much leaves at once.
    pub fn set_budget(&self, budget: usize) {
        if self.budget.swap(budget, Relaxed) != budget {
            self.store.set_budget(for_store(budget, &self.doorkeeper));
            self.catalog.set_limit(budget / CATALOG_SHARE);
        }
    }

    /// Bytes that it may take, everything counted.
    #[must_use]
    pub fn budget(&self) -> usize {
        self.budget.load(Relaxed)
    }

    /// Begins to count the bytes of a reply that is being copied.
    #[must_use]
    pub fn capture(self: &Arc<Self>) -> Captured {
        Captured { cache: Arc::clone(self), bytes: 0 }
    }

    /// From now on there may be answers that writes make too old.
    pub fn watch_writes(&self) {
        if !self.watches_writes() {
            self.watches.store(true, Relaxed);
        }
    }

    /// Whether there may be such answers: if not, nothing has to be told of writes.
    #[must_use]
    #[inline]
    pub fn watches_writes(&self) -> bool {
        self.watches.load(Relaxed)
    }

    /// From now on there may be answers that only writes to their tables make too old.
    pub fn watch_tables(&self) {
        if !self.watches_tables() {
            self.watches_tables.store(true, Relaxed);
        }
    }

    /// Whether there may be such answers: if not, a write counts as one to all tables.
    #[must_use]
    pub fn watches_tables(&self) -> bool {
        self.watches_tables.load(Relaxed)
    }

    /// Takes note of a definition. If another one was known, accounts prove again what they have
    /// proven.
    pub fn learn(&self, learnt: Learnt, now_ms: u64) {
        if self.catalog.learn(learnt, &self.versions, now_ms) {
            self.proven.forget_all();
        }
    }

    /// Clients may write, or change privileges, without a word to the cache. That is so for good:
    /// such a client may outlive the configuration that let it in.
    pub fn set_bypassed(&self) {
        self.is_bypassed.store(true, Relaxed);
    }

    /// Whether they may.
    #[must_use]
    pub fn is_bypassed(&self) -> bool {
        self.is_bypassed.load(Relaxed)
    }

    /// Removes answers and marks whose time is over. To be called once a second, by one thread.
    pub fn sweep(&self, now_ms: u64) {
        self.flights.sweep(now_ms);
        let turn = self.turn.fetch_add(1, Relaxed);
        self.store.sweep(now_ms, turn);
        self.unknown.sweep(turn);
        if turn.is_multiple_of(CATALOG_SWEEPS) {
            self.catalog.sweep(now_ms);
        }
    }

    /// How often it was swept.
    pub(crate) fn sweeps(&self) -> usize {
        self.turn.load(Relaxed)
    }

    /// What it holds and has done.
    #[must_use]
    pub fn usage(&self) -> Usage {
        let usage = self.store.usage();
        let besides = self.captured.load(Relaxed) + self.doorkeeper.bytes() + self.catalog.bytes();
        Usage { bytes: usage.bytes + besides as u64, ..usage }
    }
}

/// The part of a budget that stored answers get.
fn for_store(budget: usize, doorkeeper: &Doorkeeper) -> usize {
    let besides = budget / CAPTURE_SHARE + budget / CATALOG_SHARE + doorkeeper.bytes_max(budget);
    budget.saturating_sub(besides)
}

impl Captured {
    /// There are so many bytes more. False if there is no room for them: then they do not count.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        let limit = self.cache.budget() / CAPTURE_SHARE;
        let before = self.cache.captured.fetch_add(bytes, Relaxed);
        if before.saturating_add(bytes) > limit {
            self.cache.captured.fetch_sub(bytes, Relaxed);
            return false;
        }
        self.bytes += bytes;
        true
    }
}

impl Drop for Captured {
    fn drop(&mut self) {
        self.cache.captured.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_on_their_way_have_a_part_of_the_budget() {
        let cache = Arc::new(Cache::new([1, 2], 100_000));
        let (mut one, mut other) = (cache.capture(), cache.capture());
        assert!(one.grow(3000) && other.grow(2000));
        assert!(!one.grow(1), "it is a twentieth of the budget");
        assert_eq!(cache.usage().bytes - cache.store.usage().bytes, 5000);
        drop(other);
        assert!(one.grow(2000));
        cache.set_budget(20_000);
        assert!(!one.grow(0), "the budget has become smaller");
        drop(one);
        assert!(cache.capture().grow(1000));
    }
}
