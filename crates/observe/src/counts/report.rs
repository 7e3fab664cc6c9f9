//! What workers have counted, put together.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::sync::Arc;

use config::Endpoint;
use pool::{Pool, Server};

use super::counter::{COUNTERS, ROWS, Source};
use super::errors::{Key, Maker, Seen};
use super::{Counter, Counts};
use crate::digests;
use crate::rows::{CommandCounts, ErrorStats, ServerStats};
use net::names::NameCounts;

/// What one worker answers who asks for its counters, or the sum of several.
#[derive(Debug, Clone)]
pub struct Report {
    counters: [u64; COUNTERS],
    /// Bytes received from clients, and sent to them.
    pub(super) clients: [u64; 2],
    /// Bytes received from servers, and sent to them.
    pub(super) servers: [u64; 2],
    /// Copies of statements that run, and that wait.
    pub copies: [u64; 2],
    /// Sessions that run a command now.
    pub busy: u64,
    /// Sessions in a transaction.
    pub transactions: u64,
    pub(super) digests: digests::Size,
    /// What the query cache has done.
    pub(super) cache: cache::stats::Row,
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
            digests: counts.digests.table.borrow().size(),
            cache: counts.cache.borrow().totals(),
            copies: [0; 2],
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
        Source::Absent => 0,
        Source::Counted(counter) => sum.of(*counter),
        Source::From(value) => value(&sum, globals),
    };
    ROWS.iter().map(|row| (row.name, value(&row.source))).collect()
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
