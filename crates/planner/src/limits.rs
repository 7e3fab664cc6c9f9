//! The limits of this crate, each with its unit and its reason.

/// Shards that `EXPLAIN ROUTE` lists.
pub const EXPLAINED_SHARDS_MAX: usize = 64;

/// Bytes of a text in a row of `EXPLAIN ROUTE`.
pub const EXPLAINED_BYTES_MAX: usize = 1_024;

/// Bytes of the answer that defines a table. The widest table of the servers has 4,096 columns.
pub const DEFINITION_BYTES_MAX: usize = 8 << 20;

/// Collations that one statement asks for.
pub const COLLATIONS_MAX: usize = 32;

/// Bytes of the weights of one letter, whatever expands: a ligature of 18 letters has two bytes for
/// each of them.
pub const LETTER_BYTES_MAX: u64 = 40;

/// Rows of several servers that one `UPDATE` or `DELETE` with `ORDER BY` and `LIMIT` changes: their
/// keys are kept, and their locks held, until it ends.
pub const CHANGED_ROWS_MAX: u64 = 10_000;

/// Rows that one statement for a shard names by their keys. Servers look up so many ranges at once.
pub const PIECE_ROWS: usize = 500;
