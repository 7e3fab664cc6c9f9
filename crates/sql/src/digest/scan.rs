//! The pass over a statement that writes its digest text: comments go, values become `?`, blanks
//! become one.
//!
//! ProxySQL reads statements byte by byte, without the server's grammar, and its mistakes are part
//! of the texts: a `--` comment that is empty swallows the next line, a word of digits and letters
//! at the very end is a value, and an operator between blanks may go. Rules here are ProxySQL
//! 2.7.2's, found from texts that it gave.

use crate::bytes::{DIGIT, HEX, SPACE, WORD, class, is};

use super::{Facts, LITERALS_MAX, Options, Span, tight::Tight};

/// The longest part of a comment that counts, in bytes (ProxySQL's buffer without its final zero).
const COMMENT_MAX: usize = 1023;

/// What is known between two rounds over one statement.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// The next byte to read.
    at: usize,
    /// The byte before, or what counts as it: `?` behind a value, 0 behind a string, a blank behind
    /// a comment.
    before: u8,
    /// This is within a name in backticks.
    in_name: bool,
    /// A `;` was read, and nothing but blanks and comments since.
    ended: bool,
    /// Values written, and `?` that the text had.
    pub(super) marks: usize,
    /// The text may have had shortened lists from the beginning: it has `..`, or a comment was
    /// kept.
    pub(super) lists: bool,
}

/// Where a scan writes.
pub(super) struct Sink<'a> {
    pub(super) tight: &'a mut Tight,
    pub(super) literals: &'a mut Vec<Span>,
    pub(super) facts: &'a mut Facts,
}

impl Scan {
    /// How many bytes were read.
    pub(super) const fn read(&self) -> usize {
        self.at
    }

    /// Reads on until the end, or until `room` bytes are written; whether that was the end.
    pub(super) fn run(&mut self, sql: &[u8], options: &Options, room: usize, sink: &mut Sink<'_>) -> bool {
        while let Some(&byte) = sql.get(self.at) {
            if sink.tight.out.len() >= room {
                return false;
            }
            let kind = class(byte);
            if kind & (WORD | DIGIT) == WORD || kind & DIGIT != 0 && is(self.before, WORD) {
                self.word(sql, byte, options, sink);
            } else if kind & DIGIT != 0 {
                self.number(sql, options, sink);
            } else if kind & SPACE != 0 {
                self.space(sink);
            } else {
                self.sign(sql, byte, options, sink);
            }
        }
        true
    }

    /// A byte that is neither word nor blank.
    fn sign(&mut self, sql: &[u8], byte: u8, options: &Options, sink: &mut Sink<'_>) {
        let rest = sql.get(self.at..).unwrap_or_default();
        let next = rest.get(1).copied().unwrap_or(0);
        match byte {
            b'/' if next == b'*' && rest.len() > 2 => return self.comment(sql, options, sink),
            b'#' => return self.line(sql, sink),
            b'-' if (self.before != b'-' || self.at == 0) && opens_line_comment(rest) => {
                return self.dashes(sql, sink);
            }
            b'\'' | b'"' => return self.string(sql, byte, sink),
            b'@' => sink.facts.at = true,
            b'?' => self.marks += 1,
            b'.' => self.lists |= self.before == b'.',
            b'`' => {
                self.in_name = !self.in_name;
                sink.facts.sound &= !is(next, DIGIT);
            }
            0 => sink.facts.nul = true,
            // Servers begin a comment here.
            b'-' if opens_line_comment(rest) => sink.facts.sound = false,
            _ => {}
        }
        // Servers take control characters for blanks, also behind `--`.
        sink.facts.sound &= byte >= b' ';
        if byte == b';' {
            self.ended = true;
        } else {
            self.begin_statement(sink);
        }
        sink.tight.push(byte);
        self.before = byte;
        self.at += 1;
    }

    fn begin_statement(&mut self, sink: &mut Sink<'_>) {
        if self.ended || sink.facts.statements == 0 {
            self.ended = false;
            sink.facts.statements += 1;
        }
    }

    fn space(&mut self, sink: &mut Sink<'_>) {
        if !sink.tight.is_empty() {
            if !is(self.before, SPACE) || sink.tight.last() != b' ' {
                sink.tight.push(b' ');
            }
            self.before = b' ';
        }
        self.at += 1;
    }

    fn word(&mut self, sql: &[u8], byte: u8, options: &Options, sink: &mut Sink<'_>) {
        self.begin_statement(sink);
        let rest = sql.get(self.at..).unwrap_or_default();
        let len = word_len(rest);
        let word = rest.get(..len).unwrap_or_default();
        if options.replace_null && !is(self.before, WORD) && is_null(word) {
            return self.literal(self.at + len, b'?', sink);
        }
        let run = if options.lowercase { word } else { words(rest, len, options.replace_null) };
        self.before = run.last().copied().unwrap_or(byte);
        // The blank in front of a number stays as well.
        if let [b' ', next, ..] = rest.get(run.len()..).unwrap_or_default()
            && is(*next, DIGIT)
            && !options.lowercase
            && sink.tight.word_and_blank(rest.get(..=run.len()).unwrap_or_default())
        {
            self.before = b' ';
            self.at += run.len() + 1;
            return;
        }
        copy(run, options, sink);
        self.at += run.len();
    }

