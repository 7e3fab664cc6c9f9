//! Functions that tell about the statement before, replaced by what they would say: for a session whose statement before ran on
//! another connection.

use sql::lexer::{Kind, Lexer, Modes, Token};

/// What is known of the statement before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// `ROW_COUNT()`.
    pub(crate) changed: i64,
    /// `FOUND_ROWS()`.
    pub(crate) found: u64,
}

/// What a statement asks about the one before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Question {
    /// How many rows there were: this is the statement with the numbers.
    Numbers(Vec<u8>),
    /// `SHOW WARNINGS`, plainly.
    ShowWarnings,
    /// Something else, or the numbers where they would change what a column is called.
    Other,
}

/// What `text` asks about the statement before, of which this was counted.
pub(crate) fn question(text: &[u8], counted: Counted) -> Question {
    let mut lexer = Lexer::new(text, Modes::default());
    let tokens: Vec<Token> = lexer.by_ref().collect();
    let words = Words { text, tokens: &tokens };
    if words.is(0, "show")
        && words.is(1, "warnings")
        && (tokens.len() == 2 || words.is(2, ";") && tokens.len() == 3)
    {
        return Question::ShowWarnings;
    }
    let mut out = Vec::new();
    let (mut copied, mut replaced) = (0, false);
    let has_columns = words.is(0, "select");
    for at in 0..tokens.len() {
        let number = match () {
            () if words.is(at, "row_count") => counted.changed.to_string(),
            () if words.is(at, "found_rows") => counted.found.to_string(),
            () => continue,
        };
        let (Some(call), Some(end)) = (tokens.get(at), tokens.get(at + 2)) else { return Question::Other };
        if !(words.is(at + 1, "(") && words.is(at + 2, ")")) {
            return Question::Other;
        }
        out.extend_from_slice(text.get(copied..call.start).unwrap_or_default());
        out.extend_from_slice(number.as_bytes());
        copied = end.end;
        let is_item =
            at.checked_sub(1).is_some_and(|before| words.is(before, "select") || words.is(before, ","))
                && (tokens.len() == at + 3 || [",", "from", ";"].iter().any(|next| words.is(at + 3, next)));
        let is_named = words.is(at + 3, "as");
        if has_columns && is_item {
            out.extend_from_slice(b" AS `");
            out.extend_from_slice(text.get(call.start..end.end).unwrap_or_default());
            out.push(b'`');
        } else if has_columns && !is_named {
            return Question::Other;
        }
        replaced = true;
    }
    out.extend_from_slice(text.get(copied..).unwrap_or_default());
    if replaced && !lexer.broken() { Question::Numbers(out) } else { Question::Other }
}

struct Words<'a> {
    text: &'a [u8],
    tokens: &'a [Token],
}

impl Words<'_> {
    fn is(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| {
            let bytes = self.text.get(token.start..token.end).unwrap_or_default();
            matches!(token.kind, Kind::Word | Kind::Sign(_)) && bytes.eq_ignore_ascii_case(word.as_bytes())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_the_place_of_functions() {
        let counted = Counted { changed: -1, found: 7 };
        let of = |text: &str| match question(text.as_bytes(), counted) {
            Question::Numbers(text) => String::from_utf8(text).unwrap(),
            other => format!("{other:?}"),
        };
        for (text, expected) in [
            ("SELECT ROW_COUNT()", "SELECT -1 AS `ROW_COUNT()`"),
            ("select found_rows ( ), 1", "select 7 AS `found_rows ( )`, 1"),
            ("SELECT ROW_COUNT() AS n FROM DUAL;", "SELECT -1 AS n FROM DUAL;"),
            ("SELECT 1, FOUND_ROWS();", "SELECT 1, 7 AS `FOUND_ROWS()`;"),
            ("INSERT INTO t VALUES (ROW_COUNT(), 'row_count()')", "INSERT INTO t VALUES (-1, 'row_count()')"),
            ("SET @a = FOUND_ROWS() + 1", "SET @a = 7 + 1"),
            ("SELECT ROW_COUNT() + 1", "Other"),
            ("SELECT ROW_COUNT() n", "Other"),
            ("SHOW WARNINGS", "ShowWarnings"),
            ("show warnings;", "ShowWarnings"),
            ("SHOW WARNINGS LIMIT 1", "Other"),
            ("SHOW COUNT(*) WARNINGS", "Other"),
            ("SELECT @@warning_count", "Other"),
            ("GET DIAGNOSTICS @a = NUMBER", "Other"),
            ("SELECT ROW_COUNT(", "Other"),
        ] {
            assert_eq!(of(text), expected);
        }
    }
}
