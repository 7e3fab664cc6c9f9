//! What has changed, and why.

use std::time::Duration;

/// A change of one server in one hostgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<E> {
    /// The hostgroup.
    pub hostgroup: u32,
    /// The server.
    pub server: E,
    /// What has changed.
    pub change: Change,
    /// Why: what was observed.
    pub cause: String,
}

/// What has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The server does not answer: no session gets it, and its connections are to be closed.
    Down,
    /// It answers again.
    Up,
    /// It lags so much, which is more than it may.
    Lags(Duration),
    /// It has so many transactions to apply, which are more than it may.
    Behind(u64),
    /// It lags no more than it may.
    KeepsUp,
    /// It is in the hostgroup now.
    Joined,
    /// It is not in the hostgroup any more.
    Left,
}