    /// A value from here to `end`, behind which `before` counts as the last byte.
    fn literal(&mut self, end: usize, before: u8, sink: &mut Sink<'_>) {
        self.begin_statement(sink);
        sink.facts.sound &= !self.in_name;
        if sink.literals.len() < LITERALS_MAX {
            sink.literals.push(Span { start: self.at, end });
        }
        sink.tight.push(b'?');
        self.marks += 1;
        self.before = before;
        self.at = end;
    }

    fn number(&mut self, sql: &[u8], options: &Options, sink: &mut Sink<'_>) {
        let rest = sql.get(self.at..).unwrap_or_default();
        // A name behind a dot may have digits only.
        let is_named =
            |at: usize| sql.get(at).is_some_and(|byte| is(*byte, WORD) || matches!(byte, b'`' | b'"'));
        if self.before == b'.' && self.at.checked_sub(2).is_some_and(is_named) {
            sink.facts.sound = false;
        }
        let digits = rest.iter().position(|byte| !is(*byte, DIGIT)).unwrap_or(rest.len());
        // Most numbers are digits and nothing else.
        if rest.get(digits).is_none_or(|byte| !is(*byte, WORD) && *byte != b'.') {
            return self.literal(self.at + digits, b'?', sink);
        }
        let mut before = 0;
        let mut end = 0;
        for byte in rest {
            let goes_on = is(*byte, WORD) || *byte == b'.' || is_exponent_sign(before, *byte);
            // The last byte of a statement belongs to a number only if it could be a part of a
            // word.
            if !goes_on || end + 1 == rest.len() && !is(*byte, WORD) {
                break;
            }
            before = *byte;
            end += 1;
        }
        let number = rest.get(..end).unwrap_or_default();
        let last = end == rest.len();
        let (checked, tail) = if last { number.split_at(end - 1) } else { (number, &[][..]) };
        if is_number(checked) {
            // A letter at the end of the text goes with the number before it, whatever it is.
            sink.facts.sound &= tail.iter().all(|byte| is(*byte, DIGIT));
            return self.literal(self.at + end, b'?', sink);
        }
        self.begin_statement(sink);
        copy(number, options, sink);
        self.before = before;
        self.at += end;
    }

    fn string(&mut self, sql: &[u8], quote: u8, sink: &mut Sink<'_>) {
        self.begin_statement(sink);
        sink.facts.quotes |= quote == b'"';
        let body = sql.get(self.at + 1..).unwrap_or_default();
        let mut bytes = body.iter().enumerate();
        while let Some((i, &byte)) = bytes.next() {
            if byte == b'\\' {
                sink.facts.escapes = true;
                bytes.next();
            } else if byte == quote {
                if body.get(i + 1) != Some(&quote) {
                    return self.literal(self.at + i + 2, 0, sink);
                }
                bytes.next();
            }
        }
        // Never closed: it leaves nothing behind.
        sink.facts.sound = false;
        self.at = sql.len();
    }

    /// From `#` to the end of the line.
    fn line(&mut self, sql: &[u8], sink: &mut Sink<'_>) {
        sink.facts.sound &= !self.in_name;
        let rest = sql.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        self.at += end.map_or(rest.len(), |end| end + 1);
        self.end_line(sql, sink);
    }

    /// Behind a comment that ends with its line. No blank is written for it, so that words around
    /// it grow together; and servers do not end it at a carriage return.
    fn end_line(&mut self, sql: &[u8], sink: &mut Sink<'_>) {
        self.before = b' ';
        let rest = sql.get(self.at..).unwrap_or_default();
        let apart = sink.tight.is_empty()
            || sink.tight.last() == b' '
            || rest.first().is_none_or(|next| is(*next, SPACE));
        let returned = self.at.checked_sub(1).and_then(|at| sql.get(at)) == Some(&b'\r');
        sink.facts.sound &= apart && (!returned || rest.first().is_none_or(|next| *next == b'\n'));
    }

    /// From `-- ` to the end of the line. Inside, `--` and a blank are skipped as one, even if the
    /// blank ends the line.
    fn dashes(&mut self, sql: &[u8], sink: &mut Sink<'_>) {
        sink.facts.sound &= !self.in_name;
        while let Some(rest) = sql.get(self.at..).filter(|rest| !rest.is_empty()) {
            if rest.len() >= 4 && opens_line_comment(rest) {
                self.at += 3;
                if sql.get(self.at - 1) != Some(&b' ') {
                    sink.facts.sound = false;
                }
            }
            let byte = sql.get(self.at).copied().unwrap_or(b'\n');
            self.at += 1;
            if matches!(byte, b'\n' | b'\r') {
                break;
            }
        }
        self.at = self.at.min(sql.len());
        self.end_line(sql, sink);
    }

