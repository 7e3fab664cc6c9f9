//! What workers have counted, put together.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;

use config::Endpoint;
use pool::{Pool, Server};

use super::errors::{Key, Maker, Seen};
use super::{COUNTERS, Counter, Counts};
use crate::digests;
use crate::rows::{CommandCounts, ErrorStats, ServerStats};
use net::names::NameCounts;

/// What one worker answers who asks for its counters, or the sum of several.
#[derive(Debug, Clone)]
pub struct Report {
    counters: [u64; COUNTERS],
    /// Bytes received from clients, and sent to them.
    clients: [u64; 2],
    /// Bytes received from servers, and sent to them.
    servers: [u64; 2],
    /// Copies of statements that run, and that wait.
    copies: [u64; 2],
    /// Sessions that run a command now.
    pub busy: u64,
    /// Sessions in a transaction.
    pub transactions: u64,
    digests: digests::Size,
    /// What the query cache has done.
    cache: cache::stats::Row,
    /// How often an expression of a rule took more steps than it may, since rules were loaded.
    pub given_up: u64,
}

/// What workers count of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerCounts {
    /// Statements sent.
    pub queries: u64,
    /// Those of them that had to see a transaction.
    pub synced: u64,
    /// Bytes that came.
    pub bytes_received: u64,
    /// Bytes that went.
    pub bytes_sent: u64,
}

/// Errors of one worker, ready to travel: what they are told apart by, and what is known of them.
pub type ErrorRow = (ErrorKey, Seen);

/// Maker, user, client, schema and number of an error.
pub(crate) type ErrorKey = (Maker, String, String, String, u16);

/// What is the same for all workers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Globals {
    /// Seconds since the start.
    pub uptime_s: u64,
    /// Clients that are there.
    pub clients: u64,
    /// Clients that were refused because there were too many.
    pub clients_refused: u64,
    /// Connections closed because too many from their address had failed.
    pub hosts_refused: u64,
    /// Connections to servers.
    pub servers: u64,
    /// How often the table of servers has changed.
    pub servers_version: u64,
    /// Threads that serve clients.
    pub workers: u64,
    /// Whether no client is accepted.
    pub paused: bool,
    /// Records of the query log.
    pub logs: querylog::Counts,
    /// Records of the audit log.
    pub audit: querylog::Counts,
    /// Statements that were traced.
    pub spans: otlp::Counts,
    /// Checks of servers that went well, and those that did not, in the order of
    /// [`monitor::Check::ALL`].
    pub monitor: [[u64; 2]; monitor::Check::ALL.len()],
    /// Whether there is a monitor.
    pub monitors: u64,
    /// Look-ups of names.
    pub names: NameCounts,
    /// Prepared statements.
    pub statements: StatementSums,
    /// The query cache.
    pub cache: cache::Usage,
}

/// Sums over all prepared statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StatementSums {
    /// How many clients have each of them, all together.
    pub clients: u64,
    /// How many connections to servers have each of them, all together.
    pub servers: u64,
    /// Those that a client has.
    pub of_clients: u64,
    /// Those that a connection has.
    pub of_servers: u64,
    /// All.
    pub all: u64,
    /// The largest number.
    pub largest_id: u64,
}

/// Where a value of `stats_mysql_global` comes from.
enum Source {
    /// The feature does not exist here.
    Absent,
    Counted(Counter),
    From(fn(&Report, &Globals) -> u64),
}

use Source::{Absent, Counted, From};

