//! What a statement asks for: text in, a [`Command`] out, or nothing if it is for SQLite.
//!
//! Source: ProxySQL 2.7's admin interface. Words are compared without regard to case, and the whole statement counts: what
//! has one word too many is no command.

mod moves;
mod orders;
mod others;
mod pointsman;
mod text;

pub(crate) use self::orders::Proxysql;
pub(crate) use self::text::{Statement, unquoted};
use crate::layers::{Module, Move};

/// A statement that SQLite knows nothing about, other than SHOW and what drivers ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// `LOAD <module> ...`, `SAVE <module> ...`.
    Shift(Module, Move),
    /// `LOAD MYSQL USER <name> TO RUNTIME`.
    LoadUser(String),
    /// `SAVE MYSQL DIGEST TO DISK`.
    SaveDigests,
    /// `SELECT CONFIG FILE`.
    ShowConfig,
    /// `SAVE CONFIG TO FILE <path>`, `SELECT CONFIG INTO OUTFILE <path>`.
    SaveConfig(String),
    /// `PROXYSQL ...`.
    Proxysql(Proxysql),
    /// `SET <name> = <value>`.
    Set {
        /// The variable, with its prefix.
        name: String,
        /// The value, without quotes.
        value: String,
    },
    /// `SET` with several assignments.
    BadSet,
    /// `KILL CONNECTION <id>`, with what stands for the id.
    Kill(String),
    /// `CHECKSUM ...`.
    Checksum {
        /// The schema.
        schema: &'static str,
        /// The table.
        table: &'static str,
        /// What the answer calls it.
        title: &'static str,
    },
    /// `SELECT GLOBAL_CHECKSUM()`.
    GlobalChecksum,
    /// `PULL VERSION MYSQL SERVERS <version> <milliseconds>`.
    PullVersion {
        /// The version that is to be exceeded.
        version: u64,
        /// How long the client waits.
        wait_ms: u64,
    },
    /// `TRUNCATE stats_mysql_query_digest`.
    TruncateDigests,
    /// `LOGENTRY <text>`.
    LogEntry(String),
    /// `SIGNAL MYSQL THREADS`.
    SignalThreads,
    /// `POINTSMAN CHECK CONFIG`.
    CheckConfig,
    /// `POINTSMAN DIFF <module>`.
    Diff(Module),
    /// `POINTSMAN ROLLBACK <module> [TO <version>]`.
    Rollback(Module, Option<u64>),
}

impl Command {
    /// The command that a statement of an admin is, if it is one.
    pub(crate) fn of(statement: &Statement<'_>) -> Option<Self> {
        let parsers =
            [moves::parse, orders::parse, pointsman::parse, others::parse_fixed, others::parse_with_values];
        parsers.iter().find_map(|parse| parse(statement))
    }
}
