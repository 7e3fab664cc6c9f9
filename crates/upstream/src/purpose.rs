//! Purposes of the commands that set a connection up for a session, and which of them may be sent
//! in front of the session's own command.

/// What servers say who do not have a variable, or do not let this user set it: `ER_PARSE_ERROR`,
/// `ER_UNKNOWN_SYSTEM_VARIABLE`, `ER_SPECIFIC_ACCESS_DENIED_ERROR`, `ER_QUERY_CACHE_DISABLED`. The
/// client has set it where it matters.
pub const DOES_NOT_HAVE_IT: [u16; 4] = [1064, 1193, 1227, 1651];

/// What a command that is sent to a connection before it is lent is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Asks for the last insert id of the session that had the connection.
    LastId,
    /// Asks which packets the server takes.
    Packets,
    /// Resets the connection.
    Reset,
    /// Asks what the server does at logins.
    Question,
    /// Gives back what a login gives.
    Charset,
    /// What connections of the hostgroup begin with.
    Initial,
    /// Sets an option of the connection.
    Option,
    /// Changes the schema.
    Schema,
    /// Sets a variable of the session.
    Setting,
    /// A setting that a statement means the same without.
    Tracking,
}

impl Purpose {
    /// Whether an answer, with this number if it is an error, means that the connection is not as
    /// it should be.
    pub(crate) fn is_refused(self, error: Option<u16>) -> bool {
        match (self, error) {
            (Self::Tracking, _) => false,
            (Self::Setting, Some(code)) => !DOES_NOT_HAVE_IT.contains(&code),
            (_, error) => error.is_some(),
        }
    }
}

/// What may be said in front of a command without waiting for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ahead {
    /// Nothing: the command is not whole, or none that is simply answered.
    Nothing,
    /// Settings. In another schema than the session's the command might do harm, and a schema can
    /// be dropped at any time.
    Settings,
    /// Everything.
    All,
}

impl Ahead {
    /// Whether a command for this may be, which the server is known to have taken before.
    pub fn has(self, purpose: Purpose) -> bool {
        self == Self::All || self == Self::Settings && purpose != Purpose::Schema
    }
}
