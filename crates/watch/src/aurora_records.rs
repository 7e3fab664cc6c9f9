//! What the admin port shows of Aurora clusters besides single checks: how many there were, and
//! when others became the writers.

use std::collections::{BTreeMap, VecDeque};

use config::Endpoint;
use observe::counts::report::address;
use observe::rows::{AuroraCheckStats, AuroraFailover};

use crate::limits::SERVER_EVENTS_MAX;
use crate::probe::Outcome;

/// What was found.
#[derive(Debug, Default)]
pub struct AuroraRecords {
    /// By the writer hostgroup of the cluster, and the server that was asked. There are as many as
    /// there are servers.
    checks: BTreeMap<(u32, Endpoint), Checks>,
    failovers: VecDeque<AuroraFailover>,
}

#[derive(Debug, Default)]
struct Checks {
    last_us: u64,
    total: u64,
    well: u64,
    error: Option<String>,
}

impl AuroraRecords {
    /// A server of this cluster was asked.
    pub(crate) fn note(&mut self, writer_hostgroup: u32, server: &Endpoint, outcome: &Outcome) {
        let checks = self.checks.entry((writer_hostgroup, server.clone())).or_default();
        checks.last_us = outcome.start_us;
        checks.total += 1;
        checks.well += u64::from(outcome.error.is_none());
        if outcome.error.is_some() {
            checks.error.clone_from(&outcome.error);
        }
    }

    /// A server became the writer.
    pub(crate) fn note_failover(&mut self, writer_hostgroup: u32, server: &Endpoint, time_us: u64) {
        if self.failovers.len() >= SERVER_EVENTS_MAX {
            self.failovers.pop_front();
        }
        let (host, _) = address(server);
        self.failovers.push_back(AuroraFailover { writer_hostgroup, host, time_us });
    }

    /// Only servers that `stays` is true for are shown from now on.
    pub(crate) fn keep(&mut self, stays: impl Fn(u32, &Endpoint) -> bool) {
        self.checks.retain(|(writer_hostgroup, server), _| stays(*writer_hostgroup, server));
    }

    /// Checks by cluster and server.
    pub fn checks(&self) -> Vec<AuroraCheckStats> {
        let row = |((writer_hostgroup, server), checks): (&(u32, Endpoint), &Checks)| {
            let (host, port) = address(server);
            AuroraCheckStats {
                writer_hostgroup: *writer_hostgroup,
                host,
                port,
                last_us: checks.last_us,
                total: checks.total,
                well: checks.well,
                error: checks.error.clone(),
            }
        };
        self.checks.iter().map(row).collect()
    }

    /// Changes of writers, the oldest first.
    pub fn failovers(&self) -> Vec<AuroraFailover> {
        self.failovers.iter().cloned().collect()
    }
}
