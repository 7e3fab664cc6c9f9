//! Whether a server has begun its log anew, with `RESET`, or has begun to replicate.
//!
//! The new log may end where the old one did: then neither the end nor GTIDs tell the two apart,
//! and MySQL keeps the stream of the old one open. So the server is asked how often it has run
//! `RESET`, unless it was asked for that just before.
//!
//! What a MariaDB without `log_slave_updates` replicates is not in its log. Replication may begin
//! at any time, and the server is asked for it with the same question.

use super::probe::Kind;
use crate::question::Rows;

/// `RESET` and writing as many bytes again take longer than this, in microseconds: files are
/// deleted, created and synced.
const RESET_US: u64 = 2_000;

/// What is counted: statements that have begun, and threads that apply what is replicated. Where
/// these matter there are none at first, so that the sum stays the same only if all do.
const COUNTED: [&str; 4] = ["Com_reset", "Com_start_slave", "Com_start_all_slaves", "Slaves_running"];

impl Kind {
    /// The statement that asks how often `RESET` was run, and whether replication has begun.
    pub(super) const fn resets(self) -> &'static str {
        match self {
            // It always logs what it replicates, or is not followed.
            Self::MySql { .. } => "SHOW GLOBAL STATUS LIKE 'Com_reset'",
            Self::MariaDb => {
                "SHOW GLOBAL STATUS WHERE Variable_name IN \
                 ('Com_reset', 'Com_start_slave', 'Com_start_all_slaves', 'Slaves_running')"
            }
        }
    }

    /// The count in the answer. It differs once one of these has happened.
    pub(super) fn read_resets(self, rows: &Rows) -> Option<u64> {
        let counted = match self {
            Self::MySql { .. } => COUNTED.get(..1)?,
            Self::MariaDb => &COUNTED,
        };
        let count = |name: &&str| rows.variable(name)?.parse::<u64>().ok();
        counted.iter().try_fold(0, |sum: u64, name| sum.checked_add(count(name)?))
    }
}

/// What is known of `RESET` and replication at a server.
#[derive(Debug, Default)]
pub(super) struct Resets {
    /// The count, and when the server was asked for it last, in microseconds; nothing if it was not
    /// asked yet.
    counted: Option<(u64, u64)>,
}

impl Resets {
    /// The server has told the end of the log at `now_us`. Whether it has to be asked as well
    /// whether that is the same log.
    pub(super) fn is_due(&self, now_us: u64) -> bool {
        self.counted.is_none_or(|(_, asked_us)| now_us.saturating_sub(asked_us) >= RESET_US)
    }

    /// The server was asked at `asked_us`, and has told this count. Whether that is the same as
    /// before.
    pub(super) fn note_count(&mut self, count: u64, asked_us: u64) -> bool {
        let before = self.counted.map_or(count, |(before, _)| before);
        self.counted = Some((before, asked_us));
        before == count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::tests::answer;

    #[test]
    fn c20_a_server_is_asked_for_resets_where_there_was_time_for_one() {
        let mut resets = Resets::default();
        assert!(resets.is_due(5_100), "nothing is known yet");
        assert!(resets.note_count(7, 5_200));
        let later = 5_200 + RESET_US;
        assert!(!resets.is_due(5_300) && !resets.is_due(later - 1));
        assert!(resets.is_due(later), "also where the end was asked for meanwhile");
        assert!(resets.note_count(7, later + 100));
        assert!(!resets.is_due(later + RESET_US) && resets.is_due(later + RESET_US + 100));
        assert!(!resets.note_count(8, later + RESET_US + 200), "it was reset");
        assert!(!resets.note_count(8, later + RESET_US + 300), "it still was");
    }

    #[test]
    fn c20_replication_that_begins_at_a_mariadb_counts() {
        let count = |kind: Kind, values: [&str; 4]| {
            let rows: Vec<_> = std::iter::zip(COUNTED, values).map(|(a, b)| [Some(a), Some(b)]).collect();
            let rows: Vec<_> = rows.iter().map(<[_; 2]>::as_slice).collect();
            kind.read_resets(&answer(&["Variable_name", "Value"], &rows).unwrap())
        };
        assert_eq!(count(Kind::MariaDb, ["3", "2", "1", "0"]), Some(6));
        assert_eq!(count(Kind::MariaDb, ["3", "2", "1", "1"]), Some(7), "its thread was started later");
        assert_eq!(count(Kind::MariaDb, ["3", "2", "1", ""]), None);
        assert_eq!(count(Kind::MariaDb, ["3", "18446744073709551615", "1", "0"]), None);
        assert_eq!(count(Kind::MySql { is_old: false }, ["3", "2", "1", "0"]), Some(3));
    }
}
