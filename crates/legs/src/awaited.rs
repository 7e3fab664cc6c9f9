//! What a read must see at its reader, and the question whether that has it.

use config::CausalReads;
use gtid::Highest;
use session::causal::applied::Machine;
use upstream::InternalQuery;

/// What a read must see at its reader.
#[derive(Debug)]
pub(crate) struct Awaited {
    pub(crate) tokens: Highest,
    pub(crate) scope: CausalReads,
    /// The hostgroup of the reader's writers.
    pub(crate) writer: u32,
    /// The version of the scope that has these tokens.
    pub(crate) version: u64,
}

/// What is known of the reader of the connection in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// It has the tokens.
    Has,
    /// It has to be asked.
    Unsure,
}

/// A question to the server of a connection, about to be sent.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) query: InternalQuery,
    pub(crate) machine: Machine,
    /// When the connection was opened.
    pub(crate) opened: std::time::Instant,
    pub(crate) asked: std::time::Instant,
}
