//! What is passed by unread: bytes that the parser does not understand, if no table is in them.

use crate::lexer::Kind as TokenKind;

use super::cursor::Cursor;
use super::kind::Kind;
use super::refusal::Parsed;

impl Cursor<'_> {
    /// Passes by a parenthesis and all in it.
    pub(super) fn skip_parentheses(&mut self) -> Parsed {
        let mut depth = 0_usize;
        loop {
            match self.kind(0) {
                None | Some(TokenKind::Sign(b';')) => return Err(self.expected("a closing parenthesis")),
                Some(TokenKind::Sign(b'(')) => depth += 1,
                Some(TokenKind::Sign(b')')) => depth = depth.saturating_sub(1),
                Some(TokenKind::Word) if self.may_name_table() => return Err(self.expected("no table")),
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// Passes by everything up to one of these words, a comma if `comma` says so, or the end of
    /// what is around.
    pub(super) fn skip_to(&mut self, words: &[&str], comma: bool) -> Parsed {
        while !(self.at_end() || self.at_any(words) || comma && self.at_sign(b',')) {
            if self.at_sign(b'(') {
                self.skip_parentheses()?;
            } else if self.may_name_table() {
                return Err(self.expected("no table"));
            } else {
                self.bump();
            }
        }
        Ok(())
    }

    /// The same as an opaque node, if there is anything.
    pub(super) fn opaque(&mut self, words: &[&str], comma: bool) -> Parsed {
        if self.at_end() || self.at_any(words) {
            return Ok(());
        }
        let mark = self.open();
        self.skip_to(words, comma)?;
        self.close(mark, Kind::Opaque)
    }

    /// Whether a table's name may follow, so that nothing here may be passed by.
    fn may_name_table(&self) -> bool {
        self.at_any(&["SELECT", "FROM", "JOIN", "TABLE", "STRAIGHT_JOIN"])
    }
}
