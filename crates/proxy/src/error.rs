//! What clients are told when it is the proxy that has to say no.

use std::fmt::Display;
use std::time::Duration;

use pool::Off;
use wire::command::{Kind, LAST_STATEMENT};
use wire::frame::put_packet;
use wire::{Capabilities, packet};

use crate::descriptors::TooFew;
use crate::queueing::NoPlace;

/// How a server was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gone {
    /// It has closed the connection, or it broke.
    Closed,
    /// It has refused a setting of the session that it had taken before.
    Refused,
    /// Nobody is to use it any more.
    Off(Off),
}

impl Display for Gone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Closed => "has closed the connection",
            Self::Refused => "has refused a setting of the session that it had taken before",
            Self::Off(Off::Configured) => "was set OFFLINE_HARD",
            Self::Off(Off::Down) => "does not answer",
            Self::Off(Off::Left) => "has left the hostgroup",
        })
    }
}

/// An ERR packet made by the proxy: code, SQLSTATE and a text with the numbers that explain it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code} ({}): {message}", String::from_utf8_lossy(.sql_state))]
pub struct ClientError {
    code: u16,
    sql_state: [u8; 5],
    message: String,
}

impl ClientError {
    /// Its number.
    pub(crate) const fn code(&self) -> u16 {
        self.code
    }

    /// Its text.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Whether the code is one of those that client libraries use for themselves.
    pub(crate) const fn is_of_clients(&self) -> bool {
        matches!(self.code, 2000..3000)
    }

    /// Whether no server was found in time.
    pub(crate) const fn is_connect_timeout(&self) -> bool {
        self.code == 9001
    }

    /// Whether it is about what servers lack: there is none in time, or none that does what the
    /// session needs.
    pub(crate) const fn is_of_server(&self) -> bool {
        matches!(self.code, 9001 | 9002 | 9008)
    }

    const fn new(code: u16, sql_state: [u8; 5], message: String) -> Self {
        Self { code, sql_state, message }
    }

    /// 1040: the proxy has all the clients that it may have.
    pub(crate) fn too_many_connections(max: u32, why: NoPlace) -> Self {
        let detail = why.detail();
        Self::new(1040, *b"08004", format!("Too many connections (mysql-max_connections is {max}){detail}"))
    }

    /// 1040: as many clients are there from an address as may be.
    pub(crate) fn too_many_from(address: &impl Display, max: u32) -> Self {
        let message =
            format!("Too many connections from {address} (mysql-max_connections_per_address is {max})");
        Self::new(1040, *b"08004", message)
    }

    /// 1040: a listener has all the clients that it may have.
    pub(crate) fn listener_full(max: u32) -> Self {
        let message = format!("Too many connections (max_connections of this listener is {max})");
        Self::new(1040, *b"08004", message)
    }

    /// 1040: the process has as many descriptors as it may have for this.
    pub(crate) fn no_descriptor(why: TooFew) -> Self {
        Self::new(1040, *b"08004", format!("Too many connections ({why})"))
    }

    /// 1226: the user has all the connections that it may have.
    pub(crate) fn too_many_user_connections(user: &[u8], max: u32, why: NoPlace) -> Self {
        let (user, detail) = (String::from_utf8_lossy(user), why.detail());
        let message = format!(
            "User '{user}' has exceeded the 'max_user_connections' resource (current value: {max}){detail}"
        );
        Self::new(1226, *b"42000", message)
    }

    /// 1045: no such user, or not this password. The text is the same for both.
    pub(crate) fn access_denied(user: &[u8], host: &impl Display, password_given: bool) -> Self {
        let user = String::from_utf8_lossy(user);
        let using = if password_given { "YES" } else { "NO" };
        let message = format!("Access denied for user '{user}'@'{host}' (using password: {using})");
        Self::new(1045, *b"28000", message)
    }