/// The rows of `stats_mysql_global`, as ProxySQL has them.
const ROWS: &[(&str, Source)] = &[
    ("ProxySQL_Uptime", From(|_, globals| globals.uptime_s)),
    ("Active_Transactions", From(|report, _| report.transactions)),
    (
        "Client_Connections_aborted",
        From(|report, globals| {
            report.of(Counter::ClientsAborted) + globals.clients_refused + globals.hosts_refused
        }),
    ),
    ("Client_Connections_connected", From(|_, globals| globals.clients)),
    (
        "Client_Connections_created",
        From(|report, globals| {
            report.of(Counter::ClientsCreated) + globals.clients_refused + globals.hosts_refused
        }),
    ),
    ("Client_Connections_non_idle", From(|report, _| report.busy)),
    ("Client_Connections_hostgroup_locked", Absent),
    ("Server_Connections_aborted", Counted(Counter::ServersAborted)),
    ("Server_Connections_connected", From(|_, globals| globals.servers)),
    ("Server_Connections_created", Counted(Counter::ServersCreated)),
    ("Server_Connections_delayed", Counted(Counter::ServersDelayed)),
    ("mysql_backend_buffers_bytes", Absent),
    ("mysql_frontend_buffers_bytes", Absent),
    ("mysql_session_internal_bytes", Absent),
    ("Com_autocommit", Counted(Counter::Autocommit)),
    ("Com_autocommit_filtered", Absent),
    ("Com_commit", Counted(Counter::Commit)),
    ("Com_commit_filtered", Absent),
    ("Com_rollback", Counted(Counter::Rollback)),
    ("Com_rollback_filtered", Absent),
    ("Com_backend_change_user", Counted(Counter::ServerChangeUser)),
    ("Com_backend_init_db", Counted(Counter::ServerInitDb)),
    ("Com_backend_set_names", Counted(Counter::ServerSetNames)),
    ("Com_frontend_init_db", Counted(Counter::InitDb)),
    ("Com_frontend_set_names", Counted(Counter::SetNames)),
    ("Com_frontend_use_db", Counted(Counter::UseDb)),
    ("Com_backend_stmt_prepare", Counted(Counter::ServerPrepare)),
    ("Com_backend_stmt_execute", Counted(Counter::ServerExecute)),
    ("Com_backend_stmt_close", Counted(Counter::ServerClose)),
    ("Com_frontend_stmt_prepare", Counted(Counter::Prepare)),
    ("Com_frontend_stmt_execute", Counted(Counter::Execute)),
    ("Com_frontend_stmt_close", Counted(Counter::Close)),
    ("Questions", Counted(Counter::Questions)),
    ("Slow_queries", Counted(Counter::SlowQueries)),
    ("GTID_consistent_queries", Counted(Counter::GtidConsistent)),
    ("GTID_session_collected", Counted(Counter::GtidCollected)),
    ("Queries_backends_bytes_recv", From(|report, _| report.servers[0])),
    ("Queries_backends_bytes_sent", From(|report, _| report.servers[1])),
    ("Queries_frontends_bytes_recv", From(|report, _| report.clients[0])),
    ("Queries_frontends_bytes_sent", From(|report, _| report.clients[1])),
    ("Query_Processor_time_nsec", Absent),
    ("Backend_query_time_nsec", Counted(Counter::QueryNanoseconds)),
    ("ConnPool_get_conn_latency_awareness", Absent),
    ("ConnPool_get_conn_immediate", Counted(Counter::TookKept)),
    ("ConnPool_get_conn_success", Counted(Counter::GotConnection)),
    ("ConnPool_get_conn_failure", Counted(Counter::NoConnection)),
    ("mysql_killed_backend_connections", Counted(Counter::KilledConnections)),
    ("mysql_killed_backend_queries", Counted(Counter::KilledQueries)),
    ("hostgroup_locked_set_cmds", Absent),
    ("hostgroup_locked_queries", Absent),
    ("mysql_unexpected_frontend_com_quit", Absent),
    ("mysql_unexpected_frontend_packets", Absent),
    ("queries_with_max_lag_ms", Counted(Counter::LagLimited)),
    ("queries_with_max_lag_ms__delayed", Counted(Counter::LagDelayed)),
    ("queries_with_max_lag_ms__total_wait_time_us", Counted(Counter::LagMicroseconds)),
    ("backend_lagging_during_query", Absent),
    ("backend_offline_during_query", Counted(Counter::OfflineDuringQuery)),
    ("get_aws_aurora_replicas_skipped_during_query", Counted(Counter::LagSkipped)),
    ("automatic_detected_sql_injection", Counted(Counter::InjectionsFound)),
    ("whitelisted_sqli_fingerprint", Counted(Counter::InjectionsListed)),
    ("max_connect_timeouts", Counted(Counter::ConnectTimeouts)),
    ("generated_error_packets", Counted(Counter::OwnErrors)),
    ("client_host_error_killed_connections", From(|_, globals| globals.hosts_refused)),
    ("Mirror_concurrency", From(|report, _| report.copies[0])),
    ("Mirror_queue_length", From(|report, _| report.copies[1])),
    ("Selects_for_update__autocommit0", Absent),
    ("Servers_table_version", From(|_, globals| globals.servers_version)),
    ("MySQL_Thread_Workers", From(|_, globals| globals.workers)),
    ("Access_Denied_Wrong_Password", Counted(Counter::WrongPassword)),
    ("Access_Denied_Max_Connections", From(|_, globals| globals.clients_refused)),
    ("Access_Denied_Max_User_Connections", Counted(Counter::TooManyUserConnections)),
    ("MySQL_Monitor_Workers", From(|_, globals| globals.monitors)),
    ("MySQL_Monitor_Workers_Aux", Absent),
    ("MySQL_Monitor_Workers_Started", From(|_, globals| globals.monitors)),
    ("MySQL_Monitor_connect_check_OK", From(|_, globals| globals.monitor[3][0])),
    ("MySQL_Monitor_connect_check_ERR", From(|_, globals| globals.monitor[3][1])),
    ("MySQL_Monitor_ping_check_OK", From(|_, globals| globals.monitor[1][0])),
    ("MySQL_Monitor_ping_check_ERR", From(|_, globals| globals.monitor[1][1])),
    ("MySQL_Monitor_read_only_check_OK", From(|_, globals| globals.monitor[0][0])),
    ("MySQL_Monitor_read_only_check_ERR", From(|_, globals| globals.monitor[0][1])),
    ("MySQL_Monitor_replication_lag_check_OK", From(|_, globals| globals.monitor[2][0])),
    ("MySQL_Monitor_replication_lag_check_ERR", From(|_, globals| globals.monitor[2][1])),
    ("MySQL_Monitor_dns_cache_queried", From(|_, globals| globals.names.queried)),
    ("MySQL_Monitor_dns_cache_lookup_success", From(|_, globals| globals.names.known)),
    ("MySQL_Monitor_dns_cache_record_updated", From(|_, globals| globals.names.updated)),
    (
        "MyHGM_myconnpoll_get",
        From(|report, _| report.of(Counter::GotConnection) + report.of(Counter::NoConnection)),
    ),
    ("MyHGM_myconnpoll_get_ok", Counted(Counter::GotConnection)),
    ("MyHGM_myconnpoll_push", Counted(Counter::ReturnedToPool)),
    (
        "MyHGM_myconnpoll_destroy",
        From(|report, globals| report.of(Counter::ServersCreated).saturating_sub(globals.servers)),
    ),
    ("MyHGM_myconnpoll_reset", Counted(Counter::ResetKept)),
    ("SQLite3_memory_bytes", Absent),
    ("ConnPool_memory_bytes", Absent),
    ("Stmt_Client_Active_Total", From(|_, globals| globals.statements.clients)),
    ("Stmt_Client_Active_Unique", From(|_, globals| globals.statements.of_clients)),
    ("Stmt_Server_Active_Total", From(|_, globals| globals.statements.servers)),
    ("Stmt_Server_Active_Unique", From(|_, globals| globals.statements.of_servers)),
    ("Stmt_Max_Stmt_id", From(|_, globals| globals.statements.largest_id)),
    ("Stmt_Cached", From(|_, globals| globals.statements.all)),
    ("Query_Cache_Memory_bytes", From(|_, globals| globals.cache.bytes)),
    ("Query_Cache_count_GET", From(|report, _| report.cache.lookups())),
    ("Query_Cache_count_GET_OK", From(|report, _| report.cache.hits)),
    ("Query_Cache_count_SET", From(|report, _| report.cache.stored)),
    ("Query_Cache_bytes_IN", From(|report, _| report.cache.bytes_in)),
    ("Query_Cache_bytes_OUT", From(|report, _| report.cache.bytes_out)),
    ("Query_Cache_Purged", From(|_, globals| globals.cache.purged)),
    ("Query_Cache_Entries", From(|_, globals| globals.cache.entries)),
    ("new_req_conns_count", Absent),
    ("mysql_listener_paused", From(|_, globals| globals.paused.into())),
    // From here on what ProxySQL does not have.
    ("Query_Cache_count_GET_miss", From(|report, _| report.cache.misses())),
    ("Query_log_written", From(|_, globals| globals.logs.written)),
    ("Query_log_failed", From(|_, globals| globals.logs.failed)),
    ("Query_log_dropped", From(|_, globals| globals.logs.dropped)),
    ("Audit_log_written", From(|_, globals| globals.audit.written)),
    ("Audit_log_failed", From(|_, globals| globals.audit.failed)),
    ("Audit_log_dropped", From(|_, globals| globals.audit.dropped)),
    ("Traces_sent", From(|_, globals| globals.spans.sent)),
    ("Traces_failed", From(|_, globals| globals.spans.failed)),
    ("Traces_dropped", From(|_, globals| globals.spans.dropped)),
    ("Query_digests", From(|report, _| report.digests.entries)),
    ("Query_Cache_Evicted", From(|_, globals| globals.cache.evicted)),
    ("Query_digests_evicted", From(|report, _| report.digests.evicted)),
    ("Query_rules_given_up", From(|report, _| report.given_up)),
    ("Mirror_done", Counted(Counter::Copies)),
    ("Mirror_dropped", Counted(Counter::CopiesDropped)),
    ("Mirror_failed", Counted(Counter::CopiesFailed)),
    ("Mirror_compared", Counted(Counter::CopiesCompared)),
    ("Mirror_different", Counted(Counter::CopiesDifferent)),
    ("Firewall_detected", Counted(Counter::FirewallDetected)),
    ("Firewall_refused", Counted(Counter::FirewallRefused)),
    ("Sqli_detector_failed", Counted(Counter::InjectionsUnknown)),
    ("Queries_sent_together", Counted(Counter::Together)),
    ("Queries_sent_once_more", Counted(Counter::OnceMore)),
    ("Invariants_broken", Counted(Counter::InvariantsBroken)),
    ("Causal_reads", Counted(Counter::CausalReads)),
    ("Causal_reads_had", Counted(Counter::CausalHad)),
    ("Causal_reads_waited", Counted(Counter::CausalWaited)),
    ("Causal_reads_to_writer", Counted(Counter::CausalLacked)),
    ("Causal_transactions_lost", Counted(Counter::CausalLost)),
];

