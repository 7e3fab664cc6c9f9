//! Statements that begin or end transactions, as servers write them into the log.

use crate::xid::Xid;

/// What a statement does to the transaction that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    /// More statements follow, up to an end.
    Begin,
    /// It marks a place in the transaction, or goes back to one. What was changed and rolled back
    /// counts as changed.
    Inside,
    /// The end, be it a rollback: then tables without transactions were changed.
    End,
    /// The commit of this prepared transaction; `None` if its name is not understood.
    XaCommit(Option<Xid>),
    /// The rollback of this prepared transaction.
    XaRollback(Option<Xid>),
    /// Nothing.
    None,
}

/// Bytes of the longest such statement: two parts of an XID in hexadecimal, or the name of a
/// savepoint, and some words.
const LEN_MAX: usize = 512;

impl Control {
    /// Reads a statement.
    pub(super) fn of(text: Option<&[u8]>) -> Self {
        let text = text.unwrap_or_default();
        if text.len() > LEN_MAX {
            return Self::None;
        }
        let behind = |words: &str| {
            let (front, rest) = text.split_at_checked(words.len())?;
            front.eq_ignore_ascii_case(words.as_bytes()).then_some(rest)
        };
        let is = |words| behind(words).is_some_and(<[u8]>::is_empty);
        if is("BEGIN") || is("START TRANSACTION") || behind("XA START ").is_some() {
            Self::Begin
        } else if is("COMMIT") || is("ROLLBACK") {
            Self::End
        } else if let Some(xid) = behind("XA COMMIT ") {
            Self::XaCommit(Xid::parse(xid))
        } else if let Some(xid) = behind("XA ROLLBACK ") {
            Self::XaRollback(Xid::parse(xid))
        } else if ["XA END ", "SAVEPOINT ", "ROLLBACK TO "].iter().any(|words| behind(words).is_some()) {
            Self::Inside
        } else {
            Self::None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_apart() {
        let of = |text: &str| Control::of(Some(text.as_bytes()));
        let xid = Xid::new(1, b"a", b"");
        for (text, control) in [
            ("BEGIN", Control::Begin),
            ("XA START X'61',X'',1", Control::Begin),
            ("COMMIT", Control::End),
            ("ROLLBACK", Control::End),
            ("ROLLBACK TO `a`", Control::Inside),
            ("SAVEPOINT `a`", Control::Inside),
            ("XA END X'61',X'',1", Control::Inside),
            ("XA COMMIT X'61',X'',1", Control::XaCommit(xid)),
            ("XA COMMIT 'a'", Control::XaCommit(None)),
            ("XA ROLLBACK X'61',X'',1", Control::XaRollback(xid)),
            ("BEGIN NOT ATOMIC", Control::None),
            ("COMMIT ALTER 5 ALTER TABLE t ADD a INT", Control::None),
            ("", Control::None),
        ] {
            assert_eq!(of(text), control, "{text}");
        }
        assert_eq!(Control::of(None), Control::None);
    }
}
