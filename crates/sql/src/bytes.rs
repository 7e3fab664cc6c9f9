//! Which bytes are words, digits and blanks: one table instead of comparisons.

/// A letter, digit, `$` or `_` of ASCII: what ProxySQL takes for a part of a word.
pub(crate) const WORD: u8 = 1;
/// `0` to `9`.
pub(crate) const DIGIT: u8 = 2;
/// Blank, tab, line feed, carriage return.
pub(crate) const SPACE: u8 = 4;
/// `+ - * / %`.
pub(crate) const OPERATOR: u8 = 8;
/// `0` to `9`, `a` to `f`, `A` to `F`.
pub(crate) const HEX: u8 = 16;

static CLASSES: [u8; 256] = classes();

/// The classes of one byte, as bits.
#[inline]
pub(crate) fn class(byte: u8) -> u8 {
    // Every byte is an index of the table.
    CLASSES.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Whether `byte` is of any of `classes`.
#[inline]
pub(crate) fn is(byte: u8, classes: u8) -> bool {
    class(byte) & classes != 0
}

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let c = byte as u8;
        if c.is_ascii_alphanumeric() || c == b'_' || c == b'$' {
            table[byte] |= WORD;
        }
        if c.is_ascii_digit() {
            table[byte] |= DIGIT;
        }
        if c.is_ascii_hexdigit() {
            table[byte] |= HEX;
        }
        if matches!(c, b' ' | b'\t' | b'\n' | b'\r') {
            table[byte] |= SPACE;
        }
        if matches!(c, b'+' | b'-' | b'*' | b'/' | b'%') {
            table[byte] |= OPERATOR;
        }
        byte += 1;
    }
    table
}
