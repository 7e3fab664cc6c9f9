//! What a cache would be good for, from a sample of what is asked.
//!
//! Of all keys one in [`RATE`] is followed, chosen by its hash (SHARDS, Waldspurger et al., FAST
//! 2015): every query of such a key is seen, so that its hits at several times to live are those
//! that a cache would have. How much memory they take is the reuse distance: the bytes of the other
//! keys of the digest that were asked for in between.
//!
//! A few keys may have most of the queries, and be in the sample or not. All queries of a digest
//! are counted; of the difference to what the sample makes of them as many are hits as among the
//! queries of the keys that are asked for most (regression estimate: keys weigh by their queries).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::key::Key;
use crate::refusal::Refusal;

/// One key in so many is followed.
pub const RATE: u64 = 25;
/// Times to live that are looked at, in milliseconds.
pub const TTLS_MS: [u64; 2] = [1_000, 60_000];
/// Keys that are followed at most: 2 MiB. New ones beyond are not followed.
const KEYS_MAX: usize = 16_384;
/// Digests at most; new ones beyond are left out.
const DIGESTS_MAX: usize = 256;
/// Digests whose queries are counted, at most.
const TOTALS_MAX: usize = 4_096;
/// Memory of an answer besides its bytes: slot, index, rounding.
const ANSWER_OVERHEAD: u64 = 100;
/// Steps of a reuse distance for each doubling: 9 % wide.
const STEPS: u32 = 8;
/// Steps in all: up to 2^48 bytes.
const DISTANCES: usize = 48 * STEPS as usize;

/// A key that is followed.
#[derive(Debug)]
struct Followed {
    digest: u64,
    bytes: u64,
    queries: u32,
    hits: [u32; TTLS_MS.len()],
    /// When it was asked for last, counted in queries.
    last: u64,
    /// When a cache with each time to live would have stored the answer.
    stored_ms: [u64; TTLS_MS.len()],
}

/// What was seen of a digest. Numbers are of the sample.
#[derive(Debug)]
struct Seen {
    queries: u64,
    keys: u64,
    hits: [u64; TTLS_MS.len()],
    /// Hits at the longest time to live by their reuse distance.
    distances: Box<[u32]>,
    runs: u64,
    run_us: u64,
    refused: [u32; Refusal::ALL.len()],
}

/// What was seen of the keys that are followed.
#[derive(Debug, Default)]
struct Sampler {
    keys: HashMap<u64, Followed>,
    digests: HashMap<u64, Seen>,
    /// All queries of a digest, of followed keys or not.
    totals: HashMap<u64, u64>,
    queries: u64,
    since_ms: Option<u64>,
}

/// What a rule that caches a digest would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Advice {
    /// The digest.
    pub digest: u64,
    /// Queries in a second.
    pub queries_per_second: f64,
    /// Different keys.
    pub keys: u64,
    /// The part of the queries that are hits at each of [`TTLS_MS`].
    pub hit_rates: [f64; TTLS_MS.len()],
    /// Bytes for 90 % of the hits at the longest time to live.
    pub bytes: u64,
    /// Microseconds of servers that these hits save in a second.
    pub saved_us_per_second: f64,
    /// What most of the queries that cannot be cached have, if there are any.
    pub refusal: Option<Refusal>,
}

/// A query of a key that is followed.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Its key, without account and settings.
    pub key: Key,
    /// Its digest.
    pub digest: u64,
    /// Why its answer is not cached, if it is not.
    pub refusal: Option<Refusal>,
}

/// The sample of a process. Nothing is followed until it is switched on.
#[derive(Debug, Default)]
pub struct Adviser {
    is_on: AtomicBool,
    sampler: Mutex<Sampler>,
}

impl Adviser {
    /// Whether keys are followed.
    #[inline]
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Relaxed)
    }

    /// Switches it on or off. What was seen is forgotten when it is switched on.
    pub fn switch(&self, on: bool) {
        if self.is_on.swap(on, Relaxed) != on && on {
            *self.lock() = Sampler::default();
        }
    }

    /// A query has come, of a key that is followed or not.
    pub fn count(&self, digest: u64) {
        let mut sampler = self.lock();
        if let Some(total) = sampler.totals.get_mut(&digest) {
            *total += 1;
        } else if sampler.totals.len() < TOTALS_MAX {
            sampler.totals.insert(digest, 1);
        }
    }

    /// A query of a key that is followed is over; a server has answered it with so many bytes in so
    /// many microseconds, or the cache has.
    pub fn note(&self, asked: Asked, now_ms: u64, server: Option<(u64, u64)>) {
        let mut sampler = self.lock();
        sampler.asked(asked.key.low, asked.digest, asked.refusal, now_ms);
        if let Some((bytes, run_us)) = server {
            sampler.answered(asked.key.low, bytes, run_us);
        }
    }

    /// What to cache, that which saves most first.
    #[must_use]
    pub fn advice(&self, now_ms: u64) -> Vec<Advice> {
        self.lock().advice(now_ms)
    }

    fn lock(&self) -> MutexGuard<'_, Sampler> {
        self.sampler.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Key {
    /// Whether queries of this key are followed.
    #[must_use]
    pub const fn is_followed(self) -> bool {
        self.low.is_multiple_of(RATE)
    }
}

