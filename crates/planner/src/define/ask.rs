//! The statement that asks a server for a table.

use std::fmt::Write as _;

use shard::sequence::store::literal;

/// Columns of the answer to [`table_statement`].
pub(super) const WIDTH: usize = 13;

/// The statement that asks for a physical table: `information_schema`'s rows of the table, its
/// columns, its indexes, its foreign keys and their actions, its triggers, in any order.
///
/// It means the same in all modes, and its answer is UTF-8 for all character sets: names stand in
/// it as bytes, and all columns are binary. It is for MariaDB 10.2 and MySQL 8.0, and later ones. A
/// user without privileges for the table, or for some of its columns, does not see them.
pub fn table_statement(schema: &str, table: &str) -> String {
    let (schema, table) = (literal(schema), literal(table));
    let of = |prefix: &str| format!("{prefix}_SCHEMA = {schema} AND TABLE_NAME = {table}");
    let sources = [
        (
            "CAST(0 AS BINARY), CAST(TABLE_TYPE AS BINARY), CAST(ENGINE AS BINARY), \
             CAST(VERSION() AS BINARY), CAST(@@max_sort_length AS BINARY)",
            format!("TABLES WHERE {}", of("TABLE")),
        ),
        (
            "1, ORDINAL_POSITION, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, \
             GENERATION_EXPRESSION, CHARACTER_SET_NAME, COLLATION_NAME, CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH",
            format!("COLUMNS WHERE {}", of("TABLE")),
        ),
        (
            "2, SEQ_IN_INDEX, INDEX_NAME, NON_UNIQUE, COLUMN_NAME, SUB_PART",
            format!("STATISTICS WHERE {}", of("TABLE")),
        ),
        (
            "3, ORDINAL_POSITION, CONSTRAINT_NAME, COLUMN_NAME, REFERENCED_TABLE_SCHEMA, \
             REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME",
            format!("KEY_COLUMN_USAGE WHERE {} AND REFERENCED_TABLE_NAME IS NOT NULL", of("TABLE")),
        ),
        (
            "4, 0, CONSTRAINT_NAME, UPDATE_RULE, DELETE_RULE",
            format!("REFERENTIAL_CONSTRAINTS WHERE {}", of("CONSTRAINT")),
        ),
        (
            "5, 0, TRIGGER_NAME, ACTION_STATEMENT",
            format!("TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {schema} AND EVENT_OBJECT_TABLE = {table}"),
        ),
    ];
    let mut statement = String::new();
    for (number, (columns, from)) in sources.iter().enumerate() {
        let missing = WIDTH - columns.split(',').count();
        let union = if number == 0 { "" } else { " UNION ALL " };
        let nulls = if number == 0 { ", CAST(NULL AS BINARY)" } else { ", NULL" }.repeat(missing);
        let _ = write!(statement, "{union}SELECT {columns}{nulls} FROM information_schema.{from}");
    }
    // Not less than all rows, whatever `sql_select_limit` is.
    statement.push_str(" LIMIT 18446744073709551615");
    statement
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_as_bytes() {
        let statement = table_statement("sh'op", "order\\s");
        assert!(statement.contains("TABLE_SCHEMA = _utf8mb4 X'7368276f70'"), "{statement}");
        assert!(statement.contains("TABLE_NAME = _utf8mb4 X'6f726465725c73'"), "{statement}");
        assert_eq!(statement.matches("UNION ALL").count(), 5);
    }

    #[test]
    fn all_parts_have_the_same_columns() {
        let statement = table_statement("s", "t");
        for part in statement.split(" UNION ALL ") {
            let (columns, _) = part.split_once(" FROM ").unwrap();
            assert_eq!(columns.split(',').count(), WIDTH, "{part}");
        }
    }
}
