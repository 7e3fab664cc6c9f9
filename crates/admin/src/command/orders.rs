//! `PROXYSQL ...`: orders to the process.

use super::{Command, Statement};

/// An order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxysql {
    /// To start what STOP has stopped.
    Start,
    /// To stop everything but the admin port.
    Stop,
    /// To accept no new clients.
    Pause,
    /// To accept them again.
    Resume,
    /// To end and start anew.
    Restart,
    /// To end at once.
    Kill,
    /// To end when sessions have had their time.
    ShutdownSlow,
    /// To open the logs anew.
    FlushLogs,
    /// To forget cached results.
    FlushQueryCache,
    /// To forget addresses with failed connections.
    FlushClientHosts,
    /// To open the database on disk anew.
    FlushConfigdb,
    /// To refuse changes by admins.
    Readonly,
    /// To allow them.
    Readwrite,
    /// To read the files of TLS anew.
    ReloadTls,
    /// To write a core file.
    Coredump,
    /// To switch the profile of memory on or off.
    Memprofile,
}

/// Their words.
const ORDERS: [(&str, Proxysql); 19] = [
    ("START", Proxysql::Start),
    ("STOP", Proxysql::Stop),
    ("PAUSE", Proxysql::Pause),
    ("RESUME", Proxysql::Resume),
    ("RESTART", Proxysql::Restart),
    ("SHUTDOWN", Proxysql::Kill),
    ("SHUTDOWN SLOW", Proxysql::ShutdownSlow),
    ("KILL", Proxysql::Kill),
    ("FLUSH LOGS", Proxysql::FlushLogs),
    ("FLUSH QUERY CACHE", Proxysql::FlushQueryCache),
    ("FLUSH MYSQL CLIENT HOSTS", Proxysql::FlushClientHosts),
    ("FLUSH CONFIGDB", Proxysql::FlushConfigdb),
    ("READONLY", Proxysql::Readonly),
    ("READWRITE", Proxysql::Readwrite),
    ("RELOAD TLS", Proxysql::ReloadTls),
    ("COREDUMP", Proxysql::Coredump),
    ("COMPRESSEDCOREDUMP", Proxysql::Coredump),
    ("MEMPROFILE START", Proxysql::Memprofile),
    ("MEMPROFILE STOP", Proxysql::Memprofile),
];

/// Orders that may have a path behind them.
const WITH_PATH: [&str; 2] = ["COREDUMP ", "COMPRESSEDCOREDUMP "];

/// `PROXYSQL <order>`.
pub(super) fn parse(statement: &Statement<'_>) -> Option<Command> {
    let words = statement.upper.strip_prefix("PROXYSQL ")?;
    if WITH_PATH.iter().any(|start| words.starts_with(start)) {
        return Some(Command::Proxysql(Proxysql::Coredump));
    }
    ORDERS.iter().find(|(order, _)| *order == words).map(|(_, order)| Command::Proxysql(*order))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_known_by_all_their_words() {
        let of = |text: &str| Command::of(&Statement::new(text));
        for (words, order) in ORDERS {
            assert_eq!(of(&format!("proxysql {words}")), Some(Command::Proxysql(order)));
            assert_eq!(of(words), None);
        }
        assert_eq!(of("proxysql compressedcoredump /tmp/x"), Some(Command::Proxysql(Proxysql::Coredump)));
        for text in
            ["PROXYSQL", "PROXYSQL SHUTDOWN NOW", "PROXYSQL FLUSH", "PROXYSQLTEST 1", "PROXYSQL GCOV DUMP"]
        {
            assert!(matches!(of(text), Some(Command::Refused(_))), "{text}");
        }
    }
}
