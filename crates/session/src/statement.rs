//! The few statements that the proxy has to understand, because connection ids are in them or in
//! their answers.
//!
//! Everything else goes to the server unread. What is ours is found by its first words, within
//! [`OWN_STATEMENT_BYTES_MAX`](crate::limits::OWN_STATEMENT_BYTES_MAX); whatever cannot be
//! understood here for certain is the server's, which knows its language best.

pub mod ask;
pub mod kill;
pub mod naming;
pub mod set_use;
mod words;

pub use ask::Ask;
pub use kill::Kill;

use crate::state::ids;

/// A statement that the proxy does not simply forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Own {
    /// Kills a session of the proxy.
    Kill(Kill),
    /// The same, with other statements behind it.
    KillAndMore,
    /// Kills the session that says it, whose id is missing here.
    KillOwn(Kill),
    /// Kills what a user variable names.
    KillByVariable,
    /// Executes a prepared `KILL`, which is put in its place as text.
    KillExecuted,
    /// Asks the proxy where statements go.
    Ask(Ask),
    /// Has ids of sessions in it, in whose place the server needs its own.
    Naming,
    /// Lists the server's threads, to which come the sessions that have none.
    Processes {
        /// Whether statements are shown as far as they are known.
        is_full: bool,
    },
}

/// Whether a statement may be one of ours. This is all that most statements cost.
pub fn may_be_own(text: &[u8]) -> bool {
    begins_like_own(text) || naming::has_id(text)
}

/// Whether a statement of which this is only the beginning may be one of ours.
pub const fn may_become_own(beginning: &[u8]) -> bool {
    begins_like_own(beginning) || naming::may_become_one(beginning)
}

/// Whether a statement of which this is the beginning may ask where a statement goes, which may be
/// a long one.
pub const fn begins_like_explain(text: &[u8]) -> bool {
    matches!(text, [b'E' | b'e', b'X' | b'x', b'P' | b'p', ..])
}

/// Whether the first bytes are those of a KILL, or of a statement that asks the proxy.
const fn begins_like_own(text: &[u8]) -> bool {
    match text {
        // SET, and not SELECT.
        [b'S' | b's', b'E' | b'e', third, ..] => matches!(third, b'T' | b't'),
        [b'S' | b's', second, ..] => matches!(second, b'E' | b'e' | b'H' | b'h'),
        // EXPLAIN, and not EXECUTE.
        [b'E' | b'e', b'X' | b'x', third, ..] => matches!(third, b'P' | b'p'),
        // PROXYSQL, and not PREPARE.
        [b'P' | b'p', b'R' | b'r', third, ..] => matches!(third, b'O' | b'o'),
        // Whitespace or a comment may come first.
        [b'E' | b'e' | b'P' | b'p']
        | [b'E' | b'e', b'X' | b'x']
        | [b'P' | b'p', b'R' | b'r']
        | [b'K' | b'k' | b'S' | b's' | b'/' | b'-' | b'#' | b'\t'..=b'\r' | b' ', ..] => true,
        _ => false,
    }
}

/// What a whole statement is to the proxy; `None` if it is the server's. Whether it [names
/// sessions](Own::Naming) only those know who know the sessions.
pub fn judge(text: &[u8]) -> Option<Own> {
    match words::first(text)? {
        first if first.eq_ignore_ascii_case(b"KILL") => kill_of(text),
        _ => match ids::process_list(text) {
            Some(is_full) => Some(Own::Processes { is_full }),
            None => ask::parse(text).map(Own::Ask),
        },
    }
}

/// What a `KILL` is to the proxy.
fn kill_of(text: &[u8]) -> Option<Own> {
    if let Some((form, _)) = kill::in_front(text) {
        return form.of_a_session().map(|_| Own::KillAndMore);
    }
    let form = kill::parse(text)?;
    match form.target {
        kill::Target::Id(_) => form.of_a_session().map(Own::Kill),
        kill::Target::Variable(_) => Some(Own::KillByVariable),
        kill::Target::Own => Some(Own::KillOwn(form.with(0))),
        kill::Target::Parameter => None,
    }
}

/// What a statement does to an XA transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Xa {
    /// It begins one.
    Begins,
    /// It ends one.
    Ends,
}

/// Whether a statement begins or ends an XA transaction.
pub fn xa(text: &[u8]) -> Option<Xa> {
    let mut words = words::Words::new(text);
    if !words.keyword("XA") {
        return None;
    }
    if words.keyword("START") || words.keyword("BEGIN") {
        return Some(Xa::Begins);
    }
    (words.keyword("COMMIT") || words.keyword("ROLLBACK")).then_some(Xa::Ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xa_transactions_begin_and_end() {
        for (text, what) in [
            ("XA START 'a'", Some(Xa::Begins)),
            ("xa begin 'a','b'", Some(Xa::Begins)),
            ("/* c */ XA COMMIT 'a' ONE PHASE", Some(Xa::Ends)),
            ("xa rollback 'a'", Some(Xa::Ends)),
            ("XA PREPARE 'a'", None),
            ("XA RECOVER", None),
            ("XA", None),
            ("SELECT xa", None),
        ] {
            assert_eq!(xa(text.as_bytes()), what, "{text}");
        }
    }

    #[test]
    fn a_session_may_kill_itself() {
        for text in ["KILL CONNECTION_ID()", "kill connection connection_id ( ) ;"] {
            let own = judge(text.as_bytes());
            assert!(matches!(own, Some(Own::KillOwn(kill)) if kill.what == kill::What::Connection), "{text}");
        }
        let query = judge(b"KILL QUERY CONNECTION_ID()");
        assert!(matches!(query, Some(Own::KillOwn(kill)) if kill.what == kill::What::Query));
        for text in ["KILL CONNECTION_ID", "KILL CONNECTION_ID() + 1", "KILL CONNECTION_ID(1)"] {
            assert_eq!(judge(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_is_ours_begins_like_it() {
        for text in ["KILL 1073741824", "kill 1073741824", "/**/ KILL 1073741824", "\n\tKILL 1073741824"] {
            assert!(may_be_own(text.as_bytes()), "{text}");
            assert!(matches!(judge(text.as_bytes()), Some(Own::Kill(_))), "{text}");
        }
        for text in [
            "",
            "SELECT 1",
            "INSERT INTO t VALUES (1)",
            "KILL 1073741823",
            "KILL 2147483648",
            "KILL",
            "KILL ?",
        ] {
            assert_eq!(judge(text.as_bytes()), None, "{text}");
        }
        for text in ["SELECT c FROM t", "INSERT INTO t", "(SELECT 1)", "UPDATE t", "PREPARE s", ""] {
            assert!(!may_be_own(text.as_bytes()), "{text}");
        }
        for text in ["INSERT INTO t", "UPDATE t", "BEGIN", "CALL p"] {
            assert!(!may_become_own(text.as_bytes()), "{text}");
        }
        // However much of it has come.
        for text in
            ["KILL 1073741824", "Explain Route x", "SET pointsman_trace=1", "Proxysql internal session"]
        {
            assert!((0..text.len()).all(|len| may_become_own(&text.as_bytes()[..len])), "{text}");
        }
    }
}
