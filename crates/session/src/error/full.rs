//! Why a client or a connection finds no place.

use std::fmt::{self, Display};
use std::time::Duration;

/// Why a client gets no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    /// Clients do not wait for one, or too many do.
    Refused,
    /// None has become free in this time, and so many others wait.
    Late(Duration, usize),
}

impl Display for NoPlace {
    /// What stands behind an error's text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => Ok(()),
            Self::Late(waited, waiting) => {
                write!(f, "; no place within {}ms, {waiting} more clients wait", waited.as_millis())
            }
        }
    }
}

/// Descriptors are left over only for what is more urgent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the proxy may have {limit} open files, and the rest is reserved; raise its limit (ulimit -n)")]
pub struct TooFew {
    /// Descriptors that the process may have.
    pub limit: u64,
}
