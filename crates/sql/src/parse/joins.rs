//! Which joins have a condition, found before anything is parsed.
//!
//! In `a JOIN b JOIN c ON x`, the condition belongs to the second join, and the servers then take
//! `a JOIN b` for its left side. In `a JOIN b JOIN c ON x ON y`, the right side of the first join
//! is a join. So whether a join has a condition decides how it is read, and the condition may be
//! far behind. Joins are to their conditions what opening parentheses are to closing ones.

use crate::conditional::Dialect;
use crate::lexer::Kind;

use super::token::Token;
use super::words::{self, Upper};

/// Words behind which a list of table references has ended.
const ENDS: [&str; 19] = [
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "SET",
    "SELECT",
    "VALUES",
    "PROCEDURE",
    "INTO",
    "FETCH",
    "LOCK",
    "WINDOW",
    "OFFSET",
    "RETURNING",
    "QUALIFY",
];

/// A join whose condition has not come yet.
#[derive(Debug, Clone, Copy)]
struct Open {
    token: usize,
    depth: usize,
}

/// Marks the word `JOIN` or `STRAIGHT_JOIN` of each join that has a condition.
pub(super) fn pair(sql: &[u8], tokens: &mut [Token], dialect: Dialect) {
    let mut joins: Vec<Open> = Vec::new();
    let mut depth = 0_usize;
    for at in 0..tokens.len() {
        let mut close = |depth| {
            while joins.pop_if(|join| join.depth >= depth).is_some() {}
        };
        match tokens.get(at).map(|token| token.kind) {
            Some(Kind::Sign(b'(' | b'{')) => depth += 1,
            Some(Kind::Sign(b')' | b'}')) => {
                close(depth);
                depth = depth.saturating_sub(1);
            }
            Some(Kind::Sign(b',' | b';')) => close(depth),
            Some(Kind::Word) if !is_part_of_name(tokens, at) => match &*upper(sql, tokens, at) {
                "ON" | "USING" => {
                    let join = joins.pop_if(|join| join.depth == depth);
                    if let Some(token) = join.and_then(|join| tokens.get_mut(join.token)) {
                        token.has_condition = true;
                    }
                }
                "JOIN" | "STRAIGHT_JOIN" if takes_condition(sql, tokens, at) => {
                    joins.push(Open { token: at, depth });
                }
                word if ENDS.contains(&word) && words::is_reserved(word, dialect) => close(depth),
                _ => {}
            },
            _ => {}
        }
    }
}

fn upper(sql: &[u8], tokens: &[Token], at: usize) -> Upper {
    match tokens.get(at) {
        Some(token) if token.kind == Kind::Word => Upper::of(token.span().of(sql)),
        _ => Upper::default(),
    }
}

fn is_part_of_name(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).and_then(|before| tokens.get(before));
    before.is_some_and(|token| token.kind == Kind::Sign(b'.'))
}

/// Whether a condition may follow the `JOIN` at `at`: not behind `NATURAL LEFT OUTER`, and not in
/// `USE INDEX FOR JOIN (i)`.
fn takes_condition(sql: &[u8], tokens: &[Token], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).map(|at| upper(sql, tokens, at)).unwrap_or_default();
    &*before(1) != "FOR" && (1..=3).all(|back| &*before(back) != "NATURAL")
}
