//! Why a statement over sharded tables is not executed.

use std::fmt;

use shard::Reason;
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
    /// `FOR UPDATE` and the like over rows of several servers.
    Locks,
    /// `INTO`, `PROCEDURE`, `SQL_CALC_FOUND_ROWS`, `WITH TIES`, `ROLLUP` over several shards.
    Clause,
    /// A change of a table whose rows are on all servers, together with other tables.
    Reference,
    /// A statement that changes the key of a row.
    Key,
    /// The shard of a new row is not certain.
    Row(Reason),
    /// A row has another number of values than there are columns.
    Columns,
    /// The server would make an id, which is not unique over the shards.
    Ids,
    /// A value of an `AUTO_INCREMENT` column, of which a server may make 0 and then an id.
    Id,
    /// `ORDER BY` or `LIMIT` of a change on several servers, or what else depends on an order:
    /// which rows it concerns is not known to any of them.
    SomeRows,
    /// The table has no unique key by which rows can be named.
    NoRowKey,
    /// Rows of one server would have to be inserted on another one.
    Gather,
    /// `LOAD DATA` without `LOCAL`.
    ServerFile,
    /// The hint names no place for the statement.
    Hint,
    /// A write to a node by its own name, which no hint allows.
    Node,
    /// A unique key that does not have the sharding key.
    Unique,
    /// A foreign key to rows that may be on another server.
    Foreign,
    /// A new name for a table of the layout.
    Rename,
    /// A name of a constraint that several nodes of one schema would have.
    Constraint,
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
            Self::Locks => "a query cannot lock rows of several servers",
            Self::Clause => "this clause is not supported over several shards",
            Self::Reference => "a reference table cannot be changed together with other tables",
            Self::Key => "the sharding key of a row cannot be changed",
            Self::Row(reason) => of_row(reason),
            Self::Columns => "the number of values is not that of the columns",
            Self::Ids => "AUTO_INCREMENT is not unique over several servers: the table needs a sequence",
            Self::Id => "a value of a column that gets ids must be an integer or NULL",
            Self::SomeRows => "a change on several servers must not depend on the order of rows",
            Self::NoRowKey => "the table has no unique key without NULLs by which rows can be named",
            Self::Gather => "rows would have to move from one server to another",
            Self::ServerFile => "the file is on a server; LOCAL loads one of the client",
            Self::Node => "this is a part of a sharded table: the hint `shard` allows writes to it",
            Self::Hint => "the hint names no server that has what the statement needs",
            Self::Unique => "a unique key without the sharding key holds within a shard only",
            Self::Foreign => "the referenced rows may be on another server",
            Self::Rename => "a table that the layout names cannot be renamed",
            Self::Constraint => "several tables of a schema cannot have a constraint of the same name",
            Self::Statement => "this kind of statement is not supported on sharded tables",
            Self::Conditional => "names in comments that servers execute cannot be replaced",
        }
    }

    /// The refusal of this part of the statement.
    pub(crate) const fn at(self, span: Span) -> Refusal {
        Refusal { cause: self, span }
    }
}

/// Why the shard of a new row is not certain, as a clause.
const fn of_row(reason: Reason) -> &'static str {
    match reason {
        Reason::NoCondition => "the row has no constant for the sharding key",
        Reason::Null => "the sharding key of the row is NULL",
        Reason::Inexact => "the server may store another value of the sharding key than is written",
        reason => reason.text(),
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (bytes {} to {})", self.cause.text(), self.span.start, self.span.end)
    }
}
