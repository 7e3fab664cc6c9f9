//! Rows of statistics: what the data plane knows of sessions, servers, statements and checks, as
//! the control plane reads it.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// A row of `mysql_collations`: a collation, as a server lists it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Collation {
    /// The number by which clients name it.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Its character set.
    pub charset: String,
    /// Whether it is the default of that.
    pub is_default: bool,
}

/// A row of `stats_mysql_free_connections`: a connection to a server that no session uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FreeConnection {
    /// The socket's file descriptor; -1 if it has none.
    pub fd: i32,
    /// The hostgroup.
    pub hostgroup: u32,
    /// The server's host as in `mysql_servers`, or the path of a Unix socket.
    pub host: String,
    /// Its port; 0 for a Unix socket.
    pub port: u16,
    /// Whose connection it is.
    pub user: String,
    /// The schema that it was left in.
    pub schema: Option<String>,
    /// Time since the server said something over it.
    pub idle: Duration,
}

/// A row of `stats_mysql_users`: how many clients a user has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserConnections {
    /// The user's name.
    pub user: String,
    /// Clients that are logged in.
    pub connections: u32,
    /// The most that may be.
    pub max: u32,
}

/// A row of `stats_mysql_commands_counters`: statements that are counted as one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandCounts {
    /// ProxySQL's name of the command.
    pub command: &'static str,
    /// Those that were answered, and how long they took.
    pub times: Times,
}

/// Histogram of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// How many there are.
    pub count: u64,
    /// Their sum in microseconds, each rounded down.
    pub total_us: u64,
    /// How many are at most 100 us, 500 us, 1 ms, 5 ms, 10 ms, 50 ms, 100 ms, 500 ms, 1 s, 5 s, 10
    /// s, and longer. Each is in one of them.
    pub buckets: [u64; 12],
}

impl Times {
    /// Adds those of another worker.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.total_us += other.total_us;
        self.buckets.iter_mut().zip(other.buckets).for_each(|(mine, other)| *mine += other);
    }
}

/// Times of one hostgroup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostgroupTimes {
    /// The hostgroup.
    pub hostgroup: u32,
    /// From sending a statement to the end of its reply.
    pub statements: Times,
    /// From the beginning of a search for a connection to its end, of sessions that had to wait.
    pub waits: Times,
}

/// How many sessions there are, by state and by pin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Census {
    /// Sessions by ProxySQL's word in the process list.
    pub states: BTreeMap<&'static str, u64>,
    /// Sessions that wait for their client, by what binds them to their connection.
    pub pins: BTreeMap<&'static str, u64>,
}

impl Census {
    /// Adds the sessions of another worker.
    pub fn add(&mut self, other: &Self) {
        let add = |mine: &mut BTreeMap<_, _>, other: &BTreeMap<&'static str, u64>| {
            for (name, n) in other {
                *mine.entry(*name).or_default() += n;
            }
        };
        add(&mut self.states, &other.states);
        add(&mut self.pins, &other.pins);
    }
}

/// A row of a table `monitor.mysql_server_..._log`: what came of one check of a server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckStats {
    /// The host, or the path of a Unix socket.
    pub host: String,
    /// The port; 0 for a Unix socket.
    pub port: u16,
    /// When it began, in microseconds of Unix time.
    pub start_us: u64,
    /// Microseconds that it took; 0 if it failed.
    pub took_us: u64,
    /// What the server has said: whether it is read-only (1 or 0), or its lag in seconds; `None`:
    /// nothing, or that it does not know.
    pub value: Option<i64>,
    /// What a server of a cluster has said, in the order of the columns of its table; none if it
    /// has not.
    pub details: Vec<Detail>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Something that a server of a cluster has said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    /// In words.
    Text(String),
    /// As a number.
    Number(i64),
}

/// A row of `mysql_server_aws_aurora_check_status`: checks of a server of an Aurora cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuroraCheckStats {
    /// The cluster's writer hostgroup.
    pub writer_hostgroup: u32,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// When the last one began, in microseconds of Unix time.
    pub last_us: u64,
    /// How many there were.
    pub total: u64,
    /// How many of them went well.
    pub well: u64,
    /// Why the last one that did not did not.
    pub error: Option<String>,
}

/// A row of `mysql_server_aws_aurora_failovers`: a server of an Aurora cluster became its writer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuroraFailover {
    /// The cluster's writer hostgroup.
    pub writer_hostgroup: u32,
    /// The host.
    pub host: String,
    /// When that was seen, in microseconds of Unix time.
    pub time_us: u64,
}

/// A row of `stats_pointsman_shard_ddl`: a node that gets a definition of a sharded table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShardDdl {
    /// Number of the definition.
    pub id: u64,
    /// The client's statement.
    pub statement: String,
    /// The logical tables that it names.
    pub tables: String,
    /// The hostgroup of the node.
    pub hostgroup: u32,
    /// Physical schema and table.
    pub node: String,
    /// How far the node has come: `waiting`, `asked`, `done` or `failed`.
    pub state: &'static str,
    /// The error of its server.
    pub error: String,
    /// Whether a session or an order is at the definition; else it has stopped.
    pub is_running: bool,
}

