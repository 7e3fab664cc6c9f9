//! The tokens of a statement, by their places: for the few statements that have to be looked at
//! word by word.

use sql::lexer::{Kind, Lexer, Modes, Token};

/// Words between `SELECT` and what is selected.
pub(super) const MODIFIERS: [&str; 12] = [
    "all",
    "distinct",
    "distinctrow",
    "high_priority",
    "straight_join",
    "sql_small_result",
    "sql_big_result",
    "sql_buffer_result",
    "sql_cache",
    "sql_no_cache",
    "sql_calc_found_rows",
    "unique",
];

/// Tokens of a statement, or of a part of one. Beyond the last there is nothing, which is like no
/// word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Words<'a> {
    text: &'a [u8],
    tokens: &'a [Token],
}

/// The tokens of `text`, as far as they can be told.
pub(crate) fn tokens(text: &[u8]) -> Vec<Token> {
    Lexer::new(text, Modes::default()).collect()
}

/// The tokens of `text`; `None` if it ends in the middle of one.
pub(super) fn whole_tokens(text: &[u8]) -> Option<Vec<Token>> {
    let mut lexer = Lexer::new(text, Modes::default());
    let tokens = lexer.by_ref().collect();
    (!lexer.broken()).then_some(tokens)
}

impl<'a> Words<'a> {
    /// `tokens` of `text`.
    pub(crate) const fn new(text: &'a [u8], tokens: &'a [Token]) -> Self {
        Self { text, tokens }
    }

    /// Some of them.
    pub(crate) fn part(&self, range: impl std::slice::SliceIndex<[Token], Output = [Token]>) -> Self {
        Self { text: self.text, tokens: self.tokens.get(range).unwrap_or_default() }
    }

    /// The parts between commas that are in no parentheses.
    pub(super) fn split_at_commas(&self) -> impl Iterator<Item = Self> {
        let mut depth = 0_usize;
        let parts = self.tokens.split(move |token| {
            match token.kind {
                Kind::Sign(b'(') => depth += 1,
                Kind::Sign(b')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && token.kind == Kind::Sign(b',')
        });
        parts.map(|tokens| Self { text: self.text, tokens })
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.tokens.len()
    }

    /// What kind of token is here.
    pub(crate) fn kind(&self, at: usize) -> Option<Kind> {
        self.tokens.get(at).map(|token| token.kind)
    }

    /// Where in the text it is.
    pub(crate) fn place(&self, at: usize) -> Option<std::ops::Range<usize>> {
        self.tokens.get(at).map(|token| token.start..token.end)
    }

    /// The token as it is written.
    pub(crate) fn bytes(&self, at: usize) -> &'a [u8] {
        self.place(at).and_then(|place| self.text.get(place)).unwrap_or_default()
    }

    /// The same in lower case.
    pub(crate) fn lower(&self, at: usize) -> String {
        String::from_utf8_lossy(self.bytes(at)).to_ascii_lowercase()
    }

    /// The first place behind the first word that holds such a token.
    pub(crate) fn position(&self, is_it: impl Fn(&str) -> bool) -> Option<usize> {
        (1..self.len()).find(|at| is_it(&self.lower(*at)))
    }

    /// Whether it is this word, in whatever case.
    pub(crate) fn is(&self, at: usize, word: &str) -> bool {
        self.bytes(at).eq_ignore_ascii_case(word.as_bytes())
    }

    /// Whether it is this sign.
    pub(super) fn is_sign(&self, at: usize, sign: u8) -> bool {
        self.kind(at) == Some(Kind::Sign(sign))
    }

    /// Whether it is anywhere.
    pub(super) fn has_sign(&self, sign: u8) -> bool {
        (0..self.len()).any(|at| self.is_sign(at, sign))
    }

    /// Whether a function of this name is called here.
    pub(super) fn is_call(&self, at: usize, function: &str) -> bool {
        self.is(at, function) && self.is_sign(at + 1, b'(')
    }

    /// All of it as it is written.
    pub(crate) fn source(&self) -> &'a [u8] {
        let (Some(first), Some(last)) = (self.tokens.first(), self.tokens.last()) else { return &[] };
        self.text.get(first.start..last.end).unwrap_or_default()
    }
}
