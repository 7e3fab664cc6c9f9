//! Whether a server has begun its log anew, with `RESET`.
//!
//! The new log may end where the old one did: then neither the end nor GTIDs tell the two apart,
//! and MySQL keeps the stream of the old one open. So the server is asked how often it has run
//! `RESET`, unless the end was asked for just before.

/// `RESET` and writing as many bytes again take longer than this, in microseconds: files are
/// deleted, created and synced.
const RESET_US: u64 = 10_000;

/// The statement that asks how often `RESET` was run.
pub(super) const QUESTION: &str = "SHOW GLOBAL STATUS LIKE 'Com_reset'";

/// What is known of `RESET` at a server.
#[derive(Debug, Default)]
pub(super) struct Resets {
    /// When the end of the log was asked for last, in microseconds.
    asked_us: u64,
    /// How often the server has run `RESET`; nothing if it was not asked yet.
    count: Option<u64>,
}

impl Resets {
    /// The end of the log was asked for at `asked_us`, and the answer came at `now_us`. Whether the
    /// server has to be asked as well whether that is the same log.
    pub(super) const fn note_end(&mut self, asked_us: u64, now_us: u64) -> bool {
        let before_us = self.asked_us;
        self.asked_us = asked_us;
        self.count.is_none() || now_us.saturating_sub(before_us) >= RESET_US
    }

    /// The server has run `RESET` so often. Whether that is as often as before.
    pub(super) fn note_count(&mut self, count: u64) -> bool {
        *self.count.get_or_insert(count) == count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c20_a_server_is_asked_for_resets_where_there_was_time_for_one() {
        let mut resets = Resets::default();
        assert!(resets.note_end(5_000, 5_100), "nothing is known yet");
        assert!(resets.note_count(7));
        assert!(!resets.note_end(6_000, 6_100));
        assert!(!resets.note_end(15_000, 15_100));
        assert!(resets.note_end(16_000, 25_000), "the answer took long");
        assert!(resets.note_count(7));
        assert!(resets.note_end(30_000, 30_100));
        assert!(!resets.note_count(8), "it was reset");
    }
}
