//! What `FOUND_ROWS()` gives behind a query without `SQL_CALC_FOUND_ROWS`, from its text.
//!
//! Mostly that is the number of rows of the answer. Rows that an `OFFSET` passes by are counted as
//! well. Measured at MariaDB 10.11 and MySQL 9.7.

use crate::lexer::{Kind, Lexer, Modes, Token};

/// What `FOUND_ROWS()` gives behind a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundRows {
    /// The number of rows of the answer.
    Sent,
    /// With rows: their number and that of rows in front of them. Without rows it is not known.
    Behind(Offset),
    /// The number of rows of the answer, unless `sql_select_limit` is set: MariaDB counts all rows
    /// of a `UNION`.
    SentUnlessLimited,
    /// Another number: of a `UNION` with a `LIMIT`, of `VALUES`, of `WITH TIES`.
    Unknown,
}

/// How many rows an `OFFSET` passes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    /// The number in the text.
    Number(u64),
    /// The value of the parameter with this number, from 0 on.
    Parameter(u16),
}

impl FoundRows {
    /// What `FOUND_ROWS()` gives behind the query `sql`.
    #[must_use]
    pub fn of(sql: &[u8], modes: Modes) -> Self {
        if !has_any(sql) {
            return Self::Sent;
        }
        Facts::of(sql, Lexer::new(sql, modes)).found_rows()
    }
}

/// Words without which it is the number of rows.
const WORDS: [&[u8]; 8] =
    [b"limit", b"offset", b"fetch", b"union", b"except", b"intersect", b"minus", b"values"];

/// Whether any of the [`WORDS`] may be in a text.
fn has_any(sql: &[u8]) -> bool {
    let begins =
        |rest: &[u8], word: &[u8]| rest.get(..word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word));
    (0..sql.len()).any(|at| {
        let rest = sql.get(at..).unwrap_or_default();
        let may = rest.first().is_some_and(|first| b"LOFUEIMV".contains(&first.to_ascii_uppercase()));
        may && WORDS.iter().any(|word| begins(rest, word))
    })
}

/// What of a text decides.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
struct Facts {
    has_set_operation: bool,
    has_limit: bool,
    has_ties: bool,
    has_values: bool,
    /// Something of it is read by some servers only.
    is_conditional: bool,
    /// The query is in parentheses.
    is_enclosed: bool,
    /// There is an `OFFSET`, in whatever depth.
    has_offset: bool,
    /// The offset of the query itself.
    offset: Option<Offset>,
}

impl Facts {
    fn of(sql: &[u8], tokens: Lexer<'_>) -> Self {
        let tokens: Vec<Token> = tokens.collect();
        let text = |at: usize| {
            let token = tokens.get(at)?;
            Some((token.kind, sql.get(token.start..token.end)?))
        };
        let is_sign = |at, sign| text(at).is_some_and(|(kind, _)| kind == Kind::Sign(sign));
        let mut facts = Self { is_enclosed: is_sign(0, b'('), ..Self::default() };
        let (mut depth, mut parameters) = (0_usize, 0_u16);
        for (at, token) in tokens.iter().enumerate() {
            facts.is_conditional |= token.conditional;
            match token.kind {
                Kind::Sign(b'(') => depth += 1,
                Kind::Sign(b')') => depth = depth.saturating_sub(1),
                Kind::Parameter => parameters = parameters.saturating_add(1),
                Kind::Word if at == 0 || !is_sign(at - 1, b'.') => {
                    let word = sql.get(token.start..token.end).unwrap_or_default().to_ascii_lowercase();
                    facts.word(&word, at, depth, parameters, text);
                }
                _ => {}
            }
        }
        facts
    }

