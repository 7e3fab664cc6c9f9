//! ProxySQL's metrics: where the value of each is found, and those for which there is nothing here.

use observe::rows::ServerStats;

use self::Kind::{Counter, Gauge};
use observe::micros;

/// What a metric may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// To grow.
    Counter,
    /// To grow and shrink.
    Gauge,
}

/// A value: metric without `proxysql_`, kind, label and its value (or none), and its row of
/// `stats_mysql_global`. Those of one metric stand together.
pub(super) type Metric = (&'static str, Kind, Option<(&'static str, &'static str)>, &'static str);

pub(super) const GLOBALS: [Metric; 105] = [
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
    ("gtid_consistent_queries_total", Counter, None, "GTID_consistent_queries"),
    ("gtid_session_collected_total", Counter, None, "GTID_session_collected"),
    (
        "connpool_get_conn_success_latency_awareness_total",
        Counter,
        None,
        "ConnPool_get_conn_latency_awareness",
    ),
    ("connpool_get_conn_success_immediate_total", Counter, None, "ConnPool_get_conn_immediate"),
    ("connpool_get_conn_success_total", Counter, None, "ConnPool_get_conn_success"),
    ("connpool_get_conn_failure_total", Counter, None, "ConnPool_get_conn_failure"),
    ("generated_error_packets_total", Counter, None, "generated_error_packets"),
    ("max_connect_timeouts_total", Counter, None, "max_connect_timeouts"),
    ("backend_lagging_during_query_total", Counter, None, "backend_lagging_during_query"),
    ("backend_offline_during_query_total", Counter, None, "backend_offline_during_query"),
    ("queries_with_max_lag_total", Counter, None, "queries_with_max_lag_ms"),
    ("queries_with_max_lag__delayed_total", Counter, None, "queries_with_max_lag_ms__delayed"),
    (
        "queries_with_max_lag__total_wait_time_total",
        Counter,
        None,
        "queries_with_max_lag_ms__total_wait_time_us",
    ),
    (
        "aws_aurora_replicas_skipped_during_query_total",
        Counter,
        None,
        "get_aws_aurora_replicas_skipped_during_query",
    ),
    ("mysql_unexpected_frontend_com_quit_total", Counter, None, "mysql_unexpected_frontend_com_quit"),
    ("hostgroup_locked_set_cmds_total", Counter, None, "hostgroup_locked_set_cmds"),
    ("hostgroup_locked_queries_total", Counter, None, "hostgroup_locked_queries"),
    ("mysql_unexpected_frontend_packets_total", Counter, None, "mysql_unexpected_frontend_packets"),
    ("automatic_detected_sql_injection_total", Counter, None, "automatic_detected_sql_injection"),
    ("whitelisted_sqli_fingerprint_total", Counter, None, "whitelisted_sqli_fingerprint"),
    ("mysql_killed_backend_connections_total", Counter, None, "mysql_killed_backend_connections"),
    ("mysql_killed_backend_queries_total", Counter, None, "mysql_killed_backend_queries"),
    ("client_host_error_killed_connections", Counter, None, "client_host_error_killed_connections"),
    ("active_transactions", Gauge, None, "Active_Transactions"),
    ("client_connections_non_idle", Gauge, None, "Client_Connections_non_idle"),
    ("client_connections_hostgroup_locked", Gauge, None, "Client_Connections_hostgroup_locked"),
    ("mysql_backend_buffers_bytes", Gauge, None, "mysql_backend_buffers_bytes"),
    ("mysql_frontend_buffers_bytes", Gauge, None, "mysql_frontend_buffers_bytes"),
    ("mysql_session_internal_bytes", Gauge, None, "mysql_session_internal_bytes"),
    ("mirror_concurrency", Gauge, None, "Mirror_concurrency"),
    ("mirror_queue_lengths", Gauge, None, "Mirror_queue_length"),
    ("mysql_thread_workers", Gauge, None, "MySQL_Thread_Workers"),
    ("selects_for_update__autocommit0_total", Counter, None, "Selects_for_update__autocommit0"),
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
    ("myhgm_myconnpool_get_total", Counter, None, "MyHGM_myconnpoll_get"),
    ("myhgm_myconnpool_get_ok_total", Counter, None, "MyHGM_myconnpoll_get_ok"),
    ("myhgm_myconnpool_push_total", Counter, None, "MyHGM_myconnpoll_push"),
    ("myhgm_myconnpool_reset_total", Counter, None, "MyHGM_myconnpoll_reset"),
    ("myhgm_myconnpool_destroy_total", Counter, None, "MyHGM_myconnpoll_destroy"),
    ("server_connections_connected", Gauge, None, "Server_Connections_connected"),
    ("client_connections_connected", Gauge, None, "Client_Connections_connected"),
    ("stmt_client_active", Gauge, None, "Stmt_Client_Active_Total"),
    ("stmt_client_active_unique", Gauge, None, "Stmt_Client_Active_Unique"),
    ("stmt_cached", Gauge, None, "Stmt_Cached"),
    ("stmt_server_active", Gauge, None, "Stmt_Server_Active_Total"),
    ("stmt_server_active_unique", Gauge, None, "Stmt_Server_Active_Unique"),
    ("stmt_max_stmt_id", Gauge, None, "Stmt_Max_Stmt_id"),
    ("mysql_monitor_connect_check_total", Counter, Some(("status", "ok")), "MySQL_Monitor_connect_check_OK"),
    (
        "mysql_monitor_connect_check_total",
        Counter,
        Some(("status", "err")),
        "MySQL_Monitor_connect_check_ERR",
    ),
    ("mysql_monitor_ping_check_total", Counter, Some(("status", "ok")), "MySQL_Monitor_ping_check_OK"),
    ("mysql_monitor_ping_check_total", Counter, Some(("status", "err")), "MySQL_Monitor_ping_check_ERR"),
    (
        "mysql_monitor_read_only_check_total",
        Counter,
        Some(("status", "ok")),
        "MySQL_Monitor_read_only_check_OK",
    ),
    (
        "mysql_monitor_read_only_check_total",
        Counter,
        Some(("status", "err")),
        "MySQL_Monitor_read_only_check_ERR",
    ),
    (
        "mysql_monitor_replication_lag_check_total",
        Counter,
        Some(("status", "ok")),
        "MySQL_Monitor_replication_lag_check_OK",
    ),
    (
        "mysql_monitor_replication_lag_check_total",
        Counter,
        Some(("status", "err")),
        "MySQL_Monitor_replication_lag_check_ERR",
    ),
    ("mysql_monitor_workers", Gauge, None, "MySQL_Monitor_Workers"),
    ("mysql_monitor_workers_aux", Gauge, None, "MySQL_Monitor_Workers_Aux"),
    ("mysql_monitor_workers_started_total", Counter, None, "MySQL_Monitor_Workers_Started"),
    ("mysql_monitor_dns_cache_queried", Counter, None, "MySQL_Monitor_dns_cache_queried"),
    ("mysql_monitor_dns_cache_lookup_success", Counter, None, "MySQL_Monitor_dns_cache_lookup_success"),
    ("mysql_monitor_dns_cache_record_updated", Counter, None, "MySQL_Monitor_dns_cache_record_updated"),
    ("query_cache_count_get_total", Counter, Some(("status", "ok")), "Query_Cache_count_GET_OK"),
    ("query_cache_count_get_total", Counter, Some(("status", "err")), "Query_Cache_count_GET_miss"),
    ("query_cache_count_set_total", Counter, None, "Query_Cache_count_SET"),
    ("query_cache_bytes_total", Counter, Some(("op", "written")), "Query_Cache_bytes_IN"),
    ("query_cache_bytes_total", Counter, Some(("op", "read")), "Query_Cache_bytes_OUT"),
    ("query_cache_purged_total", Counter, None, "Query_Cache_Purged"),
    ("query_cache_entries_total", Counter, None, "Query_Cache_Entries"),
    ("query_cache_memory_bytes", Gauge, None, "Query_Cache_Memory_bytes"),
];

