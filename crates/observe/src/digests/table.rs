//! The digests that one worker counts, within a budget of memory.
//!
//! Entries lie in blocks that never move and are found through a hash table of their numbers. Texts
//! are kept once per digest, whichever client sends it. When the budget is used up, a new digest
//! takes the place of those that are used least: a hand goes round the entries, halves how often
//! each was used, and takes the first at zero (or, of sixteen, the one that is used least). No
//! statement looks at more than a bounded number of entries.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use super::shards::{Hashed, Shards};
use super::tally::{Done, Tally};
use super::who::{Names, Who};

/// Entries of a block: 32 KiB.
const BLOCK: usize = 256;

/// Bytes that an entry takes besides its times and its text: with its number in the hash table,
/// which is half empty at worst.
const ENTRY_BYTES: usize = size_of::<Option<Entry>>() + 2 * (size_of::<Number>() + 1);

/// Bytes that a text takes besides itself, in the same way.
const TEXT_BYTES: usize = 2 * size_of::<usize>() + 2 * (size_of::<Text>() + 1);

/// Entries that are looked at for one that is used little.
const LOOKS_MAX: usize = 16;

/// Entries that one new digest may push out; if that makes not enough room, it is not counted.
const EVICTIONS_MAX: usize = 64;

/// Where a digest is counted. It is of no more use once the digest was pushed out, or everything
/// taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    slot: u32,
    /// The entry's.
    stamp: NonZeroU32,
}

/// What is counted apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    digest: u64,
    who: u32,
    hostgroup: u32,
}

/// One digest of one [`Who`] in a hostgroup: exactly two lines of the processor's cache, which are
/// fetched together.
#[derive(Debug)]
#[repr(align(128))]
struct Entry {
    key: Key,
    /// No other entry of this worker has had it, in four billion.
    stamp: NonZeroU32,
    /// How often it was used lately.
    uses: u8,
    tally: Tally,
}

const _: () =
    assert!(size_of::<Option<Entry>>() == 128, "a statement waits for each line that its entry has");

/// An entry's number, by the hash of its key.
#[derive(Debug)]
struct Number {
    hash: u32,
    slot: u32,
}

/// A text, by the hash of its digest.
#[derive(Debug)]
struct Text {
    hash: u32,
    entries: u32,
    digest: u64,
    bytes: Arc<[u8]>,
}

impl Hashed for Number {
    fn hash(&self) -> u32 {
        self.hash
    }
}

impl Hashed for Text {
    fn hash(&self) -> u32 {
        self.hash
    }
}

/// A digest as others read it.
#[derive(Debug, Clone)]
pub struct Copied {
    pub(super) names: Names,
    pub(super) hostgroup: u32,
    pub(super) digest: u64,
    pub(super) text: Arc<[u8]>,
    pub(super) tally: Tally,
}

/// How large the statistics of a worker are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Size {
    /// Bytes that are in use, about; after the budget has become smaller, more are kept for later.
    pub bytes: u64,
    /// Entries.
    pub entries: u64,
    /// Digests that were pushed out, or not counted, for want of memory.
    pub evicted: u64,
}

/// The table of one worker.
#[derive(Debug)]
pub struct Table {
    blocks: Vec<Vec<Option<Entry>>>,
    /// Numbers of entries that are empty.
    free: Vec<u32>,
    /// Entries that are not.
    len: usize,
    numbers: Shards<Number>,
    texts: Shards<Text>,
    /// Whose digests there are, and how many.
    whos: HashMap<u32, (Arc<Who>, u32)>,
    /// Where the next digest is looked for that is used little.
    hand: u32,
    /// Bytes that entries, texts and names take, about.
    bytes: usize,
    /// Bytes that it may take.
    budget: usize,
    /// Digests that were pushed out, or not counted, for want of memory.
    evicted: u64,
    /// The stamp of the next entry.
    next_stamp: NonZeroU32,
    /// Makes it impossible to say which digests have the same hash.
    seed: u64,
}

impl Table {
    /// A table without entries, for hashes that depend on `seed`.
    pub(super) fn new(seed: u64) -> Self {
        Self {
            blocks: Vec::new(),
            free: Vec::new(),
            len: 0,
            numbers: Shards::default(),
            texts: Shards::default(),
            whos: HashMap::new(),
            hand: 0,
            bytes: 0,
            budget: usize::MAX,
            evicted: 0,
            next_stamp: NonZeroU32::MIN,
            seed,
        }
    }

    /// An empty table in place of this one, whose places mean nothing in it.
    pub(super) fn successor(&self) -> Self {
        let Self { budget, evicted, next_stamp, .. } = *self;
        Self { budget, evicted, next_stamp, ..Self::new(self.seed) }
    }

