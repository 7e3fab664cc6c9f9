//! `AUTO_INTERVAL`: intervals of as many seconds each, with all earlier times in the first and all
//! later ones in the last shard.

use std::ops::Bound;

use crate::calendar::DateTime;
use crate::condition::KeyRange;
use crate::key::{Key, KeyKind};
use crate::limits::SHARDS_MAX;
use crate::placement::span;
use crate::prune::{Reason, Shard, Shards};

/// Positions up to which ShardingSphere rounds down to the end of the interval before: it rounds
/// the quotient to two decimals, and then up.
const ROUNDED_DOWN_BELOW: f64 = 0.005;

/// Intervals from a time on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutoInterval {
    lower_seconds: i64,
    interval_seconds: i64,
    shards: u32,
}

impl AutoInterval {
    /// Intervals of `interval_seconds` between two times. Fails if they are too many, or of no
    /// length.
    pub fn new(lower: DateTime, upper: DateTime, interval_seconds: i64) -> Option<Self> {
        if interval_seconds < 1 || upper < lower {
            return None;
        }
        let shards = (upper.seconds() - lower.seconds()) / interval_seconds + 2;
        let shards =
            u32::try_from(shards).ok().filter(|n| usize::try_from(*n).is_ok_and(|n| n <= SHARDS_MAX))?;
        Some(Self { lower_seconds: lower.seconds(), interval_seconds, shards })
    }

    /// The same by the number of shards, at least 2.
    pub fn of_shards(lower: DateTime, interval_seconds: i64, shards: u32) -> Option<Self> {
        let valid = interval_seconds >= 1 && shards >= 2;
        valid.then_some(Self { lower_seconds: lower.seconds(), interval_seconds, shards })
    }

    /// Seconds at which intervals begin, and seconds of each.
    pub(crate) fn parts(&self) -> (i64, i64) {
        (self.lower_seconds, self.interval_seconds)
    }

    pub(crate) const KINDS: &'static [KeyKind] = &[KeyKind::DateTime];

    /// Number of shards.
    pub(crate) fn shards(&self) -> u32 {
        self.shards
    }

    /// `ceil(round2((key - lower) / interval))`, within the shards, in doubles as Java has it.
    #[expect(clippy::cast_precision_loss, reason = "ten thousand years of seconds are exact in a double")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value is clamped")]
    pub(crate) fn locate(&self, key: Key<'_>) -> Result<Shard, Reason> {
        let Key::DateTime(time) = key else { return Err(Reason::Kind) };
        let position = (time.seconds() - self.lower_seconds) as f64 / self.interval_seconds as f64;
        let whole = position.floor();
        let up = f64::from(u8::from(position - whole >= ROUNDED_DOWN_BELOW));
        Ok((whole + up).clamp(0.0, f64::from(self.shards - 1)) as Shard)
    }

    pub(crate) fn range(&self, range: &KeyRange<'_>) -> Result<Shards, Reason> {
        let end = |bound, open| match bound {
            Bound::Included(key) | Bound::Excluded(key) => self.locate(key),
            Bound::Unbounded => Ok(open),
        };
        let (first, last) = (end(range.lower, 0)?, end(range.upper, self.shards - 1)?);
        let as_index = |shard: Shard| usize::try_from(shard).map_err(|_| Reason::OutOfRange);
        span(as_index(first)?, Some(as_index(last)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_decimals_count() {
        let time = |text: &str| DateTime::parse(text.as_bytes()).unwrap();
        let (lower, upper) = (time("2024-01-01 00:00:00"), time("2024-01-02 00:00:00"));
        let hours = AutoInterval::new(lower, upper, 3_600).unwrap();
        let shard = |text: &str| hours.locate(Key::DateTime(time(text))).unwrap();
        assert_eq!(hours.shards(), 26);
        assert_eq!(shard("2023-12-31 23:59:59"), 0);
        assert_eq!(shard("2024-01-01 00:00:17"), 0);
        assert_eq!(shard("2024-01-01 00:00:18"), 1);
        assert_eq!(shard("2024-01-01 01:00:17"), 1);
        assert_eq!(shard("2024-01-01 01:00:36"), 2);
        assert_eq!(shard("2030-01-01 00:00:00"), 25);
        assert_eq!(AutoInterval::new(lower, upper, 0), None);
        assert_eq!(AutoInterval::new(lower, upper, 1), None);
    }
}
