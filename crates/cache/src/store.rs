//! Answers by key, within a budget of bytes.
//!
//! The store is cut into shards by the key; each has its own lock, its part of the budget and its
//! own order of eviction. What is evicted is decided by S3-FIFO (Yang et al., "FIFO queues are all
//! you need for cache eviction", SOSP 2023): new answers enter a small queue; those asked for again
//! go on to the main queue, the others leave early, and are remembered for a while by a ghost.
//!
//! The budget counts all memory of the cache: answers as the allocator rounds them, slots, index,
//! ghosts, and answers that were evicted while a slow client still has them.

mod ghost;
mod index;
mod queue;
mod shard;
mod slots;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::answer::Answer;
use crate::key::Key;
use crate::not_stored::NotStored;
use crate::versions::Moment;
use shard::Shard;

/// Shards: more than there are cores on most machines, so that two workers seldom meet.
const SHARDS: usize = 16;
/// The largest part of a shard's budget that one answer may take: 1 in this.
const ANSWER_SHARE: usize = 4;

/// How long an answer may be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    /// Milliseconds from storing on.
    pub ttl_ms: u32,
    /// The age in milliseconds from which one client refreshes the answer; 0: none does.
    pub soft_ttl_ms: u32,
    /// Milliseconds behind the time to live for which the answer is served if no server answers.
    pub stale_ms: u32,
}

/// What an age means for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Age {
    /// It is served.
    Fresh,
    /// It is served, and one client refreshes it.
    Soft,
    /// It is not served.
    Over,
}

impl Life {
    /// What this age in milliseconds means for an answer whose own time to live is `ttl_ms`.
    pub(crate) fn of(self, age_ms: u32, ttl_ms: u32) -> Age {
        if age_ms >= ttl_ms.min(self.ttl_ms) {
            Age::Over
        } else if self.soft_ttl_ms != 0 && age_ms >= self.soft_ttl_ms {
            Age::Soft
        } else {
            Age::Fresh
        }
    }

    /// Whether an answer of this age, with its own times `ttl_ms` and `stale_ms`, may be served if
    /// no server answers.
    fn bears(self, age_ms: u32, ttl_ms: u32, stale_ms: u32) -> bool {
        age_ms < ttl_ms.min(self.ttl_ms).saturating_add(stale_ms.min(self.stale_ms))
    }
}

/// A stored answer, seen without a trace in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// Milliseconds since it was read from a server.
    pub age_ms: u32,
    /// The age in milliseconds up to which it is served.
    pub ttl_ms: u32,
    /// The age up to which it is served if no server answers; not more than `ttl_ms` if it is not.
    pub stale_until_ms: u32,
    /// Bytes of its packets.
    pub bytes: usize,
}

/// A stored answer that may be served.
#[derive(Debug)]
pub struct Hit {
    /// The answer.
    pub answer: Answer,
    /// Milliseconds since it was stored.
    pub age_ms: u32,
    /// This client is to fetch it anew, while others go on to get this one.
    pub refresh: bool,
    /// When it was read from the server.
    pub moment: Moment,
    /// When it was stored, and for how long it is good, without the rule that asks now.
    pub(crate) stored: u32,
    pub(crate) ttl_ms: u32,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Miss {
    /// It is not stored.
    Absent,
    /// It is older than its time to live, or than that of the rule that asks.
    Expired,
    /// One of its tables was written to.
    Invalidated,
    /// The account has not run the digest itself since privileges were changed.
    Unproven,
    /// It is not known what others have written lately.
    Behind,
}

impl Miss {
    /// All reasons.
    pub const ALL: [Self; 5] = [Self::Absent, Self::Expired, Self::Invalidated, Self::Unproven, Self::Behind];

    /// What operators read.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Absent => "no answer is there",
            Self::Expired => "the answer is older than its time to live",
            Self::Invalidated => "a write or FLUSH came after the answer",
            Self::Unproven => "the user has not run this digest lately",
            Self::Behind => "what was written lately is not known from the server's binary log",
        }
    }
}

/// What a look into the store finds.
pub type Lookup = Result<Hit, Miss>;

/// What a store holds and has done. The counters only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Answers.
    pub entries: u64,
    /// Bytes of memory, everything counted.
    pub bytes: u64,
    /// Those of them in answers that were evicted and that clients have still.
    pub lingering_bytes: u64,
    /// Answers that were stored.
    pub stored: u64,
    /// Answers that left: evicted, expired, invalidated or flushed.
    pub purged: u64,
    /// Those of them that made room for others.
    pub evicted: u64,
}

