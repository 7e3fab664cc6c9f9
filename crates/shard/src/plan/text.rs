//! Names and constants of a statement, out of their bytes.

use sql::digest::Span;
use sql::parse::{Kind, Literal, NodeId, Operator, Tree};

use crate::calendar::{Date, DateTime};
use crate::value::Value;

use super::Request;

/// The name that these bytes are, without its quotes.
pub(crate) fn name(sql: &[u8], span: Span) -> String {
    let bytes = span.of(sql);
    let quote = bytes.first().copied().filter(|byte| matches!(byte, b'`' | b'"' | b'\''));
    let Some(quote) = quote else { return String::from_utf8_lossy(bytes).into_owned() };
    let inner = bytes.get(1..bytes.len().saturating_sub(1)).unwrap_or_default();
    let mut out = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        out.push(byte);
        // A quote within a name is written twice.
        if byte == quote && bytes.peek() == Some(&quote) {
            bytes.next();
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A name in backticks.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// The value of a constant expression; none if it is not constant, or its bytes do not tell its
/// value for certain.
pub(crate) fn constant<'a>(request: &Request<'a>, id: NodeId) -> Option<Value<'a>> {
    let tree = request.tree;
    match tree.kind(id) {
        // In braces, `{d '2026-11-27'}`, a text is a date.
        Kind::Paren if tree.span(id).of(request.sql).starts_with(b"(") => {
            constant(request, tree.children(id).next()?)
        }
        Kind::Unary(Operator::Minus) => match constant(request, tree.children(id).next()?)? {
            Value::Signed(number) => number.checked_neg().map(Value::Signed),
            Value::Unsigned(number) if number == 1 << 63 => Some(Value::Signed(i64::MIN)),
            _ => None,
        },
        Kind::Placeholder(number) => *request.parameters.get(usize::try_from(number).ok()?)?,
        Kind::Literal(literal) => literal_value(literal, tree.span(id).of(request.sql)),
        _ => None,
    }
}

fn literal_value(literal: Literal, bytes: &[u8]) -> Option<Value<'_>> {
    match literal {
        Literal::Null => Some(Value::Null),
        Literal::Integer => {
            let number: u64 = std::str::from_utf8(bytes).ok()?.parse().ok()?;
            Some(i64::try_from(number).map_or(Value::Unsigned(number), Value::Signed))
        }
        Literal::Text => plain_text(bytes).map(Value::Text),
        Literal::Temporal => {
            let begin = bytes.iter().position(|byte| *byte == b'\'')?;
            let text = plain_text(bytes.get(begin..)?)?;
            let word = bytes.get(..begin)?.trim_ascii().to_ascii_uppercase();
            match word.as_slice() {
                b"DATE" => Date::parse(text).map(Value::Date),
                b"TIMESTAMP" => DateTime::parse(text).map(Value::DateTime),
                _ => None,
            }
        }
        Literal::Number | Literal::Bits | Literal::True | Literal::False => None,
    }
}

/// The bytes of a string that are the same in all character sets and modes: ASCII, without
/// escapes, quotes within, introducer or a neighbouring string.
fn plain_text(bytes: &[u8]) -> Option<&[u8]> {
    let (quote, rest) = bytes.split_first().filter(|(quote, _)| matches!(quote, b'\'' | b'"'))?;
    let (last, inner) = rest.split_last()?;
    let is_plain = |byte: &u8| byte.is_ascii() && *byte != b'\\' && byte != quote;
    (last == quote && inner.iter().all(is_plain)).then_some(inner)
}

/// The operand within parentheses, if there are any.
pub(super) fn without_parens(tree: &Tree, mut id: NodeId) -> NodeId {
    while tree.kind(id) == Kind::Paren
        && let Some(inner) = tree.children(id).next()
    {
        id = inner;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_quotes() {
        for (text, expected) in [("a", "a"), ("`a b`", "a b"), ("`a``b`", "a`b"), ("\"a\"", "a"), ("``", "")]
        {
            let span = Span { start: 0, end: text.len() };
            assert_eq!(name(text.as_bytes(), span), expected);
        }
        assert_eq!(quoted("a`b"), "`a``b`");
    }

    #[test]
    fn only_texts_that_mean_the_same_everywhere_are_constants() {
        assert_eq!(plain_text(b"'abc'"), Some(&b"abc"[..]));
        for text in ["'a\\b'", "'a''b'", "'a' 'b'", "_utf8'a'", "N'a'", "'\u{e4}'", "'"] {
            assert_eq!(plain_text(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn literals_have_the_value_of_their_type() {
        let of = |literal, text: &'static str| literal_value(literal, text.as_bytes());
        assert_eq!(of(Literal::Integer, "18446744073709551615"), Some(Value::Unsigned(u64::MAX)));
        assert_eq!(of(Literal::Integer, "18446744073709551616"), None);
        assert_eq!(of(Literal::Number, "5.0"), None);
        let date = Date::parse(b"2026-11-27").unwrap();
        assert_eq!(of(Literal::Temporal, "DATE '2026-11-27'"), Some(Value::Date(date)));
        assert_eq!(of(Literal::Temporal, "TIME '10:00:00'"), None);
    }
}
