//! Which routines a text calls.

use super::{is_sign, word};
use crate::lexer;
use crate::shape::functions;
use crate::shape::pieces::Piece;

/// Most routines that one text is followed to.
const CALLED_MAX: usize = 8;

/// Words in front of a parenthesis that are reserved, and no functions; those that are in statements outside of routines are known without.
const RESERVED: [&str; 12] = [
    "while",
    "elseif",
    "return",
    "loop",
    "tinyint",
    "smallint",
    "mediumint",
    "bigint",
    "varchar",
    "char",
    "decimal",
    "enum",
];

/// What is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// By `CALL`.
    Procedure,
    /// In an expression.
    Function,
}

/// A routine that is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// What it is.
    pub kind: Kind,
    /// The schema that is named with it.
    pub schema: Option<String>,
    /// Its name; letters, digits, `_` and `$`.
    pub name: String,
}

/// All that is called; `None` if one has a name that is not plain, or if there are more than [`CALLED_MAX`].
pub(super) fn all(pieces: &[Piece]) -> Option<Vec<Called>> {
    let mut found = Vec::new();
    for at in 0..pieces.len() {
        let called = if word(pieces, at) == "call" && !is_sign(pieces, at + 1, b'(') {
            Some(procedure(pieces, at + 1)?)
        } else if is_sign(pieces, at + 1, b'(') {
            function(pieces, at)?
        } else {
            None
        };
        if let Some(called) = called.filter(|called| !found.contains(called)) {
            found.push(called);
        }
    }
    (found.len() <= CALLED_MAX).then_some(found)
}

/// What the `CALL` in front of `at` calls.
fn procedure(pieces: &[Piece], at: usize) -> Option<Called> {
    let first = plain(pieces, at)?;
    let (schema, name, behind) = if is_sign(pieces, at + 1, b'.') {
        (Some(first), plain(pieces, at + 2)?, at + 3)
    } else {
        (None, first, at + 1)
    };
    let is_whole = behind >= pieces.len() || is_sign(pieces, behind, b'(') || is_sign(pieces, behind, b';');
    is_whole.then_some(Called { kind: Kind::Procedure, schema, name })
}

/// What is in front of the parenthesis behind `at`, if that is a function which is not built in.
#[expect(clippy::option_option, reason = "nothing is called, or nobody knows")]
fn function(pieces: &[Piece], at: usize) -> Option<Option<Called>> {
    let Some(piece) = pieces.get(at) else { return Some(None) };
    let is_member = at > 0 && is_sign(pieces, at - 1, b'.');
    let first = if is_member { at.checked_sub(2)? } else { at };
    let before = first.checked_sub(1).map_or("", |before| word(pieces, before));
    let built_in = |name: &str| {
        RESERVED.contains(&name) || functions::effects(name, !is_sign(pieces, at + 2, b')')).is_some()
    };
    match piece.kind {
        // A table's columns, or a procedure's arguments.
        _ if matches!(before, "into" | "call") => Some(None),
        lexer::Kind::Word if !is_member && built_in(&piece.text) => Some(None),
        lexer::Kind::Word | lexer::Kind::Name => {
            let schema = if is_member { Some(plain(pieces, first)?) } else { None };
            Some(Some(Called { kind: Kind::Function, schema, name: plain(pieces, at)? }))
        }
        // A name, in the mode `ANSI_QUOTES`.
        lexer::Kind::Text => None,
        _ => Some(None),
    }
}

/// The name at `at`, if it can be compared without knowing a collation.
fn plain(pieces: &[Piece], at: usize) -> Option<String> {
    let piece = pieces.get(at).filter(|piece| piece.is_name())?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    (!piece.written.is_empty() && piece.written.bytes().all(is_plain)).then(|| piece.written.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routine::called;

    fn names(statement: &str) -> Option<Vec<String>> {
        let all = called(statement.as_bytes(), lexer::Modes::default())?;
        let name = |called: &Called| {
            let schema = called.schema.as_ref().map_or(String::new(), |schema| format!("{schema}."));
            let arguments = if called.kind == Kind::Function { "()" } else { "" };
            format!("{schema}{}{arguments}", called.name)
        };
        Some(all.iter().map(name).collect())
    }

    fn found(statement: &str) -> String {
        names(statement).map_or("?".to_owned(), |names| names.join(" "))
    }

    #[test]
    fn what_is_called_is_named() {
        for (statement, all) in [
            ("CALL p", "p"),
            ("CALL p('a@b', @@version)", "p"),
            ("SELECT f(@a)", "f()"),
            ("call `p`(1, ?);", "p"),
            ("/* why */ CALL a.p()", "a.p"),
            ("CALL a . `p` (f(1), g(f(2), COUNT(*)))", "a.p f() g()"),
            ("SELECT f(a), `concat`(b), concat(c) FROM t WHERE id IN (1, 2)", "f() concat()"),
            ("SELECT s.f (1)", "s.f()"),
            ("SELECT s.concat(1)", "s.concat()"),
            ("INSERT INTO t (a) VALUES (f(1))", "f()"),
            ("INSERT INTO s.t(a) SELECT f(1) UNION (SELECT 2)", "f()"),
            ("SELECT 1", ""),
            ("SELECT 'f(1)', \"g(2)\"", ""),
        ] {
            assert_eq!(found(statement), all, "{statement}");
        }
    }

    #[test]
    fn what_does_not_tell_is_not_guessed() {
        for statement in [
            "CALL",
            "CALL a.b.c()",
            "CALL p(1, @a)",
            "CALL 'p'()",
            "CALL `p q`()",
            "CALL päpste()",
            "SELECT \"f\"(1)",
            "SELECT s.\"f\"(1)",
            "SELECT `f``g`(1)",
            "SELECT /*!50000 f(1), */ 2",
            "SELECT \"a\\\", f(1), \"",
            "SELECT 'open",
            "SELECT a(1), b(1), c(1), d(1), e(1), f(1), g(1), h(1), i(1)",
        ] {
            assert_eq!(names(statement), None, "{statement}");
        }
    }
}
