//! `SHOW PROMETHEUS METRICS` and `GET /metrics`: counters in Prometheus' text format, under
//! ProxySQL's names, and [Pointsman's own](own).
//!
//! Source: the metrics of ProxySQL 2.7, and "Exposition formats" in Prometheus' documentation.
//! Metrics of what the proxy does not have are 0.

mod metrics;
mod own;

use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use observe::plane::DataPlane;
use observe::rows::NO_HOSTGROUP;

use self::metrics::Kind::{Counter, Gauge};
use self::metrics::{
    ABSENT, CLUSTER_CONFLICTS, CLUSTER_PULLS, GLOBALS, Kind, MEMORY, MEMORY_PLAIN, POOL, SECONDS, VARIABLES,
};
use crate::VERSION;
use crate::answer::Answer;
use crate::store::Known;

/// The variables among the metrics.
pub(crate) fn variable_names() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().map(|(_, variable, _)| *variable)
}

/// All metrics as a result of one cell.
pub(crate) fn show(plane: &dyn DataPlane, known: &Known) -> Answer {
    let text = exposition(plane, known);
    Answer::Rows { columns: vec!["Data".to_owned()], rows: vec![vec![Some(text.into_bytes())]] }
}

/// All metrics in Prometheus' text format.
pub(crate) fn exposition(plane: &dyn DataPlane, known: &Known) -> String {
    let mut out = Out::default();
    let (mut globals, mut memory) = (plane.globals(), plane.memory());
    for (name, value) in globals.iter_mut().chain(&mut memory) {
        if let Some(bytes) = known.memory(name) {
            *value = bytes;
        }
    }
    let value = |rows: &[(&str, u64)], row: &str| {
        rows.iter().find(|(known, _)| *known == row).map(|(_, value)| *value)
    };
    for (name, row, decimals) in SECONDS {
        if let Some(value) = value(&globals, row) {
            out.put(name, Counter, row, &[], shifted(value, decimals));
        }
    }
    for (name, row) in MEMORY_PLAIN {
        if let Some(value) = value(&memory, row) {
            out.put_plain(name, Gauge, row, &[], value);
        }
    }
    for (metrics, rows) in [(&GLOBALS[..], &globals), (&MEMORY[..], &memory)] {
        for &(name, kind, label, row) in metrics {
            if let Some(value) = value(rows, row) {
                out.put(name, kind, row, label.as_slice(), value);
            }
        }
    }
    variables(known, &mut out);
    of_servers(plane, &mut out);
    absent(&mut out);
    if let Some(count) = descriptors() {
        out.put("fds_in_use", Gauge, "file descriptors that are open", &[], count);
    }
    out.put("version_info", Gauge, "ProxySQL version", &[("version", VERSION)], 1);
    own::put(plane, known, &globals, &mut out);
    out.text
}

/// Metrics that are variables.
fn variables(known: &Known, out: &mut Out) {
    for (name, variable, decimals) in VARIABLES {
        let value = match known.variable(variable) {
            Some("true") => Some(1),
            Some("false") => Some(0),
            Some(value) => value.parse().ok(),
            None => None,
        };
        if let Some(value) = value {
            out.put(name, Gauge, variable, &[], shifted(value, decimals));
        }
    }
}

/// Metrics of what there is nothing of, at 0.
fn absent(out: &mut Out) {
    const ABOUT: &str = "of ProxySQL; always 0 here";
    for (name, kind, labels) in ABSENT {
        out.put(name, kind, ABOUT, labels, 0);
    }
    for module in CLUSTER_PULLS {
        for status in ["success", "failure"] {
            let labels = [("module_name", module), ("status", status)];
            out.put("cluster_pulled_total", Counter, ABOUT, &labels, 0);
        }
    }
    for module in CLUSTER_CONFLICTS {
        for reason in ["servers_share_epoch", "version_one"] {
            let labels = [("module_name", module), ("reason", reason)];
            out.put("cluster_syn_conflict_total", Counter, ABOUT, &labels, 0);
        }
    }
}

/// How many file descriptors the process has open; nothing where the kernel does not tell.
fn descriptors() -> Option<usize> {
    // One of them is the folder that is being read.
    std::fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count().saturating_sub(1))
}

/// Metrics of each server.
fn of_servers(plane: &dyn DataPlane, out: &mut Out) {
    let servers = plane.pool(false);
    for (name, kind, label, value) in POOL {
        for server in &servers {
            let hostgroup = server.hostgroup.to_string();
            let endpoint = format!("{}:{}", server.host, server.port);
            let mut labels = vec![("endpoint", endpoint.as_str()), ("hostgroup", hostgroup.as_str())];
            labels.extend(label);
            out.put(name, kind, "of stats_mysql_connection_pool", &labels, value(server));
        }
    }
    for gtids in plane.gtids() {
        let port = gtids.port.to_string();
        let labels = [("hostname", gtids.host.as_str()), ("port", port.as_str())];
        out.put("gtid_executed_total", Counter, "events of stats_mysql_gtid_executed", &labels, gtids.events);
    }
    errors(plane, out);
}

