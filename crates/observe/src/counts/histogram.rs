//! Histogram of times, in ProxySQL's buckets. One worker writes it, without atomics.

use std::cell::Cell;
use std::time::Duration;

use crate::micros;
use crate::rows::Times;

/// The longest times of all buckets but the last one, in microseconds: those of ProxySQL's
/// `stats_mysql_commands_counters`.
pub const BUCKETS_US: [u64; 11] =
    [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000];

/// How often times of each length were counted.
#[derive(Debug, Default)]
pub struct Histogram {
    count: Cell<u64>,
    total_us: Cell<u64>,
    buckets: [Cell<u64>; BUCKETS_US.len() + 1],
}

fn add(cell: &Cell<u64>, n: u64) {
    cell.set(cell.get().wrapping_add(n));
}

impl Histogram {
    /// Counts a time, rounded down to microseconds.
    pub fn note(&self, time: Duration) {
        let us = micros(time);
        add(&self.count, 1);
        add(&self.total_us, us);
        // Most times are in the first buckets.
        let bucket = BUCKETS_US.iter().position(|&longest| us <= longest).unwrap_or(BUCKETS_US.len());
        self.buckets.get(bucket).into_iter().for_each(|bucket| add(bucket, 1));
    }

    /// What was counted so far.
    pub fn times(&self) -> Times {
        Times {
            count: self.count.get(),
            total_us: self.total_us.get(),
            buckets: self.buckets.each_ref().map(Cell::get),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_is_in_one_bucket() {
        let histogram = Histogram::default();
        let times = [0, 100, 101, 500, 1_000, 9_999, 10_000_000, 10_000_001, u64::from(u32::MAX)];
        for us in times {
            histogram.note(Duration::from_micros(us));
        }
        let counted = histogram.times();
        assert_eq!(counted.buckets, [2, 2, 1, 0, 1, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!((counted.count, counted.total_us), (9, times.iter().sum()));
        histogram.note(Duration::from_nanos(100_999));
        assert_eq!(histogram.times().buckets[0], 3, "whole microseconds count");
    }
}
