//! What SQL of an admin may take.

use std::time::Duration;

/// Longest statement, in bytes: an `INSERT` of thousands of rows. Clients of the admin port can
/// send a quarter of it ([`STATEMENT_BYTES_MAX`](crate::limits::STATEMENT_BYTES_MAX)).
pub(super) const SQL_MAX_BYTES: i32 = 16 << 20;

/// Longest text or blob, in bytes: what a `SELECT zeroblob(...)` can make the process allocate at
/// once.
pub(super) const VALUE_MAX_BYTES: i32 = 64 << 20;

/// Largest result, in bytes: it is in memory before it is sent.
pub(super) const RESULT_MAX_BYTES: usize = 256 << 20;

/// Longest time of one statement: others wait for it.
pub(super) const STATEMENT_TIME_MAX: Duration = Duration::from_mins(1);

/// Instructions of SQLite's machine between two moments in which other threads may have the
/// processor, and at which it is seen whether a statement takes too long: some tens of
/// microseconds.
pub(super) const PERIOD_OPS: i32 = 1_000;

/// Largest database in memory, in pages of 4 KiB: 1 GiB. 50,000 users take 10 MiB.
pub(super) const MEMORY_MAX_PAGES: u32 = 262_144;

/// Longest time of one statement of a statistics account: others of the kind wait for it.
pub(super) const STATISTICS_TIME_MAX: Duration = Duration::from_secs(10);

/// Most memory of statements of statistics accounts, in bytes: what SQLite takes for the one that
/// runs, and the answers that clients have not read yet.
pub(super) const STATISTICS_BYTES_MAX: usize = 24 << 20;

/// Longest text or blob in a statement of a statistics account, in bytes.
pub(super) const STATISTICS_VALUE_MAX_BYTES: i32 = 1 << 20;

/// As [`PERIOD_OPS`], for statements of statistics accounts: each operation may take
/// [`STATISTICS_VALUE_MAX_BYTES`] before the memory is looked at.
pub(super) const STATISTICS_PERIOD_OPS: i32 = 16;
