//! Names by which answers are invalidated.

use std::hash::{DefaultHasher, Hash, Hasher as _};

/// Something that an answer depends on, or that a command flushes answers by. Names of schemas and
/// tables are the same in upper and lower case.
///
/// Of a table that is written, letters beyond ASCII count as one, however many there are: servers
/// fold them by tables of their own, and clients write them in their character sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name<'a> {
    /// A table, flushed by hand.
    Table(&'a [u8], &'a [u8]),
    /// A table that is written or read.
    Written(&'a [u8], &'a [u8]),
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
            Self::Written(schema, table) => (folded(schema), folded(table)).hash(&mut hasher),
            Self::Rule(id) => id.hash(&mut hasher),
            Self::Digest(digest) => digest.hash(&mut hasher),
            Self::User(user) => user.hash(&mut hasher),
        }
        hasher.finish()
    }
}

/// A name of a table as all spellings of it that a server may take for it.
pub(crate) fn folded(name: &[u8]) -> Vec<u8> {
    let mut folded: Vec<u8> =
        name.iter().map(|byte| if byte.is_ascii() { byte.to_ascii_lowercase() } else { 0xFF }).collect();
    folded.dedup_by(|next, before| (*next, *before) == (0xFF, 0xFF));
    folded
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
        assert_ne!(Name::Written(b"a", b"b").hash(), names[0].hash());
        let of = |table: &[u8]| Name::Written(b"s", table).hash();
        assert_eq!(of("Stra\u{df}e".as_bytes()), of(b"stra\xdfe"));
        assert_eq!(of("\u{c9}t\u{e9}".as_bytes()), of("\u{e9}t\u{c9}".as_bytes()));
        assert_ne!(of("\u{c9}t".as_bytes()), of(b"et"));
    }
}
