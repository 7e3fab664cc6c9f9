//! Why a reply was not stored.

/// Why the reply to a query that was to be cached was not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NotStored {
    /// The server has answered with an error.
    Error,
    /// It has warnings.
    Warnings,
    /// It has no rows, and such replies are not to be stored.
    Empty,
    /// It is no single result: OK, several results, a request for a file.
    NotRows,
    /// It takes more than a shard gives to one answer, or more than `max_answer`.
    TooLarge,
    /// Slow clients keep so much alive that there is no room.
    NoRoom,
    /// One of its tables was written to since the moment as of which it is exact, or may have been.
    Written,
    /// It did not come to its end: the connection or the client has gone, or the command was sent
    /// again.
    Cut,
    /// What is behind the names of its tables was not known when it was sent.
    Unjudged,
    /// Few lookups of its digest hit, and it was asked for only once lately.
    Rare,
    /// An execution has told the client other columns than the preparation.
    Columns,
    /// It comes from the cache of a proxy in between, and as old as its time to live here.
    TooOld,
    /// It comes from the cache of a proxy in between, which does not tell as of which moment it is
    /// exact, and writes are to be seen.
    Elsewhere,
    /// Its server is not the one whose binary log tells of writes.
    OtherServer,
    /// That log was not followed all the time from the query to its reply.
    NotFollowed,
    /// What `FOUND_ROWS()` gives behind it is not known.
    FoundRows,
    /// A value in its text, or a hint, makes it another one each time.
    Values,
    /// What the server gives sessions at their beginning was not known of the connection.
    UnknownDefaults,
    /// The server gives sessions `READ UNCOMMITTED` or `sql_auto_is_null` at their beginning.
    Defaults,
}

impl NotStored {
    /// All reasons.
    pub const ALL: [Self; 19] = [
        Self::Error,
        Self::Warnings,
        Self::Empty,
        Self::NotRows,
        Self::TooLarge,
        Self::NoRoom,
        Self::Written,
        Self::Cut,
        Self::Unjudged,
        Self::Rare,
        Self::Columns,
        Self::TooOld,
        Self::Elsewhere,
        Self::OtherServer,
        Self::NotFollowed,
        Self::FoundRows,
        Self::Values,
        Self::UnknownDefaults,
        Self::Defaults,
    ];

    /// What operators read.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warnings => "warnings",
            Self::Empty => "no rows",
            Self::NotRows => "not a single result",
            Self::TooLarge => "too large",
            Self::NoRoom => "no room",
            Self::Written => "written to meanwhile",
            Self::Cut => "broken off",
            Self::Unjudged => "its tables were not known yet",
            Self::Rare => "asked for once",
            Self::Columns => "other columns than it was prepared with",
            Self::TooOld => "as old as its time to live",
            Self::Elsewhere => "from another proxy's cache, and exact as of no moment",
            Self::OtherServer => "another server than the one whose log is followed",
            Self::NotFollowed => "the server's binary log is not followed",
            Self::FoundRows => "FOUND_ROWS() behind it is not known",
            Self::Values => "another answer each time, by a value or a hint",
            Self::UnknownDefaults => "its server's defaults were not known yet",
            Self::Defaults => "its server's default is READ UNCOMMITTED or sql_auto_is_null",
        }
    }
}
