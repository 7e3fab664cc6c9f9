//! Pointsman's own metrics, beside those under ProxySQL's names.

use std::collections::BTreeMap;

use cache::{Cause, Miss};
use observe::counts::histogram::BUCKETS_US;
use observe::counts::metrics;
use observe::plane::DataPlane;
use observe::rows::{HostgroupStats, ServerEvent, Times};

use super::metrics::Kind::{Counter, Gauge};
use super::{Out, shifted};
use crate::store::Known;

/// Writes all of them. `globals` are the rows of `stats_mysql_global`.
pub(super) fn put(plane: &dyn DataPlane, known: &Known, globals: &[(&str, u64)], out: &mut Out) {
    for (name, kind, row) in metrics() {
        if let Some((_, value)) = globals.iter().find(|(known, _)| *known == row) {
            let label = kind.map(|kind| ("kind", kind));
            out.put_plain(name, Counter, row, label.as_slice(), value);
        }
    }
    times(plane, out);
    sessions(plane, out);
    servers(plane, out);
    hostgroups(plane, known, out);
    if let Some(end) = plane.certificate_end() {
        let about = "when the certificate that clients are shown expires, in Unix time";
        out.put_plain("pointsman_certificate_expires_seconds", Gauge, about, &[], end);
    }
    cache(plane, globals, out);
    configuration(known, out);
}

/// How long statements and waits took.
fn times(plane: &dyn DataPlane, out: &mut Out) {
    let hostgroups = plane.hostgroup_times();
    let of_statements = "seconds from sending a statement to the end of its reply, by hostgroup";
    for times in &hostgroups {
        let hostgroup = times.hostgroup.to_string();
        let label = ("hostgroup", hostgroup.as_str());
        out.put_histogram("pointsman_statement_seconds", of_statements, label, &times.statements);
    }
    let of_waits = "seconds that sessions waited for a connection, of those that had to wait";
    for times in &hostgroups {
        let hostgroup = times.hostgroup.to_string();
        let label = ("hostgroup", hostgroup.as_str());
        out.put_histogram("pointsman_wait_seconds", of_waits, label, &times.waits);
    }
    for command in plane.commands().iter().filter(|command| command.times.count > 0) {
        let about = "seconds that statements took, by ProxySQL's command";
        let label = ("command", command.command);
        out.put_histogram("pointsman_command_seconds", about, label, &command.times);
    }
}

fn sessions(plane: &dyn DataPlane, out: &mut Out) {
    let census = plane.census();
    for (state, count) in &census.states {
        let about = "sessions by what they do, as in the process list";
        out.put_plain("pointsman_sessions", Gauge, about, &[("state", state)], count);
    }
    for (reason, count) in &census.pins {
        let about = "sessions that wait for their client and keep a connection, by reason";
        out.put_plain("pointsman_pins", Gauge, about, &[("reason", reason)], count);
    }
}

fn servers(plane: &dyn DataPlane, out: &mut Out) {
    // A counter that is there from the beginning has a rate when it changes first.
    let mut counts: BTreeMap<&str, u64> = ServerEvent::KINDS.into_iter().map(|kind| (kind, 0)).collect();
    counts.extend(plane.server_event_counts());
    for (kind, count) in counts {
        let about = "changes of servers in hostgroups";
        out.put_plain("pointsman_server_events_total", Counter, about, &[("kind", kind)], count);
    }
}

/// A metric of hostgroups: its name, what it is, and its value, given the used connections.
type OfHostgroup = (&'static str, &'static str, fn(&HostgroupStats, u64) -> u64);

/// What hostgroups have for sessions: those of the pool, and those of replication pairs without a
/// server.
fn hostgroups(plane: &dyn DataPlane, known: &Known, out: &mut Out) {
    let mut all: BTreeMap<u32, (&str, HostgroupStats)> = BTreeMap::new();
    for (writer, reader) in known.config.pairs() {
        all.entry(reader).or_default().0 = "reader";
        all.entry(writer).or_default().0 = "writer";
    }
    for stats in plane.hostgroups() {
        let entry = all.entry(stats.hostgroup).or_default();
        entry.1 = stats;
    }
    let mut used: BTreeMap<u32, u64> = BTreeMap::new();
    for server in plane.pool(false) {
        *used.entry(server.hostgroup).or_default() += u64::from(server.used);
    }
    let metrics: [OfHostgroup; 4] = [
        ("pointsman_hostgroup_usable_servers", "servers that sessions get", |stats, _| {
            stats.servers.iter().filter(|server| server.reason.is_none()).count() as u64
        }),
        ("pointsman_hostgroup_connections_limit", "connections that its servers may have", |stats, _| {
            stats.limit
        }),
        ("pointsman_hostgroup_connections_used", "connections that sessions have", |_, used| used),
        ("pointsman_hostgroup_waiting", "sessions that wait for a connection", |stats, _| stats.waiting),
    ];
    for (name, about, value) in metrics {
        for (hostgroup, (role, stats)) in &all {
            let used = used.get(hostgroup).copied().unwrap_or(0);
            let hostgroup = hostgroup.to_string();
            let mut labels = vec![("hostgroup", hostgroup.as_str())];
            labels.extend((!role.is_empty()).then_some(("role", *role)));
            out.put_plain(name, Gauge, about, &labels, value(stats, used));
        }
    }
}

