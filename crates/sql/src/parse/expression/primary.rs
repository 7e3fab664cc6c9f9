//! What stands between operators.

use crate::lexer::Kind as TokenKind;
use crate::parse::cursor::Cursor;
use crate::parse::kind::{Kind, Literal};
use crate::parse::operator::Operator;
use crate::parse::refusal::Parsed;
use crate::shape::needs_no_parentheses;

use super::binding::Level;

impl Cursor<'_> {
    /// An operand without operators.
    pub(super) fn primary(&mut self) -> Parsed {
        match self.kind(0) {
            Some(TokenKind::Text) => self.literal_text(),
            Some(TokenKind::Number) => self.literal_number(),
            Some(TokenKind::Parameter) => self.leaf(Kind::Placeholder(self.placeholders())),
            Some(TokenKind::SystemVariable) => self.leaf(Kind::SystemVariable),
            Some(TokenKind::UserVariable) => self.user_variable(),
            Some(TokenKind::Name) => self.column_or_call(),
            Some(TokenKind::Word) => self.word(),
            Some(TokenKind::Sign(b'(')) => self.parentheses(),
            Some(TokenKind::Sign(b'{')) => self.braces(),
            Some(TokenKind::Sign(b'.')) if self.kind(1) == Some(TokenKind::Number) && self.is_glued(0) => {
                self.literal_number()
            }
            Some(TokenKind::Sign(b'.')) => self.column(),
            Some(TokenKind::Sign(b'\\')) if self.word_is(1, "N") && self.is_glued(0) => {
                let mark = self.open();
                self.bump_many(2);
                self.close(mark, Kind::Literal(Literal::Null))
            }
            _ => Err(self.expected("an expression")),
        }
    }

    fn word(&mut self) -> Parsed {
        if let Some(literal) = self.at_literal_word() {
            return self.literal_word(literal);
        }
        let word = self.upper(0);
        match &*word {
            "CASE" => self.case(),
            "INTERVAL" => self.interval(true).map(drop),
            "MATCH" => self.match_against(),
            "DEFAULT" => self.default(),
            "CAST" | "CONVERT" if self.sign_is(1, b'(') => self.cast(),
            "EXISTS" => {
                let mark = self.open();
                self.bump();
                self.parentheses()?;
                self.close(mark, Kind::Exists)
            }
            "ROW" if self.sign_is(1, b'(') => {
                let mark = self.open();
                self.bump_many(2);
                self.expressions()?;
                self.expect_sign(b')', "a closing parenthesis")?;
                self.close(mark, Kind::Tuple)
            }
            "VALUES" | "VALUE" if self.sign_is(1, b'(') => self.inserted(),
            "NEXT" | "PREVIOUS" if self.word_is(1, "VALUE") && self.word_is(2, "FOR") => {
                let mark = self.open();
                self.bump_many(3);
                self.table_name()?;
                self.close(mark, Kind::Sequence)
            }
            "NEXTVAL" | "LASTVAL" | "SETVAL" if self.sign_is(1, b'(') && self.is_mariadb() => self.sequence(),
            name if needs_no_parentheses(name) && !self.sign_is(1, b'(') && !self.sign_is(1, b'.') => {
                if name == "CURRENT_ROLE" && !self.is_mariadb() {
                    return self.column();
                }
                let mark = self.open();
                self.leaf(Kind::Function)?;
                self.close(mark, Kind::Call)
            }
            _ => self.column_or_call(),
        }
    }

    /// `@a`, or `@a := x`, which takes everything that follows.
    fn user_variable(&mut self) -> Parsed {
        let mark = self.open();
        self.leaf(Kind::UserVariable)?;
        if self.at_signs(b":=") {
            self.bump_many(2);
            self.expression()?;
            self.close(mark, Kind::Binary(Operator::Assign))?;
        }
        Ok(())
    }

    /// A name, qualified or not; a call if a parenthesis follows.
    fn column_or_call(&mut self) -> Parsed {
        if self.sign_is(1, b'(') && (self.is_name(0) || self.is_reserved_function()) {
            return self.call();
        }
        let is_qualified_call = self.sign_is(3, b'(') || self.sign_is(3, b'.') && self.sign_is(5, b'(');
        if self.is_name(0) && self.sign_is(1, b'.') && is_qualified_call {
            return self.call();
        }
        self.column()
    }

    /// A column's name, qualified or not.
    pub(in crate::parse) fn column(&mut self) -> Parsed {
        let mark = self.open();
        if self.eat_sign(b'.') {
            self.name_behind_point("a column")?;
        } else {
            self.name("an expression")?;
        }
        for _ in 0..2 {
            if !self.at_sign(b'.') || self.sign_is(1, b'*') {
                break;
            }
            self.bump();
            self.name_behind_point("a column")?;
        }
        self.close(mark, Kind::Column)
    }

    /// What is in parentheses: a query, an expression, or several.
    pub(in crate::parse) fn parentheses(&mut self) -> Parsed {
        let mark = self.open();
        self.expect_sign(b'(', "an opening parenthesis")?;
        let inner = self.open();
        let kind = if self.at_query() {
            self.query()?;
            Kind::Subquery
        } else {
            self.expression()?;
            // `((SELECT 1) UNION SELECT 2)`: what was read is the first part of a query.
            if self.last_kind() == Some(Kind::Subquery) && self.at_rest_of_query() {
                self.rest_of_query(inner)?;
                Kind::Subquery
            } else if self.eat_sign(b',') {
                self.expressions()?;
                Kind::Tuple
            } else {
                Kind::Paren
            }
        };
        self.expect_sign(b')', "a closing parenthesis")?;
        self.close(mark, kind)
    }

    /// ODBC's `{d '2026-01-01'}`, `{fn f()}`.
    fn braces(&mut self) -> Parsed {
        let mark = self.open();
        self.bump_many(2);
        self.expression()?;
        self.expect_sign(b'}', "a closing brace")?;
        self.close(mark, Kind::Paren)
    }

    fn case(&mut self) -> Parsed {
        let mark = self.open();
        self.bump();
        if !self.at("WHEN") {
            self.expression()?;
        }
        while self.at("WHEN") {
            let when = self.open();
            self.bump();
            self.expression()?;
            self.expect("THEN")?;
            self.expression()?;
            self.close(when, Kind::When)?;
        }
        if self.at("ELSE") {
            let otherwise = self.open();
            self.bump();
            self.expression()?;
            self.close(otherwise, Kind::Else)?;
        }
        self.expect("END")?;
        self.close(mark, Kind::Case)
    }

    /// `INTERVAL x unit`, or the function `INTERVAL(x, y)`; returns whether it is the former. If
    /// `leads`, `+` and another operand may follow: servers take all but AND, OR and XOR for that
    /// operand.
    pub(super) fn interval(&mut self, leads: bool) -> Parsed<bool> {
        let mark = self.open();
        if self.sign_is(1, b'(') {
            self.bump();
            let value = self.open();
            self.parentheses()?;
            if self.last_kind() == Some(Kind::Tuple) {
                self.close(mark, Kind::Call)?;
                return Ok(false);
            }
            self.operators(value, Level::Lowest, Level::Postfix)?;
        } else {
            self.bump();
            self.expression()?;
        }
        self.unit()?;
        self.close(mark, Kind::Interval)?;
        if leads && self.eat_sign(b'+') {
            self.operand(Level::Not)?;
            self.close(mark, Kind::Binary(Operator::Plus))?;
        }
        Ok(true)
    }

    /// A unit of time.
    pub(super) fn unit(&mut self) -> Parsed {
        if self.kind(0) == Some(TokenKind::Word) {
            self.leaf(Kind::Unit)
        } else {
            Err(self.expected("a unit of time"))
        }
    }

    /// `DEFAULT`, `DEFAULT(a)`.
    fn default(&mut self) -> Parsed {
        let mark = self.open();
        self.bump();
        if self.eat_sign(b'(') {
            self.column()?;
            self.expect_sign(b')', "a closing parenthesis")?;
        }
        self.close(mark, Kind::Default)
    }

    /// `VALUES(a)`.
    fn inserted(&mut self) -> Parsed {
        let mark = self.open();
        self.bump_many(2);
        self.expression()?;
        self.expect_sign(b')', "a closing parenthesis")?;
        self.close(mark, Kind::Inserted)
    }

    /// `NEXTVAL(s)`, `SETVAL(s, 1)`.
    fn sequence(&mut self) -> Parsed {
        let mark = self.open();
        self.bump_many(2);
        self.table_name()?;
        while self.eat_sign(b',') {
            self.expression()?;
        }
        self.expect_sign(b')', "a closing parenthesis")?;
        self.close(mark, Kind::Sequence)
    }

    fn match_against(&mut self) -> Parsed {
        let mark = self.open();
        self.bump();
        let is_enclosed = self.eat_sign(b'(');
        self.list(Self::column)?;
        if is_enclosed {
            self.expect_sign(b')', "a closing parenthesis")?;
        }
        self.expect("AGAINST")?;
        self.expect_sign(b'(', "an opening parenthesis")?;
        self.operand(Level::BitOr)?;
        // How to search.
        self.skip_to(&[], false)?;
        self.expect_sign(b')', "a closing parenthesis")?;
        self.close(mark, Kind::Match)
    }
}
