//! What is to be done with a statement that may be about sharded tables.

use legs::shards::role::Place;
use planner::plan::{Branch, Limited, Load, Wanted};
use runtime::gates::TableName;
use runtime::scattered::Scattered;

/// What is to be done with a statement.
#[derive(Debug)]
pub(super) enum Way {
    /// It runs at home.
    Home,
    /// It asks about a statement that has run there.
    At(Place),
    /// It runs at one shard.
    One {
        /// What the shard gets.
        branch: Branch,
        /// It changes a table that is on this node only, so that its server may make an id.
        is_single: bool,
    },
    /// Several shards run it.
    Many(Box<Scattered>),
    /// Several shards change their first rows; the tables that it names.
    Limited(Box<Limited>, Vec<TableName>),
    /// Several shards load a file of the client; the tables that it names.
    Load(Box<Load>, Vec<TableName>),
    /// Its rows need ids first.
    NeedsIds(Wanted),
}

impl Way {
    /// Whether shards run the statement, in the transaction if one is open.
    pub(super) const fn enters_shards(&self) -> bool {
        matches!(self, Self::One { .. } | Self::Many(_) | Self::Limited(..) | Self::Load(..))
    }
}
