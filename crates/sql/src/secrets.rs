//! Passwords in statements, which neither digests nor logs keep.
//!
//! What is a password depends on the grammar, the version and the modes of a server, so nothing
//! here tries to find its ends: behind the word that announces one, nothing is kept. Servers do the
//! same in their own logs, in words of their own.

use std::borrow::Cow;

use crate::bytes::{WORD, is};

/// What stands in the place of what is not kept.
const MARK: &[u8] = b" <secret>";

/// Words that announce a password: `IDENTIFIED BY`, `SET PASSWORD`, `MASTER_PASSWORD =`,
/// `PASSWORD(`.
const WORDS: [&[u8]; 2] = [b"identified", b"password"];

/// Statements about rows, by their first word: `password` is a column there, unless it is called.
const OF_ROWS: [&[u8]; 7] = [b"select", b"insert", b"update", b"delete", b"replace", b"with", b"call"];

/// The text of a statement without what may be a password; the text itself mostly.
pub fn without_passwords(sql: &[u8]) -> Cow<'_, [u8]> {
    match announced(sql) {
        Some(end) if is_given(sql.get(end..).unwrap_or_default()) => {
            Cow::Owned([sql.get(..end).unwrap_or_default(), MARK].concat())
        }
        _ => Cow::Borrowed(sql),
    }
}

/// The message of a server's error about the statement `sql`, without what it may quote of a
/// password.
pub fn message_without_passwords<'a>(message: &'a [u8], sql: &[u8]) -> Cow<'a, [u8]> {
    if matches!(without_passwords(sql), Cow::Borrowed(_)) {
        return Cow::Borrowed(message);
    }
    match message.iter().position(|byte| matches!(byte, b'\'' | b'"' | b'`')) {
        Some(quote) => Cow::Owned([message.get(..quote).unwrap_or_default().trim_ascii_end(), MARK].concat()),
        None => Cow::Borrowed(message),
    }
}

/// Whether a statement has a word that announces a password.
pub(crate) fn may_have_password(sql: &[u8]) -> bool {
    announced(sql).is_some()
}

/// Behind the first word that announces a password.
pub(crate) fn announced(sql: &[u8]) -> Option<usize> {
    let of_rows = OF_ROWS.iter().any(|word| first_word(sql).eq_ignore_ascii_case(word));
    let is_first = |byte: &u8| matches!(byte, b'i' | b'I' | b'p' | b'P');
    let mut at = 0;
    while let Some(found) = sql.get(at..)?.iter().position(is_first) {
        at += found;
        let rest = sql.get(at..)?;
        let announces = |word: &&&[u8]| {
            rest.get(..word.len()).is_some_and(|text| text.eq_ignore_ascii_case(word))
                && !rest.get(word.len()).is_some_and(|next| is(*next, WORD))
                && (!of_rows || is_called(rest.get(word.len()..).unwrap_or_default()))
        };
        if let Some(word) = WORDS.iter().find(announces) {
            return Some(at + word.len());
        }
        at += 1;
    }
    None
}

/// The first word of a statement, also where it stands in a comment that servers execute.
fn first_word(sql: &[u8]) -> &[u8] {
    let start = sql.iter().position(u8::is_ascii_alphabetic).unwrap_or(sql.len());
    let mut rest = sql.get(start..).unwrap_or_default();
    // MariaDB's own comments begin with `/*M!`.
    if let [b'M' | b'm', b'!', behind @ ..] = rest {
        rest = first_letter_of(behind);
    }
    let end = rest.iter().position(|byte| !is(*byte, WORD)).unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

fn first_letter_of(sql: &[u8]) -> &[u8] {
    let start = sql.iter().position(u8::is_ascii_alphabetic).unwrap_or(sql.len());
    sql.get(start..).unwrap_or_default()
}

/// Whether what follows is an argument list.
fn is_called(rest: &[u8]) -> bool {
    rest.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'(')
}

/// Whether a value can follow: there are quotes, or a number in hexadecimal digits.
fn is_given(rest: &[u8]) -> bool {
    rest.iter().any(|byte| matches!(byte, b'\'' | b'"'))
        || rest.windows(2).any(|two| matches!(two, [b'0', b'x' | b'X']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(sql: &str) -> String {
        String::from_utf8(without_passwords(sql.as_bytes()).into_owned()).unwrap()
    }

    #[test]
    fn messages_quote_no_password() {
        let sql = b"ALTER USER a IDENTIFIED BY 'x\\', 'pw'";
        let told = |message: &'static str, sql| {
            String::from_utf8(message_without_passwords(message.as_bytes(), sql).into_owned()).unwrap()
        };
        assert_eq!(told("syntax error near 'pw' at line 1", sql), "syntax error near <secret>");
        assert_eq!(told("Access denied", sql), "Access denied");
        assert_eq!(told("no table 'test.t'", b"SELECT 1"), "no table 'test.t'");
    }

    #[test]
    fn nothing_stays_behind_the_word() {
        for (sql, expected) in [
            ("CREATE USER a IDENTIFIED BY 'pw'", "CREATE USER a IDENTIFIED <secret>"),
            ("ALTER USER a identified with x AS 0x5ec2", "ALTER USER a identified <secret>"),
            ("SET PASSWORD FOR a = PASSWORD('pw')", "SET PASSWORD <secret>"),
            ("CHANGE MASTER TO MASTER_PASSWORD='pw'", "CHANGE MASTER TO MASTER_PASSWORD <secret>"),
            ("/*!50000 ALTER USER a IDENTIFIED BY 'pw' */", "/*!50000 ALTER USER a IDENTIFIED <secret>"),
            ("/*M!100 SET PASSWORD = 'pw' */", "/*M!100 SET PASSWORD <secret>"),
            (
                "PREPARE s FROM \"ALTER USER a IDENTIFIED BY 'pw'\"",
                "PREPARE s FROM \"ALTER USER a IDENTIFIED <secret>",
            ),
            ("SELECT PASSWORD ('pw')", "SELECT PASSWORD <secret>"),
            ("SET PASSWORD = 'a\\', b = 'pw'", "SET PASSWORD <secret>"),
            ("CREATE USER a IDENTIFIED BY 'unclosed", "CREATE USER a IDENTIFIED <secret>"),
        ] {
            assert_eq!(kept(sql), expected);
        }
        for sql in [
            "SELECT 1",
            "SELECT * FROM t WHERE password = 'x'",
            "UPDATE t SET password = 'x', identified = 'y'",
            "SHOW GRANTS FOR passwords@'%'",
            "CREATE TABLE t (password INT)",
            "ALTER USER a PASSWORD EXPIRE",
            "",
            "/*",
        ] {
            assert_eq!(kept(sql), sql);
        }
    }
}
