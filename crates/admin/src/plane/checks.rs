//! What is checked of servers.

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
