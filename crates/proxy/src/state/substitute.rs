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

/// The statement with the numbers in the place of the functions, if `text` asks how many rows the statement before had, of which this
/// was counted; `None` if it asks something else, or where a number would change what a column is called.
pub(crate) fn with_numbers(text: &[u8], counted: Counted) -> Option<Vec<u8>> {
    let mut lexer = Lexer::new(text, Modes::default());
    let tokens: Vec<Token> = lexer.by_ref().collect();
    let words = Words { text, tokens: &tokens };
    let mut out = Vec::new();
    let (mut copied, mut replaced) = (0, false);
    let has_columns = words.is(0, "select");
    for at in 0..tokens.len() {
        let number = match () {
            () if words.is(at, "row_count") => counted.changed.to_string(),
            () if words.is(at, "found_rows") => counted.found.to_string(),
            () => continue,
        };
        let (call, end) = (tokens.get(at)?, tokens.get(at + 2)?);
        if !(words.is(at + 1, "(") && words.is(at + 2, ")")) {
            return None;
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
            return None;
        }
        replaced = true;
    }
    out.extend_from_slice(text.get(copied..).unwrap_or_default());
    (replaced && !lexer.broken()).then_some(out)
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
        let of = |text: &str| match with_numbers(text.as_bytes(), counted) {
            Some(text) => String::from_utf8(text).unwrap(),
            None => "Other".to_owned(),
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
            ("SHOW WARNINGS", "Other"),
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
