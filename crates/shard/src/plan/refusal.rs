//! Why a statement over sharded tables is not executed.

use std::fmt;

use sql::digest::Span;

/// Reason from a closed list, and the part of the statement that it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub cause: Cause,
    /// Bytes of the statement.
    pub span: Span,
}

/// Reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Whether a name is that of a table of the layout depends on the server's rules for names.
    AmbiguousName,
    /// The statement has too many parts to be looked at.
    Size,
    /// A function or variable whose value is not that of one server.
    Function,
    /// Tables are on different servers.
    ServersDiffer,
    /// Sharded tables are not joined by their keys.
    NotColocated,
    /// An aggregate over rows of several shards.
    Aggregate,
    /// A group that may have rows of several shards.
    Group,
    /// `DISTINCT` over rows of several shards.
    Distinct,
    /// A window that may have rows of several shards.
    Window,
    /// `UNION`, `INTERSECT`, `EXCEPT` over several shards.
    SetOperation,
    /// An expression of `ORDER BY` whose values cannot be merged.
    Order,
    /// A LIMIT that is no plain number.
    Limit,
    /// `INTO`, `PROCEDURE`, `SQL_CALC_FOUND_ROWS`, `WITH TIES`, `ROLLUP` over several shards.
    Clause,
    /// A statement that changes rows of several shards.
    Write,
    /// A statement that changes a table whose rows are on all servers.
    Reference,
    /// A statement that changes the key of a row.
    Key,
    /// Another kind of statement that names a sharded table.
    Statement,
    /// The text would have to be changed within a comment that the server executes.
    Conditional,
}

impl Cause {
    /// The reason as a clause.
    pub const fn text(self) -> &'static str {
        match self {
            Self::AmbiguousName => "this name may be that of a sharded table or of another one",
            Self::Size => "the statement has too many parts",
            Self::Function => "over several shards this has another value than on one server",
            Self::ServersDiffer => "these tables are on different servers",
            Self::NotColocated => "sharded tables are not joined by their keys",
            Self::Aggregate => "an aggregate over rows of several shards is not supported",
            Self::Group => "a group may have rows of several shards",
            Self::Distinct => "DISTINCT over rows of several shards is not supported",
            Self::Window => "a window may have rows of several shards",
            Self::SetOperation => "a set operation over several shards is not supported",
            Self::Order => "rows of several shards cannot be merged by this expression",
            Self::Limit => "over several shards LIMIT must be a number",
            Self::Clause => "this clause is not supported over several shards",
            Self::Write => "a statement that changes rows of several shards is not supported",
            Self::Reference => "a statement that changes a reference table is not supported",
            Self::Key => "the sharding key of a row cannot be changed",
            Self::Statement => "this kind of statement is not supported on sharded tables",
            Self::Conditional => "names in comments that servers execute cannot be replaced",
        }
    }

    /// The refusal of this part of the statement.
    pub(crate) const fn at(self, span: Span) -> Refusal {
        Refusal { cause: self, span }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (bytes {} to {})", self.cause.text(), self.span.start, self.span.end)
    }
}
