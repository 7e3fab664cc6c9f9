//! How long connecting to a server may take.

use std::time::Duration;

use config::{Listener, MysqlVariables};

/// Limits of connecting: those of the variables, or of a layer-4 listener.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Of one attempt, `connect_timeout_server`.
    pub(crate) attempt: Duration,
    /// Of all attempts together, `connect_timeout_server_max`.
    pub(crate) whole: Duration,
}

impl Times {
    /// The limits of the variables.
    pub(crate) const fn of(variables: &MysqlVariables) -> Self {
        Self { attempt: variables.connect_timeout_server, whole: variables.connect_timeout_server_max }
    }

    /// The limits of a listener's clients.
    pub fn at(listener: &Listener, variables: &MysqlVariables) -> Self {
        let Self { attempt, whole } = Self::of(variables);
        Self {
            attempt: listener.connect_timeout_server.unwrap_or(attempt),
            whole: listener.connect_timeout_server_max.unwrap_or(whole),
        }
    }

    /// Whether a server that has not answered within `limit` is to blame, and not the session,
    /// which had no more time left. A little is always gone for pauses between attempts; if no
    /// attempt has all the time that it may take, half of what there is counts.
    pub(crate) fn has_had_time(self, limit: Duration) -> bool {
        if self.whole < self.attempt { limit >= self.whole / 2 } else { limit >= self.attempt / 10 * 9 }
    }
}
