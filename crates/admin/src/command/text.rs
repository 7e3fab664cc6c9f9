//! The text of a statement, as commands are compared with it.

use std::borrow::Cow;

/// Bytes of the longest statement that is looked at for commands; SQL that is longer is for SQLite.
const COMMAND_BYTES_MAX: usize = 16 * 1024;

/// A statement in the three forms that it is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Statement<'a> {
    /// As it came, without comments, blanks around it and semicolons behind it. Comments that are
    /// code (`/*! */`, `/*M! */`) stay.
    pub(crate) text: Cow<'a, str>,
    /// With one blank in place of several; empty if it is too long for a command.
    pub(crate) plain: String,
    /// That in upper case.
    pub(crate) upper: String,
}

impl<'a> Statement<'a> {
    /// Prepares the text of a statement.
    pub(crate) fn new(text: &'a str) -> Self {
        let text = behind_comments(text);
        let text = if keeps_comments(text) { Cow::Borrowed(text) } else { without_comments(text) };
        let text = trimmed(text);
        let plain = if text.len() <= COMMAND_BYTES_MAX { collapse(&text) } else { String::new() };
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

/// `text` behind the comments and blanks that it begins with.
fn behind_comments(text: &str) -> &str {
    let mut rest = text.trim_start_matches(is_blank);
    while let Some(len) = comment(rest) {
        rest = rest.get(len..).unwrap_or_default().trim_start_matches(is_blank);
    }
    rest
}

/// Whether comments are a part of what a command is about: hints in a statement, words of a log.
fn keeps_comments(text: &str) -> bool {
    ["POINTSMAN", "EXPLAIN", "LOGENTRY"]
        .iter()
        .any(|word| text.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word)))
}

/// The length of the comment that `text` begins with, if it is one: `-- `, `#` up to the end of the
/// line, `/* */`. One that is code is none.
fn comment(text: &str) -> Option<usize> {
    let line = || text.find('\n').unwrap_or(text.len());
    let dashes = text.strip_prefix("--").filter(|rest| rest.is_empty() || rest.starts_with(is_blank));
    if text.starts_with('#') || dashes.is_some() {
        return Some(line());
    }
    let inside =
        text.strip_prefix("/*").filter(|inside| !inside.starts_with('!') && !inside.starts_with("M!"))?;
    Some(inside.find("*/").map_or(text.len(), |end| "/*".len() + end + "*/".len()))
}

/// `text` with a blank in the place of each comment that is not in quotes. A `#` within a word
/// begins none: paths have it.
fn without_comments(text: &str) -> Cow<'_, str> {
    if !["--", "#", "/*"].iter().any(|begin| text.contains(begin)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let (mut quote, mut in_code, mut at) = (None, false, 0);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or_default();
        let in_word = first == '#' && !out.is_empty() && !out.ends_with(is_blank);
        let len = if quote.is_none() && !in_code && !in_word { comment(rest) } else { None };
        if let Some(len) = len {
            out.push(' ');
            at += len;
            continue;
        }
        match quote {
            Some(open) if open == first => quote = None,
            None if matches!(first, '\'' | '"' | '`') => quote = Some(first),
            None if rest.starts_with("/*") => in_code = true,
            None if rest.starts_with("*/") => in_code = false,
            _ => {}
        }
        out.push(first);
        at += first.len_utf8();
    }
    Cow::Owned(out)
}

/// `text` without blanks around it and semicolons behind it.
fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    fn trim(text: &str) -> &str {
        text.trim_start_matches(is_blank).trim_end_matches(|c| is_blank(c) || c == ';')
    }
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(trim(text)),
        Cow::Owned(text) => Cow::Owned(trim(&text).to_owned()),
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
    fn comments_are_no_part_of_a_statement() {
        for text in [
            "-- c\nLOAD x",
            "--\nLOAD x",
            "# c\nLOAD x",
            "/* c */ LOAD x",
            "/* a */ -- b\n # c\n LOAD x",
            "LOAD x -- c",
            "LOAD x # c",
            "LOAD x /* c */ ;",
            "LOAD x; -- c",
            "LOAD/* c */x",
            "/* it's */ LOAD x",
        ] {
            assert_eq!(Statement::new(text).plain, "LOAD x", "{text}");
        }
        for (text, plain) in [
            ("SET a='/* b */ -- c # d'", "SET a='/* b */ -- c # d'"),
            ("/*!40101 SET x */", "/*!40101 SET x */"),
            ("SELECT /*!40001 SQL_NO_CACHE */ 1", "SELECT /*!40001 SQL_NO_CACHE */ 1"),
            ("SAVE CONFIG TO FILE /tmp/a#b", "SAVE CONFIG TO FILE /tmp/a#b"),
            ("SELECT 5--3", "SELECT 5--3"),
            ("LOGENTRY fixes #5 -- well", "LOGENTRY fixes #5 -- well"),
            ("/* c */ EXPLAIN ROUTE SELECT /* hostgroup=1 */ 1", "EXPLAIN ROUTE SELECT /* hostgroup=1 */ 1"),
            ("/* c", ""),
            ("--", ""),
        ] {
            assert_eq!(Statement::new(text).plain, plain, "{text}");
        }
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
