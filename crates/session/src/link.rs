//! What one connection to a server carries for the session that has it.

use wire::StatusFlags;

/// State of one connection. It goes where the connection goes: another session that gets the
/// connection gets a state of its own.
#[derive(Debug)]
pub struct LinkState {
    /// Version of the session's settings that the server has; 0 if it has none of them.
    pub applied: u64,
    /// Status of the connection, as the server has told it last.
    pub status: StatusFlags,
    /// It is in no schema, as its server does not let the session into its own.
    pub lacks_schema: bool,
}

impl LinkState {
    /// State of a connection to a server that has told `status` and has the settings of this
    /// version.
    pub const fn new(status: StatusFlags, applied: u64) -> Self {
        Self { applied, status, lacks_schema: false }
    }

    /// Whether a transaction is open.
    pub const fn in_transaction(&self) -> bool {
        self.status.contains(StatusFlags::IN_TRANSACTION)
    }
}

impl Default for LinkState {
    /// State of a connection that has just been opened.
    fn default() -> Self {
        Self::new(StatusFlags::AUTOCOMMIT, 0)
    }
}
