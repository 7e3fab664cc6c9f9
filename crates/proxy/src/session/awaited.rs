//! What a read must see at its reader, and the question whether that has it.

use config::CausalReads;
use gtid::Highest;
use session::causal::applied::Machine;
use upstream::InternalQuery;

/// What a read must see at its reader.
#[derive(Debug)]
pub(super) struct Awaited {
    pub(super) tokens: Highest,
    pub(super) scope: CausalReads,
    /// The hostgroup of the reader's writers.
    pub(super) writer: u32,
    /// The version of the scope that has these tokens.
    pub(super) version: u64,
}

/// What is known of the reader of the connection in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// It has the tokens.
    Has,
    /// It has to be asked.
    Unsure,
}

/// A question to the server of a connection, about to be sent.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) query: InternalQuery,
    pub(super) machine: Machine,
    /// When the connection was opened.
    pub(super) opened: std::time::Instant,
    pub(super) asked: std::time::Instant,
}
