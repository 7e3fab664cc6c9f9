//! Whether the tables that a shape names are all tables of its text.
//!
//! The walk over a statement is no parser: an unquoted name that is a keyword elsewhere hides the
//! tables behind it. Such texts are rare, and are recognised here.

use crate::lexer::Modes;

use super::pieces::{Piece, Pieces};

/// Words that may be names, and that the walk takes for keywords where a table may come.
const KEYWORDS_OR_NAMES: [&str; 7] = ["delayed", "json_table", "lateral", "oj", "only", "quick", "window"];

/// Words behind which a name is no table, nor in front of one.
const NO_TABLES: [&str; 7] = ["select", "where", "having", "by", "set", "limit", "values"];

/// Words behind which a table may come.
const TABLES: [&str; 8] = ["from", "join", "straight_join", "on", "using", "update", "table", "delete"];

/// Words behind which one table comes, and then columns.
const ONE_TABLE: [&str; 3] = ["into", "insert", "replace"];

/// Whether a [`Shape`](super::Shape) of this text has all of its tables.
///
/// ```
/// use sql::{Modes, shape::names_all_tables};
///
/// assert!(names_all_tables(b"SELECT value FROM t, u", Modes::default()));
/// assert!(!names_all_tables(b"SELECT a FROM t value, u", Modes::default()));
/// ```
pub fn names_all_tables(sql: &[u8], modes: Modes) -> bool {
    let Pieces { all, cut, unsure } = Pieces::of(sql, modes);
    let is_clear = |at: usize, piece: &Piece| {
        let before = at.checked_sub(1).and_then(|at| all.get(at));
        // `.t` is a table of the current schema.
        let has_schema = !piece.is_sign(b'.') || before.is_some_and(is_schema);
        let is_member = before.is_some_and(|before| before.is_sign(b'.'));
        let is_keyword = KEYWORDS_OR_NAMES.contains(&piece.text.as_str());
        let is_value = piece.text == "value" && !is_column(all.get(..at).unwrap_or_default());
        !piece.conditional && has_schema && (is_member || !(is_keyword || is_value))
    };
    !cut && !unsure && all.iter().enumerate().all(|(at, piece)| is_clear(at, piece))
}

/// Whether a piece in front of a dot is a name.
fn is_schema(piece: &Piece) -> bool {
    let text = piece.text.as_str();
    piece.is_name() && !TABLES.contains(&text) && !ONE_TABLE.contains(&text)
}

/// Whether a name behind these is neither a table nor one's alias.
fn is_column(before: &[Piece]) -> bool {
    let is_listed = before.last().is_some_and(|last| last.is_sign(b'(') || last.is_sign(b','));
    for (at, piece) in before.iter().enumerate().rev() {
        let text = piece.text.as_str();
        let is_duplicate =
            at.checked_sub(1).and_then(|at| before.get(at)).is_some_and(|two| two.text == "key");
        if NO_TABLES.contains(&text) || text == "update" && is_duplicate {
            return true;
        }
        if TABLES.contains(&text) {
            return false;
        }
        if ONE_TABLE.contains(&text) {
            return is_listed;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_hide_tables_are_recognised() {
        let names_all = |text: &str| names_all_tables(text.as_bytes(), Modes::default());
        for text in [
            "SELECT value, a FROM settings WHERE value = 3 ORDER BY value",
            "SELECT s.value FROM s JOIN t ON t.value = s.value, u",
            "INSERT INTO settings (name, value) VALUES (1, 2) ON DUPLICATE KEY UPDATE value = VALUES(value)",
            "UPDATE settings SET value = 1 WHERE name = 'a'",
            "SELECT REPLACE(value, 'a', 'b') FROM `only`",
            "DELETE t.* FROM db.t",
        ] {
            assert!(names_all(text), "{text}");
        }
        for text in [
            "SELECT a FROM t value, u",
            "SELECT a FROM value",
            "SELECT a FROM t JOIN s ON value = 3, u",
            "INSERT INTO quick (a) SELECT 1",
            "REPLACE value VALUES (1)",
            "SELECT a FROM .t",
            "SELECT a FROM t /*!50000 , u */",
            "SELECT a FROM t window, u",
            "SELECT 'open",
        ] {
            assert!(!names_all(text), "{text}");
        }
    }
}
