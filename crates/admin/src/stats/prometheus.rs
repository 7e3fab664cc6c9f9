//! `SHOW PROMETHEUS METRICS` and `GET /metrics`: counters in Prometheus' text format, under ProxySQL's names.
//!
//! Source: the metrics of ProxySQL 2.7, and "Exposition formats" in Prometheus' documentation. Metrics of what the proxy does not
//! have are left out.

use std::fmt::Write as _;

use self::Kind::{Counter, Gauge};
use crate::answer::Answer;
use crate::plane::{DataPlane, PoolServer};

/// What a metric may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// To grow.
    Counter,
    /// To grow and shrink.
    Gauge,
}

/// A value: metric without `proxysql_`, kind, label and its value (or none), and its row of `stats_mysql_global`. Those of one
/// metric stand together.
type Metric = (&'static str, Kind, Option<(&'static str, &'static str)>, &'static str);

const GLOBALS: [Metric; 62] = [
    ("uptime_seconds_total", Counter, None, "ProxySQL_Uptime"),
    ("mysql_listener_paused", Gauge, None, "mysql_listener_paused"),
    ("connpool_memory_bytes", Gauge, None, "ConnPool_memory_bytes"),
    ("sqlite3_memory_bytes", Gauge, None, "SQLite3_memory_bytes"),
    ("queries_backends_bytes_total", Counter, Some(("traffic_flow", "sent")), "Queries_backends_bytes_sent"),
    (
        "queries_backends_bytes_total",
        Counter,
        Some(("traffic_flow", "received")),
        "Queries_backends_bytes_recv",
    ),
    (
        "queries_frontends_bytes_total",
        Counter,
        Some(("traffic_flow", "sent")),
        "Queries_frontends_bytes_sent",
    ),
    (
        "queries_frontends_bytes_total",
        Counter,
        Some(("traffic_flow", "received")),
        "Queries_frontends_bytes_recv",
    ),
    ("com_backend_stmt_total", Counter, Some(("op", "prepare")), "Com_backend_stmt_prepare"),
    ("com_backend_stmt_total", Counter, Some(("op", "execute")), "Com_backend_stmt_execute"),
    ("com_backend_stmt_total", Counter, Some(("op", "close")), "Com_backend_stmt_close"),
    ("com_frontend_stmt_total", Counter, Some(("op", "prepare")), "Com_frontend_stmt_prepare"),
    ("com_frontend_stmt_total", Counter, Some(("op", "execute")), "Com_frontend_stmt_execute"),
    ("com_frontend_stmt_total", Counter, Some(("op", "close")), "Com_frontend_stmt_close"),
    ("questions_total", Counter, None, "Questions"),
    ("slow_queries_total", Counter, None, "Slow_queries"),
    ("connpool_get_conn_success_immediate_total", Counter, None, "ConnPool_get_conn_immediate"),
    ("connpool_get_conn_success_total", Counter, None, "ConnPool_get_conn_success"),
    ("connpool_get_conn_failure_total", Counter, None, "ConnPool_get_conn_failure"),
    ("generated_error_packets_total", Counter, None, "generated_error_packets"),
    ("max_connect_timeouts_total", Counter, None, "max_connect_timeouts"),
    ("backend_lagging_during_query_total", Counter, None, "backend_lagging_during_query"),
    ("backend_offline_during_query_total", Counter, None, "backend_offline_during_query"),
    ("mysql_unexpected_frontend_com_quit_total", Counter, None, "mysql_unexpected_frontend_com_quit"),
    ("hostgroup_locked_set_cmds_total", Counter, None, "hostgroup_locked_set_cmds"),
    ("hostgroup_locked_queries_total", Counter, None, "hostgroup_locked_queries"),
    ("mysql_unexpected_frontend_packets_total", Counter, None, "mysql_unexpected_frontend_packets"),
    ("mysql_killed_backend_connections_total", Counter, None, "mysql_killed_backend_connections"),
    ("mysql_killed_backend_queries_total", Counter, None, "mysql_killed_backend_queries"),
    ("client_host_error_killed_connections", Counter, None, "client_host_error_killed_connections"),
    ("active_transactions", Gauge, None, "Active_Transactions"),
    ("client_connections_non_idle", Gauge, None, "Client_Connections_non_idle"),
    ("client_connections_hostgroup_locked", Gauge, None, "Client_Connections_hostgroup_locked"),
    ("mysql_backend_buffers_bytes", Gauge, None, "mysql_backend_buffers_bytes"),
    ("mysql_frontend_buffers_bytes", Gauge, None, "mysql_frontend_buffers_bytes"),
    ("mysql_session_internal_bytes", Gauge, None, "mysql_session_internal_bytes"),
    ("mysql_thread_workers", Gauge, None, "MySQL_Thread_Workers"),
    ("servers_table_version_total", Counter, None, "Servers_table_version"),
    ("server_connections_total", Counter, Some(("status", "created")), "Server_Connections_created"),
    ("server_connections_total", Counter, Some(("status", "delayed")), "Server_Connections_delayed"),
    ("server_connections_total", Counter, Some(("status", "aborted")), "Server_Connections_aborted"),
    ("client_connections_total", Counter, Some(("status", "created")), "Client_Connections_created"),
    ("client_connections_total", Counter, Some(("status", "aborted")), "Client_Connections_aborted"),
    ("com_autocommit_total", Counter, None, "Com_autocommit"),
    ("com_autocommit_filtered_total", Counter, None, "Com_autocommit_filtered"),
    ("com_rollback_total", Counter, None, "Com_rollback"),
    ("com_rollback_filtered_total", Counter, None, "Com_rollback_filtered"),
    ("com_commit_cnt_total", Counter, None, "Com_commit"),
    ("com_commit_cnt_filtered_total", Counter, None, "Com_commit_filtered"),
    ("com_backend_change_user_total", Counter, None, "Com_backend_change_user"),
    ("com_backend_init_db_total", Counter, None, "Com_backend_init_db"),
    ("com_backend_set_names_total", Counter, None, "Com_backend_set_names"),
    ("com_frontend_init_db_total", Counter, None, "Com_frontend_init_db"),
    ("com_frontend_set_names_total", Counter, None, "Com_frontend_set_names"),
    ("com_frontend_use_db_total", Counter, None, "Com_frontend_use_db"),
    ("access_denied_wrong_password_total", Counter, None, "Access_Denied_Wrong_Password"),
    ("access_denied_max_connections_total", Counter, None, "Access_Denied_Max_Connections"),
    ("access_denied_max_user_connections_total", Counter, None, "Access_Denied_Max_User_Connections"),
    ("server_connections_connected", Gauge, None, "Server_Connections_connected"),
    ("client_connections_connected", Gauge, None, "Client_Connections_connected"),
    ("stmt_client_active", Gauge, None, "Stmt_Client_Active_Total"),
    ("stmt_server_active", Gauge, None, "Stmt_Server_Active_Total"),
];

