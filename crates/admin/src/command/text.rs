//! The text of a statement, as commands are compared with it.

/// Bytes of the longest statement that is looked at for commands; SQL that is longer is for SQLite.
const COMMAND_BYTES_MAX: usize = 16 * 1024;

/// A statement in the three forms that it is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement<'a> {
    /// As it came, without blanks around it and semicolons behind it.
    pub(crate) text: &'a str,
    /// With one blank in place of several; empty if it is too long for a command.
    pub(crate) plain: String,
    /// That in upper case.
    pub(crate) upper: String,
}

impl<'a> Statement<'a> {
    /// Prepares the text of a statement.
    pub(crate) fn new(text: &'a str) -> Self {
        let text = text.trim_start_matches(is_blank).trim_end_matches(|c| is_blank(c) || c == ';');
        let plain = if text.len() <= COMMAND_BYTES_MAX { collapse(text) } else { String::new() };
        let upper = plain.to_ascii_uppercase();
        Self { text, plain, upper }
    }

    /// What follows the words `start` (in upper case) and a blank, as it was written.
    pub(crate) fn after(&self, start: &str) -> Option<&str> {
        let rest = self.upper.strip_prefix(start)?.strip_prefix(' ')?;
        self.plain.get(self.plain.len() - rest.len()..)
    }

    /// Whether it begins with these characters (in upper case).
    pub(crate) fn starts_with(&self, start: &str) -> bool {
        self.upper.starts_with(start)
    }
}

/// The characters that count as blanks.
const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

fn collapse(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !is_blank(c) {
            out.push(c);
        } else if !out.ends_with(' ') {
            out.push(' ');
        }
    }
    out
}

/// `text` without the quotes around it, if there are: single, double or back ones.
pub(crate) fn unquoted(text: &str) -> &str {
    let text = text.trim();
    ['\'', '"', '`'].iter().find_map(|&quote| text.strip_prefix(quote)?.strip_suffix(quote)).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_collapse_and_ends_are_cut() {
        let statement = Statement::new(" \n load\t mysql  users\r\nto run ; ; \n");
        assert_eq!(statement.plain, "load mysql users to run");
        assert_eq!(statement.upper, "LOAD MYSQL USERS TO RUN");
        assert_eq!(statement.text, "load\t mysql  users\r\nto run");
        assert_eq!(statement.after("LOAD MYSQL"), Some("users to run"));
        assert_eq!(statement.after("LOAD MY"), None);
    }

    #[test]
    fn long_statements_are_no_commands() {
        let text = format!("select '{}'", "x".repeat(COMMAND_BYTES_MAX));
        assert_eq!(Statement::new(&text).plain, "");
        assert_eq!(Statement::new(&text).text, text);
    }

    #[test]
    fn letters_of_other_scripts_keep_their_places() {
        let statement = Statement::new("save config to file /tmp/ıß/ŉ");
        assert_eq!(statement.after("SAVE CONFIG TO FILE"), Some("/tmp/ıß/ŉ"));
    }

    #[test]
    fn quotes_are_taken_off_in_pairs() {
        assert_eq!(unquoted(" 'a b' "), "a b");
        assert_eq!(unquoted("\"a'"), "\"a'");
        assert_eq!(unquoted("`t`"), "t");
        assert_eq!(unquoted("'"), "'");
    }
}
