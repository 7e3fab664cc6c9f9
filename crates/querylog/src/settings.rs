//! What an operator has configured, as the writer needs it.

use std::path::PathBuf;

/// The files of logs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// The query log; nothing if there is none.
    pub events: Option<LogFile>,
    /// Its format.
    pub format: Format,
    /// The slow log; nothing if there is none.
    pub slow: Option<LogFile>,
    /// The audit log; nothing if there is none.
    pub audit: Option<LogFile>,
}

/// The files of one log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// What their names begin with: a dot and eight digits follow. If there is something with this
    /// name that is neither file nor folder (a pipe, a device), that is written to instead, without
    /// a number.
    pub base: PathBuf,
    /// Bytes of the longest file.
    pub size_max: u64,
}

/// A form of the query log (`mysql-eventslog_format`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// ProxySQL's own.
    #[default]
    Binary,
    /// A JSON object for each statement.
    Json,
}

impl Settings {
    /// Whether there is any log.
    pub const fn is_any(&self) -> bool {
        self.events.is_some() || self.slow.is_some() || self.audit.is_some()
    }
}
