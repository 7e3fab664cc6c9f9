//! The key of an answer: a hash of all that the answer is a function of.
//!
//! Two keys are equal if and only if they were built from the same parts, but for a chance of about
//! 2^-128 for each pair: the hash is keyed by a secret of the process, so that clients cannot look
//! for texts that collide.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// Hash of account, schema, text, settings and whatever else an answer depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Chooses the bucket in a shard.
    pub(crate) low: u64,
    /// Chooses the shard.
    pub(crate) high: u64,
}

/// Source of keys, with the secret that they are hashed with.
#[derive(Clone)]
pub struct Keys(SipHasher13);

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys")
    }
}

impl Keys {
    /// Keys with this secret. All workers of a process need the same one.
    #[must_use]
    pub fn new(secret: [u64; 2]) -> Self {
        let [first, second] = secret;
        Self(SipHasher13::new_with_keys(first, second))
    }

    /// A key without parts.
    #[must_use]
    pub const fn builder(&self) -> KeyBuilder {
        KeyBuilder(self.0)
    }
}

/// A key in the making. The order of its parts matters.
#[derive(Debug)]
pub struct KeyBuilder(SipHasher13);

impl KeyBuilder {
    /// Adds bytes. Their number is hashed first, so the same bytes cut elsewhere are another key.
    #[must_use]
    pub fn part(mut self, bytes: &[u8]) -> Self {
        self.0.write_u64(bytes.len() as u64);
        self.0.write(bytes);
        self
    }

    /// Adds a number.
    #[must_use]
    pub fn number(mut self, number: u64) -> Self {
        self.0.write_u64(number);
        self
    }

    /// Adds what another key was built from.
    #[must_use]
    pub fn key(self, key: Key) -> Self {
        self.number(key.low).number(key.high)
    }

    /// The key of the parts so far.
    #[must_use]
    pub fn finish(self) -> Key {
        let hash = self.0.finish128();
        Key { low: hash.h1, high: hash.h2 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_parts_make_the_same_key_and_no_others_do() {
        let keys = Keys::new([1, 2]);
        let key = |parts: &[&str]| {
            let builder = parts.iter().fold(keys.builder(), |builder, part| builder.part(part.as_bytes()));
            builder.finish()
        };
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_ne!(key(&["ab", "c"]), key(&["c", "ab"]));
        assert_ne!(key(&["ab"]), key(&["ab", ""]));
    }

    #[test]
    fn another_secret_makes_other_keys() {
        let key = |secret| Keys::new(secret).builder().part(b"SELECT 1").finish();
        assert_ne!(key([1, 2]), key([1, 3]));
    }
}
