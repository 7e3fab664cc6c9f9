//! What the admin port asks of the proxy and tells it: orders, questions, events; and why a wish
//! may not be fulfilled.

use std::net::SocketAddr;
use std::time::Duration;

use config::RowProblem;

/// Why a configuration was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotApplied {
    /// These rows cannot be used.
    Rows(Vec<RowProblem>),
    /// The rest of the sentence "the configuration was not applied: ".
    Because(String),
}

/// What servers say of the tables of a layout.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShardCheck {
    /// Why the layout is not loaded.
    pub problems: Vec<RowProblem>,
    /// What does not keep the layout from being loaded.
    pub warnings: Vec<String>,
}

/// A statement that `POINTSMAN EXPLAIN ROUTE` asks about, and the session that would send it. What
/// is `None` the data plane chooses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Question {
    /// The user.
    pub user: Option<String>,
    /// The current schema.
    pub schema: Option<String>,
    /// The client's address.
    pub client: Option<String>,
    /// The port that the client connected to.
    pub port: Option<u16>,
    /// The statement.
    pub statement: String,
}

/// How the data plane decides about a statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Explained {
    /// The steps: what is looked at, what comes of it, and details.
    pub steps: Vec<[String; 3]>,
    /// The same as a JSON object.
    pub json: String,
}

/// Something that a client of the admin port did, or that happened to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminEvent {
    /// What.
    pub did: AdminDid,
    /// The connection id that the client was told.
    pub id: u32,
    /// The user; empty if it has named none.
    pub user: String,
    /// Its address; none on a Unix socket.
    pub client: Option<SocketAddr>,
    /// Whether it uses TLS.
    pub tls: bool,
    /// For how long it was connected by then.
    pub age: Duration,
    /// Why it was refused; else empty.
    pub why: String,
}

/// What clients of the admin port do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminDid {
    /// Log in.
    Connect,
    /// Try to, and be refused.
    FailToConnect,
    /// Become another user.
    ChangeUser,
    /// Try to, and be refused.
    FailToChangeUser,
    /// Say goodbye.
    Quit,
    /// Be gone.
    Leave,
}

/// What the running proxy can be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// To accept no new clients.
    Pause,
    /// To accept clients again.
    Resume,
    /// To end: at once, or after sessions had the time of a drain.
    Shutdown {
        /// Whether sessions are drained.
        slow: bool,
    },
    /// To end as in a slow shutdown and to start anew.
    Restart,
    /// To read the files of TLS again.
    ReloadTls,
    /// To forget the addresses whose connections failed.
    FlushClientHosts,
    /// To begin new files of the logs of statements.
    FlushLogs,
}
