//! Clients of the proxy, as statistics show them.

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
    /// What binds the session to its connection to a server while it waits for its client, and for
    /// how many milliseconds it has.
    pub pin: Option<(&'static str, u64)>,
    /// What else is known of it, as JSON; the pin as well.
    pub extended: Option<String>,
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
