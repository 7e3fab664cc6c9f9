//! The numbers that a seed stands for.

use std::cell::Cell;
use std::time::Duration;

/// A generator (`SplitMix64`) that everything in a simulation draws from.
#[derive(Debug)]
pub(super) struct Dice(Cell<u64>);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    fn roll(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&self, bound: u64) -> u64 {
        self.roll() % bound
    }

    /// The same for lengths and places.
    pub(super) fn place(&self, bound: usize) -> usize {
        let below = self.below(bound.try_into().unwrap_or(u64::MAX));
        usize::try_from(below).unwrap_or(usize::MAX)
    }

    /// True once in `n` times.
    pub(super) fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub(super) fn pick<'a, T>(&self, all: &'a [T]) -> &'a T {
        &all[self.place(all.len())]
    }

    /// A time below `ms` milliseconds.
    pub(super) fn pause(&self, ms: u64) -> Duration {
        Duration::from_millis(self.below(ms))
    }
}
