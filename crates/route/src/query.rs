//! What a decision is made about: the statement, who sends it, and what the caller knows.

use std::hash::{Hash as _, Hasher as _};

use sql::Hints;

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
    pub const NOTHING: Self = Self { kind: Kind::Other, effects: Effects::NONE, tables: false };
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

/// What a statement does besides returning rows: a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Effects(u32);

impl Effects {
    /// None: proven.
    pub const NONE: Self = Self(0);
    /// Changes rows, tables, accounts or anything else that is kept.
    pub const WRITES: Self = Self(1);
    /// Locks rows or tables.
    pub const LOCKS: Self = Self(1 << 1);
    /// Reads or sets user variables.
    pub const USER_VARIABLES: Self = Self(1 << 2);
    /// GET_LOCK and its family.
    pub const USER_LOCKS: Self = Self(1 << 3);
    /// Takes a value of a sequence.
    pub const SEQUENCE: Self = Self(1 << 4);
    /// Reads or sets LAST_INSERT_ID.
    pub const LAST_INSERT_ID: Self = Self(1 << 5);
    /// SQL_CALC_FOUND_ROWS: a later statement asks for the number.
    pub const FOUND_ROWS: Self = Self(1 << 6);
    /// INTO a file or variables.
    pub const INTO: Self = Self(1 << 7);
    /// Calls a function that is not built in, or that is not known to be.
    pub const FUNCTION: Self = Self(1 << 8);
    /// Makes or drops a temporary table.
    pub const TEMPORARY_TABLE: Self = Self(1 << 9);
    /// Commits the transaction.
    pub const IMPLICIT_COMMIT: Self = Self(1 << 10);
    /// Changes the session.
    pub const SESSION: Self = Self(1 << 11);
    /// Asks about the statement before: FOUND_ROWS(), ROW_COUNT(), SHOW WARNINGS, GET DIAGNOSTICS.
    pub const LAST_RESULT: Self = Self(1 << 12);
    /// Depends on the server it runs on: SHOW STATUS, @@hostname, CONNECTION_ID().
    pub const SERVER: Self = Self(1 << 13);
    /// Sets LAST_INSERT_ID.
    pub const SETS_LAST_INSERT_ID: Self = Self(1 << 15);
    /// Sets user variables.
    pub const SETS_USER_VARIABLES: Self = Self(1 << 14);
    /// Sets a savepoint.
    pub const SAVEPOINT: Self = Self(1 << 16);
    /// Waits until its server has reached a position of replication.
    pub const WAITS_FOR_POSITION: Self = Self(1 << 17);
    /// It could not be understood.
    pub const UNKNOWN: Self = Self(1 << 31);

    pub(crate) const NAMES: [(Self, &'static str); 16] = [
        (Self::UNKNOWN, "it could not be understood"),
        (Self::WRITES, "it writes"),
        (Self::IMPLICIT_COMMIT, "it commits"),
        (Self::LOCKS, "it locks"),
        (Self::LAST_RESULT, "it asks about the statement before"),
        (Self::FUNCTION, "it calls a function that may write"),
        (Self::USER_LOCKS, "it uses a lock of the user's"),
        (Self::SEQUENCE, "it takes a value of a sequence"),
        (Self::LAST_INSERT_ID, "it uses LAST_INSERT_ID"),
        (Self::FOUND_ROWS, "its rows are counted for FOUND_ROWS"),
        (Self::INTO, "it writes its result into a file or variables"),
        (Self::TEMPORARY_TABLE, "it makes or drops a temporary table"),
        (Self::USER_VARIABLES, "it uses user variables"),
        (Self::SESSION, "it changes the session"),
        (Self::SERVER, "it is about the server"),
        (Self::SAVEPOINT, "it sets a savepoint"),
    ];

    /// Those of either set.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it has one of `other`.
    pub const fn any_of(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Those that are not in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// What is said about the most important one.
    pub fn first(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(effect, _)| self.any_of(*effect)).map(|(_, name)| *name)
    }

    /// What is said about each.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().filter(move |(effect, _)| self.any_of(*effect)).map(|(_, name)| *name)
    }
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
