//! Why a session got no connection to a server: the attempts that failed, and what the client hears
//! of them.

use std::fmt;
use std::time::Duration;

use pool::{Off, Usage};
use route::Candidate;
use session::error::{ClientError, Gone, TooFew};
use wire::packet;

use crate::whom::Full;
use crate::{OpenError, Target};

/// `ER_CON_COUNT_ERROR`: the server is full. Another one may have room, and soon this one, too.
pub(crate) const SERVER_FULL: u16 = 1040;

/// `ER_TOO_MANY_USER_CONNECTIONS` and `ER_USER_LIMIT_REACHED`: the account has all the connections
/// that the server gives it.
pub(crate) const ACCOUNT_FULL: [u16; 2] = [1203, 1226];

/// Refusals that say nothing about other servers: this one shuts down (`ER_SERVER_SHUTDOWN`), has
/// locked this host out (`ER_HOST_IS_BLOCKED`), or has as many connections of this user as it
/// allows (`ER_TOO_MANY_USER_CONNECTIONS`, `ER_USER_LIMIT_REACHED`).
const TRY_ELSEWHERE: [u16; 4] = [1053, 1129, 1203, 1226];

/// Why a session got no backend.
#[derive(Debug)]
pub enum AcquireError {
    /// No server could be reached in time.
    Proxy(ClientError),
    /// A server refused the login: the payload of its ERR packet, which the client shall see.
    Server(Vec<u8>),
}

/// What servers say of a schema that the user may not use, or that is not there:
/// `ER_DBACCESS_DENIED_ERROR`, `ER_BAD_DB_ERROR`.
const ABOUT_SCHEMA: [u16; 2] = [1044, 1049];

/// Whether a server that refuses a login or a change of schema with this error would take it
/// without the schema.
pub fn is_about_schema(code: u16) -> bool {
    ABOUT_SCHEMA.contains(&code)
}

impl AcquireError {
    /// Whether a server has refused the schema, and nothing else.
    pub fn is_about_schema(&self) -> bool {
        match self {
            Self::Server(payload) => match payload[..] {
                [packet::Err::HEADER, low, high, ..] => is_about_schema(u16::from_le_bytes([low, high])),
                _ => false,
            },
            Self::Proxy(_) => false,
        }
    }
}

/// The failures of one search for a backend.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    pub(crate) count: u32,
    /// Servers have said that they take no more connections than they have.
    pub(crate) are_full: bool,
    /// The last refusal of a server, which the client shall see if no other server is left to try.
    pub(crate) refusal: Option<Vec<u8>>,
    /// The process has had too few descriptors for the last attempt.
    too_few: Option<TooFew>,
    /// One entry per server: how often it failed, and how last.
    servers: Vec<(Target, u32, String)>,
}

/// An attempt to connect that has failed.
pub(crate) struct Failed {
    pub(crate) target: Target,
    pub(crate) why: Why,
}

/// Why an attempt has failed.
pub(crate) enum Why {
    /// The server says so, or the system.
    Said(OpenError),
    /// The server says that it takes no more connections than it has.
    Full(OpenError),
    /// There was no answer in this time.
    Late(Duration),
    /// The server was found to be of no use meanwhile.
    Off(Off),
}

impl Failed {
    /// What becomes of the search: it goes on unless the client has to hear of this.
    pub(crate) fn weigh(self, full: Full, failures: &mut Failures) -> Result<(), AcquireError> {
        let target = &self.target;
        match self.why {
            Why::Said(OpenError::Refused { code, message, payload })
                if code != SERVER_FULL || full == Full::Tell =>
            {
                if code != SERVER_FULL && !TRY_ELSEWHERE.contains(&code) {
                    return Err(AcquireError::Server(payload));
                }
                failures.note(target, format!("error {code}: {}", String::from_utf8_lossy(&message)));
                failures.refusal = Some(payload);
            }
            Why::Said(OpenError::Login(why)) => {
                return Err(AcquireError::Proxy(ClientError::login_failed(target, &why)));
            }
            Why::Said(error) if error.too_few_descriptors().is_some() => {
                failures.too_few = error.too_few_descriptors();
                failures.note(target, error.to_string());
            }
            Why::Said(error) | Why::Full(error) => failures.note(target, error.to_string()),
            Why::Late(limit) => failures.note(target, no_answer(limit)),
            Why::Off(off) => failures.note(target, Gone::Off(off).to_string()),
        }
        Ok(())
    }
}

pub(crate) fn no_answer(limit: Duration) -> String {
    format!("no answer within {}ms", limit.as_millis())
}

impl Failures {
    fn note(&mut self, target: &Target, error: String) {
        self.count += 1;
        self.list(target, error);
    }

    /// A server has no room. That is no failure: the search goes on for as long as it may.
    pub(crate) fn note_full(&mut self, target: &Target, error: String) {
        self.are_full = true;
        self.list(target, error);
    }

    fn list(&mut self, target: &Target, error: String) {
        match self.servers.iter_mut().find(|(server, ..)| server == target) {
            Some((_, count, last)) => {
                *count += 1;
                *last = error;
            }
            None => self.servers.push((target.clone(), 1, error)),
        }
    }

    /// What the client hears of a search that has ended with them.
    pub(crate) fn to_error(&self, hostgroup: u32, waited: Duration) -> ClientError {
        self.too_few
            .map_or_else(|| ClientError::no_backend(hostgroup, waited, self), ClientError::NoDescriptor)
    }

    pub(crate) fn contain(&self, target: &Target) -> bool {
        self.servers.iter().any(|(server, ..)| server == target)
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (server, count, last)) in self.servers.iter().enumerate() {
            let comma = if i == 0 { "tried " } else { ", " };
            let times = if *count == 1 { "time" } else { "times" };
            write!(f, "{comma}{server} {count} {times} ({last})")?;
        }
        Ok(())
    }
}

/// Servers that such a message names.
const SHOWN_SERVERS_MAX: usize = 4;

/// Why there was not even a server to try.
pub(crate) struct NoPermit<'a> {
    pub(crate) usage: Usage,
    pub(crate) candidates: Vec<Candidate>,
    /// Which sessions have the connections, and what for; empty if that was not asked.
    pub(crate) holders: String,
    pub(crate) failures: &'a Failures,
}

impl fmt::Display for NoPermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Usage { servers, available, open, resting: _, allowed, waiting, closed: _, awaited } = self.usage;
        if servers == 0 && awaited {
            write!(f, "the monitor knows no server that belongs into this hostgroup")?;
        } else if servers == 0 {
            write!(f, "no server is configured for this hostgroup")?;
        } else if available == 0 || u64::from(open) < allowed && !self.failures.are_full {
            write!(f, "none of its {servers} servers can be taken")?;
            for (i, Candidate { server, reason, .. }) in
                self.candidates.iter().take(SHOWN_SERVERS_MAX).enumerate()
            {
                write!(f, "{} {server}: {reason}", if i == 0 { ":" } else { ";" })?;
            }
        } else {
            let more = if u64::from(open) < allowed { ", and the servers take no more" } else { "" };
            write!(f, "{open} of {allowed} connections of {available} servers are in use{more}")?;
            write!(f, ", {waiting} more sessions wait")?;
            let held = &self.holders;
            write!(f, "{}{held}", if held.is_empty() { "" } else { "; " })?;
        }
        if !self.failures.servers.is_empty() {
            write!(f, "; {}", self.failures)?;
        }
        Ok(())
    }
}
