//! The numbers that a seed stands for.

use std::cell::RefCell;
use std::time::Duration;

use testkit::load::Random;

/// A generator that everything in a simulation draws from.
#[derive(Debug)]
pub(super) struct Dice(RefCell<Random>);

impl Dice {
    pub(super) const fn new(seed: u64) -> Self {
        Self(RefCell::new(Random::new(seed)))
    }

    /// A number below `bound`, which is not 0.
    pub(super) fn below(&self, bound: u64) -> u64 {
        self.0.borrow_mut().below(bound)
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
