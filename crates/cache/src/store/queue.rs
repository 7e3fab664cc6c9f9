//! The two queues of a shard: first in, first out, as lists through its slots.

use super::slots::{NONE, Number, Slots};

/// Where a slot stands in its queue, and how often it was asked for: two numbers of 24 bits with
/// eight bits each beside them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    /// The newer neighbour; above it how often the answer was asked for, at most [`ASKED_MAX`].
    newer: u32,
    /// The older neighbour; above it the flags.
    older: u32,
}

/// As often as this an answer is counted: what is asked for more often stays no longer.
const ASKED_MAX: u32 = 3;

const SHIFT: u32 = 24;
/// The slot is in the main queue.
const MAIN: u32 = 1 << SHIFT;
/// One client has been told to fetch the answer anew.
const REFRESHED: u32 = 2 << SHIFT;

impl Link {
    pub(super) const NONE: Self = Self { newer: NONE, older: NONE };

    const fn newer(self) -> Number {
        self.newer & NONE
    }

    const fn older(self) -> Number {
        self.older & NONE
    }

    /// Of a free slot: the next free one.
    pub(super) const fn next(self) -> Number {
        self.older()
    }

    pub(super) const fn set_next(&mut self, next: Number) {
        *self = Self { newer: NONE, older: next & NONE };
    }

    /// How often the answer was asked for since it came or went round.
    pub(super) const fn asked(self) -> u32 {
        self.newer >> SHIFT
    }

    pub(super) const fn set_asked(&mut self, asked: u32) {
        let asked = if asked > ASKED_MAX { ASKED_MAX } else { asked };
        self.newer = self.newer() | asked << SHIFT;
    }

    pub(super) const fn is_main(self) -> bool {
        self.older & MAIN != 0
    }

    /// Notes that a client fetches the answer anew. Returns whether it is the first one.
    pub(super) const fn refresh(&mut self) -> bool {
        let is_first = self.older & REFRESHED == 0;
        self.older |= REFRESHED;
        is_first
    }

    const fn set_newer(&mut self, number: Number) {
        self.newer = self.newer & !NONE | number;
    }

    const fn set_older(&mut self, number: Number) {
        self.older = self.older & !NONE | number;
    }
}

/// One queue.
#[derive(Debug)]
pub(super) struct Queue {
    is_main: bool,
    newest: Number,
    oldest: Number,
    /// Bytes of its answers, as the allocator rounds them.
    pub(super) bytes: usize,
}

impl Queue {
    pub(super) const fn new(is_main: bool) -> Self {
        Self { is_main, newest: NONE, oldest: NONE, bytes: 0 }
    }

    pub(super) const fn oldest(&self) -> Option<Number> {
        if self.oldest == NONE { None } else { Some(self.oldest) }
    }

    /// A slot that is in no queue becomes the newest; its bytes are counted.
    pub(super) fn push(&mut self, slots: &mut Slots, number: Number, bytes: usize) {
        if let Some(slot) = slots.get_mut(number) {
            slot.link.set_newer(NONE);
            slot.link.set_older(self.newest);
            slot.link.older = slot.link.older & !MAIN | if self.is_main { MAIN } else { 0 };
        }
        match slots.get_mut(self.newest) {
            Some(before) => before.link.set_newer(number),
            None => self.oldest = number,
        }
        self.newest = number;
        self.bytes += bytes;
    }

    /// A slot of this queue leaves it.
    pub(super) fn unlink(&mut self, slots: &mut Slots, number: Number, bytes: usize) {
        let Some(link) = slots.get(number).map(|slot| slot.link) else { return };
        match slots.get_mut(link.newer()) {
            Some(newer) => newer.link.set_older(link.older()),
            None => self.newest = link.older(),
        }
        match slots.get_mut(link.older()) {
            Some(older) => older.link.set_newer(link.newer()),
            None => self.oldest = link.newer(),
        }
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// The slots from the oldest on.
    #[cfg(test)]
    pub(super) fn numbers(&self, slots: &Slots) -> Vec<Number> {
        let next =
            |number: &Number| slots.get(*number).map(|slot| slot.link.newer()).filter(|next| *next != NONE);
        std::iter::successors(self.oldest(), next).collect()
    }
}
