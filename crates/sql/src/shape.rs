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
pub(crate) mod functions;
mod implied;
mod kind;
mod niladic;
pub(crate) mod pieces;
mod query;
mod walk;

pub use self::certain::names_all_tables;
pub use self::functions::effects as function_effects;
pub use self::kind::StatementKind;
pub use self::niladic::{follows_timestamp, needs_no_parentheses};
pub(crate) use self::walk::statement as of_pieces;

use bitflags::bitflags;

use crate::lexer::Modes;

/// Tokens of a statement that are looked at. A larger one is a write with unknown effects, unless
/// it is an `INSERT` or a `REPLACE` of values, which large statements mostly are: it is that, and
/// its effects are unknown.
pub const TOKENS_MAX: usize = 50_000;

bitflags! {
    /// What a statement does to data, to its session or to others, or what it needs of its session.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    pub struct Effects: u32 {
        /// It changes data, definitions or the server.
        const WRITES = 1;
        /// It locks rows that it reads: `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE`.
        const LOCKS_ROWS = 1 << 1;
        /// It sets user variables: `:=`, `SET @a`, `INTO @a`.
        const SETS_USER_VARIABLES = 1 << 2;
        /// It reads user variables.
        const READS_USER_VARIABLES = 1 << 3;
        /// It reads system variables, which differ between sessions and servers.
        const READS_SYSTEM_VARIABLES = 1 << 4;
        /// It takes, frees or looks at locks by name: `GET_LOCK` and its family.
        const NAMED_LOCKS = 1 << 5;
        /// It takes from, sets or looks at a sequence.
        const SEQUENCE = 1 << 6;
        /// It sets what `LAST_INSERT_ID()` gives next: `LAST_INSERT_ID(expr)`.
        const SETS_LAST_INSERT_ID = 1 << 7;
        /// It reads what the statement before left: `FOUND_ROWS()`, `ROW_COUNT()`, warnings,
        /// diagnostics.
        const READS_LAST = 1 << 8;
        /// It counts rows for `FOUND_ROWS()`: `SQL_CALC_FOUND_ROWS`.
        const COUNTS_ROWS = 1 << 9;
        /// It reads or writes a file of the server or of the client.
        const FILE = 1 << 10;
        /// It makes or drops a temporary table.
        const TEMPORARY_TABLE = 1 << 11;
        /// It ends the transaction that is open.
        const COMMITS = 1 << 12;
        /// It begins, ends or marks a transaction.
        const TRANSACTION = 1 << 13;
        /// It changes the session: variables, schema, roles, open handlers, locks of tables,
        /// statements prepared by name.
        const SESSION = 1 << 14;
        /// It locks or frees whole tables or the server.
        const TABLE_LOCKS = 1 << 15;
        /// It makes, runs or drops a statement prepared by name.
        const PREPARED = 1 << 16;
        /// Its answer differs between sessions with the same data: `USER()`, `CONNECTION_ID()`,
        /// `DATABASE()`.
        const READS_SESSION = 1 << 17;
        /// Its answer differs from one time to the next with the same data: `NOW()`, `RAND()`,
        /// `UUID()`.
        const VOLATILE = 1 << 18;
        /// It waits: `SLEEP`, `BENCHMARK`.
        const WAITS = 1 << 19;
        /// It may do anything: stored code, or something that is not known here.
        const UNKNOWN = 1 << 20;
        /// It reads what the last insert left, however long ago that was: `LAST_INSERT_ID()`.
        const READS_LAST_INSERT_ID = 1 << 21;
        /// It sets a savepoint. Without `autocommit` that begins what the next `COMMIT` ends, and
        /// no status flag says so.
        const SAVEPOINT = 1 << 22;
        /// It waits until its server has reached a position of replication: `MASTER_GTID_WAIT` and
        /// its family.
        const WAITS_FOR_POSITION = 1 << 23;
        /// It is about the server that gets it: `SHOW`, `KILL`, tables of `information_schema`.
        const ABOUT_SERVER = 1 << 24;
        /// It calls a function that is not built in, or that is not known to be, and is understood
        /// besides.
        const FUNCTION = 1 << 25;
    }
}

impl Effects {
    /// It locks rows or tables.
    pub const LOCKS: Self = Self::LOCKS_ROWS.union(Self::TABLE_LOCKS);
    /// It reads or sets user variables.
    pub const USER_VARIABLES: Self = Self::SETS_USER_VARIABLES.union(Self::READS_USER_VARIABLES);
    /// It reads or sets what `LAST_INSERT_ID()` gives.
    pub const LAST_INSERT_ID: Self = Self::SETS_LAST_INSERT_ID.union(Self::READS_LAST_INSERT_ID);
    /// It depends on the server that it runs on: `SHOW STATUS`, `@@hostname`. Among it is the
    /// number of the server's connection, which clients send to `KILL`.
    pub const SERVER: Self =
        Self::ABOUT_SERVER.union(Self::READS_SYSTEM_VARIABLES).union(Self::READS_SESSION);
    /// Neither changes anything nor ties the statement to a server.
    pub const HARMLESS: Self = Self::VOLATILE.union(Self::WAITS);
}

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