    /// 1045 for a client that has sent its password where others can read it, right or not.
    pub(crate) fn unprotected_password(user: &[u8], host: &impl Display) -> Self {
        let denied = Self::access_denied(user, host, true);
        let advice = "the client sent its password unencrypted, which is refused; use TLS, or make it encrypt the \
                      password with RSA (MariaDB's client: --skip-ssl)";
        Self { message: format!("{}: {advice}", denied.message), ..denied }
    }

    /// 1043: the client's side of the login makes no sense.
    pub(crate) fn bad_handshake(why: &impl Display) -> Self {
        Self::new(1043, *b"08S01", format!("Bad handshake: {why}"))
    }

    /// 1047: a command byte that is not in the protocol, or no byte at all.
    pub(crate) fn unknown_command() -> Self {
        Self::new(1047, *b"08S01", "Unknown command".to_owned())
    }

    /// 1053: the proxy is on its way down.
    pub(crate) fn shutdown() -> Self {
        Self::new(1053, *b"08S01", "Server shutdown in progress".to_owned())
    }

    /// 1053: the server of the session is of no use any more, in the middle of something that only
    /// it knows.
    pub(crate) fn switched_off(server: &impl Display, off: Off) -> Self {
        let message = format!("Server shutdown in progress: server {server} {}", Gone::Off(off));
        Self::new(1053, *b"08S01", message)
    }

    /// 1053: a server is lost, and with it what only it knows; `lost` is the pin's name.
    pub(crate) fn lost_with(server: &impl Display, gone: Gone, lost: &str) -> Self {
        let message = format!("Server shutdown in progress: server {server} {gone}; lost with it: {lost}");
        Self::new(1053, *b"08S01", message)
    }

    /// 1213: the transaction is lost with its server. It is what servers say when they roll back:
    /// clients know that they may begin again.
    pub(crate) fn rolled_back(server: &impl Display, gone: Gone) -> Self {
        let message =
            format!("Transaction was rolled back: server {server} {gone}; try restarting transaction");
        Self::new(1213, *b"40001", message)
    }

    /// 1213: a server was lost before it answered to what changes nothing there.
    pub(crate) fn nothing_done(server: &impl Display, gone: Gone) -> Self {
        Self::new(1213, *b"40001", format!("Nothing was changed: server {server} {gone}; try again"))
    }

    /// The same about a COMMIT: whether it was done is not known.
    pub(crate) fn of_commit(self) -> Self {
        let message = format!(
            "Outcome unknown: the transaction may have been committed, and is not repeated; {}",
            self.message
        );
        Self::new(9009, *b"08007", message)
    }

    /// 9009: a server was lost before it answered to what may have been done. The SQLSTATE is that
    /// of transactions of which nobody knows how they ended; clients do not take it for one that
    /// may be repeated.
    pub(crate) fn outcome_unknown(server: &impl Display, gone: Gone) -> Self {
        let message = format!(
            "Outcome unknown: server {server} {gone} before it answered; the statement may have been done, and is not repeated"
        );
        Self::new(9009, *b"08007", message)
    }

    /// 1094: no session of this user has the id.
    pub(crate) fn unknown_thread(id: u64) -> Self {
        Self::new(1094, *b"HY000", format!("Unknown thread id: {id}"))
    }

    /// 1094: a server was asked for a session of the proxy's, in a statement that the proxy does
    /// not carry out itself.
    pub(crate) fn not_of_server(id: u32) -> Self {
        let message = format!(
            "Unknown thread id: {id}: this id is the proxy's, and the server, which was asked, does not know it; \
             send KILL {id} as a statement of its own"
        );
        Self::new(1094, *b"HY000", message)
    }

    /// 1105: a KILL did not reach the server that it was for, or the server did not answer.
    pub(crate) fn kill_failed(id: u64, server: &impl Display, why: &impl Display) -> Self {
        Self::new(1105, *b"HY000", format!("Cannot kill {id} at server {server}: {why}"))
    }

    /// 1105: a KILL was sent to the session that it names, which did not react.
    pub(crate) fn kill_unanswered(id: u64, waited: Duration) -> Self {
        let ms = waited.as_millis();
        Self::new(1105, *b"HY000", format!("Cannot kill {id}: no answer within {ms}ms"))
    }

