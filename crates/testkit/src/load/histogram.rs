//! Times, counted in buckets that get wider with the time.

use std::time::Duration;

/// Bits of a value that a bucket keeps: 32 buckets per power of two, so that a bucket is at most
/// 3.1 % wide.
const PRECISION_BITS: u32 = 5;
/// Values below this have a bucket of their own.
const EXACT: u64 = 1 << (PRECISION_BITS + 1);
/// Number of buckets: enough for every `u64` of microseconds.
const BUCKETS: usize = ((64 - PRECISION_BITS as usize) << PRECISION_BITS) + (1 << PRECISION_BITS);

/// A log-linear histogram of times in microseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max_us: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; BUCKETS], count: 0, max_us: 0 }
    }
}

impl Histogram {
    /// Counts one time.
    pub fn record(&mut self, time: Duration) {
        let value_us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        if let Some(bucket) = self.buckets.get_mut(index(value_us)) {
            *bucket += 1;
        }
        self.count += 1;
        self.max_us = self.max_us.max(value_us);
    }

    /// Times counted.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The longest time.
    pub const fn max(&self) -> Duration {
        Duration::from_micros(self.max_us)
    }

    /// The time that this many percent of the times do not exceed, at most 3.1 % too long; 0 if
    /// there are none.
    pub fn percentile(&self, percent: f64) -> Duration {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the counts of a load are far below 2^52, up to where floats are exact"
        )]
        let rank = (self.count as f64 * percent / 100.0).ceil() as u64;
        let mut seen = 0;
        for (index, &count) in self.buckets.iter().enumerate() {
            seen += count;
            if count > 0 && seen >= rank {
                return Duration::from_micros(upper_bound(index).min(self.max_us));
            }
        }
        Duration::ZERO
    }

    /// Adds what another histogram has counted.
    pub fn merge(&mut self, other: &Self) {
        for (bucket, more) in self.buckets.iter_mut().zip(&other.buckets) {
            *bucket += more;
        }
        self.count += other.count;
        self.max_us = self.max_us.max(other.max_us);
    }

    /// What was counted since `earlier`, an older copy of this histogram. The maximum stays.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let buckets = self.buckets.iter().zip(&earlier.buckets).map(|(now, then)| now.saturating_sub(*then));
        Self {
            buckets: buckets.collect(),
            count: self.count.saturating_sub(earlier.count),
            max_us: self.max_us,
        }
    }
}

/// The bucket of a value: its highest bits, behind the buckets of all smaller powers of two.
fn index(value: u64) -> usize {
    let shift = value.max(1 << PRECISION_BITS).ilog2() - PRECISION_BITS;
    // At most 11 bits are left: the shift in the upper ones, the highest bits of the value in the
    // lower ones.
    usize::try_from((u64::from(shift) << PRECISION_BITS) + (value >> shift)).unwrap_or(BUCKETS - 1)
}

/// The largest value of a bucket.
const fn upper_bound(index: usize) -> u64 {
    let index = index as u64;
    if index < EXACT {
        return index;
    }
    let shift = (index >> PRECISION_BITS) - 1;
    let highest = index - (shift << PRECISION_BITS);
    // All the bits below are set.
    (highest << shift) | ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_a_bucket_that_is_hardly_wider() {
        let values = (0..64).flat_map(|bit| {
            let power = 1_u64 << bit;
            [power, power - 1, power + 1, power | (power >> 1), power | (power - 1)]
        });
        for value in values {
            let bucket = index(value);
            assert!(bucket < BUCKETS, "{value}");
            let upper = upper_bound(bucket);
            assert!(upper >= value && upper - value <= value / 32, "{value} {upper}");
            if bucket > 0 {
                assert!(upper_bound(bucket - 1) < value, "{value}");
            }
        }
        assert_eq!(index(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.percentile(99.0), Duration::ZERO);
        for millis in 1..=1000 {
            histogram.record(Duration::from_millis(millis));
        }
        for (percent, expected) in [(50.0, 500.0), (95.0, 950.0), (99.0, 990.0), (100.0, 1000.0)] {
            let got = histogram.percentile(percent).as_secs_f64() * 1000.0;
            assert!(got >= expected && got <= expected * 1.032, "p{percent}: {got}");
        }
        assert_eq!(histogram.max(), Duration::from_secs(1));
    }

    #[test]
    fn differences_and_sums() {
        let mut early = Histogram::default();
        early.record(Duration::from_micros(10));
        let mut late = early.clone();
        late.record(Duration::from_micros(20));
        late.record(Duration::from_micros(30));
        let since = late.since(&early);
        assert_eq!((since.count(), since.percentile(1.0)), (2, Duration::from_micros(20)));
        early.merge(&since);
        assert_eq!(early, late);
    }
}
