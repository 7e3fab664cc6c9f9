//! The kinds of statements, and the commands of ProxySQL that they are counted as.

use super::walk;
use crate::lexer::Modes;

macro_rules! kinds {
    ($($counted:ident = $name:literal;)+ --- $($(#[$doc:meta])+ $other:ident as $command:ident;)+) => {
        /// What a statement is, by its first words.
        ///
        /// The first ones are ProxySQL's commands, in its order. Some of them ProxySQL knows and
        /// never counts (`EXPLAIN`, `TRUNCATE_TABLE`, `SELECT_FOR_UPDATE` and others).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum StatementKind {
            $(#[doc = concat!("ProxySQL's `", $name, "`.")] $counted,)+
            $($(#[$doc])+ $other,)+
        }

        impl StatementKind {
            /// ProxySQL's commands, in its order.
            pub const COMMANDS: &[Self] = &[$(Self::$counted),+];

            /// The command that it is counted as.
            #[must_use]
            pub const fn command(self) -> Self {
                match self {
                    $(Self::$other => Self::$command,)+
                    counted => counted,
                }
            }

            /// ProxySQL's name of that command.
            pub const fn name(self) -> &'static str {
                match self.command() {
                    $(Self::$counted => $name,)+
                    _ => "UNKNOWN",
                }
            }
        }
    };
}

kinds! {
    AlterTable = "ALTER_TABLE";
    AlterView = "ALTER_VIEW";
    AnalyzeTable = "ANALYZE_TABLE";
    Begin = "BEGIN";
    Call = "CALL";
    ChangeMaster = "CHANGE_MASTER";
    Commit = "COMMIT";
    CreateDatabase = "CREATE_DATABASE";
    CreateIndex = "CREATE_INDEX";
    CreateTable = "CREATE_TABLE";
    CreateTemporary = "CREATE_TEMPORARY";
    CreateTrigger = "CREATE_TRIGGER";
    CreateUser = "CREATE_USER";
    CreateView = "CREATE_VIEW";
    Deallocate = "DEALLOCATE";
    Delete = "DELETE";
    Describe = "DESCRIBE";
    DropDatabase = "DROP_DATABASE";
    DropIndex = "DROP_INDEX";
    DropTable = "DROP_TABLE";
    DropTrigger = "DROP_TRIGGER";
    DropUser = "DROP_USER";
    DropView = "DROP_VIEW";
    Grant = "GRANT";
    Execute = "EXECUTE";
    Explain = "EXPLAIN";
    Flush = "FLUSH";
    Insert = "INSERT";
    Kill = "KILL";
    Load = "LOAD";
    LockTable = "LOCK_TABLE";
    Optimize = "OPTIMIZE";
    Prepare = "PREPARE";
    Purge = "PURGE";
    ReleaseSavepoint = "RELEASE_SAVEPOINT";
    RenameTable = "RENAME_TABLE";
    ResetMaster = "RESET_MASTER";
    ResetSlave = "RESET_SLAVE";
    Replace = "REPLACE";
    Revoke = "REVOKE";
    Rollback = "ROLLBACK";
    RollbackSavepoint = "ROLLBACK_SAVEPOINT";
    Savepoint = "SAVEPOINT";
    Select = "SELECT";
    SelectForUpdate = "SELECT_FOR_UPDATE";
    Set = "SET";
    ShowTableStatus = "SHOW_TABLE_STATUS";
    StartTransaction = "START_TRANSACTION";
    TruncateTable = "TRUNCATE_TABLE";
    UnlockTables = "UNLOCK_TABLES";
    Update = "UPDATE";
    Use = "USE";
    Show = "SHOW";
    Unknown = "UNKNOWN";
    ---
    /// No statement: another command of the protocol.
    Command as Unknown;
    /// Nothing: blanks and comments.
    Empty as Unknown;
    /// `START TRANSACTION READ ONLY`.
    StartReadOnly as StartTransaction;
    /// MariaDB's `BEGIN NOT ATOMIC`.
    Compound as Begin;
    /// `XA`.
    Xa as Unknown;
    /// `DO`.
    Do as Unknown;
    /// `HANDLER`.
    Handler as Unknown;
    /// `HELP`.
    Help as Unknown;
    /// MariaDB's `ANALYZE` of a statement.
    Analyze as Unknown;
    /// `DROP PREPARE`.
    DropPrepare as Unknown;
    /// `CREATE`, `ALTER`, `DROP`, `RENAME` of what has no command of its own.
    Define as Unknown;
    /// `LOCK INSTANCE`, `UNLOCK INSTANCE`.
    LockInstance as Unknown;
    /// `LOAD INDEX INTO CACHE`.
    LoadIndex as Load;
    /// What else administers the server.
    Admin as Unknown;
    /// `GET DIAGNOSTICS`, `RESIGNAL`.
    Diagnostics as Unknown;
}

impl StatementKind {
    /// The kind of a text, or of the first of its statements, by its first words alone: for what is
    /// not whole, or not certain to be read as servers do.
    pub fn of(sql: &[u8]) -> Self {
        walk::kind(sql, Modes::default())
    }

    /// Whether it is a query.
    pub const fn is_select(self) -> bool {
        matches!(self, Self::Select | Self::SelectForUpdate)
    }

    /// Whether it begins a transaction.
    pub const fn begins(self) -> bool {
        matches!(self, Self::Begin | Self::StartTransaction | Self::StartReadOnly)
    }

    /// Whether it says something to or about the server.
    pub(super) const fn is_about_server(self) -> bool {
        matches!(
            self,
            Self::Show
                | Self::ShowTableStatus
                | Self::Help
                | Self::Kill
                | Self::Flush
                | Self::AnalyzeTable
                | Self::Optimize
                | Self::ChangeMaster
                | Self::Purge
                | Self::ResetMaster
                | Self::ResetSlave
                | Self::LoadIndex
                | Self::Admin
        )
    }
}
