//! Whether a text looks like injected SQL, as libinjection sees it.
//!
//! libinjection reads a text as tokens, folds them until at most five are left, and looks the five
//! up in a list of fingerprints that attacks had; it does so with the text as it is and as the rest
//! of a string that is open. It was made for single inputs of web forms. ProxySQL asks it about
//! whole statements, and so do we: many statements of honest applications have fingerprints of
//! attacks.

use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use libinjectionrs::{SqliFlags, SqliState};

/// Bytes of a text that are looked at: what is left of it after folding is decided by its
/// beginning.
pub const LOOKED_AT_BYTES_MAX: usize = 4_096;

/// Dots and backticks in what is looked at. The library looks up each beginning of a word that one
/// of them ends, so without this its time would grow with the square of a word's length.
pub const LOOKED_AT_DOTS_MAX: usize = 256;

/// What libinjection calls a kind of statements or inputs: a letter or sign for each of its tokens,
/// such as `s&1os` or `Enknk`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; TOKENS_MAX]);

/// Tokens of the longest fingerprint.
const TOKENS_MAX: usize = 5;

/// What is known of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// It has no fingerprint of an attack.
    Harmless,
    /// It has this one.
    Injected(Fingerprint),
    /// Nothing: the library has failed.
    Failed,
}

impl Fingerprint {
    /// The fingerprint that is written so; nothing if `text` is too long for one.
    pub fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; TOKENS_MAX];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self(bytes))
    }

    /// How it is written.
    pub fn as_str(&self) -> &str {
        let written = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        std::str::from_utf8(written).unwrap_or_default()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

/// Looks at a statement.
pub fn look(text: &[u8]) -> Look {
    let text = shouted(looked_at(text));
    guarded(|| {
        // Without flags it does what `libinjection_is_sqli` does, which minds none that it was
        // given: ANSI first, and MySQL where comments may mean something else there.
        let mut state = SqliState::new(&text, SqliFlags::FLAG_NONE);
        let is_injected = state.detect();
        // None in its list is longer.
        state.fingerprint.first_chunk().filter(|_| is_injected).map(|bytes| Fingerprint(*bytes))
    })
}

/// What `find` has found. It is third-party code that reads bytes from the network and indexes into
/// them. No text is known that makes it panic. If there is one, it must not end the thread with all
/// its sessions. Such a text counts as harmless: the rights on the server still hold, and a
/// statement of an honest application must not end its connection. The operator finds it in the
/// log.
fn guarded(find: impl FnOnce() -> Option<Fingerprint>) -> Look {
    // Nothing that lives on was touched when it panicked.
    match catch_unwind(AssertUnwindSafe(find)) {
        Ok(None) => Look::Harmless,
        Ok(Some(fingerprint)) => Look::Injected(fingerprint),
        Err(_) => Look::Failed,
    }
}

/// The beginning of a text that is looked at.
fn looked_at(text: &[u8]) -> &[u8] {
    let text = text.get(..LOOKED_AT_BYTES_MAX).unwrap_or(text);
    let mut dots = text.iter().enumerate().filter(|(_, byte)| matches!(byte, b'.' | b'`'));
    let end = dots.nth(LOOKED_AT_DOTS_MAX).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// The text with its `into` in capital letters: only so does the library see `INTO OUTFILE` behind
/// a string, which the original sees however it is written.
fn shouted(text: &[u8]) -> Cow<'_, [u8]> {
    const WORD: &[u8] = b"INTO";
    let is_meek = |word: &[u8]| word.eq_ignore_ascii_case(WORD) && word != WORD;
    let mut text = Cow::Borrowed(text);
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.windows(WORD.len()).position(is_meek)) {
        from += at + WORD.len();
        if let Some(word) = text.to_mut().get_mut(from - WORD.len()..from) {
            word.make_ascii_uppercase();
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(text: &str) -> Option<String> {
        match look(text.as_bytes()) {
            Look::Injected(fingerprint) => Some(fingerprint.to_string()),
            other => {
                assert_eq!(other, Look::Harmless, "{text}");
                None
            }
        }
    }

    /// What is put into a form in the place of a number or a name.
    #[test]
    fn inputs_that_are_injected_sql_are_found() {
        for (input, wanted) in [
            ("' OR '1'='1", "s&sos"),
            ("1 OR 1=1", "1&1"),
            ("1' UNION SELECT user, password FROM mysql.user -- ", "sUEnk"),
            ("1; DROP TABLE users", "1;Tnn"),
            ("-1' and 1=1 union/* foo */select load_file('/etc/passwd')--", "s&1UE"),
            ("1 /*!UNION*/ SELECT 1", "X"),
            ("1' into outfile '/var/www/x.php", "sks"),
            ("1' Into Dumpfile '/var/www/x.php", "sks"),
            // As told by people who use the original.
            ("Select count(*) from Monitor", "Ef(o)"),
            ("Select * from Monitor where ID = 182517", "Eoknk"),
        ] {
            assert_eq!(fingerprint(input).as_deref(), Some(wanted), "{input}");
        }
        for input in ["", "42", "O'Reilly", "rock and roll", "it's 5 o'clock", "a@example.com"] {
            assert_eq!(fingerprint(input), None, "{input}");
        }
    }

    /// It was not made for these: what is plain, and what is not, are taken for one another.
    #[test]
    fn whole_statements_are_judged_by_their_first_five_tokens() {
        for sql in [
            "SELECT c FROM sbtest1 WHERE id = 4711",
            "SELECT c FROM sbtest1 WHERE id = 4711 OR 1 = 1",
            "SELECT c FROM sbtest1 WHERE id = 4711 UNION SELECT password FROM users",
        ] {
            assert_eq!(fingerprint(sql).as_deref(), Some("Enknk"), "{sql}");
        }
        for sql in ["SELECT 1", "COMMIT", "SET NAMES utf8mb4", "INSERT INTO t (a, b) VALUES (1, 'x')"] {
            assert_eq!(fingerprint(sql), None, "{sql}");
        }
    }

    #[test]
    fn fingerprints_are_written_as_they_are_read() {
        for text in ["X", "s&1os", "E(1)k"] {
            assert_eq!(Fingerprint::new(text).unwrap().as_str(), text);
        }
        assert_ne!(Fingerprint::new("s"), Fingerprint::new("S"));
        assert_eq!(Fingerprint::new("s&1os1o1s"), None);
    }

    #[test]
    fn a_library_that_panics_is_no_reason_to_end() {
        assert_eq!(guarded(|| panic!("as some text might have it")), Look::Failed);
    }

    #[test]
    fn into_is_shouted_and_nothing_else_changes() {
        for (text, wanted) in [
            ("", ""),
            ("int", "int"),
            ("INSERT INTO t", "INSERT INTO t"),
            ("intointo x Into", "INTOINTO x INTO"),
        ] {
            assert_eq!(shouted(text.as_bytes()), wanted.as_bytes());
        }
        assert!(matches!(shouted(b"INSERT INTO t"), Cow::Borrowed(_)));
    }

    #[test]
    fn what_is_looked_at_has_an_end() {
        let dots = "a.".repeat(LOOKED_AT_BYTES_MAX);
        assert_eq!(looked_at(dots.as_bytes()).len(), 2 * LOOKED_AT_DOTS_MAX + 1);
        assert_eq!(looked_at(&[b'a'; 2 * LOOKED_AT_BYTES_MAX]).len(), LOOKED_AT_BYTES_MAX);
        assert_eq!(looked_at(b"SELECT t.a"), b"SELECT t.a");
        let long = format!("1 OR 1=1 {}", "x".repeat(1 << 20));
        assert_eq!(fingerprint(&long), fingerprint(&long[..LOOKED_AT_BYTES_MAX]));
    }
}
