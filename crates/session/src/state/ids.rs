//! Columns of a result that show ids of the server's threads, as far as the words of the statement
//! tell: `CONNECTION_ID()` and `IS_USED_LOCK()` under any alias, and the list of processes.

use sql::lexer::Kind;

use super::marks::has;
use super::words::{MODIFIERS, Words, tokens, whole_tokens};

/// Columns that a set of them has room for. A statement with more shows ids of threads in the rest.
const COLUMNS_MAX: usize = 64;

/// Functions whose result is the id of a thread.
const FUNCTIONS: [&str; 2] = ["connection_id", "is_used_lock"];

/// Parts of the names of tables that show threads, and of their schema.
const TABLES: [&str; 5] = ["processlist", "performance_schema", "innodb_trx", "sys.", "`sys`"];

/// Words that end a select list.
const BEHIND_LIST: [&str; 12] = [
    "from", "where", "group", "having", "window", "order", "limit", "offset", "fetch", "for", "lock", "into",
];

/// Words with which the rows are not those of the select list, or go elsewhere.
const OTHER_ROWS: [&str; 6] = ["union", "except", "intersect", "minus", "into", "procedure"];

/// What of a result is the id of a thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ids {
    /// Columns that are, whatever their definitions say: bit n for column n.
    pub columns: u64,
    /// Other columns may be, by their definitions.
    pub by_definition: bool,
}

impl Ids {
    /// The first column: `SHOW PROCESSLIST`, `COM_PROCESS_INFO`.
    pub const FIRST: Self = Self { columns: 1, by_definition: false };

    /// What there is of them in rows whose columns are not defined: the first column can be told.
    pub fn without_definitions(self) -> Option<Self> {
        (self.columns & 1 != 0).then_some(Self::FIRST)
    }
}

/// What a single statement tells of threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Told {
    /// The columns that show them.
    pub ids: Option<Ids>,
    /// It calls `CONNECTION_ID()` other than as a column: its server's number goes on unseen.
    pub is_hidden: bool,
}

/// What `text`, a single statement, tells of threads.
pub fn told(text: &[u8]) -> Told {
    let calls = FUNCTIONS.iter().any(|name| has(text, name));
    let by_definition = TABLES.iter().any(|name| has(text, name));
    if !calls && !by_definition {
        return Told::default();
    }
    let all = tokens(text);
    let words = Words::new(text, &all);
    let is_plain = whole_tokens(text).is_some() && !all.iter().any(|token| token.conditional);
    if is_plain && is_process_list(&words) {
        return Told { ids: Some(Ids::FIRST), is_hidden: false };
    }
    let (columns, numbers) = if is_plain && calls { columns(&words) } else { (0, 0) };
    let ids = Ids { columns, by_definition };
    Told { ids: (ids != Ids::default()).then_some(ids), is_hidden: numbers_in(&words) > numbers }
}

/// Whether `text` is `SHOW [FULL] PROCESSLIST` and nothing else; if so, whether it is `FULL`.
pub(crate) fn process_list(text: &[u8]) -> Option<bool> {
    if !has(text, TABLES[0]) {
        return None;
    }
    let all = tokens(text);
    let words = Words::new(text, &all);
    let is_plain = whole_tokens(text).is_some() && !all.iter().any(|token| token.conditional);
    (is_plain && is_process_list(&words)).then(|| words.is(1, "full"))
}

/// Whether it is `SHOW [FULL] PROCESSLIST`.
fn is_process_list(words: &Words<'_>) -> bool {
    let at = 1 + usize::from(words.is(1, "full"));
    words.is(0, "show") && words.is(at, "processlist") && is_end(words, at + 1)
}

/// Whether nothing is here but the end of the statement.
fn is_end(words: &Words<'_>, at: usize) -> bool {
    (at..words.len()).all(|at| words.is_sign(at, b';'))
}

/// The columns of a `SELECT` that are a call of one of the functions, up to one that stands for
/// several; and how many of them are the number of the session's own connection.
fn columns(words: &Words<'_>) -> (u64, usize) {
    if !words.is(0, "select") || (1..words.len()).any(|at| is_outermost(words, at, &OTHER_ROWS)) {
        return (0, 0);
    }
    let is_behind = |at: &usize| is_outermost(words, *at, &BEHIND_LIST) || is_end(words, *at);
    let end = (1..words.len()).find(is_behind).unwrap_or(words.len());
    let begin = (1..end).find(|at| !MODIFIERS.iter().any(|word| words.is(*at, word))).unwrap_or(end);
    let (mut columns, mut numbers) = (0, 0);
    for (n, item) in words.part(begin..end).split_at_commas().take(COLUMNS_MAX).enumerate() {
        if item.is_sign(item.len().saturating_sub(1), b'*') {
            break;
        }
        if is_call_of_one(&item) {
            columns |= 1 << n;
            numbers += numbers_in(&item);
        }
    }
    (columns, numbers)
}

/// Whether it is a call of one of the functions, and at most an alias behind it.
fn is_call_of_one(item: &Words<'_>) -> bool {
    let Some(behind) = FUNCTIONS.iter().find(|name| item.is_call(0, name)).and_then(|_| behind_call(item))
    else {
        return false;
    };
    let name = behind + usize::from(item.is(behind, "as"));
    let is_name = matches!(item.kind(name), Some(Kind::Word | Kind::Name | Kind::Text));
    item.len() == behind || is_name && item.len() == name + 1
}

