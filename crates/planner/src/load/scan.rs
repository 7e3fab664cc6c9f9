//! The way of a server through a line: one step for each character.

use super::Format;

/// Where the scan of a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a line without a row: quotes mean nothing there.
    Skipped,
    /// In front of a field.
    Before,
    /// In a field.
    Field {
        /// The field has begun with a quote.
        is_quoted: bool,
    },
    /// Behind all fields that the server reads: quotes mean nothing there.
    Rest,
}

/// What is next. The length is that in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// More bytes have to come.
    Wait,
    /// The file ends here.
    End,
    /// So many bytes that are no part of a value.
    Pass(usize),
    /// A byte of the value, of so many bytes.
    Byte(u8, usize),
    /// `\N`.
    Null,
    /// The quote with which a field begins.
    Open,
    /// The field ends behind so many bytes.
    FieldEnd {
        /// Bytes, the separator among them.
        len: usize,
        /// Behind the quote that closes it.
        is_quoted: bool,
    },
    /// The line ends behind so many bytes, and its field too.
    LineEnd {
        /// Bytes, the separator among them.
        len: usize,
        /// Behind the quote that closes the field.
        is_quoted: bool,
    },
}

/// Bytes that wait to be scanned.
#[derive(Clone, Copy)]
pub(super) struct Ahead<'a> {
    pub(super) format: &'a Format,
    /// From the place of the scan on.
    pub(super) bytes: &'a [u8],
    /// Whether the file ends behind them.
    pub(super) is_end: bool,
}

impl Ahead<'_> {
    /// The next step of a scan that is at a place.
    pub(super) fn step(&self, place: Place) -> Step {
        match place {
            Place::Skipped | Place::Rest => self.unquoted(),
            Place::Before => match self.byte(0) {
                Ok(byte) if Some(byte) == self.format.quote => Step::Open,
                Ok(_) => self.in_field(false),
                Err(step) => step,
            },
            Place::Field { is_quoted } => self.in_field(is_quoted),
        }
    }

    /// The byte at an offset, or what there is in its place.
    fn byte(&self, at: usize) -> Result<u8, Step> {
        let missing = if self.is_end { Step::End } else { Step::Wait };
        self.bytes.get(at).copied().ok_or(missing)
    }

    /// Whether a separator is at an offset; nothing if more bytes have to come.
    fn is_at(&self, at: usize, separator: &[u8]) -> Option<bool> {
        let there = self.bytes.get(at..).unwrap_or_default();
        let common = there.len().min(separator.len());
        if there.get(..common) != separator.get(..common) {
            return Some(false);
        }
        (common == separator.len()).then_some(true).or(self.is_end.then_some(false))
    }

    /// In a part of a line that is not read.
    fn unquoted(&self) -> Step {
        match self.byte(0) {
            Err(step) => step,
            Ok(byte) if Some(byte) == self.format.escape => match self.byte(1) {
                Ok(_) => Step::Pass(2),
                Err(Step::End) => Step::Pass(1),
                Err(step) => step,
            },
            Ok(_) => match self.is_at(0, &self.format.line_end) {
                Some(true) => Step::LineEnd { len: self.format.line_end.len(), is_quoted: false },
                Some(false) => Step::Pass(1),
                None => Step::Wait,
            },
        }
    }

    fn in_field(&self, is_quoted: bool) -> Step {
        let byte = match self.byte(0) {
            Ok(byte) => byte,
            Err(step) => return step,
        };
        if Some(byte) == self.format.escape {
            match self.byte(1) {
                Err(Step::End) => return Step::Byte(byte, 1),
                Err(step) => return step,
                // The same sign twice is one; it escapes nothing else if it is the quote, too.
                Ok(next) if next == byte || self.format.quote != Some(byte) => return unescaped(next),
                Ok(_) => {}
            }
        }
        if is_quoted && Some(byte) == self.format.quote {
            return self.behind_quote(byte);
        }
        if !is_quoted {
            match self.end_at(0, false) {
                Ok(Some(end)) => return end,
                Ok(None) => {}
                Err(step) => return step,
            }
        }
        Step::Byte(byte, 1)
    }

    /// At a quote within a field that has begun with one.
    fn behind_quote(&self, quote: u8) -> Step {
        match self.byte(1) {
            Err(Step::End) => Step::LineEnd { len: 1, is_quoted: true },
            Err(step) => step,
            Ok(next) if next == quote => Step::Byte(quote, 2),
            Ok(_) => match self.end_at(1, true) {
                Ok(end) => end.unwrap_or(Step::Byte(quote, 1)),
                Err(step) => step,
            },
        }
    }

    /// The end of the line or of the field at an offset, if one is there.
    fn end_at(&self, at: usize, is_quoted: bool) -> Result<Option<Step>, Step> {
        let Format { line_end, field_end, .. } = self.format;
        if self.is_at(at, line_end).ok_or(Step::Wait)? {
            return Ok(Some(Step::LineEnd { len: at + line_end.len(), is_quoted }));
        }
        if self.is_at(at, field_end).ok_or(Step::Wait)? {
            return Ok(Some(Step::FieldEnd { len: at + field_end.len(), is_quoted }));
        }
        Ok(None)
    }
}

/// What an escaped byte stands for.
const fn unescaped(byte: u8) -> Step {
    let stands_for = match byte {
        b'N' => return Step::Null,
        b'0' => 0,
        b'Z' => 26,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        other => other,
    };
    Step::Byte(stands_for, 2)
}
