//! Ranges of integers.

use crate::condition::KeyRange;
use crate::key::{Key, KeyKind};
use crate::placement::{count, span};
use crate::prune::{Reason, Shard, Shards};

/// Consecutive ranges: shard `i` has the keys from `bounds[i]` up to, but not including,
/// `bounds[i + 1]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ranges {
    /// Rising bounds.
    bounds: Vec<i64>,
    /// Whether the ends are open: then there is one shard below all bounds, and one above.
    open: bool,
}

impl Ranges {
    /// Ranges between bounds; keys outside of them have no shard. Fails unless there are two
    /// bounds or more, which rise.
    pub fn closed(bounds: Vec<i64>) -> Option<Self> {
        let valid = bounds.len() >= 2 && bounds.is_sorted_by(|a, b| a < b);
        valid.then_some(Self { bounds, open: false })
    }

    /// Ranges below, between and above bounds. Fails unless there is one bound or more, and all
    /// rise.
    pub fn open(bounds: Vec<i64>) -> Option<Self> {
        let valid = !bounds.is_empty() && bounds.is_sorted_by(|a, b| a < b);
        valid.then_some(Self { bounds, open: true })
    }

    pub(super) const KINDS: &'static [KeyKind] = &[KeyKind::Integer];

    /// The bounds, and whether the ends are open.
    pub(crate) fn parts(&self) -> (&[i64], bool) {
        (&self.bounds, self.open)
    }

    /// Number of shards.
    pub(super) fn shards(&self) -> usize {
        if self.open { self.bounds.len() + 1 } else { self.bounds.len() - 1 }
    }

    pub(super) fn locate(&self, key: Key<'_>) -> Result<Shard, Reason> {
        let Key::Integer(key) = key else { return Err(Reason::Kind) };
        let below = self.below(key);
        if self.open {
            return count(below);
        }
        let inside = (1..self.bounds.len()).contains(&below);
        if inside { count(below - 1) } else { Err(Reason::OutOfRange) }
    }

    pub(super) fn range(&self, range: &KeyRange<'_>) -> Result<Shards, Reason> {
        let (lower, upper) = range.integers()?;
        let last = self.shards() - 1;
        let shift = usize::from(!self.open);
        let first = lower.map_or(0, |key| self.below(key).saturating_sub(shift));
        let upper = upper.map_or(Some(last), |key| self.below(key).checked_sub(shift));
        span(first, upper.map(|upper| upper.min(last)))
    }

    /// Number of bounds that are not above `key`.
    fn below(&self, key: i128) -> usize {
        self.bounds.partition_point(|bound| i128::from(*bound) <= key)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use super::*;

    fn between(lower: i128, upper: i128) -> KeyRange<'static> {
        KeyRange { lower: Bound::Included(Key::Integer(lower)), upper: Bound::Excluded(Key::Integer(upper)) }
    }

    #[test]
    fn closed_ranges_have_nothing_outside() {
        let ranges = Ranges::closed(vec![0, 10, 20]).unwrap();
        assert_eq!(ranges.shards(), 2);
        assert_eq!(ranges.locate(Key::Integer(9)), Ok(0));
        assert_eq!(ranges.locate(Key::Integer(10)), Ok(1));
        assert_eq!(ranges.locate(Key::Integer(20)), Err(Reason::OutOfRange));
        assert_eq!(ranges.locate(Key::Integer(-1)), Err(Reason::OutOfRange));
        assert_eq!(ranges.range(&between(-5, 10)).unwrap().as_slice(), [0]);
        assert_eq!(ranges.range(&between(-5, 99)).unwrap().as_slice(), [0, 1]);
        assert_eq!(ranges.range(&between(-5, -1)), Err(Reason::OutOfRange));
        assert_eq!(ranges.range(&between(20, 30)), Err(Reason::OutOfRange));
    }

    #[test]
    fn open_ranges_have_everything() {
        let ranges = Ranges::open(vec![0, 10]).unwrap();
        assert_eq!(ranges.shards(), 3);
        assert_eq!(ranges.locate(Key::Integer(i128::from(u64::MAX))), Ok(2));
        assert_eq!(ranges.locate(Key::Integer(-1)), Ok(0));
        assert_eq!(ranges.range(&between(-9, 1)).unwrap().as_slice(), [0, 1]);
        assert_eq!(ranges.range(&between(10, 11)).unwrap().as_slice(), [2]);
        assert_eq!(Ranges::open(vec![1, 1]), None);
    }
}