/// The place behind the parenthesis that closes the one at place 1.
fn behind_call(item: &Words<'_>) -> Option<usize> {
    let mut depth = 0_usize;
    (1..item.len())
        .find(|at| {
            depth += usize::from(item.is_sign(*at, b'('));
            depth -= usize::from(item.is_sign(*at, b')')).min(depth);
            depth == 0
        })
        .map(|at| at + 1)
}

/// Whether one of these words is here, in no parentheses, and no part of a longer name.
fn is_outermost(words: &Words<'_>, at: usize, of: &[&str]) -> bool {
    let is_it = words.kind(at) == Some(Kind::Word) && of.iter().any(|word| words.is(at, word));
    is_it && !words.is_sign(at - 1, b'.') && {
        let opened = (0..at).filter(|at| words.is_sign(*at, b'(')).count();
        opened == (0..at).filter(|at| words.is_sign(*at, b')')).count()
    }
}

/// How often it calls `CONNECTION_ID()`.
fn numbers_in(words: &Words<'_>) -> usize {
    (0..words.len()).filter(|at| words.is_call(*at, FUNCTIONS[0])).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> (u64, bool, bool) {
        let Told { ids, is_hidden } = told(text.as_bytes());
        let ids = ids.unwrap_or_default();
        (ids.columns, ids.by_definition, is_hidden)
    }

    #[test]
    fn calls_are_found_under_any_alias() {
        for (text, columns) in [
            ("SELECT CONNECTION_ID()", 1),
            ("select /* gh-ost */ connection_id()", 1),
            ("select\n connection_id ( ) ;", 1),
            ("SELECT CONNECTION_ID() AS id", 1),
            ("SELECT CONNECTION_ID() id, 1", 1),
            ("SELECT CONNECTION_ID() 'my id' FROM DUAL", 1),
            ("SELECT DISTINCT SQL_NO_CACHE CONNECTION_ID() AS `from` FROM t", 1),
            ("SELECT VERSION(), CONNECTION_ID(), IS_USED_LOCK(CONCAT('a', ?)) AS l", 0b110),
            ("SELECT (SELECT a FROM t), CONNECTION_ID() FROM u WHERE a IN (SELECT 1 UNION SELECT 2)", 0b10),
            ("SELECT a.from, b * 2, IS_USED_LOCK(b) FROM t AS a ORDER BY 1", 0b100),
            ("SELECT IS_USED_LOCK('a'), t.*, IS_USED_LOCK('b') FROM t", 1),
            ("SELECT *, IS_USED_LOCK('b') FROM t", 0),
            ("SELECT IS_USED_LOCK('a') = 5", 0),
            ("SELECT IS_USED_LOCK('a') UNION SELECT a FROM t", 0),
            ("SELECT IS_USED_LOCK('a') INTO @a", 0),
            ("DO IS_USED_LOCK('a')", 0),
            ("SELECT /*!50000 1, */ IS_USED_LOCK('a')", 0),
            ("SELECT IS_USED_LOCK('a", 0),
            ("SELECT 'CONNECTION_ID()'", 0),
        ] {
            assert_eq!(of(text), (columns, false, false), "{text}");
        }
        let many = format!("SELECT {} IS_USED_LOCK('a')", "1, ".repeat(COLUMNS_MAX));
        assert_eq!(of(&many), (0, false, false));
    }

    #[test]
    fn a_number_that_goes_on_unseen_is_told() {
        for (text, columns) in [
            ("SELECT 1 + CONNECTION_ID()", 0),
            ("SELECT CONNECTION_ID(), CONNECTION_ID() + 1", 1),
            ("SELECT IS_USED_LOCK(CONNECTION_ID()), CONNECTION_ID()", 0b11),
            ("SELECT IS_USED_LOCK('a') = CONNECTION_ID()", 0),
            ("SELECT a FROM t WHERE b = CONNECTION_ID()", 0),
            ("SELECT CONNECTION_ID() INTO @a", 0),
            ("SELECT CONNECTION_ID() UNION SELECT 1", 0),
            ("INSERT INTO t VALUES (CONNECTION_ID())", 0),
        ] {
            let hidden = text != "SELECT IS_USED_LOCK(CONNECTION_ID()), CONNECTION_ID()";
            assert_eq!(of(text), (columns, false, hidden), "{text}");
        }
    }

    #[test]
    fn tables_of_threads_are_found_by_their_definitions() {
        for text in [
            "SELECT * FROM information_schema.processlist",
            "SELECT processlist_id FROM performance_schema.threads",
            "WITH p AS (SELECT * FROM INFORMATION_SCHEMA.INNODB_TRX) SELECT * FROM p",
            "SELECT conn_id FROM sys.session",
        ] {
            assert_eq!(of(text), (0, true, false), "{text}");
        }
        assert_eq!(of("SELECT table_name FROM information_schema.tables"), (0, false, false));
        for text in ["SHOW PROCESSLIST", "/* tool */ show full processlist ;"] {
            assert_eq!(of(text), (1, false, false), "{text}");
        }
        assert_eq!(of("SHOW PROCESSLIST LIKE 'x'").0, 0);
    }
}
