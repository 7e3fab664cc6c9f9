//! Statements that are prepared by name, in text: which one a `PREPARE` names, and which one an
//! `EXECUTE` executes.
//!
//! Names are compared as servers do with letters of ASCII, whatever their case. Servers take other
//! letters for the same with and without accents, and blanks at the end for nothing: who has such
//! names is not followed.

use sql::lexer::Kind;

use super::words::{Words, whole_tokens};
use crate::limits::NAMED_TEXT_MAX;

/// A name, and the statement that it stands for if that is known.
pub(crate) type Named = (Box<[u8]>, Option<Box<[u8]>>);

/// What is executed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Executed {
    /// The statement of this name.
    Name(Box<[u8]>),
    /// This one (MariaDB's `EXECUTE IMMEDIATE`).
    Text(Box<[u8]>),
}

/// What a `PREPARE` prepares; nothing if its name could be that of any other.
pub(crate) fn prepared(text: &[u8]) -> Option<Named> {
    let tokens = whole_tokens(text)?;
    let words = whole(text, &tokens);
    let name = name(&words, 1)?;
    let is_all = words.is(2, "from") && words.len() == 4;
    Some((name, literal(&words, 3).filter(|text| is_all && text.len() <= NAMED_TEXT_MAX)))
}

/// What an `EXECUTE` executes; nothing if it does more than that.
pub(crate) fn executed(text: &[u8]) -> Option<Executed> {
    let tokens = whole_tokens(text)?;
    if tokens.iter().any(|token| token.conditional) {
        return None;
    }
    let words = whole(text, &tokens);
    let (what, behind) = match literal(&words, 2).filter(|_| words.is(1, "immediate")) {
        Some(text) => (Executed::Text(text), 3),
        None => (Executed::Name(name(&words, 1)?), 2),
    };
    let is_value = |kind| matches!(kind, Some(Kind::UserVariable | Kind::Number | Kind::Text));
    let values = words.part(behind + 1..);
    let has_values = words.is(behind, "using")
        && values.split_at_commas().all(|value| value.len() == 1 && is_value(value.kind(0)));
    (words.is(0, "execute") && (words.len() == behind || has_values)).then_some(what)
}

/// The value that an `EXECUTE` gives to its only parameter, as it is written: a user variable or a
/// number.
pub(crate) fn only_value(text: &[u8]) -> Option<Box<[u8]>> {
    let tokens = whole_tokens(text)?;
    let words = whole(text, &tokens);
    let at = words.len().checked_sub(1)?;
    let is_value = matches!(words.kind(at), Some(Kind::UserVariable | Kind::Number));
    (is_value && at > 0 && words.is(at - 1, "using")).then(|| words.bytes(at).into())
}

/// The words of a statement, without what ends it.
fn whole<'a>(text: &'a [u8], tokens: &'a [sql::lexer::Token]) -> Words<'a> {
    let words = Words::new(text, tokens);
    let len = words.len();
    words.part(..len - usize::from(len > 0 && words.is_sign(len - 1, b';')))
}

/// A name that is no other, in lower case.
fn name(words: &Words<'_>, at: usize) -> Option<Box<[u8]>> {
    let bytes = words.bytes(at);
    let inner = match words.kind(at)? {
        Kind::Word => bytes,
        Kind::Name => bytes.strip_prefix(b"`")?.strip_suffix(b"`")?,
        _ => return None,
    };
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    (!inner.is_empty() && inner.iter().all(is_plain)).then(|| inner.to_ascii_lowercase().into())
}

/// What a string says, if that is the same in all modes of a session.
fn literal(words: &Words<'_>, at: usize) -> Option<Box<[u8]>> {
    let bytes = words.bytes(at);
    let (&quote, inner) = bytes.split_first().filter(|_| words.kind(at) == Some(Kind::Text))?;
    let inner = inner.strip_suffix(&[quote]).filter(|inner| !inner.contains(&b'\\'))?;
    let mut text = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        text.push(byte);
        if byte == quote {
            // It stands there twice.
            bytes.next();
        }
    }
    Some(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_prepared() {
        let of = |text: &str| {
            let (name, text) = prepared(text.as_bytes())?;
            let string = |bytes: Box<[u8]>| String::from_utf8(bytes.into()).unwrap();
            Some((string(name), text.map(string)))
        };
        let known = |name: &str, text: &str| Some((name.to_owned(), Some(text.to_owned())));
        assert_eq!(of("PREPARE P FROM 'SELECT ''a'', ?';"), known("p", "SELECT 'a', ?"));
        assert_eq!(of("prepare `One` from \"SELECT 1\""), known("one", "SELECT 1"));
        for text in [
            "PREPARE p FROM @a",
            "PREPARE p FROM 'a\\'b'",
            "PREPARE p FROM CONCAT('a')",
            "PREPARE p FROM _utf8 'a'",
        ] {
            assert_eq!(of(text), Some(("p".to_owned(), None)), "{text}");
        }
        let long = format!("PREPARE p FROM '{}'", "x".repeat(NAMED_TEXT_MAX + 1));
        assert_eq!(of(&long), Some(("p".to_owned(), None)));
        for text in [
            "PREPARE \"p\" FROM 'a'",
            "PREPARE `p ` FROM 'a'",
            "PREPARE \u{e4} FROM 'a'",
            "PREPARE p FROM 'a",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn one_value_is_given() {
        assert_eq!(only_value(b"EXECUTE p USING @a;"), Some(b"@a".as_slice().into()));
        let number = only_value(b"EXECUTE IMMEDIATE 'KILL ?' USING 7");
        assert_eq!(number, Some(b"7".as_slice().into()));
        for text in ["EXECUTE p", "EXECUTE p USING @a, @b", "EXECUTE p USING 'a'", "EXECUTE p USING", ""] {
            assert_eq!(only_value(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_is_executed() {
        let of = |text: &str| executed(text.as_bytes());
        let named = |name: &str| Some(Executed::Name(name.as_bytes().into()));
        assert_eq!(of("EXECUTE P"), named("p"));
        assert_eq!(of("execute `p` using @a, @b;"), named("p"));
        assert_eq!(of("EXECUTE p USING 1, 'x'"), named("p"));
        assert_eq!(of("EXECUTE immediate"), named("immediate"));
        let text = b"SELECT ?".as_slice().into();
        assert_eq!(of("EXECUTE IMMEDIATE 'SELECT ?' USING @a"), Some(Executed::Text(text)));
        for text in [
            "EXECUTE p USING f(1)",
            "EXECUTE p USING @a, -f(1)",
            "EXECUTE p USING",
            "EXECUTE p /*!40101 USING @a */",
            "EXECUTE IMMEDIATE CONCAT('a')",
            "EXECUTE IMMEDIATE @a",
            "EXECUTE \"p\"",
            "EXECUTE",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
