//! Expressions, from tokens to a tree.

use super::Refused;
use super::lexer::{Lexeme, Token, tokens};
use crate::limits::EXPRESSION_DEPTH_MAX;

/// Expression whose columns are numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expr {
    /// Integer of 32 bits.
    Int(i32),
    /// Integer of 64 bits.
    Long(i64),
    /// Text.
    Text(String),
    /// Value of a column, by its position among the key columns.
    Column(usize),
    /// `-e`
    Negate(Box<Self>),
    /// `e op e`
    Binary(Op, Box<Self>, Box<Self>),
    /// `e.method(arguments)`; `Math.abs(e)` is a method of `e`.
    Call(Method, Box<Self>, Vec<Self>),
}

/// Operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Subtract,
    Multiply,
    Remainder,
}

/// Method, with as many arguments as [`Method::arguments`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Abs,
    HashCode,
    IntDiv,
    Length,
    PadLeft,
    Substring,
    ToLong,
    ToString,
}

impl Method {
    /// The method `name`, but `abs`, which is one of `Math`.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "hashCode" => Self::HashCode,
            "intdiv" => Self::IntDiv,
            "length" | "size" => Self::Length,
            "padLeft" => Self::PadLeft,
            "substring" => Self::Substring,
            "toLong" => Self::ToLong,
            "toString" => Self::ToString,
            _ => return None,
        })
    }

    /// Least and most arguments.
    fn arguments(self) -> (usize, usize) {
        match self {
            Self::Abs | Self::HashCode | Self::Length | Self::ToLong | Self::ToString => (0, 0),
            Self::IntDiv => (1, 1),
            Self::PadLeft | Self::Substring => (1, 2),
        }
    }
}

impl Expr {
    /// Whether it may be something else for an `Integer` than for a `Long` of the same value.
    pub(super) fn depends_on_type(&self) -> bool {
        match self {
            Self::Int(_) | Self::Long(_) | Self::Text(_) | Self::Column(_) => false,
            Self::Negate(_)
            | Self::Binary(Op::Add | Op::Subtract | Op::Multiply, ..)
            | Self::Call(Method::HashCode | Method::Abs | Method::IntDiv, ..) => self.has_column(),
            Self::Binary(Op::Remainder, left, right) => left.depends_on_type() || right.depends_on_type(),
            Self::Call(_, receiver, arguments) => {
                receiver.depends_on_type() || arguments.iter().any(Self::depends_on_type)
            }
        }
    }

    fn has_column(&self) -> bool {
        match self {
            Self::Column(_) => true,
            Self::Int(_) | Self::Long(_) | Self::Text(_) => false,
            Self::Negate(inner) => inner.has_column(),
            Self::Binary(_, left, right) => left.has_column() || right.has_column(),
            Self::Call(_, receiver, arguments) => {
                receiver.has_column() || arguments.iter().any(Self::has_column)
            }
        }
    }
}

/// Reads `text`, whose first character stands at `column`. Names are those of `columns`.
pub(super) fn parse(text: &str, column: usize, columns: &[&str]) -> Result<Expr, Refused> {
    let mut parser =
        Parser { rest: tokens(text, column)?.into_iter().peekable(), columns, depth: 0, end: column };
    parser.end = column + text.chars().count();
    let expr = parser.sum()?;
    match parser.rest.next() {
        None => Ok(expr),
        Some(lexeme) => Err(Refused::new(lexeme.column, "an operator is missing, or one is not supported")),
    }
}

struct Parser<'a> {
    rest: std::iter::Peekable<std::vec::IntoIter<Lexeme>>,
    columns: &'a [&'a str],
    depth: usize,
    /// Column behind the last character.
    end: usize,
}

