//! The plan of a statement: what follows from its shape, worked out once and kept with its outline.

use route::Facts;
use sql::{Modes, Shape};

use super::facts::facts;
use super::reader::Reading;
use crate::statement::class::{Class, classify};

/// What follows from a statement's shape, whatever its plain literals are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatementPlan {
    /// What it does.
    pub(crate) facts: Facts,
    /// What it is counted as; `None` of a command that is no statement.
    pub(crate) class: Option<Class>,
    /// Whether it is several statements in one text.
    pub(crate) several: bool,
    /// Whether the server may ask for a file when it gets it.
    pub(crate) may_load: bool,
}

impl StatementPlan {
    /// The plan of a command that is no statement.
    pub(crate) const COMMAND: Self =
        Self { facts: Facts::NOTHING, class: None, several: false, may_load: false };

    /// The plan of a text without a digest. Of a statement of which this is not all, `is_whole` is
    /// false.
    pub(crate) fn of(text: &[u8], is_whole: bool, reading: Reading) -> Self {
        let shape = Shape::of(text, Modes::default());
        let several = shape.kind == sql::shape::Kind::Several;
        let is_clear = is_whole && !reading.doubts(text, true, true);
        let facts = if is_clear { facts(&shape) } else { Facts::default() };
        Self::new(text, facts, several, is_clear)
    }

    /// The plan of a statement with these facts. Where strings and comments end is not certain
    /// unless it `is_clear`.
    pub(super) fn new(text: &[u8], facts: Facts, several: bool, is_clear: bool) -> Self {
        let more = if is_clear { several } else { has_another(text) };
        Self { facts, class: Some(classify(text)), several, may_load: more || may_begin_with_load(text) }
    }

    /// The same of a text of which is not certain where its strings and comments end.
    pub(super) fn in_doubt(self, text: &[u8]) -> Self {
        Self { facts: Facts::default(), may_load: self.may_load || has_another(text), ..self }
    }
}

/// Whether there may be several statements, wherever strings and comments end.
fn has_another(text: &[u8]) -> bool {
    text.contains(&b';')
}

/// Whether a single statement may be a LOAD DATA LOCAL, judged by its first letter.
///
/// A server that asks for a file on any other statement is not to be trusted with one.
pub(crate) fn may_begin_with_load(statement: &[u8]) -> bool {
    let follows =
        |rest: &[u8], word: &[u8]| rest.get(..word.len()).is_some_and(|next| next.eq_ignore_ascii_case(word));
    match statement.trim_ascii_start().split_first() {
        // A comment may come first: `#`, `--` or `/*`.
        Some((b'L' | b'l' | b'#' | b'-' | b'/', _)) => true,
        // MariaDB: SET STATEMENT ... FOR LOAD DATA ...
        Some((b'S' | b's', rest)) => follows(rest, b"et"),
        // MariaDB: EXECUTE of a LOAD DATA that was prepared, or IMMEDIATE.
        Some((b'E' | b'e', rest)) => follows(rest, b"xe"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sql: &str) -> StatementPlan {
        StatementPlan::of(sql.as_bytes(), true, Reading::default())
    }

    #[test]
    fn c19_only_statements_that_can_load_a_file_may_be_asked_for_one() {
        for yes in [
            "LOAD DATA LOCAL INFILE 'f' INTO TABLE t",
            " load data",
            "/* c */ LOAD",
            "SELECT 1; LOAD DATA LOCAL",
            "SET STATEMENT max_statement_time=1 FOR LOAD DATA LOCAL",
            "EXECUTE s",
            "execute immediate 'LOAD DATA LOCAL'",
        ] {
            assert!(of(yes).may_load, "{yes}");
        }
        for no in ["SELECT 'LOAD DATA LOCAL'", "INSERT INTO t VALUES (1)", "EXPLAIN t", "", "  "] {
            assert!(!of(no).may_load, "{no}");
        }
    }
}
