//! What came of the checks of servers.

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
    /// What a server of a cluster has said, in the order of the columns of its table; none if it
    /// has not.
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
