//! Expressions as texts that can be made smaller.

use std::fmt;

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
