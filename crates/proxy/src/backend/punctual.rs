//! Which statements are done in no time.
//!
//! Those may go out [together](super::train). A worker remembers of some hundreds of digests how often in a row one was done like that; only what
//! has waited for a connection is looked at, as nothing else would go out together.

use std::cell::RefCell;
use std::time::Duration;

/// Digests that are remembered. Two that would have the same place take turns with it, and neither is ever known for long.
const PLACES: usize = 512;

/// How often a statement has to have been punctual.
const RUNS_MIN: u8 = 8;

/// Time from sending it to the end of its answer.
const TIME_MAX: Duration = Duration::from_millis(5);

/// Bytes of its answer: servers send so much in one go, and sockets of clients take it.
const BYTES_MAX: usize = 8 * 1024;

const _: () = assert!(PLACES.is_power_of_two(), "places are the lower bits of digests");

/// How a statement went.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) time: Duration,
    /// Of its answer.
    pub(crate) bytes: usize,
    /// It has ended with an error, or with warnings.
    pub(crate) is_marred: bool,
}

/// What a worker knows of the digests of statements.
#[derive(Debug, Default)]
pub(crate) struct Punctual(RefCell<Box<[(u64, u8)]>>);

impl Punctual {
    /// Takes note of how a statement of this digest went.
    pub(crate) fn note(&self, digest: u64, run: Run) {
        let mut places = self.0.borrow_mut();
        if places.is_empty() {
            *places = vec![(0, 0); PLACES].into();
        }
        let Some((owner, runs)) = places.get_mut(place(digest)) else { return };
        let is_punctual = !run.is_marred && run.time <= TIME_MAX && run.bytes <= BYTES_MAX;
        if *owner != digest || !is_punctual {
            (*owner, *runs) = (digest, 0);
        }
        *runs = runs.saturating_add(u8::from(is_punctual));
    }

    /// Whether statements of this digest are done in no time.
    pub(crate) fn is_known(&self, digest: u64) -> bool {
        let places = self.0.borrow();
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
        let punctual = Punctual::default();
        assert!(!punctual.is_known(7));
        for _ in 1..RUNS_MIN {
            punctual.note(7, GOOD);
        }
        assert!(!punctual.is_known(7));
        punctual.note(7, GOOD);
        assert!(punctual.is_known(7) && !punctual.is_known(8));
    }

    #[test]
    fn one_exception_counts_more_than_all_the_rest() {
        let exceptions = [
            Run { time: TIME_MAX + Duration::from_nanos(1), ..GOOD },
            Run { bytes: BYTES_MAX + 1, ..GOOD },
            Run { is_marred: true, ..GOOD },
        ];
        for exception in exceptions {
            let punctual = Punctual::default();
            (0..1_000).for_each(|_| punctual.note(7, GOOD));
            punctual.note(7, exception);
            assert!(!punctual.is_known(7), "{exception:?}");
            (0..RUNS_MIN).for_each(|_| punctual.note(7, GOOD));
            assert!(punctual.is_known(7), "it is forgiven");
        }
    }

    #[test]
    fn two_in_one_place_are_not_mixed_up() {
        let punctual = Punctual::default();
        let (one, other) = (7, 7 + PLACES as u64);
        (0..RUNS_MIN).for_each(|_| punctual.note(one, GOOD));
        assert!(!punctual.is_known(other));
        punctual.note(other, GOOD);
        assert!(!punctual.is_known(one) && !punctual.is_known(other));
    }
}
