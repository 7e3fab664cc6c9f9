//! What stored code leaves in its session, from its text: whether nothing of a routine, a trigger
//! or a view outlives the statement, and which other routines and tables it uses.
//!
//! The grammar of compound statements is followed as far as that takes: which names are local
//! variables, and where a `SET` begins that is a statement of its own. Whatever is not understood
//! may leave something.

mod body;
mod calls;
mod head;
mod hex;
mod mentions;
mod tables;

use crate::lexer::{self, Lexer, Modes};
use crate::shape::pieces::{Piece, Pieces};
use crate::shape::{Effects, Shape, Table};

pub use self::calls::{Called, Kind};
pub use self::hex::unhex;
pub use self::mentions::Mentions;

/// What stored code uses that may hide something as well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Uses {
    /// Routines, functions that are not built in among them.
    pub routines: Vec<Called>,
    /// Tables and views.
    pub tables: Vec<Table>,
}

/// What a view does that outlives the statement which reads it, or that needs to know what was
/// before it.
const OF_A_VIEW: Effects = Effects::NAMED_LOCKS
    .union(Effects::SEQUENCE)
    .union(Effects::SETS_LAST_INSERT_ID)
    .union(Effects::READS_LAST_INSERT_ID)
    .union(Effects::READS_LAST)
    .union(Effects::SETS_USER_VARIABLES);

/// How stored code is read that was created in these modes, a list with commas; nothing if they
/// have another grammar: in some of MariaDB's, packages have routines, and names are in brackets.
///
/// ```
/// assert!(sql::routine::modes("STRICT_TRANS_TABLES,ANSI_QUOTES").unwrap().ansi_quotes);
/// assert_eq!(sql::routine::modes("PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ORACLE"), None);
/// assert_eq!(sql::routine::modes(""), Some(sql::Modes::default()));
/// ```
pub fn modes(list: &str) -> Option<Modes> {
    let has = |mode: &str| list.split(',').any(|one| one == mode);
    let read = Modes {
        ansi_quotes: has("ANSI_QUOTES"),
        no_backslash_escapes: has("NO_BACKSLASH_ESCAPES"),
        ..Modes::default()
    };
    (!has("ORACLE") && !has("MSSQL")).then_some(read)
}

/// The routines that a statement calls, functions that are not built in among them; `None` if its
/// text does not tell, or if it has a user variable set by a procedure.
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
    let gives = is_call && pieces.iter().any(|piece| piece.kind == lexer::Kind::UserVariable);
    if gives { None } else { calls::all(&pieces) }
}

/// What a routine uses, if nothing else in it outlives its call; `None` if something
/// does, or may. `definition` is the answer to `SHOW CREATE PROCEDURE` or `SHOW CREATE FUNCTION`,
/// `modes` are those of its creation.
///
/// Session variables, user variables, locks by name and of tables, temporary tables, statements
/// that are prepared by name and values of sequences do. So does, for its caller, what is asked
/// about the session before the call: its connection's number, how many rows there were.
/// Transactions, warnings and the last key that was generated are not looked for: servers tell of
/// them.
///
/// ```
/// let leaves = |text: &[u8]| sql::routine::definition(text, sql::Modes::default()).is_none();
/// assert!(!leaves(b"CREATE PROCEDURE `p`(n INT) BEGIN SET n = 1; UPDATE t SET a = n; END"));
/// assert!(leaves(b"CREATE PROCEDURE `p`() BEGIN SET sql_mode = ''; END"));
/// ```
pub fn definition(definition: &[u8], modes: Modes) -> Option<Uses> {
    let pieces = certain(definition, modes)?;
    let (parameters, body) = head::split(&pieces)?;
    uses(body, parameters)
}

