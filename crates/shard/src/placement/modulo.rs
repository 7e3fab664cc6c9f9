//! Integers modulo the number of shards.

use crate::condition::KeyRange;
use crate::key::{Key, KeyKind};
use crate::placement::count;
use crate::prune::{Reason, Shard, Shards};

/// What a negative integer counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// -1 is in the last shard: `mod`, and `MOD` of ShardingSphere.
    Floor,
    /// -1 is where 1 is: `mod` and `mycat_mod` of Gaea. Integers of 64 bits: larger ones wrap.
    Absolute,
}

/// `key mod shards`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modulo {
    /// Number of shards, at least 1.
    pub shards: u32,
    /// What a negative key counts as.
    pub sign: Sign,
}

impl Modulo {
    pub(super) const KINDS: &'static [KeyKind] = &[KeyKind::Integer];

    pub(super) fn locate(&self, key: Key<'_>) -> Result<Shard, Reason> {
        let Key::Integer(key) = key else { return Err(Reason::Kind) };
        let shards = i128::from(self.shards);
        let number = match self.sign {
            Sign::Floor => key.rem_euclid(shards),
            Sign::Absolute => i128::from(wrapped(key).wrapping_abs()) % shards,
        };
        count(number)
    }

    /// A range narrower than the number of shards needs the shards of its keys.
    pub(super) fn range(&self, range: &KeyRange<'_>) -> Result<Shards, Reason> {
        let (Some(lower), Some(upper)) = range.integers()? else { return Err(Reason::Range) };
        if upper - lower >= i128::from(self.shards) {
            return Err(Reason::Range);
        }
        (lower..=upper).map(|key| self.locate(Key::Integer(key))).collect()
    }
}

/// The key as a signed integer of 64 bits, wrapped as in Go's conversion.
#[expect(clippy::cast_possible_truncation, reason = "Go's conversion keeps the low 64 bits")]
pub(super) fn wrapped(key: i128) -> i64 {
    key as i64
}
