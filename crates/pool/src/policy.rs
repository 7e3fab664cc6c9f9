//! How a hostgroup chooses among its servers, as the operator wants it.

use std::fmt;
use std::time::Duration;

/// How a hostgroup chooses. `Default` holds where nothing else is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Who is chosen among those that can be.
    pub balance: Balance,
    /// With more servers online, none of them is used.
    pub max_online: usize,
    /// From this many candidates on, only those are kept whose latency is not above the average.
    pub latency_aware_from: usize,
    /// When a server that fails is left alone, and for how long.
    pub shunning: Shunning,
    /// The longest latency of a server that has no [limit of its
    /// own](crate::ServerSpec::max_latency): a slower one is passed over while another can be
    /// taken. `None`: there is no limit.
    pub max_latency: Option<Duration>,
    /// Of the connections that a server may have, the percentage that may be open and idle.
    pub resting_percent: u32,
    /// Connections are opened ahead of need until each server has that percentage of them, in use
    /// or not.
    pub warming: bool,
    /// So many idle connections to each server are kept, opened ahead of need if there are fewer.
    pub min_resting: u32,
    /// Connections that all servers together may have.
    pub max_open: u32,
    /// Connections that may be begun in a second; `None`: any number.
    pub opened_per_second: Option<u32>,
    /// Servers may join the hostgroup by themselves: a session that finds none waits for one.
    pub awaited: bool,
}

/// Who is chosen among the servers that can be. A server with weight 0 never is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Balance {
    /// At random, each with a chance proportional to its weight.
    #[default]
    Weighted,
    /// Of two that are drawn by weight the one that runs fewer statements.
    LeastLoaded,
    /// In turn, whatever their weights.
    RoundRobin,
    /// The first one in the order of the configuration.
    FirstAvailable,
}

impl Balance {
    /// Writes why a server with this weight is a candidate, of all candidates' `total`.
    pub(crate) fn tell(self, weight: u32, total: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Weighted => write!(f, "by weight, {weight} of {total}"),
            Self::LeastLoaded => write!(f, "the less loaded of two, weight {weight} of {total}"),
            Self::RoundRobin => f.write_str("in turn"),
            Self::FirstAvailable => f.write_str("the first that can be taken"),
        }
    }
}

/// When a server that fails is left alone, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shunning {
    /// Errors within a second of the caller's clock after which a server is shunned; 0 counts as 1.
    pub errors: u32,
    /// Time since its last error after which it is tried again; `None`: not before no other is
    /// left.
    pub recovery: Option<Duration>,
    /// The same when no other server has room.
    pub last_resort: Duration,
    /// One error is enough, and a server that has failed is not tried again before it is configured
    /// anew.
    pub for_good: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            balance: Balance::default(),
            max_online: usize::MAX,
            latency_aware_from: usize::MAX,
            shunning: Shunning::default(),
            max_latency: None,
            resting_percent: 10,
            warming: false,
            min_resting: 0,
            max_open: u32::MAX,
            opened_per_second: None,
            awaited: false,
        }
    }
}

/// ProxySQL's defaults: 5 errors in a second, 9 seconds (one less than a session waits for a
/// connection), and 1 second.
impl Default for Shunning {
    fn default() -> Self {
        let (recovery, last_resort) = (Some(Duration::from_secs(9)), Duration::from_secs(1));
        Self { errors: 5, recovery, last_resort, for_good: false }
    }
}

impl Shunning {
    /// The same with servers that have failed not being tried again.
    #[must_use]
    pub const fn for_good(self) -> Self {
        Self { errors: 1, recovery: None, for_good: true, ..self }
    }
}

impl Policy {
    /// The most idle connections to a server that may have `max_connections`.
    pub(crate) fn most_resting(&self, max_connections: u32) -> u32 {
        self.share_of(max_connections).max(self.min_resting.min(max_connections))
    }

    /// How many connections a server has at least, that may have `max_connections` of them.
    pub(crate) fn warmed(&self, max_connections: u32) -> u32 {
        if self.warming { self.share_of(max_connections) } else { 0 }
    }

    fn share_of(&self, max_connections: u32) -> u32 {
        let most = u64::from(max_connections) * u64::from(self.resting_percent.min(100)) / 100;
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// The same where no other server has room: servers that were shunned are tried earlier.
    pub(crate) fn desperate(&self) -> Self {
        let Shunning { recovery, last_resort, for_good, .. } = self.shunning;
        if for_good {
            return *self;
        }
        let earlier = recovery.map_or(last_resort, |recovery| recovery.min(last_resort));
        Self { shunning: Shunning { recovery: Some(earlier), ..self.shunning }, ..*self }
    }
}
