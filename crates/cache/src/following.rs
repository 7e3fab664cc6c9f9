//! Following the binary log of a server: what it changes, when that is visible, and as of when the
//! cache is exact.
//!
//! A server writes a transaction to its log, sends it, and makes it visible to others after that.
//! So a transaction of the log is a write like those of clients: it is in flight from when its
//! event is read until it is known to be visible ("settled"). A query that is sent meanwhile may or
//! may not see it; its answer is not stored. The rule of [`Versions`](crate::Versions) does the
//! rest.
//!
//! Two questions are asked of the server, over another connection. What is visible is settled.
//! Where the log ends, asked at some moment, is at or behind all that was visible at that moment:
//! once the log is read up to there, the cache is exact as of that moment.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::cache::Cache;
use crate::source::Source;
use crate::versions::Scope;
use crate::writing::Writing;

/// Transactions that are not settled, at most. A server with more has commits that hang.
const UNSETTLED_MAX: usize = 65_536;

/// Moments that wait for the log to be read, at most.
const MOMENTS_MAX: usize = 64;

/// A place in the binary log of one server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The number in the name of the file.
    pub file: u64,
    /// Bytes from its beginning.
    pub offset: u64,
}

/// What a transaction changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Hashes of the tables, as [`Name`](crate::Name) makes them; nothing if not all are known.
    pub tables: Option<Vec<u64>>,
    /// It may change definitions.
    pub defines: bool,
    /// It may change what accounts may read.
    pub grants: bool,
}

/// Too many transactions are not visible yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany;

/// The log of a server, as far as it was read. `M` marks a transaction, so that it can be told
/// whether it is visible.
///
/// Dropped, the server is not followed any more.
#[derive(Debug)]
pub struct Following<M> {
    cache: Arc<Cache>,
    source: Arc<Source>,
    read: Position,
    unsettled: VecDeque<(M, Vec<Writing>)>,
    /// Moments, with the log's end then.
    moments: VecDeque<(u64, Position)>,
}

impl<M> Following<M> {
    /// The log is read from this place on. What is before it is visible already. All that depends
    /// on writes is flushed: what was written before is not known.
    pub fn begin(cache: &Arc<Cache>, source: &Arc<Source>, from: Position) -> Self {
        flush(cache);
        source.follow();
        source.count(|counters| {
            counters.flushes += 1;
            counters.position = from;
            counters.reason.clear();
        });
        Self {
            cache: Arc::clone(cache),
            source: Arc::clone(source),
            read: from,
            unsettled: VecDeque::new(),
            moments: VecDeque::new(),
        }
    }

    /// The log is not read for a while. What was read and is not visible yet may become so.
    pub fn interrupt(&mut self) {
        self.source.lose();
        self.moments.clear();
    }

    /// The log is read on where it was, and nothing was missed.
    pub fn resume(&mut self) {
        self.source.follow();
        self.source.count(|counters| {
            counters.resumed += 1;
            counters.reason.clear();
        });
    }

    /// A transaction was read. To be called before [`Self::advance`] behind it.
    ///
    /// # Errors
    ///
    /// Too many are not visible yet: the server is not to be followed any more.
    pub fn change(&mut self, mark: M, change: &Change) -> Result<(), TooMany> {
        if self.unsettled.len() >= UNSETTLED_MAX {
            return Err(TooMany);
        }
        let scope = change.tables.as_deref().map_or_else(Scope::of_unknown_write, Scope::of_write);
        let mut writes = vec![Writing::of_log(&self.cache, scope)];
        if change.grants {
            writes.push(Writing::of_privileges(&self.cache));
        } else if change.defines {
            writes.push(Writing::of_definitions(&self.cache));
        }
        self.unsettled.push_back((mark, writes));
        self.source.count(|counters| {
            counters.transactions += 1;
            counters.unsettled += 1;
        });
        Ok(())
    }

    /// The log was read up to this place.
    pub fn advance(&mut self, to: Position) {
        self.read = self.read.max(to);
        self.source.count(|counters| counters.position = self.read);
        self.use_moments();
    }

    /// Up to where the log was read.
    #[must_use]
    pub const fn read(&self) -> Position {
        self.read
    }

    /// Transactions that were read and are not known to be visible.
    #[must_use]
    pub fn unsettled(&self) -> usize {
        self.unsettled.len()
    }

    /// Transactions with such marks are visible.
    pub fn settle(&mut self, is_visible: impl Fn(&M) -> bool) {
        let before = self.unsettled.len();
        // Servers make them visible in the order of the log, but for replicas that do not keep it.
        for (mark, writes) in std::mem::take(&mut self.unsettled) {
            if is_visible(&mark) {
                writes.into_iter().for_each(Writing::end);
            } else {
                self.unsettled.push_back((mark, writes));
            }
        }
        if self.unsettled.len() != before {
            let left = self.unsettled.len() as u64;
            self.source.count(|counters| counters.unsettled = left);
        }
    }

    /// The server was asked at `at_us` where its log ends, and said: here.
    pub fn prove(&mut self, at_us: u64, end: Position) {
        if self.moments.len() >= MOMENTS_MAX {
            // The oldest is the next that is proven.
            self.moments.pop_back();
        }
        self.moments.push_back((at_us, end));
        self.use_moments();
    }

    fn use_moments(&mut self) {
        let read = self.read;
        let mut proven = None;
        while let Some((at_us, _)) = self.moments.pop_front_if(|(_, end)| *end <= read) {
            proven = Some(at_us);
        }
        if let Some(at_us) = proven {
            self.source.prove(at_us);
        }
    }
}

