//! The name of a span: the command and the first table of a digest's text.

use crate::limits::NAME_BYTES_MAX;

/// Words in front of a table's name.
const BEFORE_TABLES: [&str; 5] = ["FROM", "INTO", "UPDATE", "JOIN", "TABLE"];

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
        let is_before = |word: &str| BEFORE_TABLES.iter().any(|known| word.eq_ignore_ascii_case(known));
        let mut is_next = is_before(first);
        let mut table = None;
        for word in words {
            if is_next && !word.eq_ignore_ascii_case("IGNORE") {
                let name = bare(word);
                let is_name = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !word.starts_with('(');
                table = is_name.then_some(name);
                break;
            }
            is_next = is_next || is_before(word);
        }
        Some(Self { command: first.to_ascii_uppercase(), table })
    }

    /// `SELECT shop.orders`.
    pub(crate) fn name(&self) -> String {
        match self.table {
            Some(table) => format!("{} {table}", self.command),
            None => self.command.clone(),
        }
    }
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
        ] {
            assert_eq!(Summary::of(digest).unwrap().name(), name, "{digest}");
        }
        assert_eq!(Summary::of(" "), None);
        assert_eq!(Summary::of("(SELECT ?)"), None);
    }
}
