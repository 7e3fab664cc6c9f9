//! What comes of a check.

use std::time::Duration;

/// What came of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// The server has answered what it was asked.
    Well(Told),
    /// It has answered, but with an error: it does not let the monitor in, say. It is there.
    Refused,
    /// It has not answered in time.
    TimedOut,
    /// It cannot be reached, or has broken the connection off.
    Unreachable,
    /// Nothing is known: it was the monitor that was late.
    Void,
}

/// What a server has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Told {
    /// That it is there.
    Alive,
    /// Whether it is read-only.
    ReadOnly(bool),
    /// How far it is behind.
    Lag(Lag),
}

/// How far a server is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lag {
    /// It replicates from no server.
    NoReplica,
    /// It is a replica and does not know: its replication has stopped, mostly.
    Unknown,
    /// So far.
    Behind(Duration),
}

impl Finding {
    /// Whether it shows that the server is there.
    pub const fn is_sign_of_life(self) -> bool {
        matches!(self, Self::Well(_) | Self::Refused)
    }

    /// Whether it shows that the server is not there.
    pub const fn is_miss(self) -> bool {
        matches!(self, Self::TimedOut | Self::Unreachable)
    }
}
