//! The name of a span: the command and the first table of a digest's text.

use crate::limits::NAME_BYTES_MAX;

/// Words in front of a table's name.
const BEFORE_TABLES: [&str; 4] = ["FROM", "INTO", "JOIN", "TABLE"];

/// Words that may be between these and the name.
const BETWEEN: [&str; 5] = ["IF", "NOT", "EXISTS", "IGNORE", "LOW_PRIORITY"];

/// What a digest's text is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Summary<'a> {
    /// The command, in capitals.
    pub(crate) command: String,
    /// The first table, as it is written.
    pub(crate) table: Option<&'a str>,
}

impl<'a> Summary<'a> {
    /// The summary of `digest`; nothing if it has no word.
    pub(crate) fn of(digest: &'a str) -> Option<Self> {
        let mut words = digest.split_ascii_whitespace();
        let first = words.next().map(bare).filter(|word| !word.is_empty() && word.len() <= NAME_BYTES_MAX)?;
        let command = first.to_ascii_uppercase();
        // What SHOW names may be a schema.
        let table = if command == "SHOW" { None } else { table(words, command == "UPDATE") };
        Some(Self { command, table })
    }

    /// `SELECT shop.orders`.
    pub(crate) fn name(&self) -> String {
        match self.table {
            Some(table) => format!("{} {table}", self.command),
            None => self.command.clone(),
        }
    }
}

/// The first table that these words name. `is_next`: it comes at once.
fn table<'a>(words: impl Iterator<Item = &'a str>, mut is_next: bool) -> Option<&'a str> {
    let is_one_of = |word: &str, all: &[&str]| all.iter().any(|known| word.eq_ignore_ascii_case(known));
    let mut depth = 0_usize;
    for word in words {
        if depth == 0 && is_one_of(word, &BEFORE_TABLES) {
            is_next = true;
        } else if is_next && !is_one_of(word, &BETWEEN) {
            let name = bare(word);
            let is_name = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.starts_with('@');
            return is_name.then_some(name);
        }
        // The FROM of EXTRACT(YEAR FROM ?) names no table.
        for byte in word.bytes() {
            match byte {
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    None
}

/// A word up to what is no part of a name.
fn bare(word: &str) -> &str {
    word.split(['(', ',', ';', ')']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_command_and_table() {
        for (digest, name) in [
            ("SELECT a FROM shop.orders WHERE id = ?", "SELECT shop.orders"),
            ("select ?", "SELECT"),
            ("INSERT INTO t(a) VALUES (?)", "INSERT t"),
            ("UPDATE IGNORE t SET a = ?", "UPDATE t"),
            ("DELETE FROM t,u USING t", "DELETE t"),
            ("SELECT ? FROM (SELECT a FROM t) AS x", "SELECT"),
            ("SET @@x=?", "SET"),
            ("BEGIN", "BEGIN"),
            ("CALL p(?)", "CALL"),
            ("SELECT ? FROM", "SELECT"),
            ("CREATE TABLE IF NOT EXISTS t (a INT)", "CREATE t"),
            ("DROP TABLE IF EXISTS shop.t", "DROP shop.t"),
            ("UPDATE LOW_PRIORITY t SET a = ?", "UPDATE t"),
            ("SHOW TABLES FROM shop", "SHOW"),
            ("SELECT EXTRACT(YEAR FROM d) FROM t", "SELECT t"),
            ("SELECT trim( ? FROM a ) , (SELECT b FROM u) FROM t", "SELECT t"),
            ("SELECT a INTO @x FROM t", "SELECT"),
            ("LOAD DATA LOCAL INFILE ? INTO TABLE t", "LOAD t"),
            ("INSERT t VALUES (?) ON DUPLICATE KEY UPDATE a = ?", "INSERT"),
        ] {
            assert_eq!(Summary::of(digest).unwrap().name(), name, "{digest}");
        }
        assert_eq!(Summary::of(" "), None);
        assert_eq!(Summary::of("(SELECT ?)"), None);
    }
}
