//! Long lists made short: `(?,?,?,?,?)` becomes `(?,?,?,...)`, and many such lists become a few and
//! `...`.
//!
//! Only texts with enough `?` get here. Both functions shorten in place, reading ahead of where
//! they write.

use crate::bytes::{OPERATOR, WORD, is};

/// Shortens lists inside parentheses to `limit` values and `...`; returns how many it shortened,
/// and whether a sign went with a list that was no value.
pub(super) fn lists(text: &mut Vec<u8>, limit: usize) -> (usize, bool) {
    let mut shortener = Shortener::new(text);
    let mut count = 0;
    let mut inside = false;
    while shortener.at < shortener.len() {
        if inside && shortener.written > 4 && shortener.wrote(b",...") {
            shortener.skip_values();
        }
        let Some(byte) = shortener.peek(0) else { break };
        match byte {
            b'(' => inside = true,
            b')' => inside = false,
            b'?' if inside && shortener.starts_list() => {
                count += usize::from(shortener.list(limit));
                continue;
            }
            _ => {}
        }
        shortener.copy(1);
    }
    let lost = shortener.lost;
    shortener.finish();
    (count, lost)
}

/// Shortens runs of more than `groups` lists that [`lists`] shortened to `limit` values.
pub(super) fn groups(text: &mut Vec<u8>, limit: usize, groups: usize) {
    let mut shortener = Shortener::new(text);
    // "(", "?," for each value, "...", ")" and the comma behind it.
    let size = 1 + 2 * limit + 3 + 1 + 1;
    while shortener.at < shortener.len() {
        if shortener.written > 5 && shortener.wrote(b"),...") {
            let skipped = usize::from(matches!(shortener.peek(0), Some(b',' | b' ')));
            let mut end = shortener.at + skipped;
            while end + size - 1 <= shortener.len() && shortener.is_group(end, limit) {
                // The last byte of the text is not a comma that belongs to a group.
                end += if end + size == shortener.len() { size - 1 } else { size };
            }
            if end > shortener.at + 1 {
                shortener.at = end - 1;
                continue;
            }
            if end + 1 >= shortener.len() {
                break;
            }
        }
        if shortener.peek(0) == Some(b'(') && shortener.is_group(shortener.at, limit) {
            let mut end = shortener.at;
            let mut found = 0;
            while shortener.is_group(end, limit) {
                end += size - 1;
                end += usize::from(shortener.get(end) == Some(b','));
                found += 1;
            }
            if found > groups {
                shortener.copy(size * groups);
                shortener.put(b"...");
                shortener.at = end;
                if shortener.at >= shortener.len() {
                    break;
                }
            }
        }
        shortener.copy(1);
    }
    shortener.finish();
}

/// A text that is read at one place and written at an earlier one.
struct Shortener<'a> {
    text: &'a mut Vec<u8>,
    at: usize,
    written: usize,
    /// A byte that is neither value nor word went with a list.
    lost: bool,
}

impl<'a> Shortener<'a> {
    fn new(text: &'a mut Vec<u8>) -> Self {
        Self { text, at: 0, written: 0, lost: false }
    }

    fn len(&self) -> usize {
        self.text.len()
    }

    fn get(&self, at: usize) -> Option<u8> {
        self.text.get(at).copied()
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.get(self.at + ahead)
    }

    fn wrote(&self, end: &[u8]) -> bool {
        self.text.get(..self.written).is_some_and(|text| text.ends_with(end))
    }

    fn put(&mut self, bytes: &[u8]) {
        if let Some(to) = self.text.get_mut(self.written..self.written + bytes.len()) {
            to.copy_from_slice(bytes);
            self.written += bytes.len();
        }
    }

    fn copy(&mut self, len: usize) {
        let end = self.len().min(self.at + len);
        self.text.copy_within(self.at..end, self.written);
        self.written += end - self.at;
        self.at = end;
    }

    fn finish(self) {
        self.text.truncate(self.written);
    }

    /// Skips values behind a list that an earlier round shortened.
    fn skip_values(&mut self) {
        let last = self.len() - 1;
        if last <= self.at {
            return;
        }
        let mut end = self.at + usize::from(self.peek(0) == Some(b','));
        let mut closed = false;
        while end < last && self.get(end) == Some(b'?') {
            match self.get(end + 1) {
                Some(b',') => end += 2,
                other => {
                    closed = other == Some(b')');
                    end += usize::from(closed);
                    break;
                }
            }
        }
        if end > self.at + 1 || closed {
            self.at = end;
        }
    }

    /// Whether two values begin here, and no operator is before them.
    fn starts_list(&self) -> bool {
        self.peek(1) == Some(b',')
            && self.peek(2) == Some(b'?')
            && matches!(self.peek(3), Some(b',' | b')'))
            && !self.at.checked_sub(1).and_then(|at| self.get(at)).is_some_and(|byte| is(byte, OPERATOR))
    }

    /// Takes the list that begins here; whether it was long enough to be shortened.
    fn list(&mut self, limit: usize) -> bool {
        let last = self.len() - 1;
        let mut end = self.at;
        while end < last && self.get(end) == Some(b'?') && self.get(end + 1) == Some(b',') {
            end += 2;
        }
        let values = (end - self.at) / 2;
        // One byte in front of the parenthesis counts as a value, whatever it is.
        let closed = end < last && self.get(end + 1) == Some(b')');
        if values + usize::from(closed) < limit + 2 {
            self.copy(2 * values);
            return false;
        }
        self.lost |= closed && self.get(end).is_some_and(|byte| byte != b'?' && !is(byte, WORD));
        self.copy(2 * limit);
        self.put(b"...");
        self.at = if closed { end + 1 } else { end - 1 };
        true
    }

    /// Whether a list shortened to `limit` values is at `at`.
    fn is_group(&self, at: usize, limit: usize) -> bool {
        let Some((b'(', rest)) = self.text.get(at..).and_then(|text| text.split_first()) else {
            return false;
        };
        let Some((values, rest)) = rest.split_at_checked(2 * limit) else { return false };
        rest.starts_with(b"...)") && values.chunks_exact(2).all(|value| value == b"?,")
    }
}
