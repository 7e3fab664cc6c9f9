//! Columns of derived tables, and the columns of tables that they are.
//!
//! A condition on a column of a derived table is one on the column behind it, if the rows of the
//! derived table that meet it come of rows that meet it, and of no others: a plain column of its
//! one query block, of its `GROUP BY` if there is one, without `LIMIT`, windows and the like.

use sql::parse::{Kind, NodeId, Step};

use super::columns::{self, ColumnOf, DEPTH_MAX};
use super::uses::Uses;
use super::{Request, text};

/// A column of a table, seen from a query block.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    /// The column.
    pub(super) column: ColumnOf,
    /// What the block has of it: the table's name, or the derived table.
    pub(super) seen: NodeId,
}

/// The column behind a node, through derived tables; nothing if the node is no column, or the
/// column's rows are not those behind it.
pub(super) fn of(request: &Request<'_>, uses: &Uses<'_>, id: NodeId) -> Option<Origin> {
    within(request, uses, id, DEPTH_MAX)
}

/// The column of this name, in lower case, of a table reference in a join.
pub(super) fn named(request: &Request<'_>, uses: &Uses<'_>, reference: NodeId, name: &str) -> Option<Origin> {
    side(request, uses, reference, name, DEPTH_MAX)
}

fn side(
    request: &Request<'_>,
    uses: &Uses<'_>,
    reference: NodeId,
    name: &str,
    depth: usize,
) -> Option<Origin> {
    let tree = request.tree;
    match tree.kind(reference) {
        Kind::Table => {
            let seen = tree.child(reference, Kind::TableName)?;
            let table = uses.all().iter().position(|table| table.reference.id == seen)?;
            Some(Origin { column: ColumnOf { table, name: name.to_owned() }, seen })
        }
        Kind::Derived { .. } => behind(request, uses, reference, name, depth),
        _ => None,
    }
}

fn within(request: &Request<'_>, uses: &Uses<'_>, id: NodeId, depth: usize) -> Option<Origin> {
    let tree = request.tree;
    let id = text::without_parens(tree, id);
    if let Some(column) = columns::of(request, uses, id) {
        let seen = uses.get(column.table)?.reference.id;
        return Some(Origin { column, seen });
    }
    if tree.kind(id) != Kind::Column {
        return None;
    }
    let names: Vec<_> = tree.children(id).map(|name| text::name(request.sql, tree.span(name))).collect();
    let block = columns::block_of(tree, id)?;
    let (derived, name) = match names.as_slice() {
        [name] => (columns::with(request, uses, block, name)?, name),
        [shown, name] => (columns::shown(request, block, shown)?, name),
        _ => return None,
    };
    behind(request, uses, derived, &name.to_lowercase(), depth)
}

/// The column behind one of a derived table.
fn behind(
    request: &Request<'_>,
    uses: &Uses<'_>,
    derived: NodeId,
    name: &str,
    depth: usize,
) -> Option<Origin> {
    let tree = request.tree;
    let (query, block) = columns::behind(tree, derived)?;
    let depth = depth.checked_sub(1)?;
    let is_plain = |id: &NodeId| matches!(tree.kind(*id), Kind::Select | Kind::OrderBy);
    let is_whole = tree.kind(derived) == Kind::Derived { lateral: false }
        && tree.children(query).all(|id| is_plain(&id));
    if !is_whole {
        return None;
    }
    let items = tree.child(block, Kind::Items)?;
    let mut meant = tree.children(items).filter(|item| is_called(request, *item, name));
    let origin = match (meant.next(), meant.next()) {
        (Some(item), None) => within(request, uses, tree.children(item).next()?, depth)?,
        (Some(_), Some(_)) => return None,
        (None, _) => of_star(request, uses, block, name, depth)?,
    };
    keeps_rows(request, uses, block, &origin.column).then_some(Origin { seen: derived, ..origin })
}

/// Whether an item of a select list has this name, in lower case.
fn is_called(request: &Request<'_>, item: NodeId, name: &str) -> bool {
    columns::name_of_item(request, item).is_some_and(|own| own == name)
}

/// The column of this name if the select list is `*`, and one table of the block has it.
fn of_star(
    request: &Request<'_>,
    uses: &Uses<'_>,
    block: NodeId,
    name: &str,
    depth: usize,
) -> Option<Origin> {
    let tree = request.tree;
    let mut items = tree.children(tree.child(block, Kind::Items)?);
    let star = items.next().filter(|id| tree.kind(*id) == Kind::Star)?;
    let tables: Vec<_> = columns::references(tree, block).collect();
    let is_of_all = tree.children(star).next().is_none() || tables.len() == 1;
    if items.next().is_some() || !is_of_all {
        return None;
    }
    let mut found = None;
    for table in tables {
        let names = columns::names_of(request, uses, table, depth)?;
        if names.iter().any(|own| own == name) && found.replace(table).is_some() {
            return None;
        }
    }
    side(request, uses, found?, name, depth)
}

/// Whether the rows of a block that have a value of this column come of all rows of the column's
/// table that have it, and of no others.
fn keeps_rows(request: &Request<'_>, uses: &Uses<'_>, block: NodeId, column: &ColumnOf) -> bool {
    let tree = request.tree;
    let is_plain = |id: NodeId| {
        matches!(
            tree.kind(id),
            Kind::Items
                | Kind::From
                | Kind::Where
                | Kind::Option
                | Kind::Hint
                | Kind::GroupBy { rollup: false }
                | Kind::Having
        )
    };
    if !tree.children(block).all(is_plain) {
        return false;
    }
    let groups = tree.child(block, Kind::GroupBy { rollup: false });
    let is_group = |id: NodeId| {
        let expression = tree.children(id).next().unwrap_or(id);
        of(request, uses, expression).is_some_and(|group| group.column == *column)
    };
    if groups.is_some_and(|groups| !tree.children(groups).any(is_group)) {
        return false;
    }
    let is_refused = |id: NodeId| match tree.kind(id) {
        Kind::WindowCall | Kind::UserVariable | Kind::Sequence => true,
        Kind::Aggregate | Kind::Having => groups.is_none() && columns::block_of(tree, id) == Some(block),
        Kind::Function => tree.span(id).of(request.sql).eq_ignore_ascii_case(b"ROWNUM"),
        _ => false,
    };
    !tree.walk(block).any(|step| matches!(step, Step::Enter(id) if is_refused(id)))
}
