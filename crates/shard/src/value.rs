//! Values of statements as the planner hands them over, with their type.

use crate::calendar::{Date, DateTime};

/// Value that a statement compares with a key column, or stores in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// Integer, as a literal or as a parameter with a sign.
    Signed(i64),
    /// Integer of an UNSIGNED parameter, or a literal above `i64::MAX`.
    Unsigned(u64),
    /// Text in the character set of the column, without quotes and escapes.
    Text(&'a [u8]),
    /// Sort key of a text under the collation of its column. If the collation pads with spaces,
    /// weights of spaces at the end have to be cut: texts that differ in them are equal.
    Weight(&'a [u8]),
    /// Date, as a typed literal or a parameter.
    Date(Date),
    /// Date and time, as a typed literal or a parameter.
    DateTime(DateTime),
}
