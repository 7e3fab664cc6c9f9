//! One look at the running proxy: the counters that each sample needs.

use std::collections::HashMap;
use std::time::Instant;

use net::clock::unix_ms;
use observe::plane::DataPlane;
use observe::rows::{ErrorStats, HostgroupStats, ServerEvent, ServerStats};

use crate::percentile::Buckets;

/// A server in a hostgroup: the hostgroup, the host, and the port.
pub(crate) type ServerKey = (u32, String, u16);

/// The counters at one moment.
#[derive(Debug)]
pub(crate) struct Reading {
    /// The moment.
    pub(crate) at: Instant,
    /// The same in milliseconds of Unix time.
    pub(crate) unix_ms: u64,
    /// The rows of `stats_mysql_global`.
    pub(crate) globals: HashMap<&'static str, u64>,
    /// Times of statements since the start.
    pub(crate) buckets: Buckets,
    /// The servers.
    pub(crate) pool: Vec<ServerStats>,
    /// The hostgroups.
    pub(crate) hostgroups: Vec<HostgroupStats>,
    /// Errors of servers and of the proxy itself.
    pub(crate) errors: Vec<ErrorStats>,
    /// What has changed of servers, the oldest first.
    pub(crate) events: Vec<ServerEvent>,
    /// Whether new clients are accepted.
    pub(crate) accepts: bool,
}

impl Reading {
    /// Looks at `plane`. Blocks for about a millisecond.
    pub(crate) fn take(plane: &dyn DataPlane) -> Self {
        let mut buckets = Buckets::default();
        for command in plane.commands() {
            for (sum, count) in buckets.iter_mut().zip(command.times.buckets) {
                *sum = sum.saturating_add(count);
            }
        }
        Self {
            at: Instant::now(),
            unix_ms: unix_ms(),
            globals: plane.globals().into_iter().collect(),
            buckets,
            pool: plane.pool(false),
            hostgroups: plane.hostgroups(),
            errors: plane.errors(false),
            events: plane.server_events(),
            accepts: plane.accepts(),
        }
    }

    /// The row of this name of `stats_mysql_global`.
    pub(crate) fn global(&self, name: &str) -> u64 {
        self.globals.get(name).copied().unwrap_or(0)
    }

    /// Sessions that wait for a connection.
    pub(crate) fn waiting(&self) -> u64 {
        self.hostgroups.iter().map(|hostgroup| hostgroup.waiting).sum()
    }

    /// Errors of servers and of the proxy itself.
    pub(crate) fn all_errors(&self) -> u64 {
        let of_servers: u64 =
            self.errors.iter().filter(|error| !error.is_own()).map(|error| error.count).sum();
        of_servers.saturating_add(self.global("generated_error_packets"))
    }

    /// Why no session gets this server; nothing if sessions do, or the pool does not know it.
    pub(crate) fn reason(&self, hostgroup: u32, host: &str, port: u16) -> Option<&str> {
        let group = self.hostgroups.iter().find(|row| row.hostgroup == hostgroup)?;
        let server = group.servers.iter().find(|server| server.host == host && server.port == port)?;
        server.reason.as_deref()
    }
}

/// Host and port as they are shown.
pub(crate) fn address(host: &str, port: u16) -> String {
    match port {
        0 => host.to_owned(),
        _ if host.contains(':') => format!("[{host}]:{port}"),
        _ => format!("{host}:{port}"),
    }
}
