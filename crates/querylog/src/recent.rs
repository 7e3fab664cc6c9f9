//! The newest records of the query log, in memory: ProxySQL 3's circular buffer of events.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Record;
use crate::limits::RECENT_BYTES_MAX;

/// Ring of records. All workers add to it; a reader takes all of them.
#[derive(Debug, Default)]
pub struct Recent {
    /// Records that it keeps at most; 0: none.
    max: AtomicUsize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    records: VecDeque<Box<Record>>,
    bytes: usize,
}

impl Recent {
    /// Keeps at most `max` records from now on, and at most 256 MiB of them.
    pub fn configure(&self, max: usize) {
        self.max.store(max, Ordering::Relaxed);
        self.lock().shrink(max);
    }

    /// Adds a record; the oldest ones make room for it.
    pub fn push(&self, record: Box<Record>) {
        let mut kept = self.lock();
        kept.bytes += record.weight();
        kept.records.push_back(record);
        kept.shrink(self.max.load(Ordering::Relaxed));
    }

    /// Takes all records, the oldest first.
    pub fn take(&self) -> VecDeque<Box<Record>> {
        std::mem::take(&mut *self.lock()).records
    }

    /// Gives records back that could not be written, in front of those that came meanwhile.
    pub fn put_back(&self, mut records: VecDeque<Box<Record>>) {
        let mut kept = self.lock();
        kept.bytes += records.iter().map(|record| record.weight()).sum::<usize>();
        records.append(&mut kept.records);
        kept.records = records;
        kept.shrink(self.max.load(Ordering::Relaxed));
    }

    /// Nothing in here is left half done by a panic.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn shrink(&mut self, max: usize) {
        while self.records.len() > max || self.bytes > RECENT_BYTES_MAX {
            let Some(oldest) = self.records.pop_front() else { break };
            self.bytes -= oldest.weight();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Logs;

    fn record(text: &[u8]) -> Box<Record> {
        Box::new(Record::of(text, Logs { events: true, slow: false }))
    }

    fn texts(recent: &Recent) -> Vec<Vec<u8>> {
        recent.take().iter().map(|record| record.text.to_vec()).collect()
    }

    #[test]
    fn the_newest_records_are_kept_until_they_are_taken() {
        let recent = Recent::default();
        recent.push(record(b"none"));
        recent.configure(2);
        for text in [b"a", b"b", b"c"] {
            recent.push(record(text));
        }
        assert_eq!(texts(&recent), [b"b", b"c"]);
        assert!(texts(&recent).is_empty());
        recent.push(record(b"e"));
        recent.put_back([record(b"c"), record(b"d")].into());
        assert_eq!(texts(&recent), [b"d", b"e"]);
        recent.push(record(b"d"));
        recent.configure(0);
        assert!(texts(&recent).is_empty());
    }

    #[test]
    fn c29_long_statements_take_the_place_of_more_than_one() {
        let recent = Recent::default();
        recent.configure(usize::MAX);
        let long = vec![b'x'; RECENT_BYTES_MAX / 2];
        for _ in 0..3 {
            recent.push(record(&long));
        }
        assert_eq!(texts(&recent).len(), 1, "two and their overhead are too many bytes");
    }
}
