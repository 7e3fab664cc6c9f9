//! How often each rule matched, counted by one worker and read by others.

use std::sync::atomic::{AtomicU64, Ordering};

/// The counts of one worker, by the rules' places.
#[derive(Debug, Default)]
pub struct Hits {
    matches: Box<[AtomicU64]>,
    exhausted: AtomicU64,
}

impl Hits {
    pub(crate) fn new(rules: usize) -> Self {
        Self { matches: (0..rules).map(|_| AtomicU64::new(0)).collect(), exhausted: AtomicU64::new(0) }
    }

    /// Matches of each rule since the rules were loaded.
    pub fn matches(&self) -> impl Iterator<Item = u64> {
        self.matches.iter().map(|count| count.load(Ordering::Relaxed))
    }

    /// How often an expression took more steps than it may. What a verdict that is remembered
    /// needed counts once.
    pub fn exhausted(&self) -> u64 {
        self.exhausted.load(Ordering::Relaxed)
    }

    /// These rules have matched.
    pub fn count(&self, matched: &[u32]) {
        for place in matched {
            if let Some(count) = usize::try_from(*place).ok().and_then(|place| self.matches.get(place)) {
                add(count, 1);
            }
        }
    }

    pub(crate) fn count_exhausted(&self, number: u64) {
        if number > 0 {
            add(&self.exhausted, number);
        }
    }
}

/// Only one thread writes: no locked instruction is needed.
fn add(count: &AtomicU64, number: u64) {
    count.store(count.load(Ordering::Relaxed).wrapping_add(number), Ordering::Relaxed);
}
