//! What the texts of statements name, and refusals that show parts of them.

use std::sync::Arc;

use planner::plan::Refusal;
use shard::Layout;
use sql::lexer::{Kind, Lexer};
use sql::{Modes, StatementKind};

use crate::error::ClientError;

/// Bytes of a statement's part that an error shows.
const PART_BYTES_MAX: usize = 80;

/// Whether a `PREPARE` or an `EXECUTE IMMEDIATE` may be about a sharded table: its text names one,
/// or is in a variable.
pub(super) fn prepares_table(text: &[u8], layout: &Arc<Layout>) -> bool {
    let has = |part: &[u8]| text.windows(part.len()).any(|one| one.eq_ignore_ascii_case(part));
    let is_executed = StatementKind::of(text) == StatementKind::Execute && !has(b"immediate");
    // A backslash or an expression may hide a name.
    let hides = || has(b"\\") || has(b"immediate") && !is_one_literal(text);
    !is_executed && (names_table(text, layout) || has(b"@") || hides())
}

/// Whether an `EXECUTE IMMEDIATE` has one literal as its text.
fn is_one_literal(text: &[u8]) -> bool {
    let mut tokens = Lexer::new(text, Modes::default()).skip(2).map(|token| (token.kind, token.start));
    let is_text = tokens.next().is_some_and(|(kind, _)| kind == Kind::Text);
    let ends = |(kind, start): (Kind, usize)| {
        let is_using = text.get(start..start + 5).is_some_and(|word| word.eq_ignore_ascii_case(b"using"));
        kind == Kind::Sign(b';') || is_using
    };
    is_text && tokens.next().is_none_or(ends)
}

/// Whether a text has the name of a sharded table as a part of it.
pub(super) fn names_table(text: &[u8], layout: &Arc<Layout>) -> bool {
    layout.tables().iter().any(|table| {
        let name = table.name.as_bytes();
        text.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name))
    })
}

pub(super) fn of_unknown_charset() -> ClientError {
    ClientError::not_sharded(
        "a statement in the default character set of a server",
        "characters may have a quote as a part of them; SET NAMES with a name works",
    )
}

pub(super) fn unread(text: &[u8], refusal: sql::parse::Refusal) -> ClientError {
    ClientError::not_sharded(&part(text.get(refusal.at..).unwrap_or_default()), &refusal.to_string())
}

pub(super) fn refused(text: &[u8], refusal: Refusal) -> ClientError {
    ClientError::not_sharded(&part(refusal.span.of(text)), refusal.cause.text())
}

/// A part of a statement for an error.
fn part(text: &[u8]) -> String {
    let shown = text.get(..PART_BYTES_MAX).unwrap_or(text);
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("{}{more}", String::from_utf8_lossy(shown))
}
