//! Which shards a statement needs, and why it needs all if it does.

use std::fmt;

use smallvec::SmallVec;

/// Number of a shard: an index into [`Table::nodes`](crate::Table::nodes).
pub type Shard = u32;

/// Shards that [`Shards`] holds without an allocation.
const INLINE_SHARDS: usize = 8;

/// Set of shards, in rising order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shards(SmallVec<[Shard; INLINE_SHARDS]>);

impl Shards {
    /// The set of one shard.
    pub fn one(shard: Shard) -> Self {
        Self(SmallVec::from_slice(&[shard]))
    }

    /// Adds a shard.
    pub fn insert(&mut self, shard: Shard) {
        if let Err(at) = self.0.binary_search(&shard) {
            self.0.insert(at, shard);
        }
    }

    /// Adds the shards of another set.
    pub fn extend(&mut self, other: &Self) {
        other.0.iter().for_each(|shard| self.insert(*shard));
    }

    /// The shards that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.0.iter().filter(|shard| other.0.binary_search(shard).is_ok()).copied().collect())
    }

    /// The shards in rising order.
    pub fn as_slice(&self) -> &[Shard] {
        &self.0
    }
}

impl FromIterator<Shard> for Shards {
    fn from_iter<I: IntoIterator<Item = Shard>>(shards: I) -> Self {
        let mut shards: SmallVec<_> = shards.into_iter().collect();
        shards.sort_unstable();
        shards.dedup();
        Self(shards)
    }
}

/// Shards that have all rows which a statement may match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prune {
    /// One shard.
    One(Shard),
    /// Two shards or more, but not all.
    Some(Shards),
    /// All shards.
    All(Reason),
}

/// Why a statement needs all shards, or why a row has no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The statement says nothing about a key column.
    NoCondition,
    /// The key is NULL.
    Null,
    /// The definition of the key column is not known.
    ColumnUnknown,
    /// The type of the value makes the comparison inexact, or the value is not in canonical form.
    Inexact,
    /// The collation has texts equal that the function tells apart.
    Collation,
    /// What a TIMESTAMP means depends on the session's time zone.
    TimeZone,
    /// The function is not defined on this kind of key.
    Kind,
    /// The function does not keep the order, or the range has more keys than shards.
    Range,
    /// No shard is there for the key.
    OutOfRange,
    /// The conditions of different key columns exclude each other.
    Contradiction,
    /// Only a hint names the shard.
    Hint,
    /// The lists of several key columns have too many combinations.
    Combinations,
    /// The conditions do cover all shards.
    Covers,
    /// The rows that are inserted are of several shards.
    Rows,
    /// Each server has all rows of the table.
    Reference,
}

impl Reason {
    /// The reason as a clause behind "because".
    pub const fn text(self) -> &'static str {
        match self {
            Self::NoCondition => "the statement has no condition on a key column",
            Self::Null => "the key is NULL",
            Self::ColumnUnknown => "the definition of the key column is not known",
            Self::Inexact => "the comparison with the key column is not exact",
            Self::Collation => "the collation of the key column compares other than by bytes",
            Self::TimeZone => "a TIMESTAMP depends on the time zone of the session",
            Self::Kind => "the placement function is not defined on this kind of key",
            Self::Range => "the placement function does not keep the order of keys",
            Self::OutOfRange => "no shard is there for the key",
            Self::Contradiction => "the conditions on the key columns exclude each other",
            Self::Combinations => "the lists of the key columns have too many combinations",
            Self::Hint => "only a hint can name the shard",
            Self::Covers => "the conditions cover all shards",
            Self::Rows => "the rows are of several shards",
            Self::Reference => "each server has all rows of the table",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_sorted_and_without_duplicates() {
        let mut set: Shards = [3, 1, 3, 2].into_iter().collect();
        set.insert(2);
        set.insert(0);
        assert_eq!(set.as_slice(), [0, 1, 2, 3]);
        assert_eq!(set.intersection(&[2, 9].into_iter().collect()).as_slice(), [2]);
    }
}