/// A row of `stats_pointsman_server_events`: a change of a server in a hostgroup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerEvent {
    /// When it was, in microseconds of Unix time.
    pub time_us: u64,
    /// The hostgroup.
    pub hostgroup: u32,
    /// The host, or the path of a Unix socket.
    pub host: String,
    /// The port; 0 for a Unix socket.
    pub port: u16,
    /// One of [`KINDS`](Self::KINDS).
    pub event: &'static str,
    /// What was observed.
    pub cause: String,
}

impl ServerEvent {
    /// What may happen to a server.
    pub const KINDS: [&'static str; 8] = [
        "SHUNNED",
        "ONLINE",
        "SHUNNED_REPLICATION_LAG",
        "CAUGHT_UP",
        "JOINED",
        "LEFT",
        "SEVERAL_WRITERS",
        "SEVERAL_WRITERS_OVER",
    ];
}

/// A server that is in use in a hostgroup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemberStats {
    /// The hostgroup.
    pub hostgroup: u32,
    /// The hostgroup of the row that says how it is used.
    pub configured_in: u32,
    /// The host, or the path of a Unix socket.
    pub host: String,
    /// The port; 0 for a Unix socket.
    pub port: u16,
    /// `ONLINE`, `SHUNNED`, `SHUNNED_REPLICATION_LAG`, `OFFLINE_SOFT` or `OFFLINE_HARD`.
    pub status: &'static str,
    /// The row of a server that the configuration does not have, because others of its cluster name
    /// it.
    pub discovered: Option<config::Server>,
}

/// A row of `stats_mysql_connection_pool`: a server of a hostgroup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerStats {
    /// The hostgroup.
    pub hostgroup: u32,
    /// The host, or the path of a Unix socket.
    pub host: String,
    /// The port; 0 for a Unix socket.
    pub port: u16,
    /// `ONLINE`, `SHUNNED`, `SHUNNED_REPLICATION_LAG`, `OFFLINE_SOFT` or `OFFLINE_HARD`.
    pub status: &'static str,
    /// Connections that sessions have, or are making.
    pub used: u32,
    /// Connections that no session uses.
    pub free: u32,
    /// How long the server took to answer the monitor's last ping, or to make the last connection,
    /// its login included; zero if there was neither.
    pub latency: Duration,
    /// Connections that were made.
    pub opened: u64,
    /// Connections that could not be made.
    pub failed: u64,
    /// The most connections at a time.
    pub most_used: u32,
    /// Statements that were sent.
    pub queries: u64,
    /// Those of them that had to see a transaction.
    pub synced: u64,
    /// Bytes sent, from the end of the login on.
    pub bytes_sent: u64,
    /// Bytes received, from the end of the login on.
    pub bytes_received: u64,
}

/// How a hostgroup is used now, and which of its servers sessions get.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostgroupStats {
    /// The hostgroup.
    pub hostgroup: u32,
    /// Connections that its available servers may have together.
    pub limit: u64,
    /// Sessions that wait for a connection.
    pub waiting: u64,
    /// Its servers, in the order of the pool.
    pub servers: Vec<CandidateStats>,
}

/// A server of a hostgroup: what it may have, and whether sessions get it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CandidateStats {
    /// The host, or the path of a Unix socket.
    pub host: String,
    /// The port; 0 for a Unix socket.
    pub port: u16,
    /// Its weight.
    pub weight: u32,
    /// Most connections that it may have.
    pub limit: u32,
    /// Why no session gets the server now; `None` if sessions do. Sessions wait for one that is
    /// full.
    pub reason: Option<String>,
}

/// A row of `stats_mysql_processlist`: a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionStats {
    /// The worker's number.
    pub worker: u16,
    /// The connection id.
    pub id: u32,
    /// The user; empty before the login.
    pub user: String,
    /// The schema that was asked for last.
    pub schema: Option<String>,
    /// The client's address and port; `None` for a Unix socket.
    pub client: Option<(IpAddr, u16)>,
    /// Where its statements go.
    pub hostgroup: u32,
    /// This end of the connection to the server, where there is one by TCP.
    pub local: Option<(IpAddr, u16)>,
    /// Host and port of the server that the session has a connection to.
    pub server: Option<(String, u16)>,
    /// What it is doing, in ProxySQL's words.
    pub command: &'static str,
    /// For how long.
    pub time: Duration,
    /// The beginning of the statement that runs.
    pub statement: Option<Vec<u8>>,
    /// What binds the session to its connection to a server while it waits for its client, and for
    /// how long it has.
    pub pin: Option<(&'static str, Duration)>,
    /// Time since its transaction began, as far as was known when its last command ended; `None`
    /// without one.
    pub transaction: Option<Duration>,
    /// What else is known of it, as JSON, if `mysql-show_processlist_extended` says so.
    pub extended: Option<String>,
}

