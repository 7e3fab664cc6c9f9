//! What happened between two readings, per second.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::percentile::{Buckets, float, percentile, whole};
use crate::reading::{Reading, ServerKey};

/// The rates between two readings.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    /// Statements.
    pub(crate) qps: u64,
    /// Errors.
    pub(crate) errors: u64,
    /// Bytes from clients and to them.
    bytes: [u64; 2],
    buckets: Buckets,
    /// Statements of each server.
    servers: HashMap<ServerKey, u64>,
}

impl Rates {
    /// Those between `before` and `now`. Counters that went back count as unchanged: a worker may
    /// not have answered.
    pub(crate) fn between(before: &Reading, now: &Reading) -> Self {
        let seconds = now.at.saturating_duration_since(before.at).as_secs_f64().max(0.001);
        let rate = |from: u64, to: u64| whole(float(to.saturating_sub(from)) / seconds);
        let global = |name| rate(before.global(name), now.global(name));
        let key = |hostgroup, host: &str, port| (hostgroup, host.to_owned(), port);
        let queries: HashMap<_, _> = before
            .pool
            .iter()
            .map(|server| ((server.hostgroup, &*server.host, server.port), server.queries))
            .collect();
        let servers = now.pool.iter().map(|server| {
            let known = queries.get(&(server.hostgroup, &*server.host, server.port));
            let rate = rate(known.copied().unwrap_or(server.queries), server.queries);
            (key(server.hostgroup, &server.host, server.port), rate)
        });
        let mut buckets = now.buckets;
        for (count, from) in buckets.iter_mut().zip(before.buckets) {
            *count = count.saturating_sub(from);
        }
        Self {
            qps: global("Questions"),
            errors: rate(before.all_errors(), now.all_errors()),
            bytes: ["Queries_frontends_bytes_recv", "Queries_frontends_bytes_sent"].map(global),
            buckets,
            servers: servers.collect(),
        }
    }

    /// The time that this share of the statements took at most, in microseconds.
    pub(crate) fn percentile(&self, share: f64) -> Option<u64> {
        percentile(&self.buckets, share)
    }

    /// Statements of a server.
    pub(crate) fn server(&self, hostgroup: u32, host: &str, port: u16) -> u64 {
        self.servers.get(&(hostgroup, host.to_owned(), port)).copied().unwrap_or(0)
    }

    /// A point of all curves.
    pub(crate) fn point(&self, now: &Reading) -> Value {
        let [bytes_in, bytes_out] = self.bytes;
        let sum = |of: fn(&observe::rows::ServerStats) -> u32| -> u64 {
            now.pool.iter().map(|server| u64::from(of(server))).sum()
        };
        json!({
            "t": now.unix_ms / 1000,
            "qps": self.qps,
            "p50_us": self.percentile(0.5),
            "p95_us": self.percentile(0.95),
            "p99_us": self.percentile(0.99),
            "clients": now.global("Client_Connections_connected"),
            "busy": now.global("Client_Connections_non_idle"),
            "waiting": now.waiting(),
            "used": sum(|server| server.used),
            "free": sum(|server| server.free),
            "errors": self.errors,
            "bytes_in": bytes_in,
            "bytes_out": bytes_out,
        })
    }
}
