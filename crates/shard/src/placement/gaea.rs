//! Functions of Gaea that come from MyCat.
//!
//! Gaea takes integers of 64 bits where MyCat takes any, and runes where Java has UTF-16 units: the
//! functions here do as Gaea does.

mod murmur;
mod padding;
mod slots;

pub use murmur::Murmur;
pub use padding::{PadEnd, Padding};
pub use slots::{Slice, Slots};

use crate::key::Key;
use crate::placement::decimal::Decimal;
use crate::placement::modulo::wrapped;
use crate::prune::Reason;

/// Calls `use_text` with the key as text: integers in decimal, unsigned ones as such.
fn with_text<T>(key: Key<'_>, use_text: impl FnOnce(&str) -> T) -> Result<T, Reason> {
    match key {
        Key::Integer(key) => Ok(use_text(Decimal::of(key).as_str())),
        Key::Bytes(text) => std::str::from_utf8(text).map(use_text).map_err(|_| Reason::Kind),
        _ => Err(Reason::Kind),
    }
}

/// The key as Go's `int64`. A text has to be one as a whole, with a sign in front or without.
pub(super) fn number(key: Key<'_>) -> Result<i64, Reason> {
    match key {
        Key::Integer(key) => Ok(wrapped(key)),
        Key::Bytes(text) => {
            let text = std::str::from_utf8(text).map_err(|_| Reason::OutOfRange)?;
            text.parse().map_err(|_| Reason::OutOfRange)
        }
        _ => Err(Reason::Kind),
    }
}
