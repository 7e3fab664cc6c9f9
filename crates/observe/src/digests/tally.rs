//! What is counted of one digest.

use std::time::Duration;

use super::times::Times;
use crate::micros;

/// What is known of an execution when it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    /// From the statement's arrival to the end of its answer.
    pub took: Duration,
    /// Rows in its results.
    pub rows_sent: u64,
    /// Rows that it changed, as its last OK packet says.
    pub rows_affected: u64,
    /// Bytes of the answer.
    pub bytes_sent: u64,
    /// Bytes of the statement.
    pub bytes_received: u64,
    /// Whether it ended with an error.
    pub failed: bool,
}

/// What is known of several executions. Times are microseconds, each rounded down.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tally {
    pub(super) count: u64,
    pub(super) sum_us: u64,
    pub(super) min_us: u64,
    pub(super) max_us: u64,
    pub(super) rows_sent: u64,
    pub(super) rows_affected: u64,
    pub(super) bytes_sent: u64,
    pub(super) bytes_received: u64,
    pub(super) errors: u64,
    /// When the first and the last one ended, in seconds of Unix time: good until the year 2106.
    pub(super) first_s: u32,
    pub(super) last_s: u32,
    /// Empty after the first execution: what happens only once needs none.
    pub(super) times: Times,
}

impl Tally {
    /// Counts an execution that ended at `now_s`, in seconds of Unix time.
    pub(super) fn note(&mut self, done: &Done, now_s: u64) {
        let us = micros(done.took);
        let now_s = u32::try_from(now_s).unwrap_or(u32::MAX);
        if self.count == 0 {
            (self.min_us, self.first_s) = (us, now_s);
        } else {
            self.lone_time();
            self.times.note(us);
            self.min_us = self.min_us.min(us);
        }
        self.count += 1;
        self.sum_us = self.sum_us.wrapping_add(us);
        self.max_us = self.max_us.max(us);
        self.rows_sent = self.rows_sent.wrapping_add(done.rows_sent);
        self.rows_affected = self.rows_affected.wrapping_add(done.rows_affected);
        self.bytes_sent = self.bytes_sent.wrapping_add(done.bytes_sent);
        self.bytes_received = self.bytes_received.wrapping_add(done.bytes_received);
        self.errors += u64::from(done.failed);
        self.last_s = now_s;
    }

    /// All but the times of single executions.
    pub(super) fn without_times(&self) -> Self {
        Self { times: Times::default(), ..*self }
    }

    /// Adds what another worker has counted.
    pub(super) fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = other.clone();
            return;
        }
        self.lone_time();
        match other.count {
            1 => self.times.note(other.sum_us),
            _ => self.times.merge(&other.times),
        }
        self.count += other.count;
        self.sum_us = self.sum_us.wrapping_add(other.sum_us);
        self.min_us = self.min_us.min(other.min_us);
        self.max_us = self.max_us.max(other.max_us);
        self.rows_sent = self.rows_sent.wrapping_add(other.rows_sent);
        self.rows_affected = self.rows_affected.wrapping_add(other.rows_affected);
        self.bytes_sent = self.bytes_sent.wrapping_add(other.bytes_sent);
        self.bytes_received = self.bytes_received.wrapping_add(other.bytes_received);
        self.errors += other.errors;
        self.first_s = self.first_s.min(other.first_s);
        self.last_s = self.last_s.max(other.last_s);
    }

    /// The time of a single execution goes where others are added.
    fn lone_time(&mut self) {
        if self.count == 1 {
            self.times.note(self.sum_us);
        }
    }

    /// The times that 50, 95, 99 and 99.9 % of the executions took at most, in microseconds.
    pub(super) fn percentiles(&self) -> [u64; 4] {
        self.times.percentiles().map_or([self.sum_us; 4], |shown| {
            // Exact where that is known.
            shown.map(|us| us.clamp(self.min_us, self.max_us))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(us: u64) -> Done {
        Done { took: Duration::from_micros(us), rows_sent: 2, bytes_sent: 10, ..Done::default() }
    }

    fn of(times: &[u64]) -> Tally {
        let mut tally = Tally::default();
        for (&us, now_s) in times.iter().zip(100..) {
            tally.note(&done(us), now_s);
        }
        tally
    }

    #[test]
    fn executions_are_added_up() {
        let tally = of(&[30, 10, 20]);
        assert_eq!((tally.count, tally.sum_us, tally.min_us, tally.max_us), (3, 60, 10, 30));
        assert_eq!((tally.first_s, tally.last_s, tally.rows_sent, tally.bytes_sent), (100, 102, 6, 30));
        assert_eq!(tally.percentiles(), [20, 30, 30, 30]);
    }

    #[test]
    fn what_happened_once_has_no_buckets() {
        let tally = of(&[7_777]);
        assert_eq!(tally.times.bytes(), 0);
        assert_eq!(tally.percentiles(), [7_777; 4]);
    }

    #[test]
    fn merging_is_counting_together() {
        let cases: [(&[u64], &[u64]); 6] =
            [(&[], &[]), (&[5], &[]), (&[], &[5]), (&[5], &[9]), (&[5, 6], &[1_000]), (&[9], &[1, 2, 3])];
        for (left, right) in cases {
            let mut merged = of(left);
            merged.merge(&of(right));
            let mut together = of(&[left, right].concat());
            // Both began at the same time.
            together.last_s = merged.last_s;
            assert_eq!(merged, together, "{left:?} {right:?}");
        }
    }
}
