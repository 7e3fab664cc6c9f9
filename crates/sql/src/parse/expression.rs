//! Expressions, by operator precedence: [`binding`] has the operators, the other modules what
//! stands between them.

mod binding;
mod call;
mod literal;
mod primary;
mod window;

use super::cursor::{Cursor, Mark};
use super::kind::Kind;
use super::operator::{Operator, Test};
use super::refusal::Parsed;

use self::binding::{Infix, Level, What};

impl Cursor<'_> {
    /// An expression.
    pub(super) fn expression(&mut self) -> Parsed {
        self.operand(Level::Lowest)
    }

    /// Expressions with commas between them.
    pub(super) fn expressions(&mut self) -> Parsed {
        self.list(Self::expression)
    }

    /// An expression without comparisons and logical operators.
    pub(super) fn bit_expression(&mut self) -> Parsed {
        self.operand(Level::BitOr)
    }

    /// An expression whose operators bind at least as tightly as `level` says.
    fn operand(&mut self, level: Level) -> Parsed {
        self.nested(|cursor| {
            let mark = cursor.open();
            let left = cursor.prefixed(level)?;
            cursor.operators(mark, level, left)
        })
    }

    /// The operators behind the operand that begins at `mark`. `left` says how tightly that binds:
    /// `a IS NULL LIKE b` is none, so `LIKE` may only belong to what is around, as in
    /// `@a := b IS NULL LIKE c`.
    fn operators(&mut self, mark: Mark, level: Level, mut left: Level) -> Parsed {
        while let Some(infix) = self.infix()
            && infix.level >= level
            && left >= self.left_of(infix)
        {
            self.bump_many(infix.tokens);
            left = self.right_of(mark, infix)?;
        }
        Ok(())
    }

    /// What stands right of an operator. Returns how tightly the whole binds.
    fn right_of(&mut self, mark: Mark, Infix { what, level, not, .. }: Infix) -> Parsed<Level> {
        match what {
            What::Binary(operator) => {
                if level == Level::Comparison && self.at_quantified() {
                    self.quantified()?;
                } else if level == Level::Sum && self.at("INTERVAL") {
                    if self.interval(false)? {
                        // `a + INTERVAL 1 DAY * 2` is a product.
                        self.close(mark, Kind::Binary(operator))?;
                        return Ok(Level::BitXor);
                    }
                    self.operators(self.open_before_last(), level.above(), Level::Postfix)?;
                } else {
                    self.operand(level.above())?;
                }
                self.close(mark, Kind::Binary(operator))?;
            }
            What::Is => {
                let (test, tokens) = self.tested();
                self.bump_many(tokens);
                self.close(mark, Kind::Is { not, test })?;
                // `a IS TRUE = b` is nothing for MySQL, but `a IS NULL = b` is.
                let is_operand = self.is_mariadb() || test == Test::Null;
                return Ok(if is_operand { level } else { Level::Not });
            }
            What::In => {
                self.in_list()?;
                self.close(mark, Kind::In { not })?;
            }
            What::Like => {
                // MySQL takes `||` there in the mode `PIPES_AS_CONCAT`, and no other operator.
                let right = if self.is_mariadb() { Level::Negated } else { Level::Concat };
                self.operand(right)?;
                if self.eat("ESCAPE") {
                    self.operand(right)?;
                }
                self.close(mark, Kind::Like { not })?;
            }
            What::Between => {
                self.operand(if self.is_mariadb() { Level::Between } else { Level::BitOr })?;
                self.expect("AND")?;
                self.operand(Level::Between)?;
                self.close(mark, Kind::Between { not })?;
            }
            What::Regexp => {
                self.operand(Level::Predicate.above())?;
                self.close(mark, Kind::Regexp { not })?;
            }
            What::MemberOf => {
                self.parentheses()?;
                self.close(mark, Kind::Binary(Operator::MemberOf))?;
            }
            What::Collate => {
                self.bump();
                self.close(mark, Kind::Collate)?;
            }
            What::Path(operator) => {
                self.literal_text()?;
                self.close(mark, Kind::Binary(operator))?;
            }
        }
        Ok(level)
    }

    /// What comes behind `IS` or `IS NOT`.
    fn tested(&self) -> (Test, usize) {
        match &*self.upper(0) {
            "TRUE" => (Test::True, 1),
            "FALSE" => (Test::False, 1),
            "UNKNOWN" => (Test::Unknown, 1),
            _ => (Test::Null, 1),
        }
    }

    /// A list or a subquery in parentheses.
    fn in_list(&mut self) -> Parsed {
        if !self.at_sign(b'(') {
            // MySQL 9 and MariaDB want parentheses; what else may come is one value.
            return Err(self.expected("a list or a subquery"));
        }
        self.parentheses()?;
        if matches!(self.last_kind(), Some(Kind::Paren | Kind::Tuple)) {
            self.set_last_kind(Kind::List);
        }
        Ok(())
    }

    fn at_quantified(&self) -> bool {
        self.at_any(&["ANY", "SOME", "ALL"]) && self.sign_is(1, b'(')
    }

    fn quantified(&mut self) -> Parsed {
        let mark = self.open();
        self.bump();
        self.parentheses()?;
        self.close(mark, Kind::Quantified)
    }

    /// An operand with the operators in front of it. Returns how tightly that binds.
    fn prefixed(&mut self, outer: Level) -> Parsed<Level> {
        let Some((operator, level)) = self.prefix() else {
            self.primary()?;
            return Ok(Level::Postfix);
        };
        if level < outer && level == Level::Not {
            return Err(self.expected("an expression"));
        }
        let mark = self.open();
        self.bump();
        self.operand(level)?;
        self.close(mark, Kind::Unary(operator))?;
        Ok(level)
    }
}
