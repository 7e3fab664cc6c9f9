//! The lines of a file whose bytes come in parts.

use super::Format;
use super::scan::{Ahead, Place, Step};

/// Value of a field, as a server reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Field {
    /// The line ends before it.
    #[default]
    Missing,
    /// `\N`, or `NULL` without quotes where fields may have some.
    Null,
    /// Its bytes, without quotes and escapes.
    Text(Vec<u8>),
}

/// Line of a file.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its bytes, the separator at its end among them.
    pub bytes: &'a [u8],
    /// Number of its row, from 1; none if it has no row.
    pub row: Option<u64>,
    /// The fields that were asked for, in the order of the question.
    pub fields: &'a [Field],
}

/// What there is of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken<'a> {
    /// A line.
    Line(Line<'a>),
    /// More bytes have to come. So many wait for the end of their line.
    Wait(usize),
    /// No more lines.
    End,
}

/// Finds the lines of a file. All bytes that it is given come out again, in the same order.
#[derive(Debug)]
pub struct Splitter {
    format: Format,
    /// Fields of a line that the server reads.
    columns: usize,
    /// Positions of the fields that are asked for.
    wanted: Vec<usize>,
    bytes: Vec<u8>,
    /// Where the line begins, and where its scan is.
    from: usize,
    at: usize,
    is_end: bool,
    place: Place,
    /// The number of the field in the line.
    column: usize,
    /// What was read of the field.
    value: Vec<u8>,
    has_null: bool,
    fields: Vec<Field>,
    skipped: u64,
    rows: u64,
}

impl Splitter {
    /// A file in this format, of whose lines a server reads so many fields. `wanted` are the
    /// positions of those that lines tell.
    pub fn new(format: Format, columns: usize, wanted: Vec<usize>) -> Self {
        let fields = vec![Field::Missing; wanted.len()];
        let mut splitter = Self {
            format,
            columns,
            wanted,
            bytes: Vec::new(),
            from: 0,
            at: 0,
            is_end: false,
            place: Place::Before,
            column: 0,
            value: Vec::new(),
            has_null: false,
            fields,
            skipped: 0,
            rows: 0,
        };
        splitter.begin();
        splitter
    }

    /// Takes the next bytes of the file.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.from);
        self.at -= self.from;
        self.from = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The file has no more bytes.
    pub const fn end(&mut self) {
        self.is_end = true;
    }

    /// The next line.
    pub fn take(&mut self) -> Taken<'_> {
        if self.at == self.from {
            self.fields.fill(Field::Missing);
        }
        loop {
            let bytes = self.bytes.get(self.at..).unwrap_or_default();
            match (Ahead { format: &self.format, bytes, is_end: self.is_end }).step(self.place) {
                Step::Wait => return Taken::Wait(self.at - self.from),
                Step::End if self.at == self.from => return Taken::End,
                Step::End => {
                    // A quote that was not closed belongs to the value.
                    let is_open = self.place == Place::Field { is_quoted: true };
                    if is_open && let Some(quote) = self.format.quote {
                        self.value.insert(0, quote);
                    }
                    if matches!(self.place, Place::Field { .. }) {
                        self.close(false);
                    }
                    return self.line();
                }
                Step::Pass(len) => self.at += len,
                Step::Byte(byte, len) => self.add(byte, len),
                Step::Null => {
                    self.has_null = true;
                    self.add(b'N', 2);
                }
                Step::Open => {
                    self.at += 1;
                    self.place = Place::Field { is_quoted: true };
                }
                Step::FieldEnd { len, is_quoted } => {
                    self.at += len;
                    self.close(is_quoted);
                    self.column += 1;
                    self.place = if self.column < self.columns { Place::Before } else { Place::Rest };
                }
                Step::LineEnd { len, is_quoted } => {
                    self.at += len;
                    if matches!(self.place, Place::Before | Place::Field { .. }) {
                        self.close(is_quoted);
                    }
                    return self.line();
                }
            }
        }
    }

    fn add(&mut self, byte: u8, len: usize) {
        self.at += len;
        self.value.push(byte);
        if self.place == Place::Before {
            self.place = Place::Field { is_quoted: false };
        }
    }

    /// The field is whole.
    fn close(&mut self, is_quoted: bool) {
        let is_word = !is_quoted && self.format.quote.is_some() && self.value == b"NULL";
        let is_null = is_word || self.has_null && self.value.len() == 1;
        for (place, _) in self.wanted.iter().enumerate().filter(|(_, column)| **column == self.column) {
            if let Some(field) = self.fields.get_mut(place) {
                *field = if is_null { Field::Null } else { Field::Text(self.value.clone()) };
            }
        }
        self.value.clear();
        self.has_null = false;
    }

    /// The line is whole.
    fn line(&mut self) -> Taken<'_> {
        let is_skipped = self.place == Place::Skipped;
        self.skipped += u64::from(is_skipped);
        self.rows += u64::from(!is_skipped);
        let from = std::mem::replace(&mut self.from, self.at);
        self.begin();
        Taken::Line(Line {
            bytes: self.bytes.get(from..self.at).unwrap_or_default(),
            row: (!is_skipped).then_some(self.rows),
            fields: &self.fields,
        })
    }

    /// In front of a line.
    fn begin(&mut self) {
        self.column = 0;
        self.place = if self.skipped < self.format.skipped { Place::Skipped } else { Place::Before };
    }
}
