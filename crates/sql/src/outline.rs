//! What a statement is but for its plain values: those that share it have the same digest, and need
//! not be read to know that.
//!
//! Programs send the same few statements with other numbers and strings in them. Where only such
//! values differ, the pass that makes a digest takes the same steps: a run of digits that no word
//! and no point goes on, and a string without a backslash, leave nothing behind but their place.
//! All else counts byte by byte, other values included.

use crate::bytes::{DIGIT, WORD, is};
use crate::digest::{Digest, Span};

/// Bytes of the longest statement that has an outline: what it takes to keep one is bounded by
/// this.
pub const BYTES_MAX: usize = 1024;

/// The outline of one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline {
    text: Box<[u8]>,
    /// The plain values.
    values: Box<[Span]>,
}

impl Outline {
    /// The outline of `sql`, of which `digest` was made; nothing if it is too long, or if a
    /// statement with the same outline could mean something else.
    pub fn of(sql: &[u8], digest: &Digest) -> Option<Self> {
        let facts = digest.facts();
        let values: Box<[Span]> =
            digest.literals().iter().copied().filter(|value| is_plain(sql, *value)).collect();
        // The place of a comment behind a value is another one in each statement.
        let moves = |comment: Span| values.first().is_some_and(|value| value.start < comment.start);
        let is_all = facts.sound && facts.whole && !facts.first_comment.is_some_and(moves);
        (is_all && sql.len() <= BYTES_MAX).then(|| Self { text: sql.into(), values })
    }

    /// Whether `sql` has this outline: then it has the same digest, by the same options, and the
    /// same [facts], comments at the same places among them.
    ///
    /// [facts]: crate::digest::Facts
    pub fn fits(&self, sql: &[u8]) -> bool {
        self.walk(sql, |_| {}).is_some()
    }

    /// Where the plain values of the statement are that the outline was made of.
    pub const fn values(&self) -> &[Span] {
        &self.values
    }

    /// The number of the plain value at this place of the statement that the outline was made of.
    pub fn number_of(&self, value: Span) -> Option<usize> {
        self.values.iter().position(|one| *one == value)
    }

    /// Where the plain value with this number is in `sql`; nothing if `sql` does not have the
    /// outline.
    pub fn value_of(&self, sql: &[u8], number: usize) -> Option<Span> {
        let (mut left, mut found) = (number, None);
        self.walk(sql, |span| match left.checked_sub(1) {
            Some(less) => left = less,
            None => found = found.or(Some(span)),
        })?;
        found
    }

    /// Where all of them are.
    pub fn values_in(&self, sql: &[u8]) -> Option<Vec<Span>> {
        let mut all = Vec::with_capacity(self.values.len());
        self.walk(sql, |span| all.push(span))?;
        Some(all)
    }

    /// Has `each` look at the plain values of `sql`; nothing if `sql` does not have the outline.
    fn walk(&self, sql: &[u8], mut each: impl FnMut(Span)) -> Option<()> {
        let (mut from, mut rest) = (0, sql);
        for value in &self.values {
            rest = rest.strip_prefix(Span { start: from, end: value.start }.of(&self.text))?;
            let start = sql.len() - rest.len();
            rest = skip_plain(rest, self.text.get(value.start).copied()?)?;
            from = value.end;
            each(Span { start, end: sql.len() - rest.len() });
        }
        (self.text.get(from..) == Some(rest)).then_some(())
    }

    /// A statement with this outline, and what `other` says in the place of each plain value.
    pub(crate) fn filled(&self, mut other: impl FnMut(&[u8]) -> Vec<u8>) -> Vec<u8> {
        let mut sql = Vec::new();
        let mut from = 0;
        for value in &self.values {
            sql.extend_from_slice(Span { start: from, end: value.start }.of(&self.text));
            sql.append(&mut other(value.of(&self.text)));
            from = value.end;
        }
        sql.extend_from_slice(self.text.get(from..).unwrap_or_default());
        sql
    }
}

