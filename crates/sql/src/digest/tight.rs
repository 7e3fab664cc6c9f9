//! Output without needless blanks and signs: the second half of the digest, done as the first half
//! writes.
//!
//! A blank or sign is held back until the next byte is known. Whether it stays depends on both
//! neighbours, and on the byte before the left one. ProxySQL decides this in place, on a buffer
//! that it shortens as it goes: while exactly one byte has been dropped, the second byte to the
//! left is already the last one *written*. Texts depend on that, so [`Tight::before`] does the
//! same.

use crate::bytes::{DIGIT, OPERATOR, WORD, is};

/// Writes digest text; see the module.
#[derive(Debug, Default)]
pub(super) struct Tight {
    /// The text so far, without the byte held back.
    pub(super) out: Vec<u8>,
    /// A blank or sign whose right neighbour is not known yet.
    held: Option<u8>,
    /// The last three bytes that came in, the latest lowest.
    seen: u32,
    /// Bytes that came in and did not go out; 2 stands for more.
    dropped: u8,
    /// A sign in front of anything but a value was dropped: without it, the statement may be
    /// another one.
    pub(super) signs_lost: bool,
    /// Digits become `?`.
    no_digits: bool,
    /// Blanks beside the marks of a comment stay.
    keep_comment: bool,
}

impl Tight {
    pub(super) fn restart(&mut self, no_digits: bool, keep_comment: bool) {
        self.out.clear();
        self.held = None;
        // Before the text, ProxySQL sees a digit.
        self.seen = u32::from_be_bytes([b'0'; 4]);
        self.dropped = 0;
        self.signs_lost = false;
        self.no_digits = no_digits;
        self.keep_comment = keep_comment;
    }

    /// Whether nothing has come in yet.
    pub(super) fn is_empty(&self) -> bool {
        self.out.is_empty() && self.held.is_none() && self.dropped == 0
    }

    /// The last byte that came in.
    pub(super) fn last(&self) -> u8 {
        self.seen.to_le_bytes()[0]
    }

    /// One byte.
    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        self.settle(byte);
        match byte {
            b' ' | b'+' | b'-' => self.held = Some(byte),
            _ if self.no_digits && is(byte, DIGIT) => self.digit(),
            _ => self.out.push(byte),
        }
        self.seen = self.seen << 8 | u32::from(byte);
    }

    /// Words and single blanks between them, all of which stay as they are.
    #[inline]
    pub(super) fn word(&mut self, word: &[u8]) {
        if self.no_digits || word.len() < 4 {
            for byte in word {
                self.push(*byte);
            }
            return;
        }
        if let (Some(first), Some(last)) = (word.first(), word.last_chunk::<4>()) {
            self.settle(*first);
            self.out.extend_from_slice(word);
            self.seen = u32::from_be_bytes(*last);
        }
    }

    /// The same with the blank behind them, in front of a number; false if that has to be done byte
    /// by byte.
    #[inline]
    pub(super) fn word_and_blank(&mut self, word: &[u8]) -> bool {
        if self.no_digits {
            return false;
        }
        let Some(first) = word.first() else { return false };
        self.settle(*first);
        self.out.extend_from_slice(word);
        self.seen = match word.last_chunk::<4>() {
            Some(last) => u32::from_be_bytes(*last),
            None => word.iter().fold(self.seen, |seen, byte| seen << 8 | u32::from(*byte)),
        };
        true
    }

    /// The end of the text: nothing is right of the byte held back.
    pub(super) fn finish(&mut self) {
        self.settle(0);
    }

    fn digit(&mut self) {
        match self.out.last() {
            Some(last) if *last != b'?' => self.out.push(b'?'),
            _ => self.drop(),
        }
    }

    fn drop(&mut self) {
        self.dropped = 2.min(self.dropped + 1);
    }

    /// Decides about the byte held back, now that the byte right of it is known.
    #[inline]
    fn settle(&mut self, right: u8) {
        if let Some(held) = self.held.take() {
            self.settle_held(held, right);
        }
    }

    fn settle_held(&mut self, held: u8, right: u8) {
        let (left, second) = self.before();
        let stays = if held == b' ' {
            self.blank_stays(left, second, right)
        } else {
            sign_stays(left, second, right)
        };
        if stays {
            self.out.push(held);
        } else {
            self.signs_lost |= held != b' ' && (left == b';' || right != b'?' && right != b' ');
            self.drop();
        }
    }

    /// The byte left of the one held back, and the one left of that.
    fn before(&self) -> (u8, u8) {
        let [_, left, second, _] = self.seen.to_le_bytes();
        match (self.dropped, self.out.as_slice()) {
            (0, [.., second, left]) => (*left, *second),
            (0, [left]) => (*left, b'0'),
            (0, []) => (b'0', b'0'),
            (1, [.., last]) => (left, *last),
            _ => (left, second),
        }
    }

    fn blank_stays(&self, left: u8, second: u8, right: u8) -> bool {
        if left == b'(' || right == b')' {
            false
        } else if left == b',' || right == b',' || right == b'?' && is(left, OPERATOR) {
            self.keep_comment && second == b'*' && left == b'/'
        } else {
            !(left == b'?' && is(right, OPERATOR))
        }
    }
}

/// A sign goes where it can only be a sign; ProxySQL also drops operators between words with blanks
/// around.
fn sign_stays(left: u8, second: u8, right: u8) -> bool {
    let before = if left == b' ' { second } else { left };
    if is(before, WORD) {
        left != b' '
    } else {
        before == b'?' || before == b')' || !(right == b'?' || right == b' ')
    }
}
