//! Errors in the words of a log: with code and SQLSTATE.

use std::fmt::{self, Display};

use super::ClientError;

/// An error with its code and SQLSTATE in front of its text.
#[derive(Debug)]
pub struct Logged<'a>(&'a ClientError);

impl ClientError {
    /// The error as logs show it.
    pub const fn logged(&self) -> Logged<'_> {
        Logged(self)
    }
}

impl Display for Logged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (code, sql_state) = (self.0.code(), self.0.sql_state());
        write!(f, "{code} ({}): {}", String::from_utf8_lossy(&sql_state), self.0)
    }
}
