//! What the operator wants.

use std::time::Duration;

use crate::{Cluster, Discover};

/// How often something is checked, and for how long an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// From the beginning of one check to that of the next.
    pub interval: Duration,
    /// The longest time for one.
    pub limit: Duration,
}

/// What holds for all servers. ProxySQL's `mysql-monitor_` variables of these names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// New connections with a login.
    pub connect: Pace,
    /// Pings.
    pub ping: Pace,
    /// Looks at the read-only variables.
    pub read_only: Pace,
    /// Looks at the replication lag.
    pub lag: Pace,
    /// Pings missed in a row after which a server is down; 0 counts as 1.
    pub ping_failures: u32,
    /// Timeouts in a row after which a server counts as read-only; 0 counts as 1.
    pub read_only_timeouts: u32,
    /// Looks in a row that see too much lag after which a server lags; 0 counts as 1.
    pub lag_checks: u32,
    /// Whether writers are in the reader hostgroup, too.
    pub writer_is_also_reader: bool,
}

/// A server in a hostgroup, as the operator has put it there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<E> {
    /// The hostgroup.
    pub hostgroup: u32,
    /// The server.
    pub server: E,
    /// Whether the operator wants it to be used: it is neither `OFFLINE_SOFT` nor `OFFLINE_HARD`.
    pub in_use: bool,
    /// Its weight, which decides who writes where several could.
    pub weight: u32,
    /// The lag that it may have; `None`: any, and it is not checked.
    pub max_lag: Option<Duration>,
    /// The lag that it counts as having if it is a replica that does not know.
    pub lag_when_unknown: Duration,
}

/// A writer hostgroup and its reader hostgroup: servers belong into one of them by their read-only
/// variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    /// The hostgroup of servers that take writes.
    pub writer: u32,
    /// The hostgroup of those that do not.
    pub reader: u32,
    /// How servers are found that the operator has not named; `None`: they are not.
    pub discover: Option<Discover>,
}

/// All that the operator wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan<E> {
    /// What holds for all servers.
    pub settings: Settings,
    /// The servers.
    pub rows: Vec<Row<E>>,
    /// The pairs.
    pub pairs: Vec<Pair>,
    /// The clusters. A hostgroup of a cluster is part of no pair.
    pub clusters: Vec<Cluster>,
}
