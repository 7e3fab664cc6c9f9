//! Keys that left the small queue without being asked for again.
//!
//! Of each only 32 bits of the hash are kept, in buckets; a new one takes the place of the oldest
//! of its bucket. A key that is taken for another one enters the main queue too early, nothing
//! worse.

/// Keys of a bucket.
const BUCKET: usize = 4;

/// Hashes of keys, forgotten in about the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Ghost {
    buckets: Vec<[u32; BUCKET]>,
}

/// The part of a hash that is kept; 0 is an empty place.
const fn print(hash: u64) -> u32 {
    let print = (hash >> 32) as u32;
    if print == 0 { 1 } else { print }
}

impl Ghost {
    pub(super) const fn bytes(&self) -> usize {
        self.buckets.capacity() * BUCKET * size_of::<u32>()
    }

    /// Room for this many keys, a power of two. What is remembered stays.
    pub(super) fn grow(&mut self, keys: usize) {
        let wanted = (keys / BUCKET).max(1);
        if wanted <= self.buckets.len() {
            return;
        }
        let before = std::mem::replace(&mut self.buckets, vec![[0; BUCKET]; wanted]);
        for print in before.iter().flat_map(|bucket| bucket.iter().rev()).filter(|print| **print != 0) {
            self.add(*print);
        }
    }

    /// Remembers a key.
    pub(super) fn insert(&mut self, hash: u64) {
        self.add(print(hash));
    }

    fn add(&mut self, print: u32) {
        if let Some(bucket) = self.bucket(print) {
            bucket.rotate_right(1);
            bucket[0] = print;
        }
    }

    /// Whether a key is remembered; it is forgotten then.
    pub(super) fn take(&mut self, hash: u64) -> bool {
        let print = print(hash);
        let Some(bucket) = self.bucket(print) else { return false };
        let found = bucket.iter_mut().find(|kept| **kept == print);
        found.is_some_and(|kept| std::mem::take(kept) != 0)
    }

    fn bucket(&mut self, print: u32) -> Option<&mut [u32; BUCKET]> {
        let mask = self.buckets.len().checked_sub(1)?;
        self.buckets.get_mut(print as usize & mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_a_bucket_is_forgotten_first() {
        let mut ghost = Ghost::default();
        ghost.grow(BUCKET);
        let hash = |n: u64| n << 32;
        (1..=5).for_each(|n| ghost.insert(hash(n)));
        assert!(!ghost.take(hash(1)));
        assert!((2..=5).all(|n| ghost.take(hash(n))));
        assert!(!ghost.take(hash(5)), "it is forgotten when it is taken");
    }

    #[test]
    fn keys_are_still_remembered_behind_growing() {
        let mut ghost = Ghost::default();
        ghost.grow(64);
        (1..=16u64).for_each(|n| ghost.insert(n << 32));
        ghost.grow(256);
        assert!((1..=16u64).all(|n| ghost.take(n << 32)));
    }
}
