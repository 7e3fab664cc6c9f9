//! One shard of the store: its answers, and which of them leave.

use std::sync::Arc;

use super::ghost::Ghost;
use super::index::Index;
use super::queue::{Link, Queue};
use super::slots::{Number, SLOTS_MAX, Slot, Slots};
use super::{ANSWER_SHARE, Age, Hit, Life, Lookup, Miss, NotStored, Seen, Usage, is_shared};
use crate::answer::Answer;
use crate::key::Key;
use crate::size;
use crate::versions::Moment;

/// The small queue's part of the bytes of all answers, in percent.
const SMALL_PERCENT: usize = 10;
/// An answer in the small queue goes on to the main queue if it was asked for as often.
const ASKED_FOR_MAIN: u32 = 2;
/// Answers get up to this part less than their time to live, so that those stored together do not
/// expire together: 1 in this.
const JITTER_SHARE: u32 = 10;
/// Time to live at most, about 24 days: ages are told apart in 32 bits of milliseconds.
const TTL_MAX_MS: u32 = i32::MAX as u32;
/// What an answer takes besides its bytes, once slots, index and ghost are made anew.
const BESIDES: usize = size_of::<Slot>() + 4 * size_of::<u32>();
/// Slots that one sweep looks at.
const SWEEP_SLOTS: usize = 4096;
/// Evicted answers that are looked at with each one that is stored.
const LINGERING_LOOKS: usize = 4;

#[derive(Debug)]
pub(super) struct Shard {
    budget: usize,
    index: Index,
    slots: Slots,
    small: Queue,
    main: Queue,
    ghost: Ghost,
    /// Evicted answers that clients have still.
    lingering: Vec<Arc<[u8]>>,
    lingering_bytes: usize,
    /// The first of them that the next look is at.
    looked: usize,
    /// The slot at which the next sweep begins.
    swept: usize,
    stored: u64,
    purged: u64,
    evicted: u64,
}

/// Whether an answer that leaves made room for others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaves {
    ForOthers,
    Otherwise,
}

impl Shard {
    pub(super) fn new(budget: usize) -> Self {
        Self {
            budget,
            index: Index::default(),
            slots: Slots::default(),
            small: Queue::new(false),
            main: Queue::new(true),
            ghost: Ghost::default(),
            lingering: Vec::new(),
            lingering_bytes: 0,
            looked: 0,
            swept: 0,
            stored: 0,
            purged: 0,
            evicted: 0,
        }
    }

    #[inline]
    pub(super) fn get(
        &mut self,
        key: Key,
        now_ms: u64,
        life: Life,
        allows: impl FnOnce(Moment) -> bool,
    ) -> Lookup {
        let number = self.find(key).ok_or(Miss::Absent)?;
        let slot = self.slots.get_mut(number).ok_or(Miss::Absent)?;
        let age_ms = low(now_ms).wrapping_sub(slot.stored);
        let age = life.of(age_ms, slot.ttl_ms);
        if age == Age::Over {
            if is_over(slot, age_ms) {
                self.leave(number, Leaves::Otherwise);
            }
            return Err(Miss::Expired);
        }
        if !allows(Moment(slot.moment)) {
            self.leave(number, Leaves::Otherwise);
            return Err(Miss::Invalidated);
        }
        slot.link.set_asked(slot.link.asked() + 1);
        let refresh = age == Age::Soft && slot.link.refresh();
        let bytes = slot.bytes.as_ref().ok_or(Miss::Absent)?;
        Ok(Hit {
            answer: Answer::from_shared(Arc::clone(bytes)),
            age_ms,
            refresh,
            moment: Moment(slot.moment),
            stored: slot.stored,
            ttl_ms: slot.ttl_ms,
        })
    }