impl Parser<'_> {
    fn take(&mut self, sign: char) -> bool {
        self.rest.next_if(|lexeme| lexeme.token == Token::Sign(sign)).is_some()
    }

    fn column(&mut self) -> usize {
        self.rest.peek().map_or(self.end, |lexeme| lexeme.column)
    }

    fn expect(&mut self, sign: char) -> Result<(), Refused> {
        let column = self.column();
        if self.take(sign) { Ok(()) } else { Err(Refused::new(column, format!("expected `{sign}`"))) }
    }

    fn sum(&mut self) -> Result<Expr, Refused> {
        let mut left = self.product()?;
        loop {
            let op = match () {
                () if self.take('+') => Op::Add,
                () if self.take('-') => Op::Subtract,
                () => return Ok(left),
            };
            left = Expr::Binary(op, Box::new(left), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Expr, Refused> {
        let mut left = self.unary()?;
        loop {
            let op = match () {
                () if self.take('*') => Op::Multiply,
                () if self.take('%') => Op::Remainder,
                () => return Ok(left),
            };
            left = Expr::Binary(op, Box::new(left), Box::new(self.unary()?));
        }
    }

    fn unary(&mut self) -> Result<Expr, Refused> {
        self.depth += 1;
        if self.depth > EXPRESSION_DEPTH_MAX {
            let column = self.column();
            return Err(Refused::new(column, format!("nested more than {EXPRESSION_DEPTH_MAX} deep")));
        }
        let expr = if self.take('-') { Expr::Negate(Box::new(self.unary()?)) } else { self.postfix()? };
        self.depth -= 1;
        Ok(expr)
    }

    fn postfix(&mut self) -> Result<Expr, Refused> {
        let mut expr = self.primary()?;
        while self.take('.') {
            let column = self.column();
            let method = match self.rest.next() {
                Some(Lexeme { token: Token::Name(name), .. }) => Method::named(&name)
                    .ok_or_else(|| Refused::new(column, format!("the method `{name}` is not supported")))?,
                _ => return Err(Refused::new(column, "expected the name of a method")),
            };
            let arguments = self.arguments(method, column)?;
            expr = Expr::Call(method, Box::new(expr), arguments);
        }
        Ok(expr)
    }

    fn arguments(&mut self, method: Method, column: usize) -> Result<Vec<Expr>, Refused> {
        self.expect('(')?;
        let mut arguments = Vec::new();
        while !self.take(')') {
            if !arguments.is_empty() {
                self.expect(',')?;
            }
            arguments.push(self.sum()?);
        }
        let (least, most) = method.arguments();
        if (least..=most).contains(&arguments.len()) {
            Ok(arguments)
        } else {
            Err(Refused::new(column, "the method has another number of arguments"))
        }
    }

    fn primary(&mut self) -> Result<Expr, Refused> {
        let column = self.column();
        match self.rest.next().map(|lexeme| lexeme.token) {
            Some(Token::Integer { value, long: true }) => Ok(Expr::Long(value)),
            Some(Token::Integer { value, .. }) => {
                Ok(i32::try_from(value).map_or(Expr::Long(value), Expr::Int))
            }
            Some(Token::Text(text)) => Ok(Expr::Text(text)),
            Some(Token::Sign('(')) => {
                let inner = self.sum()?;
                self.expect(')')?;
                Ok(inner)
            }
            Some(Token::Name(name)) if name == "Math" => self.absolute(column),
            Some(Token::Name(name)) => match self.columns.iter().position(|known| *known == name) {
                Some(at) => Ok(Expr::Column(at)),
                None => Err(Refused::new(column, format!("`{name}` is not a sharding column"))),
            },
            Some(_) => Err(Refused::new(column, "expected a column, an integer, a text or `(`")),
            None => Err(Refused::new(column, "the expression ends too early")),
        }
    }

    /// What is behind `Math`.
    fn absolute(&mut self, column: usize) -> Result<Expr, Refused> {
        self.expect('.')?;
        let name = self.rest.next_if(|lexeme| lexeme.token == Token::Name("abs".to_owned()));
        if name.is_none() {
            return Err(Refused::new(column, "of `Math` only `abs` is supported"));
        }
        self.expect('(')?;
        let inner = self.sum()?;
        self.expect(')')?;
        Ok(Expr::Call(Method::Abs, Box::new(inner), Vec::new()))
    }
}
