//! What connections have in common that are good for the same clients, in the same hostgroup.

use std::hash::{BuildHasherDefault, Hasher};

/// An odd number without a pattern in its bits: it spreads hostgroups, which are small numbers.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// Finds connections of one kind, and those who wait for one. Each statement that waits looks a few
/// times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The hash of their [pool key](super::PoolKey).
    pub(crate) pool_key: u64,
    pub(crate) hostgroup: u32,
}

/// For tables of keys.
pub(crate) type ByKey = BuildHasherDefault<KeyHasher>;

/// Hashes keys, of which the largest part is a hash already.
#[derive(Debug, Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(SPREAD).rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::BuildHasher as _;

    use super::*;

    #[test]
    fn keys_are_spread() {
        let pool_keys = [0, 1, u64::MAX, 0x0123_4567_89AB_CDEF];
        let keys = (0..1000).flat_map(|hostgroup| pool_keys.map(|pool_key| Key { pool_key, hostgroup }));
        let hashes: Vec<u64> = keys.map(|key| ByKey::default().hash_one(key)).collect();
        let distinct =
            |bits: fn(u64) -> u64| hashes.iter().map(|hash| bits(*hash)).collect::<HashSet<_>>().len();
        assert_eq!(distinct(|hash| hash), hashes.len());
        // Tables go by the lowest bits, and then by the highest ones.
        assert!(distinct(|hash| hash & 0xFFF) > 2000 && distinct(|hash| hash >> 57) == 128);
    }
}
