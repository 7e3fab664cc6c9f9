//! `HASH_MOD`: Java's `hashCode`, modulo the number of shards.

use super::java::{literal_hash, long_hash, text_hash};
use crate::key::{Key, KeyKind};
use crate::placement::count;
use crate::prune::{Reason, Shard, Shards};

/// `abs(hashCode(key)) mod shards`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashMod {
    /// Number of shards, at least 1.
    pub shards: u32,
    /// `normalize-numeric-int-range`: parameters have the types of literals.
    pub normalized: bool,
}

impl HashMod {
    pub(crate) const KINDS: &'static [KeyKind] = &[KeyKind::Integer, KeyKind::Bytes];

    /// The shard of the key as a literal.
    pub(crate) fn place(&self, key: Key<'_>) -> Result<Shard, Reason> {
        match key {
            Key::Integer(key) => self.shard(literal_hash(key)),
            Key::Bytes(text) => {
                let text = std::str::from_utf8(text).map_err(|_| Reason::Kind)?;
                self.shard(text_hash(text))
            }
            _ => Err(Reason::Kind),
        }
    }

    /// Shards where rows with the key may be: those of parameters have the hash of a `Long`, in
    /// which negative integers and those above `i64::MAX` differ from literals.
    pub(crate) fn locate(&self, key: Key<'_>) -> Result<Shards, Reason> {
        let mut shards = Shards::one(self.place(key)?);
        if let Key::Integer(key) = key
            && !self.normalized
        {
            shards.insert(self.shard(long_hash(crate::placement::modulo::wrapped(key)))?);
        }
        Ok(shards)
    }

    fn shard(&self, hash: i32) -> Result<Shard, Reason> {
        count(hash.unsigned_abs() % self.shards)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_keys_are_looked_for_in_both_places() {
        let shards = |normalized, key| {
            HashMod { shards: 8, normalized }.locate(Key::Integer(key)).unwrap().as_slice().to_vec()
        };
        assert_eq!(shards(false, -5), [4, 5]);
        assert_eq!(shards(true, -5), [5]);
        assert_eq!(shards(false, 5), [5]);
    }
}
