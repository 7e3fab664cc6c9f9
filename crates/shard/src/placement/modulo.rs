//! Integers modulo the number of shards. Texts that are integers count as such.

use crate::condition::KeyRange;
use crate::key::{Key, KeyKind};
use crate::placement::count;
use crate::placement::gaea::number;
use crate::placement::sphere::CutMod;
use crate::prune::{Reason, Shard, Shards};

/// What a negative integer counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sign {
    /// -1 is in the last shard.
    Floor,
    /// The same; ShardingSphere's `MOD`. Integers above `i64::MAX` may have come as negative ones.
    Java,
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
    pub(super) const KINDS: &'static [KeyKind] = &[KeyKind::Integer, KeyKind::Bytes];

    pub(super) fn locate(&self, key: Key<'_>) -> Result<Shard, Reason> {
        match (self.sign, key) {
            (Sign::Floor | Sign::Java, Key::Integer(key)) => match i64::try_from(key) {
                // Divisions of 128 bits are slow.
                Ok(key) => count(key.rem_euclid(i64::from(self.shards))),
                Err(_) => count(key.rem_euclid(i128::from(self.shards))),
            },
            (Sign::Floor | Sign::Java, text) => {
                CutMod { shards: self.shards, start: 0, stop: 0 }.locate(text)
            }
            (Sign::Absolute, key) => count(number(key)?.wrapping_abs() % i64::from(self.shards)),
        }
    }

    /// A range narrower than the number of shards needs the shards of its keys.
    pub(super) fn range(&self, range: &KeyRange<'_>) -> Result<Shards, Reason> {
        let (Some(lower), Some(upper)) = range.integers()? else { return Err(Reason::Range) };
        let may_have_come_as_negative = self.sign == Sign::Java && upper > i128::from(i64::MAX);
        if may_have_come_as_negative || upper - lower >= i128::from(self.shards) {
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