    /// 1148: a server has asked for a file on a statement that loads none, or the client offers
    /// none.
    pub(crate) fn file_not_expected(server: &impl Display) -> Self {
        let message = format!("Server {server} asked for a local file that this statement does not load");
        Self::new(1148, *b"42000", message)
    }

    /// 1153: a command larger than `mysql-max_allowed_packet`.
    pub(crate) fn packet_too_large(max: u32) -> Self {
        let message = format!("Got a packet bigger than 'max_allowed_packet' bytes ({max})");
        Self::new(1153, *b"08S01", message)
    }

    /// 1156, 1157 or 1835: bytes that are not the protocol, or not at this place.
    pub(crate) fn malformed(error: wire::WireError) -> Self {
        match error {
            wire::WireError::OutOfOrder { .. } => Self::new(1156, *b"08S01", format!("Got {error}")),
            wire::WireError::BadFrame(_) => {
                Self::new(1157, *b"08S01", format!("Couldn't uncompress communication packet: {error}"))
            }
            _ => Self::new(1835, *b"HY000", format!("Malformed communication packet: {error}")),
        }
    }

    /// 1226: a limit of a user or a query rule. `full` says which one, with numbers.
    pub(crate) fn limit(full: &impl Display) -> Self {
        Self::new(1226, *b"42000", full.to_string())
    }

    /// 1317: somebody has killed the statement before a server had it.
    pub(crate) fn interrupted() -> Self {
        Self::new(1317, *b"70100", "Query execution was interrupted".to_owned())
    }

    /// 1615: a prepared statement is something else now than what its client was told.
    pub(crate) fn needs_preparing() -> Self {
        Self::new(1615, *b"HY000", "Prepared statement needs to be re-prepared".to_owned())
    }

    /// 1243: there is no prepared statement with this number.
    pub(crate) fn no_statement(id: u32) -> Self {
        Self::new(1243, *b"HY000", format!("Unknown prepared statement handler ({id}) given to Pointsman"))
    }

    /// 1421 in the words of the server's make: nothing can be fetched from this statement.
    pub(crate) fn no_cursor(id: u32, is_mariadb: bool) -> Self {
        let end = if is_mariadb { "" } else { "." };
        Self::new(1421, *b"HY000", format!("The statement ({id}) has no open cursor{end}"))
    }

    /// 1243 in MariaDB's words, whose number for the last statement this is: there is none.
    pub(crate) fn no_last_statement(kind: Kind) -> Self {
        let what = match kind {
            Kind::StmtFetch => "fetch",
            Kind::StmtReset => "reset",
            Kind::StmtBulkExecute => "bulk_execute",
            _ => "execute",
        };
        let message =
            format!("Unknown prepared statement handler ({LAST_STATEMENT}) given to mysqld_stmt_{what}");
        Self::new(1243, *b"HY000", message)
    }

    /// 1907: the statement took longer than a rule, a hint or a variable allows; the code is
    /// ProxySQL's.
    pub(crate) fn query_timeout() -> Self {
        let message = "Query execution was interrupted, query_timeout exceeded".to_owned();
        Self::new(1907, *b"70100", message)
    }

    /// 1927: somebody has killed the session. The code is MariaDB's; MySQL says nothing to idle
    /// clients.
    pub(crate) fn killed() -> Self {
        Self::new(1927, *b"70100", "Connection was killed".to_owned())
    }

    /// 4031: the client was idle for longer than its own `wait_timeout`; in MySQL's words.
    pub(crate) fn was_idle() -> Self {
        let message = "The client was disconnected by the server because of inactivity. \
                       See wait_timeout and interactive_timeout for configuring this behavior.";
        Self::new(4031, *b"HY000", message.to_owned())
    }

    /// 2013: the backend went away while it owed an answer.
    pub(crate) fn lost_backend(server: &impl Display) -> Self {
        let message = format!("Lost connection to MySQL server during query (server {server})");
        Self::new(2013, *b"HY000", message)
    }

