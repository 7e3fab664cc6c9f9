//! Idle list by key: an owner that puts a thing there can have it back, unless another owner has
//! taken it meanwhile.
//!
//! [`Shelf::put`] gives a [`Ticket`]. [`Shelf::take`] gives back what belongs to it, if it is still
//! there, without a search. [`Shelf::newest`] looks among those with the same key, those last laid
//! aside first: few things that are used all the time are better than many that are used now and
//! then.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

/// Says that there is no slot.
const NONE: u32 = u32::MAX;

/// What is laid aside, in lists by key.
#[derive(Debug)]
pub struct Shelf<K, T, S = RandomState> {
    slots: Vec<Slot<K, T>>,
    /// The first slot without a thing.
    free: u32,
    ends: HashMap<K, Ends, S>,
    len: usize,
}

/// Where a list begins and ends.
#[derive(Debug, Clone, Copy)]
struct Ends {
    newest: u32,
    oldest: u32,
}

#[derive(Debug)]
struct Slot<K, T> {
    /// How often it was used: a ticket of another time is not valid.
    times: u32,
    content: Content<K, T>,
}

#[derive(Debug)]
enum Content<K, T> {
    Free { next: u32 },
    Used { key: K, newer: u32, older: u32, thing: T },
}

/// The right to have a thing back that was laid aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    slot: u32,
    times: u32,
}

impl<K, T, S: Default> Default for Shelf<K, T, S> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NONE, ends: HashMap::default(), len: 0 }
    }
}

impl<K: Copy + Eq + Hash, T, S: BuildHasher> Shelf<K, T, S> {
    /// How many things there are.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Lays a thing aside; it is the newest of its key.
    pub fn put(&mut self, key: K, thing: T) -> Ticket {
        let ends = self.ends.entry(key).or_insert(Ends { newest: NONE, oldest: NONE });
        let older = ends.newest;
        let content = Content::Used { key, newer: NONE, older, thing };
        let slot = if self.free == NONE {
            self.slots.push(Slot { times: 0, content });
            // There are never as many connections as that.
            u32::try_from(self.slots.len() - 1).unwrap_or(NONE)
        } else {
            let slot = self.free;
            if let Some(place) = self.slots.get_mut(slot as usize) {
                if let Content::Free { next } = place.content {
                    self.free = next;
                }
                place.content = content;
            }
            slot
        };
        ends.newest = slot;
        if ends.oldest == NONE {
            ends.oldest = slot;
        }
        if let Some(Content::Used { newer, .. }) = self.content_mut(older) {
            *newer = slot;
        }
        self.len += 1;
        Ticket { slot, times: self.slots.get(slot as usize).map_or(0, |slot| slot.times) }
    }

    /// The thing that this ticket was given for, if it is still there.
    pub fn take(&mut self, ticket: Ticket) -> Option<T> {
        let place = self.slots.get_mut(ticket.slot as usize)?;
        if place.times != ticket.times || !matches!(place.content, Content::Used { .. }) {
            return None;
        }
        let content = std::mem::replace(&mut place.content, Content::Free { next: self.free });
        place.times = place.times.wrapping_add(1);
        self.free = ticket.slot;
        let Content::Used { key, newer, older, thing } = content else { return None };
        if let Some(Content::Used { older: its, .. }) = self.content_mut(newer) {
            *its = older;
        }
        if let Some(Content::Used { newer: its, .. }) = self.content_mut(older) {
            *its = newer;
        }
        if let Some(ends) = self.ends.get_mut(&key) {
            if newer == NONE {
                ends.newest = older;
            }
            if older == NONE {
                ends.oldest = newer;
            }
            if ends.newest == NONE {
                self.ends.remove(&key);
            }
        }
        self.len -= 1;
        Some(thing)
    }

    /// The newest thing with this key for which `is_good` is true.
    pub fn newest(&self, key: K, mut is_good: impl FnMut(&T) -> bool) -> Option<Ticket> {
        let mut at = self.ends.get(&key)?.newest;
        while let Some(Slot { times, content: Content::Used { older, thing, .. } }) =
            self.slots.get(at as usize)
        {
            if is_good(thing) {
                return Some(Ticket { slot: at, times: *times });
            }
            at = *older;
        }
        None
    }

