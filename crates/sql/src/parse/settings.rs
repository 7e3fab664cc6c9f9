//! What the parser has to know of the session and the server.

use crate::conditional::Dialect;
use crate::lexer::Modes;

/// What decides how a text is read: the session's modes and the server's dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Where strings and names end.
    pub modes: Modes,
    /// The server that executes the statement.
    pub dialect: Dialect,
    /// `||` joins strings (`sql_mode` has `PIPES_AS_CONCAT`); otherwise `||` is OR.
    pub pipes_as_concat: bool,
    /// NOT binds as `!` does (`sql_mode` has `HIGH_NOT_PRECEDENCE`).
    pub high_not_precedence: bool,
}

impl Settings {
    /// Settings of a session in default modes.
    pub fn of(dialect: Dialect) -> Self {
        Self { modes: Modes::default(), dialect, pipes_as_concat: false, high_not_precedence: false }
    }
}
