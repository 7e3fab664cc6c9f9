//! When writers write: some at once, and then none until readers have read some more, so that there
//! are hits as well.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// Writes at once.
const WRITES: usize = 2;
/// Reads between them.
const READS: usize = 400;

/// The pace of a round.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Reads until the round is over.
    left: AtomicUsize,
    /// Reads since there were no writes.
    at_rest: AtomicUsize,
    /// Writes that are not over.
    writes: AtomicUsize,
    turns: Semaphore,
}

impl Pace {
    /// A round of so many reads.
    pub(crate) const fn new(reads: usize) -> Self {
        let turns = Semaphore::const_new(0);
        Self {
            left: AtomicUsize::new(reads),
            at_rest: AtomicUsize::new(0),
            writes: AtomicUsize::new(0),
            turns,
        }
    }

    /// Whether there is another read. Lets writers write if it is time to.
    pub(crate) fn may_read(&self) -> bool {
        let has_more = |left: usize| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, has_more).is_err() {
            return false;
        }
        if self.writes.load(Ordering::Acquire) == 0
            && self.at_rest.fetch_add(1, Ordering::Relaxed) + 1 == READS
        {
            self.writes.store(WRITES, Ordering::Release);
            self.turns.add_permits(WRITES);
        }
        true
    }

    /// Waits for the turn to write. False if the round is over.
    pub(crate) async fn may_write(&self) -> bool {
        self.turns.acquire().await.map(SemaphorePermit::forget).is_ok()
    }

    /// A write is over.
    pub(crate) fn end_write(&self) {
        if self.writes.load(Ordering::Acquire) == 1 {
            self.at_rest.store(0, Ordering::Relaxed);
        }
        self.writes.fetch_sub(1, Ordering::AcqRel);
    }

    /// There are no more reads.
    pub(crate) fn stop(&self) {
        self.left.store(0, Ordering::Relaxed);
    }

    /// The round is over: no client writes any more.
    pub(crate) fn end(&self) {
        self.turns.close();
    }
}
