//! Expressions as texts that can be made smaller.

use std::fmt;

use testkit::client::Value;

/// An expression: texts, and expressions within.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expression(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Inner(Expression),
}

impl Expression {
    /// An expression without others.
    pub(crate) fn leaf(text: impl Into<String>) -> Self {
        Self(vec![Piece::Text(text.into())])
    }

    /// The expression that this pattern makes: each `#` is the next of `inner`.
    pub(crate) fn of<const N: usize>(pattern: &str, inner: [Self; N]) -> Self {
        let mut inner = inner.into_iter();
        let mut pieces = Vec::new();
        for (number, text) in pattern.split('#').enumerate() {
            if number > 0 {
                pieces.extend(inner.next().map(Piece::Inner));
            }
            pieces.push(Piece::Text(text.to_owned()));
        }
        Self(pieces)
    }

    /// Smaller expressions: those within, and this one with a smaller one within.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for (at, piece) in self.0.iter().enumerate() {
            let Piece::Inner(inner) = piece else { continue };
            all.push(inner.clone());
            for smaller in inner.smaller() {
                let mut other = self.clone();
                other.0[at] = Piece::Inner(smaller);
                all.push(other);
            }
        }
        all
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Inner(inner) => inner.fmt(f)?,
            }
        }
        Ok(())
    }
}

/// Stand around a literal that may be the value of a placeholder.
const BEGIN: char = '\u{1}';
const END: char = '\u{2}';

/// A literal that a prepared statement has as a value.
pub(crate) fn value(literal: &str) -> String {
    format!("{BEGIN}{literal}{END}")
}

/// A text with its literals.
pub(crate) fn with_literals(text: &str) -> String {
    text.replace([BEGIN, END], "")
}

/// A text with placeholders, and their values.
pub(crate) fn with_placeholders(text: &str) -> (String, Vec<Value>) {
    let mut parts = text.split(BEGIN);
    let mut sql = parts.next().unwrap_or_default().to_owned();
    let mut values = Vec::new();
    for part in parts {
        let (literal, rest) = part.split_once(END).unwrap_or((part, ""));
        values.push(match literal.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
            Some(text) => Value::from(text),
            None => literal.parse::<i64>().map_or(Value::Null, Value::Int),
        });
        sql.push('?');
        sql.push_str(rest);
    }
    (sql, values)
}
