//! What the admin port needs of the running proxy: to change its configuration, to give it orders, and to read its
//! counters. All calls come from the thread that owns SQLite and may block for milliseconds, never for a client; only health
//! checks ask from elsewhere.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use config::{Config, RowProblem, Server};
use rustls::ServerConfig;

/// The running proxy, as the admin port sees it.
pub trait DataPlane: Send + Sync + 'static {
    /// Makes every worker use `config`, and returns when all of them do. What is the same in both configurations
    /// is not disturbed. On an error nothing has changed.
    fn apply(&self, config: &Arc<Config>) -> Result<(), NotApplied>;

    /// The rows of `config` for which [`apply`](Self::apply) would refuse it, although each of their values is right.
    fn check(&self, config: &Config) -> Vec<RowProblem>;

    /// What would become of a statement, or why that cannot be said.
    fn explain(&self, question: &Question) -> Result<Explained, String>;

    /// Hears what a client of the admin port did, for the audit log. Any task may say so; does not block.
    fn audit(&self, _event: &AdminEvent) {}

    /// Carries out an order, or says why it cannot be.
    fn order(&self, order: Order) -> Result<(), String>;

    /// Ends the client session with this id; false if there is none.
    fn kill(&self, id: u32) -> bool;

    /// TLS as clients of the proxy are offered it now; nothing if it is switched off.
    fn tls(&self) -> Option<Arc<ServerConfig>>;

    /// The rows of `stats_mysql_global`.
    fn globals(&self) -> Vec<(&'static str, u64)>;

    /// The rows of `stats_memory_metrics`.
    fn memory(&self) -> Vec<(&'static str, u64)>;

    /// The clients that there are.
    fn processes(&self) -> Vec<Process>;

    /// The servers, with counters; `reset` makes the counters start again from 0.
    fn pool(&self, reset: bool) -> Vec<PoolServer>;

    /// The servers that are in use in each hostgroup; `None`: those of `mysql_servers`.
    fn members(&self) -> Option<Vec<Member>> {
        None
    }

    /// What came of the checks of servers of this kind, the oldest first.
    fn checks(&self, _kind: CheckKind) -> Vec<CheckResult> {
        Vec::new()
    }

    /// Checks of the servers of Aurora clusters.
    fn aurora_checks(&self) -> Vec<AuroraChecks> {
        Vec::new()
    }

    /// Changes of the writers of Aurora clusters, the oldest first.
    fn aurora_failovers(&self) -> Vec<AuroraFailover> {
        Vec::new()
    }

    /// What has changed of servers, the oldest first.
    fn server_events(&self) -> Vec<ServerEvent> {
        Vec::new()
    }

    /// Connections to servers that nobody uses.
    fn free_connections(&self) -> Vec<FreeConnection>;

    /// The collations of the servers; none if no server lists them now. May block for some seconds where servers do not
    /// answer.
    fn collations(&self) -> Vec<Collation>;

    /// Connections of each user.
    fn users(&self) -> Vec<UserConnections>;

    /// Counters of statements by their kind.
    fn commands(&self) -> Vec<CommandCounter>;

    /// Errors that servers answered; `reset` forgets them.
    fn errors(&self, reset: bool) -> Vec<ServerError>;

    /// What servers have executed, as far as they have a `gtid_port`.
    fn gtids(&self) -> Vec<ExecutedGtids> {
        Vec::new()
    }

    /// How often each rule matched since rules were loaded: `rule_id` and the number.
    fn rule_hits(&self) -> Vec<(i64, u64)>;

    /// Addresses whose connections failed; `reset` forgets them.
    fn client_hosts(&self, reset: bool) -> Vec<ClientHost>;

    /// Statements by digest, in the order of the key of `stats_mysql_query_digest`; `reset` makes the counters start again.
    /// With `latency` the percentiles are there.
    fn digests(&self, reset: bool, latency: bool) -> Vec<Digest>;

    /// Forgets all digests.
    fn forget_digests(&self);

    /// Whether new clients are accepted. Any thread may ask; does not block.
    fn accepts(&self) -> bool;

    /// For each server of a hostgroup why nobody gets it now, nothing if somebody does; `None` if there is no such hostgroup. No
    /// element: servers may belong there, none does. Any thread may ask; does not block.
    fn readiness(&self, hostgroup: u32) -> Option<Vec<Option<String>>>;
}

/// Why a configuration was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotApplied {
    /// These rows cannot be used.
    Rows(Vec<RowProblem>),
    /// The rest of the sentence "the configuration was not applied: ".
    Because(String),
}

/// A statement that `POINTSMAN EXPLAIN ROUTE` asks about, and the session that would send it. What is `None` the data plane
/// chooses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// The user.
    pub user: Option<String>,
    /// The current schema.
    pub schema: Option<String>,
    /// The client's address.
    pub client: Option<String>,
    /// The port that the client connected to.
    pub port: Option<u16>,
    /// The statement.
    pub statement: String,
}

