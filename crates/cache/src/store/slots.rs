//! The slots of a shard: one for each answer, in chunks that never move.
//!
//! A vector that doubles would need three times its memory for a moment; chunks grow by one.

use std::sync::Arc;

use super::queue::Link;
use crate::key::Key;

/// The number of a slot, below [`SLOTS_MAX`].
pub(super) type Number = u32;

/// No slot.
pub(super) const NONE: Number = 0x00FF_FFFF;
/// Slots of a shard at most: numbers have 24 bits, beside 8 of something else.
pub(super) const SLOTS_MAX: usize = NONE as usize;
/// Slots of a chunk.
const CHUNK: usize = 256;

/// One answer.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) key: Key,
    /// Nothing in a free slot.
    pub(super) bytes: Option<Arc<[u8]>>,
    pub(super) moment: u64,
    /// Milliseconds from the beginning of the shard's time.
    pub(super) stored: u32,
    pub(super) ttl_ms: u32,
    /// Its place in its queue; of a free slot, the next free one.
    pub(super) link: Link,
}

/// What [`Slot`]s cost: as many bytes for each answer.
const _: () = assert!(size_of::<Slot>() == 56, "a slot has 56 bytes");

impl Slot {
    const FREE: Self =
        Self { key: Key { low: 0, high: 0 }, bytes: None, moment: 0, stored: 0, ttl_ms: 0, link: Link::NONE };
}

/// All slots of a shard.
#[derive(Debug)]
pub(super) struct Slots {
    chunks: Vec<Box<[Slot]>>,
    free: Number,
    used: usize,
}

impl Default for Slots {
    fn default() -> Self {
        Self { chunks: Vec::new(), free: NONE, used: 0 }
    }
}

impl Slots {
    #[inline]
    pub(super) fn get(&self, number: Number) -> Option<&Slot> {
        let number = number as usize;
        self.chunks.get(number / CHUNK)?.get(number % CHUNK)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: Number) -> Option<&mut Slot> {
        let number = number as usize;
        self.chunks.get_mut(number / CHUNK)?.get_mut(number % CHUNK)
    }

    /// Answers in them.
    pub(super) const fn used(&self) -> usize {
        self.used
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK * size_of::<Slot>() + self.chunks.capacity() * size_of::<Box<[Slot]>>()
    }

    /// Puts an answer into a free slot. Nothing if there is none.
    pub(super) fn insert(&mut self, slot: Slot) -> Option<Number> {
        if self.free == NONE {
            self.grow();
        }
        let number = self.free;
        let place = self.get_mut(number)?;
        let next = place.link.next();
        *place = slot;
        self.free = next;
        self.used += 1;
        Some(number)
    }

    /// Takes an answer out.
    pub(super) fn remove(&mut self, number: Number) -> Option<Slot> {
        let free = self.free;
        let place = self.get_mut(number)?;
        place.bytes.as_ref()?;
        let slot = std::mem::replace(place, Slot::FREE);
        place.link.set_next(free);
        self.free = number;
        self.used -= 1;
        Some(slot)
    }

    /// One chunk more, all free.
    fn grow(&mut self) {
        let first = self.chunks.len() * CHUNK;
        if first + CHUNK > SLOTS_MAX {
            return;
        }
        let mut chunk: Box<[Slot]> = std::iter::repeat_with(|| Slot::FREE).take(CHUNK).collect();
        for (number, slot) in (first..).zip(chunk.iter_mut()) {
            let is_last = number + 1 == first + CHUNK;
            slot.link.set_next(if is_last { NONE } else { u32::try_from(number + 1).unwrap_or(NONE) });
        }
        self.chunks.push(chunk);
        self.free = u32::try_from(first).unwrap_or(NONE);
    }

    /// The numbers of all slots that hold an answer.
    pub(super) fn numbers(&self) -> impl Iterator<Item = Number> {
        let slots = self.chunks.iter().flat_map(|chunk| chunk.iter());
        (0..).zip(slots).filter_map(|(number, slot)| slot.bytes.is_some().then_some(number))
    }
}
