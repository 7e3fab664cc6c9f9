//! The words of a statement whose text the parser does not read.

use std::ops::Range;

use sql::Lexer;
use sql::digest::Span;
use sql::lexer::{Kind, Token};

use crate::plan::{Request, text};

/// The tokens of a statement, those in comments that servers execute among them.
pub(in crate::plan) struct Tokens<'a> {
    sql: &'a [u8],
    all: Vec<Token>,
}

impl<'a> Tokens<'a> {
    pub(in crate::plan) fn of(request: &Request<'a>) -> Self {
        Self { sql: request.sql, all: Lexer::new(request.sql, request.modes).collect() }
    }

    pub(in crate::plan) fn len(&self) -> usize {
        self.all.len()
    }

    /// The bytes of the token at a position.
    pub(in crate::plan) fn bytes(&self, at: usize) -> &'a [u8] {
        self.all.get(at).and_then(|token| self.sql.get(token.start..token.end)).unwrap_or_default()
    }

    /// The word at a position in upper case; nothing if no word is there.
    pub(in crate::plan) fn word(&self, at: usize) -> String {
        let is_word = self.all.get(at).is_some_and(|token| token.kind == Kind::Word);
        let bytes = if is_word { self.bytes(at) } else { &[] };
        String::from_utf8_lossy(bytes).to_ascii_uppercase()
    }

    /// What the token at a position is.
    pub(in crate::plan) fn kind(&self, at: usize) -> Option<Kind> {
        self.all.get(at).map(|token| token.kind)
    }

    pub(in crate::plan) fn is_sign(&self, at: usize, sign: u8) -> bool {
        self.all.get(at).is_some_and(|token| token.kind == Kind::Sign(sign))
    }

    /// The name at a position in lower case, without quotes; none if no name can be there.
    pub(in crate::plan) fn name(&self, at: usize) -> Option<String> {
        let token = self.all.get(at).filter(|token| matches!(token.kind, Kind::Word | Kind::Name))?;
        Some(text::name(self.sql, Span { start: token.start, end: token.end }).to_lowercase())
    }

    /// The bytes of some tokens.
    pub(in crate::plan) fn span(&self, range: &Range<usize>) -> Span {
        let start = self.all.get(range.start).map_or(0, |token| token.start);
        let end =
            range.end.checked_sub(1).and_then(|last| self.all.get(last)).map_or(start, |token| token.end);
        Span { start, end: end.max(start) }
    }

    /// Whether a token of these may be invisible to some servers.
    pub(in crate::plan) fn is_conditional(&self, range: &Range<usize>) -> bool {
        self.all.get(range.clone()).unwrap_or_default().iter().any(|token| token.conditional)
    }

    /// The first token behind a byte of the text.
    pub(in crate::plan) fn behind(&self, byte: usize) -> usize {
        self.all.partition_point(|token| token.start < byte)
    }

    /// The position behind the parenthesis that closes the one at `open`.
    pub(in crate::plan) fn close(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.len() {
            if self.is_sign(at, b'(') {
                depth += 1;
            } else if self.is_sign(at, b')') {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
        }
        self.len()
    }

    /// The parts between commas that stand in no further parentheses.
    pub(in crate::plan) fn list(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let (mut start, mut at) = (range.start, range.start);
        while at < range.end {
            if self.is_sign(at, b'(') {
                at = self.close(at);
                continue;
            }
            if self.is_sign(at, b',') {
                parts.push(start..at);
                start = at + 1;
            }
            at += 1;
        }
        parts.push(start..range.end);
        parts.retain(|part| !part.is_empty());
        parts
    }
}