    /// All things with their tickets, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (Ticket, &T)> {
        self.slots.iter().zip(0..).filter_map(|(Slot { times, content }, slot)| match content {
            Content::Used { thing, .. } => Some((Ticket { slot, times: *times }, thing)),
            Content::Free { .. } => None,
        })
    }

    /// The thing that this ticket was given for, where it is.
    pub fn get(&self, ticket: Ticket) -> Option<&T> {
        match self.slots.get(ticket.slot as usize)? {
            Slot { times, content: Content::Used { thing, .. } } if *times == ticket.times => Some(thing),
            _ => None,
        }
    }

    /// The thing that this ticket was given for, to be changed where it is.
    pub fn get_mut(&mut self, ticket: Ticket) -> Option<&mut T> {
        match self.slots.get_mut(ticket.slot as usize)? {
            Slot { times, content: Content::Used { thing, .. } } if *times == ticket.times => Some(thing),
            _ => None,
        }
    }

    /// Takes away all things for which `is_over` is true.
    pub fn take_all(&mut self, mut is_over: impl FnMut(&mut T) -> bool) -> Vec<T> {
        let all: Vec<Ticket> = self.iter().map(|(ticket, _)| ticket).collect();
        let over = all.into_iter().filter_map(|ticket| {
            let is_over = is_over(self.get_mut(ticket)?);
            is_over.then(|| self.take(ticket)).flatten()
        });
        over.collect()
    }

    fn content_mut(&mut self, slot: u32) -> Option<&mut Content<K, T>> {
        self.slots.get_mut(slot as usize).map(|slot| &mut slot.content)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_ticket_takes_its_thing_back_once() {
        let mut shelf: Shelf<_, _> = Shelf::default();
        let (one, two) = (shelf.put('a', 1), shelf.put('a', 2));
        assert_eq!((shelf.take(one), shelf.take(one), shelf.len()), (Some(1), None, 1));
        let three = shelf.put('b', 3);
        assert_eq!(shelf.take(one), None, "its slot belongs to another one now");
        assert_eq!((shelf.take(two), shelf.take(three), shelf.is_empty()), (Some(2), Some(3), true));
    }

    #[test]
    fn the_newest_that_is_good_is_found() {
        let mut shelf: Shelf<_, _> = Shelf::default();
        for thing in 1..=5 {
            shelf.put(thing % 2, thing);
        }
        let found = |shelf: &mut Shelf<_, _>, most| {
            let ticket = shelf.newest(1, |thing| *thing <= most)?;
            shelf.take(ticket)
        };
        assert_eq!(found(&mut shelf, 4), Some(3));
        assert_eq!(found(&mut shelf, 9), Some(5));
        assert_eq!(found(&mut shelf, 0), None);
        assert_eq!(found(&mut shelf, 9), Some(1));
        assert_eq!(found(&mut shelf, 9), None);
    }

    proptest! {
        /// Compared with a plain list of what is there.
        #[test]
        fn it_is_a_list_in_order(steps in proptest::collection::vec((0..4u8, 0..3u8, 0..8usize), 0..200)) {
            let mut shelf: Shelf<_, _> = Shelf::default();
            let mut model: Vec<(Ticket, u8, usize)> = Vec::new();
            for (number, (what, key, place)) in steps.into_iter().enumerate() {
                match what {
                    0 | 1 => model.push((shelf.put(key, number), key, number)),
                    2 if !model.is_empty() => {
                        let (ticket, _, thing) = model.remove(place % model.len());
                        prop_assert_eq!(shelf.take(ticket), Some(thing));
                        prop_assert_eq!(shelf.take(ticket), None);
                    }
                    _ => {
                        let newest = shelf.newest(key, |_| true).and_then(|ticket| shelf.take(ticket));
                        let at = model.iter().rposition(|(_, its, _)| *its == key);
                        prop_assert_eq!(newest, at.map(|at| model.remove(at).2));
                    }
                }
                prop_assert_eq!(shelf.len(), model.len());
                prop_assert_eq!(shelf.iter().count(), model.len());
            }
            let mut over = shelf.take_all(|thing| *thing % 2 == 0);
            over.sort_unstable();
            let even: Vec<usize> = model.iter().map(|(.., thing)| *thing).filter(|thing| thing % 2 == 0).collect();
            prop_assert_eq!(over, even);
        }
    }
}
