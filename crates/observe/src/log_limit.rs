//! Messages that anybody on the network can cause: enough to see that it happens, too few to fill a
//! disk.

use std::cell::Cell;

use tokio::time::Instant;

use crate::limits::LOG_INTERVAL;

/// Admits one message per [`LOG_INTERVAL`], and counts the others.
#[derive(Debug, Default)]
pub struct LogLimit {
    last: Cell<Option<Instant>>,
    hidden: Cell<u32>,
}

/// What a worker's sessions log of things that anybody can cause, each bounded on its own.
#[derive(Debug, Default)]
pub struct Logged {
    /// Statements that have failed (`mysql-verbose_query_error`).
    pub failed: LogLimit,
    /// Statements with warnings (`mysql-log_mysql_warnings_enabled`).
    pub warned: LogLimit,
    /// Statements that the firewall would refuse.
    pub detected: LogLimit,
    /// Statements that the firewall has refused.
    pub refused: LogLimit,
    /// Statements that look like injected SQL.
    pub injected: LogLimit,
    /// Statements that could not be looked at for that.
    pub unjudged: LogLimit,
}

impl LogLimit {
    /// Whether a message may be logged at `now`; if so, how many were not since the last one.
    pub fn admit(&self, now: Instant) -> Option<u32> {
        if self.last.get().is_some_and(|last| now.duration_since(last) < LOG_INTERVAL) {
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
    fn messages_are_admitted_once_in_an_interval_and_counted() {
        let (limit, start) = (LogLimit::default(), Instant::now());
        assert_eq!(limit.admit(start), Some(0));
        assert_eq!(limit.admit(start), None);
        assert_eq!(limit.admit(start + LOG_INTERVAL / 2), None);
        assert_eq!(limit.admit(start + LOG_INTERVAL), Some(2));
        assert_eq!(limit.admit(start + LOG_INTERVAL * 2), Some(0));
    }
}
