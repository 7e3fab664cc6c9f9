//! The table that has the counters of segments, at the home of the schema.
//!
//! Statements run outside of the transactions of clients: ids are used up, whatever becomes of the
//! rows. They mean the same in all modes and character sets.

use std::fmt::Write as _;

/// Schema and name of the table.
pub const TABLE: [&str; 2] = ["pointsman", "sequences"];

/// Makes the table; errors 1049 and 1146 of the others say that it is not there.
pub const CREATE: [&str; 2] = [
    "CREATE DATABASE IF NOT EXISTS pointsman",
    "CREATE TABLE IF NOT EXISTS pointsman.sequences (\
     table_schema VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, \
     table_name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, \
     next_id BIGINT UNSIGNED NOT NULL, PRIMARY KEY (table_schema, table_name)) ENGINE=InnoDB",
];

/// Takes the next ids of a logical table. The first one is the last insert id of the OK packet. No
/// affected row: the table has no counter yet, and [`raise`] makes it.
pub fn take(schema: &str, table: &str, count: u64) -> String {
    format!(
        "UPDATE pointsman.sequences SET next_id = LAST_INSERT_ID(next_id) + {count} \
         WHERE table_schema = {} AND table_name = {}",
        literal(schema),
        literal(table)
    )
}

/// Lets no id up to `id` be taken any more, and makes the counter if there is none.
pub fn raise(schema: &str, table: &str, id: u64) -> String {
    let next = id.saturating_add(1);
    format!(
        "INSERT INTO pointsman.sequences (table_schema, table_name, next_id) VALUES ({}, {}, {next}) \
         ON DUPLICATE KEY UPDATE next_id = GREATEST(next_id, {next})",
        literal(schema),
        literal(table)
    )
}

/// Asks a node for its largest id, 0 if it has none: a new counter begins behind those of all
/// nodes. A locking read is for the server that is written to, and sees what is committed.
pub fn largest(schema: &str, table: &str, column: &str) -> String {
    let [schema, table, column] = [schema, table, column].map(quoted);
    format!("SELECT GREATEST(COALESCE(MAX({column}), 0), 0) FROM {schema}.{table} LOCK IN SHARE MODE")
}

/// A text as bytes, for which no mode and no character set matters.
pub fn literal(text: &str) -> String {
    let mut literal = String::from("_utf8mb4 X'");
    for byte in text.bytes() {
        let _ = write!(literal, "{byte:02x}");
    }
    literal.push('\'');
    literal
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_name_the_logical_table() {
        assert_eq!(
            take("shop", "orders", 50),
            "UPDATE pointsman.sequences SET next_id = LAST_INSERT_ID(next_id) + 50 \
             WHERE table_schema = _utf8mb4 X'73686f70' AND table_name = _utf8mb4 X'6f7264657273'"
        );
        assert_eq!(
            raise("s", "t", 7),
            "INSERT INTO pointsman.sequences (table_schema, table_name, next_id) \
             VALUES (_utf8mb4 X'73', _utf8mb4 X'74', 8) \
             ON DUPLICATE KEY UPDATE next_id = GREATEST(next_id, 8)"
        );
        assert!(raise("s", "t", u64::MAX).contains("18446744073709551615)"));
        assert_eq!(
            largest("s", "a`b", "id"),
            "SELECT GREATEST(COALESCE(MAX(`id`), 0), 0) FROM `s`.`a``b` LOCK IN SHARE MODE"
        );
    }
}
