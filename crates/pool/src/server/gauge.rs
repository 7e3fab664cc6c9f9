//! How many of something there are at a server, such as statements that run, counted without a
//! shared write.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What one thread counts of one server. Written by that thread only, in a cache line of its own;
/// others read it when they choose a server.
#[derive(Debug, Default)]
#[repr(align(64))]
pub struct Gauge(AtomicU32);

impl Gauge {
    /// Counts `n` more. Only the thread that the gauge belongs to may call it.
    pub fn add(&self, n: u32) {
        self.0.store(self.get().wrapping_add(n), Ordering::Relaxed);
    }

    /// Counts `n` less; as [`add`](Self::add).
    pub fn subtract(&self, n: u32) {
        let before = self.get();
        debug_assert!(before >= n, "something has ended that never began");
        self.0.store(before.saturating_sub(n), Ordering::Relaxed);
    }

    fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// All gauges for one thing at one server.
#[derive(Debug, Default)]
pub(crate) struct Gauges(Mutex<Vec<Weak<Gauge>>>);

impl Gauges {
    /// Another one.
    pub(crate) fn add(&self) -> Arc<Gauge> {
        let gauge = Arc::default();
        let mut gauges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gauges.retain(|gauge: &Weak<Gauge>| gauge.strong_count() > 0);
        gauges.push(Arc::downgrade(&gauge));
        gauge
    }

    /// Their sum.
    pub(crate) fn sum(&self) -> u64 {
        let gauges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gauges.iter().filter_map(Weak::upgrade).map(|gauge| u64::from(gauge.get())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauges_add_up_and_are_forgotten_with_their_threads() {
        let gauges = Gauges::default();
        let (one, two) = (gauges.add(), gauges.add());
        one.add(3);
        two.add(1);
        one.subtract(1);
        assert_eq!(gauges.sum(), 3);
        drop(one);
        assert_eq!(gauges.sum(), 1);
        let three = gauges.add();
        three.add(1);
        assert_eq!(gauges.0.lock().unwrap().len(), 2);
        assert_eq!(gauges.sum(), 2);
    }
}
