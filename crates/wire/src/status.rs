//! Server status flags: what OK and EOF packets say about the connection.

bitflags::bitflags! {
    /// The status of a connection after an answer (`SERVER_STATUS_*` in MySQL's `mysql_com.h`).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
    pub struct StatusFlags: u16 {
        /// A transaction is open.
        const IN_TRANSACTION = 1 << 0;
        /// Autocommit is on.
        const AUTOCOMMIT = 1 << 1;
        /// Another result follows this one (multi-statement, CALL).
        const MORE_RESULTS = 1 << 3;
        /// The statement used a bad index.
        const NO_GOOD_INDEX_USED = 1 << 4;
        /// The statement used no index.
        const NO_INDEX_USED = 1 << 5;
        /// A cursor is open: rows come with `COM_STMT_FETCH`.
        const CURSOR_EXISTS = 1 << 6;
        /// The cursor has no more rows.
        const LAST_ROW_SENT = 1 << 7;
        /// A database was dropped.
        const DB_DROPPED = 1 << 8;
        /// `NO_BACKSLASH_ESCAPES` is in `sql_mode`.
        const NO_BACKSLASH_ESCAPES = 1 << 9;
        /// Metadata of a prepared statement changed when it was prepared again.
        const METADATA_CHANGED = 1 << 10;
        /// The statement took longer than `long_query_time`.
        const QUERY_WAS_SLOW = 1 << 11;
        /// This is the result of OUT parameters.
        const PS_OUT_PARAMS = 1 << 12;
        /// The open transaction is read-only.
        const IN_TRANSACTION_READONLY = 1 << 13;
        /// Session state data follows in the OK packet.
        const SESSION_STATE_CHANGED = 1 << 14;
        /// MariaDB: `ANSI_QUOTES` is in `sql_mode`.
        const ANSI_QUOTES = 1 << 15;
        // All 16 bits round-trip, also those that have no name yet.
        const _ = !0;
    }
}

impl StatusFlags {
    /// What is left of them when the next statement begins: the others tell about the statement
    /// before.
    #[must_use]
    pub const fn of_connection(self) -> Self {
        self.intersection(
            Self::IN_TRANSACTION
                .union(Self::AUTOCOMMIT)
                .union(Self::NO_BACKSLASH_ESCAPES)
                .union(Self::IN_TRANSACTION_READONLY)
                .union(Self::ANSI_QUOTES),
        )
    }
}
