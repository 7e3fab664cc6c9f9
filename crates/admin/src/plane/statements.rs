//! Statements, as statistics show them.

use std::sync::Arc;

/// A row of `stats_mysql_commands_counters`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandCounter {
    /// ProxySQL's name of the kind of statement.
    pub command: &'static str,
    /// Microseconds that they took together.
    pub total_us: u64,
    /// How many there were.
    pub count: u64,
    /// How many took at most 100, 500 us, 1, 5, 10, 50, 100, 500 ms, 1, 5, 10 s, and longer; each
    /// is in one of them.
    pub buckets: [u64; 12],
}

/// A row of `stats_mysql_query_digest` and `stats_pointsman_digest_latency`: statements that differ
/// in their values only, of one user with one schema in one hostgroup. Names and texts need not be
/// UTF-8. Times are microseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Digest {
    /// The hostgroup; `u32::MAX` for what the proxy answered itself.
    pub hostgroup: u32,
    /// The schema; empty if there was none.
    pub schema: Arc<[u8]>,
    /// The user.
    pub user: Arc<[u8]>,
    /// The client's address, if digests are told apart by it.
    pub client: Arc<[u8]>,
    /// The hash of the text.
    pub digest: u64,
    /// The statement without its values.
    pub text: Arc<[u8]>,
    /// How often it was executed.
    pub count: u64,
    /// When it was first, in seconds of Unix time.
    pub first_seen: u64,
    /// When it was last.
    pub last_seen: u64,
    /// The time of all executions.
    pub sum_us: u64,
    /// That of the shortest.
    pub min_us: u64,
    /// That of the longest.
    pub max_us: u64,
    /// The times that 50, 95, 99 and 99.9 % took at most.
    pub percentiles_us: [u64; 4],
    /// Rows that were changed.
    pub rows_affected: u64,
    /// Rows that were sent to clients.
    pub rows_sent: u64,
    /// Bytes of the statements.
    pub bytes_received: u64,
    /// Bytes of the answers.
    pub bytes_sent: u64,
    /// Executions that ended with an error.
    pub errors: u64,
}

/// Statements with one fingerprint of injected SQL.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Injection {
    /// The fingerprint.
    pub fingerprint: String,
    /// How many came while it was not listed.
    pub found: u64,
    /// How many came while it was.
    pub passed: u64,
    /// The hash of the digest of one of them; 0 if none had one.
    pub digest: u64,
}

/// A row of `stats_mysql_prepared_statements_info`: what a user has prepared in a schema. Names and
/// texts need not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreparedStatement {
    /// A number that is the same as long as the row is there.
    pub id: u64,
    /// The schema; empty if there was none.
    pub schema: Box<[u8]>,
    /// The user.
    pub user: Box<[u8]>,
    /// The hash of the text without its values.
    pub digest: u64,
    /// How often clients have it now.
    pub clients: u64,
    /// How often connections to servers have it now.
    pub servers: u64,
    /// Columns of its result.
    pub columns: u16,
    /// Values that an execution needs.
    pub params: u16,
    /// The statement.
    pub text: Box<[u8]>,
}
