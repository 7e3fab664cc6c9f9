//! Placement functions under one name.

use crate::condition::KeyRange;
use crate::key::{Key, KeyKind};
use crate::placement::gaea::{Murmur, Padding, Slots};
use crate::placement::modulo::wrapped;
use crate::placement::sphere::{AutoInterval, CutMod, HashMod, Inline};
use crate::placement::{Dates, Hash, Intervals, List, Modulo, Ranges, Sign};
use crate::prune::{Reason, Shard, Shards};

/// Function from the value of a key column (or several) to the number of a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Function {
    /// Integers modulo the number of shards.
    Modulo(Modulo),
    /// kingshard's hash.
    Hash(Hash),
    /// Ranges of integers.
    Ranges(Ranges),
    /// Values by name.
    List(List),
    /// Years, months or days.
    Dates(Dates),
    /// Intervals of time.
    Intervals(Intervals),
    /// Gaea's `mycat_long` and `mycat_string`.
    Slots(Slots),
    /// Consistent hash: Gaea's `mycat_murmur`.
    Murmur(Murmur),
    /// Gaea's `mycat_padding_mod`.
    Padding(Padding),
    /// ShardingSphere's `HASH_MOD`.
    HashMod(HashMod),
    /// ShardingSphere's `MOD` with offsets.
    CutMod(CutMod),
    /// ShardingSphere's `AUTO_INTERVAL`.
    AutoInterval(AutoInterval),
    /// ShardingSphere's `INLINE` and its kin.
    Inline(Inline),
}

impl Function {
    /// The word for it in listings.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Modulo(_) => "mod",
            Self::Hash(_) => "hash",
            Self::Ranges(_) => "range",
            Self::List(_) => "list",
            Self::Dates(_) => "date",
            Self::Intervals(_) => "interval",
            Self::Slots(_) => "slots",
            Self::Murmur(_) => "murmur",
            Self::Padding(_) => "padding_mod",
            Self::HashMod(_) => "hash_mod",
            Self::CutMod(_) => "cut_mod",
            Self::AutoInterval(_) => "auto_interval",
            Self::Inline(_) => "inline",
        }
    }

    /// Number of shards that the function yields.
    pub fn shards(&self) -> usize {
        let shards = match self {
            Self::Ranges(ranges) => return ranges.shards(),
            Self::Dates(dates) => return dates.numbers().len(),
            Self::Inline(inline) => return inline.shards(),
            Self::Modulo(modulo) => modulo.shards,
            Self::Hash(hash) => hash.shards,
            Self::List(list) => list.shards(),
            Self::Intervals(intervals) => intervals.shards(),
            Self::Slots(slots) => slots.shards(),
            Self::Murmur(murmur) => murmur.shards(),
            Self::Padding(padding) => padding.shards(),
            Self::HashMod(hash) => hash.shards,
            Self::CutMod(cut) => cut.shards,
            Self::AutoInterval(intervals) => intervals.shards(),
        };
        usize::try_from(shards).unwrap_or(usize::MAX)
    }

    /// Kinds of keys on which the function is exact: keys that compare as equal are in one shard.
    pub fn kinds(&self) -> &'static [KeyKind] {
        match self {
            Self::Modulo(_) => Modulo::KINDS,
            Self::Hash(hash) if hash.weights => Hash::WEIGHT_KINDS,
            Self::Hash(_) => Hash::KINDS,
            Self::Ranges(_) => Ranges::KINDS,
            Self::List(_) => List::KINDS,
            Self::Dates(_) => Dates::KINDS,
            Self::Intervals(_) => Intervals::KINDS,
            Self::Slots(_) => Slots::KINDS,
            Self::Murmur(_) => Murmur::KINDS,
            Self::Padding(_) => Padding::KINDS,
            Self::HashMod(_) => HashMod::KINDS,
            Self::CutMod(_) => CutMod::KINDS,
            Self::AutoInterval(_) => AutoInterval::KINDS,
            Self::Inline(_) => Inline::KINDS,
        }
    }

    /// Whether all rows with a key are in one shard. ShardingSphere puts some integers
    /// elsewhere as parameters than as literals. `integers` are the least and the largest integer
    /// that there may be; nothing for keys of other kinds.
    pub fn is_certain(&self, integers: Option<(i128, i128)>) -> bool {
        let Some((least, largest)) = integers else { return true };
        let fits = largest <= i128::from(i64::MAX);
        match self {
            Self::HashMod(hash) => hash.normalized || fits && least >= 0,
            Self::Modulo(modulo) => modulo.sign != Sign::Java || fits,
            Self::CutMod(_) => fits,
            Self::Inline(inline) => !inline.template().depends_on_type(),
            _ => true,
        }
    }

    /// The shard in which a new row with these keys is stored.
    pub fn place(&self, keys: &[Key<'_>]) -> Result<Shard, Reason> {
        if let Self::Inline(inline) = self {
            return inline.place(keys);
        }
        let &[key] = keys else { return Err(Reason::Kind) };
        match self {
            Self::Modulo(modulo) => modulo.locate(key),
            Self::Hash(hash) => hash.locate(key),
            Self::Ranges(ranges) => ranges.locate(key),
            Self::List(list) => list.locate(key),
            Self::Dates(dates) => dates.locate(key),
            Self::Intervals(intervals) => intervals.locate(key),
            Self::Slots(slots) => slots.locate(key),
            Self::Murmur(murmur) => murmur.locate(key),
            Self::Padding(padding) => padding.locate(key),
            Self::HashMod(hash) => hash.place(key),
            Self::CutMod(cut) => cut.locate(key),
            Self::AutoInterval(intervals) => intervals.locate(key),
            Self::Inline(_) => Err(Reason::Kind),
        }
    }

    /// All shards that may have rows with these keys: one, unless the proxy that wrote them put
    /// equal keys into different shards.
    pub fn locate(&self, keys: &[Key<'_>]) -> Result<Shards, Reason> {
        match (self, keys) {
            (Self::HashMod(hash), &[key]) => hash.locate(key),
            (Self::Inline(inline), _) => inline.locate(keys),
            (_, &[Key::Integer(key)]) if !self.is_certain(Some((key, key))) => {
                // As a parameter the key was read as a negative one.
                let mut shards = Shards::one(self.place(keys)?);
                shards.insert(self.place(&[Key::Integer(wrapped(key).into())])?);
                Ok(shards)
            }
            _ => self.place(keys).map(Shards::one),
        }
    }

    /// All shards that may have rows with keys in a range.
    pub fn range(&self, range: &KeyRange<'_>) -> Result<Shards, Reason> {
        match self {
            Self::Modulo(modulo) => modulo.range(range),
            Self::Ranges(ranges) => ranges.range(range),
            Self::Dates(dates) => dates.range(range),
            Self::Intervals(intervals) => intervals.range(range),
            Self::AutoInterval(intervals) => intervals.range(range),
            _ => Err(Reason::Range),
        }
    }
}
