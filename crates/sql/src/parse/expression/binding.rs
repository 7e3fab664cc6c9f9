//! How tightly operators bind: the tables of both servers' grammars.
//!
//! Sources: `sql/sql_yacc.yy` of MySQL and of MariaDB, their `%left` and `%right` lines and the
//! rules `expr`, `bool_pri`, `predicate`, `bit_expr` and `simple_expr`.

use crate::lexer::Kind as TokenKind;
use crate::parse::cursor::Cursor;
use crate::parse::kind::Kind;
use crate::parse::operator::Operator;

/// How tightly operators bind, the loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Lowest,
    Or,
    Xor,
    And,
    Not,
    /// `=` and the like, and `IS`, from left to right.
    Comparison,
    /// From right to left: the last operand may be another `BETWEEN`.
    Between,
    /// `LIKE`, `IN`, `REGEXP`, `SOUNDS LIKE`, `MEMBER OF`.
    Predicate,
    /// `NOT LIKE` and the like in MariaDB, where `NOT` binds tighter than what it negates:
    /// `a LIKE b NOT LIKE c` is `a LIKE (b NOT LIKE c)`.
    Negated,
    BitOr,
    BitAnd,
    Shift,
    Sum,
    Product,
    BitXor,
    /// `||` in the mode `PIPES_AS_CONCAT`.
    Concat,
    /// `-a`, `~a`, `!a`, `BINARY a`.
    Unary,
    /// `COLLATE`, `->`.
    Postfix,
}

impl Level {
    /// The level of operands that bind tighter than this.
    pub(super) const fn above(self) -> Self {
        match self {
            Self::Lowest => Self::Or,
            Self::Or => Self::Xor,
            Self::Xor => Self::And,
            Self::And => Self::Not,
            Self::Not => Self::Comparison,
            Self::Comparison => Self::Between,
            Self::Between => Self::Predicate,
            Self::Predicate => Self::Negated,
            Self::Negated => Self::BitOr,
            Self::BitOr => Self::BitAnd,
            Self::BitAnd => Self::Shift,
            Self::Shift => Self::Sum,
            Self::Sum => Self::Product,
            Self::Product => Self::BitXor,
            Self::BitXor => Self::Concat,
            Self::Concat => Self::Unary,
            Self::Unary | Self::Postfix => Self::Postfix,
        }
    }
}

/// What an operator makes of the operand left of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Binary(Operator),
    Is,
    In,
    Like,
    Between,
    Regexp,
    MemberOf,
    Collate,
    /// `->` or `->>`.
    Path(Operator),
}

/// An operator behind an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Infix {
    pub(super) what: What,
    pub(super) level: Level,
    /// How many tokens it is.
    pub(super) tokens: usize,
    pub(super) not: bool,
}

impl Infix {
    const fn new(what: What, level: Level, tokens: usize) -> Self {
        Self { what, level, tokens, not: false }
    }

    const fn binary(operator: Operator, level: Level, tokens: usize) -> Self {
        Self::new(What::Binary(operator), level, tokens)
    }
}

