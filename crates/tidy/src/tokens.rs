//! Tokens of a file in one list, each with its line.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Word(String),
    Mark(char),
    /// A bracket that opens a group.
    Open(char),
    /// The bracket that closes it.
    Close,
    Literal(String),
}

/// A token and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: usize,
}

impl Token {
    /// Whether it is this word.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, Kind::Word(own) if own == word)
    }

    /// The word that it is.
    pub(crate) fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// All tokens of a stream. Comments are not among them; doc comments are attributes.
pub(crate) fn list(stream: TokenStream) -> Vec<Token> {
    let mut tokens = Vec::new();
    add(stream, &mut tokens);
    tokens
}

fn add(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let before = tokens.last().map_or(1, |token| token.line);
        let (kind, line) = match tree {
            TokenTree::Ident(ident) => (Kind::Word(ident.to_string()), ident.span().start().line),
            TokenTree::Literal(literal) => (Kind::Literal(literal.to_string()), literal.span().end().line),
            // Lines are looked up only where an item may begin.
            TokenTree::Punct(punct) if punct.as_char() == '#' => (Kind::Mark('#'), punct.span().start().line),
            TokenTree::Punct(punct) => (Kind::Mark(punct.as_char()), before),
            TokenTree::Group(group) => {
                let bracket = match group.delimiter() {
                    Delimiter::Parenthesis => '(',
                    Delimiter::Brace => '{',
                    Delimiter::Bracket => '[',
                    Delimiter::None => ' ',
                };
                let (inner, end) = (group.stream(), group.span_close().end().line);
                // The stream has one owner now, and is not copied.
                drop(group);
                tokens.push(Token { kind: Kind::Open(bracket), line: before });
                add(inner, tokens);
                (Kind::Close, end)
            }
        };
        tokens.push(Token { kind, line });
    }
}

/// The index of the bracket that closes the one at `open`; the end if there is none.
pub(crate) fn close_of(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.kind {
            Kind::Open(_) => depth += 1,
            Kind::Close if depth <= 1 => return at,
            Kind::Close => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The index behind the angle brackets that open at `at`; `at` if none do.
pub(crate) fn skip_angles(tokens: &[Token], at: usize) -> usize {
    let mut angles = Angles::default();
    for (next, token) in tokens.iter().enumerate().skip(at) {
        angles.pass(token);
        if angles.depth == 0 {
            return if next > at { next + 1 } else { at };
        }
    }
    tokens.len()
}

/// How deep a token stands in angle brackets. The sign in `->` is none.
#[derive(Debug, Default)]
struct Angles {
    depth: usize,
    is_dash: bool,
}

impl Angles {
    fn pass(&mut self, token: &Token) {
        match token.kind {
            Kind::Mark('<') => self.depth += 1,
            Kind::Mark('>') if !self.is_dash => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.is_dash = token.kind == Kind::Mark('-');
    }
}

/// The parts between the commas outside of brackets and angle brackets.
pub(crate) fn parts(tokens: &[Token]) -> Vec<&[Token]> {
    let (mut depth, mut angles) = (0_usize, Angles::default());
    let is_comma = |token: &Token| {
        match token.kind {
            Kind::Open(_) => depth += 1,
            Kind::Close => depth = depth.saturating_sub(1),
            _ => angles.pass(token),
        }
        depth == 0 && angles.depth == 0 && token.kind == Kind::Mark(',')
    };
    tokens.split(is_comma).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_brackets_and_lines_are_known() {
        let tokens = list("fn a(\n    b: u8,\n) {}\n".parse().unwrap());
        let lines: Vec<_> = tokens.iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 1, 1, 2, 2, 2, 2, 3, 3, 3]);
        assert_eq!((close_of(&tokens, 2), tokens[7].kind.clone()), (7, Kind::Close));
        assert_eq!(tokens[1].word(), Some("a"));
    }

    #[test]
    fn commas_within_brackets_split_nothing() {
        let tokens = list("a, b(c, d), e".parse().unwrap());
        assert_eq!(parts(&tokens).iter().map(|part| part.len()).collect::<Vec<_>>(), [1, 6, 1]);
        let tokens = list("a: B<C, fn(d) -> D, E>, f".parse().unwrap());
        assert_eq!(parts(&tokens).iter().map(|part| part.len()).collect::<Vec<_>>(), [16, 1]);
        assert_eq!((skip_angles(&tokens, 3), skip_angles(&tokens, 0)), (16, 0));
    }
}
