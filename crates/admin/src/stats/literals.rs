//! What accounts that may only read statistics see of statements: no literals, as on the page.

use std::cell::RefCell;

use rusqlite::types::Value;
use sql::{Digest, Options};

use super::tables::{Row, text};

/// What becomes of a column with texts that may have literals.
#[derive(Debug, Clone, Copy)]
enum Hide {
    /// The text of a statement: its digest text is shown.
    Statement,
    /// The text of an error, which may quote a value: nothing is shown.
    Message,
    /// What only some settings fill in, from statements too: only what binds the session stays.
    Details,
}

/// The columns, by table and number.
const COLUMNS: [(&str, usize, Hide); 5] = [
    ("stats_mysql_processlist", 13, Hide::Statement),
    ("stats_mysql_processlist", 15, Hide::Details),
    ("stats_mysql_errors", 10, Hide::Message),
    ("stats_pointsman_shard_ddl", 1, Hide::Statement),
    ("stats_pointsman_shard_ddl", 6, Hide::Message),
];

thread_local! {
    static DIGEST: RefCell<Digest> = RefCell::default();
}

/// Takes literals out of the rows of a table.
pub(super) fn hide(table: &str, rows: &mut [Row]) {
    for (_, column, how) in COLUMNS.iter().filter(|(name, ..)| *name == table) {
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(*column)) {
            match (how, &*cell) {
                (Hide::Statement, Value::Text(statement)) => *cell = without_literals(statement.as_bytes()),
                (Hide::Message, Value::Text(message)) if !message.is_empty() => *cell = text(""),
                (Hide::Details, Value::Text(details)) if !details.starts_with(r#"{"pinned_by":"#) => {
                    *cell = Value::Null;
                }
                _ => {}
            }
        }
    }
}

/// The digest text of a statement; NULL where a literal could be left in it.
pub(super) fn without_literals(statement: &[u8]) -> Value {
    DIGEST.with_borrow_mut(|digest| {
        digest.read(statement, &Options::default());
        let facts = digest.facts();
        let is_safe = facts.sound && facts.whole;
        if is_safe { text(String::from_utf8_lossy(digest.shown())) } else { Value::Null }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::Schema;

    #[test]
    fn the_columns_are_those_with_texts() {
        let tables = Schema::Stats.tables();
        for (table, column, how) in COLUMNS {
            let (_, ddl) = tables.iter().find(|(name, _)| name == table).unwrap();
            let line = ddl.lines().nth(column + 1).unwrap().trim();
            let names = match how {
                Hide::Statement => ["info ", "statement "],
                Hide::Message => ["last_error ", "error "],
                Hide::Details => ["extended_info ", "extended_info "],
            };
            assert!(names.iter().any(|name| line.starts_with(name)), "{table}: {line}");
        }
    }

    #[test]
    fn no_literal_stays_in_a_row() {
        let mut row = vec![Value::Null; 16];
        row[13] = text("SELECT 'secret', a FROM t");
        row[15] = text(r#"{"query":"SELECT 'secret'"}"#);
        let mut rows = [row];
        hide("stats_mysql_processlist", &mut rows);
        assert_eq!(rows[0][13], text("SELECT ?,a FROM t"));
        assert_eq!(rows[0][15], Value::Null);
        assert_eq!(without_literals(b"SELECT 'secret"), Value::Null);
    }
}
