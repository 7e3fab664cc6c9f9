//! What a server gives sessions at their beginning, as far as kept answers depend on it.
//!
//! With `READ UNCOMMITTED` an answer has rows that may be rolled back. With `sql_auto_is_null` the
//! condition `a IS NULL` asks for the row that the session has inserted last.

use tokio::time::Instant;

use crate::limits::QUIET_LOGINS;

/// Asks MariaDB whether both defaults, and both settings of the session, let answers be kept.
const OF_MARIADB: &str = "SELECT @@SESSION.tx_isolation <> 'READ-UNCOMMITTED' \
     AND @@GLOBAL.tx_isolation <> 'READ-UNCOMMITTED' \
     AND NOT @@SESSION.sql_auto_is_null AND NOT @@GLOBAL.sql_auto_is_null";

/// The same for MySQL.
const OF_MYSQL: &str = "SELECT @@SESSION.transaction_isolation <> 'READ-UNCOMMITTED' \
     AND @@GLOBAL.transaction_isolation <> 'READ-UNCOMMITTED' \
     AND NOT @@SESSION.sql_auto_is_null AND NOT @@GLOBAL.sql_auto_is_null";

/// What is known of a connection.
#[derive(Debug, Default, Clone, Copy)]
pub struct Defaults {
    /// When its server was asked, and whether answers over the connection may be kept.
    known: Option<(Instant, bool)>,
    /// The connection was reset since: it has the defaults of that moment.
    was_reset: bool,
}

impl Defaults {
    /// How to ask a server.
    #[must_use]
    pub const fn question(is_mariadb: bool) -> &'static str {
        if is_mariadb { OF_MARIADB } else { OF_MYSQL }
    }

    /// Takes note of the row of the answer; nothing if there is none.
    pub fn note(&mut self, row: Option<&[u8]>, now: Instant) {
        *self = Self { known: Some((now, row == Some(b"\x011"))), was_reset: false };
    }

    /// The connection was reset.
    pub(crate) const fn note_reset(&mut self) {
        self.was_reset = true;
    }

    /// Whether answers over the connection may be kept; nothing if its server has to be asked. What
    /// was known before a reset counts for a while.
    #[must_use]
    pub fn keep_answers(&self, now: Instant) -> Option<bool> {
        let (asked, keep) = self.known?;
        let is_over = self.was_reset && now.saturating_duration_since(asked) >= QUIET_LOGINS;
        (!is_over).then_some(keep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_counts_until_a_while_behind_a_reset() {
        let (mut defaults, now) = (Defaults::default(), Instant::now());
        assert_eq!(defaults.keep_answers(now), None);
        defaults.note(Some(b"\x011"), now);
        assert_eq!(defaults.keep_answers(now + QUIET_LOGINS * 9), Some(true));
        defaults.note_reset();
        assert_eq!(defaults.keep_answers(now + QUIET_LOGINS / 2), Some(true));
        assert_eq!(defaults.keep_answers(now + QUIET_LOGINS), None);
        for row in [Some(&b"\x010"[..]), Some(b"\xfb"), None] {
            defaults.note(row, now);
            assert_eq!(defaults.keep_answers(now), Some(false), "{row:?}");
        }
    }
}