impl Report {
    /// What a worker has counted. `busy` sessions run a command, `transactions` are in one.
    pub fn new(counts: &Counts, busy: u64, transactions: u64) -> Self {
        let clients = [counts.clients.received.get(), counts.clients.sent.get()];
        Self {
            counters: counts.counters(),
            clients,
            servers: counts.backends(),
            busy,
            transactions,
            digests: counts.digests.size(),
            cache: counts.cache.borrow().totals(),
            copies: [counts.copies.running.get().into(), counts.copies.waiting.get().into()],
            given_up: 0,
        }
    }

    /// What this counter has counted.
    pub fn of(&self, counter: Counter) -> u64 {
        self.counters.get(counter as usize).copied().unwrap_or_default()
    }

    fn plus(mut self, other: &Self) -> Self {
        let pairs = |mine: &mut [u64], others: &[u64]| {
            mine.iter_mut().zip(others).for_each(|(mine, other)| *mine = mine.wrapping_add(*other));
        };
        pairs(&mut self.counters, &other.counters);
        pairs(&mut self.clients, &other.clients);
        pairs(&mut self.servers, &other.servers);
        pairs(&mut self.copies, &other.copies);
        self.busy += other.busy;
        self.transactions += other.transactions;
        self.given_up += other.given_up;
        self.cache.add(&other.cache);
        self.digests = digests::report::size([self.digests, other.digests]);
        self
    }
}