impl Cursor<'_> {
    /// The operator in front of an operand that comes next, and the level of that operand.
    pub(super) fn prefix(&self) -> Option<(Operator, Level)> {
        match self.kind(0)? {
            TokenKind::Sign(b'-') => Some((Operator::Minus, Level::Unary)),
            TokenKind::Sign(b'+') => Some((Operator::Plus, Level::Unary)),
            TokenKind::Sign(b'~') => Some((Operator::BitNot, Level::Unary)),
            TokenKind::Sign(b'!') => Some((Operator::Not, Level::Unary)),
            TokenKind::Word if self.at("BINARY") => Some((Operator::Binary, Level::Unary)),
            TokenKind::Word if self.at("NOT") => {
                let level = if self.settings().high_not_precedence { Level::Unary } else { Level::Not };
                Some((Operator::Not, level))
            }
            _ => None,
        }
    }

    /// How tightly the operand left of an operator must bind.
    pub(super) fn left_of(&self, infix: Infix) -> Level {
        match infix.level {
            Level::Between | Level::Predicate | Level::Negated if self.is_mariadb() => Level::Between,
            Level::Between | Level::Predicate => Level::BitOr,
            Level::Postfix => Level::Concat,
            level => level,
        }
    }

    /// The operator behind an operand that comes next.
    pub(super) fn infix(&self) -> Option<Infix> {
        match self.kind(0)? {
            TokenKind::Sign(sign) => self.infix_sign(sign),
            TokenKind::Word => self.infix_word(),
            _ => None,
        }
    }

    fn infix_sign(&self, sign: u8) -> Option<Infix> {
        let comparison = |operator, tokens| Infix::binary(operator, Level::Comparison, tokens);
        Some(match sign {
            b'<' if self.at_signs(b"<=>") => comparison(Operator::NullSafeEqual, 3),
            b'<' if self.at_signs(b"<=") => comparison(Operator::LessEqual, 2),
            b'<' if self.at_signs(b"<>") => comparison(Operator::NotEqual, 2),
            b'<' if self.at_signs(b"<<") => Infix::binary(Operator::ShiftLeft, Level::Shift, 2),
            b'<' => comparison(Operator::Less, 1),
            b'>' if self.at_signs(b">=") => comparison(Operator::GreaterEqual, 2),
            b'>' if self.at_signs(b">>") => Infix::binary(Operator::ShiftRight, Level::Shift, 2),
            b'>' => comparison(Operator::Greater, 1),
            b'=' => comparison(Operator::Equal, 1),
            b'!' if self.at_signs(b"!=") => comparison(Operator::NotEqual, 2),
            b'|' if self.at_signs(b"||") && self.settings().pipes_as_concat => {
                Infix::binary(Operator::Concat, Level::Concat, 2)
            }
            b'|' if self.at_signs(b"||") => Infix::binary(Operator::Or, Level::Or, 2),
            b'|' => Infix::binary(Operator::BitOr, Level::BitOr, 1),
            b'&' if self.at_signs(b"&&") => Infix::binary(Operator::And, Level::And, 2),
            b'&' => Infix::binary(Operator::BitAnd, Level::BitAnd, 1),
            b'-' if self.at_signs(b"->") => return self.infix_path(),
            b'-' => Infix::binary(Operator::Minus, Level::Sum, 1),
            b'+' => Infix::binary(Operator::Plus, Level::Sum, 1),
            b'*' => Infix::binary(Operator::Multiply, Level::Product, 1),
            b'/' => Infix::binary(Operator::Divide, Level::Product, 1),
            b'%' => Infix::binary(Operator::Modulo, Level::Product, 1),
            b'^' => Infix::binary(Operator::BitXor, Level::BitXor, 1),
            _ => return None,
        })
    }

    /// `->` and `->>`, which MariaDB has not.
    fn infix_path(&self) -> Option<Infix> {
        if self.is_mariadb() || self.last_kind() != Some(Kind::Column) {
            return None;
        }
        let (operator, tokens) =
            if self.at_signs(b"->>") { (Operator::ExtractText, 3) } else { (Operator::Extract, 2) };
        Some(Infix::new(What::Path(operator), Level::Postfix, tokens))
    }

    fn infix_word(&self) -> Option<Infix> {
        let not = usize::from(self.at("NOT"));
        let (what, level, tokens) = match &*self.upper(not) {
            "IN" => (What::In, Level::Predicate, 1),
            "LIKE" => (What::Like, Level::Predicate, 1),
            "BETWEEN" => (What::Between, Level::Between, 1),
            "REGEXP" | "RLIKE" => (What::Regexp, Level::Predicate, 1),
            _ if not > 0 => return None,
            "IS" => {
                let not = self.word_is(1, "NOT");
                let ahead = 1 + usize::from(not);
                if !["NULL", "TRUE", "FALSE", "UNKNOWN"].iter().any(|test| self.word_is(ahead, test)) {
                    return None;
                }
                return Some(Infix { what: What::Is, level: Level::Comparison, tokens: ahead, not });
            }
            "OR" => (What::Binary(Operator::Or), Level::Or, 1),
            "XOR" => (What::Binary(Operator::Xor), Level::Xor, 1),
            "AND" => (What::Binary(Operator::And), Level::And, 1),
            "DIV" => (What::Binary(Operator::IntegerDivide), Level::Product, 1),
            "MOD" => (What::Binary(Operator::Modulo), Level::Product, 1),
            "COLLATE" => (What::Collate, Level::Postfix, 1),
            "SOUNDS" if self.word_is(1, "LIKE") => (What::Binary(Operator::SoundsLike), Level::Predicate, 2),
            "MEMBER" if self.word_is(1, "OF") && self.sign_is(2, b'(') => {
                (What::MemberOf, Level::Predicate, 2)
            }
            "MEMBER" if self.sign_is(1, b'(') && !self.is_mariadb() => (What::MemberOf, Level::Predicate, 1),
            _ => return None,
        };
        let level = if not > 0 && self.is_mariadb() { Level::Negated } else { level };
        Some(Infix { what, level, tokens: tokens + not, not: not > 0 })
    }
}