    pub(super) fn get_stale(
        &self,
        key: Key,
        now_ms: u64,
        life: Life,
        allows: impl FnOnce(Moment) -> bool,
    ) -> Option<Hit> {
        let slot = self.slots.get(self.find(key)?)?;
        let age_ms = low(now_ms).wrapping_sub(slot.stored);
        let answer = Answer::from_shared(Arc::clone(slot.bytes.as_ref()?));
        let Slot { moment, stored, ttl_ms, .. } = *slot;
        let is_good = life.bears(age_ms, ttl_ms, answer.stale_ms()) && allows(Moment(moment));
        is_good.then_some(Hit { answer, age_ms, refresh: false, moment: Moment(moment), stored, ttl_ms })
    }

    pub(super) fn peek(
        &self,
        key: Key,
        now_ms: u64,
        life: Life,
        allows: impl FnOnce(Moment) -> bool,
    ) -> Result<Seen, Miss> {
        let slot = self.find(key).and_then(|number| self.slots.get(number)).ok_or(Miss::Absent)?;
        let bytes = slot.bytes.as_ref().ok_or(Miss::Absent)?;
        let answer = Answer::from_shared(Arc::clone(bytes));
        let age_ms = low(now_ms).wrapping_sub(slot.stored);
        let (ttl_ms, stale_ms) = (slot.ttl_ms.min(life.ttl_ms), answer.stale_ms().min(life.stale_ms));
        if age_ms >= ttl_ms && !life.bears(age_ms, slot.ttl_ms, stale_ms) {
            return Err(Miss::Expired);
        }
        if !allows(Moment(slot.moment)) {
            return Err(Miss::Invalidated);
        }
        let stale_until_ms = ttl_ms.saturating_add(stale_ms);
        Ok(Seen { age_ms, ttl_ms, stale_until_ms, bytes: answer.packets().len() })
    }

    pub(super) fn put(
        &mut self,
        key: Key,
        answer: Answer,
        now_ms: u64,
        ttl_ms: u32,
        moment: Moment,
    ) -> Result<(), NotStored> {
        let bytes = answer.into_shared();
        let size = size::of_shared(bytes.len());
        if size * ANSWER_SHARE > self.budget {
            return Err(NotStored::TooLarge);
        }
        self.look_at_lingering();
        let before = self.find(key).and_then(|number| self.take(number));
        let is_main = before.as_ref().map_or_else(|| self.ghost.take(key.high), |slot| slot.link.is_main());
        if let Some(bytes) = before.and_then(|slot| slot.bytes) {
            self.linger(bytes);
        }
        self.make_room(size);
        if self.bytes() + size > self.budget {
            return Err(NotStored::NoRoom);
        }
        let ttl_ms = shortened(key, ttl_ms);
        let slot =
            Slot { key, bytes: Some(bytes), moment: moment.0, stored: low(now_ms), ttl_ms, link: Link::NONE };
        let number = self.slots.insert(slot).ok_or(NotStored::NoRoom)?;
        let slots = &self.slots;
        self.index.insert(key.low, number, |number| slots.get(number).map_or(0, |slot| slot.key.low));
        self.ghost.grow(self.index.len() / 2);
        let queue = if is_main { &mut self.main } else { &mut self.small };
        queue.push(&mut self.slots, number, size);
        self.stored += 1;
        // Slots and index may have grown.
        self.make_room(0);
        Ok(())
    }

    pub(super) fn remove(&mut self, key: Key) -> bool {
        self.find(key).is_some_and(|number| self.leave(number, Leaves::Otherwise))
    }

    /// Removes what has expired, among the next slots.
    pub(super) fn sweep(&mut self, now_ms: u64) {
        self.look_at_lingering();
        let now = low(now_ms);
        let is_old = |slot: &Slot| slot.bytes.is_some() && is_over(slot, now.wrapping_sub(slot.stored));
        for place in self.swept..self.swept + SWEEP_SLOTS {
            let number = Number::try_from(place).unwrap_or(Number::MAX);
            match self.slots.get(number) {
                None => {
                    self.swept = 0;
                    return;
                }
                Some(slot) if is_old(slot) => {
                    self.leave(number, Leaves::Otherwise);
                }
                Some(_) => {}
            }
        }
        self.swept += SWEEP_SLOTS;
    }

