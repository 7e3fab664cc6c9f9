//! The counters of a worker, the rows of `stats_mysql_global`, and Pointsman's own metrics of
//! Prometheus, each defined once.

use super::report::{Globals, Report};

/// Defines the rows of `stats_mysql_global` in their order: `COUNTER => "ROW" = VALUE, metric(..)`.
///
/// - The counter, if the row is one. A row without counter and value is of a feature that is not
///   here.
/// - The value, if it is more than the counter.
/// - The metric of Prometheus with its label `kind`, if the row has one under a name of ours.
macro_rules! rows {
    (@source) => { Source::Absent };
    (@source $counter:ident) => { Source::Counted(Counter::$counter) };
    (@source $($counter:ident)? = $value:expr) => { Source::From($value) };
    (@metric) => { None };
    (@metric $name:literal) => { Some(($name, None)) };
    (@metric $name:literal, $kind:literal) => { Some(($name, Some($kind))) };
    ($(
        $($(#[$doc:meta])* $counter:ident =>)? $row:literal $(= $value:expr)?
        $(, metric($($metric:tt)*))?;
    )*) => {
        /// What is counted one by one.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "a comment is about all counters up to the next one")]
        pub enum Counter { $($($(#[$doc])* $counter,)?)* }

        /// How many counters there are.
        pub(super) const COUNTERS: usize = [$($(Counter::$counter,)?)*].len();

        /// The rows of `stats_mysql_global`, as ProxySQL has them.
        pub(super) const ROWS: &[Row] = &[$(Row {
            name: $row,
            source: rows!(@source $($counter)? $(= $value)?),
            metric: rows!(@metric $($($metric)*)?),
        },)*];
    };
}

/// A row of `stats_mysql_global`.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) source: Source,
    metric: Option<(&'static str, Option<&'static str>)>,
}

/// Where a value of `stats_mysql_global` comes from.
pub(super) enum Source {
    /// The feature does not exist here.
    Absent,
    Counted(Counter),
    From(fn(&Report, &Globals) -> u64),
}

/// Counters that are metrics of Prometheus under names of ours: metric, its label `kind`, row of
/// `stats_mysql_global`. Those of one metric stand together.
pub fn metrics() -> Vec<(&'static str, Option<&'static str>, &'static str)> {
    let of_row = |row: &Row| row.metric.map(|(metric, kind)| (metric, kind, row.name));
    let rows: Vec<_> = ROWS.iter().filter_map(of_row).collect();
    let mut metrics = rows.clone();
    // Defects of the proxy itself come last.
    metrics.sort_by_key(|(metric, _, row)| {
        (*row == "Invariants_broken", rows.iter().position(|other| other.0 == *metric))
    });
    metrics
}

rows! {
    "ProxySQL_Uptime" = |_, globals| globals.uptime_s;
    "Active_Transactions" = |report, _| report.transactions;
    /// Clients that did not get through their login, or left without a goodbye.
    ClientsAborted => "Client_Connections_aborted" = |report, globals|
        report.of(Counter::ClientsAborted) + globals.clients_refused + globals.hosts_refused;
    "Client_Connections_connected" = |_, globals| globals.clients;
    /// Clients that connected.
    ClientsCreated => "Client_Connections_created" = |report, globals|
        report.of(Counter::ClientsCreated) + globals.clients_refused + globals.hosts_refused;
    "Client_Connections_non_idle" = |report, _| report.busy;
    "Client_Connections_hostgroup_locked";
    /// Connections to servers that could not be made, or broke.
    ServersAborted => "Server_Connections_aborted";
    "Server_Connections_connected" = |_, globals| globals.servers;
    /// Connections to servers that were made.
    ServersCreated => "Server_Connections_created";
    /// A session has waited because connections are opened one after the other.
    ServersDelayed => "Server_Connections_delayed";
    "mysql_backend_buffers_bytes";
    "mysql_frontend_buffers_bytes";
    "mysql_session_internal_bytes";
    Autocommit => "Com_autocommit";
    "Com_autocommit_filtered";
    Commit => "Com_commit";
    "Com_commit_filtered";
    Rollback => "Com_rollback";
    "Com_rollback_filtered";
    /// What servers get: of clients, and what the proxy sends on its own.
    ServerChangeUser => "Com_backend_change_user";
    ServerInitDb => "Com_backend_init_db";
    ServerSetNames => "Com_backend_set_names";
    /// Commands and statements of clients, whether a server or the proxy answers them.
    InitDb => "Com_frontend_init_db";
    SetNames => "Com_frontend_set_names";
    UseDb => "Com_frontend_use_db";
    /// What servers get.
    ServerPrepare => "Com_backend_stmt_prepare";
    ServerExecute => "Com_backend_stmt_execute";
    ServerClose => "Com_backend_stmt_close";
    /// What clients send.
    Prepare => "Com_frontend_stmt_prepare";
    Execute => "Com_frontend_stmt_execute";
    Close => "Com_frontend_stmt_close";
    /// Statements of clients: as text, prepared, and executed.
    Questions => "Questions";
    /// Statements that took longer than `mysql-long_query_time`.
    SlowQueries => "Slow_queries";
    /// Statements that must see a transaction.
    GtidConsistent => "GTID_consistent_queries";
    /// Transactions of sessions that servers have told.
    GtidCollected => "GTID_session_collected";
    "Queries_backends_bytes_recv" = |report, _| report.servers[0];
    "Queries_backends_bytes_sent" = |report, _| report.servers[1];
    "Queries_frontends_bytes_recv" = |report, _| report.clients[0];
    "Queries_frontends_bytes_sent" = |report, _| report.clients[1];
    "Query_Processor_time_nsec";
    /// Nanoseconds that statements took.
    QueryNanoseconds => "Backend_query_time_nsec";
    "ConnPool_get_conn_latency_awareness";
    /// Connections laid aside that another session took.
    TookKept => "ConnPool_get_conn_immediate";
    /// Searches for a connection to a server: that found one, and that did not.
    GotConnection => "ConnPool_get_conn_success";
    NoConnection => "ConnPool_get_conn_failure";
    KilledConnections => "mysql_killed_backend_connections";
    KilledQueries => "mysql_killed_backend_queries";
    "hostgroup_locked_set_cmds";
    "hostgroup_locked_queries";
    "mysql_unexpected_frontend_com_quit";
    "mysql_unexpected_frontend_packets";
    /// Statements that bear a lag, those of them that have waited because all servers had more, and
    /// for how many microseconds.
    LagLimited => "queries_with_max_lag_ms";
    LagDelayed => "queries_with_max_lag_ms__delayed";
    LagMicroseconds => "queries_with_max_lag_ms__total_wait_time_us";
    "backend_lagging_during_query";
    /// Statements that were broken off because their server was switched off.
    OfflineDuringQuery => "backend_offline_during_query";
    /// Servers that had more lag than a statement bears.
    LagSkipped => "get_aws_aurora_replicas_skipped_during_query";
    /// Statements that look like injected SQL: with a fingerprint that is not listed, and with one
    /// that is.
    InjectionsFound => "automatic_detected_sql_injection";
    InjectionsListed => "whitelisted_sqli_fingerprint";
    /// Searches for a connection that took too long or had no server left to try.
    ConnectTimeouts => "max_connect_timeouts";
    /// Errors that the proxy made.
    OwnErrors => "generated_error_packets";
    "client_host_error_killed_connections" = |_, globals| globals.hosts_refused;
    "Mirror_concurrency" = |report, _| report.copies[0];
    "Mirror_queue_length" = |report, _| report.copies[1];
    "Selects_for_update__autocommit0";
    "Servers_table_version" = |_, globals| globals.servers_version;
    "MySQL_Thread_Workers" = |_, globals| globals.workers;
    WrongPassword => "Access_Denied_Wrong_Password";
    "Access_Denied_Max_Connections" = |_, globals| globals.clients_refused;
    TooManyUserConnections => "Access_Denied_Max_User_Connections";
    "MySQL_Monitor_Workers" = |_, globals| globals.monitors;
    "MySQL_Monitor_Workers_Aux";
    "MySQL_Monitor_Workers_Started" = |_, globals| globals.monitors;
    "MySQL_Monitor_connect_check_OK" = |_, globals| globals.monitor[3][0];
    "MySQL_Monitor_connect_check_ERR" = |_, globals| globals.monitor[3][1];
    "MySQL_Monitor_ping_check_OK" = |_, globals| globals.monitor[1][0];
    "MySQL_Monitor_ping_check_ERR" = |_, globals| globals.monitor[1][1];
    "MySQL_Monitor_read_only_check_OK" = |_, globals| globals.monitor[0][0];
    "MySQL_Monitor_read_only_check_ERR" = |_, globals| globals.monitor[0][1];
    "MySQL_Monitor_replication_lag_check_OK" = |_, globals| globals.monitor[2][0];
    "MySQL_Monitor_replication_lag_check_ERR" = |_, globals| globals.monitor[2][1];
    "MySQL_Monitor_dns_cache_queried" = |_, globals| globals.names.queried;
    "MySQL_Monitor_dns_cache_lookup_success" = |_, globals| globals.names.known;
    "MySQL_Monitor_dns_cache_record_updated" = |_, globals| globals.names.updated;
    "MyHGM_myconnpoll_get" = |report, _|
        report.of(Counter::GotConnection) + report.of(Counter::NoConnection);
    "MyHGM_myconnpoll_get_ok" = |report, _| report.of(Counter::GotConnection);
    /// Connections that sessions laid aside where others get them.
    ReturnedToPool => "MyHGM_myconnpoll_push";
    "MyHGM_myconnpoll_destroy" = |report, globals|
        report.of(Counter::ServersCreated).saturating_sub(globals.servers);
    /// Of those that were laid aside, the ones that were reset for another session.
    ResetKept => "MyHGM_myconnpoll_reset";
    "SQLite3_memory_bytes";
    "ConnPool_memory_bytes";
    "Stmt_Client_Active_Total" = |_, globals| globals.statements.clients;
    "Stmt_Client_Active_Unique" = |_, globals| globals.statements.of_clients;
    "Stmt_Server_Active_Total" = |_, globals| globals.statements.servers;
    "Stmt_Server_Active_Unique" = |_, globals| globals.statements.of_servers;
    "Stmt_Max_Stmt_id" = |_, globals| globals.statements.largest_id;
    "Stmt_Cached" = |_, globals| globals.statements.all;
    "Query_Cache_Memory_bytes" = |_, globals| globals.cache.bytes;
    "Query_Cache_count_GET" = |report, _| report.cache.lookups();
    "Query_Cache_count_GET_OK" = |report, _| report.cache.hits;
    "Query_Cache_count_SET" = |report, _| report.cache.stored;
    "Query_Cache_bytes_IN" = |report, _| report.cache.bytes_in;
    "Query_Cache_bytes_OUT" = |report, _| report.cache.bytes_out;
    "Query_Cache_Purged" = |_, globals| globals.cache.purged;
    "Query_Cache_Entries" = |_, globals| globals.cache.entries;
    "new_req_conns_count";
    "mysql_listener_paused" = |_, globals| globals.paused.into();
    // From here on what ProxySQL does not have.
    "Query_Cache_count_GET_miss" = |report, _| report.cache.misses();
    "Query_log_written" = |_, globals| globals.logs.written,
        metric("pointsman_log_records_total", "query");
    "Query_log_failed" = |_, globals| globals.logs.failed,
        metric("pointsman_log_records_failed_total", "query");
    "Query_log_dropped" = |_, globals| globals.logs.dropped,
        metric("pointsman_log_records_dropped_total", "query");
    "Audit_log_written" = |_, globals| globals.audit.written,
        metric("pointsman_log_records_total", "audit");
    "Audit_log_failed" = |_, globals| globals.audit.failed,
        metric("pointsman_log_records_failed_total", "audit");
    "Audit_log_dropped" = |_, globals| globals.audit.dropped,
        metric("pointsman_log_records_dropped_total", "audit");
    "Traces_sent" = |_, globals| globals.spans.sent, metric("pointsman_traces_total", "sent");
    "Traces_failed" = |_, globals| globals.spans.failed, metric("pointsman_traces_total", "failed");
    "Traces_dropped" = |_, globals| globals.spans.dropped, metric("pointsman_traces_total", "dropped");
    "Query_digests" = |report, _| report.digests.entries;
    "Query_Cache_Evicted" = |_, globals| globals.cache.evicted;
    "Query_digests_evicted" = |report, _| report.digests.evicted;
    "Query_rules_given_up" = |report, _| report.given_up, metric("pointsman_query_rules_given_up_total");
    /// Copies of statements that were run, that were not because there were too many, and that
    /// found no server or got no whole answer.
    Copies => "Mirror_done", metric("pointsman_mirrored_total", "done");
    CopiesDropped => "Mirror_dropped", metric("pointsman_mirrored_total", "dropped");
    CopiesFailed => "Mirror_failed", metric("pointsman_mirrored_total", "failed");
    /// Copies of which both answers were compared, and those of them that differed.
    CopiesCompared => "Mirror_compared", metric("pointsman_mirrored_compared_total");
    CopiesDifferent => "Mirror_different", metric("pointsman_mirrored_different_total");
    /// Statements on no list of the firewall: that were sent all the same, and that were refused.
    FirewallDetected => "Firewall_detected", metric("pointsman_firewall_total", "detected");
    FirewallRefused => "Firewall_refused", metric("pointsman_firewall_total", "refused");
    /// Statements with which the detector of injected SQL has failed.
    InjectionsUnknown => "Sqli_detector_failed";
    /// Statements that were sent together with those of other sessions, and those of them that were
    /// sent once more, alone.
    Together => "Queries_sent_together", metric("pointsman_batched_total", "sent");
    OnceMore => "Queries_sent_once_more", metric("pointsman_batched_total", "sent_again");
    /// What cannot be unless the proxy has a defect.
    InvariantsBroken => "Invariants_broken", metric("pointsman_invariants_broken_total");
    /// Statements that readers ran and that had to see writes. Of those for which the reader was
    /// asked: it had the writes, it had them after a wait, it lacked them.
    CausalReads => "Causal_reads", metric("pointsman_causal_reads_total");
    CausalHad => "Causal_reads_had", metric("pointsman_causal_asked_total", "had");
    CausalWaited => "Causal_reads_waited", metric("pointsman_causal_asked_total", "waited");
    CausalLacked => "Causal_reads_to_writer", metric("pointsman_causal_asked_total", "lacked");
    /// Transactions that were acknowledged and that a new primary lacks.
    CausalLost => "Causal_transactions_lost", metric("pointsman_causal_lost_total");
}
