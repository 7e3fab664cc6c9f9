//! What a statement is, from its text alone: no socket, no clock, no random source.
//!
//! - [`conditional`]: statements in a comment that some servers execute;
//! - [`digest`]: the text without its values and that text's hash, as ProxySQL 2.7.2 makes them, in
//!   one pass;
//! - [`hint`]: what its first comment asks of the proxy;
//! - [`injection`]: whether it looks like injected SQL;
//! - [`lexer`]: its tokens as a server sees them, in all modes of a session;
//! - [`outline`]: how to tell without reading it that one has the digest of another;
//! - [`parse`]: a tree of spans: its tables, clauses and expressions, and rewrites of them;
//! - [`routine`]: whether what stored code does outlives its call;
//! - [`secrets`]: its text without passwords, for logs;
//! - [`shape`]: what it does: its kind, the tables it reads and writes, its effects;
//! - [`spooky`]: the hash of digests and of configuration tables.
//!
//! Texts are bytes: what clients send need not be UTF-8. No text makes anything here panic, and
//! time and memory are bounded by a text's length.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod bytes;
pub mod conditional;
pub mod digest;
mod found_rows;
pub mod fuzzing;
pub mod hint;
pub mod injection;
pub mod lexer;
pub mod outline;
pub mod parse;
pub mod routine;
pub mod secrets;
pub mod shape;
pub mod spooky;

pub use conditional::{Condition, Dialect};
pub use digest::{Digest, Options};
pub use found_rows::{FoundRows, Offset};
pub use hint::Hints;
pub use lexer::{Lexer, Modes};
pub use outline::Outline;
pub use shape::{Shape, StatementKind};

/// The example of the README, which is tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
pub struct Readme;
