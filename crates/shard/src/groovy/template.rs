//! Text with expressions in it: `t_order_${order_id % 4}`.

use std::fmt::Write as _;

use smallvec::SmallVec;

use super::Refused;
use super::eval::{Datum, evaluate};
use super::expand::{Language, without_prefix};
use super::expr::{Expr, parse};
use crate::limits::{EXPRESSION_BYTES_MAX, NAME_BYTES_MAX};

/// Name that an expression computes.
pub(crate) type Name = SmallVec<[u8; 64]>;

/// Text with expressions over columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
    source: String,
    depends_on_type: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Expr(Expr),
}

/// Piece of a text with `${}` in it, and the column of its first character.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Text as it is.
    Text(&'a str, usize),
    /// What stands between `${` and `}`.
    Code(&'a str, usize),
}

impl Template {
    /// Reads `source`, in which names are those of `columns`.
    pub fn parse(source: &str, columns: &[&str]) -> Result<Self, Refused> {
        let source = without_prefix(source)?;
        if source.language != Language::Groovy {
            return Err(Refused::new(1, "only an expression in <GROOVY> can name a shard"));
        }
        let mut parts = Vec::new();
        for piece in pieces(source.text, source.column)? {
            parts.push(match piece {
                Piece::Text(text, _) => Part::Text(text.to_owned()),
                Piece::Code(code, column) => Part::Expr(parse(code, column, columns)?),
            });
        }
        let depends_on_type =
            parts.iter().any(|part| matches!(part, Part::Expr(expr) if expr.depends_on_type()));
        Ok(Self { parts, source: source.text.to_owned(), depends_on_type })
    }

    /// The text as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text in front of the first expression.
    pub(crate) fn prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Text(text)) => text,
            _ => "",
        }
    }

    /// Whether two templates differ at most in the text in front of the first expression.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let behind = |parts: &[Part]| match parts {
            [Part::Text(_), rest @ ..] | rest => rest.to_vec(),
        };
        behind(&self.parts) == behind(&other.parts)
    }

    /// Whether an `Integer` may give another name than a `Long` of the same value.
    pub(crate) fn depends_on_type(&self) -> bool {
        self.depends_on_type
    }

    /// The name for the values of the columns; nothing where an expression has no value.
    pub(crate) fn evaluate(&self, columns: &[Datum<'_>]) -> Option<Name> {
        let mut name = Writer::default();
        for part in &self.parts {
            match part {
                Part::Text(text) => name.write_str(text).ok()?,
                Part::Expr(expr) => write!(name, "{}", evaluate(expr, columns)?).ok()?,
            }
        }
        Some(name.0)
    }
}

#[derive(Default)]
struct Writer(Name);

impl std::fmt::Write for Writer {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > NAME_BYTES_MAX {
            return Err(std::fmt::Error);
        }
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Cuts a text at `${` or `$->{` and the `}` that closes it.
pub(super) fn pieces(text: &str, column: usize) -> Result<Vec<Piece<'_>>, Refused> {
    if text.len() > EXPRESSION_BYTES_MAX {
        return Err(Refused::new(column, format!("longer than {EXPRESSION_BYTES_MAX} bytes")));
    }
    let mut found = Vec::new();
    let (mut rest, mut column) = (text, column);
    while !rest.is_empty() {
        let plain = rest.find(['$', '\\', '"']).unwrap_or(rest.len());
        let (before, code) = rest.split_at(plain);
        if !before.is_empty() {
            found.push(Piece::Text(before, column));
            column += before.chars().count();
        }
        let opening = ["${", "$->{"].into_iter().find(|opening| code.starts_with(opening));
        rest = match opening {
            None if code.is_empty() => code,
            None => {
                let message = "`$`, `\\` and `\"` outside of `${}` are not supported";
                return Err(Refused::new(column, message));
            }
            Some(opening) => {
                let inner = code.get(opening.len()..).unwrap_or_default();
                let end = closing(inner).ok_or_else(|| Refused::new(column, "`${` is not closed"))?;
                let (inner, behind) = inner.split_at(end);
                found.push(Piece::Code(inner, column + opening.len()));
                column += opening.len() + inner.chars().count() + 1;
                behind.get(1..).unwrap_or_default()
            }
        };
    }
    Ok(found)
}