/// How the data plane decides about a statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explained {
    /// The steps: what is looked at, what comes of it, and details.
    pub steps: Vec<[String; 3]>,
    /// The same as a JSON object.
    pub json: String,
}

/// Something that a client of the admin port did, or that happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminEvent {
    /// What.
    pub did: AdminDid,
    /// The connection id that the client was told.
    pub id: u32,
    /// The user; empty if it has named none.
    pub user: String,
    /// Its address; none on a Unix socket.
    pub client: Option<SocketAddr>,
    /// Whether it uses TLS.
    pub tls: bool,
    /// For how long it was connected by then.
    pub age: Duration,
    /// Why it was refused; else empty.
    pub why: String,
}

/// What clients of the admin port do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminDid {
    /// Log in.
    Connect,
    /// Try to, and be refused.
    FailToConnect,
    /// Become another user.
    ChangeUser,
    /// Try to, and be refused.
    FailToChangeUser,
    /// Say goodbye.
    Quit,
    /// Be gone.
    Leave,
}

/// What the running proxy can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// To accept no new clients.
    Pause,
    /// To accept clients again.
    Resume,
    /// To end: at once, or after sessions had the time of a drain.
    Shutdown {
        /// Whether sessions are drained.
        slow: bool,
    },
    /// To end as in a slow shutdown and to start anew.
    Restart,
    /// To read the files of TLS again.
    ReloadTls,
    /// To forget the addresses whose connections failed.
    FlushClientHosts,
    /// To begin new files of the logs of statements.
    FlushLogs,
}

/// A row of `mysql_collations`.
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

/// A row of `stats_mysql_processlist`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Process {
    /// The worker.
    pub thread: u16,
    /// The connection's id.
    pub id: u32,
    /// The user; empty before the login.
    pub user: String,
    /// The schema that was asked for last, if any.
    pub schema: Option<String>,
    /// The client's address and port; for a Unix socket its path and 0.
    pub client: (String, u16),
    /// Where queries of the session go.
    pub hostgroup: u32,
    /// This end of the connection to the server, if there is one.
    pub local: Option<(String, u16)>,
    /// The server, if there is a connection to one.
    pub server: Option<(String, u16)>,
    /// `Sleep`, `Query`, ... as in ProxySQL.
    pub command: &'static str,
    /// Milliseconds since the command began.
    pub time_ms: u64,
    /// The statement that runs, as far as it was kept.
    pub info: Option<Vec<u8>>,
    /// What binds the session to its connection to a server while it waits for its client, and for how many milliseconds it has.
    pub pin: Option<(&'static str, u64)>,
    /// What else is known of it, as JSON; the pin as well.
    pub extended: Option<String>,
}

/// A row of `stats_mysql_connection_pool`: a server of a hostgroup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PoolServer {
    /// The hostgroup.
    pub hostgroup: u32,
    /// The host, or the path of a Unix socket.
    pub host: String,
    /// The port; 0 for a Unix socket.
    pub port: u16,
    /// `ONLINE`, `SHUNNED`, `OFFLINE_SOFT`, `OFFLINE_HARD` or `SHUNNED_REPLICATION_LAG`.
    pub status: &'static str,
    /// Connections that sessions have.
    pub used: u64,
    /// Connections that nobody has.
    pub free: u64,
    /// Connections that were made.
    pub ok: u64,
    /// Connections that could not be made.
    pub err: u64,
    /// The most connections that were in use at once.
    pub max_used: u64,
    /// Statements that were sent.
    pub queries: u64,
    /// Those of them that had to see a transaction, by its GTID.
    pub synced: u64,
    /// Bytes that were sent.
    pub bytes_sent: u64,
    /// Bytes that came back.
    pub bytes_received: u64,
    /// Microseconds that the server took to answer the monitor's last ping, or to make the last connection, its login included;
    /// 0 if there was neither.
    pub latency_us: u64,
}

/// A server that is in use in a hostgroup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Member {
    /// The hostgroup.
    pub hostgroup: u32,
    /// The hostgroup of the row of `mysql_servers` that says how it is used.
    pub configured_in: u32,
    /// The host, or the path of a Unix socket.
    pub host: String,
    /// The port; 0 for a Unix socket.
    pub port: u16,
    /// As in [`PoolServer::status`].
    pub status: &'static str,
    /// The row of a server that `mysql_servers` does not have, because others of its cluster name it.
    pub discovered: Option<Server>,
}

/// What is checked of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckKind {
    /// Whether they take a new connection.
    Connect,
    /// Whether they answer a ping.
    Ping,
    /// Whether they are read-only.
    ReadOnly,
    /// How far they are behind.
    ReplicationLag,
    /// How they see their replication group.
    GroupReplication,
    /// How they are in their Galera cluster.
    Galera,
    /// How they see their Aurora cluster.
    Aurora,
}