/// What the query cache did, of all rules and digests.
fn cache(plane: &dyn DataPlane, globals: &[(&str, u64)], out: &mut Out) {
    let totals = plane.cache(false).totals();
    let about = "look-ups in the query cache that found nothing, by reason";
    for miss in Miss::ALL {
        let labels = [("reason", reason(miss))];
        out.put_plain("pointsman_cache_misses_total", Counter, about, &labels, totals.missed(miss));
    }
    let evicted =
        globals.iter().find(|(name, _)| *name == "Query_Cache_Evicted").map_or(0, |(_, value)| *value);
    let by_age = [("ttl", totals.missed(Miss::Expired)), ("evicted", evicted)];
    for (cause, count) in
        Cause::ALL.map(|cause| (cause.text(), totals.invalidated(cause))).into_iter().chain(by_age)
    {
        let about = "answers that were asked for and too old, or left for others, by cause";
        out.put_plain("pointsman_cache_invalidations_total", Counter, about, &[("cause", cause)], count);
    }
    let plain = [
        ("pointsman_cache_hits_total", "answers from the query cache", totals.hits),
        ("pointsman_cache_stale_total", "stale answers, as no server answered", totals.stale),
        ("pointsman_cache_waited_total", "queries that waited for an equal one", totals.waited),
        ("pointsman_cache_stored_total", "answers that were stored", totals.stored),
    ];
    for (name, about, count) in plain {
        out.put_plain(name, Counter, about, &[], count);
    }
}

/// As the columns of `stats_pointsman_cache` are called.
const fn reason(miss: Miss) -> &'static str {
    match miss {
        Miss::Absent => "absent",
        Miss::Expired => "expired",
        Miss::Invalidated => "invalidated",
        Miss::Unproven => "unproven",
        Miss::Behind => "behind",
    }
}

/// The version of each module at runtime.
fn configuration(known: &Known, out: &mut Out) {
    for (module, version) in &known.versions {
        let about = "newest version of what a module was loaded with, as in pointsman_versions";
        out.put_plain("pointsman_config_version", Gauge, about, &[("module", module)], version);
    }
    for (module, checksum) in &known.checksums {
        let about = "upper 53 bits of the checksum in runtime_checksums_values: equal where proxies agree";
        out.put_plain("pointsman_config_checksum", Gauge, about, &[("module", module)], checksum);
    }
}

impl Out {
    /// A histogram in seconds.
    fn put_histogram(&mut self, name: &str, about: &str, label: (&str, &str), times: &Times) {
        self.head(name, "histogram", about);
        let bucket = format!("{name}_bucket");
        let mut below = 0;
        for (us, count) in BUCKETS_US.iter().zip(times.buckets) {
            below += count;
            self.line(&bucket, &[label, ("le", &shifted(*us, 6))], below);
        }
        self.line(&bucket, &[label, ("le", "+Inf")], times.count);
        self.line(&format!("{name}_sum"), &[label], shifted(times.total_us, 6));
        self.line(&format!("{name}_count"), &[label], times.count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_of_a_histogram_contain_those_before() {
        let mut out = Out::default();
        let buckets = [3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        let times = Times { count: 6, total_us: 20_001_200, buckets };
        out.put_histogram("a_seconds", "x", ("hostgroup", "7"), &times);
        out.put_histogram("a_seconds", "x", ("hostgroup", "8"), &Times::default());
        let lines: Vec<&str> = out.text.lines().collect();
        assert_eq!(lines[..2], ["# HELP a_seconds x", "# TYPE a_seconds histogram"]);
        assert_eq!(lines[2], r#"a_seconds_bucket{hostgroup="7",le="0.0001"} 3"#);
        assert_eq!(lines[3], r#"a_seconds_bucket{hostgroup="7",le="0.0005"} 5"#);
        assert_eq!(lines[12], r#"a_seconds_bucket{hostgroup="7",le="10"} 5"#);
        assert_eq!(lines[13], r#"a_seconds_bucket{hostgroup="7",le="+Inf"} 6"#);
        assert_eq!(lines[14], r#"a_seconds_sum{hostgroup="7"} 20.0012"#);
        assert_eq!(lines[15], r#"a_seconds_count{hostgroup="7"} 6"#);
        assert_eq!(lines.iter().filter(|line| line.starts_with('#')).count(), 2, "one head");
    }
}