/// Errors of servers, and behind them those that the proxy has made itself: ProxySQL's metrics of
/// these have the same name with `proxysql_`.
fn errors(plane: &dyn DataPlane, out: &mut Out) {
    let mut sums: BTreeMap<_, u64> = BTreeMap::new();
    for error in plane.errors(false) {
        let server = (error.is_own(), error.hostgroup, error.host, error.port);
        *sums.entry((server, error.code)).or_default() += error.count;
    }
    let has_own = sums.keys().any(|((is_own, ..), _)| *is_own);
    for (((is_own, hostgroup, host, port), code), count) in sums {
        let hostgroup = if hostgroup == NO_HOSTGROUP { "-1".to_owned() } else { hostgroup.to_string() };
        let [port, code] = [port.to_string(), code.to_string()];
        let labels = [
            ("hostgroup", hostgroup.as_str()),
            ("address", host.as_str()),
            ("port", port.as_str()),
            ("code", code.as_str()),
        ];
        let name = if is_own { "proxysql_mysql_error_total" } else { "mysql_error_total" };
        out.put_plain(name, Counter, "of stats_mysql_errors", &labels, count);
    }
    if !has_own {
        out.put("mysql_error_total", Counter, "of stats_mysql_errors", &[], 0);
    }
}

/// The text as it grows; lines of one metric stand together under a head.
#[derive(Default)]
struct Out {
    text: String,
    last: String,
}

impl Out {
    /// A metric of ProxySQL's own, without what all of those begin with.
    fn put(&mut self, name: &str, kind: Kind, about: &str, labels: &[(&str, &str)], value: impl Display) {
        self.put_plain(&format!("proxysql_{name}"), kind, about, labels, value);
    }

    fn put_plain(
        &mut self,
        name: &str,
        kind: Kind,
        about: &str,
        labels: &[(&str, &str)],
        value: impl Display,
    ) {
        let kind = match kind {
            Counter => "counter",
            Gauge => "gauge",
        };
        self.head(name, kind, about);
        self.line(name, labels, value);
    }

    /// The head of a metric, unless the lines before are of the same one.
    fn head(&mut self, name: &str, kind: &str, about: &str) {
        if self.last != name {
            // Writing to a text cannot fail.
            let _ = writeln!(self.text, "# HELP {name} {about}\n# TYPE {name} {kind}");
            name.clone_into(&mut self.last);
        }
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "{name}{labels} {value}");
    }
}

/// `value` with this many of its digits behind the point, without noughts at the end.
fn shifted(value: u64, decimals: usize) -> String {
    let digits = format!("{value:0>width$}", width = decimals + 1);
    let (whole, part) = digits.split_at(digits.len() - decimals);
    let part = part.trim_end_matches('0');
    if part.is_empty() { whole.to_owned() } else { format!("{whole}.{part}") }
}

/// The value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn metrics_of_one_name_stand_together() {
        let names = (SECONDS.iter().chain(&VARIABLES).map(|metric| metric.0)).chain(
            (GLOBALS.iter().chain(&MEMORY).map(|metric| metric.0))
                .chain(POOL.iter().map(|metric| metric.0))
                .chain(ABSENT.iter().map(|metric| metric.0)),
        );
        let (mut seen, mut last) = (HashSet::new(), "");
        for name in names {
            assert!(name == last || seen.insert(name), "{name} stands at two places");
            last = name;
        }
    }

    #[test]
    fn lines_are_as_prometheus_reads_them() {
        let mut out = Out::default();
        out.put("a_total", Counter, "x", &[("l", "q\"b\\")], 1);
        out.put("a_total", Counter, "x", &[("l", "2")], 2);
        out.put("b", Gauge, "y", &[], 3);
        let expected = "# HELP proxysql_a_total x\n# TYPE proxysql_a_total counter\n\
                        proxysql_a_total{l=\"q\\\"b\\\\\"} 1\nproxysql_a_total{l=\"2\"} 2\n\
                        # HELP proxysql_b y\n# TYPE proxysql_b gauge\nproxysql_b 3\n";
        assert_eq!(out.text, expected);
    }

    #[test]
    fn seconds_have_a_point() {
        for (value, decimals, text) in [
            (0, 9, "0"),
            (1_500_000_000, 9, "1.5"),
            (7, 9, "0.000000007"),
            (8_000, 3, "8"),
            (80, 3, "0.08"),
            (3, 0, "3"),
        ] {
            assert_eq!(shifted(value, decimals), text);
        }
    }
}
