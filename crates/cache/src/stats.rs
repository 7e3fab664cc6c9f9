//! What one worker counts of the query cache, by rule and digest.
//!
//! Each worker has its own [`Stats`], and a report adds them up.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use crate::cause::Cause;
use crate::not_stored::NotStored;
use crate::refusal::Refusal;
use crate::store::Miss;

/// Rows of one worker at most: 3 MiB. What is beyond is counted in one row without rule and digest.
pub const ROWS_MAX: usize = 4096;

/// What is counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RowKey {
    /// The rule that gives the time to live; nothing if a hint, the user or the hostgroup does.
    pub rule: Option<i64>,
    /// The digest, where digests are on.
    pub digest: Option<u64>,
}

/// A hit.
#[derive(Debug, Clone, Copy)]
pub struct Served {
    /// The worker's first level had the answer.
    pub is_near: bool,
    /// Milliseconds since it was stored.
    pub age_ms: u32,
    /// Its bytes.
    pub bytes: usize,
}

/// Lookups of a row so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lookups {
    /// All of them.
    pub lookups: u64,
    /// Those that found an answer, stale ones with the others.
    pub hits: u64,
}

/// Counters of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Answers from the cache.
    pub hits: u64,
    /// Those of them from the workers' first levels.
    pub near_hits: u64,
    /// Sum of the ages of these answers, in milliseconds.
    pub age_ms: u64,
    /// Bytes of these answers.
    pub bytes_out: u64,
    /// Answers older than their time to live, given because no server answered. They are no hits.
    pub stale: u64,
    /// Queries that waited for the answer to an equal one.
    pub waited: u64,
    /// Answers that were stored.
    pub stored: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// Microseconds that servers took for them.
    pub run_us: u64,
    misses: [u64; Miss::ALL.len()],
    invalidated: [u64; Cause::ALL.len()],
    refused: [u64; Refusal::ALL.len()],
    not_stored: [u64; NotStored::ALL.len()],
}

impl Default for Row {
    fn default() -> Self {
        Self {
            hits: 0,
            near_hits: 0,
            stale: 0,
            age_ms: 0,
            bytes_out: 0,
            waited: 0,
            stored: 0,
            bytes_in: 0,
            run_us: 0,
            misses: [0; Miss::ALL.len()],
            invalidated: [0; Cause::ALL.len()],
            refused: [0; Refusal::ALL.len()],
            not_stored: [0; NotStored::ALL.len()],
        }
    }
}

impl Row {
    /// Lookups without an answer, for this reason.
    #[must_use]
    pub fn missed(&self, miss: Miss) -> u64 {
        at(&self.misses, miss as usize)
    }

    /// Answers that were asked for and were too old, because of this.
    #[must_use]
    pub fn invalidated(&self, cause: Cause) -> u64 {
        at(&self.invalidated, cause as usize)
    }

    /// Queries that were not looked up, for this reason.
    #[must_use]
    pub fn refused(&self, refusal: Refusal) -> u64 {
        at(&self.refused, refusal as usize)
    }

    /// Replies that were not stored, for this reason.
    #[must_use]
    pub fn not_stored(&self, reason: NotStored) -> u64 {
        at(&self.not_stored, reason as usize)
    }

    /// Lookups without an answer.
    #[must_use]
    pub fn misses(&self) -> u64 {
        self.misses.iter().sum()
    }

    /// Lookups.
    #[must_use]
    pub fn lookups(&self) -> u64 {
        self.hits + self.misses()
    }

    /// Microseconds that servers would have taken for the hits, as they took on average for the
    /// answers that were stored.
    #[must_use]
    pub fn saved_us(&self) -> u64 {
        let saved = u128::from(self.hits) * u128::from(self.run_us) / u128::from(self.stored.max(1));
        u64::try_from(saved).unwrap_or(u64::MAX)
    }

    /// Reasons and how often each was one, the most frequent first: `too large=3, warnings=1`.
    #[must_use]
    pub fn not_stored_text(&self) -> String {
        listed(NotStored::ALL.map(|reason| (reason.text(), self.not_stored(reason))).to_vec())
    }