    pub(super) fn clear(&mut self) -> u64 {
        let numbers: Vec<Number> = self.slots.numbers().collect();
        for number in &numbers {
            self.leave(*number, Leaves::Otherwise);
        }
        self.rebuild();
        numbers.len() as u64
    }

    /// Has another budget. Slots and index become smaller with it.
    pub(super) fn set_budget(&mut self, budget: usize) {
        let is_smaller = budget < self.budget;
        self.budget = budget;
        if !is_smaller {
            return;
        }
        while self.answers() + self.slots.used() * BESIDES > budget && self.evict() {}
        self.rebuild();
        self.make_room(0);
    }

    pub(super) fn usage(&self) -> Usage {
        Usage {
            entries: self.slots.used() as u64,
            bytes: self.bytes() as u64,
            lingering_bytes: self.lingering_bytes as u64,
            stored: self.stored,
            purged: self.purged,
            evicted: self.evicted,
        }
    }

    #[inline]
    fn find(&self, key: Key) -> Option<Number> {
        self.index.find(key.low, |number| self.slots.get(number).is_some_and(|slot| slot.key == key))
    }

    /// Bytes of answers, with those that linger.
    const fn answers(&self) -> usize {
        self.small.bytes + self.main.bytes + self.lingering_bytes
    }

    /// Bytes of everything.
    fn bytes(&self) -> usize {
        let lists = self.lingering.capacity() * size_of::<Arc<[u8]>>();
        self.answers() + self.slots.bytes() + self.index.bytes() + self.ghost.bytes() + lists
    }

    /// Evicts until there is room for `more` bytes and a slot, or nothing is left to be evicted.
    fn make_room(&mut self, more: usize) {
        while (self.bytes() + more > self.budget || self.slots.used() + 1 >= SLOTS_MAX) && self.evict() {}
    }

    /// Evicts one answer. False if there is none.
    fn evict(&mut self) -> bool {
        let all = self.small.bytes + self.main.bytes;
        while self.small.bytes * 100 > all * SMALL_PERCENT || self.main.oldest().is_none() {
            let Some(number) = self.small.oldest() else { break };
            let Some((key, link)) = self.slots.get(number).map(|slot| (slot.key, slot.link)) else { break };
            if link.asked() < ASKED_FOR_MAIN {
                self.ghost.insert(key.high);
                return self.leave(number, Leaves::ForOthers);
            }
            self.go_round(number, 0);
        }
        while let Some(number) = self.main.oldest() {
            let asked = self.slots.get(number).map_or(0, |slot| slot.link.asked());
            if asked == 0 {
                return self.leave(number, Leaves::ForOthers);
            }
            self.go_round(number, asked - 1);
        }
        false
    }