impl Sampler {
    /// A query of a key that is followed has come.
    fn asked(&mut self, hash: u64, digest: u64, refusal: Option<Refusal>, now_ms: u64) {
        self.since_ms.get_or_insert(now_ms);
        self.queries += 1;
        let len = self.digests.len();
        let seen = match self.digests.entry(digest) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if len >= DIGESTS_MAX => return,
            Entry::Vacant(entry) => entry.insert(Seen::default()),
        };
        seen.queries += 1;
        if let Some(refusal) = refusal {
            if let Some(count) = seen.refused.get_mut(refusal as usize) {
                *count += 1;
            }
            return;
        }
        let Some(last) = self.keys.get(&hash).map(|key| key.last) else {
            seen.keys += 1;
            if self.keys.len() < KEYS_MAX {
                let stored_ms = [now_ms; TTLS_MS.len()];
                self.keys.insert(
                    hash,
                    Followed {
                        digest,
                        bytes: 0,
                        queries: 1,
                        hits: [0; TTLS_MS.len()],
                        last: self.queries,
                        stored_ms,
                    },
                );
            }
            return;
        };
        let between = self.keys.values().filter(|key| key.digest == digest && key.last >= last);
        let distance: u64 = between.map(|key| key.bytes + ANSWER_OVERHEAD).sum();
        let Some(key) = self.keys.get_mut(&hash) else { return };
        key.last = self.queries;
        key.queries = key.queries.saturating_add(1);
        let mut is_hit = false;
        let counts = seen.hits.iter_mut().zip(&mut key.hits);
        for ((stored, ttl), (hits, own)) in key.stored_ms.iter_mut().zip(TTLS_MS).zip(counts) {
            is_hit = now_ms.saturating_sub(*stored) < ttl;
            if is_hit {
                *hits += 1;
                *own = own.saturating_add(1);
            } else {
                *stored = now_ms;
            }
        }
        if let Some(count) = seen.distances.get_mut(step(distance * RATE)).filter(|_| is_hit) {
            *count += 1;
        }
    }

    /// A server has answered such a query with so many bytes, in so many microseconds.
    fn answered(&mut self, hash: u64, bytes: u64, run_us: u64) {
        let Some(key) = self.keys.get_mut(&hash) else { return };
        key.bytes = bytes;
        if let Some(seen) = self.digests.get_mut(&key.digest) {
            seen.runs += 1;
            seen.run_us += run_us;
        }
    }

    /// For each time to live how many hits a query more means, by the keys of a digest.
    fn slopes(&self, digest: u64) -> [f64; TTLS_MS.len()] {
        let keys = || self.keys.values().filter(|key| key.digest == digest);
        let squares: f64 = keys().map(|key| f64::from(key.queries).powi(2)).sum();
        std::array::from_fn(|ttl| {
            let hits = |key: &Followed| f64::from(key.hits.get(ttl).copied().unwrap_or_default());
            let products: f64 = keys().map(|key| hits(key) * f64::from(key.queries)).sum();
            if squares > 0.0 { products / squares } else { 0.0 }
        })
    }

    /// What to cache, that which saves most first.
    fn advice(&self, now_ms: u64) -> Vec<Advice> {
        let seconds = ratio(now_ms.saturating_sub(self.since_ms.unwrap_or(now_ms)).max(1), 1000);
        let total = |digest, seen: &Seen| self.totals.get(digest).map_or(seen.queries * RATE, |total| *total);
        let mut all: Vec<_> = self
            .digests
            .iter()
            .map(|(digest, seen)| seen.advice(*digest, total(digest, seen), self.slopes(*digest), seconds))
            .collect();
        all.sort_by(|a, b| {
            b.saved_us_per_second.total_cmp(&a.saved_us_per_second).then(a.digest.cmp(&b.digest))
        });
        all
    }
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            queries: 0,
            keys: 0,
            hits: [0; TTLS_MS.len()],
            distances: vec![0; DISTANCES].into(),
            runs: 0,
            run_us: 0,
            refused: [0; Refusal::ALL.len()],
        }
    }
}