    /// The same of what has made answers too old.
    #[must_use]
    pub fn invalidated_text(&self) -> String {
        listed(Cause::ALL.map(|cause| (cause.text(), self.invalidated(cause))).to_vec())
    }

    /// The same of refusals.
    #[must_use]
    pub fn refused_text(&self) -> String {
        listed(Refusal::ALL.map(|reason| (reason.text(), self.refused(reason))).to_vec())
    }

    /// Adds what `other` has.
    pub fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.hits, other.hits),
            (&mut self.near_hits, other.near_hits),
            (&mut self.stale, other.stale),
            (&mut self.age_ms, other.age_ms),
            (&mut self.bytes_out, other.bytes_out),
            (&mut self.waited, other.waited),
            (&mut self.stored, other.stored),
            (&mut self.bytes_in, other.bytes_in),
            (&mut self.run_us, other.run_us),
        ] {
            *sum += more;
        }
        let add = |sums: &mut [u64], more: &[u64]| {
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        };
        add(&mut self.misses, &other.misses);
        add(&mut self.invalidated, &other.invalidated);
        add(&mut self.refused, &other.refused);
        add(&mut self.not_stored, &other.not_stored);
    }
}

fn at(counters: &[u64], index: usize) -> u64 {
    counters.get(index).copied().unwrap_or_default()
}

fn note(counters: &mut [u64], index: usize) {
    if let Some(counter) = counters.get_mut(index) {
        *counter += 1;
    }
}

