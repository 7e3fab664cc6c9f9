//! One statement, and the spans that it becomes.

use std::time::Duration;

use crate::Parent;

/// A statement that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// The span of the client that the statement belongs to, if the client has sent one.
    pub parent: Option<Parent>,
    /// The trace, where there is no parent.
    pub trace: u128,
    /// Number of the statement's span; those of its parts follow from it.
    pub id: u64,
    /// When it ran.
    pub times: Times,
    /// Text of its digest, without values; empty if it has none.
    pub digest: String,
    /// Name of the command that the client has sent, such as `COM_QUERY`.
    pub command: &'static str,
    /// The schema of the session; empty if there is none.
    pub schema: String,
    /// The user of the session.
    pub user: String,
    /// The client's address; empty on a Unix socket.
    pub client: String,
    /// The server that has answered; nothing if the proxy has.
    pub server: Option<Server>,
    /// Number of the query rule that has chosen the hostgroup.
    pub rule: Option<i64>,
    /// Whether the query cache has answered.
    pub is_hit: bool,
    /// Rows of its results, if it had any.
    pub rows: Option<u64>,
    /// Number of the error; 0 if there was none.
    pub error: u16,
}

/// When a statement ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// How long it waited for a connection before it was sent.
    pub waited: Option<Duration>,
    /// How long it took from then on.
    pub took: Duration,
    /// When its reply was over, in Unix time.
    pub end: Duration,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its hostgroup.
    pub hostgroup: u32,
    /// Its name, address, or the path of its Unix socket.
    pub host: String,
    /// Its port; nothing at a Unix socket.
    pub port: Option<u16>,
}

impl Times {
    /// When the statement was sent, in Unix time.
    pub(crate) fn sent(&self) -> Duration {
        self.end.saturating_sub(self.took)
    }

    /// When the statement came, in Unix time.
    pub(crate) fn came(&self) -> Duration {
        self.sent().saturating_sub(self.waited.unwrap_or_default())
    }
}

impl Span {
    /// The trace that the statement belongs to.
    pub(crate) fn trace(&self) -> u128 {
        self.parent.map_or(self.trace, |parent| parent.trace)
    }
}
