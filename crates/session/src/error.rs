//! Errors that the proxy makes itself: a variant for each, with its code, SQLSTATE and text.

mod full;
mod gone;
mod logged;
mod make;
mod packet;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use pool::Off;
use wire::WireError;
use wire::command::{Kind, LAST_STATEMENT};

use crate::state::pins::Pin;

pub use full::{NoPlace, TooFew};
pub use gone::Gone;

/// An error that the proxy tells a client. Displayed as the text of its ERR packet.
///
/// Servers are named as their endpoints. Large fields are boxed: results that are futures' hold it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "fields are explained by the texts that they stand in")]
pub enum ClientError {
    /// The proxy has all the clients that it may have.
    #[error("Too many connections (mysql-max_connections is {max}){why}")]
    TooManyConnections { max: u32, why: NoPlace },
    /// As many clients are there from an address as may be.
    #[error("Too many connections from {address} (mysql-max_connections_per_address is {max})")]
    TooManyFromAddress { address: IpAddr, max: u32 },
    /// A listener has all the clients that it may have.
    #[error("Too many connections (max_connections of this listener is {max})")]
    ListenerFull { max: u32 },
    /// The process has as many descriptors as it may have for this.
    #[error("Too many connections ({0})")]
    NoDescriptor(TooFew),
    /// The user has all the connections that it may have.
    #[error(
        "User '{}' has exceeded the 'max_user_connections' resource (current value: {}){}",
        .0.user, .0.max, .0.why
    )]
    TooManyUserConnections(Box<UserFull>),
    /// No such user, or not this password. The text is the same for both.
    #[error("{0}")]
    AccessDenied(Box<Denied>),
    /// The client has sent its password, right or not, where others can read it.
    #[error(
        "{0}: the client sent its password unencrypted, which is refused; use TLS, or make it encrypt the \
         password with RSA (MariaDB's client: --skip-ssl)"
    )]
    UnprotectedPassword(Box<Denied>),
    /// The client's side of the login makes no sense.
    #[error("Bad handshake: {0}")]
    BadHandshake(Box<str>),
    /// A level of zstd that there is not.
    #[error("Invalid zstd compression level {0}: there are 1 to 22")]
    CompressionLevel(u8),
    /// A command byte that is not in the protocol, or no byte at all.
    #[error("Unknown command")]
    UnknownCommand,
    /// The proxy is on its way down.
    #[error("Server shutdown in progress")]
    Shutdown,
    /// The server of the session is of no use any more, in the middle of something that only it
    /// knows.
    #[error("Server shutdown in progress: server {server} {}", Gone::Off(*.off))]
    ServerOff { server: Box<str>, off: Off },
    /// A server is lost, and with it the session's state that only it knows.
    #[error("Server shutdown in progress: server {server} {gone}; lost with it: {}", .pin.name())]
    SessionLost { server: Box<str>, gone: Gone, pin: Pin },
    /// The transaction is lost with its server.
    #[error("Transaction was rolled back: server {server} {gone}; try restarting transaction")]
    TransactionLost { server: Box<str>, gone: Gone },
    /// The layout has changed while a transaction was open at shards.
    #[error(
        "Transaction was rolled back: the layout of sharded tables has changed; try restarting transaction"
    )]
    LayoutChanged,
    /// A part of a statement has ended the transaction at its shard, before this part was run.
    #[error(
        "Transaction was rolled back: an earlier part of the statement has failed; try restarting transaction"
    )]
    PartFailed,
    /// A server was lost before it answered to a statement that changes nothing.
    #[error("Nothing was changed: server {server} {gone}; try again")]
    NothingDone { server: Box<str>, gone: Gone },
    /// A server was lost before it answered to a statement that may have been done.
    #[error(
        "Outcome unknown: server {server} {gone} before it answered; the statement may have been done, and is \
         not repeated"
    )]
    OutcomeUnknown { server: Box<str>, gone: Gone },
    /// The same of a COMMIT: the error with which it ended.
    #[error("Outcome unknown: the transaction may have been committed, and is not repeated; {0}")]
    CommitUnknown(Box<Self>),
    /// A transaction over several servers, or a statement that was one, has committed at some of
    /// them only: what has become of each part.
    #[error("Committed in part, not to be repeated: {0}")]
    CommittedInPart(Box<str>),
    /// The server went away while it owed an answer.
    #[error("Lost connection to MySQL server during query (server {server})")]
    ServerLost { server: Box<str> },
    /// No session of this user has the id.
    #[error("Unknown thread id: {id}")]
    UnknownThread { id: u64 },
    /// A server was asked for a session of the proxy's, in a statement that the proxy does not
    /// carry out itself.
    #[error(
        "Unknown thread id: {id}: this id is the proxy's, and the server, which was asked, does not know it; send \
         KILL {id} as a statement of its own"
    )]
    ThreadOfProxy { id: u32 },
    /// A KILL did not reach the server that it was for, or the server did not answer.
    #[error("Cannot kill {id} at server {}: {}", .at.server, .at.why)]
    KillFailed { id: u64, at: Box<AtServer> },
    /// A KILL was sent to the session that it names, which did not react.
    #[error("Cannot kill {id}: no answer within {}ms", .waited.as_millis())]
    KillUnanswered { id: u64, waited: Duration },
    /// A server has asked for a file on a statement that loads none, or the client offers none.
    #[error("Server {server} asked for a local file that this statement does not load")]
    FileNotExpected { server: Box<str> },
    /// A command larger than `mysql-max_allowed_packet`.
    #[error("Got a packet bigger than 'max_allowed_packet' bytes ({max})")]
    PacketTooLarge { max: u32 },
    /// A packet with another sequence id than the next one.
    #[error("Got {0}")]
    PacketsOutOfOrder(Box<WireError>),
    /// A frame of the compressed protocol that does not hold what its header says.
    #[error("Couldn't uncompress communication packet: {0}")]
    BadFrame(Box<WireError>),
    /// Other bytes that are not the protocol.
    #[error("Malformed communication packet: {0}")]
    MalformedPacket(Box<WireError>),
    /// A limit of a user or a query rule is reached; the text names it, with numbers.
    #[error("{0}")]
    LimitReached(Box<str>),
    /// A query rule, the firewall or the listener's role answers with this text.
    #[error("{0}")]
    ByRule(Arc<str>),
    /// A rule answers the statement with OK, which is no answer to its preparation. Drivers that
    /// know the error send the statement as text instead.
    #[error(
        "This command is not supported in the prepared statement protocol yet: a query rule answers it with OK"
    )]
    OkIsNotPrepared,
    /// The session cannot leave the hostgroup that it is on.
    #[error(
        "connection is locked to hostgroup {locked_on} but trying to reach hostgroup {hostgroup}: the session has \
         set something there that cannot be set elsewhere"
    )]
    Locked { locked_on: u32, hostgroup: u32 },
    /// A KILL has ended the statement before a server had it.
    #[error("Query execution was interrupted")]
    Interrupted,
    /// The statement took longer than a rule, a hint or a variable allows.
    #[error("Query execution was interrupted, query_timeout exceeded")]
    QueryTimeout,
    /// A KILL has ended the session. MySQL says nothing to idle clients.
    #[error("Connection was killed")]
    ConnectionKilled,
    /// The client was idle for longer than its own `wait_timeout`; in MySQL's words.
    #[error(
        "The client was disconnected by the server because of inactivity. See wait_timeout and \
         interactive_timeout for configuring this behavior."
    )]
    IdleTooLong,
    /// A prepared statement is something else now than what its client was told.
    #[error("Prepared statement needs to be re-prepared")]
    NeedReprepare,
    /// There is no prepared statement with this number.
    #[error("Unknown prepared statement handler ({id}) given to Pointsman")]
    UnknownStatement { id: u32 },
    /// MariaDB's number for the last statement, and there is none; in its words.
    #[error(
        "Unknown prepared statement handler ({LAST_STATEMENT}) given to mysqld_stmt_{}",
        make::name_at_mariadb(*.0)
    )]
    NoLastStatement(Kind),
    /// Nothing can be fetched from this statement, in the words of the server's make.
    #[error("The statement ({id}) has no open cursor{}", if *.is_mariadb { "" } else { "." })]
    NoCursor { id: u32, is_mariadb: bool },
    /// An execution says nothing of its types, which its server has not heard, and they cannot be
    /// added.
    #[error(
        "Incorrect arguments to EXECUTE: statement {id} was executed at another server before, and this execution \
         is too large to add the types of its parameters"
    )]
    NoTypes { id: u32 },
    /// `PROXYSQL INTERNAL` of something that there is not; the text is ProxySQL's.
    #[error("Unknown PROXYSQL INTERNAL command")]
    UnknownInternal,
    /// `EXPLAIN ROUTE` of nothing.
    #[error("Query was empty: EXPLAIN ROUTE needs a statement to explain")]
    NothingToExplain,
    /// A statement over sharded tables that the proxy cannot execute: the part that it is about,
    /// and the reason.
    #[error("This version of Pointsman doesn't yet support '{}' over sharded tables: {}", .0.0, .0.1)]
    NotSharded(Box<(String, String)>),
    /// A row of a sharded table gets no id: the table, and behind a colon the reason.
    #[error("Cannot make an id for a row of {0}")]
    NoIds(Box<str>),
    /// There is no trace to be shown.
    #[error("This session keeps no trace; SET pointsman_trace = 1 makes it keep one")]
    NotTraced,
    /// No server in time.
    #[error("Max connect timeout reached while reaching hostgroup {} {}", .0.hostgroup, .0)]
    NoBackend(Box<Search>),
    /// The same for a session whose commands are copied only, in ProxySQL's words.
    #[error(
        "Max connect timeout reached while reaching hostgroup {} for 'fast_forward' session {}",
        .0.hostgroup, .0
    )]
    NoBackendForFastForward(Box<Search>),
    /// A server answered, and the login to it cannot succeed.
    #[error("Cannot log in to server {}: {}", .0.server, .0.why)]
    LoginFailed(Box<AtServer>),
    /// A server does not do what has to be done there before the client's statement.
    #[error("Cannot prepare the session at server {}: {}", .0.server, .0.why)]
    SetupFailed(Box<AtServer>),
}

