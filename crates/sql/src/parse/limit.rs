//! How many rows: `LIMIT`, `OFFSET`, `FETCH`.

use crate::lexer::Kind as TokenKind;

use super::cursor::Cursor;
use super::kind::Kind;
use super::refusal::Parsed;

impl Cursor<'_> {
    /// `LIMIT`, `OFFSET`, `FETCH`, if they are there.
    pub(super) fn limit(&mut self) -> Parsed {
        let has_offset = self.at("OFFSET") && self.is_mariadb();
        if !(self.at_any(&["LIMIT", "FETCH"]) || has_offset) {
            return Ok(());
        }
        let mark = self.open();
        let mut ties = false;
        if self.eat("LIMIT") {
            self.limited()?;
        } else {
            if self.eat("OFFSET") {
                self.number(Kind::Offset)?;
                self.eat_any(&["ROW", "ROWS"]);
            }
            if self.eat("FETCH") {
                self.eat_any(&["FIRST", "NEXT"]);
                if !self.at_any(&["ROW", "ROWS"]) {
                    self.number(Kind::Count)?;
                }
                self.eat_any(&["ROW", "ROWS"]);
                ties = self.eat_all(&["WITH", "TIES"]);
                self.eat("ONLY");
            }
        }
        if self.at("ROWS") && self.word_is(1, "EXAMINED") {
            let examined = self.open();
            self.bump_many(3);
            self.close(examined, Kind::Opaque)?;
        }
        self.close(mark, Kind::Limit { ties })
    }

    /// The numbers behind `LIMIT`.
    fn limited(&mut self) -> Parsed {
        if self.at("ROWS") && self.word_is(1, "EXAMINED") {
            return Ok(());
        }
        if self.sign_is(1, b',') {
            self.number(Kind::Offset)?;
            self.bump();
            return self.number(Kind::Count);
        }
        self.number(Kind::Count)?;
        if self.eat("OFFSET") {
            self.number(Kind::Offset)?;
        }
        Ok(())
    }

    /// A number of rows; variables of stored code, too.
    fn number(&mut self, kind: Kind) -> Parsed {
        let mark = self.open();
        match self.kind(0) {
            Some(TokenKind::Number) => self.literal_number()?,
            Some(TokenKind::Parameter) => self.leaf(Kind::Placeholder(self.placeholders()))?,
            Some(TokenKind::Word | TokenKind::Name) if self.is_name(0) => self.column()?,
            _ => return Err(self.expected("a number of rows")),
        }
        self.close(mark, kind)
    }
}
