//! Names and constants of a statement, out of their bytes.

use shard::{Date, DateTime, Value};
use sql::digest::Span;
use sql::parse::{Kind, Literal, NodeId, Operator, Tree};

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
        Kind::Call if is_last_id(request, id) => {
            let id = request.asked.last_insert_id?;
            Some(i64::try_from(id).map_or(Value::Unsigned(id), Value::Signed))
        }
        Kind::Placeholder(number) => *request.parameters.get(usize::try_from(number).ok()?)?,
        Kind::Literal(literal) => literal_value(literal, tree.span(id).of(request.sql)),
        _ => None,
    }
}

/// Whether a text may have `LAST_INSERT_ID()`.
pub(super) fn has_last_id(sql: &[u8]) -> bool {
    const NAME: &[u8] = b"last_insert_id";
    sql.windows(NAME.len()).any(|part| part.eq_ignore_ascii_case(NAME))
}

/// Whether a node is `LAST_INSERT_ID()`.
pub(super) fn is_last_id(request: &Request<'_>, id: NodeId) -> bool {
    let tree = request.tree;
    let mut children = tree.children(id);
    tree.kind(id) == Kind::Call
        && children.next().is_some_and(|name| {
            tree.kind(name) == Kind::Function
                && tree.span(name).of(request.sql).eq_ignore_ascii_case(b"LAST_INSERT_ID")
        })
        && children.next().is_none()
}

/// The bytes that a string stands for, if it is one string without an introducer.
pub(super) fn unescaped(request: &Request<'_>, id: NodeId) -> Option<Vec<u8>> {
    let is_text = request.tree.kind(id) == Kind::Literal(Literal::Text);
    let bytes = request.tree.span(id).of(request.sql);
    string(bytes, request.modes.no_backslash_escapes).filter(|_| is_text)
}

/// The bytes that one string in quotes stands for.
pub(super) fn string(bytes: &[u8], no_backslash_escapes: bool) -> Option<Vec<u8>> {
    let (quote, rest) = bytes.split_first().filter(|(quote, _)| matches!(quote, b'\'' | b'"'))?;
    let (last, inner) = rest.split_last()?;
    if last != quote {
        return None;
    }
    let mut found = Vec::with_capacity(inner.len());
    let mut inner = inner.iter().copied();
    while let Some(byte) = inner.next() {
        match byte {
            b'\\' if !no_backslash_escapes => match inner.next()? {
                b'0' => found.push(0),
                b'b' => found.push(8),
                b'n' => found.push(b'\n'),
                b'r' => found.push(b'\r'),
                b't' => found.push(b'\t'),
                b'Z' => found.push(26),
                wildcard @ (b'%' | b'_') => found.extend([b'\\', wildcard]),
                other => found.push(other),
            },
            // A quote within is written twice; else another string follows.
            byte if byte == *quote => found.push(inner.next().filter(|next| next == quote)?),
            byte => found.push(byte),
        }
    }
    Some(found)
}

pub(super) fn literal_value(literal: Literal, bytes: &[u8]) -> Option<Value<'_>> {
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
    fn strings_stand_for_their_bytes() {
        let read = |sql: &str, modes| {
            let mut tree = Tree::default();
            let settings = sql::parse::Settings {
                modes,
                ..sql::parse::Settings::of(sql::Dialect::of(b"8.4.3").unwrap())
            };
            tree.read(sql.as_bytes(), &settings).unwrap();
            let (layout, definitions) = (shard::Layout::default(), NoDefinitions);
            let request = Request {
                sql: sql.as_bytes(),
                tree: &tree,
                modes,
                schema: "",
                layout: &layout,
                definitions: &definitions,
                parameters: &[],
                asked: super::super::Asked::default(),
            };
            let literal = tree.walk(tree.root().unwrap()).find_map(|step| match step {
                sql::parse::Step::Enter(id) if tree.kind(id) == Kind::Literal(Literal::Text) => Some(id),
                _ => None,
            });
            unescaped(&request, literal.unwrap()).map(|bytes| String::from_utf8(bytes).unwrap())
        };
        let modes = sql::Modes::default();
        let raw = sql::Modes { no_backslash_escapes: true, ..modes };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(read(r"SELECT 'O''Br\'i\\en\n\%\x'", modes), some("O'Br'i\\en\n\\%x"));
        assert_eq!(read(r"SELECT 'a\b'", raw), some(r"a\b"));
        assert_eq!(read("SELECT \"a'\"\"\"", modes), some("a'\""));
        assert_eq!(read("SELECT 'é'", modes), some("é"));
        for sql in ["SELECT 'a' 'b'", "SELECT _utf8'a'", "SELECT N'a'"] {
            assert_eq!(read(sql, modes), None, "{sql}");
        }
    }

    struct NoDefinitions;

    impl super::super::Definitions for NoDefinitions {
        fn columns(&self, _schema: &str, _table: &str) -> Option<&[super::super::ColumnInfo]> {
            None
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
