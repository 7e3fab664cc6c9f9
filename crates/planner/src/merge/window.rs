//! LIMIT and OFFSET over merged rows.

/// The rows that a client gets of all that a merge yields.
///
/// Shards get `LIMIT offset + limit`, since any of them may have all of the first rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    skip: u64,
    left: u64,
}

/// What becomes of a merged row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The client gets it.
    Sent,
    /// It lies in front of the offset.
    Skipped,
    /// It lies behind the limit, as do all that follow.
    Beyond,
}

impl Window {
    /// All rows.
    pub const ALL: Self = Self { skip: 0, left: u64::MAX };

    /// `LIMIT limit OFFSET offset`, as the statement has it.
    pub const fn new(offset: u64, limit: u64) -> Self {
        Self { skip: offset, left: limit }
    }

    /// How many rows each shard has to send at most: the limit of its statement. None if the client
    /// gets none: a server that sends no rows evaluates no conditions, and has no warnings.
    pub const fn of_a_shard(&self) -> u64 {
        if self.left == 0 { 0 } else { self.skip.saturating_add(self.left) }
    }

    /// `LIMIT` and `OFFSET` as a statement has them; empty if all rows are sent.
    pub fn text(&self) -> String {
        match (self.left, self.skip) {
            (u64::MAX, 0) => String::new(),
            (left, 0) => format!("LIMIT {left}"),
            (left, skip) => format!("LIMIT {left} OFFSET {skip}"),
        }
    }

    /// Whether no row will be sent any more.
    pub const fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Takes one row.
    pub const fn take(&mut self) -> Fate {
        if self.left == 0 {
            return Fate::Beyond;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Fate::Skipped;
        }
        self.left -= 1;
        Fate::Sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(mut window: Window, rows: usize) -> Vec<Fate> {
        (0..rows).map(|_| window.take()).collect()
    }

    #[test]
    fn rows_are_skipped_then_sent_then_beyond() {
        use Fate::{Beyond, Sent, Skipped};
        assert_eq!(fates(Window::new(2, 1), 5), [Skipped, Skipped, Sent, Beyond, Beyond]);
        assert_eq!(fates(Window::new(0, 2), 3), [Sent, Sent, Beyond]);
        assert_eq!(fates(Window::ALL, 2), [Sent, Sent]);
    }

    #[test]
    fn a_limit_of_zero_is_over_at_once() {
        assert!(Window::new(7, 0).is_over());
        assert_eq!(fates(Window::new(7, 0), 1), [Fate::Beyond]);
    }

    #[test]
    fn a_shard_may_have_all_of_the_first_rows() {
        assert_eq!(Window::new(10, 5).of_a_shard(), 15);
        assert_eq!(Window::new(10, u64::MAX).of_a_shard(), u64::MAX);
        assert_eq!(Window::new(10, 0).of_a_shard(), 0);
    }
}
