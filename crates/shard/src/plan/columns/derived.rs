//! Derived tables, and the names of their columns.

use sql::parse::{Kind, NodeId, Step, Tree};

use super::columns;
use crate::plan::uses::Uses;
use crate::plan::{Request, text};

/// Derived tables within each other that are looked into.
pub(in crate::plan) const DEPTH_MAX: usize = 16;

/// The tables of a block that are derived, common ones, or `JSON_TABLE`s.
pub(super) fn of_block<'a>(
    request: &Request<'a>,
    uses: &'a Uses<'_>,
    block: NodeId,
) -> impl Iterator<Item = NodeId> + use<'a> {
    let tree = request.tree;
    let is_common = |id: NodeId| {
        let name = tree.child(id, Kind::TableName);
        name.is_some_and(|name| uses.all().iter().all(|table| table.reference.id != name))
    };
    references(tree, block).filter(move |id| tree.kind(*id) != Kind::Table || is_common(*id))
}

/// The `Query` of a derived table, and its query block if it is one.
pub(in crate::plan) fn behind(tree: &Tree, derived: NodeId) -> Option<(NodeId, NodeId)> {
    let query = tree.child(tree.child(derived, Kind::Subquery)?, Kind::Query)?;
    Some((query, tree.child(query, Kind::Select)?))
}

/// The name of an item of a select list, in lower case; nothing if it is an expression without an
/// alias, or a star.
pub(in crate::plan) fn name_of_item(request: &Request<'_>, item: NodeId) -> Option<String> {
    let tree = request.tree;
    let alias = tree.child(item, Kind::Alias);
    let named = alias.or_else(|| {
        let column = tree.children(item).next().filter(|id| tree.kind(*id) == Kind::Column)?;
        tree.children(column).last()
    })?;
    (tree.kind(item) == Kind::Item).then(|| text::name(request.sql, tree.span(named)).to_lowercase())
}

/// The table references of a query block.
pub(in crate::plan) fn references(tree: &Tree, block: NodeId) -> impl Iterator<Item = NodeId> + '_ {
    tree.walk(block).filter_map(move |step| match step {
        Step::Enter(id) => {
            let is_one = matches!(tree.kind(id), Kind::Table | Kind::Derived { .. } | Kind::JsonTable);
            (is_one && tree.block(id) == Some(block)).then_some(id)
        }
        Step::Leave(_) => None,
    })
}

/// The names of all columns of a table reference, in lower case; nothing if they are not known. Of
/// a derived table there may be some more, and names that no statement could have are left out.
pub(in crate::plan) fn names_of(
    request: &Request<'_>,
    uses: &Uses<'_>,
    reference: NodeId,
    depth: usize,
) -> Option<Vec<String>> {
    let tree = request.tree;
    if tree.kind(reference) == Kind::Table {
        let name = tree.child(reference, Kind::TableName)?;
        let table = uses.all().iter().find(|table| table.reference.id == name)?;
        let columns = columns(request, table)?;
        return Some(columns.iter().map(|info| info.name.to_lowercase()).collect());
    }
    let (_, block) = behind(tree, reference)?;
    let depth = depth.checked_sub(1).filter(|_| tree.child(reference, Kind::Columns).is_none())?;
    let mut names = Vec::new();
    for item in tree.children(tree.child(block, Kind::Items)?) {
        if tree.kind(item) == Kind::Star {
            for inner in references(tree, block) {
                names.extend(names_of(request, uses, inner, depth)?);
            }
        } else {
            let text = || String::from_utf8_lossy(tree.span(item).of(request.sql)).to_lowercase();
            names.push(name_of_item(request, item).unwrap_or_else(text));
        }
    }
    Some(names)
}

/// The one derived table of a block that has a column of this name, if no table of the block may
/// have one.
pub(in crate::plan) fn with(
    request: &Request<'_>,
    uses: &Uses<'_>,
    block: NodeId,
    name: &str,
) -> Option<NodeId> {
    let name = name.to_lowercase();
    for (_, table) in uses.of_block(block) {
        if columns(request, table)?.iter().any(|info| info.name.eq_ignore_ascii_case(&name)) {
            return None;
        }
    }
    let mut found = None;
    for derived in of_block(request, uses, block) {
        if names_of(request, uses, derived, DEPTH_MAX)?.contains(&name) && found.replace(derived).is_some() {
            return None;
        }
    }
    found
}

/// The one derived table of a block that is shown by this name, in the same case.
pub(in crate::plan) fn shown(request: &Request<'_>, block: NodeId, name: &str) -> Option<NodeId> {
    let tree = request.tree;
    let is_meant = |id: NodeId| {
        let alias = tree.child(id, Kind::Alias).map(|id| text::name(request.sql, tree.span(id)));
        alias.is_some_and(|alias| alias == name)
    };
    let is_derived = |id: &NodeId| matches!(tree.kind(*id), Kind::Derived { .. });
    let mut meant = references(tree, block).filter(is_derived).filter(|id| is_meant(*id));
    meant.next().filter(|_| meant.next().is_none())
}