/// Rows of `stats_memory_metrics`, in the same form.
pub(super) const MEMORY: [Metric; 16] = [
    ("jemalloc_bytes", Gauge, Some(("type", "resident")), "jemalloc_resident"),
    ("jemalloc_bytes", Gauge, Some(("type", "active")), "jemalloc_active"),
    ("jemalloc_bytes", Gauge, Some(("type", "mapped")), "jemalloc_mapped"),
    ("jemalloc_bytes", Gauge, Some(("type", "metadata")), "jemalloc_metadata"),
    ("jemalloc_bytes", Gauge, Some(("type", "retained")), "jemalloc_retained"),
    ("jemalloc_allocated_bytes_total", Counter, None, "jemalloc_allocated"),
    ("auth_memory_bytes", Gauge, None, "Auth_memory"),
    ("mysql_query_rules_memory_bytes", Gauge, None, "mysql_query_rules_memory"),
    ("mysql_firewall_users_table_bytes", Gauge, None, "mysql_firewall_users_table"),
    ("mysql_firewall_rules_table_bytes", Gauge, None, "mysql_firewall_rules_table"),
    ("query_digest_memory_bytes", Gauge, None, "query_digest_memory"),
    ("mysql_firewall_users_config_bytes", Gauge, None, "mysql_firewall_users_config"),
    ("mysql_firewall_rules_config_bytes", Gauge, None, "mysql_firewall_rules_config"),
    ("stack_memory_mysql_threads_bytes", Gauge, None, "stack_memory_mysql_threads"),
    ("stack_memory_admin_threads_bytes", Gauge, None, "stack_memory_admin_threads"),
    ("stack_memory_cluster_threads", Gauge, None, "stack_memory_cluster_threads"),
];

/// Rows of `stats_memory_metrics` whose metrics have no prefix: the metric and the row.
pub(super) const MEMORY_PLAIN: [(&str, &str); 2] = [
    ("prepare_stmt_metadata_memory_bytes", "prepare_statement_metadata_memory"),
    ("prepare_stmt_backend_memory_bytes", "prepare_statement_backend_memory"),
];

