//! A JSON object as a line of a log.

use std::fmt::{Display, Write as _};

/// An object in the making.
pub(crate) struct Object {
    text: String,
}

impl Object {
    /// An empty one, with room for so many bytes.
    pub(crate) fn with_room(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes) }
    }

    fn name(&mut self, name: &str) {
        self.text.push(if self.text.is_empty() { '{' } else { ',' });
        let _ = write!(self.text, "\"{name}\":");
    }

    /// A value that is a number, `true` or `false`.
    pub(crate) fn number(&mut self, name: &str, value: impl Display) {
        self.name(name);
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{value}");
    }

    /// A value that is text. What is not UTF-8 becomes U+FFFD: JSON has nothing for it.
    pub(crate) fn text(&mut self, name: &str, value: &[u8]) {
        self.name(name);
        self.text.push('"');
        for letter in String::from_utf8_lossy(value).chars() {
            match letter {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                '\u{8}' => self.text.push_str("\\b"),
                '\u{c}' => self.text.push_str("\\f"),
                control if control < ' ' => {
                    let _ = write!(self.text, "\\u{:04x}", u32::from(control));
                }
                plain => self.text.push(plain),
            }
        }
        self.text.push('"');
    }

    /// Appends it to `line`, with the end of the line.
    pub(crate) fn end(self, line: &mut Vec<u8>) {
        line.extend_from_slice(self.text.as_bytes());
        line.extend_from_slice(b"}\n");
    }
}
