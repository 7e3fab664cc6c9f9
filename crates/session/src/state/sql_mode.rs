//! A `sql_mode` that is what it was, with modes added or taken out:
//! `CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')`, `REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY', '')`.
//! Ruby on Rails says such a thing at the beginning of each session. The same may stand in
//! parentheses, or be selected: `(SELECT REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY', ''))`.
//!
//! What comes of it depends on what was set before. So it does not take the place of that, but is
//! said behind it. Modes are a set: to do the same once more changes nothing, and of two such
//! changes that are made in turn the last of each is enough. What begins with the global value does
//! not depend on what was set before.

use sql::lexer::Kind;

use super::words::Words;

/// The variable.
pub(crate) const NAME: &str = "sql_mode";

/// How the keys of such settings begin.
const RELATIVE: &str = "sql_mode ";

/// How deep calls may be nested.
const DEPTH_MAX: u8 = 8;

/// The variable's value in the session.
const OWN: [&str; 3] = ["@@sql_mode", "@@session.sql_mode", "@@local.sql_mode"];

/// The server's value for sessions that begin.
const GLOBAL: &str = "@@global.sql_mode";

/// The key of the setting of the variable to `value`, all of which is such an expression; nothing
/// if it is not.
pub(crate) fn key(value: &Words<'_>) -> Option<String> {
    let words = unwrapped(*value);
    if expression(&words, 0, DEPTH_MAX)? != words.len() {
        return None;
    }
    let is_absolute = (0..words.len()).any(|at| words.is(at, GLOBAL));
    Some(if is_absolute {
        NAME.to_owned()
    } else {
        format!("{RELATIVE}{}", String::from_utf8_lossy(value.source()))
    })
}

/// What is in parentheses, or selected there.
fn unwrapped(mut words: Words<'_>) -> Words<'_> {
    while let Some(last) =
        words.len().checked_sub(1).filter(|last| words.is_sign(0, b'(') && words.is_sign(*last, b')'))
    {
        words = words.part(1 + usize::from(words.is(1, "select"))..last);
    }
    words
}

/// Whether a setting with this key is over when the variable is set to something that does not
/// depend on what it was.
pub(super) fn is_relative(key: &str) -> bool {
    key.starts_with(RELATIVE)
}

/// The place behind the expression at `at`.
fn expression(words: &Words<'_>, at: usize, depth: u8) -> Option<usize> {
    if words.kind(at) == Some(Kind::SystemVariable) {
        let name = words.lower(at);
        return (OWN.contains(&name.as_str()) || name == GLOBAL).then_some(at + 1);
    }
    let depth = depth.checked_sub(1)?;
    if words.is_call(at, "concat") {
        return concatenated(words, at + 2, depth);
    }
    if !words.is_call(at, "replace") {
        return None;
    }
    let at = expression(words, at + 2, depth)?;
    let commas = words.is_sign(at, b',') && words.is_sign(at + 2, b',');
    let taken_out = text(words, at + 1).is_some_and(|text| !text.is_empty());
    let nothing = text(words, at + 3).is_some_and(<[u8]>::is_empty);
    (commas && taken_out && nothing && words.is_sign(at + 4, b')')).then_some(at + 5)
}

/// The place behind the arguments of `CONCAT`, the first of which is at `at`: one is such an
/// expression, the others are texts. Between it and those are commas, so that no two names become
/// one.
fn concatenated(words: &Words<'_>, mut at: usize, depth: u8) -> Option<usize> {
    let (mut is_there, mut may_follow) = (false, true);
    let mut comma_wanted = false;
    loop {
        if let Some(text) = text(words, at) {
            if comma_wanted && !text.starts_with(b",") {
                return None;
            }
            (comma_wanted, may_follow) = (false, text.ends_with(b","));
            at += 1;
        } else if may_follow && !is_there {
            at = expression(words, at, depth)?;
            (is_there, comma_wanted) = (true, true);
        } else {
            return None;
        }
        if words.is_sign(at, b')') {
            return is_there.then_some(at + 1);
        }
        words.is_sign(at, b',').then_some(())?;
        at += 1;
    }
}

/// What is between single quotes at `at`, if it is nothing but names of modes.
fn text<'a>(words: &Words<'a>, at: usize) -> Option<&'a [u8]> {
    let inner = words.bytes(at).strip_prefix(b"'")?.strip_suffix(b"'")?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b' ');
    inner.iter().all(is_plain).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::super::words::whole_tokens;
    use super::*;

    fn is_relative_to_itself(text: &str) -> bool {
        let tokens = whole_tokens(text.as_bytes()).unwrap();
        key(&Words::new(text.as_bytes(), &tokens)).is_some_and(|key| is_relative(&key))
    }

    #[test]
    fn modes_are_added_and_taken_out() {
        for text in [
            "@@sql_mode",
            "CONCAT(@@sql_mode, ',A')",
            "concat(@@SESSION.sql_mode, ',A,B', ',C')",
            "CONCAT(@@sql_mode, ',', 'A')",
            "CONCAT('A,', @@local.sql_mode, ',B')",
            "CONCAT(CONCAT(@@sql_mode, ',A'), ',B')",
            "REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY,', '')",
            "REPLACE(CONCAT(@@sql_mode, ',A'), 'B', '')",
            "(SELECT REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY', ''))",
            "( select ( CONCAT(@@sql_mode, ',A') ) )",
            "(@@sql_mode)",
        ] {
            assert!(is_relative_to_itself(text), "{text}");
        }
    }

    #[test]
    fn what_begins_with_the_global_value_does_not_depend_on_what_was_before() {
        for text in [
            "@@global.sql_mode",
            "CONCAT(@@GLOBAL.sql_mode, ',A')",
            "(SELECT REPLACE(@@global.sql_mode, 'A', ''))",
        ] {
            let tokens = whole_tokens(text.as_bytes()).unwrap();
            assert_eq!(key(&Words::new(text.as_bytes(), &tokens)).as_deref(), Some(NAME), "{text}");
        }
    }

    #[test]
    fn what_may_mean_something_else_elsewhere_is_not_such_a_thing() {
        let deep = format!("{}@@sql_mode{}", "CONCAT(".repeat(1_000), ")".repeat(1_000));
        for text in [
            "'A'",
            "CONCAT(@@global.sql_mode, @@sql_mode)",
            "@@time_zone",
            "@sql_mode",
            "CONCAT(@@sql_mode, 'A')",
            "CONCAT('A', @@sql_mode)",
            "CONCAT(@@sql_mode, @@sql_mode)",
            "CONCAT(@@sql_mode, ',', @@sql_mode)",
            "CONCAT(@@sql_mode, @a)",
            "CONCAT(@@sql_mode, \",A\")",
            "CONCAT(@@sql_mode, ',\\A')",
            "CONCAT(@@sql_mode, ',A'",
            "CONCAT(@@sql_mode ',A')",
            "CONCAT(',A')",
            "CONCAT()",
            "CONCAT(@@sql_mode, ',A') + 1",
            "REPLACE(@@sql_mode, 'A', 'B')",
            "REPLACE(@@sql_mode, '', '')",
            "REPLACE(@@sql_mode, 'A')",
            "(SELECT @@sql_mode FROM t)",
            "(SELECT @@sql_mode",
            "(SELECT @@sql_mode) UNION (SELECT 1)",
            "()",
            "",
            &deep,
        ] {
            assert!(!is_relative_to_itself(text), "{text}");
        }
    }
}
