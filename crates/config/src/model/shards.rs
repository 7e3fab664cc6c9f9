//! What is configured about shards beside the layout.

/// What transactions may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum ShardTransactions {
    /// Rows of one shard: a second one that is written to is refused.
    #[default]
    Single,
    /// Rows of any shards: each commits for itself.
    BestEffort,
}
