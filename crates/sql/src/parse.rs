//! A statement as a tree of spans: which bytes are its tables, clauses and expressions.
//!
//! The grammar is that of MySQL 8 and 9 and of MariaDB 10.11 and later, with the operators' binding
//! of those servers. The parser accepts more than servers do: what a server refuses needs no exact
//! tree. Bytes that the parser does not understand become a node [`Kind::Opaque`], if they cannot
//! name a table; else the statement is refused, with the offset and the reason.
//!
//! A rewrite is a list of [`Splices`]: texts for some spans, every other byte as it was.
//!
//! - [`Tree`]: the nodes, in memory that is used again, and the walk through them;
//! - [`Kind`]: what a node is;
//! - [`Settings`]: the session and the server that decide how a text is read.

mod change;
mod cursor;
mod expression;
mod from;
mod insert;
mod joins;
mod kind;
mod limit;
mod opaque;
mod operator;
mod query;
mod reference;
mod refusal;
mod select;
mod splice;
mod statement;
mod table;
mod token;
mod tree;
mod utility;
mod words;

pub use self::kind::{Kind, Literal};
pub use self::operator::{Join, Operator, SetOperator, Test};
pub use self::reference::TableReference;
pub use self::refusal::{Reason, Refusal};
pub use self::splice::{Overlap, Splices};
pub use self::tree::{Children, Node, NodeId, Step, Tree, Walk};

use crate::conditional::Dialect;
use crate::lexer::Modes;

/// Nesting of parentheses, subqueries, prefix operators and nested joins that is followed. A level
/// takes up to 5 KiB of stack in a debug build.
pub const DEPTH_MAX: usize = 200;

/// Nodes of one tree, 32 bytes each.
pub const NODES_MAX: usize = 1 << 20;

/// Tokens of one statement, 12 bytes each.
pub const TOKENS_MAX: usize = 1 << 21;

/// What decides how a text is read: the session's modes and the server's dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Where strings and names end.
    pub modes: Modes,
    /// The server that executes the statement.
    pub dialect: Dialect,
    /// `||` joins strings (`sql_mode` has `PIPES_AS_CONCAT`); otherwise `||` is OR.
    pub pipes_as_concat: bool,
    /// NOT binds as `!` does (`sql_mode` has `HIGH_NOT_PRECEDENCE`).
    pub high_not_precedence: bool,
}

impl Settings {
    /// Settings of a session in default modes.
    pub fn of(dialect: Dialect) -> Self {
        Self { modes: Modes::default(), dialect, pipes_as_concat: false, high_not_precedence: false }
    }
}
