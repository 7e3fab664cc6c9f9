//! Names by which answers are invalidated.

use std::hash::{DefaultHasher, Hash, Hasher as _};

/// Something that an answer depends on, or that a command flushes answers by. Names of schemas and
/// tables are the same in upper and lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name<'a> {
    /// A table, flushed by hand.
    Table(&'a [u8], &'a [u8]),
    /// The rule with this number.
    Rule(i64),
    /// A digest.
    Digest(u64),
    /// An account.
    User(&'a [u8]),
}

impl Name<'_> {
    /// The hash for [`Scope::add`](crate::Scope::add), the same in all threads.
    #[must_use]
    pub fn hash(self) -> u64 {
        let mut hasher = DefaultHasher::new();
        std::mem::discriminant(&self).hash(&mut hasher);
        match self {
            Self::Table(schema, table) => {
                (schema.to_ascii_lowercase(), table.to_ascii_lowercase()).hash(&mut hasher);
            }
            Self::Rule(id) => id.hash(&mut hasher),
            Self::Digest(digest) => digest.hash(&mut hasher),
            Self::User(user) => user.hash(&mut hasher),
        }
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        let names = [
            Name::Table(b"a", b"b"),
            Name::Table(b"ab", b""),
            Name::Rule(1),
            Name::Digest(1),
            Name::User(b"a"),
        ];
        let hashes: std::collections::HashSet<_> = names.iter().map(|name| name.hash()).collect();
        assert_eq!(hashes.len(), names.len());
        assert_eq!(Name::Table(b"A", b"B").hash(), names[0].hash());
    }
}
