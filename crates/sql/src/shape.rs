//! What a statement does, whatever its values are: its kind, the tables it reads and writes, and
//! its effects besides.
//!
//! Found once for each digest, from the tokens alone. There is no grammar here that a statement
//! could fail to match: effects come from words that must be in the text for a server to have them,
//! so an unusual clause between them changes nothing. A word in front of a parenthesis that is
//! neither a keyword nor a function known here may be a stored function, which may do anything; a
//! statement whose first word is not known may do anything, too. Nothing recurses, and statements
//! of more than [`TOKENS_MAX`] tokens are not looked through.
//!
//! Facts come from MySQL 9's and MariaDB 10.11's manuals: "SQL statements", "Functions and
//! operators", "Statements that cause an implicit commit", "Locking functions".

mod certain;
mod effects;
pub(crate) mod functions;
mod implied;
mod kind;
mod niladic;
pub(crate) mod pieces;
mod query;
mod walk;

pub use self::certain::names_all_tables;
pub use self::effects::Effects;
pub use self::functions::effects as function_effects;
pub use self::implied::SCHEMAS_OF_SERVERS;
pub use self::kind::StatementKind;
pub use self::niladic::{follows_timestamp, needs_no_parentheses};
pub use self::pieces::TOKENS_MAX;
pub(crate) use self::walk::statement as of_pieces;

use crate::lexer::Modes;

/// What keeps a `SELECT` from being a plain read.
const NOT_PLAIN: Effects = Effects::all()
    .difference(Effects::READS_SESSION)
    .difference(Effects::VOLATILE)
    .difference(Effects::WAITS)
    .difference(Effects::WAITS_FOR_POSITION)
    .difference(Effects::ABOUT_SERVER);

/// A table that a statement names, with the name as it is written there, without quotes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Table {
    /// Its schema, if the statement says it; else it is the session's.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
}

impl Table {
    /// The same with its schema, which is this one if the statement does not say it.
    #[must_use]
    pub fn within(self, schema: &str) -> Self {
        Self { schema: self.schema.or_else(|| Some(schema.to_owned())), ..self }
    }
}

/// What a statement is and does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// What it is.
    pub kind: StatementKind,
    /// Whether it is several statements in one text; then `kind` is that of the first.
    pub several: bool,
    /// Tables that it reads, each once, in order of their names. Views and temporary tables look
    /// the same.
    pub reads: Vec<Table>,
    /// Tables that it writes, or whose definition it changes; it may read them as well.
    pub writes: Vec<Table>,
    /// What else it does.
    pub effects: Effects,
}

impl Shape {
    /// The shape of `sql`, for a session in `modes`.
    ///
    /// That of several statements in one text has the tables and effects of all.
    /// Invalid UTF-8 in names becomes U+FFFD.
    pub fn of(sql: &[u8], modes: Modes) -> Self {
        let mut shape = walk::shape(sql, modes);
        for tables in [&mut shape.reads, &mut shape.writes] {
            tables.sort_unstable();
            tables.dedup();
        }
        shape.effects = implied::effects(&shape);
        shape
    }

    /// The shape of what is not understood at all.
    pub fn unknown() -> Self {
        Self::new(StatementKind::Unknown, Effects::UNKNOWN | Effects::WRITES)
    }

    /// Whether this reads and does nothing else: no lock, no variable, nothing left behind in the
    /// session. Such a statement may run on any server that has the data, and may be run again.
    /// What a view calls is not seen.
    pub fn is_plain_read(&self) -> bool {
        self.kind.is_select() && !self.several && !self.effects.intersects(NOT_PLAIN)
    }

    fn new(kind: StatementKind, effects: Effects) -> Self {
        Self { kind, several: false, reads: Vec::new(), writes: Vec::new(), effects }
    }
}
