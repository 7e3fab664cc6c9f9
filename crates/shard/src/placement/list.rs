//! Values by name: each shard has a list of keys.

use crate::key::{Key, KeyKind};
use crate::prune::{Reason, Shard};

/// Lists of integers or texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    integers: Vec<(i64, Shard)>,
    texts: Vec<(Vec<u8>, Shard)>,
    /// Shard of all other keys.
    default: Option<Shard>,
    shards: u32,
}

/// Value of a [`List`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Item {
    /// Integer.
    Integer(i64),
    /// Text, compared by its bytes.
    Text(String),
}

impl List {
    /// Lists with the shard of each value. Fails with the value that is listed twice.
    pub fn new(items: Vec<(Item, Shard)>, default: Option<Shard>) -> Result<Self, Item> {
        let mut items = items;
        items.sort();
        if let Some([(item, _), _]) = items.array_windows::<2>().find(|[(a, _), (b, _)]| a == b) {
            return Err(item.clone());
        }
        let last = items.iter().map(|(_, shard)| *shard).chain(default).max().unwrap_or(0);
        let mut list = Self { integers: Vec::new(), texts: Vec::new(), default, shards: last + 1 };
        for (item, shard) in items {
            match item {
                Item::Integer(value) => list.integers.push((value, shard)),
                Item::Text(text) => list.texts.push((text.into_bytes(), shard)),
            }
        }
        Ok(list)
    }

    pub(super) const KINDS: &'static [KeyKind] = &[KeyKind::Integer, KeyKind::Bytes];

    /// Number of shards.
    pub(super) fn shards(&self) -> u32 {
        self.shards
    }

    pub(super) fn locate(&self, key: Key<'_>) -> Result<Shard, Reason> {
        let found = match key {
            Key::Integer(key) => {
                let at = self.integers.binary_search_by_key(&key, |(value, _)| i128::from(*value));
                at.ok().and_then(|at| self.integers.get(at)).map(|(_, shard)| *shard)
            }
            Key::Bytes(key) => {
                let at = self.texts.binary_search_by(|(text, _)| text.as_slice().cmp(key));
                at.ok().and_then(|at| self.texts.get(at)).map(|(_, shard)| *shard)
            }
            _ => return Err(Reason::Kind),
        };
        found.or(self.default).ok_or(Reason::OutOfRange)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_listed_once_or_has_the_default() {
        let items = vec![(Item::Text("de".into()), 1), (Item::Integer(5), 0), (Item::Integer(-5), 1)];
        let list = List::new(items.clone(), None).unwrap();
        assert_eq!(list.shards(), 2);
        assert_eq!(list.locate(Key::Integer(-5)), Ok(1));
        assert_eq!(list.locate(Key::Bytes(b"de")), Ok(1));
        assert_eq!(list.locate(Key::Bytes(b"DE")), Err(Reason::OutOfRange));
        assert_eq!(List::new(items.clone(), Some(2)).unwrap().locate(Key::Integer(6)), Ok(2));
        let twice = [items, vec![(Item::Integer(5), 1)]].concat();
        assert_eq!(List::new(twice, None), Err(Item::Integer(5)));
    }
}
