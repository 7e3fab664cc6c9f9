//! Long work on many rows, done in turns with whoever waits for the processor.
//!
//! A large configuration is judged and applied by a thread that should disturb nobody. A scheduler lets who runs go on for
//! milliseconds, whatever its nice value, and a thread that serves clients has to answer before that: so the long work has to
//! stop by itself.

/// Rows between two moments in which other threads may have the processor: some tens of microseconds.
const ROWS: usize = 32;

/// `rows`, with such a moment every now and then.
pub fn in_turns<I: IntoIterator>(rows: I) -> impl Iterator<Item = I::Item> {
    let mut turns = Turns::default();
    rows.into_iter().inspect(move |_| turns.row())
}

/// Whether both are the same, row by row.
pub fn same_in_turns<T: PartialEq>(left: &[T], right: &[T]) -> bool {
    left.len() == right.len() && in_turns(left.iter().zip(right)).all(|(left, right)| left == right)
}

/// Counts rows for work that is no iterator.
#[derive(Debug, Default)]
pub struct Turns {
    rows: usize,
}

impl Turns {
    /// One more row comes: every now and then other threads may have the processor first.
    pub fn row(&mut self) {
        self.rows += 1;
        if self.rows == ROWS {
            self.rows = 0;
            std::thread::yield_now();
        }
    }
}
