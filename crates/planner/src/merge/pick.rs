//! The choice of the next row among the heads of all shards.

use std::cmp::Ordering;

use super::{Key, Order};

/// A k-way merge: one head row for each shard, the smallest goes first.
///
/// The caller keeps the rows. It tells the merge the key of each shard's next row, or that the
/// shard has no more, and asks for the next [`Step`].
///
/// Rows with equal keys come in the order of the shards. A server orders them in no particular way.
#[derive(Debug)]
pub struct Merge {
    order: Order,
    heads: Vec<Head>,
    /// The keys of known heads; others keep their buffers.
    keys: Vec<Key>,
    /// Shards whose head is known, as a binary heap: the smallest head first.
    heap: Vec<usize>,
    /// How many shards have neither a known head nor an end.
    unknown: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Head {
    Unknown,
    Known,
    Ended,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The row of this shard. Its head is unknown from now on.
    Row(usize),
    /// Nothing can be chosen before this shard's head is known.
    Wait(usize),
    /// All shards have ended.
    Over,
}

impl Merge {
    /// A merge of so many shards, none of whose rows are known.
    pub fn new(order: Order, shards: usize) -> Self {
        let keys = (0..shards).map(|_| Key::default()).collect();
        Self {
            order,
            heads: vec![Head::Unknown; shards],
            keys,
            heap: Vec::with_capacity(shards),
            unknown: shards,
        }
    }

    /// The order of the merged rows.
    pub const fn order(&self) -> &Order {
        &self.order
    }

    /// Whether the shard's next row is awaited.
    pub fn wants(&self, shard: usize) -> bool {
        self.heads.get(shard) == Some(&Head::Unknown)
    }

    /// The shard's next row is there: `read` fills in its key. Ignored unless the shard's head is
    /// unknown. An error is that of `read`, and leaves the head unknown.
    pub fn set_head<E>(
        &mut self,
        shard: usize,
        read: impl FnOnce(&mut Key) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(head @ Head::Unknown) = self.heads.get_mut(shard) else { return Ok(()) };
        if let Some(key) = self.keys.get_mut(shard) {
            read(key)?;
        }
        *head = Head::Known;
        self.unknown -= 1;
        self.heap.push(shard);
        self.rise(self.heap.len() - 1);
        Ok(())
    }

    /// The shard has no more rows. Ignored unless the shard's head is unknown.
    pub fn end(&mut self, shard: usize) {
        let Some(head @ Head::Unknown) = self.heads.get_mut(shard) else { return };
        *head = Head::Ended;
        self.unknown -= 1;
    }

    /// Chooses the next row. Without keys any known head will do; with keys all must be known.
    pub fn step(&mut self) -> Step {
        if self.unknown > 0 && (self.heap.is_empty() || !self.order.is_empty()) {
            let awaited = self.heads.iter().position(|head| *head == Head::Unknown);
            return awaited.map_or(Step::Over, Step::Wait);
        }
        let Some(&shard) = self.heap.first() else { return Step::Over };
        if let Some(head) = self.heads.get_mut(shard) {
            *head = Head::Unknown;
        }
        self.unknown += 1;
        // The last one takes the place of the first, and sinks.
        self.heap.swap_remove(0);
        self.sink();
        Step::Row(shard)
    }

    /// The order of two shards' heads.
    fn compare(&self, one: usize, other: usize) -> Ordering {
        let by_key = match (self.keys.get(one), self.keys.get(other)) {
            (Some(one), Some(other)) => self.order.compare(one, other),
            _ => Ordering::Equal,
        };
        by_key.then(one.cmp(&other))
    }

    /// Whether the entry at `child` of the heap belongs above the one at `parent`.
    fn is_above(&self, child: usize, parent: usize) -> bool {
        match (self.heap.get(child), self.heap.get(parent)) {
            (Some(&child), Some(&parent)) => self.compare(child, parent).is_lt(),
            _ => false,
        }
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 && self.is_above(at, (at - 1) / 2) {
            self.heap.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn sink(&mut self) {
        let mut at = 0;
        loop {
            let (left, right) = (2 * at + 1, 2 * at + 2);
            let child = if self.is_above(right, left) { right } else { left };
            if !self.is_above(child, at) {
                return;
            }
            self.heap.swap(child, at);
            at = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::merge::{Direction, Part};

    fn set(merge: &mut Merge, shard: usize, number: i64) {
        let read = |key: &mut Key| {
            *key = Key::of_integers(&[number]);
            Ok::<(), ()>(())
        };
        merge.set_head(shard, read).unwrap();
    }

    /// Merges sorted lists, in the way a caller does: each shard tells its head when it is awaited.
    fn merged(order: Order, mut shards: Vec<VecDeque<i64>>) -> Vec<(usize, i64)> {
        let mut merge = Merge::new(order, shards.len());
        let mut rows = Vec::new();
        loop {
            match merge.step() {
                Step::Over => return rows,
                Step::Row(shard) => rows.push((shard, shards[shard].pop_front().unwrap())),
                Step::Wait(shard) => match shards[shard].front() {
                    Some(&number) => set(&mut merge, shard, number),
                    None => merge.end(shard),
                },
            }
        }
    }

    proptest! {
        #[test]
        fn c22_the_merge_of_sorted_rows_is_sorted(mut shards: Vec<Vec<i64>>, descending: bool) {
            let direction = if descending { Direction::Descending } else { Direction::Ascending };
            for rows in &mut shards {
                rows.sort_unstable();
                if descending { rows.reverse() }
            }
            let order = Order::new(vec![Part { direction, pad: None }]);
            let rows = merged(order, shards.iter().map(|rows| rows.iter().copied().collect()).collect());
            let mut all: Vec<_> = shards.concat();
            all.sort_unstable();
            if descending { all.reverse() }
            prop_assert_eq!(rows.iter().map(|(_, number)| *number).collect::<Vec<_>>(), all);
        }
    }

    #[test]
    fn equal_rows_come_in_the_order_of_the_shards() {
        let order = Order::new(vec![Part::ASCENDING]);
        let rows = merged(order, vec![[1, 1].into(), [1].into(), [0].into()]);
        assert_eq!(rows, [(2, 0), (0, 1), (0, 1), (1, 1)]);
    }

    #[test]
    fn without_keys_a_row_that_is_there_waits_for_no_other_shard() {
        let mut merge = Merge::new(Order::new(Vec::new()), 2);
        assert_eq!(merge.step(), Step::Wait(0));
        set(&mut merge, 1, 0);
        assert_eq!(merge.step(), Step::Row(1));
        assert_eq!(merge.step(), Step::Wait(0));
        merge.end(0);
        assert_eq!(merge.step(), Step::Wait(1));
        merge.end(1);
        assert_eq!(merge.step(), Step::Over);
    }

    #[test]
    fn with_keys_every_head_must_be_known() {
        let mut merge = Merge::new(Order::new(vec![Part::ASCENDING]), 2);
        set(&mut merge, 0, 1);
        assert_eq!(merge.step(), Step::Wait(1));
        set(&mut merge, 1, 0);
        assert_eq!(merge.step(), Step::Row(1));
        assert!(merge.wants(1) && !merge.wants(0));
    }
}
