//! What a stored routine leaves in its session, from its text: whether nothing of it outlives the call, and which other routines it calls.
//!
//! The grammar of compound statements is followed as far as that takes: which names are local variables, and where a `SET` begins that is a
//! statement of its own. Whatever is not understood may leave something.

mod body;
mod calls;

use crate::lexer::Modes;
use crate::shape::pieces::{Piece, Pieces};

pub use self::calls::{Called, Kind};

/// The routines that a statement calls, functions that are not built in among them; `None` if its text does not tell, or if it has a user variable
/// set by a procedure.
///
/// `modes` need not have `ANSI_QUOTES`: what that would change tells nothing.
///
/// ```
/// let called = sql::routine::called(b"CALL shop.pay(7, fee(3))", sql::Modes::default()).unwrap();
/// assert_eq!(called.len(), 2);
/// ```
pub fn called(statement: &[u8], modes: Modes) -> Option<Vec<Called>> {
    let quotes_hide = statement.contains(&b'"') && statement.contains(&b'\\');
    let pieces = certain(statement, modes).filter(|_| !quotes_hide)?;
    let is_call = word(&pieces, 0) == "call";
    let gives = is_call && pieces.iter().any(|piece| piece.kind == crate::lexer::Kind::UserVariable);
    if gives { None } else { calls::all(&pieces) }
}

/// The routines that the body of a routine calls, if nothing else in it outlives the call; `None` if something does, or may. The body is read in
/// the modes of its creation; `parameters` are the names of the routine's own.
///
/// Session variables, user variables, locks by name and of tables, temporary tables, statements that are prepared by name and values of sequences
/// do. So does, for its caller, what is asked about a statement before the call: how many rows there were. Transactions, warnings and the
/// last key that was generated are not looked for: servers tell of them.
///
/// ```
/// let leaves = |body: &[u8]| sql::routine::body(body, sql::Modes::default(), &[]).is_none();
/// assert!(!leaves(b"BEGIN DECLARE n INT; SET n = 1; UPDATE t SET a = n; END"));
/// assert!(leaves(b"BEGIN SET sql_mode = ''; END"));
/// ```
pub fn body(text: &[u8], modes: Modes, parameters: &[String]) -> Option<Vec<Called>> {
    let pieces = certain(text, modes)?;
    if body::outlives_its_call(&pieces, parameters) { None } else { calls::all(&pieces) }
}

/// The tokens of a text, if every server sees the same ones.
fn certain(text: &[u8], modes: Modes) -> Option<Vec<Piece>> {
    let Pieces { all, cut, unsure } = Pieces::of(text, modes);
    (!cut && !unsure && !all.iter().any(|piece| piece.conditional)).then_some(all)
}

/// The word at `at` in lower case; empty if there is none.
fn word(pieces: &[Piece], at: usize) -> &str {
    pieces.get(at).map_or("", |piece| piece.text.as_str())
}

/// Whether the sign `byte` is at `at`.
fn is_sign(pieces: &[Piece], at: usize, byte: u8) -> bool {
    pieces.get(at).is_some_and(|piece| piece.is_sign(byte))
}