/// A user with all the connections that it may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFull {
    user: Box<str>,
    max: u32,
    why: NoPlace,
}

/// A login that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "Access denied for user '{user}'@'{host}' (using password: {})",
    if *.password_given { "YES" } else { "NO" }
)]
pub struct Denied {
    user: Box<str>,
    host: Box<str>,
    password_given: bool,
}

/// A search for a server of a hostgroup that has found none in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("after {}ms: {tried}", .waited.as_millis())]
pub struct Search {
    hostgroup: u32,
    waited: Duration,
    /// What was tried, with numbers.
    tried: Box<str>,
}

/// Something that has failed at a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AtServer {
    server: Box<str>,
    why: Box<str>,
}

impl ClientError {
    /// Its number: MySQL's or MariaDB's; from 9001 on, and 1907, ProxySQL's and Pointsman's.
    pub const fn code(&self) -> u16 {
        match self {
            Self::TooManyConnections { .. }
            | Self::TooManyFromAddress { .. }
            | Self::ListenerFull { .. }
            | Self::NoDescriptor(_) => 1040,
            Self::BadHandshake(_) => 1043,
            Self::AccessDenied(_) | Self::UnprotectedPassword(_) => 1045,
            Self::UnknownCommand => 1047,
            Self::Shutdown | Self::ServerOff { .. } | Self::SessionLost { .. } => 1053,
            Self::UnknownInternal => 1064,
            Self::NothingToExplain => 1065,
            Self::UnknownThread { .. } | Self::ThreadOfProxy { .. } => 1094,
            Self::KillFailed { .. } | Self::KillUnanswered { .. } => 1105,
            Self::FileNotExpected { .. } | Self::ByRule(_) => 1148,
            Self::PacketTooLarge { .. } => 1153,
            Self::PacketsOutOfOrder(_) => 1156,
            Self::BadFrame(_) => 1157,
            Self::NoTypes { .. } => 1210,
            Self::TransactionLost { .. }
            | Self::LayoutChanged
            | Self::PartFailed
            | Self::NothingDone { .. } => 1213,
            Self::TooManyUserConnections(_) | Self::LimitReached(_) => 1226,
            Self::NotTraced | Self::NotSharded(_) => 1235,
            Self::UnknownStatement { .. } | Self::NoLastStatement(_) => 1243,
            Self::OkIsNotPrepared => 1295,
            Self::Interrupted => 1317,
            Self::NoCursor { .. } => 1421,
            Self::NeedReprepare => 1615,
            Self::MalformedPacket(_) => 1835,
            Self::NoIds(_) => 1467,
            Self::QueryTimeout => 1907,
            Self::ConnectionKilled => 1927,
            Self::ServerLost { .. } => 2013,
            Self::CompressionLevel(_) => 3923,
            Self::IdleTooLong => 4031,
            Self::NoBackend(_) | Self::NoBackendForFastForward(_) => 9001,
            Self::LoginFailed(_) => 9002,
            Self::Locked { .. } => 9006,
            Self::SetupFailed(_) => 9008,
            Self::OutcomeUnknown { .. } | Self::CommitUnknown(_) => 9009,
            // No client library knows it: none repeats what it has sent.
            Self::CommittedInPart(_) => 9010,
        }
    }