/// Whether the value at this place is a plain one.
fn is_plain(sql: &[u8], value: Span) -> bool {
    let text = value.of(sql);
    let kind = text.first().copied().unwrap_or(0);
    let goes_on = sql.get(value.end).is_some_and(|byte| is(*byte, WORD) || *byte == b'.');
    skip_plain(text, kind).is_some_and(<[u8]>::is_empty) && !(is(kind, DIGIT) && goes_on)
}

/// What is behind the plain value that `text` begins with, if it is one of the kind that begins
/// with `kind` as well: a digit or a quote.
fn skip_plain(text: &[u8], kind: u8) -> Option<&[u8]> {
    if is(kind, DIGIT) {
        let digits = text.iter().take_while(|byte| is(**byte, DIGIT)).count();
        return text.get(digits..).filter(|_| digits > 0);
    }
    let mut rest = text.strip_prefix(&[kind]).filter(|_| matches!(kind, b'\'' | b'"'))?;
    loop {
        let end = rest.iter().position(|byte| *byte == kind || *byte == b'\\')?;
        let (found, behind) = rest.get(end..)?.split_first()?;
        if *found == b'\\' {
            return None;
        }
        // A quote that is doubled belongs to the string.
        match behind.strip_prefix(&[kind]) {
            Some(more) => rest = more,
            None => return Some(behind),
        }
    }
}

/// A hash of the outline of `sql`, which need not be made for it: the same for all that an outline
/// fits, and nearly always another one for others.
pub fn hash(sql: &[u8]) -> u64 {
    let mut hash = 0;
    let mut rest = sql;
    let mut before = 0;
    while let Some((word, behind)) = next_word(rest) {
        let Some(at) = first_value(word, before) else {
            (hash, rest, before) = (mix(hash, word), behind, word.to_be_bytes()[0]);
            continue;
        };
        hash = mix(hash, word & !(u64::MAX << (8 * at)));
        let (value, behind) = rest.get(at..).and_then(<[u8]>::split_first).unwrap_or((&0, &[]));
        rest = skip_any(behind, *value);
        before = 0;
    }
    hash ^ hash >> 32
}

/// Up to eight bytes as a number, the first one lowest, and what is behind them; nothing at the
/// end.
fn next_word(text: &[u8]) -> Option<(u64, &[u8])> {
    if let Some((word, behind)) = text.split_first_chunk() {
        return Some((u64::from_le_bytes(*word), behind));
    }
    let word = text.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    (!text.is_empty()).then_some((word, &[]))
}

/// The place of the first of eight bytes that begins a value: a quote, or a digit that is not in a
/// word. `before` is the byte in front of them.
fn first_value(word: u64, before: u8) -> Option<usize> {
    let mut marks = digits(word) | quotes(word);
    while marks != 0 {
        let at = marks.trailing_zeros() as usize / 8;
        let bytes = word.to_le_bytes();
        let left = at.checked_sub(1).and_then(|left| bytes.get(left)).copied().unwrap_or(before);
        if !(bytes.get(at).is_some_and(|byte| is(*byte, DIGIT)) && is(left, WORD)) {
            return Some(at);
        }
        marks &= marks - 1;
    }
    None
}

/// One in each byte.
const ONES: u64 = u64::MAX / 0xFF;
/// The upper bit of each byte.
const UPPER: u64 = ONES * 0x80;

/// The upper bit of each byte that is a digit.
const fn digits(word: u64) -> u64 {
    // Without the upper bits, nothing is carried from byte to byte. Digits become 0 to 9, all
    // others more.
    let values = (word & !UPPER) ^ (ONES * b'0' as u64);
    let others = values + ONES * (0x7F - 9);
    !(others | word) & UPPER
}

/// The upper bit of each byte that is a quote; what is above the first of them means nothing.
const fn quotes(word: u64) -> u64 {
    let (single, double) = (word ^ (ONES * b'\'' as u64), word ^ (ONES * b'"' as u64));
    (single.wrapping_sub(ONES) & !single | double.wrapping_sub(ONES) & !double) & UPPER
}

