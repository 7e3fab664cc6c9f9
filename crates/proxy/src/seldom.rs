//! Messages that anybody on the network can cause: enough to see that it happens, too few to fill a
//! disk.

use std::cell::Cell;

use tokio::time::Instant;

use crate::limits::SELDOM;

/// Admits one message per [`SELDOM`], and counts the others.
#[derive(Debug, Default)]
pub(crate) struct Seldom {
    last: Cell<Option<Instant>>,
    hidden: Cell<u32>,
}

/// What a worker's sessions log of things that anybody can cause, each bounded on its own.
#[derive(Debug, Default)]
pub(crate) struct Logged {
    /// Connections that should begin with a PROXY header and do not.
    pub(crate) bad_headers: Seldom,
    /// Statements that have failed (`mysql-verbose_query_error`).
    pub(crate) failed: Seldom,
    /// Connections that nobody uses and whose servers say something
    /// (`mysql-log_unhealthy_connections`).
    pub(crate) unhealthy: Seldom,
    /// Statements with warnings (`mysql-log_mysql_warnings_enabled`).
    pub(crate) warned: Seldom,
    /// Statements that the firewall would refuse.
    pub(crate) detected: Seldom,
    /// Statements that the firewall has refused.
    pub(crate) refused: Seldom,
    /// Statements that look like injected SQL.
    pub(crate) injected: Seldom,
    /// Statements that nobody could look at for that.
    pub(crate) unjudged: Seldom,
}

impl Seldom {
    /// Whether a message may be logged at `now`; if so, how many were not since the last one.
    pub(crate) fn admit(&self, now: Instant) -> Option<u32> {
        if self.last.get().is_some_and(|last| now.duration_since(last) < SELDOM) {
            self.hidden.set(self.hidden.get().saturating_add(1));
            return None;
        }
        self.last.set(Some(now));
        Some(self.hidden.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_seldom_and_counted() {
        let (seldom, start) = (Seldom::default(), Instant::now());
        assert_eq!(seldom.admit(start), Some(0));
        assert_eq!(seldom.admit(start), None);
        assert_eq!(seldom.admit(start + SELDOM / 2), None);
        assert_eq!(seldom.admit(start + SELDOM), Some(2));
        assert_eq!(seldom.admit(start + SELDOM * 2), Some(0));
    }
}
