//! Limits of the monitor, each with its unit and its reason.

use std::time::Duration;

/// Servers that are asked at a time what they can do.
pub(crate) const PROBES_MAX: usize = 64;

/// Results of checks that the monitor keeps of each kind, whatever `mysql-monitor_history` says:
/// those of 2,000 servers would fill gigabytes in two hours.
pub(crate) const CHECKS_KEPT_MAX: usize = 100_000;

/// Changes of servers that are kept to be read on the admin port.
pub(crate) const SERVER_EVENTS_MAX: usize = 10_000;

/// By how much an answer may be waited for too long before nothing follows from it: then it was the
/// monitor that was late.
pub(crate) const MONITOR_LATE_MAX: Duration = Duration::from_millis(100);

/// Idle connections that the monitor keeps to one server: as many checks as may run there at a
/// time, without the connect check.
pub const CONNECTIONS_MAX: usize = 3;