    /// Its SQLSTATE.
    pub const fn sql_state(&self) -> [u8; 5] {
        match self {
            // Drivers and frameworks begin again on this one.
            _ if self.may_retry() => *b"40001",
            // The transaction's outcome is not known: clients do not begin it again.
            Self::OutcomeUnknown { .. } | Self::CommitUnknown(_) => *b"08007",
            Self::TooManyConnections { .. }
            | Self::TooManyFromAddress { .. }
            | Self::ListenerFull { .. }
            | Self::NoDescriptor(_) => *b"08004",
            Self::BadHandshake(_)
            | Self::UnknownCommand
            | Self::Shutdown
            | Self::ServerOff { .. }
            | Self::SessionLost { .. }
            | Self::PacketTooLarge { .. }
            | Self::PacketsOutOfOrder(_)
            | Self::BadFrame(_) => *b"08S01",
            Self::AccessDenied(_) | Self::UnprotectedPassword(_) => *b"28000",
            Self::UnknownInternal
            | Self::NothingToExplain
            | Self::FileNotExpected { .. }
            | Self::ByRule(_)
            | Self::TooManyUserConnections(_)
            | Self::LimitReached(_)
            | Self::NotTraced
            | Self::NotSharded(_) => *b"42000",
            Self::Interrupted | Self::QueryTimeout | Self::ConnectionKilled => *b"70100",
            Self::Locked { .. } => *b"Y0000",
            _ => *b"HY000",
        }
    }

