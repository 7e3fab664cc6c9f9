//! The limits of this crate, each with its unit and its reason.

/// Bytes of one shard that wait for the rows of others. A row that is larger is kept as a whole.
pub(crate) const SCATTER_SHARD_BYTES_MAX: usize = 64 * 1024;

/// Bytes of rows that wait because a session runs several statements of one scatter, one after the
/// other, and rows are sorted: those of all shards but the last one of each session.
pub(crate) const SCATTER_KEPT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Bytes of a merged reply that are made before the client has taken those in front. The last row
/// may exceed them.
pub(crate) const SCATTER_OUT_BYTES_MAX: usize = 64 * 1024;

/// Bytes of the definitions of columns of one shard: a table has 4,096 columns, and each definition
/// has five names of at most 256 bytes.
pub(crate) const SCATTER_DEFINITIONS_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Bytes of packets with lines of a file that one shard has not taken, from which on the client is
/// not read. What was read before may exceed them.
pub(crate) const LOAD_SHARD_BYTES_MAX: usize = 64 * 1024;
