//! The clauses of `LOAD DATA`, which the parser does not read.

use std::ops::Range;

use sql::lexer::Kind as Token;
use sql::parse::NodeId;
use sql::shape::needs_no_parentheses;

use crate::load::Format;
use crate::plan::define::Tokens;
use crate::plan::refusal::Cause;
use crate::plan::steady::{self, Rows};
use crate::plan::{Refusal, Request, text};

/// What the statement says of the file.
#[derive(Debug, Default)]
pub(super) struct Clauses {
    /// `CHARACTER SET`.
    pub(super) charset: Option<String>,
    /// `FIELDS`, `LINES`, `IGNORE`.
    pub(super) format: Format,
    /// Columns in lower case that fields go to, none for those that go to variables; nothing if
    /// fields go to the columns of the table.
    pub(super) fields: Option<Vec<Option<String>>>,
    /// Columns in lower case to which `SET` gives values.
    pub(super) assigned: Vec<String>,
    /// Variables that fields go to.
    variables: Vec<Vec<u8>>,
    /// `ESCAPED BY` is there.
    says_escape: bool,
}

/// Words that may stand in front of a parenthesis and call nothing.
const OPERATORS: [&str; 15] = [
    "AND", "BETWEEN", "CASE", "DIV", "ELSE", "IN", "INTERVAL", "LIKE", "MOD", "NOT", "OR", "THEN", "WHEN",
    "XOR", "REGEXP",
];

impl Clauses {
    /// The clauses of a statement that names its table at a node. The values of `SET` have to hold
    /// on the servers of `rows`.
    pub(super) fn of(
        request: &Request<'_>,
        tokens: &Tokens<'_>,
        table: NodeId,
        rows: Rows,
    ) -> Result<Self, Refusal> {
        let whole = 0..tokens.len();
        if tokens.is_conditional(&whole) {
            return Err(Cause::Conditional.at(tokens.span(&whole)));
        }
        let mut reader = Reader { request, tokens, at: 2, rows, clauses: Self::default() };
        reader.file()?;
        reader.at = tokens.behind(request.tree.span(table).end);
        reader.clauses()?;
        let Reader { at, clauses, .. } = reader;
        if at < tokens.len() {
            return Err(Cause::Clause.at(tokens.span(&(at..tokens.len()))));
        }
        clauses.finish(request).ok_or(Cause::Clause.at(tokens.span(&whole)))
    }

    /// The clauses as they hold together; nothing if fields would have fixed lengths.
    fn finish(mut self, request: &Request<'_>) -> Option<Self> {
        let Format { field_end, line_end, .. } = &self.format;
        let is_plain = !field_end.is_empty() && !line_end.is_empty() && field_end != line_end;
        if request.modes.no_backslash_escapes && !self.says_escape {
            self.format.escape = None;
        }
        is_plain.then_some(self)
    }
}

/// Reads clauses from token to token.
struct Reader<'r, 'a> {
    request: &'r Request<'a>,
    tokens: &'r Tokens<'a>,
    at: usize,
    rows: Rows,
    clauses: Clauses,
}

impl Reader<'_, '_> {
    /// Passes by these words if they are next.
    fn eat(&mut self, words: &[&str]) -> bool {
        let are_next = words.iter().zip(self.at..).all(|(word, at)| self.tokens.word(at) == *word);
        self.at += if are_next { words.len() } else { 0 };
        are_next
    }

