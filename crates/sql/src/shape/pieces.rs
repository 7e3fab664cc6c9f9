//! A statement's tokens, with their words in lower case: what the walk over it looks at.

use crate::lexer::{Kind, Lexer, Modes};

/// Tokens of a statement that are looked at. A larger one is a write with unknown effects, unless
/// it is an `INSERT` or a `REPLACE` of values, which large statements mostly are: it is that, and
/// its effects are unknown.
pub const TOKENS_MAX: usize = 50_000;

/// One token.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    pub(crate) kind: Kind,
    /// A word in lower case; empty for all else, so that nothing else is taken for a keyword.
    pub(crate) text: String,
    /// A word as written, a name without its quotes, a system variable.
    pub(crate) written: String,
    /// Some servers do not see it.
    pub(crate) conditional: bool,
    /// A parenthesis opens right behind it.
    pub(crate) is_glued: bool,
}

/// All tokens of a text.
#[derive(Debug)]
pub(crate) struct Pieces {
    pub(crate) all: Vec<Piece>,
    /// There are more tokens than are looked at.
    pub(crate) cut: bool,
    /// Servers may see a part of the text otherwise, or not at all.
    pub(crate) unsure: bool,
}

impl Pieces {
    pub(crate) fn of(sql: &[u8], modes: Modes) -> Self {
        Self::first(sql, modes, TOKENS_MAX)
    }

    /// Not more than so many.
    pub(crate) fn first(sql: &[u8], modes: Modes, max: usize) -> Self {
        let mut lexer = Lexer::new(sql, modes);
        let mut pieces = Vec::new();
        let mut cut = false;
        for token in lexer.by_ref() {
            if pieces.len() == max {
                cut = true;
                break;
            }
            let text = sql.get(token.start..token.end).unwrap_or_default();
            let is_glued = sql.get(token.end) == Some(&b'(');
            pieces.push(Piece { is_glued, ..Piece::new(token.kind, text, token.conditional) });
        }
        Self { all: pieces, cut, unsure: lexer.broken() }
    }
}

impl Piece {
    fn new(kind: Kind, text: &[u8], conditional: bool) -> Self {
        let written = match kind {
            Kind::Word | Kind::SystemVariable => String::from_utf8_lossy(text).into_owned(),
            Kind::Name => unquoted(text),
            _ => String::new(),
        };
        let text = if kind == Kind::Word { written.to_ascii_lowercase() } else { String::new() };
        Self { kind, text, written, conditional, is_glued: false }
    }

    /// Whether this is a word or a quoted name.
    pub(crate) fn is_name(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Name)
    }

    /// Whether this is the sign `byte`.
    pub(crate) fn is_sign(&self, byte: u8) -> bool {
        self.kind == Kind::Sign(byte)
    }
}

/// A quoted name without its quotes.
fn unquoted(text: &[u8]) -> String {
    let Some((quote, inner)) = text.split_first() else { return String::new() };
    let inner = inner.strip_suffix(&[*quote]).unwrap_or(inner);
    let quote = char::from(*quote).to_string();
    String::from_utf8_lossy(inner).replace(&quote.repeat(2), &quote)
}