/// The same of a trigger. `action` is its `ACTION_STATEMENT` in `information_schema.TRIGGERS`.
///
/// ```
/// let leaves = |text: &[u8]| sql::routine::trigger(text, sql::Modes::default()).is_none();
/// assert!(!leaves(b"SET NEW.a = 1"));
/// assert!(leaves(b"SET @a = NEW.a"));
/// ```
pub fn trigger(action: &[u8], modes: Modes) -> Option<Uses> {
    uses(&certain(action, modes)?, Vec::new())
}

/// The same of a view. `definition` is its `VIEW_DEFINITION` in `information_schema.VIEWS`, which
/// its server writes: functions with neither a schema nor quotes are built in.
///
/// ```
/// let leaves = |text: &[u8]| sql::routine::view(text).is_none();
/// assert!(!leaves(b"select `a`.`t`.`b` AS `b` from `a`.`t`"));
/// assert!(leaves(b"select get_lock('v',0) AS `g`"));
/// ```
pub fn view(definition: &[u8]) -> Option<Uses> {
    let pieces = certain(definition, Modes::default())?;
    let mut routines = calls::all(&pieces)?;
    let is_quoted =
        |name: &str| pieces.iter().any(|piece| piece.kind == lexer::Kind::Name && piece.written == name);
    routines.retain(|called| called.schema.is_some() || is_quoted(&called.name));
    let Shape { reads: tables, effects, .. } = Shape::of(definition, Modes::default());
    (!effects.intersects(OF_A_VIEW)).then_some(Uses { routines, tables })
}

fn uses(body: &[Piece], variables: Vec<String>) -> Option<Uses> {
    if body::outlives_its_call(body, variables) {
        return None;
    }
    Some(Uses { routines: calls::all(body)?, tables: tables::all(body) })
}

/// The tokens of a text, if every server sees the same ones.
fn certain(text: &[u8], modes: Modes) -> Option<Vec<Piece>> {
    let mut tokens = Lexer::new(text, modes);
    let is_clear = tokens.all(|token| {
        let bytes = text.get(token.start..token.end).unwrap_or_default();
        match token.kind {
            lexer::Kind::Number => is_plain_number(bytes),
            // Numbers that a keyword follows at once, and blanks of other character sets.
            lexer::Kind::Word => bytes.is_ascii() && !bytes.first().is_some_and(u8::is_ascii_digit),
            _ => true,
        }
    });
    // In a hint to the optimizer a comment's end may be in quotes.
    let is_clear = is_clear && !text.windows(3).any(|three| three == b"/*+");
    let Pieces { all, cut, unsure } = Pieces::of(text, modes);
    (is_clear && !cut && !unsure && !all.iter().any(|piece| piece.conditional)).then_some(all)
}

/// Whether a number is one to every server, and no word of it a keyword to some: `1.END` is.
fn is_plain_number(number: &[u8]) -> bool {
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    if let Some(digits) = number.strip_prefix(b"0x").or_else(|| number.strip_prefix(b"0b")) {
        return digits.iter().all(u8::is_ascii_hexdigit);
    }
    let mut halves = number.splitn(2, |byte| *byte == b'.');
    let is_whole = halves.next().is_some_and(|half| half.iter().all(is_digit));
    is_whole && halves.next().is_none_or(|half| !half.is_empty() && half.iter().all(is_digit))
}

/// The word at `at` in lower case; empty if there is none.
fn word(pieces: &[Piece], at: usize) -> &str {
    pieces.get(at).map_or("", |piece| piece.text.as_str())
}

/// Whether the sign `byte` is at `at`.
fn is_sign(pieces: &[Piece], at: usize, byte: u8) -> bool {
    pieces.get(at).is_some_and(|piece| piece.is_sign(byte))
}

/// The place behind the parenthesis that ends what the one at `at` begins.
fn behind_parentheses(pieces: &[Piece], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, piece) in pieces.iter().enumerate().skip(at) {
        match piece.kind {
            lexer::Kind::Sign(b'(') => depth += 1,
            lexer::Kind::Sign(b')') => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(place + 1);
        }
    }
    None
}