impl Seen {
    /// `total` is the number of all its queries; a query more means `slopes` hits more.
    fn advice(&self, digest: u64, total: u64, slopes: [f64; TTLS_MS.len()], seconds: f64) -> Advice {
        let refused = |refusal: &Refusal| self.refused.get(*refusal as usize).copied().unwrap_or_default();
        let refusal = Refusal::ALL.into_iter().max_by_key(refused).filter(|refusal| refused(refusal) > 0);
        // Of queries that cannot be cached none is a hit.
        let all_refused: u64 = self.refused.iter().map(|count| u64::from(*count)).sum();
        let missing = ratio(total, RATE) - ratio(self.queries, 1);
        let missing = missing * (1.0 - ratio(all_refused, self.queries));
        let hits: [f64; TTLS_MS.len()] = std::array::from_fn(|ttl| {
            let (hits, slope) = (self.hits.get(ttl), slopes.get(ttl));
            let hits = ratio(hits.copied().unwrap_or_default(), 1);
            (hits + slope.copied().unwrap_or_default() * missing).max(0.0)
        });
        let longest = hits.last().copied().unwrap_or_default();
        let unseen = longest - ratio(self.hits.last().copied().unwrap_or_default(), 1);
        Advice {
            digest,
            queries_per_second: ratio(total, 1) / seconds,
            keys: self.keys * RATE,
            hit_rates: hits.map(|hits| (hits * ratio(RATE, total)).min(1.0)),
            bytes: self.bytes_for(longest * 0.9 - unseen),
            saved_us_per_second: longest * ratio(RATE, 1) * ratio(self.run_us, self.runs) / seconds,
            refusal,
        }
    }

    /// Bytes with which so many of the hits of the sample would be there.
    fn bytes_for(&self, hits: f64) -> u64 {
        let mut sum = 0;
        let place = self.distances.iter().position(|count| {
            sum += u64::from(*count);
            sum > 0 && ratio(sum, 1) >= hits
        });
        place.map_or(0, upper)
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn ratio(count: u64, of: u64) -> f64 {
    count as f64 / of.max(1) as f64
}

/// The step of a distance.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most 512"
)]
fn step(bytes: u64) -> usize {
    ((bytes.max(1) as f64).log2() * f64::from(STEPS)) as usize
}

/// The largest distance of a step.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "below 2^48"
)]
fn upper(step: usize) -> u64 {
    ((step + 1) as f64 / f64::from(STEPS)).exp2() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys are hashes; those that are followed are multiples of the rate.
    fn key(number: u64) -> u64 {
        number * RATE
    }

    #[test]
    fn hits_are_those_of_each_time_to_live() {
        let mut sampler = Sampler::default();
        // Ten keys in turn, each every 5 seconds.
        for query in 0..200 {
            let hash = key(query % 10);
            sampler.asked(hash, 7, None, query * 500);
            sampler.answered(hash, 900, 200);
        }
        let advice = sampler.advice(100_000);
        let [one] = &advice[..] else { panic!("{advice:?}") };
        assert_eq!((one.digest, one.keys, one.refusal), (7, 10 * RATE, None));
        #[expect(clippy::cast_possible_truncation, reason = "at most 100")]
        let percent = one.hit_rates.map(|rate| (rate * 100.0).round() as i64);
        // Each key is stored twice in 100 seconds.
        assert_eq!(percent, [0, 90]);
        let queries_per_second = 2.0 * f64::from(u32::try_from(RATE).unwrap());
        assert!((one.queries_per_second - queries_per_second).abs() < 1e-6);
        // 10 keys of 1,000 bytes stand for RATE times as many.
        assert!((10_000 * RATE..11_500 * RATE).contains(&one.bytes), "{}", one.bytes);
        let hits_per_second = 1.8 * f64::from(u32::try_from(RATE).unwrap());
        assert!((one.saved_us_per_second - hits_per_second * 200.0).abs() < 1e-6);
    }

    #[test]
    fn what_stands_in_the_way_is_told() {
        let mut sampler = Sampler::default();
        for query in 0..5 {
            let refusal = if query < 4 { Refusal::Volatile } else { Refusal::Locks };
            sampler.asked(key(query), 7, Some(refusal), query);
        }
        assert_eq!(sampler.advice(1000)[0].refusal, Some(Refusal::Volatile));
        assert!(sampler.advice(1000)[0].saved_us_per_second.abs() < 1e-6);
    }

    #[test]
    fn keys_and_digests_are_bounded() {
        let mut sampler = Sampler::default();
        for number in 0..DIGESTS_MAX as u64 + 10 {
            sampler.asked(key(number), number, None, 0);
        }
        assert_eq!(sampler.advice(1).len(), DIGESTS_MAX);
        assert!(sampler.keys.len() <= KEYS_MAX);
    }

    #[test]
    fn what_was_seen_is_forgotten_when_it_is_switched_on_again() {
        let adviser = Adviser::default();
        let key = crate::Keys::new([1, 2]).builder().finish();
        adviser.switch(true);
        adviser.note(Asked { key, digest: 7, refusal: None }, 5, Some((100, 200)));
        adviser.switch(false);
        assert_eq!((adviser.is_on(), adviser.advice(10).len()), (false, 1));
        adviser.switch(true);
        assert_eq!(adviser.advice(10), []);
    }

    #[test]
    fn steps_cover_distances_closely() {
        for bytes in [1, 100, 12_345, 1 << 30, 1 << 47] {
            let covered = upper(step(bytes));
            assert!(covered >= bytes && ratio(covered, bytes) < 1.1 || bytes < 10, "{bytes}: {covered}");
        }
    }
}
