//! A hash table in parts, each of which grows for itself: while one does, its worker waits for some
//! microseconds, where a table of 100,000 entries in one piece would need a millisecond.

use hashbrown::HashTable;

/// How many parts.
const PARTS: usize = 64;

/// A table of small values that are found by hashes of 32 bits.
#[derive(Debug)]
pub(super) struct Shards<T>(Box<[HashTable<T>; PARTS]>);

/// Something that knows its hash.
pub(super) trait Hashed {
    /// The hash that it is found by.
    fn hash(&self) -> u32;
}

impl<T> Default for Shards<T> {
    fn default() -> Self {
        Self(Box::new([const { HashTable::new() }; PARTS]))
    }
}

/// The part takes the upper bits, the place within it all others.
const fn part(hash: u32) -> usize {
    (hash >> 26) as usize
}

/// Hashbrown takes the place from the lower bits and seven more from the upper end.
const fn spread(hash: u32) -> u64 {
    (hash as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[expect(clippy::indexing_slicing, reason = "there is a part for each six bits")]
impl<T: Hashed> Shards<T> {
    pub(super) fn get(&self, hash: u32, is_it: impl FnMut(&T) -> bool) -> Option<&T> {
        self.0[part(hash)].find(spread(hash), is_it)
    }

    pub(super) fn get_mut(&mut self, hash: u32, is_it: impl FnMut(&T) -> bool) -> Option<&mut T> {
        self.0[part(hash)].find_mut(spread(hash), is_it)
    }

    /// Adds what is not there yet.
    pub(super) fn insert(&mut self, value: T) {
        let hash = value.hash();
        self.0[part(hash)].insert_unique(spread(hash), value, |value| spread(value.hash()));
    }

    pub(super) fn remove(&mut self, hash: u32, is_it: impl FnMut(&T) -> bool) {
        if let Ok(entry) = self.0[part(hash)].find_entry(spread(hash), is_it) {
            entry.remove();
        }
    }
}