    /// Sets how many bytes it may take.
    pub(super) fn set_budget(&mut self, budget: usize) {
        self.budget = budget;
    }

    /// Whether there were entries, and none is left.
    pub(super) fn has_only_free_places(&self) -> bool {
        self.len == 0 && !self.blocks.is_empty()
    }

    /// How large it is.
    pub fn size(&self) -> Size {
        Size { bytes: self.bytes as u64, entries: self.len as u64, evicted: self.evicted }
    }

    /// `who` has sent a statement with this digest to a server of `hostgroup`: where its execution
    /// is to be noted. The digest's text is asked for if it is a new one. `None` if there is no
    /// memory for it.
    pub fn enter(
        &mut self,
        who: &Arc<Who>,
        hostgroup: u32,
        digest: u64,
        text: impl FnOnce() -> Arc<[u8]>,
    ) -> Option<Place> {
        let key = Key { digest, who: who.id, hostgroup };
        let hash = self.hash(key);
        let blocks = &self.blocks;
        let is_it = |number: &Number| {
            number.hash == hash && entry(blocks, number.slot).is_some_and(|entry| entry.key == key)
        };
        if let Some(&Number { slot, .. }) = self.numbers.get(hash, is_it)
            && let Some(entry) = entry_mut(&mut self.blocks, slot)
        {
            entry.uses = entry.uses.saturating_add(1);
            return Some(Place { slot, stamp: entry.stamp });
        }
        self.add(who, key, hash, &text())
    }

    /// The statement is over, at `now_s` in seconds of Unix time. False if its digest was pushed
    /// out meanwhile: it is not counted.
    pub fn note(&mut self, place: Place, done: &Done, now_s: u64) -> bool {
        let Some(entry) = entry_mut(&mut self.blocks, place.slot).filter(|entry| entry.stamp == place.stamp)
        else {
            return false;
        };
        let before = entry.tally.times.bytes();
        entry.tally.note(done, now_s);
        let more = entry.tally.times.bytes() - before;
        if more > 0 {
            self.bytes += more;
            self.make_room(0, Some(place.slot));
        }
        true
    }

    #[cold]
    fn add(&mut self, who: &Arc<Who>, key: Key, hash: u32, text: &Arc<[u8]>) -> Option<Place> {
        // More than it takes if the text is there already.
        let needed = ENTRY_BYTES + TEXT_BYTES + text.len() + who.bytes();
        if !self.make_room(needed, None) {
            self.evicted += 1;
            return None;
        }
        self.bytes += ENTRY_BYTES;
        let (_, entries) = self.whos.entry(who.id).or_insert_with(|| {
            self.bytes += who.bytes();
            (Arc::clone(who), 0)
        });
        *entries += 1;
        self.hold_text(key.digest, text);
        let stamp = self.next_stamp;
        self.next_stamp = stamp.checked_add(1).unwrap_or(NonZeroU32::MIN);
        let slot = self.put(Entry { key, stamp, uses: 1, tally: Tally::default() });
        self.numbers.insert(Number { hash, slot });
        self.len += 1;
        Some(Place { slot, stamp })
    }

