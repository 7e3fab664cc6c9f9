//! The command byte.

use crate::reply::Answer;

/// A byte that names no command of MySQL or MariaDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("unknown command {0:#04x}")]
pub struct UnknownCommand(pub u8);

macro_rules! kinds {
    ($($(#[$doc:meta])+ $kind:ident = $byte:literal, $name:literal, $answer:ident;)+) => {
        /// Which command a packet is: the first byte of its payload.
        ///
        /// The numbers are those of `enum enum_server_command` in MySQL's `my_command.h` and
        /// MariaDB's `mysql_com.h`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])+ $kind = $byte,)+
        }

        impl Kind {
            /// All commands, in the order of their bytes.
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// The name in the protocol's documentation, `COM_QUERY` for example.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }

            /// Whether it begins with the number of a prepared statement.
            pub const fn names_statement(self) -> bool {
                matches!(
                    self,
                    Self::StmtExecute
                        | Self::StmtBulkExecute
                        | Self::SendLongData
                        | Self::StmtFetch
                        | Self::StmtReset
                        | Self::StmtClose
                )
            }

            /// Which kind of answer follows the command.
            pub const fn answer(self) -> Answer {
                match self {
                    $(Self::$kind => Answer::$answer,)+
                }
            }
        }

        impl TryFrom<u8> for Kind {
            type Error = UnknownCommand;

            fn try_from(byte: u8) -> Result<Self, UnknownCommand> {
                match byte {
                    $($byte => Ok(Self::$kind),)+
                    _ => Err(UnknownCommand(byte)),
                }
            }
        }
    };
}

kinds! {
    /// Internal to servers, which refuse it.
    Sleep = 0x00, "COM_SLEEP", Single;
    /// The client leaves.
    Quit = 0x01, "COM_QUIT", None;
    /// Changes the current schema.
    InitDb = 0x02, "COM_INIT_DB", Single;
    /// Runs a statement given as text, or several.
    Query = 0x03, "COM_QUERY", Result;
    /// Lists the columns of a table.
    FieldList = 0x04, "COM_FIELD_LIST", FieldList;
    /// Once created a schema.
    CreateDb = 0x05, "COM_CREATE_DB", Single;
    /// Once dropped a schema.
    DropDb = 0x06, "COM_DROP_DB", Single;
    /// Flushes tables, logs and caches.
    Refresh = 0x07, "COM_REFRESH", Single;
    /// Stops the server.
    Shutdown = 0x08, "COM_SHUTDOWN", Single;
    /// Asks for a line of statistics.
    Statistics = 0x09, "COM_STATISTICS", Statistics;
    /// Lists connections, like `SHOW PROCESSLIST`.
    ProcessInfo = 0x0a, "COM_PROCESS_INFO", Result;
    /// Internal to servers, which refuse it.
    Connect = 0x0b, "COM_CONNECT", Single;
    /// Ends another connection.
    ProcessKill = 0x0c, "COM_PROCESS_KILL", Single;
    /// Makes the server write debug information into its log.
    Debug = 0x0d, "COM_DEBUG", Single;
    /// Asks whether the server is there.
    Ping = 0x0e, "COM_PING", Single;
    /// Internal to servers, which refuse it.
    Time = 0x0f, "COM_TIME", Single;
    /// Internal to servers, which refuse it.
    DelayedInsert = 0x10, "COM_DELAYED_INSERT", Single;
    /// Logs in anew, as the same or another user.
    ChangeUser = 0x11, "COM_CHANGE_USER", Auth;
    /// Streams the binary log from a position.
    BinlogDump = 0x12, "COM_BINLOG_DUMP", Endless;
    /// Once copied a table to a replica; servers refuse it.
    TableDump = 0x13, "COM_TABLE_DUMP", Single;
    /// Internal to servers, which refuse it.
    ConnectOut = 0x14, "COM_CONNECT_OUT", Single;
    /// A replica introduces itself (`COM_REGISTER_SLAVE`).
    RegisterReplica = 0x15, "COM_REGISTER_SLAVE", Single;
    /// Prepares a statement.
    StmtPrepare = 0x16, "COM_STMT_PREPARE", Prepare;
    /// Runs a prepared statement.
    StmtExecute = 0x17, "COM_STMT_EXECUTE", Result;
    /// Sends a part of a parameter's value.
    SendLongData = 0x18, "COM_STMT_SEND_LONG_DATA", None;
    /// Forgets a prepared statement.
    StmtClose = 0x19, "COM_STMT_CLOSE", None;
    /// Forgets long data and closes the cursor of a prepared statement.
    StmtReset = 0x1a, "COM_STMT_RESET", Single;
    /// Switches multi-statements on or off.
    SetOption = 0x1b, "COM_SET_OPTION", Single;
    /// Asks for rows of a cursor.
    StmtFetch = 0x1c, "COM_STMT_FETCH", Fetch;
    /// Internal to servers, which refuse it.
    Daemon = 0x1d, "COM_DAEMON", Single;
    /// Streams the binary log behind a set of GTIDs.
    BinlogDumpGtid = 0x1e, "COM_BINLOG_DUMP_GTID", Endless;
    /// Brings the session back to its state after the login.
    ResetConnection = 0x1f, "COM_RESET_CONNECTION", Single;
    /// MySQL: starts the clone protocol, in which the connection has its own commands.
    Clone = 0x20, "COM_CLONE", Endless;
    /// MySQL: hands the connection over to group replication.
    SubscribeGroupReplicationStream = 0x21, "COM_SUBSCRIBE_GROUP_REPLICATION_STREAM", Endless;
    /// MariaDB: runs a prepared statement with many sets of parameters.
    StmtBulkExecute = 0xfa, "COM_STMT_BULK_EXECUTE", Result;
    /// MariaDB: internal to servers, which refuse it.
    ReplicaWorker = 0xfb, "COM_SLAVE_WORKER", Single;
    /// MariaDB: internal to servers, which refuse it.
    ReplicaIo = 0xfc, "COM_SLAVE_IO", Single;
    /// MariaDB: internal to servers, which refuse it.
    ReplicaSql = 0xfd, "COM_SLAVE_SQL", Single;
    /// MariaDB: the removed batch of commands, which servers refuse.
    Multi = 0xfe, "COM_MULTI", Single;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_its_command_or_refused() {
        for byte in 0..=u8::MAX {
            match Kind::try_from(byte) {
                Ok(kind) => assert_eq!(kind as u8, byte),
                Err(error) => assert_eq!(error, UnknownCommand(byte)),
            }
        }
        assert_eq!(Kind::ALL.len(), (0..=u8::MAX).filter(|&byte| Kind::try_from(byte).is_ok()).count());
    }

    #[test]
    fn names_are_unique_and_start_with_com() {
        let names: std::collections::HashSet<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), Kind::ALL.len());
        assert!(names.iter().all(|name| name.starts_with("COM_")));
    }

    #[test]
    fn only_three_commands_have_no_answer() {
        let silent: Vec<_> = Kind::ALL.iter().filter(|kind| kind.answer() == Answer::None).collect();
        assert_eq!(silent, [&Kind::Quit, &Kind::SendLongData, &Kind::StmtClose]);
    }
}
