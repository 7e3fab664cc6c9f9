//! What a decision is made about: the statement, who sends it, and what the caller knows.

use std::hash::{Hash as _, Hasher as _};

use sql::Hints;
use sql::shape::Effects;

/// A statement and what is known of it from its text alone.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// The statement.
    pub text: &'a [u8],
    /// The hash of its digest; nothing if digests are off.
    pub digest: Option<u64>,
    /// The text of its digest, as far as it is hashed.
    pub digest_text: &'a [u8],
    /// What its first comment asks for.
    pub hints: Option<&'a Hints<'a>>,
    /// What it does.
    pub facts: Facts,
}

/// What a statement does, as far as it matters for where it may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// What it is.
    pub kind: Kind,
    /// What it does besides returning rows. Empty only if that is proven.
    pub effects: Effects,
    /// Whether it reads a table.
    pub tables: bool,
}

impl Facts {
    /// What does nothing.
    pub const NOTHING: Self = Self { kind: Kind::Other, effects: Effects::empty(), tables: false };
}

/// Nothing is known.
impl Default for Facts {
    fn default() -> Self {
        Self { kind: Kind::Other, effects: Effects::UNKNOWN, tables: true }
    }
}

/// What a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Returns rows and may do more: SELECT, TABLE, VALUES.
    Read,
    /// `START TRANSACTION` or `BEGIN`.
    Begin {
        /// `READ ONLY`.
        read_only: bool,
    },
    /// `COMMIT`.
    Commit,
    /// `ROLLBACK` of the transaction.
    Rollback,
    /// Anything else.
    Other,
}

impl Kind {
    /// A word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Begin { read_only: false } => "start of a transaction",
            Self::Begin { read_only: true } => "start of a read-only transaction",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
            Self::Other => "other",
        }
    }
}

/// What explanations say about effects, the most important one first.
const SAID: [(Effects, &str); 16] = [
    (Effects::UNKNOWN, "it could not be understood"),
    (Effects::WRITES, "it writes"),
    (Effects::COMMITS, "it commits"),
    (Effects::LOCKS, "it locks"),
    (Effects::READS_LAST, "it asks about the statement before"),
    (Effects::FUNCTION, "it calls a function that may write"),
    (Effects::NAMED_LOCKS, "it uses a lock of the user's"),
    (Effects::SEQUENCE, "it takes a value of a sequence"),
    (Effects::LAST_INSERT_ID, "it uses LAST_INSERT_ID"),
    (Effects::COUNTS_ROWS, "its rows are counted for FOUND_ROWS"),
    (Effects::FILE, "it writes its result into a file or variables"),
    (Effects::TEMPORARY_TABLE, "it makes or drops a temporary table"),
    (Effects::USER_VARIABLES, "it uses user variables"),
    (Effects::SESSION, "it changes the session"),
    (Effects::SERVER, "it is about the server"),
    (Effects::SAVEPOINT, "it sets a savepoint"),
];

/// What is said about each of these effects, the most important one first.
pub(crate) fn said(effects: Effects) -> impl Iterator<Item = &'static str> {
    SAID.iter().filter(move |(effect, _)| effects.intersects(*effect)).map(|(_, text)| *text)
}

/// Who sends a statement, as far as remembered verdicts depend on it. Made when a session begins
/// and when its schema changes, not for each statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    hash: u64,
    hash_of_names: u64,
    user: Box<[u8]>,
    schema: Box<[u8]>,
    proxy_addr: Box<str>,
    proxy_port: u16,
}

impl Caller {
    /// `proxy_addr` and `proxy_port` are where the client connected to.
    pub fn new(user: &[u8], schema: &[u8], proxy_addr: &str, proxy_port: u16) -> Self {
        // Its keys are fixed, so that the crate has no random source; a user who makes others
        // collide slows down a set of four verdicts.
        let mut hasher = std::hash::DefaultHasher::new();
        (user, schema, proxy_addr, proxy_port).hash(&mut hasher);
        Self {
            hash: hasher.finish(),
            hash_of_names: hash_of_names(user, schema),
            user: user.into(),
            schema: schema.into(),
            proxy_addr: proxy_addr.into(),
            proxy_port,
        }
    }

    /// The user's name.
    pub fn user(&self) -> &[u8] {
        &self.user
    }

    /// The current schema.
    pub fn schema(&self) -> &[u8] {
        &self.schema
    }

    /// The listener's address.
    pub fn proxy_addr(&self) -> &str {
        &self.proxy_addr
    }

    /// The listener's port.
    pub const fn proxy_port(&self) -> u16 {
        self.proxy_port
    }

    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    /// A hash of the user's and the schema's names.
    pub const fn hash_of_names(&self) -> u64 {
        self.hash_of_names
    }
}

/// A hash of a user's and a schema's name, the same for all listeners. Its keys are fixed, as
/// above.
pub(crate) fn hash_of_names(user: &[u8], schema: &[u8]) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    (user, schema).hash(&mut hasher);
    hasher.finish()
}

/// A statement, who sends it, and the circumstances.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// What is to be decided about.
    pub statement: Statement<'a>,
    /// Who sends it.
    pub caller: &'a std::sync::Arc<Caller>,
    /// The client's address, without its port.
    pub client_addr: &'a str,
    /// The session's `next_query_flagIN`, or 0.
    pub flag_in: u32,
    /// Whether a prepared statement is executed: then its text is not rewritten any more.
    pub execute: bool,
    /// If this is the mirrored copy of a statement: what the rule said.
    pub mirror: Option<Mirror>,
    /// Whether the user's hints count.
    pub hints: bool,
    /// A random number.
    pub random: u64,
    /// The time in milliseconds since 1970.
    pub now_ms: u64,
}

impl Query<'_> {
    /// The state that the chain starts in; nothing if no rule is asked.
    pub(crate) fn start(&self) -> Option<u32> {
        self.mirror.map_or(Some(self.flag_in), |mirror| mirror.flag_in)
    }
}

/// What is to be done with a mirrored copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// `mirror_hostgroup`.
    pub hostgroup: Option<u32>,
    /// `mirror_flagOUT`; without it no rule is asked.
    pub flag_in: Option<u32>,
}
