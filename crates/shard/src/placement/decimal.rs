//! Decimal text of an integer, without an allocation.

use std::fmt::Write as _;

use smallvec::SmallVec;

/// Bytes that are held without an allocation: more than any key of 64 bits has.
const INLINE_BYTES: usize = 24;

/// Decimal text of an integer.
#[derive(Default)]
pub(super) struct Decimal(SmallVec<[u8; INLINE_BYTES]>);

impl Decimal {
    /// The text of `value`.
    pub(super) fn of(value: impl std::fmt::Display) -> Self {
        let mut text = Self::default();
        let _ = write!(text, "{value}");
        text
    }

    /// The text.
    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl std::fmt::Write for Decimal {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}
