//! The plan of a statement: what follows from its shape, whatever its plain literals are.

use sql::shape::Effects;
use sql::{FoundRows, Modes, Shape, StatementKind};

/// What follows from a statement's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not states")]
pub struct StatementPlan {
    /// What it is; of several the first.
    pub kind: StatementKind,
    /// What it does besides returning rows. Empty only if that is proven.
    pub effects: Effects,
    /// Whether it reads or writes tables.
    pub tables: bool,
    /// Whether it is several statements in one text.
    pub several: bool,
    /// Whether the server may ask for a file when it gets it.
    pub may_load: bool,
    /// Whether `FOUND_ROWS()` may be another number behind it than that of its rows, though it does
    /// not ask for that.
    pub counts_apart: bool,
}

impl StatementPlan {
    /// The plan of a command that is no statement.
    pub const COMMAND: Self = Self {
        kind: StatementKind::Command,
        effects: Effects::empty(),
        tables: false,
        several: false,
        may_load: false,
        counts_apart: false,
    };

    /// A read of tables that does nothing else.
    #[cfg(test)]
    pub(crate) const READ: Self = Self { kind: StatementKind::Select, tables: true, ..Self::COMMAND };

    /// The plan that follows from `shape`, but for whether the server may ask for a file.
    pub fn of(shape: &Shape) -> Self {
        let unknown = shape.effects.intersects(Effects::UNKNOWN | Effects::FUNCTION);
        Self {
            kind: shape.kind,
            effects: shape.effects - Effects::HARMLESS,
            tables: unknown || !(shape.reads.is_empty() && shape.writes.is_empty()),
            several: shape.several,
            may_load: false,
            counts_apart: false,
        }
    }

    /// The plan of `text`, the whole of it, but for whether the server may ask for a file.
    pub fn read(text: &[u8]) -> Self {
        let modes = Modes::default();
        let plan = Self::of(&Shape::of(text, modes));
        let counts_apart = plan.kind.is_select()
            && matches!(FoundRows::of(text, modes), FoundRows::Behind(_) | FoundRows::Unknown);
        Self { counts_apart, ..plan }
    }

    /// The plan of a statement of which nothing is certain but its first words.
    pub const fn unknown(kind: StatementKind) -> Self {
        Self {
            kind,
            effects: Effects::UNKNOWN,
            tables: true,
            several: false,
            may_load: false,
            counts_apart: false,
        }
    }

    /// The same of a statement that may do anything but be one of another kind, or more of them.
    #[must_use]
    pub const fn in_doubt(self) -> Self {
        Self { effects: Effects::UNKNOWN, tables: true, ..self }
    }

    /// What kind of statement it is; nothing of a command that is none.
    pub const fn statement(self) -> Option<StatementKind> {
        match self.kind {
            StatementKind::Command => None,
            kind => Some(kind),
        }
    }

    /// A word for what it is.
    pub(crate) const fn name(self) -> &'static str {
        match self.kind {
            _ if self.several || self.effects.contains(Effects::UNKNOWN) => "other",
            StatementKind::Select | StatementKind::SelectForUpdate => "read",
            StatementKind::StartReadOnly => "start of a read-only transaction",
            StatementKind::Begin | StatementKind::StartTransaction => "start of a transaction",
            StatementKind::Commit => "commit",
            StatementKind::Rollback => "rollback",
            _ => "other",
        }
    }
}

/// Nothing is known.
impl Default for StatementPlan {
    fn default() -> Self {
        Self::unknown(StatementKind::Unknown)
    }
}

/// What explanations say about effects, the most important one first.
const SAID: [(Effects, &str); 16] = [
    (Effects::UNKNOWN, "it could not be understood"),
    (Effects::WRITES, "it writes"),
    (Effects::COMMITS, "it commits"),
    (Effects::LOCKS, "it locks"),
    (Effects::READS_LAST, "it asks about the statement before"),
    (Effects::FUNCTION, "it calls a function that may write"),
    (Effects::NAMED_LOCKS, "it uses a lock of the user's"),
    (Effects::SEQUENCE, "it takes a value of a sequence"),
    (Effects::LAST_INSERT_ID, "it uses LAST_INSERT_ID"),
    (Effects::COUNTS_ROWS, "its rows are counted for FOUND_ROWS"),
    (Effects::FILE, "it writes its result into a file or variables"),
    (Effects::TEMPORARY_TABLE, "it makes or drops a temporary table"),
    (Effects::USER_VARIABLES, "it uses user variables"),
    (Effects::SESSION, "it changes the session"),
    (Effects::SERVER, "it is about the server"),
    (Effects::SAVEPOINT, "it sets a savepoint"),
];

/// What is said about each of these effects, the most important one first.
pub(crate) fn said(effects: Effects) -> impl Iterator<Item = &'static str> {
    SAID.iter().filter(move |(effect, _)| effects.intersects(*effect)).map(|(_, text)| *text)
}
