//! Places of listeners, which count their clients.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// One of a limited number of places, given back on drop.
#[derive(Debug)]
pub(crate) struct Slot(Arc<AtomicU32>);

impl Slot {
    /// A place among `max` counted by `taken`, if there is one left.
    pub(crate) fn take(taken: &Arc<AtomicU32>, max: u32) -> Option<Self> {
        taken
            .try_update(Ordering::AcqRel, Ordering::Acquire, |taken| (taken < max).then_some(taken + 1))
            .is_ok()
            .then(|| Self(Arc::clone(taken)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
