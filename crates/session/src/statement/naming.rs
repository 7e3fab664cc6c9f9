//! Statements that name sessions to the server: with a connection id as a literal, for a table of
//! the server's threads.
//!
//! A client knows its session by the proxy's id, which no server has ever heard of:
//! `SELECT ... FROM information_schema.processlist WHERE id = 1073741837` would find nothing. So
//! the id is replaced by that of the session's thread at the server that gets the statement.
//! A client that writes such numbers into a table of its own finds them unchanged: only statements
//! that read are looked at, and only those that speak of such a table.
//!
//! A `KILL` keeps its ids, in every form. When the server reads it, the thread may already serve
//! another session; a server that gets the proxy's id kills nothing.

use super::words::{Word, Words};
use crate::limits::{FIRST_CONNECTION_ID, LAST_CONNECTION_ID};

/// Digits of every id that the proxy gives, the first of which is 1 or 2.
const DIGITS: usize = 10;

const _: () = assert!(
    FIRST_CONNECTION_ID >= 10_u32.pow(9) && LAST_CONNECTION_ID > FIRST_CONNECTION_ID,
    "an id has ten digits"
);

/// Schemas, tables and functions that show threads of the server. Of the unqualified tables only
/// those whose name says so.
const PLACES: [&str; 6] =
    ["information_schema", "performance_schema", "sys", "processlist", "innodb_trx", "is_used_lock"];

/// Whether the whole text of a statement has an id in it. This is what statements pay that have
/// none: a look at every tenth byte, which no ten digits in a row can stand between.
pub fn has_id(text: &[u8]) -> bool {
    text.chunks_exact(DIGITS).enumerate().any(|(n, chunk)| {
        chunk.last().is_some_and(u8::is_ascii_digit) && id_around(text, n * DIGITS + DIGITS - 1).is_some()
    })
}

/// Whether a text that is not complete may turn out to be one of these statements.
pub(super) const fn may_become_one(text: &[u8]) -> bool {
    match text {
        [] => true,
        [first, ..] => matches!(
            first.to_ascii_uppercase(),
            b'S' | b'W' | b'(' | b'E' | b'/' | b'-' | b'#' | b'\t'..=b'\r' | b' '
        ),
    }
}

/// Whether it is one of these, and has an id in it.
pub fn is_one(text: &[u8]) -> bool {
    has_id(text) && speaks_of_threads(text)
}

/// The statement with other numbers in place of ids, if it is one of these and has ids that
/// `translate` knows.
pub fn translated(text: &[u8], translate: impl Fn(u32) -> Option<u32>) -> Option<Vec<u8>> {
    if !is_one(text) {
        return None;
    }
    let (mut out, mut done) = (Vec::new(), 0);
    for at in (DIGITS - 1..text.len()).step_by(DIGITS) {
        let Some((start, id)) = id_around(text, at) else { continue };
        let Some(thread) = translate(id) else { continue };
        out.extend_from_slice(text.get(done..start)?);
        out.extend_from_slice(thread.to_string().as_bytes());
        done = start + DIGITS;
    }
    out.extend_from_slice(text.get(done..)?);
    (done > 0).then_some(out)
}

/// The id that the byte at `at` is a digit of, and where it begins. Digits in a row with something
/// else are no id.
fn id_around(text: &[u8], at: usize) -> Option<(usize, u32)> {
    let (before, behind) = text.split_at_checked(at)?;
    let ahead = behind.iter().take(DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
    let back = before.iter().rev().take(DIGITS + 1).take_while(|byte| byte.is_ascii_digit()).count();
    if ahead == 0 || ahead + back != DIGITS {
        return None;
    }
    let start = at - back;
    let continues = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | 0x80..);
    let is_part = start.checked_sub(1).and_then(|before| text.get(before)).is_some_and(continues)
        || text.get(start + DIGITS).is_some_and(continues);
    let id = std::str::from_utf8(text.get(start..start + DIGITS)?).ok()?.parse().ok()?;
    (!is_part && (FIRST_CONNECTION_ID..=LAST_CONNECTION_ID).contains(&id)).then_some((start, id))
}

