//! What the proxy counts, as others read it.

/// How many clients a user has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserConnections {
    /// The user's name.
    pub user: String,
    /// Clients that are logged in.
    pub connections: u32,
    /// The most that may be.
    pub max: u32,
}
