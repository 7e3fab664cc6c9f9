//! What a statement asks for: text in, a [`Command`] out, or nothing if it is for SQLite.
//!
//! Source: ProxySQL 2.7's admin interface. Words are compared without regard to case, and the whole
//! statement counts: what has one word too many is no command.

mod explain;
mod flush;
mod moves;
mod orders;
mod others;
mod pointsman;
mod refused;
mod text;

use observe::plane::Question;

pub(crate) use self::orders::Proxysql;
pub(crate) use self::text::{Statement, unquoted};
use crate::events::Sink;
use crate::layers::{Module, Move};
use crate::who::Rights;

/// A statement that SQLite knows nothing about, other than SHOW and what drivers ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// `LOAD <module> ...`, `SAVE <module> ...`.
    Shift(Module, Move),
    /// `LOAD MYSQL USER <name> TO RUNTIME`.
    LoadUser(String),
    /// `SAVE MYSQL DIGEST TO DISK`.
    SaveDigests,
    /// `DUMP EVENTSLOG FROM BUFFER TO ...`.
    DumpEvents(Sink),
    /// `SELECT CONFIG FILE`.
    ShowConfig,
    /// `SAVE CONFIG TO FILE <path>`, `SELECT CONFIG INTO OUTFILE <path>`.
    SaveConfig(String),
    /// `PROXYSQL ...`.
    Proxysql(Proxysql),
    /// `FLUSH CACHE ...`, or what is wrong with it.
    FlushCache(Result<cache::Flush, &'static str>),
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
    /// `POINTSMAN EXPLAIN ROUTE ...`, and whether the answer is JSON.
    ExplainRoute(Box<Question>, bool),
    /// `POINTSMAN EXPLAIN ROUTE ...` with something that is not understood.
    BadExplain(&'static str),
    /// `POINTSMAN CACHE ADVISE`.
    CacheAdvise,
    /// `POINTSMAN CHECK CONFIG`.
    CheckConfig,
    /// `POINTSMAN DIFF <module>`.
    Diff(Module),
    /// `POINTSMAN ROLLBACK <module> [TO <version>]`.
    Rollback(Module, Option<u64>),
    /// `POINTSMAN RESUME DDL <id>`.
    ResumeDdl(u64),
    /// `POINTSMAN FORGET DDL <id>`.
    ForgetDdl(u64),
    /// One of ProxySQL's that there is nothing for here, and why.
    Refused(&'static str),
    /// The same, and programs wait for OK: what the OK says.
    Ignored(&'static str),
}

impl Command {
    /// The command that a statement is, if it is one and `rights` are enough for it.
    pub(crate) fn allowed(statement: &Statement<'_>, rights: Rights) -> Option<Self> {
        Self::of(statement).filter(|command| rights == Rights::Admin || command.needs() == rights)
    }

    /// The least rights that it needs. A command that is not decided about does not compile.
    const fn needs(&self) -> Rights {
        match self {
            Self::Shift(..)
            | Self::LoadUser(_)
            | Self::SaveDigests
            | Self::DumpEvents(_)
            | Self::ShowConfig
            | Self::SaveConfig(_)
            | Self::Proxysql(_)
            | Self::FlushCache(_)
            | Self::Set { .. }
            | Self::BadSet
            | Self::Kill(_)
            | Self::Checksum { .. }
            | Self::GlobalChecksum
            | Self::PullVersion { .. }
            | Self::TruncateDigests
            | Self::LogEntry(_)
            | Self::SignalThreads
            | Self::CheckConfig
            | Self::Diff(_)
            | Self::Rollback(..)
            | Self::ResumeDdl(_)
            | Self::ForgetDdl(_)
            | Self::Refused(_)
            | Self::Ignored(_) => Rights::Admin,
            Self::ExplainRoute(..) | Self::BadExplain(_) | Self::CacheAdvise => Rights::Stats,
        }
    }

    /// The command that a statement is, whatever the rights of its session.
    fn of(statement: &Statement<'_>) -> Option<Self> {
        let parsers = [
            moves::parse,
            orders::parse,
            flush::parse,
            pointsman::parse,
            explain::parse,
            others::parse_fixed,
            others::parse_with_values,
            refused::parse,
        ];
        parsers.iter().find_map(|parse| parse(statement))
    }
}

/// The commands that have no values in them, in upper case: for those who misspell one.
pub(crate) fn known_commands() -> Vec<String> {
    let mut known = moves::spellings();
    known.extend(pointsman::spellings());
    known.extend(others::spellings());
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_suggested_is_a_command() {
        let known = known_commands();
        assert!(known.len() > 200, "{known:?}");
        for text in known {
            let command = Command::of(&Statement::new(&text));
            assert!(!matches!(command, None | Some(Command::Refused(_))), "{text}");
        }
    }

    /// One statement of every kind of command.
    const COMMANDS: [&str; 26] = [
        "DUMP EVENTSLOG FROM BUFFER TO DISK",
        "FLUSH CACHE RULE 1",
        "LOAD MYSQL USERS TO RUNTIME",
        "SAVE MYSQL USERS TO DISK",
        "LOAD MYSQL USER x TO RUNTIME",
        "SAVE MYSQL DIGEST TO DISK",
        "SELECT CONFIG FILE",
        "SAVE CONFIG TO FILE /tmp/x",
        "SELECT CONFIG INTO OUTFILE /tmp/x",
        "PROXYSQL SHUTDOWN",
        "PROXYSQL READWRITE",
        "SET mysql-threads=1",
        "SET a=1, b=2",
        "KILL CONNECTION 1",
        "CHECKSUM MYSQL USERS",
        "SELECT GLOBAL_CHECKSUM()",
        "PULL VERSION MYSQL SERVERS 1 1",
        "TRUNCATE stats_mysql_query_digest",
        "LOGENTRY x",
        "SIGNAL MYSQL THREADS",
        "POINTSMAN DIFF MYSQL USERS",
        "POINTSMAN ROLLBACK MYSQL USERS",
        "POINTSMAN RESUME DDL 1",
        "POINTSMAN FORGET DDL 1",
        "PROXY_SELECT 1",
        "LOAD PGSQL USERS TO RUNTIME",
    ];

    #[test]
    fn c28_who_may_only_read_statistics_may_give_no_command() {
        for text in COMMANDS {
            let statement = Statement::new(text);
            assert!(Command::allowed(&statement, Rights::Admin).is_some(), "{text}");
            assert_eq!(Command::allowed(&statement, Rights::Stats), None, "{text}");
        }
    }

    #[test]
    fn c28_who_may_only_read_statistics_may_ask_where_statements_go() {
        for text in ["POINTSMAN EXPLAIN ROUTE SELECT 1", "POINTSMAN EXPLAIN ROUTE"] {
            assert!(Command::allowed(&Statement::new(text), Rights::Stats).is_some(), "{text}");
        }
    }
}
