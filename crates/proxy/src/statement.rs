//! The few statements that the proxy has to understand, because connection ids are in them or in their answers.
//!
//! Everything else goes to the server unread. What is ours is found by its first words, within
//! [`OWN_STATEMENT_BYTES_MAX`](crate::limits::OWN_STATEMENT_BYTES_MAX); whatever cannot be understood here for certain
//! is the server's, which knows its language best.

pub(crate) mod kill;
pub(crate) mod listing;
mod words;

pub(crate) use kill::Kill;

/// A statement whose connection ids are the proxy's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// Kills a session of the proxy.
    Kill(Kill),
    /// Shows ids of connections, in the first column.
    Listing,
}

/// Whether a statement that begins with this byte may be one of ours: a letter of theirs, or the beginning of
/// whitespace or a comment in front of it.
pub(crate) const fn may_be_own(first: u8) -> bool {
    matches!(first, b'K' | b'k' | b'S' | b's' | b'/' | b'-' | b'#' | b'\t'..=b'\r' | b' ')
}

/// What a whole statement is to the proxy; `None` if it is the server's.
pub(crate) fn judge(text: &[u8]) -> Option<Own> {
    match words::first(text)? {
        first if first.eq_ignore_ascii_case(b"KILL") => {
            kill::parse(text).filter(Kill::is_of_a_session).map(Own::Kill)
        }
        _ => listing::is_one(text).then_some(Own::Listing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_ours_begins_like_it() {
        for text in ["KILL 1073741824", "kill 1073741824", "/**/ KILL 1073741824", "\n\tKILL 1073741824"] {
            assert!(may_be_own(text.as_bytes()[0]), "{text}");
            assert!(matches!(judge(text.as_bytes()), Some(Own::Kill(_))), "{text}");
        }
        for text in ["SELECT CONNECTION_ID()", "show processlist", "-- c\nSELECT connection_id()"] {
            assert!(may_be_own(text.as_bytes()[0]), "{text}");
            assert_eq!(judge(text.as_bytes()), Some(Own::Listing), "{text}");
        }
        for text in ["", "SELECT 1", "INSERT INTO t VALUES (1)", "KILL 1073741823", "KILL 2147483648", "KILL"]
        {
            assert_eq!(judge(text.as_bytes()), None, "{text}");
        }
        assert!(!may_be_own(b'I') && !may_be_own(b'(') && !may_be_own(b'U'));
    }
}
