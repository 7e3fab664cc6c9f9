//! History of statements that may be sent in a [batch](super::batch): those that were fast lately.
//!
//! A worker remembers of some hundreds of digests how often in a row a statement was fast. Only
//! statements that have waited for a connection count, as no others are batched.

use std::cell::{Cell, RefCell};
use std::time::Duration;

/// Digests that are remembered. Of two that would have the same place the one has it that comes
/// more often.
const PLACES: usize = 512;

/// How often a statement has to have been fast.
const RUNS_MIN: u8 = 8;

/// Time from sending a statement, or from the end of the reply before, to the end of its reply. Up
/// to this time a statement is always fast.
const TIME_MIN: Duration = Duration::from_millis(5);

/// Above this time a statement is never fast. From `TIME_MIN` up to it, the limit scales with the
/// average: where a busy server is slow, no session gets ahead by waiting for another connection.
const TIME_MAX: Duration = Duration::from_millis(50);

/// A statement is fast up to this many times the average.
const TIMES_USUAL: u32 = 4;

/// By what part of the difference one statement changes what is usual.
const SMOOTHING: u32 = 16;

/// Bytes of its answer: servers send so much in one go, and sockets of clients take it.
const BYTES_MAX: usize = 8 * 1024;

const _: () = assert!(PLACES.is_power_of_two(), "places are the lower bits of digests");

/// How a statement went.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// From the command to the end of its reply.
    pub time: Duration,
    /// Of its answer.
    pub bytes: usize,
    /// It has ended with an error, or with warnings.
    pub is_marred: bool,
}

/// What a worker knows of the digests of statements.
#[derive(Debug, Default)]
pub struct BatchHistory {
    /// Digests, and how often in a row a statement of each was fast.
    places: RefCell<Box<[(u64, u8)]>>,
    /// How long statements take.
    usual: Cell<Duration>,
}

impl BatchHistory {
    /// Takes note of how a statement of this digest went.
    pub fn note(&self, digest: u64, run: Run) {
        let longest = (self.usual.get() * TIMES_USUAL).clamp(TIME_MIN, TIME_MAX);
        self.note_time(run.time);
        let mut places = self.places.borrow_mut();
        if places.is_empty() {
            *places = vec![(0, 0); PLACES].into();
        }
        let Some((owner, runs)) = places.get_mut(place(digest)) else { return };
        let is_fast = !run.is_marred && run.time <= longest && run.bytes <= BYTES_MAX;
        if *owner != digest {
            *runs = runs.saturating_sub(1);
            if *runs > 0 {
                return;
            }
            *owner = digest;
        }
        *runs = if is_fast { runs.saturating_add(1) } else { 0 };
    }

    fn note_time(&self, time: Duration) {
        let (usual, time) = (self.usual.get(), time.min(TIME_MAX));
        self.usual.set(usual.saturating_sub(usual / SMOOTHING) + time / SMOOTHING);
    }

    /// Whether statements of this digest are done in no time.
    pub fn is_known(&self, digest: u64) -> bool {
        let places = self.places.borrow();
        places.get(place(digest)).is_some_and(|(owner, runs)| *owner == digest && *runs >= RUNS_MIN)
    }
}

fn place(digest: u64) -> usize {
    usize::try_from(digest & (PLACES as u64 - 1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: Run = Run { time: Duration::from_micros(300), bytes: 200, is_marred: false };

    #[test]
    fn what_is_always_done_at_once_is_known() {
        let history = BatchHistory::default();
        assert!(!history.is_known(7));
        for _ in 1..RUNS_MIN {
            history.note(7, GOOD);
        }
        assert!(!history.is_known(7));
        history.note(7, GOOD);
        assert!(history.is_known(7) && !history.is_known(8));
    }

    #[test]
    fn one_exception_counts_more_than_all_the_rest() {
        let exceptions = [
            Run { time: TIME_MIN + Duration::from_nanos(1), ..GOOD },
            Run { bytes: BYTES_MAX + 1, ..GOOD },
            Run { is_marred: true, ..GOOD },
        ];
        for exception in exceptions {
            let history = BatchHistory::default();
            (0..1_000).for_each(|_| history.note(7, GOOD));
            history.note(7, exception);
            assert!(!history.is_known(7), "{exception:?}");
            (0..RUNS_MIN).for_each(|_| history.note(7, GOOD));
            assert!(history.is_known(7), "it is forgiven");
        }
    }

    #[test]
    fn where_all_take_long_none_is_late() {
        let history = BatchHistory::default();
        let slow = |ms| Run { time: Duration::from_millis(ms), ..GOOD };
        (0..100).for_each(|_| history.note(7, slow(20)));
        assert!(history.is_known(7));
        history.note(7, slow(50));
        assert!(history.is_known(7));
        history.note(7, slow(51));
        assert!(!history.is_known(7), "but that is too long for everybody");
        (0..1_000).for_each(|_| history.note(7, slow(200)));
        assert!(!history.is_known(7));
    }

    #[test]
    fn two_in_one_place_are_not_mixed_up() {
        let history = BatchHistory::default();
        let (one, other) = (7, 7 + PLACES as u64);
        (0..RUNS_MIN).for_each(|_| history.note(one, GOOD));
        assert!(!history.is_known(other));
        history.note(other, GOOD);
        assert!(!history.is_known(one) && !history.is_known(other));
        (0..2 * RUNS_MIN).for_each(|_| history.note(other, GOOD));
        assert!(!history.is_known(one) && history.is_known(other));
        (0..100).for_each(|_| history.note(other, GOOD));
        history.note(one, Run { is_marred: true, ..GOOD });
        assert!(history.is_known(other), "who comes seldom does not matter");
    }
}
