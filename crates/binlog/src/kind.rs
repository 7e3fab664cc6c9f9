//! Types of events by their numbers, and how many bytes of each are looked at.
//!
//! Numbers up to 159 are MySQL's, those from 160 on are MariaDB's.

/// A statement.
pub(crate) const QUERY: u8 = 2;
/// The log goes on in another file.
pub(crate) const ROTATE: u8 = 4;
/// How the events of a file are laid out.
pub(crate) const FORMAT_DESCRIPTION: u8 = 15;
/// The commit of a transaction of an engine that has some.
pub(crate) const XID: u8 = 16;
/// `LOAD DATA`, as a statement.
pub(crate) const EXECUTE_LOAD_QUERY: u8 = 18;
/// The name of a table whose rows follow.
pub(crate) const TABLE_MAP: u8 = 19;
/// The log lacks something.
pub(crate) const INCIDENT: u8 = 26;
/// Nothing was logged for a while.
pub(crate) const HEARTBEAT: u8 = 27;
/// May be left out.
pub(crate) const IGNORABLE: u8 = 28;
/// A transaction of MySQL begins.
pub(crate) const GTID: u8 = 33;
/// A transaction of MySQL without a GTID begins.
pub(crate) const ANONYMOUS_GTID: u8 = 34;
/// The end of what an XA transaction does before its commit.
pub(crate) const XA_PREPARE: u8 = 38;
/// Events of a transaction of MySQL, compressed.
pub(crate) const TRANSACTION_PAYLOAD: u8 = 40;
/// A heartbeat of MySQL 8.0.26 and later, for readers that ask for it.
pub(crate) const HEARTBEAT_V2: u8 = 41;
/// A transaction of MySQL begins whose GTID has a tag.
pub(crate) const GTID_TAGGED: u8 = 42;
/// A transaction of MariaDB begins.
pub(crate) const MARIADB_GTID: u8 = 162;
/// A statement, compressed by MariaDB.
pub(crate) const QUERY_COMPRESSED: u8 = 165;

/// Bytes of a statement's event that are looked at. What is longer may change every table.
pub(crate) const STATEMENT_MAX: usize = 256 * 1024;
/// Bytes that are looked at of other events than statements. Fields behind them are none of those
/// that are needed.
pub(crate) const FIELDS_MAX: usize = 2 * 1024;
/// Bytes of a row event that are looked at: the table's number.
const ROWS_MAX: usize = 6;

/// What is done with the body of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// Its first bytes are kept, at most so many, and decoded at its end.
    Keep(usize),
    /// It is expanded as it comes.
    Expand,
    /// It says nothing about tables.
    Skip,
    /// It is not known.
    Unknown,
}

/// What is done with events of a type.
pub(crate) const fn use_of(kind: u8) -> Use {
    match kind {
        QUERY | EXECUTE_LOAD_QUERY | QUERY_COMPRESSED => Use::Keep(STATEMENT_MAX),
        FORMAT_DESCRIPTION | ROTATE | TABLE_MAP | XID | INCIDENT | HEARTBEAT | HEARTBEAT_V2 | GTID
        | ANONYMOUS_GTID | GTID_TAGGED | XA_PREPARE | MARIADB_GTID => Use::Keep(FIELDS_MAX),
        // Rows of MySQL 5.1 (MariaDB writes them still), of 5.6 and later, partial updates, and
        // MariaDB's compressed ones of both versions.
        23..=25 | 30..=32 | 39 | 166..=171 => Use::Keep(ROWS_MAX),
        TRANSACTION_PAYLOAD => Use::Expand,
        // Stop; numbers and variables for the statement that follows; contents of LOAD DATA;
        // ignorable ones and statements of rows as comments; sets of GTIDs; group replication;
        // MariaDB's statements of rows, checkpoints and list of GTIDs; parts of a large row, whose
        // table was named before.
        3 | 5 | 9 | 11 | 13 | 14 | 17 | IGNORABLE | 29 | 35..=37 | 160 | 161 | 163 | 172 => Use::Skip,
        _ => Use::Unknown,
    }
}

/// Whether events of a known type may be in a compressed transaction: those that a transaction has
/// between its begin and its end.
pub(crate) const fn is_of_transaction(kind: u8) -> bool {
    match use_of(kind) {
        Use::Keep(_) => {
            has_rows(kind) || matches!(kind, QUERY | EXECUTE_LOAD_QUERY | TABLE_MAP | XID | XA_PREPARE)
        }
        Use::Expand => false,
        Use::Skip | Use::Unknown => true,
    }
}

/// Whether events of a type have rows.
pub(crate) const fn has_rows(kind: u8) -> bool {
    matches!(kind, 23..=25 | 30..=32 | 39 | 166..=171)
}