/// A metric whose value is a number of seconds: its name without `proxysql_`, its row of
/// `stats_mysql_global`, and how many decimals of a second the row counts.
pub(super) const SECONDS: [(&str, &str, usize); 2] = [
    ("query_processor_time_seconds_total", "Query_Processor_time_nsec", 9),
    ("backend_query_time_seconds_total", "Backend_query_time_nsec", 9),
];

/// Metrics that are variables: the name without `proxysql_`, the variable, and how many decimals
/// the metric has more.
pub(super) const VARIABLES: [(&str, &str, usize); 14] = [
    ("mysql_wait_timeout", "mysql-wait_timeout", 0),
    ("mysql_max_connections", "mysql-max_connections", 0),
    ("mysql_monitor_enabled", "mysql-monitor_enabled", 0),
    ("mysql_monitor_ping_interval", "mysql-monitor_ping_interval", 3),
    ("mysql_monitor_ping_timeout_seconds", "mysql-monitor_ping_timeout", 3),
    ("mysql_monitor_ping_max_failures", "mysql-monitor_ping_max_failures", 0),
    (
        "mysql_monitor_aws_rds_topology_discovery_interval",
        "mysql-monitor_aws_rds_topology_discovery_interval",
        0,
    ),
    ("mysql_monitor_read_only_interval_seconds", "mysql-monitor_read_only_interval", 3),
    ("mysql_monitor_read_only_timeout_seconds", "mysql-monitor_read_only_timeout", 3),
    ("mysql_monitor_writer_is_also_reader", "mysql-monitor_writer_is_also_reader", 0),
    ("monitor_replication_lag_group_by_host", "mysql-monitor_replication_lag_group_by_host", 0),
    ("mysql_monitor_replication_lag_interval_seconds", "mysql-monitor_replication_lag_interval", 3),
    ("mysql_monitor_replication_lag_timeout_seconds", "mysql-monitor_replication_lag_timeout", 3),
    ("mysql_monitor_history_timeout_seconds", "mysql-monitor_history", 3),
];

/// What members of a ProxySQL cluster pull from each other.
pub(super) const CLUSTER_PULLS: [&str; 15] = [
    "mysql_query_rules",
    "mysql_servers",
    "mysql_servers_replication_hostgroups",
    "mysql_servers_group_replication_hostgroups",
    "mysql_servers_galera_hostgroups",
    "mysql_servers_aws_aurora_hostgroups",
    "mysql_servers_hostgroup_attributes",
    "mysql_servers_ssl_params",
    "mysql_servers_runtime_checks",
    "mysql_users",
    "proxysql_servers",
    "mysql_variables",
    "admin_variables",
    "ldap_variables",
    "mysql_ldap_mapping",
];

/// What two members of a ProxySQL cluster may disagree about.
pub(super) const CLUSTER_CONFLICTS: [&str; 7] = [
    "mysql_query_rules",
    "mysql_servers",
    "proxysql_servers",
    "mysql_users",
    "mysql_variables",
    "admin_variables",
    "ldap_variables",
];

/// A metric without `proxysql_`, its kind and its labels.
pub(super) type Absent = (&'static str, Kind, &'static [(&'static str, &'static str)]);

/// Metrics without a row, of what there is nothing of here, at 0: dashboards and alerts of ProxySQL
/// name them.
pub(super) const ABSENT: [Absent; 2] = [
    ("myhgm_myconnpool_get_ping_total", Counter, &[]),
    ("myhgm_auto_increment_multiplex_total", Counter, &[]),
];

/// A value that each server has: metric without `proxysql_`, kind, label and value (or none), and
/// where it is.
pub(super) type PoolMetric =
    (&'static str, Kind, Option<(&'static str, &'static str)>, fn(&ServerStats) -> u64);

pub(super) const POOL: [PoolMetric; 9] = [
    ("connpool_data_bytes_total", Counter, Some(("traffic_flow", "recv")), |server| server.bytes_received),
    ("connpool_data_bytes_total", Counter, Some(("traffic_flow", "sent")), |server| server.bytes_sent),
    ("connpool_conns_total", Counter, Some(("status", "err")), |server| server.failed),
    ("connpool_conns_total", Counter, Some(("status", "ok")), |server| server.opened),
    ("connpool_conns_queries_total", Counter, None, |server| server.queries),
    ("connpool_conns", Gauge, Some(("status", "free")), |server| server.free.into()),
    ("connpool_conns", Gauge, Some(("status", "used")), |server| server.used.into()),
    ("connpool_conns_latency_us", Gauge, None, |server| micros(server.latency)),
    ("connpool_conns_status", Gauge, None, status),
];

/// ProxySQL's number of a server's status.
fn status(server: &ServerStats) -> u64 {
    match server.status {
        "ONLINE" => 1,
        "SHUNNED" => 2,
        "OFFLINE_SOFT" => 3,
        "OFFLINE_HARD" => 4,
        "SHUNNED_REPLICATION_LAG" => 5,
        _ => 0,
    }
}