    fn eat_any(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.eat(&[word]))
    }

    fn refused(&self, cause: Cause) -> Refusal {
        cause.at(self.tokens.span(&(self.at..self.tokens.len())))
    }

    /// `LOW_PRIORITY LOCAL INFILE 'name' REPLACE INTO TABLE`.
    fn file(&mut self) -> Result<(), Refusal> {
        self.eat_any(&["LOW_PRIORITY", "CONCURRENT"]);
        if !self.eat(&["LOCAL"]) {
            return Err(self.refused(Cause::ServerFile));
        }
        if !self.eat(&["INFILE"]) || self.tokens.kind(self.at) != Some(Token::Text) {
            return Err(self.refused(Cause::Clause));
        }
        self.at += 1;
        self.eat_any(&["REPLACE", "IGNORE"]);
        if self.eat(&["INTO", "TABLE"]) { Ok(()) } else { Err(self.refused(Cause::Clause)) }
    }

    /// What stands behind the table.
    fn clauses(&mut self) -> Result<(), Refusal> {
        if self.eat(&["CHARACTER", "SET"]) || self.eat(&["CHARSET"]) {
            let name = self.tokens.name(self.at).ok_or_else(|| self.refused(Cause::Clause))?;
            self.clauses.charset = Some(name);
            self.at += 1;
        }
        if self.eat_any(&["FIELDS", "COLUMNS"]) {
            self.of_fields()?;
        }
        if self.eat(&["LINES"]) {
            self.of_lines()?;
        }
        if self.eat(&["IGNORE"]) {
            let number = self.tokens.bytes(self.at);
            let number = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
            self.clauses.format.skipped = number.ok_or_else(|| self.refused(Cause::Clause))?;
            self.at += 1;
            if !self.eat_any(&["LINES", "ROWS"]) {
                return Err(self.refused(Cause::Clause));
            }
        }
        if self.tokens.is_sign(self.at, b'(') {
            self.columns()?;
        }
        if self.eat(&["SET"]) {
            self.assignments()?;
        }
        if self.tokens.is_sign(self.at, b';') {
            self.at += 1;
        }
        Ok(())
    }

    fn of_fields(&mut self) -> Result<(), Refusal> {
        loop {
            if self.eat(&["TERMINATED", "BY"]) {
                self.clauses.format.field_end = self.string()?;
            } else if self.eat(&["OPTIONALLY", "ENCLOSED", "BY"]) || self.eat(&["ENCLOSED", "BY"]) {
                self.clauses.format.quote = self.sign()?;
            } else if self.eat(&["ESCAPED", "BY"]) {
                self.clauses.format.escape = self.sign()?;
                self.clauses.says_escape = true;
            } else {
                return Ok(());
            }
        }
    }

    fn of_lines(&mut self) -> Result<(), Refusal> {
        loop {
            if self.eat(&["TERMINATED", "BY"]) {
                self.clauses.format.line_end = self.string()?;
            } else if self.eat(&["STARTING", "BY"]) {
                let at = self.at;
                if !self.string()?.is_empty() {
                    self.at = at;
                    return Err(self.refused(Cause::Clause));
                }
            } else {
                return Ok(());
            }
        }
    }

    /// A sign, or none.
    fn sign(&mut self) -> Result<Option<u8>, Refusal> {
        let at = self.at;
        match self.string()?.as_slice() {
            [] => Ok(None),
            [sign] => Ok(Some(*sign)),
            _ => {
                self.at = at;
                Err(self.refused(Cause::Clause))
            }
        }
    }

    /// A string of ASCII: `','`, `0x09`, `x'09'`.
    fn string(&mut self) -> Result<Vec<u8>, Refusal> {
        let bytes = self.tokens.bytes(self.at);
        let no_escapes = self.request.modes.no_backslash_escapes;
        let (found, len) = match self.tokens.kind(self.at) {
            Some(Token::Text) => (text::string(bytes, no_escapes), 1),
            Some(Token::Number) => (bytes.strip_prefix(b"0x").and_then(hex), 1),
            Some(Token::Word) if bytes.eq_ignore_ascii_case(b"x") => {
                let digits = text::string(self.tokens.bytes(self.at + 1), no_escapes);
                (digits.as_deref().and_then(hex), 2)
            }
            _ => (None, 0),
        };
        let found = found.filter(|found| found.is_ascii()).ok_or_else(|| self.refused(Cause::Clause))?;
        self.at += len;
        Ok(found)
    }

    /// `(a, @b)`.
    fn columns(&mut self) -> Result<(), Refusal> {
        let close = self.tokens.close(self.at);
        let mut fields = Vec::new();
        for part in self.tokens.list(self.at + 1..close.saturating_sub(1)) {
            let is_one = part.len() == 1;
            match self.tokens.kind(part.start) {
                Some(Token::UserVariable) if is_one => {
                    self.clauses.variables.push(self.tokens.bytes(part.start).to_ascii_lowercase());
                    fields.push(None);
                }
                Some(Token::Word | Token::Name) if is_one => fields.push(self.tokens.name(part.start)),
                _ => return Err(Cause::Clause.at(self.tokens.span(&part))),
            }
        }
        self.at = close;
        self.clauses.fields = Some(fields).filter(|fields| !fields.is_empty());
        Ok(())
    }

    /// `a = 1, b = @b + 1`.
    fn assignments(&mut self) -> Result<(), Refusal> {
        let is_last = |at: &usize| self.tokens.is_sign(*at, b';');
        let end = (self.at..self.tokens.len()).find(is_last).unwrap_or(self.tokens.len());
        for part in self.tokens.list(self.at..end) {
            let name = self.tokens.name(part.start).filter(|_| self.tokens.is_sign(part.start + 1, b'='));
            let name = name.ok_or(Cause::Clause.at(self.tokens.span(&part)))?;
            self.clauses.assigned.push(name);
            self.check_value(part.start + 2..part.end)?;
        }
        self.at = end;
        Ok(())
    }

    /// Refuses a value that is not the same on one server as on several.
    fn check_value(&self, value: Range<usize>) -> Result<(), Refusal> {
        let is_steady = |at: usize| match self.tokens.kind(at) {
            Some(Token::SystemVariable | Token::Parameter) => false,
            Some(Token::UserVariable) => {
                let name = self.tokens.bytes(at).to_ascii_lowercase();
                self.clauses.variables.contains(&name) && !self.tokens.is_sign(at + 1, b':')
            }
            Some(Token::Word | Token::Name) if self.tokens.is_sign(at + 1, b'(') => {
                let word = self.tokens.word(at);
                let has_arguments = !self.tokens.is_sign(at + 2, b')');
                OPERATORS.contains(&word.as_str())
                    || steady::holds(&word.to_ascii_lowercase(), has_arguments, self.rows)
            }
            Some(Token::Word) if needs_no_parentheses(&self.tokens.word(at)) => {
                steady::holds(&self.tokens.word(at).to_ascii_lowercase(), false, self.rows)
            }
            _ => true,
        };
        match value.clone().find(|at| !is_steady(*at)) {
            Some(at) => Err(Cause::Function.at(self.tokens.span(&(at..at + 1)))),
            None => Ok(()),
        }
    }
}

/// The bytes that hexadecimal digits stand for.
fn hex(digits: &[u8]) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let is_whole = digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit);
    is_whole.then(|| digits.chunks(2).map(byte).collect()).flatten()
}
