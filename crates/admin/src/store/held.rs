//! Memory that answers to statistics accounts take until their clients have read them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of all such answers. Clones share the count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Held(Arc<AtomicUsize>);

/// The part of one answer. Dropped, it is given back.
#[derive(Debug)]
pub(crate) struct Lease {
    of: Held,
    bytes: usize,
}

impl Held {
    /// How many there are.
    pub(super) fn bytes(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// The part of an answer that has no rows yet.
    pub(crate) fn lease(&self) -> Lease {
        Lease { of: self.clone(), bytes: 0 }
    }
}

impl Lease {
    /// The answer has so many bytes more.
    pub(super) fn grow(&mut self, bytes: usize) {
        self.of.0.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.of.0.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_took_is_given_back() {
        let held = Held::default();
        let (mut one, mut other) = (held.lease(), held.lease());
        one.grow(5);
        one.grow(2);
        other.grow(1);
        assert_eq!(held.bytes(), 8);
        drop(one);
        assert_eq!(held.bytes(), 1);
    }
}