/// Where the `}` is that is not in quotes.
fn closing(code: &str) -> Option<usize> {
    let mut quote = None;
    for (at, c) in code.char_indices() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '}') => return Some(at),
            (None, '\'' | '"') => quote = Some(c),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(source: &str, value: Datum<'_>) -> Option<String> {
        let template = Template::parse(source, &["id", "other"]).unwrap();
        template.evaluate(&[value]).map(|name| String::from_utf8(name.to_vec()).unwrap())
    }

    fn refused(source: &str) -> String {
        Template::parse(source, &["id"]).unwrap_err().to_string()
    }

    #[test]
    fn names_are_computed_as_in_groovy() {
        let int = |source, value| name(source, Datum::Int(value)).unwrap();
        assert_eq!(int("t_${id % 4}", 7), "t_3");
        assert_eq!(int("t_$->{id % 4}_x", -7), "t_-3_x");
        assert_eq!(int("ds${(id + 1) * 2 - 3 % 2}", 5), "ds11");
        assert_eq!(int("t_${id.intdiv(-2)}", 5), "t_-2");
        assert_eq!(int("t_${id + 1}", i32::MAX), "t_-2147483648");
        assert_eq!(int("t_${id.toLong() + 1}", i32::MAX), "t_2147483648");
        assert_eq!(int("t_${(id % 16).toString().padLeft(3, '0')}", 9), "t_009");
        assert_eq!(int("t_${-id + 'x'}", 9), "t_-9x");
        assert_eq!(name("t_${id % 0}", Datum::Int(1)), None);
        assert_eq!(name("t_${id.length()}", Datum::Int(1)), None);
        assert_eq!(name("t_${other}", Datum::Int(1)), None);
    }

    #[test]
    fn texts_have_utf_16_units() {
        let text = |source| name(source, Datum::Text("a\u{e9}\u{1F600}12".into()));
        assert_eq!(text("t_${id.substring(4, 6)}").unwrap(), "t_12");
        assert_eq!(text("t_${id.substring(id.length() - 1)}").unwrap(), "t_2");
        assert_eq!(text("t_${Math.abs(id.hashCode()) % 10}").unwrap(), "t_2");
        assert_eq!(text("t_${id.substring(0, 3)}"), None);
        assert_eq!(text("t_${id.substring(9)}"), None);
    }

    #[test]
    fn everything_else_is_refused_with_its_column() {
        assert_eq!(refused("t_${id / 4}"), "column 8: `/` makes a decimal; write `.intdiv(n)`");
        assert_eq!(refused("t_${user % 4}"), "column 5: `user` is not a sharding column");
        assert_eq!(refused("t_${id.each { it }}"), "column 13: `{` is not supported");
        assert_eq!(refused("t_${id.reverse()}"), "column 8: the method `reverse` is not supported");
        assert_eq!(refused("t_${id % 010}"), "column 10: an integer that begins with 0 is octal");
        assert_eq!(refused("t_${id % 1.5}"), "column 10: decimals are not supported");
        assert_eq!(refused("t_${id"), "column 3: `${` is not closed");
        assert_eq!(refused("t_${id % }"), "column 10: the expression ends too early");
        assert_eq!(refused("t_${id 4}"), "column 8: an operator is missing, or one is not supported");
        assert_eq!(refused("t_${Math.max(id, 1)}"), "column 5: of `Math` only `abs` is supported");
        assert_eq!(refused("t_${id.substring()}"), "column 8: the method has another number of arguments");
        assert_eq!(refused("t_$id"), "column 3: `$`, `\\` and `\"` outside of `${}` are not supported");
        let deep = format!("t_${{{}id{}}}", "(".repeat(99), ")".repeat(99));
        assert!(refused(&deep).ends_with("nested more than 32 deep"));
    }

    #[test]
    fn types_matter_where_integers_wrap_or_are_hashed() {
        let depends = |source| Template::parse(source, &["id"]).unwrap().depends_on_type();
        assert!(!depends("t_${id % 4}"));
        assert!(!depends("t_${id}"));
        assert!(depends("t_${(id + 1) % 4}"));
        assert!(depends("t_${id.hashCode() % 4}"));
        assert!(!depends("t_${id % (2 + 2)}"));
    }
}
