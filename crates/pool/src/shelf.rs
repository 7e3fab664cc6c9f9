//! Idle list by key: an owner that puts a thing there can have it back, unless another owner has
//! taken it meanwhile.
//!
//! [`Shelf::put`] gives a [`Ticket`]. [`Shelf::take`] gives back what belongs to it, if it is still
//! there, without a search. [`Shelf::newest`] looks among those with the same key, the newest
//! first: few things that are used all the time are better than many that are used now and
//! then. A thing that comes back says in which list it was, so that no key has to be hashed for it.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

/// Says that there is no slot.
const NONE: u32 = u32::MAX;

/// Idle things, in lists by key.
#[derive(Debug)]
pub struct Shelf<K, T, S = RandomState> {
    slots: Vec<Slot<T>>,
    /// The first slot without a thing.
    free: u32,
    lists: Vec<List<K>>,
    /// Which of the lists is that of a key.
    by_key: HashMap<K, u32, S>,
    len: usize,
}

/// Where the list of a key begins and ends. An empty one stays until [`Shelf::forget_empty`].
#[derive(Debug)]
struct List<K> {
    key: K,
    newest: u32,
    oldest: u32,
}

#[derive(Debug)]
struct Slot<T> {
    /// How often it was used: a ticket of another time is not valid.
    times: u32,
    content: Content<T>,
}

#[derive(Debug)]
enum Content<T> {
    Free { next: u32 },
    Used { list: u32, newer: u32, older: u32, thing: T },
}

/// The list of a key.
#[derive(Debug, Clone, Copy)]
pub struct ListId(u32);

/// The list in which a thing was last. It may be wrong: the keys of lists are compared.
#[derive(Debug, Clone)]
pub struct Hint(Cell<u32>);

impl Default for Hint {
    fn default() -> Self {
        Self(Cell::new(NONE))
    }
}

/// The right to have a thing back from the shelf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    slot: u32,
    times: u32,
}

impl<K, T, S: Default> Default for Shelf<K, T, S> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NONE, lists: Vec::new(), by_key: HashMap::default(), len: 0 }
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

    /// The list of a key. If it is the one of the `hint`, as it is when a thing comes back with the
    /// same key, nothing is hashed.
    pub fn list_of(&mut self, key: K, hint: &Hint) -> ListId {
        let hinted = hint.0.get();
        if self.lists.get(hinted as usize).is_some_and(|list| list.key == key) {
            return ListId(hinted);
        }
        let next = u32::try_from(self.lists.len()).unwrap_or(NONE);
        let list = *self.by_key.entry(key).or_insert(next);
        if list == next {
            self.lists.push(List { key, newest: NONE, oldest: NONE });
        }
        hint.0.set(list);
        ListId(list)
    }

    /// Puts a thing on the shelf; it is the newest of its key, whose list was
    /// [asked for](Self::list_of) just now.
    pub fn put(&mut self, list: ListId, thing: T) -> Ticket {
        let at = if self.free == NONE { self.slots.len() } else { self.free as usize };
        // There are never as many connections as that.
        let slot = u32::try_from(at).unwrap_or(NONE);
        let older = self.lists.get_mut(list.0 as usize).map_or(NONE, |list| {
            if list.oldest == NONE {
                list.oldest = slot;
            }
            std::mem::replace(&mut list.newest, slot)
        });
        let content = Content::Used { list: list.0, newer: NONE, older, thing };
        match self.slots.get_mut(at) {
            Some(place) => {
                if let Content::Free { next } = place.content {
                    self.free = next;
                }
                place.content = content;
            }
            None => self.slots.push(Slot { times: 0, content }),
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
        let Content::Used { list, newer, older, thing } = content else { return None };
        if let Some(Content::Used { older: its, .. }) = self.content_mut(newer) {
            *its = older;
        }
        if let Some(Content::Used { newer: its, .. }) = self.content_mut(older) {
            *its = newer;
        }
        if let Some(list) = self.lists.get_mut(list as usize) {
            if newer == NONE {
                list.newest = older;
            }
            if older == NONE {
                list.oldest = newer;
            }
        }
        self.len -= 1;
        Some(thing)
    }

    /// The newest thing with this key for which `is_good` is true.
    pub fn newest(&self, key: K, mut is_good: impl FnMut(&T) -> bool) -> Option<Ticket> {
        let mut at = self.lists.get(*self.by_key.get(&key)? as usize)?.newest;
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

    /// Forgets keys of which there is nothing. A thing that comes back with one begins a new list.
    pub fn forget_empty(&mut self) {
        if self.is_empty() {
            self.lists.clear();
            self.by_key.clear();
            return;
        }
        let mut at = 0;
        while let Some(List { key, newest, .. }) = self.lists.get(at) {
            if *newest != NONE {
                at += 1;
                continue;
            }
            self.by_key.remove(key);
            self.lists.swap_remove(at);
            self.renumber(at);
        }
    }

    /// Tells the things of a list, and its key, where it is now.
    fn renumber(&mut self, at: usize) {
        let Some(List { key, newest, .. }) = self.lists.get(at) else { return };
        let (number, mut slot) = (u32::try_from(at).unwrap_or(NONE), *newest);
        self.by_key.insert(*key, number);
        while let Some(Content::Used { list, older, .. }) = self.content_mut(slot) {
            (*list, slot) = (number, *older);
        }
    }

    fn content_mut(&mut self, slot: u32) -> Option<&mut Content<T>> {
        self.slots.get_mut(slot as usize).map(|slot| &mut slot.content)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn put<K: Copy + Eq + Hash, T>(shelf: &mut Shelf<K, T>, key: K, hint: &Hint, thing: T) -> Ticket {
        let list = shelf.list_of(key, hint);
        shelf.put(list, thing)
    }

    #[test]
    fn a_ticket_takes_its_thing_back_once() {
        let mut shelf: Shelf<_, _> = Shelf::default();
        let (one, two) =
            (put(&mut shelf, 'a', &Hint::default(), 1), put(&mut shelf, 'a', &Hint::default(), 2));
        assert_eq!((shelf.take(one), shelf.take(one), shelf.len()), (Some(1), None, 1));
        let three = put(&mut shelf, 'b', &Hint::default(), 3);
        assert_eq!(shelf.take(one), None, "its slot belongs to another one now");
        assert_eq!((shelf.take(two), shelf.take(three), shelf.is_empty()), (Some(2), Some(3), true));
    }

    #[test]
    fn the_newest_that_is_good_is_found() {
        let mut shelf: Shelf<_, _> = Shelf::default();
        for thing in 1..=5 {
            put(&mut shelf, thing % 2, &Hint::default(), thing);
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
        fn it_is_a_list_in_order(steps in proptest::collection::vec((0..5u8, 0..4u8, 0..8usize), 0..200)) {
            let mut shelf: Shelf<_, _> = Shelf::default();
            let mut model: Vec<(Ticket, u8, usize)> = Vec::new();
            // Right, wrong, of a list that is gone.
            let hints: [Hint; 2] = Default::default();
            for (number, (what, key, place)) in steps.into_iter().enumerate() {
                match what {
                    0 | 1 => model.push((put(&mut shelf, key, &hints[place % 2], number), key, number)),
                    3 => shelf.forget_empty(),
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
