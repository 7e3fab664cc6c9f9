//! Effects of a statement besides reading and writing tables.

use bitflags::bitflags;

bitflags! {
    /// What a statement does to data, to its session or to others, or what it needs of its session.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    pub struct Effects: u32 {
        /// It changes data, definitions or the server.
        const WRITES = 1;
        /// It locks rows that it reads: `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE`.
        const LOCKS_ROWS = 1 << 1;
        /// It sets user variables: `:=`, `SET @a`, `INTO @a`.
        const SETS_USER_VARIABLES = 1 << 2;
        /// It reads user variables.
        const READS_USER_VARIABLES = 1 << 3;
        /// It reads system variables, which differ between sessions and servers.
        const READS_SYSTEM_VARIABLES = 1 << 4;
        /// It takes, frees or looks at locks by name: `GET_LOCK` and its family.
        const NAMED_LOCKS = 1 << 5;
        /// It takes from, sets or looks at a sequence.
        const SEQUENCE = 1 << 6;
        /// It sets what `LAST_INSERT_ID()` gives next: `LAST_INSERT_ID(expr)`.
        const SETS_LAST_INSERT_ID = 1 << 7;
        /// It reads what the statement before left: `FOUND_ROWS()`, `ROW_COUNT()`, warnings,
        /// diagnostics.
        const READS_LAST = 1 << 8;
        /// It counts rows for `FOUND_ROWS()`: `SQL_CALC_FOUND_ROWS`.
        const COUNTS_ROWS = 1 << 9;
        /// It reads or writes a file of the server or of the client.
        const FILE = 1 << 10;
        /// It makes or drops a temporary table.
        const TEMPORARY_TABLE = 1 << 11;
        /// It ends the transaction that is open.
        const COMMITS = 1 << 12;
        /// It begins, ends or marks a transaction.
        const TRANSACTION = 1 << 13;
        /// It changes the session: variables, schema, roles, open handlers, locks of tables,
        /// statements prepared by name.
        const SESSION = 1 << 14;
        /// It locks or frees whole tables or the server.
        const TABLE_LOCKS = 1 << 15;
        /// It makes, runs or drops a statement prepared by name.
        const PREPARED = 1 << 16;
        /// Its answer differs between sessions with the same data: `USER()`, `CONNECTION_ID()`,
        /// `DATABASE()`.
        const READS_SESSION = 1 << 17;
        /// Its answer differs from one time to the next with the same data: `NOW()`, `RAND()`,
        /// `UUID()`.
        const VOLATILE = 1 << 18;
        /// It waits: `SLEEP`, `BENCHMARK`.
        const WAITS = 1 << 19;
        /// It may do anything: stored code, or something that is not known here.
        const UNKNOWN = 1 << 20;
        /// It reads what the last insert left, however long ago that was: `LAST_INSERT_ID()`.
        const READS_LAST_INSERT_ID = 1 << 21;
        /// It sets a savepoint. Without `autocommit` that begins what the next `COMMIT` ends, and
        /// no status flag says so.
        const SAVEPOINT = 1 << 22;
        /// It waits until its server has reached a position of replication: `MASTER_GTID_WAIT` and
        /// its family.
        const WAITS_FOR_POSITION = 1 << 23;
        /// It is about the server that gets it: `SHOW`, `KILL`, tables of `information_schema`.
        const ABOUT_SERVER = 1 << 24;
        /// It calls a function that is not built in, or that is not known to be, and is understood
        /// besides.
        const FUNCTION = 1 << 25;
    }
}

impl Effects {
    /// It locks rows or tables.
    pub const LOCKS: Self = Self::LOCKS_ROWS.union(Self::TABLE_LOCKS);
    /// It reads or sets user variables.
    pub const USER_VARIABLES: Self = Self::SETS_USER_VARIABLES.union(Self::READS_USER_VARIABLES);
    /// It reads or sets what `LAST_INSERT_ID()` gives.
    pub const LAST_INSERT_ID: Self = Self::SETS_LAST_INSERT_ID.union(Self::READS_LAST_INSERT_ID);
    /// What may depend on `LAST_INSERT_ID()`, or tell by it whether it has changed.
    pub const NEEDS_LAST_INSERT_ID: Self =
        Self::LAST_INSERT_ID.union(Self::WRITES).union(Self::FUNCTION).union(Self::UNKNOWN);
    /// It depends on the server that it runs on: `SHOW STATUS`, `@@hostname`. Among it is the
    /// number of the server's connection, which clients send to `KILL`.
    pub const SERVER: Self =
        Self::ABOUT_SERVER.union(Self::READS_SYSTEM_VARIABLES).union(Self::READS_SESSION);
    /// Neither changes anything nor ties the statement to a server.
    pub const HARMLESS: Self = Self::VOLATILE.union(Self::WAITS);
}
