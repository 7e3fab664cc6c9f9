//! Functions that tell about the statement before, made to say what is known of it: for a session
//! whose statement before ran on another connection.
//!
//! `ROW_COUNT()` becomes `COALESCE(7, ROW_COUNT())`: of all expressions that are 7, the one of the
//! same type, whatever the server.

use std::ops::Range;

use super::marks::has;
use super::words::{MODIFIERS, Words, whole_tokens};

/// How many rows the statement before had.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counted {
    /// `ROW_COUNT()`.
    pub changed: i64,
    /// `FOUND_ROWS()`: as long as that was a `SELECT`, servers agree on it.
    pub found: u64,
}

/// What of it a server cannot know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unknown {
    /// `ROW_COUNT()`.
    pub changed: Option<i64>,
    /// `FOUND_ROWS()`.
    pub found: Option<u64>,
}

/// Words behind what is selected.
const BEHIND: [&str; 14] = [
    "from",
    "into",
    "where",
    "group",
    "having",
    "window",
    "order",
    "limit",
    "union",
    "except",
    "intersect",
    "minus",
    "for",
    "lock",
];

/// Words in front of a last word that is no name for the whole.
const OPERATORS: [&str; 17] = [
    "and", "or", "xor", "not", "is", "in", "like", "rlike", "regexp", "div", "mod", "between", "binary",
    "collate", "interval", "then", "else",
];

/// The statement, in which the functions say what the server does not know; `None` if it does not
/// ask for that. Columns go on being called what they would be called.
pub fn with_numbers(text: &[u8], unknown: Unknown) -> Option<Vec<u8>> {
    let tokens = whole_tokens(text)?;
    let words = Words::new(text, &tokens);
    // What is defined asks later.
    if ["create", "alter"].iter().any(|verb| words.is(0, verb)) && !(1..5).any(|at| words.is(at, "table")) {
        return None;
    }
    let number = |at| match () {
        () if words.is_call(at, "row_count") => unknown.changed.map(|n| n.to_string()),
        () if words.is_call(at, "found_rows") => unknown.found.map(|n| n.to_string()),
        () => None,
    };
    // In a statement behind the first they are about that one.
    let end = (0..words.len()).find(|at| words.is_sign(*at, b';')).unwrap_or(words.len());
    let calls: Vec<(usize, String)> = (0..end).filter_map(|at| Some((at, number(at)?))).collect();
    let mut edits = Vec::new();
    for (at, number) in &calls {
        let (begin, end) = (words.place(*at)?.start, words.place(at + 2)?.end);
        edits.push((begin..begin, format!("COALESCE({number}, ").into_bytes()));
        edits.push((end..end, b")".to_vec()));
    }
    let places: Vec<usize> = calls.iter().map(|(at, _)| *at).collect();
    edited(text, &words, &places, edits)
}

/// The statement, in which `@@socket` is empty: clients would go to the server's own socket, around
/// the proxy. `None` if it does not ask for that.
pub fn without_socket(text: &[u8]) -> Option<Vec<u8>> {
    if !has(text, "socket") {
        return None;
    }
    let tokens = whole_tokens(text)?;
    let words = Words::new(text, &tokens);
    let is_socket = |at: &usize| {
        let name = words.bytes(*at).rsplit(|byte| matches!(byte, b'@' | b'.')).next().unwrap_or_default();
        words.kind(*at) == Some(sql::lexer::Kind::SystemVariable)
            && name.trim_ascii().eq_ignore_ascii_case(b"socket")
    };
    let places: Vec<usize> = (0..words.len()).filter(is_socket).collect();
    let edits = places.iter().filter_map(|at| Some((words.place(*at)?, b"''".to_vec()))).collect();
    edited(text, &words, &places, edits)
}