/// Whether numbers in the statement may be ids of threads: it reads, and speaks of a table of
/// theirs, or it asks for the plan of another session's statement. The word `KILL` rules that out
/// wherever it stands: what is behind a `;` or in a string may be carried out.
fn speaks_of_threads(text: &[u8]) -> bool {
    let mut words = Words::new(text).filter_map(|word| match word {
        Word::Name(name) => Some(name),
        Word::Sign(_) => None,
    });
    let is =
        |name: &[u8], words: &[&str]| words.iter().any(|word| name.eq_ignore_ascii_case(word.as_bytes()));
    let wanted: &[&str] = match words.next() {
        Some(first) if is(first, &["SELECT", "WITH"]) => &PLACES,
        Some(first) if is(first, &["SHOW", "EXPLAIN"]) => &["for"],
        _ => return false,
    };
    let mut speaks = false;
    for name in words {
        if is(name, &["kill"]) {
            return false;
        }
        speaks |= is(name, wanted);
    }
    speaks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn translate(id: u32) -> Option<u32> {
        (id < FIRST_CONNECTION_ID + 100).then(|| id - FIRST_CONNECTION_ID)
    }

    fn translated(text: &str) -> Option<String> {
        super::translated(text.as_bytes(), translate).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn ids_become_the_servers_where_a_statement_speaks_of_threads() {
        for (text, expected) in [
            (
                "SELECT info FROM information_schema.processlist WHERE id = 1073741837",
                "SELECT info FROM information_schema.processlist WHERE id = 13",
            ),
            (
                "select 1 from Information_schema.INNODB_TRX\nwhere trx_mysql_thread_id=1073741824;",
                "select 1 from Information_schema.INNODB_TRX\nwhere trx_mysql_thread_id=0;",
            ),
            (
                "(SELECT * FROM sys.processlist WHERE conn_id IN (1073741830,1073741831,2073741831))",
                "(SELECT * FROM sys.processlist WHERE conn_id IN (6,7,2073741831))",
            ),
            (
                "/* c */ SELECT * FROM `performance_schema`.threads WHERE processlist_id = '1073741825'",
                "/* c */ SELECT * FROM `performance_schema`.threads WHERE processlist_id = '1'",
            ),
            (
                "WITH p AS (SELECT * FROM PROCESSLIST) SELECT * FROM p WHERE 1073741826 = id",
                "WITH p AS (SELECT * FROM PROCESSLIST) SELECT * FROM p WHERE 2 = id",
            ),
            ("SELECT IS_USED_LOCK('a') = 1073741829", "SELECT IS_USED_LOCK('a') = 5"),
            ("SHOW EXPLAIN FOR 1073741829", "SHOW EXPLAIN FOR 5"),
            ("EXPLAIN FORMAT=JSON FOR CONNECTION 1073741829", "EXPLAIN FORMAT=JSON FOR CONNECTION 5"),
        ] {
            assert_eq!(translated(text).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_kill_keeps_its_id() {
        for text in [
            "KILL 1073741829",
            "KILL (1073741829)",
            "KILL 1073741829 + 0",
            "KILL QUERY (1073741829)",
            "KILL 1073741829; SELECT 1",
            "PREPARE s FROM 'KILL 1073741829'",
            "EXECUTE s USING 1073741829 /* kill */",
            "EXECUTE IMMEDIATE 'KILL 1073741829'",
            "EXECUTE IMMEDIATE CONCAT('KILL ', 1073741829)",
            "SELECT 1 FROM information_schema.processlist WHERE id = 1073741829; KILL 1073741829",
            "SHOW EXPLAIN FOR 1073741829; KILL 1073741829",
            "/*!50000 KILL */ 1073741829",
            "BEGIN NOT ATOMIC KILL 1073741829; END",
        ] {
            assert_eq!(translated(text), None, "{text}");
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for text in [
            "SELECT * FROM sessions WHERE id = 1073741837",
            "INSERT INTO log SELECT 1073741837 FROM information_schema.processlist",
            "INSERT INTO log VALUES ('KILL', 1073741837)",
            "UPDATE sessions SET id = 1073741837 WHERE note = 'information_schema'",
            "SELECT * FROM information_schema.processlist WHERE id = 7",
            "SELECT * FROM information_schema.processlist WHERE id = 10737418370",
            "SELECT * FROM information_schema.processlist WHERE id = 1073741837.5",
            "SELECT * FROM information_schema.processlist WHERE id = 0.1073741837",
            "SELECT * FROM information_schema.processlist WHERE id = 0x1073741837",
            "SELECT x1073741837 FROM information_schema.processlist",
            "SELECT * FROM information_schema.processlist WHERE id = 1073741823",
            "SELECT * FROM information_schema.processlist WHERE id = 2147483647",
            "SELECT * FROM information_schema.processlist WHERE id = 2147483648",
            "SHOW TABLES LIKE '1073741837'",
            "1073741837",
            "",
        ] {
            assert_eq!(translated(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn an_id_is_found_wherever_it_stands(before in "[a-z ]{0,30} ", behind in "(| [a-z ]{0,30})", n in 0..100_u32) {
            let text = format!("SELECT {before}{} FROM processlist{behind}", FIRST_CONNECTION_ID + n);
            let expected = format!("SELECT {before}{n} FROM processlist{behind}");
            prop_assert_eq!(translated(&text), Some(expected));
        }

        #[test]
        fn any_bytes_are_no_harm(text: Vec<u8>, digits in "[0-9]{0,12}") {
            let text = [b"SELECT sys ", &text[..], digits.as_bytes(), &text].concat();
            let same = super::translated(&text, Some);
            prop_assert!(same.is_none_or(|same| same == text));
        }

        #[test]
        fn what_is_one_may_become_one(text in "[ \t#/(-]{0,3}(SELECT|with|show|explain) .{0,20}") {
            prop_assert!((0..=text.len()).all(|len| may_become_one(&text.as_bytes()[..len])));
        }
    }
}
