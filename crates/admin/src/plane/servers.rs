//! Servers, as statistics show them.

use config::Server;

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
    /// Microseconds that the server took to answer the monitor's last ping, or to make the last
    /// connection, its login included; 0 if there was neither.
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
    /// The row of a server that `mysql_servers` does not have, because others of its cluster name
    /// it.
    pub discovered: Option<Server>,
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