/// A row of a table `monitor.mysql_server_..._log`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckResult {
    /// The host, or the path of a Unix socket.
    pub host: String,
    /// The port; 0 for a Unix socket.
    pub port: u16,
    /// When the check began, in microseconds of Unix time.
    pub start_us: u64,
    /// Microseconds that it took; 0 if it failed.
    pub took_us: u64,
    /// What the server has said of itself: whether it is read-only (1 or 0), or seconds of lag.
    pub value: Option<i64>,
    /// What a server of a cluster has said, in the order of the columns of its table; none if it has not.
    pub details: Vec<CheckDetail>,
    /// Why it failed.
    pub error: Option<String>,
}

/// Something that a server of a cluster has said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckDetail {
    /// In words.
    Text(String),
    /// As a number.
    Number(i64),
}

/// A row of `mysql_server_aws_aurora_check_status`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuroraChecks {
    /// The cluster's writer hostgroup.
    pub writer_hostgroup: u32,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// When the last check began, in seconds of Unix time.
    pub last_s: u64,
    /// How many there were.
    pub total: u64,
    /// How many of them went well.
    pub well: u64,
    /// Why the last one that did not did not.
    pub error: Option<String>,
}

/// A row of `mysql_server_aws_aurora_failovers`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuroraFailover {
    /// The cluster's writer hostgroup.
    pub writer_hostgroup: u32,
    /// The server that became the writer.
    pub host: String,
    /// When that was seen, in seconds of Unix time.
    pub time_s: u64,
}

/// A row of `stats_pointsman_server_events`.
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
    /// `SHUNNED`, `ONLINE`, `SHUNNED_REPLICATION_LAG`, `CAUGHT_UP`, `JOINED` or `LEFT`.
    pub event: &'static str,
    /// Why.
    pub cause: String,
}

/// A row of `stats_mysql_free_connections`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FreeConnection {
    /// The socket's file descriptor.
    pub fd: i32,
    /// The hostgroup, host and port of the server.
    pub server: (u32, String, u16),
    /// The user of the connection.
    pub user: String,
    /// Its schema.
    pub schema: Option<String>,
    /// Milliseconds since somebody used it.
    pub idle_ms: u64,
}

/// A row of `stats_mysql_users`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserConnections {
    /// The user.
    pub user: String,
    /// Clients that are logged in.
    pub connections: u32,
    /// The most that may be.
    pub max: u32,
}

/// A row of `stats_mysql_commands_counters`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandCounter {
    /// ProxySQL's name of the kind of statement.
    pub command: &'static str,
    /// Microseconds that they took together.
    pub total_us: u64,
    /// How many there were.
    pub count: u64,
    /// How many took at most 100, 500 us, 1, 5, 10, 50, 100, 500 ms, 1, 5, 10 s, and longer; each is in one of them.
    pub buckets: [u64; 12],
}

/// A row of `stats_mysql_errors`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerError {
    /// The hostgroup, host and port of the server.
    pub server: (u32, String, u16),
    /// The user.
    pub user: String,
    /// The client's address.
    pub client: String,
    /// The schema.
    pub schema: String,
    /// MySQL's number of the error.
    pub code: u16,
    /// How often it came.
    pub count: u64,
    /// When it came first, in seconds of Unix time.
    pub first_seen: u64,
    /// When it came last.
    pub last_seen: u64,
    /// What the server said last.
    pub message: String,
}

/// A row of `stats_mysql_gtid_executed`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExecutedGtids {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The GTIDs, as MySQL writes them; nothing while they are not known.
    pub executed: Option<String>,
    /// Lines that its reader has said.
    pub events: u64,
}

/// A row of `stats_mysql_client_host_cache`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClientHost {
    /// The address.
    pub address: String,
    /// Connections from there that failed, one after the other.
    pub errors: u64,
    /// When the last one did, in microseconds of the proxy's clock.
    pub last_updated: u64,
}

/// A row of `stats_mysql_query_digest` and `stats_pointsman_digest_latency`: statements that differ in their values only, of
/// one user with one schema in one hostgroup. Names and texts need not be UTF-8. Times are microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Digest {
    /// The hostgroup.
    pub hostgroup: u32,
    /// The schema; empty if there was none.
    pub schema: Arc<[u8]>,
    /// The user.
    pub user: Arc<[u8]>,
    /// The client's address, if digests are told apart by it.
    pub client: Arc<[u8]>,
    /// The hash of the text.
    pub digest: u64,
    /// The statement without its values.
    pub text: Arc<[u8]>,
    /// How often it was executed.
    pub count: u64,
    /// When it was first, in seconds of Unix time.
    pub first_seen: u64,
    /// When it was last.
    pub last_seen: u64,
    /// The time of all executions.
    pub sum_us: u64,
    /// That of the shortest.
    pub min_us: u64,
    /// That of the longest.
    pub max_us: u64,
    /// The times that 50, 95, 99 and 99.9 % took at most.
    pub percentiles_us: [u64; 4],
    /// Rows that were changed.
    pub rows_affected: u64,
    /// Rows that were sent to clients.
    pub rows_sent: u64,
    /// Bytes of the statements.
    pub bytes_received: u64,
    /// Bytes of the answers.
    pub bytes_sent: u64,
    /// Executions that ended with an error.
    pub errors: u64,
}
