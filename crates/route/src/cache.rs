//! A bounded memory of verdicts: sets of four, in each of which the least recently used one makes
//! room. One worker owns it.

use std::sync::Arc;

use crate::query::{Caller, Query};
use crate::verdict::Verdict;

/// Places in a set.
const WAYS: usize = 4;

/// What a verdict depends on.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    hash: u64,
    digest: Option<u64>,
    /// The length of the digest's text: one more thing that statements with colliding hashes would
    /// have to share.
    length: usize,
    flag: u32,
    caller: Arc<Caller>,
}

impl Key {
    /// The key of `query`, whose chain starts in the state `flag`.
    pub(crate) fn hash(query: &Query<'_>, flag: u32) -> u64 {
        let digest = query.statement.digest.unwrap_or_default();
        let mixed =
            (digest ^ query.caller.hash() ^ (u64::from(flag) << 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ (mixed >> 29)
    }

    pub(crate) fn new(query: &Query<'_>, flag: u32) -> Self {
        let statement = &query.statement;
        Self {
            hash: Self::hash(query, flag),
            digest: statement.digest,
            length: statement.digest_text.len(),
            flag,
            caller: Arc::clone(query.caller),
        }
    }

    /// Whether it is that of `query`.
    fn is(&self, query: &Query<'_>, flag: u32) -> bool {
        self.digest == query.statement.digest
            && self.length == query.statement.digest_text.len()
            && self.flag == flag
            && (Arc::ptr_eq(&self.caller, query.caller) || self.caller == *query.caller)
    }
}

/// What is remembered.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most are verdicts, and the entry is boxed")]
pub(crate) enum Memory {
    /// The verdict, and nothing else matters.
    Decided(Verdict),
    /// The places of the rules that may match, depending on more than the key.
    Open(Box<[u32]>),
}

#[derive(Debug)]
struct Entry {
    key: Key,
    memory: Memory,
}

#[derive(Debug, Default)]
struct Set {
    hashes: [u64; WAYS],
    entries: [Option<Box<Entry>>; WAYS],
    /// A bit for each that was used since the last one made room.
    used: u8,
}

/// The memory. Its places are made when the first verdict comes.
#[derive(Debug)]
pub(crate) struct Cache {
    sets: Vec<Set>,
    /// How many sets there are to be, a power of two.
    count: usize,
    entries: usize,
}

impl Cache {
    /// A memory of at most `verdicts`, rounded up to a power of two.
    pub(crate) fn new(verdicts: usize) -> Self {
        Self { sets: Vec::new(), count: verdicts.div_ceil(WAYS).next_power_of_two(), entries: 0 }
    }

    pub(crate) const fn len(&self) -> usize {
        self.entries
    }

    /// Where what is known about `query` is.
    pub(crate) fn find(&mut self, query: &Query<'_>, flag: u32) -> Option<(usize, usize)> {
        let hash = Key::hash(query, flag);
        let index = self.index(hash);
        let set = self.sets.get_mut(index)?;
        let (way, _) =
            set.hashes.iter().zip(&set.entries).enumerate().find_map(|(way, (known, entry))| {
                let entry = entry.as_ref()?;
                (*known == hash && entry.key.is(query, flag)).then_some((way, entry))
            })?;
        set.used |= 1 << way;
        Some((index, way))
    }

    /// What is remembered at a place that [`find`](Self::find) or [`insert`](Self::insert) named.
    pub(crate) fn get(&self, place: (usize, usize)) -> Option<&Memory> {
        let entry = self.sets.get(place.0)?.entries.get(place.1)?.as_ref()?;
        Some(&entry.memory)
    }

    /// Remembers something, and says where.
    pub(crate) fn insert(&mut self, key: Key, memory: Memory) -> (usize, usize) {
        if self.sets.is_empty() {
            self.sets.resize_with(self.count, Set::default);
        }
        let hash = key.hash;
        let index = self.index(hash);
        let Some(set) = self.sets.get_mut(index) else { return (index, 0) };
        let free = set.entries.iter().position(Option::is_none);
        let way = free.unwrap_or_else(|| {
            // When all were used, all start anew but the one that comes.
            let unused = (!set.used).trailing_zeros() as usize;
            if unused < WAYS {
                unused
            } else {
                set.used = 0;
                (hash >> 60) as usize % WAYS
            }
        });
        self.entries += usize::from(free.is_some());
        if let (Some(place), Some(known)) = (set.entries.get_mut(way), set.hashes.get_mut(way)) {
            *place = Some(Box::new(Entry { key, memory }));
            *known = hash;
        }
        set.used |= 1 << way;
        (index, way)
    }

    fn index(&self, hash: u64) -> usize {
        usize::try_from(hash & (self.count as u64 - 1)).unwrap_or_default()
    }
}