fn listed(mut counts: Vec<(&'static str, u64)>) -> String {
    counts.retain(|(_, count)| *count > 0);
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let texts = counts.into_iter().map(|(text, count)| format!("{text}={count}"));
    texts.collect::<Vec<_>>().join(", ")
}

/// Rows of a worker, or of all.
#[derive(Debug, Clone, Default)]
pub struct Stats {
    rows: Vec<(RowKey, Row)>,
    places: HashMap<RowKey, usize, BuildHasherDefault<DefaultHasher>>,
    /// The place of the row that was counted in last: mostly the next one is the same.
    last: usize,
    /// What has no row of its own.
    rest: Row,
    /// What rows had before they were taken away.
    before: Row,
}

impl Stats {
    /// An answer came from the cache.
    pub fn hit(&mut self, key: RowKey, served: Served) {
        let row = self.row(key);
        row.hits += 1;
        row.near_hits += u64::from(served.is_near);
        row.age_ms += u64::from(served.age_ms);
        row.bytes_out += served.bytes as u64;
    }

    /// No server answered, and a stale answer was given.
    pub fn stale(&mut self, key: RowKey) {
        self.row(key).stale += 1;
    }

    /// The cache had no answer.
    pub fn missed(&mut self, key: RowKey, miss: Miss) {
        note(&mut self.row(key).misses, miss as usize);
    }

    /// The answer that there was is too old, because of this.
    pub fn invalidated(&mut self, key: RowKey, cause: Cause) {
        note(&mut self.row(key).invalidated, cause as usize);
    }

    /// Lookups of this row so far.
    pub fn so_far(&mut self, key: RowKey) -> Lookups {
        let row = self.row(key);
        Lookups { lookups: row.lookups(), hits: row.hits + row.stale }
    }

    /// The query was not looked up.
    pub fn refused(&mut self, key: RowKey, refusal: Refusal) {
        note(&mut self.row(key).refused, refusal as usize);
    }

    /// The query waits for the answer to an equal one.
    pub fn waited(&mut self, key: RowKey) {
        self.row(key).waited += 1;
    }

    /// A reply of `bytes` for which the server took `run_us` microseconds was stored.
    pub fn stored(&mut self, key: RowKey, bytes: usize, run_us: u64) {
        let row = self.row(key);
        row.stored += 1;
        row.bytes_in += bytes as u64;
        row.run_us += run_us;
    }

    /// A reply was not stored.
    pub fn not_stored(&mut self, key: RowKey, reason: NotStored) {
        note(&mut self.row(key).not_stored, reason as usize);
    }

    /// The rows, and at last what has none of its own, if that is anything.
    pub fn rows(&self) -> impl Iterator<Item = (Option<RowKey>, &Row)> {
        let rest = (self.rest != Row::default()).then_some((None, &self.rest));
        self.rows.iter().map(|(key, row)| (Some(*key), row)).chain(rest)
    }

    /// The sums of all rows, and of those that were taken away.
    #[must_use]
    pub fn totals(&self) -> Row {
        let mut sum = self.before.clone();
        self.rows().for_each(|(_, row)| sum.add(row));
        sum
    }

    /// Takes all rows away. [`totals`](Self::totals) stay what they were.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let before = self.totals();
        std::mem::replace(self, Self { before, ..Self::default() })
    }

    /// Adds what `other` has counted.
    pub fn add(&mut self, other: &Self) {
        for (key, row) in &other.rows {
            self.row_within(*key, usize::MAX).add(row);
        }
        self.rest.add(&other.rest);
        self.before.add(&other.before);
    }

    fn row(&mut self, key: RowKey) -> &mut Row {
        self.row_within(key, ROWS_MAX)
    }

    fn row_within(&mut self, key: RowKey, max: usize) -> &mut Row {
        if self.rows.get(self.last).is_none_or(|(known, _)| *known != key) {
            self.last = match self.places.get(&key) {
                Some(place) => *place,
                None if self.rows.len() < max => {
                    self.places.insert(key, self.rows.len());
                    self.rows.push((key, Row::default()));
                    self.rows.len() - 1
                }
                None => usize::MAX,
            };
        }
        self.rows.get_mut(self.last).map_or(&mut self.rest, |(_, row)| row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVED: Served = Served { is_near: true, age_ms: 5, bytes: 100 };

    fn key(digest: u64) -> RowKey {
        RowKey { rule: Some(1), digest: Some(digest) }
    }

    #[test]
    fn rows_are_counted_apart_and_added_up() {
        let (mut one, mut other) = (Stats::default(), Stats::default());
        one.missed(key(1), Miss::Absent);
        one.stored(key(1), 100, 700);
        one.hit(key(1), SERVED);
        one.hit(key(1), Served { is_near: false, ..SERVED });
        one.refused(key(2), Refusal::Volatile);
        other.hit(key(1), SERVED);
        other.not_stored(key(1), NotStored::TooLarge);
        other.waited(key(1));
        other.stale(key(1));
        assert_eq!(other.so_far(key(1)).hits, 2, "a stale answer is of use as well");
        other.invalidated(key(1), Cause::Write);
        one.invalidated(key(1), Cause::Write);
        one.invalidated(key(1), Cause::Flush);
        one.add(&other);
        let rows: Vec<_> = one.rows().collect();
        assert_eq!(rows.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [Some(key(1)), Some(key(2))]);
        let row = rows[0].1;
        assert_eq!((row.hits, row.near_hits, row.age_ms, row.bytes_out), (3, 2, 15, 300));
        assert_eq!((row.waited, row.stale), (1, 1));
        assert_eq!((row.lookups(), row.missed(Miss::Absent), row.saved_us()), (4, 1, 2100));
        assert_eq!(row.not_stored_text(), "too large=1");
        assert_eq!(row.invalidated_text(), "own_write=2, flush=1");
        assert_eq!(rows[1].1.refused_text(), "another answer each time=1");
    }

    #[test]
    fn totals_survive_a_reset() {
        let mut stats = Stats::default();
        stats.hit(key(1), SERVED);
        let taken = stats.take();
        assert_eq!((taken.rows().count(), stats.rows().count()), (1, 0));
        stats.hit(key(1), SERVED);
        assert_eq!((stats.totals().hits, stats.rows().count()), (2, 1));
    }

    #[test]
    fn the_number_of_rows_is_bounded() {
        let mut stats = Stats::default();
        for digest in 0..ROWS_MAX as u64 + 10 {
            stats.hit(key(digest), SERVED);
        }
        stats.hit(key(0), SERVED);
        assert_eq!(stats.rows().count(), ROWS_MAX + 1);
        assert_eq!(stats.rows().last().map(|(key, row)| (key, row.hits)), Some((None, 10)));
        assert_eq!(stats.totals().hits, ROWS_MAX as u64 + 11);
    }
}
