//! Derived tables, and the names of their columns.

use std::collections::HashSet;
use std::rc::Rc;

use sql::parse::{Kind, NodeId, Tree};

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
        name.is_some_and(|name| uses.number_of(name).is_none())
    };
    let all = uses.references(tree, block).iter().copied();
    all.filter(move |id| tree.kind(*id) != Kind::Table || is_common(*id))
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

/// Names of columns, in lower case.
pub(in crate::plan) type Names = HashSet<String>;

/// The names of all columns of a table reference, in lower case; nothing if they are not known. Of
/// a derived table there may be some more, and names that no statement could have are left out.
pub(in crate::plan) fn names_of(
    request: &Request<'_>,
    uses: &Uses<'_>,
    reference: NodeId,
    depth: usize,
) -> Option<Rc<Names>> {
    if let Some(known) = uses.names.borrow().get(&(reference, depth)) {
        return known.clone();
    }
    let names = find_names(request, uses, reference, depth).map(Rc::new);
    uses.names.borrow_mut().insert((reference, depth), names.clone());
    names
}

fn find_names(request: &Request<'_>, uses: &Uses<'_>, reference: NodeId, depth: usize) -> Option<Names> {
    let tree = request.tree;
    let taken = |count: usize| uses.budget.take(count).then_some(());
    if tree.kind(reference) == Kind::Table {
        let name = tree.child(reference, Kind::TableName)?;
        let columns = columns(request, uses.get(uses.number_of(name)?)?)?;
        taken(columns.len())?;
        return Some(columns.iter().map(|info| info.name.to_lowercase()).collect());
    }
    let (_, block) = behind(tree, reference)?;
    let depth = depth.checked_sub(1).filter(|_| tree.child(reference, Kind::Columns).is_none())?;
    let mut names = Names::new();
    for item in tree.children(tree.child(block, Kind::Items)?) {
        taken(1)?;
        if tree.kind(item) == Kind::Star {
            for inner in uses.references(tree, block) {
                let inner = names_of(request, uses, *inner, depth)?;
                taken(inner.len())?;
                names.extend(inner.iter().cloned());
            }
        } else {
            let text = || String::from_utf8_lossy(tree.span(item).of(request.sql)).to_lowercase();
            names.insert(name_of_item(request, item).unwrap_or_else(text));
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
        let columns = columns(request, table)?;
        let is_known = uses.budget.take(columns.len());
        if !is_known || columns.iter().any(|info| info.name.eq_ignore_ascii_case(&name)) {
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
pub(in crate::plan) fn shown(
    request: &Request<'_>,
    uses: &Uses<'_>,
    block: NodeId,
    name: &str,
) -> Option<NodeId> {
    let tree = request.tree;
    let is_meant = |id: NodeId| {
        let alias = tree.child(id, Kind::Alias).map(|id| text::name(request.sql, tree.span(id)));
        alias.is_some_and(|alias| alias == name)
    };
    let is_derived = |id: &NodeId| matches!(tree.kind(*id), Kind::Derived { .. });
    let all = uses.references(tree, block).iter().copied();
    let mut meant = all.filter(is_derived).filter(|id| is_meant(*id));
    meant.next().filter(|_| meant.next().is_none())
}
