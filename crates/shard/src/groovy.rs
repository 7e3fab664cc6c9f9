//! The part of Groovy that inline expressions of ShardingSphere are written in.
//!
//! Accepted are column names, integers, quoted text, `+ - * %` and parentheses, and the methods
//! that shard by text need. Everything else is refused with its column: `/` makes decimals, and a
//! closure or a class would be a program.

mod eval;
mod expand;
mod expr;
mod interval;
mod lexer;
mod template;

pub use eval::Datum;
pub use expand::expand;
pub use template::Template;

use std::fmt;

/// What is wrong with an expression, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Column of the expression, counted from 1 in characters.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

impl Refused {
    fn new(column: usize, message: impl Into<String>) -> Self {
        Self { column, message: message.into() }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.message)
    }
}
