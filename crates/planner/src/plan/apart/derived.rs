//! Derived tables that each shard makes of its own rows.

use sql::parse::{Kind, NodeId};

use super::distinct;
use crate::plan::uses::{self, Uses};
use crate::plan::{Request, bind, columns, origin};

/// Whether each row of a query block needs a row of a sharded table: one of the block itself, or of
/// a derived table whose rows are those of one shard each.
pub(super) fn has_shards(request: &Request<'_>, uses: &Uses<'_>, block: NodeId) -> bool {
    has_shards_within(request, uses, block, columns::DEPTH_MAX)
}

fn has_shards_within(request: &Request<'_>, uses: &Uses<'_>, block: NodeId, depth: usize) -> bool {
    let tree = request.tree;
    let own =
        |(_, table): (usize, &uses::Use<'_>)| table.is_sharded() && !table.is_nullable(tree, &uses.budget);
    let is_part = |id: &NodeId| {
        !uses::is_nullable(tree, &uses.budget, *id, block) && is_apart(request, uses, *id, depth)
    };
    uses.of_block(block).any(own) || uses.references(tree, block).iter().any(is_part)
}

/// Whether each row of a derived table comes of rows of one shard, and needs one there.
fn is_apart(request: &Request<'_>, uses: &Uses<'_>, derived: NodeId, depth: usize) -> bool {
    let tree = request.tree;
    let Some((block, depth)) = origin::whole_block(request, derived).zip(depth.checked_sub(1)) else {
        return false;
    };
    let has_key = |clause| bind::has_key(request, uses, block, &origin::all(request, uses, clause));
    let groups = tree.child(block, Kind::GroupBy { rollup: false });
    let items = distinct(request, block).and_then(|_| tree.child(block, Kind::Items));
    origin::is_row_by_row(request, uses, block)
        && groups.is_none_or(has_key)
        && (items.is_none() || groups.is_none())
        && items.is_none_or(has_key)
        && has_shards_within(request, uses, block, depth)
}
