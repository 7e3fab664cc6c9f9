//! What a decision is made about: the statement, who sends it, and what the caller knows.

use std::hash::{Hash as _, Hasher as _};

use sql::Hints;

use crate::plan::StatementPlan;

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
    /// What follows from its shape.
    pub plan: StatementPlan,
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
