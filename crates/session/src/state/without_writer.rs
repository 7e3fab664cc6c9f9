//! Statements that need no writer, from their words: what a reader can do in its place, and the
//! plain forms of statements that begin or end a transaction.

use sql::lexer::Kind;

use super::words::{Words, whole_tokens};

/// What `SHOW` tells that is the same at a writer and at its readers.
const SHOWN_ANYWHERE: &[&str] = &[
    "character",
    "charset",
    "collation",
    "columns",
    "create",
    "databases",
    "engines",
    "fields",
    "index",
    "indexes",
    "keys",
    "schemas",
    "tables",
    "variables",
];

/// Words that may stand between `SHOW` and what it tells.
const SCOPES: &[&str] = &["extended", "full", "global", "local", "session"];

/// A statement that begins or ends a transaction, and does nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bracket {
    /// `BEGIN`, `START TRANSACTION`.
    Begin,
    /// `COMMIT`, `ROLLBACK`: no other transaction begins behind it, and the session goes on.
    End,
}

/// Whether this `SHOW` tells something that does not depend on the server.
pub fn is_shown_anywhere(text: &[u8]) -> bool {
    let Some(tokens) = whole_tokens(text) else { return false };
    let words = Words::new(text, &tokens);
    let told = (1..words.len()).map(|at| words.lower(at)).find(|word| !SCOPES.contains(&word.as_str()));
    words.is(0, "show") && told.is_some_and(|word| SHOWN_ANYWHERE.contains(&word.as_str()))
}

/// The plain statement that begins or ends a transaction, if `text` is one.
pub fn bracket(text: &[u8]) -> Option<Bracket> {
    let tokens = whole_tokens(text)?;
    if tokens.iter().any(|token| token.conditional) {
        return None;
    }
    let end = tokens.iter().position(|token| token.kind == Kind::Sign(b';')).unwrap_or(tokens.len());
    if tokens.get(end + 1).is_some() {
        return None;
    }
    let words = Words::new(text, tokens.get(..end)?);
    let is = |expected: &[&str]| {
        words.len() == expected.len() && expected.iter().enumerate().all(|(at, word)| words.is(at, word))
    };
    let begins: [&[&str]; 3] = [&["begin"], &["begin", "work"], &["start", "transaction"]];
    let ends: [&[&str]; 4] = [&["commit"], &["commit", "work"], &["rollback"], &["rollback", "work"]];
    if begins.into_iter().any(is) {
        Some(Bracket::Begin)
    } else if ends.into_iter().any(is) {
        Some(Bracket::End)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_depends_on_the_server_is_not_shown_anywhere() {
        for text in [
            "SHOW VARIABLES LIKE 'x'",
            "show session variables",
            "/* c */ SHOW GLOBAL VARIABLES",
            "SHOW FULL TABLES",
            "SHOW EXTENDED FULL COLUMNS FROM t",
            "SHOW CREATE TABLE t",
            "SHOW CHARACTER SET",
        ] {
            assert!(is_shown_anywhere(text.as_bytes()), "{text}");
        }
        for text in [
            "SHOW MASTER STATUS",
            "SHOW BINARY LOG STATUS",
            "SHOW PROCESSLIST",
            "SHOW FULL PROCESSLIST",
            "SHOW GLOBAL STATUS",
            "SHOW WARNINGS",
            "SHOW",
            "SHOW 'tables",
            "SELECT 1",
        ] {
            assert!(!is_shown_anywhere(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn only_plain_statements_are_brackets() {
        for text in ["BEGIN", "begin work;", "/* c */ START TRANSACTION", "start transaction -- x"] {
            assert_eq!(bracket(text.as_bytes()), Some(Bracket::Begin), "{text}");
        }
        for text in ["COMMIT", "rollback ; ", "COMMIT WORK"] {
            assert_eq!(bracket(text.as_bytes()), Some(Bracket::End), "{text}");
        }
        for text in [
            "START TRANSACTION READ ONLY",
            "START TRANSACTION READ WRITE",
            "START TRANSACTION WITH CONSISTENT SNAPSHOT",
            "BEGIN; INSERT INTO t VALUES (1)",
            "COMMIT AND CHAIN",
            "ROLLBACK RELEASE",
            "ROLLBACK TO a",
            "BEGIN /*! WORK */",
            "",
            "BEGIN NOT ATOMIC SELECT 1; END",
        ] {
            assert_eq!(bracket(text.as_bytes()), None, "{text}");
        }
    }
}
