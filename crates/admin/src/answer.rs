//! What a statement of an admin comes to.

/// One value of a row: text, or NULL. The admin port has no other types on the wire.
pub type Cell = Option<Vec<u8>>;

/// What an admin is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// An OK packet.
    Ok {
        /// Rows that the statement changed.
        affected: u64,
        /// A message; empty if there is none.
        info: String,
    },
    /// A result set.
    Rows {
        /// The names of its columns.
        columns: Vec<String>,
        /// Its rows, each with a cell for every column.
        rows: Vec<Vec<Cell>>,
    },
    /// An ERR packet.
    Error(AdminError),
    /// Nothing is answered: the connection closes.
    Close,
}

impl Answer {
    /// OK without anything to say.
    pub const fn done() -> Self {
        Self::Ok { affected: 0, info: String::new() }
    }
}

/// An error as an admin's client sees it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AdminError {
    /// MySQL's number of the error.
    pub code: u16,
    /// Its five characters of SQLSTATE.
    pub state: [u8; 5],
    /// What happened, with the prefix that ProxySQL has.
    pub message: String,
}

impl AdminError {
    /// The error that nearly everything wrong is told with: 1045, as in ProxySQL, whose clients
    /// look for its prefix.
    pub fn new(message: impl AsRef<str>) -> Self {
        Self { code: 1045, state: *b"28000", message: format!("ProxySQL Admin Error: {}", message.as_ref()) }
    }
}

impl From<AdminError> for Answer {
    fn from(error: AdminError) -> Self {
        Self::Error(error)
    }
}