    /// The hostgroup that it is about, if its text names one.
    pub fn hostgroup(&self) -> Option<u32> {
        match self {
            Self::NoBackend(search) | Self::NoBackendForFastForward(search) => Some(search.hostgroup),
            Self::Locked { hostgroup, .. } => Some(*hostgroup),
            _ => None,
        }
    }

    /// Whether the client may begin its transaction, or send its statement, again: nothing of it
    /// was done.
    pub(crate) const fn may_retry(&self) -> bool {
        matches!(
            self,
            Self::TransactionLost { .. } | Self::LayoutChanged | Self::PartFailed | Self::NothingDone { .. }
        )
    }

    /// Whether client libraries use its code for an error of their own.
    pub const fn is_of_client_library(&self) -> bool {
        matches!(self, Self::ServerLost { .. })
    }

    /// Whether it says that no server answers: none was reached, or it was lost before it answered
    /// to something that changes nothing.
    pub const fn is_no_answer(&self) -> bool {
        matches!(self, Self::NoBackend(_) | Self::NothingDone { .. } | Self::ServerLost { .. })
    }

    /// Whether it is about what servers lack: none is there in time, or none that does what the
    /// session needs. A server of another hostgroup may do instead.
    pub const fn is_lack_of_server(&self) -> bool {
        matches!(
            self,
            Self::NoBackend(_)
                | Self::NoBackendForFastForward(_)
                | Self::LoginFailed(_)
                | Self::SetupFailed(_)
        )
    }
}

#[cfg(test)]
mod tests;
