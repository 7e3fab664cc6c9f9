//! Whether a text is JSON (RFC 8259), as SQLite's `JSON_VALID` decides for the same columns; and single values of it.

use std::cell::Cell;

/// How deep arrays and objects nest. No column needs more than three levels.
const NESTING_MAX: usize = 32;

/// Whether `text` is one JSON value.
pub(crate) fn is_json(text: &str) -> bool {
    let mut left = Left(text.as_bytes());
    left.blanks();
    let good = left.value(NESTING_MAX).is_some();
    left.blanks();
    good && left.0.is_empty()
}

/// The value, as it stands there, that the object `text` has under `name`, a plain word; of several the last.
pub(crate) fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let found = Cell::new(None);
    let mut left = Left(text.trim_ascii().as_bytes());
    if left.0.first() != Some(&b'{') {
        return None;
    }
    let from = |rest: &[u8]| text.trim_ascii_end().len() - rest.len();
    left.items(b'}', NESTING_MAX, |left, depth| {
        let key = from(left.0);
        left.string()?;
        let is_it = text.get(key..from(left.0))?.trim_matches('"') == name;
        left.blanks();
        left.take(b':').then_some(())?;
        left.blanks();
        let value = from(left.0);
        left.value(depth)?;
        if is_it {
            found.set(text.get(value..from(left.0)));
        }
        Some(())
    })?;
    found.get()
}

/// What is left to read. The functions return nothing where the text is broken.
struct Left<'a>(&'a [u8]);

impl Left<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.0.first() == Some(&byte);
        if found {
            let _ = self.next();
        }
        found
    }

    fn blanks(&mut self) {
        self.0 = self.0.trim_ascii_start();
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.0.first()? {
            b'{' => self.items(b'}', depth, |left, depth| {
                left.string()?;
                left.blanks();
                left.take(b':').then_some(())?;
                left.blanks();
                left.value(depth)
            }),
            b'[' => self.items(b']', depth, Self::value),
            b'"' => self.string(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    /// What is between two brackets, separated by commas.
    fn items(&mut self, end: u8, depth: usize, item: impl Fn(&mut Self, usize) -> Option<()>) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        let _ = self.next();
        self.blanks();
        if self.take(end) {
            return Some(());
        }
        loop {
            item(self, depth)?;
            self.blanks();
            if self.take(end) {
                return Some(());
            }
            self.take(b',').then_some(())?;
            self.blanks();
        }
    }

    fn string(&mut self) -> Option<()> {
        self.take(b'"').then_some(())?;
        loop {
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => match self.next()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => {
                        for _ in 0..4 {
                            self.next().filter(u8::is_ascii_hexdigit)?;
                        }
                    }
                    _ => return None,
                },
                0..0x20 => return None,
                _ => {}
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.0 = self.0.strip_prefix(word)?;
        Some(())
    }

    fn digits(&mut self) -> Option<()> {
        let count = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.0 = self.0.get(count..)?;
        (count > 0).then_some(())
    }

    fn number(&mut self) -> Option<()> {
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_told_from_what_looks_like_it() {
        for text in [
            "{}",
            " { \"a\" : [1, -0.5e+3, true, false, null, \"\\u00e4\\n\"] , \"b\":{} } ",
            "[]",
            "0",
            "\"x\"",
            "null",
        ] {
            assert!(is_json(text), "{text}");
        }
        for text in [
            "",
            " ",
            "{",
            "{a:1}",
            "{\"a\":1,}",
            "[1,]",
            "[1 2]",
            "01",
            "1.",
            "-",
            "'x'",
            "\"\n\"",
            "{} {}",
            "\"\\x\"",
            "nul",
            "+1",
            "{\"a\"}",
        ] {
            assert!(!is_json(text), "{text}");
        }
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(is_json(&deep(32)) && !is_json(&deep(33)) && !is_json(&deep(1_000_000)));
    }
}
