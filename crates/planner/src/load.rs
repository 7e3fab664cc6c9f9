//! `LOAD DATA`: the lines of a file, found as servers find them, and the fields of each that
//! decide where it goes.
//!
//! - [`Format`]: what separates lines and fields;
//! - [`Splitter`]: lines out of bytes that come in parts.

mod format;
mod scan;
mod splitter;
#[cfg(test)]
mod tests;

pub use format::Format;
pub use splitter::{Field, Line, Splitter, Taken};
