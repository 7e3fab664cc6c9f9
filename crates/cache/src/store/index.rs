//! The index of a shard: from a key to its slot.
//!
//! Open addressing with linear probing. An entry is the number of a slot with eight bits of the
//! hash above it, so that nearly no other slot than the right one is looked at. Removing shifts the
//! entries behind back, so there are no marks of what was removed.

use super::slots::Number;

/// An entry that is not used.
const EMPTY: u32 = u32::MAX;
/// Entries of the smallest index.
const ENTRIES_MIN: usize = 64;
/// More than this part of the entries is never used, in eighths: probing stays short.
const FULL_EIGHTHS: usize = 7;

const NUMBER_BITS: u32 = 24;
const NUMBER: u32 = (1 << NUMBER_BITS) - 1;

/// Numbers of slots by the hash of their keys.
#[derive(Debug)]
pub(super) struct Index {
    entries: Vec<u32>,
    used: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self { entries: vec![EMPTY; ENTRIES_MIN], used: 0 }
    }
}

/// The bits of the hash that stand in an entry. The top value is that of `EMPTY`.
const fn tag(hash: u64) -> u32 {
    let tag = (hash >> 56) as u32;
    if tag == 0xFF { 0xFE } else { tag }
}

impl Index {
    /// Entries, used or not: a measure for what belongs to as many answers.
    pub(super) const fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) const fn bytes(&self) -> usize {
        self.entries.capacity() * size_of::<u32>()
    }

    #[expect(clippy::cast_possible_truncation, reason = "masked")]
    const fn home(&self, hash: u64) -> usize {
        hash as usize & (self.entries.len() - 1)
    }

    const fn after(&self, place: usize) -> usize {
        (place + 1) & (self.entries.len() - 1)
    }

    fn at(&self, place: usize) -> u32 {
        self.entries.get(place).copied().unwrap_or(EMPTY)
    }

    fn set(&mut self, place: usize, entry: u32) {
        if let Some(at) = self.entries.get_mut(place) {
            *at = entry;
        }
    }

    /// The place of the entry of which the slot `is_it`.
    fn place(&self, hash: u64, mut is_it: impl FnMut(Number) -> bool) -> Option<usize> {
        let (tag, mut place) = (tag(hash), self.home(hash));
        loop {
            match self.at(place) {
                EMPTY => return None,
                entry if entry >> NUMBER_BITS == tag && is_it(entry & NUMBER) => return Some(place),
                _ => place = self.after(place),
            }
        }
    }

    /// The slot for a key of this hash of which `is_it` holds.
    #[inline]
    pub(super) fn find(&self, hash: u64, is_it: impl FnMut(Number) -> bool) -> Option<Number> {
        self.place(hash, is_it).map(|place| self.at(place) & NUMBER)
    }

    /// Adds a slot that is not in it. `hash_of` tells the hash of the others, should it grow.
    pub(super) fn insert(&mut self, hash: u64, number: Number, hash_of: impl Fn(Number) -> u64) {
        if (self.used + 1) * 8 > self.entries.len() * FULL_EIGHTHS {
            self.grow(hash_of);
        }
        self.add(hash, number);
        self.used += 1;
    }

    fn add(&mut self, hash: u64, number: Number) {
        let mut place = self.home(hash);
        while self.at(place) != EMPTY {
            place = self.after(place);
        }
        self.set(place, tag(hash) << NUMBER_BITS | number);
    }

    fn grow(&mut self, hash_of: impl Fn(Number) -> u64) {
        let larger = vec![EMPTY; self.entries.len() * 2];
        for entry in std::mem::replace(&mut self.entries, larger) {
            if entry != EMPTY {
                self.add(hash_of(entry & NUMBER), entry & NUMBER);
            }
        }
    }

    /// Removes the slot `number`, whose key has this hash.
    pub(super) fn remove(&mut self, hash: u64, number: Number, hash_of: impl Fn(Number) -> u64) {
        let Some(mut hole) = self.place(hash, |other| other == number) else { return };
        self.used -= 1;
        let mut place = hole;
        loop {
            place = self.after(place);
            let entry = self.at(place);
            if entry == EMPTY {
                break;
            }
            // An entry may go to the hole if that does not come before its home.
            let home = self.home(hash_of(entry & NUMBER));
            let from_home = place.wrapping_sub(home) & (self.entries.len() - 1);
            let from_hole = place.wrapping_sub(hole) & (self.entries.len() - 1);
            if from_home >= from_hole {
                self.set(hole, entry);
                hole = place;
            }
        }
        self.set(hole, EMPTY);
    }
}
