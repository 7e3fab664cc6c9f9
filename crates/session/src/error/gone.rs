//! How a server was lost.

use std::fmt::{self, Display};

use pool::Off;

/// How a server was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// It has closed the connection, or it broke.
    Closed,
    /// It has refused a setting of the session that it had taken before.
    Refused,
    /// Other servers get reads of its hostgroup, too, and the session depends on that they do not.
    NotOnly,
    /// No session is to use it any more.
    Off(Off),
}

impl Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "has closed the connection",
            Self::Refused => "has refused a setting of the session that it had taken before",
            Self::NotOnly => "is not the only one that gets the reads of its hostgroup",
            Self::Off(Off::Configured) => "was set OFFLINE_HARD",
            Self::Off(Off::Down) => "does not answer",
            Self::Off(Off::Left) => "has left the hostgroup",
        })
    }
}
