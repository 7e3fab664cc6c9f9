//! Which tables stored code reads and writes.

use crate::lexer::Kind;
use crate::shape::pieces::Piece;
use crate::shape::{Table, of_pieces};

/// Words that begin a statement with tables, also within a larger one.
const BEGINNINGS: [&str; 6] = ["select", "insert", "replace", "update", "delete", "table"];

/// Each of them once, and maybe some names that are no tables.
pub(super) fn all(body: &[Piece]) -> Vec<Table> {
    let (mut reads, writes) = read_and_written(body);
    reads.extend(writes);
    once(reads)
}

/// Those that are read, and those that are written.
pub(super) fn read_and_written(body: &[Piece]) -> (Vec<Table>, Vec<Table>) {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for statement in body.split(|piece| piece.kind == Kind::Sign(b';')) {
        // What is behind `IF a THEN` or `DECLARE c CURSOR FOR` begins a statement as well.
        for (at, piece) in statement.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|before| statement.get(before));
            // `ON DUPLICATE KEY UPDATE a = 1`, `FOR UPDATE`.
            let goes_on = piece.text == "update"
                && before.is_some_and(|before| matches!(before.text.as_str(), "key" | "for"));
            if BEGINNINGS.contains(&piece.text.as_str()) && !goes_on {
                let shape = of_pieces(statement.get(at..).unwrap_or_default());
                reads.extend(shape.reads);
                writes.extend(shape.writes);
            }
        }
    }
    (once(reads), once(writes))
}

fn once(mut tables: Vec<Table>) -> Vec<Table> {
    tables.sort_unstable();
    tables.dedup();
    tables
}

#[cfg(test)]
mod tests {
    use crate::lexer::Modes;
    use crate::routine::trigger;

    fn tables(action: &str) -> Option<Vec<String>> {
        let uses = trigger(action.as_bytes(), Modes::default())?;
        let name = |table: &crate::shape::Table| match &table.schema {
            Some(schema) => format!("{schema}.{}", table.name),
            None => table.name.clone(),
        };
        Some(uses.tables.iter().map(name).collect())
    }

    #[test]
    fn tables_of_all_statements_are_found() {
        for (action, all) in [
            ("SET NEW.a = 1", &[] as &[&str]),
            ("INSERT INTO log (a) VALUES (NEW.a)", &["log"]),
            ("BEGIN INSERT INTO a.log VALUES (1); UPDATE t SET b = NEW.b; END", &["t", "a.log"]),
            ("BEGIN IF NEW.a > 1 THEN DELETE FROM b WHERE c = OLD.c; END IF; END", &["b"]),
            ("INSERT INTO sums VALUES (NEW.a, 1) ON DUPLICATE KEY UPDATE n = n + 1", &["sums"]),
            ("INSERT INTO log SELECT a FROM t FOR UPDATE", &["log", "t"]),
            ("SET NEW.a = (SELECT MAX(a) FROM t), NEW.b = 2", &["t"]),
        ] {
            let found = tables(action).unwrap_or_default();
            assert_eq!(found, all, "{action}");
        }
    }

    #[test]
    fn triggers_that_leave_something_are_known() {
        for action in ["SET @a = NEW.a", "BEGIN SET NEW.a = 1; SET sql_mode = ''; END", "DO GET_LOCK('a', 1)"]
        {
            assert_eq!(tables(action), None, "{action}");
        }
    }
}