/// The text with these edits of the tokens at `places`; columns go on being called what they would
/// be called.
fn edited(
    text: &[u8],
    words: &Words<'_>,
    places: &[usize],
    mut edits: Vec<(Range<usize>, Vec<u8>)>,
) -> Option<Vec<u8>> {
    for item in unnamed_items(words) {
        if places.iter().any(|at| item.contains(at)) {
            let name = String::from_utf8_lossy(words.part(item.clone()).source()).replace('`', "``");
            let end = words.place(item.end - 1)?.end;
            edits.push((end..end, format!(" AS `{name}`").into_bytes()));
        }
    }
    // Of what is inserted at one place, the name comes last: it was added last.
    edits.sort_by_key(|(place, _)| place.start);
    let (mut out, mut copied) = (Vec::with_capacity(text.len() + 64), 0);
    for (place, insert) in &edits {
        out.extend_from_slice(text.get(copied..place.start)?);
        out.extend_from_slice(insert);
        copied = place.end;
    }
    out.extend_from_slice(text.get(copied..)?);
    (!places.is_empty()).then_some(out)
}

/// What stands between two parentheses, or outside of all.
#[derive(Default)]
struct Level {
    /// Where the item of a `SELECT` list began, in which the walk is.
    item: Option<usize>,
    /// Whether it has said `AS`.
    is_named: bool,
}

/// The items of all lists of `SELECT`s that have no name of their own.
fn unnamed_items(words: &Words<'_>) -> Vec<Range<usize>> {
    let mut items = Vec::new();
    let mut end = |level: &mut Level, at: usize| {
        let begun = level.item.take().filter(|_| !std::mem::take(&mut level.is_named));
        items.extend(
            begun.map(|begun| begun..at).filter(|item| !item.is_empty() && !ends_in_name(words, item)),
        );
    };
    let (mut above, mut level) = (Vec::new(), Level::default());
    for at in 0..words.len() {
        match () {
            () if words.is_sign(at, b'(') => above.push(std::mem::take(&mut level)),
            () if words.is_sign(at, b')') => {
                end(&mut level, at);
                level = above.pop().unwrap_or_default();
            }
            () if words.is(at, "select") => level = Level { item: Some(at + 1), is_named: false },
            () if level.item.is_none() => {}
            () if words.is_sign(at, b',') => {
                end(&mut level, at);
                level.item = Some(at + 1);
            }
            () if words.is(at, "as") => level.is_named = true,
            () if level.item == Some(at) && MODIFIERS.iter().any(|word| words.is(at, word)) => {
                level.item = Some(at + 1);
            }
            () if words.is_sign(at, b';') || BEHIND.iter().any(|word| words.is(at, word)) => {
                end(&mut level, at);
            }
            () => {}
        }
    }
    end(&mut level, words.len());
    items
}