/// The rows of `stats_mysql_global`; all counters are 0 if no worker has answered.
pub fn globals(reports: &[Report], globals: &Globals) -> Vec<(&'static str, u64)> {
    let none = Report::new(&Counts::default(), 0, 0);
    let sum = reports.iter().fold(none, Report::plus);
    let value = |source: &Source| match source {
        Absent => 0,
        Counted(counter) => sum.of(*counter),
        From(value) => value(&sum, globals),
    };
    ROWS.iter().map(|(name, source)| (*name, value(source))).collect()
}

/// Statements by ProxySQL's commands, of all workers together.
pub fn commands(workers: Vec<Vec<CommandCounts>>) -> Vec<CommandCounts> {
    let add = |mut sum: Vec<CommandCounts>, worker: Vec<CommandCounts>| {
        for (mine, other) in sum.iter_mut().zip(worker) {
            mine.times.add(&other.times);
        }
        sum
    };
    workers.into_iter().reduce(add).unwrap_or_default()
}

/// The servers of the pool, with what workers have counted of them.
pub fn servers<T: AsRef<Endpoint>>(
    pool: &Pool<T>,
    workers: &[HashMap<u64, ServerCounts, impl BuildHasher>],
    reset: bool,
) -> Vec<ServerStats> {
    let row = |server: Arc<Server<T>>| {
        let (host, port) = address(server.endpoint().as_ref());
        let counts = server.counts(reset);
        // Each read once: connections come and go meanwhile, and both numbers are of the same ones.
        let open = server.open();
        let resting = server.resting().min(open);
        let of_workers = workers.iter().filter_map(|worker| worker.get(&server.id()));
        let sum = |of: fn(&ServerCounts) -> u64| of_workers.clone().map(of).sum();
        ServerStats {
            hostgroup: server.hostgroup(),
            host,
            port,
            status: server.status().as_str(),
            used: open - resting,
            free: resting,
            latency: server.latency(),
            opened: counts.opened,
            failed: counts.failed,
            most_used: counts.most_open,
            queries: sum(|counts| counts.queries),
            synced: sum(|counts| counts.synced),
            bytes_sent: sum(|counts| counts.bytes_sent),
            bytes_received: sum(|counts| counts.bytes_received),
        }
    };
    pool.servers().into_iter().map(row).collect()
}

