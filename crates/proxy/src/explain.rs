//! What becomes of a statement, written down: the decision of [`routing`](crate::routing) once more, for a session that is
//! there or one that is only assumed, and the servers that it may get.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use config::{Address, Protocol, User};
use route::{Account, Caller, Explanation, Hints, Query, Session, Situation, Statement};
use sql::shape::{Effects, Kind};
use sql::{Digest, Modes, Shape, hint};

use crate::choosing::candidates;
use crate::random;
use crate::remote::Remote;
use crate::routing::facts::facts;
use crate::routing::routes::Routes;
use crate::shared::Shared;

/// A session that does not exist. What is not said is guessed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Assumed {
    /// The user; else the first one that clients may log in as.
    pub user: Option<String>,
    /// The current schema; else what a client gets that names none.
    pub schema: Option<String>,
    /// The client's address; else 127.0.0.1.
    pub client: Option<String>,
    /// The port that the client connected to; else that of the first listener for MySQL clients.
    pub port: Option<u16>,
}

/// Why a statement is not explained.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// Nobody can send a statement.
    #[error("there is no active user that clients may log in as")]
    NoUser,
    /// This user cannot.
    #[error("there is no active user `{0}` that clients may log in as")]
    UnknownUser(String),
    /// There are only blanks and comments.
    #[error("EXPLAIN ROUTE needs a statement to explain")]
    NoStatement,
}

/// A session, as far as decisions depend on it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) caller: &'a Arc<Caller>,
    pub(crate) client_addr: &'a str,
    pub(crate) account: Account,
    /// Whether the user's hints count.
    pub(crate) hints: bool,
    pub(crate) session: &'a Session,
    /// The session's `next_query_flagIN`, or 0.
    pub(crate) flag_in: u32,
    /// How the session's server reads texts.
    pub(crate) modes: Modes,
}

impl Remote {
    /// What would become of `text` in a session that has just begun: outside a transaction, with autocommit.
    pub fn explain(&self, assumed: &Assumed, text: &[u8]) -> Result<Explanation, ExplainError> {
        let snapshot = self.shared.snapshot();
        let user = match &assumed.user {
            Some(name) => snapshot.client_user(|user| user.username == *name),
            None => snapshot.client_user(|_| true),
        };
        let user = user.ok_or_else(|| match &assumed.user {
            Some(name) => ExplainError::UnknownUser(name.clone()),
            None => ExplainError::NoUser,
        })?;
        let fallback = Some(&snapshot.variables.default_schema);
        let schema = assumed.schema.as_ref().or(user.default_schema.as_ref()).or(fallback);
        let (address, port) = self.listener(assumed.port);
        let schema = schema.map_or(&[][..], |schema| schema.as_bytes());
        let asker = Asker {
            caller: &Arc::new(Caller::new(user.username.as_bytes(), schema, &address, port)),
            client_addr: assumed.client.as_deref().unwrap_or("127.0.0.1"),
            account: account(user),
            hints: user.attributes.hints,
            session: &Session::default(),
            flag_in: 0,
            modes: Modes::default(),
        };
        asker.explain(text, &snapshot.routes, &self.shared)
    }

    /// The address and port of a listener for MySQL clients: the one with `port`, or the first; a port that no listener
    /// has, at the address of the first.
    fn listener(&self, port: Option<u16>) -> (String, u16) {
        let all = self.listeners.addresses();
        let mut all =
            all.into_iter().filter(|(_, protocol)| *protocol == Protocol::Mysql).map(|(at, _)| match at {
                Address::Tcp(at) => (at.ip().to_string(), at.port()),
                Address::Unix(path) => (path.display().to_string(), 0),
            });
        let first = all.next().unwrap_or_default();
        let Some(port) = port.filter(|port| *port != first.1) else { return first };
        all.find(|(_, other)| *other == port).unwrap_or((first.0, port))
    }
}

/// What a user's row says about where statements go.
fn account(user: &User) -> Account {
    Account { default_hostgroup: user.default_hostgroup, transaction_persistent: user.transaction_persistent }
}

impl Asker<'_> {
    /// Decides about `text` and writes down how.
    pub(crate) fn explain(
        &self,
        text: &[u8],
        routes: &Routes,
        shared: &Shared,
    ) -> Result<Explanation, ExplainError> {
        let shape = Shape::of(text, self.modes);
        if shape.kind == Kind::Empty {
            return Err(ExplainError::NoStatement);
        }
        let mut digest = Digest::default();
        digest.read(text, &routes.digests.unwrap_or_default());
        let comment = digest.facts().first_comment.map(|comment| comment.of(text));
        let hints: Option<Hints<'_>> = comment.map(hint::parse);
        let known = routes.digests.is_some();
        let query = Query {
            statement: Statement {
                text,
                digest: known.then(|| digest.hash()),
                digest_text: if known { digest.shown() } else { &[] },
                hints: hints.as_ref(),
                facts: facts(&shape),
            },
            caller: self.caller,
            client_addr: self.client_addr,
            flag_in: self.flag_in,
            execute: false,
            mirror: None,
            hints: self.hints,
            random: u64::from_le_bytes(random::bytes()),
            now_ms: unix_ms(),
        };
        let candidates = |hostgroup: u32| candidates(&shared.pool, hostgroup, shared.uptime());
        let pins: Vec<&str> = pins(shape.effects).collect();
        let situation = Situation {
            account: self.account,
            session: self.session,
            pairs: &routes.pairs,
            split_on: routes.split_on,
            candidates: &candidates,
            pins: &pins,
        };
        Ok(route::explain(&routes.rules, &query, &situation))
    }
}

/// The time in milliseconds since 1970.
fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Effects that stay behind in a server's session, so that only this session can use it.
const PINS: [(Effects, &str); 8] = [
    (Effects::SETS_USER_VARIABLES, "it sets user variables"),
    (Effects::NAMED_LOCKS, "it may hold a lock by name"),
    (Effects::COUNTS_ROWS, "FOUND_ROWS() may be asked for next"),
    (Effects::TEMPORARY_TABLE, "it makes or drops a temporary table"),
    (Effects::TABLE_LOCKS, "it locks tables"),
    (Effects::PREPARED, "it names a prepared statement"),
    (Effects::SETS_LAST_INSERT_ID, "LAST_INSERT_ID() may be asked for next"),
    (Effects::UNKNOWN, "it may leave anything behind"),
];

/// What of a statement keeps the session from giving its connection back.
fn pins(effects: Effects) -> impl Iterator<Item = &'static str> {
    PINS.iter().filter(move |(effect, _)| effects.intersects(*effect)).map(|(_, reason)| *reason)
}
