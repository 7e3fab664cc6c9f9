//! Why a statement has no tree, and where the parser stopped.

use std::fmt;

/// A statement that is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// Offset of the first byte that does not fit.
    pub at: usize,
    /// What is wrong there.
    pub reason: Reason,
}

/// Reasons to refuse a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The grammar wants this here.
    Expected(&'static str),
    /// More nesting than [`DEPTH_MAX`](super::DEPTH_MAX).
    TooDeep,
    /// More nodes than [`NODES_MAX`](super::NODES_MAX), or more tokens than
    /// [`TOKENS_MAX`](super::TOKENS_MAX).
    TooLarge,
    /// Servers may read the text in different ways: a string or comment without an end, or a
    /// comment that only some servers execute.
    Unsure,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            Reason::Expected(what) => write!(f, "expected {what} at byte {}", self.at),
            Reason::TooDeep => write!(f, "nested too deeply at byte {}", self.at),
            Reason::TooLarge => write!(f, "too many tokens at byte {}", self.at),
            Reason::Unsure => write!(f, "servers may differ about the text at byte {}", self.at),
        }
    }
}

impl std::error::Error for Refusal {}

/// Outcome of a parsing function.
pub(super) type Parsed<T = ()> = Result<T, Refusal>;
