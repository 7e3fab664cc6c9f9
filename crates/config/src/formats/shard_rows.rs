//! Rows of the tables `pointsman_shard_...` that a file gives, whatever its form.

use crate::schema::{
    POINTSMAN_SHARD_GROUPS, POINTSMAN_SHARD_HOMES, POINTSMAN_SHARD_NODES, POINTSMAN_SHARD_SEQUENCES,
    POINTSMAN_SHARD_TABLES, Section,
};
use crate::tree::Node;

/// Rows of each section.
#[derive(Default)]
pub(super) struct ShardRows {
    pub(super) tables: Vec<Node>,
    pub(super) nodes: Vec<Node>,
    pub(super) groups: Vec<Node>,
    pub(super) sequences: Vec<Node>,
    pub(super) homes: Vec<Node>,
}

impl ShardRows {
    /// The sections with their rows; some may have none.
    pub(super) fn sections(self) -> [(&'static Section, Vec<Node>); 5] {
        [
            (&POINTSMAN_SHARD_TABLES, self.tables),
            (&POINTSMAN_SHARD_NODES, self.nodes),
            (&POINTSMAN_SHARD_GROUPS, self.groups),
            (&POINTSMAN_SHARD_SEQUENCES, self.sequences),
            (&POINTSMAN_SHARD_HOMES, self.homes),
        ]
    }
}
