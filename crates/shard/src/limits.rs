//! The limits of this crate, each with its unit and its reason.

/// Shards of one table. More would make a statement without a key too many statements.
pub const SHARDS_MAX: usize = 16_384;

/// Intervals of one table: several may share a shard.
pub const INTERVALS_MAX: usize = 65_536;

/// Points of a consistent hash ring, all shards together.
pub const RING_POINTS_MAX: usize = 1 << 20;

/// Combinations of the values in lists of several key columns that are looked up.
pub const COMBINATIONS_MAX: usize = 256;

/// Key columns of one expression: each doubles the types that are tried.
pub const COLUMNS_MAX: usize = 4;

/// Bytes of an inline expression.
pub const EXPRESSION_BYTES_MAX: usize = 4_096;

/// Nesting of parentheses and calls in an inline expression.
pub const EXPRESSION_DEPTH_MAX: usize = 32;

/// Bytes of the name that an expression computes: MySQL's names have 64 characters.
pub const NAME_BYTES_MAX: usize = 512;

/// Nesting of a YAML document. The files that are read need eight.
pub const YAML_DEPTH_MAX: usize = 32;

/// Nodes of a YAML document, aliases counted each time.
pub const YAML_NODES_MAX: usize = 1 << 20;

/// Ids of a segment. A restart loses those of a segment that are left.
pub const STEP_MAX: u32 = 1_000_000;

/// Largest number of a worker in a snowflake id: 10 bits.
pub const WORKER_MAX: u16 = 1_023;

/// Largest counter of a millisecond in a snowflake id: 12 bits.
pub const COUNTER_MAX: u16 = 4_095;

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