/// What is behind a value of which `first` is the first byte and `text` follows it.
fn skip_any(text: &[u8], first: u8) -> &[u8] {
    if is(first, DIGIT) {
        let digits = text.iter().position(|byte| !is(*byte, DIGIT)).unwrap_or(text.len());
        return text.get(digits..).unwrap_or_default();
    }
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        if *byte == b'\\' {
            bytes.next();
        } else if *byte == first && bytes.as_slice().first() != Some(&first) {
            break;
        } else if *byte == first {
            bytes.next();
        }
    }
    bytes.as_slice()
}

fn mix(hash: u64, word: u64) -> u64 {
    // An odd number without a pattern. The bits that it carries up come down again by the rotation.
    (hash.rotate_left(25) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use crate::Options;

    use super::*;

    fn of(sql: &str) -> Option<Outline> {
        let mut digest = Digest::default();
        digest.read(sql.as_bytes(), &Options::default());
        Outline::of(sql.as_bytes(), &digest)
    }

    #[test]
    fn statements_with_other_plain_values_fit() {
        for (one, other) in [
            ("SELECT c FROM sbtest1 WHERE id=5005", "SELECT c FROM sbtest1 WHERE id=7"),
            ("SELECT 1", "SELECT 18446744073709551616"),
            ("INSERT INTO t1 VALUES (1,'it''s',2.5)", "INSERT INTO t1 VALUES (22,'',2.5)"),
            ("SELECT 'a''b'\"c\",5 FROM t", "SELECT ''\"it's\",0 FROM t"),
            ("/* hostgroup=1 */ SELECT 'a'", "/* hostgroup=1 */ SELECT 'for update'"),
            ("SELECT 'back\\'slash', 12345678", "SELECT 'back\\'slash', 1"),
            ("COMMIT", "COMMIT"),
            ("", ""),
        ] {
            assert!(of(one).unwrap().fits(other.as_bytes()), "{one} and {other}");
            assert!(of(other).unwrap().fits(one.as_bytes()), "{other} and {one}");
            assert_eq!(hash(one.as_bytes()), hash(other.as_bytes()), "{one} and {other}");
        }
    }

    #[test]
    fn other_statements_do_not_fit() {
        for (one, other) in [
            ("SELECT c FROM sbtest1 WHERE id=5005", "SELECT c FROM sbtest2 WHERE id=5005"),
            ("SELECT 1 FROM t", "SELECT 1.5 FROM t"),
            ("SELECT 1 FROM t", "SELECT 1e5 FROM t"),
            ("SELECT 1 FROM t", "SELECT 1 FROM t "),
            ("SELECT 1 FROM t", "SELECT 1"),
            ("SELECT 1", "SELECT '1'"),
            ("SELECT 1", "SELECT "),
            ("SELECT 'a'", "SELECT \"a\""),
            ("SELECT 'a'", "SELECT 'a\\''"),
            ("SELECT 'a'", "SELECT 'a"),
            ("SELECT 'a' FROM t", "SELECT 'a''b FROM t"),
            ("SELECT 2.5", "SELECT 3.5"),
        ] {
            assert!(!of(one).unwrap().fits(other.as_bytes()), "{one} and {other}");
        }
        assert_ne!(hash(b"SELECT c FROM sbtest1 WHERE id=5"), hash(b"SELECT c FROM sbtest2 WHERE id=5"));
    }

    #[test]
    fn what_a_digest_does_not_say_has_no_outline() {
        for sql in ["SELECT 1 /*! FOR UPDATE */", "SELECT 'a", "SELECT 1 /* hostgroup=1 */", "SELECT `1a`"] {
            assert_eq!(of(sql), None, "{sql}");
        }
        assert_eq!(of(&format!("SELECT 1{}", " ".repeat(BYTES_MAX))), None);
    }
}
