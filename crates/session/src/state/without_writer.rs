//! Statements that need no writer, from their words: what a reader can do in its place, and the
//! plain forms of statements that begin or end a transaction.

use sql::lexer::Kind;

use super::settings::Settings;
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

/// What comes behind the end of a transaction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sequel {
    /// Another transaction begins.
    pub chains: bool,
    /// The session ends.
    pub releases: bool,
}

impl Sequel {
    /// What comes behind this `COMMIT` or `ROLLBACK`, in a session with these settings. `None` if
    /// the text has no form that servers know, or parts that only some of them execute.
    pub fn of(text: &[u8], settings: &Settings) -> Option<Self> {
        let words = plain_words(text)?;
        let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
        let (chains, rest) = match words.strip_prefix(&["work"]).unwrap_or(&words) {
            ["and", "chain", rest @ ..] => (Some(true), rest),
            ["and", "no", "chain", rest @ ..] => (Some(false), rest),
            rest => (None, rest),
        };
        let releases = match rest {
            [] => None,
            ["release"] if chains != Some(true) => Some(true),
            ["no", "release"] => Some(false),
            _ => return None,
        };
        Some(Self {
            chains: chains.unwrap_or_else(|| settings.chains()),
            releases: releases.unwrap_or_else(|| settings.releases()),
        })
    }
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
    let words = plain_words(text)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match *words {
        ["begin"] | ["begin", "work"] | ["start", "transaction"] => Some(Bracket::Begin),
        ["commit" | "rollback"] | ["commit" | "rollback", "work"] => Some(Bracket::End),
        _ => None,
    }
}

/// The words of the one statement in `text`, in lower case. `None` if there is more in it.
fn plain_words(text: &[u8]) -> Option<Vec<String>> {
    let tokens = whole_tokens(text)?;
    let end = tokens.iter().position(|token| token.kind == Kind::Sign(b';')).unwrap_or(tokens.len());
    if tokens.iter().any(|token| token.conditional) || tokens.get(end + 1).is_some() {
        return None;
    }
    let words = Words::new(text, tokens.get(..end)?);
    Some((0..words.len()).map(|at| words.lower(at)).collect())
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
    fn the_text_says_what_comes_behind_the_end_of_a_transaction() {
        let of = |text: &str| Sequel::of(text.as_bytes(), &Settings::default());
        for (text, chains, releases) in [
            ("COMMIT", false, false),
            ("COMMIT WORK AND CHAIN", true, false),
            ("rollback and chain no release;", true, false),
            ("ROLLBACK AND NO CHAIN RELEASE", false, true),
            ("COMMIT RELEASE /* all */", false, true),
        ] {
            assert_eq!(of(text), Some(Sequel { chains, releases }), "{text}");
        }
        for text in ["COMMIT RELEASES", "COMMIT AND CHAIN RELEASE", "COMMIT /*! RELEASE */", "COMMIT; DO 1"] {
            assert_eq!(of(text), None, "{text}");
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
