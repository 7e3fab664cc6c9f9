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
