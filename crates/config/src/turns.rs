//! Long work on many rows, done in turns with the threads that serve clients.
//!
//! A large configuration is judged and applied by a thread that should disturb no client. Neither
//! its low priority nor giving the processor away is enough for that: a core where such a thread
//! runs is never idle, so the scheduler does not bring it what waits at another core. Where the
//! thread sleeps for a moment every now and then, it does. So this is the one place of this crate
//! that looks at a clock.

use std::thread;
use std::time::{Duration, Instant};

/// Rows between two looks at the clock.
const ROWS: u32 = 8;
/// Length of a rest. The kernel adds its timer slack to it: 50 us, unless the thread has said that
/// it wants less.
const REST: Duration = Duration::from_micros(50);
/// Work without a rest. What wakes at the same core waits so long at most, since the scheduler lets
/// a thread that runs finish its slice.
const WORK: Duration = Duration::from_micros(25);
/// The same where rests last longer than they should, because others run meanwhile: then there are
/// fewer of them, or the work would never end.
const WORK_MAX: Duration = Duration::from_micros(300);

/// `rows`, with a rest every now and then.
pub fn in_turns<I: IntoIterator>(rows: I) -> impl Iterator<Item = I::Item> {
    let mut turns = Turns::default();
    rows.into_iter().inspect(move |_| turns.row())
}

/// Whether both are the same, row by row.
pub fn same_in_turns<T: PartialEq>(left: &[T], right: &[T]) -> bool {
    left.len() == right.len() && in_turns(left.iter().zip(right)).all(|(left, right)| left == right)
}

/// Says when work that is no iterator is to rest.
#[derive(Debug)]
pub struct Turns {
    rows: u32,
    /// Since when this thread works, as far as is known.
    since: Instant,
    /// How long it works before its next rest.
    work: Duration,
}

impl Default for Turns {
    /// Work that begins now.
    fn default() -> Self {
        Self { rows: 0, since: Instant::now(), work: WORK }
    }
}

impl Turns {
    /// One more row comes: sleeps for a moment if it is time for a rest. Not for threads that serve
    /// clients.
    pub fn row(&mut self) {
        self.rows += 1;
        if self.rows == ROWS {
            self.rows = 0;
            self.step();
        }
    }

    /// One more step of work that takes some microseconds: the same without counting.
    pub fn step(&mut self) {
        let now = Instant::now();
        if now - self.since >= self.work {
            thread::sleep(REST);
            self.since = Instant::now();
            self.work = (self.since - now).clamp(WORK, WORK_MAX);
        }
    }
}
