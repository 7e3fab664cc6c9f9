//! Why answers became too old before their time to live was over.

/// What has made an answer too old.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A client of this proxy has written to its tables, in any mode but `ttl`.
    Write,
    /// The binary log of the server says that its tables were written to.
    Log,
    /// A definition was changed through this proxy.
    Definition,
    /// Privileges were changed through this proxy.
    Privileges,
    /// An operator has flushed it.
    Flush,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 5] = [Self::Write, Self::Log, Self::Definition, Self::Privileges, Self::Flush];

    /// How tables and metrics show it.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Write => "own_write",
            Self::Log => "log",
            Self::Definition => "definition",
            Self::Privileges => "privileges",
            Self::Flush => "flush",
        }
    }
}
