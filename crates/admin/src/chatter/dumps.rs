//! What dump programs ask about each table, in words of MySQL's `INFORMATION_SCHEMA`, which SQLite
//! does not have.

use crate::command::{Statement, unquoted};
use crate::show;

/// A question: how it begins and ends around the name of a table (in upper case), and what is
/// selected in its place.
struct Question {
    start: &'static str,
    end: &'static str,
    select: &'static str,
}

/// The questions of mariadb-dump 10.11 and mysqldump 9.
const QUESTIONS: [Question; 4] = [
    Question {
        start: "SELECT TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ",
        end: "",
        select: "SELECT name AS table_name FROM pragma_table_list WHERE type='table' AND name=? LIMIT 1",
    },
    Question {
        start: "SELECT ENGINE, TABLE_TYPE FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ",
        end: "",
        select: "SELECT 'SQLite' AS engine, 'BASE TABLE' AS table_type FROM pragma_table_list \
                 WHERE type='table' AND name=? LIMIT 1",
    },
    Question {
        start: "SELECT COLUMN_NAME, EXTRA, GENERATION_EXPRESSION, DATA_TYPE FROM INFORMATION_SCHEMA.COLUMNS WHERE \
                TABLE_SCHEMA=DATABASE() AND TABLE_NAME=",
        end: " ORDER BY ORDINAL_POSITION",
        select: "SELECT name AS column_name, '' AS extra, NULL AS generation_expression, 'varchar' AS data_type \
                 FROM pragma_table_info(?)",
    },
    Question {
        start: "SELECT COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME=",
        end: "",
        select: "SELECT name AS column_name FROM pragma_table_info(?)",
    },
];

/// The SQL that a question stands for.
pub(super) fn rewrite(statement: &Statement<'_>) -> Option<String> {
    QUESTIONS.iter().find_map(|question| {
        let rest = statement.upper.strip_prefix(question.start)?.strip_suffix(question.end)?;
        let from = question.start.len();
        let name = unquoted(statement.plain.get(from..from + rest.len())?);
        Some(question.select.replace('?', &show::text(name)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_what_stands_in_quotes() {
        let sql = "select column_name, extra, generation_expression, data_type from information_schema.columns where \
                   table_schema=database() and table_name='a'b' order by ordinal_position";
        let sql = rewrite(&Statement::new(sql)).unwrap();
        assert!(sql.ends_with("FROM pragma_table_info('a''b')"), "{sql}");
        assert_eq!(rewrite(&Statement::new("SELECT * FROM information_schema.columns")), None);
    }
}
