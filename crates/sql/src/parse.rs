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
mod limits;
mod opaque;
mod operator;
mod query;
mod reference;
mod refusal;
mod select;
mod settings;
mod splice;
mod statement;
mod table;
mod token;
mod tree;
mod utility;
mod words;

pub use self::kind::{Kind, Literal};
pub use self::limits::{DEPTH_MAX, NODES_MAX, TOKENS_MAX};
pub use self::operator::{Join, Operator, SetOperator, Test};
pub use self::reference::TableReference;
pub use self::refusal::{Reason, Refusal};
pub use self::settings::Settings;
pub use self::splice::{Overlap, Splices};
pub use self::tree::{Children, Node, NodeId, Step, Tree, Walk};
