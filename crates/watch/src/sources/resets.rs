//! Whether a server has begun its log anew, with `RESET`.
//!
//! The new log may end where the old one did: then neither the end nor GTIDs tell the two apart,
//! and MySQL keeps the stream of the old one open. So the server is asked how often it has run
//! `RESET`, unless it was asked for that just before.

/// `RESET` and writing as many bytes again take longer than this, in microseconds: files are
/// deleted, created and synced.
const RESET_US: u64 = 10_000;

/// The statement that asks how often `RESET` was run.
pub(super) const QUESTION: &str = "SHOW GLOBAL STATUS LIKE 'Com_reset'";

/// What is known of `RESET` at a server.
#[derive(Debug, Default)]
pub(super) struct Resets {
    /// How often the server has run `RESET`, and when it was asked last, in microseconds; nothing
    /// if it was not asked yet.
    counted: Option<(u64, u64)>,
}

impl Resets {
    /// The server has told the end of the log at `now_us`. Whether it has to be asked as well
    /// whether that is the same log.
    pub(super) fn is_due(&self, now_us: u64) -> bool {
        self.counted.is_none_or(|(_, asked_us)| now_us.saturating_sub(asked_us) >= RESET_US)
    }

    /// The server was asked at `asked_us`, and has run `RESET` so often. Whether that is as often
    /// as before.
    pub(super) fn note_count(&mut self, count: u64, asked_us: u64) -> bool {
        let before = self.counted.map_or(count, |(before, _)| before);
        self.counted = Some((before, asked_us));
        before == count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c20_a_server_is_asked_for_resets_where_there_was_time_for_one() {
        let mut resets = Resets::default();
        assert!(resets.is_due(5_100), "nothing is known yet");
        assert!(resets.note_count(7, 5_200));
        assert!(!resets.is_due(6_100) && !resets.is_due(15_100));
        assert!(resets.is_due(15_200), "also where the end was asked for meanwhile");
        assert!(resets.note_count(7, 15_300));
        assert!(!resets.is_due(25_200) && resets.is_due(30_100));
        assert!(!resets.note_count(8, 30_200), "it was reset");
        assert!(!resets.note_count(8, 30_300), "it still was");
    }
}
