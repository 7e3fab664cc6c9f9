//! Constants.

use crate::lexer::Kind as TokenKind;
use crate::parse::cursor::Cursor;
use crate::parse::kind::{Kind, Literal};
use crate::parse::refusal::Parsed;
use crate::parse::words;

impl Cursor<'_> {
    /// A string, with the strings behind it that servers join to it.
    pub(super) fn literal_text(&mut self) -> Parsed {
        let mark = self.open();
        if self.kind(0) != Some(TokenKind::Text) {
            return Err(self.expected("a string"));
        }
        while self.kind(0) == Some(TokenKind::Text) {
            self.bump();
        }
        self.close(mark, Kind::Literal(Literal::Text))
    }

    /// A number; a point may stand in front of it.
    pub(in crate::parse) fn literal_number(&mut self) -> Parsed {
        let mark = self.open();
        let point = self.eat_sign(b'.');
        let text = self.text(0);
        let literal = match text {
            [b'0', b'x', ..] if !point => Literal::Bits,
            _ if !point && text.iter().all(u8::is_ascii_digit) => Literal::Integer,
            _ => Literal::Number,
        };
        // The lexer ends `1e-5` behind the letter.
        let exponent = literal == Literal::Number && matches!(text, [.., b'e' | b'E']);
        let is_signed = self.sign_is(1, b'-') || self.sign_is(1, b'+');
        if exponent && is_signed && self.is_glued(0) && self.is_glued(1) {
            self.bump_many(2);
        }
        self.bump();
        self.close(mark, Kind::Literal(literal))
    }

    /// Whether a constant that begins with a word comes next, and which kind of constant.
    pub(super) fn at_literal_word(&self) -> Option<Literal> {
        let is_text = self.kind(1) == Some(TokenKind::Text);
        match &*self.upper(0) {
            "NULL" => Some(Literal::Null),
            "TRUE" => Some(Literal::True),
            "FALSE" => Some(Literal::False),
            "DATE" | "TIME" | "TIMESTAMP" if is_text => Some(Literal::Temporal),
            "N" if is_text && self.is_glued(0) => Some(Literal::Text),
            "X" | "B" if is_text && self.is_glued(0) => Some(Literal::Bits),
            word => match word.as_bytes() {
                [b'0', b'B', digits @ ..] if !digits.is_empty() => {
                    let is_bits = self.text(0).get(1) == Some(&b'b')
                        && digits.iter().all(|one| matches!(one, b'0' | b'1'));
                    is_bits.then_some(Literal::Bits)
                }
                [b'_', ..] if self.is_introduced() && word.get(1..).is_some_and(words::is_charset) => {
                    Some(Literal::Text)
                }
                _ => None,
            },
        }
    }

    /// Whether a constant that a character set may introduce comes behind the next token.
    fn is_introduced(&self) -> bool {
        match self.kind(1) {
            Some(TokenKind::Text) => true,
            Some(TokenKind::Number) => self.text(1).starts_with(b"0x"),
            Some(TokenKind::Word) => {
                let is_quoted = self.kind(2) == Some(TokenKind::Text) && self.is_glued(1);
                is_quoted && (self.word_is(1, "X") || self.word_is(1, "B")) || self.text(1).starts_with(b"0b")
            }
            _ => false,
        }
    }

    /// A constant of which [`at_literal_word`](Self::at_literal_word) said that it is this.
    pub(super) fn literal_word(&mut self, literal: Literal) -> Parsed {
        let mark = self.open();
        let is_introducer = self.text(0).starts_with(b"_");
        self.bump();
        if is_introducer && self.kind(0) != Some(TokenKind::Text) {
            self.bump();
        }
        while !matches!(literal, Literal::Null | Literal::True | Literal::False)
            && self.kind(0) == Some(TokenKind::Text)
        {
            self.bump();
        }
        self.close(mark, Kind::Literal(literal))
    }
}