/// Host and port as in `mysql_servers`.
pub fn address(endpoint: &Endpoint) -> (String, u16) {
    match endpoint {
        Endpoint::Tcp { host, port } => (host.clone(), *port),
        Endpoint::Unix(path) => (path.display().to_string(), 0),
    }
}

/// An error as it leaves its worker.
pub fn error_row((key, seen): (Key, Seen)) -> ErrorRow {
    let schema = key.schema.as_deref().unwrap_or_default();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    // As ProxySQL calls clients of a Unix socket.
    let client = key.client.map_or_else(|| "localhost".to_owned(), |ip| ip.to_canonical().to_string());
    ((key.maker, text(&key.user), client, text(schema), key.code), seen)
}

/// The errors of all workers together. Those of servers that the pool has forgotten are left out.
pub fn errors<T: AsRef<Endpoint>>(pool: &Pool<T>, workers: Vec<Vec<ErrorRow>>) -> Vec<ErrorStats> {
    let servers: HashMap<u64, _> = pool.servers().into_iter().map(|server| (server.id(), server)).collect();
    let mut sums: BTreeMap<ErrorKey, Seen> = BTreeMap::new();
    for (key, seen) in workers.into_iter().flatten() {
        let sum = sums.entry(key).or_insert_with(|| Seen { first: seen.first, ..Seen::default() });
        sum.count += seen.count;
        sum.first = sum.first.min(seen.first);
        if seen.last >= sum.last {
            (sum.last, sum.message) = (seen.last, seen.message);
        }
    }
    let row = |((maker, user, client, schema, code), seen): ErrorRow| {
        let (hostgroup, (host, port)) = match maker {
            Maker::Server(id) => {
                let server = servers.get(&id)?;
                (server.hostgroup(), address(server.endpoint().as_ref()))
            }
            Maker::Proxy(hostgroup) => (hostgroup, (String::new(), 0)),
        };
        Some(ErrorStats {
            hostgroup,
            host,
            port,
            user,
            client,
            schema,
            code,
            count: seen.count,
            first_seen: seen.first,
            last_seen: seen.last,
            message: String::from_utf8_lossy(&seen.message).into_owned(),
        })
    };
    sums.into_iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests;
