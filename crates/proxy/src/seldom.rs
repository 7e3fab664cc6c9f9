//! Messages that anybody on the network can cause: enough to see that it happens, too few to fill a disk.

use std::cell::Cell;

use tokio::time::Instant;

use crate::limits::SELDOM;

/// Admits one message per [`SELDOM`], and counts the others.
#[derive(Debug, Default)]
pub(crate) struct Seldom {
    last: Cell<Option<Instant>>,
    hidden: Cell<u32>,
}

impl Seldom {
    /// Whether a message may be logged at `now`; if so, how many were not since the last one.
    pub(crate) fn admit(&self, now: Instant) -> Option<u32> {
        if self.last.get().is_some_and(|last| now.duration_since(last) < SELDOM) {
            self.hidden.set(self.hidden.get().saturating_add(1));
            return None;
        }
        self.last.set(Some(now));
        Some(self.hidden.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_seldom_and_counted() {
        let (seldom, start) = (Seldom::default(), Instant::now());
        assert_eq!(seldom.admit(start), Some(0));
        assert_eq!(seldom.admit(start), None);
        assert_eq!(seldom.admit(start + SELDOM / 2), None);
        assert_eq!(seldom.admit(start + SELDOM), Some(2));
        assert_eq!(seldom.admit(start + SELDOM * 2), Some(0));
    }
}
