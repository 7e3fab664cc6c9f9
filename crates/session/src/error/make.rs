//! Errors made from what their callers have at hand: names of servers and users, and reasons.

use std::fmt::Display;
use std::time::Duration;

use pool::Off;
use wire::WireError;
use wire::command::Kind;

use super::{AtServer, ClientError, Denied, Gone, NoPlace, Search, UserFull};
use crate::state::pins::Pin;

impl ClientError {
    /// A statement over sharded tables that the proxy cannot execute.
    pub fn not_sharded(part: &str, reason: &str) -> Self {
        Self::NotSharded(Box::new((part.to_owned(), reason.to_owned())))
    }

    /// [`Self::TooManyUserConnections`].
    pub fn too_many_user_connections(user: &[u8], max: u32, why: NoPlace) -> Self {
        let user = String::from_utf8_lossy(user).into();
        Self::TooManyUserConnections(Box::new(UserFull { user, max, why }))
    }

    /// [`Self::AccessDenied`].
    pub fn access_denied(user: &[u8], host: &impl Display, password_given: bool) -> Self {
        Self::AccessDenied(Box::new(denied(user, host, password_given)))
    }

    /// [`Self::UnprotectedPassword`].
    pub fn unprotected_password(user: &[u8], host: &impl Display) -> Self {
        Self::UnprotectedPassword(Box::new(denied(user, host, true)))
    }

    /// [`Self::BadHandshake`].
    pub fn bad_handshake(why: &impl Display) -> Self {
        Self::BadHandshake(text(why))
    }

    /// What a client is told that has sent bytes that are not the protocol, or not at this place.
    pub fn malformed(error: WireError) -> Self {
        let variant = match error {
            WireError::OutOfOrder { .. } => Self::PacketsOutOfOrder,
            WireError::BadFrame(_) => Self::BadFrame,
            _ => Self::MalformedPacket,
        };
        variant(Box::new(error))
    }

    /// [`Self::LimitReached`]; `full` names the limit, with numbers.
    pub fn limit_reached(full: &impl Display) -> Self {
        Self::LimitReached(text(full))
    }

    /// [`Self::ServerOff`].
    pub fn server_off(server: &impl Display, off: Off) -> Self {
        Self::ServerOff { server: text(server), off }
    }

    /// [`Self::SessionLost`]; `pin` is what bound the session to the server.
    pub fn session_lost(server: &impl Display, gone: Gone, pin: Pin) -> Self {
        Self::SessionLost { server: text(server), gone, pin }
    }

    /// [`Self::TransactionLost`].
    pub fn transaction_lost(server: &impl Display, gone: Gone) -> Self {
        Self::TransactionLost { server: text(server), gone }
    }

    /// [`Self::NothingDone`].
    pub fn nothing_done(server: &impl Display, gone: Gone) -> Self {
        Self::NothingDone { server: text(server), gone }
    }

    /// [`Self::OutcomeUnknown`].
    pub fn outcome_unknown(server: &impl Display, gone: Gone) -> Self {
        Self::OutcomeUnknown { server: text(server), gone }
    }

    /// [`Self::ServerLost`].
    pub fn server_lost(server: &impl Display) -> Self {
        Self::ServerLost { server: text(server) }
    }

    /// [`Self::FileNotExpected`].
    pub fn file_not_expected(server: &impl Display) -> Self {
        Self::FileNotExpected { server: text(server) }
    }

    /// [`Self::KillFailed`].
    pub fn kill_failed(id: u64, server: &impl Display, why: &impl Display) -> Self {
        Self::KillFailed { id, at: Box::new(at(server, why)) }
    }

    /// [`Self::LoginFailed`].
    pub fn login_failed(server: &impl Display, why: &impl Display) -> Self {
        Self::LoginFailed(Box::new(at(server, why)))
    }

    /// [`Self::SetupFailed`].
    pub fn setup_failed(server: &impl Display, why: &impl Display) -> Self {
        Self::SetupFailed(Box::new(at(server, why)))
    }

    /// [`Self::NoBackend`]; `tried` says what was tried, with numbers.
    pub fn no_backend(hostgroup: u32, waited: Duration, tried: &impl Display) -> Self {
        Self::NoBackend(Box::new(Search { hostgroup, waited, tried: text(tried) }))
    }
}

fn text(what: &impl Display) -> Box<str> {
    what.to_string().into()
}

fn denied(user: &[u8], host: &impl Display, password_given: bool) -> Denied {
    Denied { user: String::from_utf8_lossy(user).into(), host: text(host), password_given }
}

fn at(server: &impl Display, why: &impl Display) -> AtServer {
    AtServer { server: text(server), why: text(why) }
}

/// What MariaDB calls this command in its errors.
pub(super) const fn name_at_mariadb(kind: Kind) -> &'static str {
    match kind {
        Kind::StmtFetch => "fetch",
        Kind::StmtReset => "reset",
        Kind::StmtBulkExecute => "bulk_execute",
        _ => "execute",
    }
}