    /// 1148: a rule answers with this error.
    pub(crate) fn by_rule(message: &str) -> Self {
        Self::new(1148, *b"42000", message.to_owned())
    }

    /// 1295: a rule answers the statement with OK, which is no answer to its preparation. Drivers
    /// that know the error send the statement as text instead.
    pub(crate) fn ok_is_not_prepared() -> Self {
        let message = "This command is not supported in the prepared statement protocol yet: a query rule answers it with OK";
        Self::new(1295, *b"HY000", message.to_owned())
    }

    /// 9006: the session cannot leave the hostgroup that it is on.
    pub(crate) fn locked(locked_on: u32, hostgroup: u32) -> Self {
        let message = format!(
            "connection is locked to hostgroup {locked_on} but trying to reach hostgroup {hostgroup}: the session has set \
             something there that cannot be set elsewhere"
        );
        Self::new(9006, *b"Y0000", message)
    }

    /// 9008: a server does not do what has to be done there before the client's statement.
    pub(crate) fn no_internal(server: &impl Display, why: &impl Display) -> Self {
        Self::new(9008, *b"HY000", format!("Cannot prepare the session at server {server}: {why}"))
    }

    /// 1064: `PROXYSQL INTERNAL` of something that there is not; the text is ProxySQL's.
    pub(crate) fn unknown_internal() -> Self {
        Self::new(1064, *b"42000", "Unknown PROXYSQL INTERNAL command".to_owned())
    }

    /// 1065: `EXPLAIN ROUTE` of nothing.
    pub(crate) fn nothing_to_explain() -> Self {
        let message = "Query was empty: EXPLAIN ROUTE needs a statement to explain".to_owned();
        Self::new(1065, *b"42000", message)
    }

    /// 1235: there is no trace to be shown.
    pub(crate) fn not_traced() -> Self {
        let message = "This session keeps no trace; SET pointsman_trace = 1 makes it keep one".to_owned();
        Self::new(1235, *b"42000", message)
    }

    /// 1210: an execution says nothing of its types, which its server has not heard, and they
    /// cannot be added.
    pub(crate) fn no_types(statement: u32) -> Self {
        let message = format!(
            "Incorrect arguments to EXECUTE: statement {statement} was executed at another server before, and this execution \
             is too large to add the types of its parameters"
        );
        Self::new(1210, *b"HY000", message)
    }

    /// 3923: a level of zstd that there is not.
    pub(crate) fn wrong_compression_level(level: u8) -> Self {
        let message = format!("Invalid zstd compression level {level}: there are 1 to 22");
        Self::new(3923, *b"HY000", message)
    }

    /// 9001: no backend in time. `tried` says what was tried, with numbers.
    pub(crate) fn no_backend(hostgroup: u32, waited: Duration, tried: &impl Display) -> Self {
        let ms = waited.as_millis();
        let message =
            format!("Max connect timeout reached while reaching hostgroup {hostgroup} after {ms}ms: {tried}");
        Self::new(9001, *b"HY000", message)
    }

    /// The same for a session whose commands nobody looks at, in ProxySQL's words.
    pub(crate) fn of_fast_forward(self) -> Self {
        if !self.is_connect_timeout() {
            return self;
        }
        let message = self.message.replacen(" after ", " for 'fast_forward' session after ", 1);
        Self { message, ..self }
    }

    /// 9002: a backend answered, and the login to it cannot succeed.
    pub(crate) fn backend_login(server: &impl Display, why: &impl Display) -> Self {
        Self::new(9002, *b"HY000", format!("Cannot log in to server {server}: {why}"))
    }

    /// The error as one packet with sequence id `seq`. Before the login there is no SQLSTATE in it.
    pub(crate) fn to_packet(&self, seq: u8, caps: Capabilities) -> Vec<u8> {
        let sql_state = caps.contains(Capabilities::PROTOCOL_41).then_some(self.sql_state);
        let packet = packet::Err { code: self.code, sql_state, message: self.message.as_bytes() };
        let mut out = Vec::new();
        put_packet(&mut out, seq, &packet, caps);
        out
    }
}

#[cfg(test)]
mod tests;