    /// Puts an entry where there is room, and says where that is.
    fn put(&mut self, entry: Entry) -> u32 {
        if let Some(slot) = self.free.pop() {
            let block = self.blocks.get_mut(slot as usize / BLOCK);
            if let Some(place) = block.and_then(|block| block.get_mut(slot as usize % BLOCK)) {
                *place = Some(entry);
            }
            return slot;
        }
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        let number = self.slots();
        if let Some(block) = self.blocks.last_mut() {
            block.push(Some(entry));
        }
        // Four billion entries would take more memory than any machine has.
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// Entries, and places where there were some.
    fn slots(&self) -> usize {
        let last = self.blocks.last().map_or(0, Vec::len);
        self.blocks.len().saturating_sub(1) * BLOCK + last
    }

    fn hold_text(&mut self, digest: u64, text: &Arc<[u8]>) {
        let hash = fold(digest ^ self.seed);
        if let Some(held) = self.texts.get_mut(hash, |held| held.digest == digest) {
            held.entries += 1;
            return;
        }
        self.bytes += TEXT_BYTES + text.len();
        self.texts.insert(Text { hash, entries: 1, digest, bytes: Arc::clone(text) });
    }

    /// The text of a digest, if there is an entry with it: so that it is kept once only.
    pub fn text(&self, digest: u64) -> Option<Arc<[u8]>> {
        let held = self.texts.get(fold(digest ^ self.seed), |held| held.digest == digest);
        held.map(|held| Arc::clone(&held.bytes))
    }

    /// Pushes out what is used little until there are `needed` bytes; false if that takes too long.
    /// The entry `keep` stays.
    pub(super) fn make_room(&mut self, needed: usize, keep: Option<u32>) -> bool {
        let fits = |table: &Self| table.bytes + needed <= table.budget;
        for _ in 0..EVICTIONS_MAX {
            if fits(self) {
                return true;
            }
            let Some(slot) = self.little_used(keep) else { break };
            self.evict(slot);
            self.evicted += 1;
        }
        fits(self)
    }

    /// An entry that is used little; `None` if none is near.
    fn little_used(&mut self, keep: Option<u32>) -> Option<u32> {
        let slots = u32::try_from(self.slots()).unwrap_or(u32::MAX);
        let mut least: Option<(u8, u32)> = None;
        for _ in 0..LOOKS_MAX.min(slots as usize) {
            let slot = self.hand % slots;
            self.hand = slot + 1;
            let Some(entry) = entry_mut(&mut self.blocks, slot).filter(|_| keep != Some(slot)) else {
                continue;
            };
            if entry.uses == 0 {
                return Some(slot);
            }
            if least.is_none_or(|(uses, _)| entry.uses < uses) {
                least = Some((entry.uses, slot));
            }
            entry.uses /= 2;
        }
        least.map(|(_, slot)| slot)
    }

    fn evict(&mut self, slot: u32) {
        let cell =
            self.blocks.get_mut(slot as usize / BLOCK).and_then(|block| block.get_mut(slot as usize % BLOCK));
        let Some(entry) = cell.and_then(Option::take) else { return };
        self.bytes -= ENTRY_BYTES + entry.tally.times.bytes();
        self.len -= 1;
        self.free.push(slot);
        self.numbers.remove(self.hash(entry.key), |number| number.slot == slot);
        if let Some((who, entries)) = self.whos.get_mut(&entry.key.who) {
            *entries -= 1;
            if *entries == 0 {
                self.bytes -= who.bytes();
                self.whos.remove(&entry.key.who);
            }
        }
        let (digest, hash) = (entry.key.digest, fold(entry.key.digest ^ self.seed));
        if let Some(held) = self.texts.get_mut(hash, |held| held.digest == digest) {
            held.entries -= 1;
            if held.entries == 0 {
                self.bytes -= TEXT_BYTES + held.bytes.len();
                self.texts.remove(hash, |held| held.digest == digest);
            }
        }
    }

    /// The entries with the `n` numbers from `from` on, and the number that is next, if there are
    /// more. With `times` their buckets come along.
    pub fn slice(&self, from: u32, n: u32, times: bool) -> (Vec<Copied>, Option<u32>) {
        let to = from.saturating_add(n);
        let entries = (from..to).filter_map(|slot| entry(&self.blocks, slot));
        // What runs for the first time has nothing to show.
        let ended = entries.filter(|entry| entry.tally.count > 0);
        let copied = ended.map(|entry| self.copy(entry, times));
        (copied.collect(), (self.slots() > to as usize).then_some(to))
    }

    fn copy(&self, entry: &Entry, times: bool) -> Copied {
        let Key { digest, who, hostgroup } = entry.key;
        let names = self.whos.get(&who).map(|(who, _)| who.names.clone());
        Copied {
            names: names.unwrap_or_default(),
            hostgroup,
            digest,
            text: self.text(digest).unwrap_or_default(),
            tally: if times { entry.tally.clone() } else { entry.tally.without_times() },
        }
    }

    /// The same digest in this table as at `place` in the one before it, `old`.
    pub(super) fn transfer(&mut self, old: &Self, place: Place) -> Option<Place> {
        let entry = entry(&old.blocks, place.slot).filter(|entry| entry.stamp == place.stamp)?;
        let (who, _) = old.whos.get(&entry.key.who)?;
        let text = old.text(entry.key.digest)?;
        self.enter(who, entry.key.hostgroup, entry.key.digest, || text)
    }

    fn hash(&self, key: Key) -> u32 {
        let Key { digest, who, hostgroup } = key;
        fold(digest ^ self.seed ^ (u64::from(who) << 32 | u64::from(hostgroup)))
    }
}

/// Mixes all bits.
#[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
const fn fold(value: u64) -> u32 {
    let product = (value as u128).wrapping_mul(0x9fb2_1c65_1e98_df25);
    let folded = (product >> 64) as u64 ^ product as u64;
    (folded >> 32) as u32 ^ folded as u32
}

fn entry(blocks: &[Vec<Option<Entry>>], slot: u32) -> Option<&Entry> {
    blocks.get(slot as usize / BLOCK)?.get(slot as usize % BLOCK)?.as_ref()
}

fn entry_mut(blocks: &mut [Vec<Option<Entry>>], slot: u32) -> Option<&mut Entry> {
    blocks.get_mut(slot as usize / BLOCK)?.get_mut(slot as usize % BLOCK)?.as_mut()
}