/// Drops what depends on writes or definitions, and what accounts have proven.
fn flush(cache: &Arc<Cache>) {
    Writing::of_log(cache, Scope::of_unknown_write()).end();
    Writing::of_definitions(cache).end();
}

impl<M> Drop for Following<M> {
    fn drop(&mut self) {
        self.source.lose();
        self.source.count(|counters| counters.unsettled = 0);
        // What follows it next flushes all.
        self.unsettled.drain(..).flat_map(|(_, writes)| writes).for_each(Writing::end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versions::Moment;

    const T: u64 = 1;
    const U: u64 = 2;

    struct Bench {
        cache: Arc<Cache>,
        source: Arc<Source>,
        following: Following<u32>,
    }

    fn bench() -> Bench {
        let cache = Arc::new(Cache::new([1, 2], 1 << 20));
        let source = Arc::new(Source::new("db:3306"));
        let following = Following::begin(&cache, &source, at(4));
        Bench { cache, source, following }
    }

    const fn at(offset: u64) -> Position {
        Position { file: 1, offset }
    }

    fn rows(table: u64) -> Change {
        Change { tables: Some(vec![table]), ..Change::default() }
    }

    impl Bench {
        fn moment(&self, table: u64) -> Option<Moment> {
            self.cache.versions.moment(&scope(table))
        }

        fn holds(&self, table: u64, moment: Moment) -> bool {
            self.cache.versions.allows(&scope(table), moment)
        }
    }

    fn scope(table: u64) -> Scope {
        let mut scope = Scope::new();
        scope.add_writes_to(&[table]);
        scope
    }

    #[test]
    fn c20_an_answer_read_before_a_logged_transaction_is_visible_is_not_stored() {
        let mut b = bench();
        let before = b.moment(T).unwrap();
        b.following.change(7, &rows(T)).unwrap();
        assert_eq!(b.moment(T), None, "the event is there, and the row may not be");
        assert!(!b.holds(T, before) && b.moment(U).is_some());
        b.following.settle(|mark| *mark < 7);
        assert_eq!(b.moment(T), None);
        b.following.settle(|mark| *mark <= 7);
        assert!(b.moment(T).is_some() && !b.holds(T, before));
        assert_eq!(b.following.unsettled(), 0);
    }

    #[test]
    fn the_cache_is_exact_as_of_a_moment_whose_log_was_read() {
        let mut b = bench();
        b.following.prove(1000, at(50));
        assert_eq!(b.source.proven_us(), None, "what is before 50 may change anything");
        b.following.prove(1200, at(90));
        b.following.advance(at(50));
        assert_eq!(b.source.proven_us(), Some(1000));
        b.following.advance(at(90));
        assert_eq!(b.source.proven_us(), Some(1200));
        b.following.prove(1300, at(90));
        assert_eq!(b.source.proven_us(), Some(1300), "nothing was written meanwhile");
        b.following.prove(1400, Position { file: 2, offset: 4 });
        assert_eq!(b.source.proven_us(), Some(1300));
        b.following.advance(Position { file: 2, offset: 4 });
        assert_eq!(b.source.proven_us(), Some(1400));
    }

    #[test]
    fn c20_nothing_holds_from_before_the_log_was_followed() {
        let mut b = bench();
        let before = b.moment(T).unwrap();
        b.following.change(1, &rows(U)).unwrap();
        b.following.prove(10, at(4));
        b.following = Following::begin(&b.cache, &b.source, at(4));
        assert_eq!(b.source.proven_us(), None);
        assert!(!b.holds(T, before));
        assert!(b.moment(U).is_some(), "the log is read from what is visible on");
    }

    #[test]
    fn c20_a_log_that_is_read_on_leaves_answers_where_they_are() {
        let mut b = bench();
        let before = b.moment(U).unwrap();
        b.following.change(7, &rows(T)).unwrap();
        b.following.prove(1000, at(4));
        b.following.prove(1100, at(50));
        b.following.interrupt();
        assert!(b.source.proven_us().is_none() && !b.source.is_followed());
        assert_eq!(b.moment(T), None, "it may become visible now");
        b.following.resume();
        assert!(b.source.is_followed() && b.holds(U, before));
        b.following.advance(at(50));
        assert_eq!(b.source.proven_us(), None, "asked before the interruption");
        assert_eq!(b.moment(T), None);
        b.following.settle(|mark| *mark == 7);
        assert!(b.moment(T).is_some());
        let counters = b.source.counters();
        assert_eq!((counters.resumed, counters.flushes, counters.unsettled), (1, 1, 0));
    }

    #[test]
    fn definitions_privileges_and_unknown_tables_count_against_all() {
        for change in [
            Change::default(),
            Change { defines: true, ..Change::default() },
            Change { grants: true, ..Change::default() },
        ] {
            let mut b = bench();
            let before = b.moment(T).unwrap();
            b.following.change(1, &change).unwrap();
            assert!(b.moment(T).is_none() && !b.holds(T, before), "{change:?}");
            b.following.settle(|_| true);
            assert!(b.moment(T).is_some() && !b.holds(T, before), "{change:?}");
        }
    }

    #[test]
    fn c29_there_is_an_end_to_what_is_not_visible() {
        let mut b = bench();
        for mark in 0..UNSETTLED_MAX {
            b.following.change(u32::try_from(mark).unwrap(), &rows(T)).unwrap();
        }
        assert_eq!(b.following.change(0, &rows(T)), Err(TooMany));
    }
}