/// Whether the last word of an item is a name that it was given without `AS`.
fn ends_in_name(words: &Words<'_>, item: &Range<usize>) -> bool {
    use sql::lexer::Kind;
    let Some(last) = item.end.checked_sub(1).filter(|last| *last > item.start) else { return false };
    let is_word =
        matches!(words.kind(last), Some(Kind::Word | Kind::Name | Kind::Text)) && !words.is(last, "end");
    let is_behind_value = match words.kind(last - 1) {
        Some(Kind::Word) => !OPERATORS.iter().any(|word| words.is(last - 1, word)),
        Some(Kind::Sign(sign)) => sign == b')',
        _ => true,
    };
    is_word && is_behind_value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_of_a_server_is_not_told() {
        for (text, expected) in [
            ("SELECT @@socket", "SELECT '' AS `@@socket`"),
            (
                "SELECT @@max_allowed_packet, @@GLOBAL.Socket, @@wait_timeout",
                "SELECT @@max_allowed_packet, '' AS `@@GLOBAL.Socket`, @@wait_timeout",
            ),
            ("SELECT @@socket AS s", "SELECT '' AS s"),
            ("SELECT @@socket; SELECT @@socket s", "SELECT '' AS `@@socket`; SELECT '' s"),
        ] {
            let told = without_socket(text.as_bytes()).map(|text| String::from_utf8(text).unwrap());
            assert_eq!(told.as_deref(), Some(expected), "{text}");
        }
        for text in
            ["SELECT socket FROM t", "SELECT '@@socket'", "SELECT @@performance_schema_max_socket_classes"]
        {
            assert_eq!(without_socket(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn functions_say_what_was_counted() {
        let unknown = Unknown { changed: Some(-1), found: Some(7) };
        let of = |text: &str| match with_numbers(text.as_bytes(), unknown) {
            Some(text) => String::from_utf8(text).unwrap(),
            None => "Other".to_owned(),
        };
        for (text, expected) in [
            ("SELECT ROW_COUNT()", "SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`"),
            ("select found_rows ( ), 1", "select COALESCE(7, found_rows ( )) AS `found_rows ( )`, 1"),
            ("SELECT ROW_COUNT() AS n FROM DUAL;", "SELECT COALESCE(-1, ROW_COUNT()) AS n FROM DUAL;"),
            ("SELECT ROW_COUNT() n", "SELECT COALESCE(-1, ROW_COUNT()) n"),
            ("SELECT ROW_COUNT() `n`, 2", "SELECT COALESCE(-1, ROW_COUNT()) `n`, 2"),
            ("SELECT DISTINCT ROW_COUNT()", "SELECT DISTINCT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`"),
            (
                "SELECT ROW_COUNT() + 1 -- why",
                "SELECT COALESCE(-1, ROW_COUNT()) + 1 AS `ROW_COUNT() + 1` -- why",
            ),
            ("SELECT 1 + ROW_COUNT()", "SELECT 1 + COALESCE(-1, ROW_COUNT()) AS `1 + ROW_COUNT()`"),
            (
                "SELECT CASE WHEN `a``b` THEN ROW_COUNT() END FROM t",
                "SELECT CASE WHEN `a``b` THEN COALESCE(-1, ROW_COUNT()) END AS `CASE WHEN ``a````b`` THEN ROW_COUNT() END` \
                 FROM t",
            ),
            (
                "SELECT CAST(FOUND_ROWS() AS CHAR), (SELECT ROW_COUNT())",
                "SELECT CAST(COALESCE(7, FOUND_ROWS()) AS CHAR) AS `CAST(FOUND_ROWS() AS CHAR)`, \
                 (SELECT COALESCE(-1, ROW_COUNT()) AS `ROW_COUNT()`) AS `(SELECT ROW_COUNT())`",
            ),
            (
                "INSERT INTO t VALUES (ROW_COUNT(), 'row_count()')",
                "INSERT INTO t VALUES (COALESCE(-1, ROW_COUNT()), 'row_count()')",
            ),
            ("SET @a = FOUND_ROWS() + 1", "SET @a = COALESCE(7, FOUND_ROWS()) + 1"),
            (
                "CREATE TABLE t SELECT FOUND_ROWS() AS n",
                "CREATE TABLE t SELECT COALESCE(7, FOUND_ROWS()) AS n",
            ),
            ("SELECT 1; SELECT ROW_COUNT()", "Other"),
            ("CREATE PROCEDURE p() SELECT ROW_COUNT()", "Other"),
            ("SHOW WARNINGS", "Other"),
            ("SELECT @@warning_count", "Other"),
            ("GET DIAGNOSTICS @a = NUMBER", "Other"),
            ("SELECT ROW_COUNT(", "Other"),
            ("SELECT row_count, found_rows FROM t", "Other"),
        ] {
            assert_eq!(of(text), expected);
        }
        let known = Unknown { changed: None, ..unknown };
        let both = with_numbers(b"DO ROW_COUNT(), FOUND_ROWS()", known).unwrap();
        assert_eq!(both, b"DO ROW_COUNT(), COALESCE(7, FOUND_ROWS())");
        assert_eq!(with_numbers(b"DO ROW_COUNT()", known), None);
    }
}