    /// The oldest of a queue becomes the newest of the main queue.
    fn go_round(&mut self, number: Number, asked: u32) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        slot.link.set_asked(asked);
        let (size, is_main) = (taken(slot), slot.link.is_main());
        let queue = if is_main { &mut self.main } else { &mut self.small };
        queue.unlink(&mut self.slots, number, size);
        self.main.push(&mut self.slots, number, size);
    }

    /// Takes an answer out of everything. Returns whether there was one.
    fn leave(&mut self, number: Number, why: Leaves) -> bool {
        let Some(bytes) = self.take(number).and_then(|slot| slot.bytes) else { return false };
        self.purged += 1;
        self.evicted += u64::from(why == Leaves::ForOthers);
        self.linger(bytes);
        true
    }

    fn take(&mut self, number: Number) -> Option<Slot> {
        let slot = self.slots.get(number)?;
        let (key, size, is_main) = (slot.key, taken(slot), slot.link.is_main());
        let slots = &self.slots;
        self.index.remove(key.low, number, |number| slots.get(number).map_or(0, |slot| slot.key.low));
        let queue = if is_main { &mut self.main } else { &mut self.small };
        queue.unlink(&mut self.slots, number, size);
        self.slots.remove(number)
    }

    /// An answer that has left is counted for as long as a client has it.
    fn linger(&mut self, bytes: Arc<[u8]>) {
        if is_shared(&bytes) {
            self.lingering_bytes += size::of_shared(bytes.len());
            self.lingering.push(bytes);
        }
    }

    /// Frees some of the answers that no client has any more.
    fn look_at_lingering(&mut self) {
        for _ in 0..LINGERING_LOOKS {
            match self.lingering.get(self.looked) {
                None => self.looked = 0,
                Some(bytes) if is_shared(bytes) => self.looked += 1,
                Some(bytes) => {
                    self.lingering_bytes -= size::of_shared(bytes.len());
                    self.lingering.swap_remove(self.looked);
                }
            }
        }
    }

    /// Makes slots, index and ghost anew, as large as what there is needs.
    fn rebuild(&mut self) {
        let mut old = std::mem::take(&mut self.slots);
        self.index = Index::default();
        self.ghost = Ghost::default();
        for is_main in [false, true] {
            let queue = if is_main { &mut self.main } else { &mut self.small };
            let mut from = std::mem::replace(queue, Queue::new(is_main));
            while let Some(number) = from.oldest() {
                let size = old.get(number).map_or(0, taken);
                from.unlink(&mut old, number, size);
                let Some(slot) = old.remove(number) else { break };
                let (key, asked) = (slot.key, slot.link.asked());
                let slot = Slot { link: Link::NONE, ..slot };
                let Some(number) = self.slots.insert(slot) else { break };
                let slots = &self.slots;
                self.index.insert(key.low, number, |number| slots.get(number).map_or(0, |slot| slot.key.low));
                let queue = if is_main { &mut self.main } else { &mut self.small };
                queue.push(&mut self.slots, number, size);
                if let Some(slot) = self.slots.get_mut(number) {
                    slot.link.set_asked(asked);
                }
            }
        }
        self.ghost.grow(self.index.len() / 2);
        self.lingering.shrink_to_fit();
    }

    #[cfg(test)]
    pub(super) fn check_invariants(&self) {
        let mut seen = 0;
        for queue in [&self.small, &self.main] {
            let numbers = queue.numbers(&self.slots);
            let sizes = numbers.iter().map(|number| self.slots.get(*number).map_or(0, taken));
            assert_eq!(sizes.sum::<usize>(), queue.bytes, "bytes of a queue");
            for number in &numbers {
                let slot = self.slots.get(*number).expect("a slot in a queue");
                assert_eq!(self.find(slot.key), Some(*number), "a slot in a queue is in the index");
            }
            seen += numbers.len();
        }
        assert_eq!(seen, self.slots.used(), "each answer is in one queue");
        assert_eq!(self.slots.numbers().count(), seen);
        let lingering = self.lingering.iter().map(|bytes| size::of_shared(bytes.len())).sum::<usize>();
        assert_eq!(lingering, self.lingering_bytes);
    }
}

/// Whether an answer of this age is of no use any more, also if no server answers.
fn is_over(slot: &Slot, age_ms: u32) -> bool {
    // The answer's bytes are seldom looked at.
    age_ms >= slot.ttl_ms && {
        let stale_ms = slot.bytes.as_ref().map(|bytes| Answer::from_shared(Arc::clone(bytes)).stale_ms());
        age_ms >= slot.ttl_ms.saturating_add(stale_ms.unwrap_or_default()).min(TTL_MAX_MS)
    }
}

/// Bytes that the allocator takes for the answer of a slot.
fn taken(slot: &Slot) -> usize {
    slot.bytes.as_ref().map_or(0, |bytes| size::of_shared(bytes.len()))
}

/// The time to live of the answer for a key: up to a tenth less than it may be.
const fn shortened(key: Key, ttl_ms: u32) -> u32 {
    let ttl_ms = if ttl_ms > TTL_MAX_MS { TTL_MAX_MS } else { ttl_ms };
    let most = ttl_ms / JITTER_SHARE;
    ttl_ms - ((most as u64 * (key.high >> 32)) >> 32) as u32
}

/// The low bits of a time. Ages are differences, so wrapping does not matter.
#[expect(clippy::cast_possible_truncation, reason = "the low bits are wanted")]
const fn low(now_ms: u64) -> u32 {
    now_ms as u32
}
