//! The tokens that one server executes: comments `/*! */` are resolved by its version.

use crate::conditional::Condition;
use crate::digest::Span;
use crate::lexer::{Kind, Lexer};

use super::joins;
use super::limits::TOKENS_MAX;
use super::refusal::{Parsed, Reason, Refusal};
use super::settings::Settings;

/// One token.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: u32,
    pub(super) end: u32,
    /// It is the `JOIN` of a join with a condition.
    pub(super) has_condition: bool,
}

impl Token {
    pub(super) const fn span(self) -> Span {
        Span { start: self.start as usize, end: self.end as usize }
    }
}

/// Fills `tokens` with those of `sql`. Returns whether some stand in a comment that the server
/// executes.
pub(super) fn read(sql: &[u8], settings: &Settings, tokens: &mut Vec<Token>) -> Parsed<bool> {
    tokens.clear();
    if u32::try_from(sql.len()).is_err() {
        return Err(Refusal { at: 0, reason: Reason::TooLarge });
    }
    let mut lexer = Lexer::new(sql, settings.modes);
    let (mut last, mut executed, mut any) = (0, true, false);
    for token in lexer.by_ref() {
        if tokens.len() == TOKENS_MAX {
            return Err(Refusal { at: token.start, reason: Reason::TooLarge });
        }
        let gap = sql.get(last..token.start).unwrap_or_default();
        last = token.end;
        if !token.conditional {
            executed = true;
        } else if gap.contains(&b'!') {
            let holds = Condition::at_end_of(gap).and_then(|one| one.holds_at(Some(settings.dialect)));
            executed = holds.ok_or(Refusal { at: token.start, reason: Reason::Unsure })?;
        }
        if executed {
            any |= token.conditional;
            let (start, end) = (offset(token.start), offset(token.end));
            tokens.push(Token { kind: token.kind, start, end, has_condition: false });
        }
    }
    if lexer.broken() {
        return Err(Refusal { at: last, reason: Reason::Unsure });
    }
    joins::pair(sql, tokens, settings.dialect);
    Ok(any)
}

/// An offset within a text whose length fits.
fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
