//! The words of statements that have no tree of their own.

use sql::Lexer;
use sql::digest::Span;
use sql::lexer::{Kind, Token};

use crate::plan::{Request, text};

/// The tokens of a statement, read from its begin. Comments that only some servers execute are
/// read as text.
pub(super) struct Words<'a> {
    sql: &'a [u8],
    tokens: Vec<Token>,
    at: usize,
}

impl<'a> Words<'a> {
    /// Tokens of a statement that are looked at; the statements here have fewer.
    const MAX: usize = 64;

    /// The words of the statement.
    pub(super) fn of(request: &Request<'a>) -> Self {
        let tokens = Lexer::new(request.sql, request.modes).take(Self::MAX);
        Self { sql: request.sql, tokens: tokens.collect(), at: 0 }
    }

    /// Takes one of these words, if it is next.
    pub(super) fn eat(&mut self, words: &[&str]) -> Option<Span> {
        let token = self.tokens.get(self.at).filter(|token| token.kind == Kind::Word)?;
        let span = Span { start: token.start, end: token.end };
        let is_next = words.iter().any(|word| span.of(self.sql).eq_ignore_ascii_case(word.as_bytes()));
        is_next.then(|| {
            self.at += 1;
            span
        })
    }

    /// Takes a name.
    pub(super) fn name(&mut self) -> Option<String> {
        let token = self.tokens.get(self.at).filter(|token| matches!(token.kind, Kind::Word | Kind::Name))?;
        self.at += 1;
        Some(text::name(self.sql, Span { start: token.start, end: token.end }))
    }

    /// Takes a string.
    pub(super) fn string(&mut self) -> Option<Span> {
        let token = self.tokens.get(self.at).filter(|token| token.kind == Kind::Text)?;
        self.at += 1;
        Some(Span { start: token.start, end: token.end })
    }

    /// Where the next token begins.
    pub(super) fn start(&self) -> usize {
        self.tokens.get(self.at).map_or(self.sql.len(), |token| token.start)
    }

    /// Whether nothing follows but a semicolon.
    pub(super) fn is_over(&self) -> bool {
        self.tokens.get(self.at..).unwrap_or_default().iter().all(|token| token.kind == Kind::Sign(b';'))
    }
}