    /// `/* */` in its forms.
    fn comment(&mut self, sql: &[u8], options: &Options, sink: &mut Sink<'_>) {
        let start = self.at;
        let command = sql.get(start + 2) == Some(&b'!');
        sink.facts.sound &=
            !self.in_name && !command && !sql.get(start + 2..).unwrap_or_default().starts_with(b"M!");
        self.at += 2 + usize::from(command);
        if self.at + 1 >= sql.len() {
            // Nothing can close it: the byte that is left is read as if there had been no comment.
            sink.facts.sound = false;
            self.before = b'/';
            return;
        }
        let body = sql.get(self.at..).unwrap_or_default();
        // A star before the comment counts as a star in it: `*/*/` closes at once.
        let closed = (self.before == b'*' && body.first() == Some(&b'/')).then_some(0);
        let Some(end) = closed.or_else(|| body.windows(2).position(|two| two == b"*/").map(|at| at + 1))
        else {
            sink.facts.sound = false;
            self.at = sql.len();
            return;
        };
        sink.facts.sound &= end > 0;
        let inner = body.get(..end.saturating_sub(1)).unwrap_or_default();
        if sink.facts.first_comment.is_none() {
            let len = inner.len().min(COMMENT_MAX);
            sink.facts.first_comment = Some(Span { start: self.at, end: self.at + len });
        }
        if command || options.keep_comment {
            self.begin_statement(sink);
            self.lists = true;
            let end = if options.keep_comment { self.at + end + 1 } else { self.at + inner.len() };
            let from = if options.keep_comment { start } else { self.at };
            let kept = sql.get(from..end).unwrap_or_default();
            sink.facts.nul |= kept.contains(&0);
            keep(kept, command, options, sink.tight);
        }
        if !sink.tight.is_empty() && sink.tight.last() != b' ' {
            sink.tight.push(b' ');
        }
        self.before = b' ';
        self.at += end + 1;
    }
}

/// Writes a comment that stays: all of it, or what follows the version of one with commands.
fn keep(comment: &[u8], command: bool, options: &Options, tight: &mut Tight) {
    let is_mark = |byte: &u8| is(*byte, DIGIT) || matches!(byte, b'/' | b'*' | b'!' | b' ');
    let Some(begin) = comment.iter().position(|byte| !is_mark(byte)) else { return };
    let kept = if options.keep_comment { comment } else { comment.get(begin..).unwrap_or_default() };
    // The mark `!` is not kept.
    let kept = kept.iter().enumerate().filter(|(at, _)| !(options.keep_comment && command && *at == 2));
    for (_, byte) in kept.take(COMMENT_MAX) {
        tight.push(*byte);
    }
}

/// Bytes of the word that `text` begins with.
fn word_len(text: &[u8]) -> usize {
    text.iter().position(|byte| !is(*byte, WORD)).unwrap_or(text.len())
}

fn is_null(word: &[u8]) -> bool {
    word.len() == 4 && word.eq_ignore_ascii_case(b"null")
}

/// The word of `len` bytes that `text` begins with, and those behind it with single blanks between:
/// such blanks always stay. Where `replaces_null`, it ends in front of a NULL.
fn words(text: &[u8], len: usize, replaces_null: bool) -> &[u8] {
    let mut end = len;
    while let [b' ', rest @ ..] = text.get(end..).unwrap_or_default() {
        let len = word_len(rest);
        let word = rest.get(..len).unwrap_or_default();
        let is_number = word.first().is_none_or(|first| is(*first, DIGIT));
        if is_number || replaces_null && is_null(word) {
            break;
        }
        end += 1 + len;
    }
    text.get(..end).unwrap_or(text)
}

/// Copies bytes of words.
fn copy(word: &[u8], options: &Options, sink: &mut Sink<'_>) {
    if options.lowercase {
        for byte in word {
            sink.tight.push(byte.to_ascii_lowercase());
        }
    } else {
        sink.tight.word(word);
    }
}

/// Whether `--` and a blank are here.
fn opens_line_comment(rest: &[u8]) -> bool {
    matches!(rest, [b'-', b'-', blank, ..] if is(*blank, SPACE))
}

fn is_exponent_sign(before: u8, byte: u8) -> bool {
    matches!(before, b'e' | b'E') && matches!(byte, b'+' | b'-')
}

/// Whether ProxySQL takes this, which begins with a digit, for a number.
fn is_number(text: &[u8]) -> bool {
    if let [b'0', b'x' | b'X', hex @ ..] = text {
        return hex.iter().all(|byte| is(*byte, HEX));
    }
    let mut before = 0;
    text.iter().all(|byte| {
        let fits = is(*byte, DIGIT) || matches!(byte, b'.' | b'e' | b'E') || is_exponent_sign(before, *byte);
        before = *byte;
        fits
    })
}