/// Answers of all workers.
#[derive(Debug)]
pub struct Store {
    shards: Box<[Mutex<Shard>]>,
}

impl Store {
    /// An empty store for this many bytes.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        let shard = || Mutex::new(Shard::new(budget / SHARDS));
        Self { shards: std::iter::repeat_with(shard).take(SHARDS).collect() }
    }

    /// The answer for `key` at the time `now_ms`, if it is younger than its own and the rule's time
    /// to live, and if `allows` says so of the moment at which it was read.
    pub fn get(&self, key: Key, now_ms: u64, life: Life, allows: impl FnOnce(Moment) -> bool) -> Lookup {
        self.shard(key).map_or(Err(Miss::Absent), |mut shard| shard.get(key, now_ms, life, allows))
    }

    /// The answer for `key` under the same conditions, as long as it may be served because no
    /// server answers.
    pub fn get_stale(
        &self,
        key: Key,
        now_ms: u64,
        life: Life,
        allows: impl FnOnce(Moment) -> bool,
    ) -> Option<Hit> {
        self.shard(key)?.get_stale(key, now_ms, life, allows)
    }

    /// What [`get`](Self::get) or [`get_stale`](Self::get_stale) would find. Changes neither the
    /// order of eviction nor what is stored.
    ///
    /// # Errors
    ///
    /// Neither of them would find anything.
    pub fn peek(
        &self,
        key: Key,
        now_ms: u64,
        life: Life,
        allows: impl FnOnce(Moment) -> bool,
    ) -> Result<Seen, Miss> {
        self.shard(key).map_or(Err(Miss::Absent), |shard| shard.peek(key, now_ms, life, allows))
    }

    /// Stores an answer that was read at `moment`, in place of the one that there is.
    ///
    /// # Errors
    ///
    /// It is too large, or there is no room.
    pub fn put(
        &self,
        key: Key,
        answer: Answer,
        now_ms: u64,
        life: Life,
        moment: Moment,
    ) -> Result<(), NotStored> {
        self.shard(key)
            .map_or(Err(NotStored::NoRoom), |mut shard| shard.put(key, answer, now_ms, life.ttl_ms, moment))
    }

    /// Removes the answer for `key`. Returns whether there was one.
    pub fn remove(&self, key: Key) -> bool {
        self.shard(key).is_some_and(|mut shard| shard.remove(key))
    }

    /// Removes what is older than its time to live from the next shards in turn. To be called
    /// regularly with another `turn`.
    pub fn sweep(&self, now_ms: u64, turn: usize) {
        if let Some(mut shard) = self.shards.get(turn % SHARDS).map(lock) {
            shard.sweep(now_ms);
        }
    }

    /// Removes everything. Returns how many answers that were.
    pub fn clear(&self) -> u64 {
        self.shards.iter().map(|shard| lock(shard).clear()).sum()
    }

    /// Has another budget from now on; what is too much leaves at once.
    pub fn set_budget(&self, budget: usize) {
        for shard in &self.shards {
            lock(shard).set_budget(budget / SHARDS);
        }
    }

    /// What it holds and has done.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.shards.iter().map(|shard| lock(shard).usage()).fold(Usage::default(), |sum, one| Usage {
            entries: sum.entries + one.entries,
            bytes: sum.bytes + one.bytes,
            lingering_bytes: sum.lingering_bytes + one.lingering_bytes,
            stored: sum.stored + one.stored,
            purged: sum.purged + one.purged,
            evicted: sum.evicted + one.evicted,
        })
    }

    /// Checks what must always hold: each answer is in one queue and in the index, and the bytes
    /// are those of what there is.
    ///
    /// # Panics
    ///
    /// Something does not hold.
    #[cfg(test)]
    pub(crate) fn check_invariants(&self) {
        self.shards.iter().for_each(|shard| lock(shard).check_invariants());
    }

    #[expect(clippy::cast_possible_truncation, reason = "the remainder is below SHARDS")]
    fn shard(&self, key: Key) -> Option<MutexGuard<'_, Shard>> {
        self.shards.get((key.high % SHARDS as u64) as usize).map(lock)
    }
}

/// A shard stays usable if a thread has panicked with it: at worst an answer is missing.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a client or a first level has the bytes of an answer, too.
fn is_shared(bytes: &Arc<[u8]>) -> bool {
    Arc::strong_count(bytes) > 1
}

#[cfg(test)]
mod tests;