/// A row of `stats_mysql_gtid_executed`: what a server has executed, as the reader of its binary
/// log says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GtidStats {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The GTIDs; nothing while they are not known.
    pub executed: Option<String>,
    /// What the reader has said: lines.
    pub events: u64,
}

/// A row of `stats_mysql_errors`: errors that a server has answered, or that the proxy has made,
/// all alike.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ErrorStats {
    /// The hostgroup of the server, or of the session; [`NO_HOSTGROUP`]: of none.
    pub hostgroup: u32,
    /// Its host, or the path of a Unix socket; empty for an error of the proxy.
    pub host: String,
    /// Its port; 0 for a Unix socket.
    pub port: u16,
    /// The user; empty if none has logged in.
    pub user: String,
    /// The client's address; `localhost` for a Unix socket.
    pub client: String,
    /// The schema; empty if there was none.
    pub schema: String,
    /// MySQL's number of the error.
    pub code: u16,
    /// How often it came.
    pub count: u64,
    /// When it came first, in seconds of Unix time.
    pub first_seen: u64,
    /// When it came last, in seconds of Unix time.
    pub last_seen: u64,
    /// The text of the last one.
    pub message: String,
}

impl ErrorStats {
    /// Whether the proxy has made them.
    pub fn is_own(&self) -> bool {
        self.host.is_empty()
    }
}

/// A row of `stats_pointsman_sqli_fingerprints`: statements with one fingerprint of injected SQL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InjectionStats {
    /// The fingerprint.
    pub fingerprint: String,
    /// Those that came while it was not listed.
    pub found: u64,
    /// Those that came while it was.
    pub passed: u64,
    /// The hash of the digest of one of them; 0 if none had one.
    pub digest: u64,
}

/// The hostgroup of statements that the proxy answers itself; tables show -1.
pub const NO_HOSTGROUP: u32 = u32::MAX;

/// A row of `stats_mysql_query_digest` and `stats_pointsman_digest_latency`: statements of one
/// digest, by one user with one schema, to the servers of one hostgroup. Times are whole
/// microseconds, from a statement's arrival to the end of its answer. Names and texts need not be
/// UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DigestStats {
    /// The hostgroup; [`NO_HOSTGROUP`] for what the proxy answered itself.
    pub hostgroup: u32,
    /// The schema that was asked for last; empty if there was none.
    pub schema: Arc<[u8]>,
    /// The user.
    pub user: Arc<[u8]>,
    /// The client's address; empty unless `mysql-query_digests_track_hostname` is set.
    pub client: Arc<[u8]>,
    /// The hash of the text.
    pub digest: u64,
    /// The statement without its values.
    pub text: Arc<[u8]>,
    /// How many were answered.
    pub count: u64,
    /// When the first one was, in seconds of Unix time.
    pub first_seen: u64,
    /// When the last one was, in seconds of Unix time.
    pub last_seen: u64,
    /// What they took together, each rounded down.
    pub sum_us: u64,
    /// The shortest time.
    pub min_us: u64,
    /// The longest time.
    pub max_us: u64,
    /// Rows that they changed.
    pub rows_affected: u64,
    /// Rows of their results.
    pub rows_sent: u64,
    /// Bytes of the statements.
    pub bytes_received: u64,
    /// Bytes of the answers.
    pub bytes_sent: u64,
    /// How many ended with an error.
    pub errors: u64,
    /// The times that 50, 95, 99 and 99.9 % took at most, if that was asked for; at most 5.9 % from
    /// the true ones.
    pub percentiles_us: [u64; 4],
}

/// A row of `stats_mysql_prepared_statements_info`: what a user has prepared in a schema. Names and
/// texts need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatementStats {
    /// A number of 52 bits, the same as long as a client or a connection has the statement.
    pub id: u64,
    /// The schema; empty if there was none.
    pub schema: Box<[u8]>,
    /// The user.
    pub user: Box<[u8]>,
    /// The hash of the text without its values; 0 if it was not worked out.
    pub digest: u64,
    /// How often clients have it now.
    pub clients: u64,
    /// How often connections to servers have it now.
    pub servers: u64,
    /// Columns of its result, as a server has said last.
    pub columns: u16,
    /// Values that an execution needs, as a server has said last.
    pub params: u16,
    /// The statement.
    pub text: Box<[u8]>,
}

/// A row of `stats_mysql_client_host_cache`: an address whose connections have failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientHost {
    /// The address.
    pub address: IpAddr,
    /// Connections that failed, since one that did not.
    pub errors: u64,
    /// When the last one did, after the start of the proxy.
    pub last: Duration,
}