    /// Takes note of the word at `at`, with so many parameters before it.
    fn word<'a>(
        &mut self,
        word: &[u8],
        at: usize,
        depth: usize,
        parameters: u16,
        text: impl Fn(usize) -> Option<(Kind, &'a [u8])>,
    ) {
        let number = |at, parameters| match text(at) {
            Some((Kind::Number, digits)) => {
                // No rows are behind what is no number here.
                let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
                Some(Offset::Number(number.unwrap_or(u64::MAX)))
            }
            Some((Kind::Parameter, _)) => Some(Offset::Parameter(parameters)),
            _ => None,
        };
        let offset = match word {
            b"union" | b"except" | b"intersect" | b"minus" => {
                self.has_set_operation = true;
                return;
            }
            b"values" => {
                self.has_values = true;
                return;
            }
            b"ties" => {
                self.has_ties = true;
                return;
            }
            b"fetch" => {
                self.has_limit = true;
                return;
            }
            // `LIMIT offset, count`
            b"limit" => {
                self.has_limit = true;
                let has_two = text(at + 2).is_some_and(|(kind, _)| kind == Kind::Sign(b','));
                number(at + 1, parameters).filter(|_| has_two)
            }
            b"offset" => number(at + 1, parameters),
            _ => return,
        };
        if offset.is_some() {
            (self.has_limit, self.has_offset) = (true, true);
            if depth == 0 {
                self.offset = offset;
            }
        }
    }

    fn found_rows(&self) -> FoundRows {
        if self.has_values || self.has_ties || self.has_set_operation && self.has_limit {
            return FoundRows::Unknown;
        }
        if self.has_offset && (self.is_enclosed || self.is_conditional) {
            return FoundRows::Unknown;
        }
        match self.offset {
            Some(offset) => FoundRows::Behind(offset),
            None if self.has_set_operation => FoundRows::SentUnlessLimited,
            None => FoundRows::Sent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_and_set_operations_make_it_another_number() {
        let (number, parameter) = (Offset::Number, Offset::Parameter);
        for (sql, expected) in [
            ("SELECT a FROM t", FoundRows::Sent),
            ("SELECT a FROM t LIMIT 5", FoundRows::Sent),
            ("SELECT t.limit, `values`, offset FROM t WHERE a = 'union' LIMIT ?", FoundRows::Sent),
            ("SELECT a FROM t LIMIT 2, 5", FoundRows::Behind(number(2))),
            ("SELECT a FROM t LIMIT 5 offset 7", FoundRows::Behind(number(7))),
            ("SELECT a FROM t WHERE b = ? LIMIT ?, ?", FoundRows::Behind(parameter(1))),
            ("SELECT a FROM t WHERE b = ? LIMIT ? OFFSET ?", FoundRows::Behind(parameter(2))),
            ("SELECT a FROM t OFFSET 3 ROWS FETCH FIRST 2 ROWS ONLY", FoundRows::Behind(number(3))),
            ("SELECT a FROM t LIMIT 5 OFFSET 99999999999999999999", FoundRows::Behind(number(u64::MAX))),
            ("SELECT a FROM (SELECT a FROM t LIMIT 3, 4) d", FoundRows::Sent),
            ("(SELECT a FROM t LIMIT 3, 4)", FoundRows::Unknown),
            ("SELECT a FROM t LIMIT 5 /*! OFFSET 3 */", FoundRows::Unknown),
            ("SELECT a FROM t UNION SELECT b FROM u", FoundRows::SentUnlessLimited),
            ("SELECT a FROM t UNION SELECT b FROM u LIMIT 2", FoundRows::Unknown),
            ("(SELECT a FROM t LIMIT 1) EXCEPT SELECT b FROM u", FoundRows::Unknown),
            ("SELECT a FROM t FETCH FIRST 2 ROWS WITH TIES", FoundRows::Unknown),
            ("VALUES ((SELECT a FROM t)), (2)", FoundRows::Unknown),
        ] {
            assert_eq!(FoundRows::of(sql.as_bytes(), Modes::default()), expected, "{sql}");
        }
    }
}