/// Rows of `stats_memory_metrics`, in the same form.
const MEMORY: [Metric; 9] = [
    ("jemalloc_bytes", Gauge, Some(("type", "resident")), "jemalloc_resident"),
    ("jemalloc_bytes", Gauge, Some(("type", "active")), "jemalloc_active"),
    ("jemalloc_bytes", Gauge, Some(("type", "mapped")), "jemalloc_mapped"),
    ("jemalloc_bytes", Gauge, Some(("type", "metadata")), "jemalloc_metadata"),
    ("jemalloc_bytes", Gauge, Some(("type", "retained")), "jemalloc_retained"),
    ("jemalloc_allocated_bytes_total", Counter, None, "jemalloc_allocated"),
    ("auth_memory_bytes", Gauge, None, "Auth_memory"),
    ("query_digest_memory_bytes", Gauge, None, "query_digest_memory"),
    ("stack_memory_mysql_threads_bytes", Gauge, None, "stack_memory_mysql_threads"),
];

/// A value that each server has: metric without `proxysql_`, kind, label and value (or none), and where it is.
type PoolMetric = (&'static str, Kind, Option<(&'static str, &'static str)>, fn(&PoolServer) -> u64);

const POOL: [PoolMetric; 9] = [
    ("connpool_data_bytes_total", Counter, Some(("traffic_flow", "recv")), |server| server.bytes_received),
    ("connpool_data_bytes_total", Counter, Some(("traffic_flow", "sent")), |server| server.bytes_sent),
    ("connpool_conns_total", Counter, Some(("status", "err")), |server| server.err),
    ("connpool_conns_total", Counter, Some(("status", "ok")), |server| server.ok),
    ("connpool_conns_queries_total", Counter, None, |server| server.queries),
    ("connpool_conns", Gauge, Some(("status", "free")), |server| server.free),
    ("connpool_conns", Gauge, Some(("status", "used")), |server| server.used),
    ("connpool_conns_latency_us", Gauge, None, |server| server.latency_us),
    ("connpool_conns_status", Gauge, None, status),
];

/// ProxySQL's number of a server's status.
fn status(server: &PoolServer) -> u64 {
    match server.status {
        "ONLINE" => 1,
        "SHUNNED" => 2,
        "OFFLINE_SOFT" => 3,
        "OFFLINE_HARD" => 4,
        "SHUNNED_REPLICATION_LAG" => 5,
        _ => 0,
    }
}

/// All metrics as a result of one cell; `sqlite_bytes` is what SQLite has in memory.
pub(crate) fn show(plane: &dyn DataPlane, sqlite_bytes: u64) -> Answer {
    let text = exposition(plane, sqlite_bytes);
    Answer::Rows { columns: vec!["Data".to_owned()], rows: vec![vec![Some(text.into_bytes())]] }
}

/// All metrics in Prometheus' text format.
pub(crate) fn exposition(plane: &dyn DataPlane, sqlite_bytes: u64) -> String {
    let mut out = Out { text: String::new(), last: "" };
    let mut globals = plane.globals();
    for (name, value) in &mut globals {
        if *name == super::SQLITE_BYTES {
            *value = sqlite_bytes;
        }
    }
    for (metrics, values) in [(&GLOBALS[..], globals), (&MEMORY[..], plane.memory())] {
        for &(name, kind, label, row) in metrics {
            if let Some((_, value)) = values.iter().find(|(known, _)| *known == row) {
                out.put(name, kind, row, label.as_slice(), *value);
            }
        }
    }
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
    out.text
}

/// The text as it grows; lines of one metric stand together under a head.
struct Out {
    text: String,
    last: &'static str,
}

impl Out {
    fn put(&mut self, name: &'static str, kind: Kind, about: &str, labels: &[(&str, &str)], value: u64) {
        if self.last != name {
            let kind = match kind {
                Counter => "counter",
                Gauge => "gauge",
            };
            // Writing to a text cannot fail.
            let _ = writeln!(self.text, "# HELP proxysql_{name} {about}\n# TYPE proxysql_{name} {kind}");
            self.last = name;
        }
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "proxysql_{name}{labels} {value}");
    }
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
        let names =
            GLOBALS.iter().chain(&MEMORY).map(|metric| metric.0).chain(POOL.iter().map(|metric| metric.0));
        let (mut seen, mut last) = (HashSet::new(), "");
        for name in names {
            assert!(name == last || seen.insert(name), "{name} stands at two places");
            last = name;
        }
    }

    #[test]
    fn lines_are_as_prometheus_reads_them() {
        let mut out = Out { text: String::new(), last: "" };
        out.put("a_total", Counter, "x", &[("l", "q\"b\\")], 1);
        out.put("a_total", Counter, "x", &[("l", "2")], 2);
        out.put("b", Gauge, "y", &[], 3);
        let expected = "# HELP proxysql_a_total x\n# TYPE proxysql_a_total counter\n\
                        proxysql_a_total{l=\"q\\\"b\\\\\"} 1\nproxysql_a_total{l=\"2\"} 2\n\
                        # HELP proxysql_b y\n# TYPE proxysql_b gauge\nproxysql_b 3\n";
        assert_eq!(out.text, expected);
    }
}
