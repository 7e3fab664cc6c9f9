//! Columns of derived tables, and the columns of tables that they are.
//!
//! A condition on a column of a derived table is one on the column behind it, if the rows of the
//! derived table that meet it come of rows that meet it, and of no others: a plain column of its
//! one query block, of its `GROUP BY` if there is one, without `LIMIT`, windows and the like.

use sql::parse::{Kind, NodeId, Step};

use super::columns::{self, ColumnOf, DEPTH_MAX};
use super::uses::{self, Uses};
use super::{Request, text};

/// A column of a table, seen from a query block.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    /// The column.
    pub(super) column: ColumnOf,
    /// What the block has of it: the table's name, or the derived table.
    pub(super) seen: NodeId,
    /// An outer join may give a row without a row of it.
    pub(super) is_nullable: bool,
}

impl Origin {
    /// A column of this number among the uses, seen in its own block.
    fn of_table(request: &Request<'_>, uses: &Uses<'_>, column: ColumnOf) -> Option<Self> {
        let table = uses.get(column.table)?;
        let is_nullable = table.is_nullable(request.tree, &uses.budget);
        Some(Self { column, seen: table.reference.id, is_nullable })
    }
}

/// The column behind a node, through derived tables; nothing if the node is no column, or the
/// column's rows are not those behind it.
pub(super) fn of(request: &Request<'_>, uses: &Uses<'_>, id: NodeId) -> Option<Origin> {
    within(request, uses, id, DEPTH_MAX)
}

/// Those of the plain columns among the children of a clause, or of their items.
pub(super) fn all(request: &Request<'_>, uses: &Uses<'_>, clause: NodeId) -> Vec<Origin> {
    let tree = request.tree;
    let expression = |id: NodeId| match tree.kind(id) {
        Kind::Item | Kind::Ordering { .. } => tree.children(id).next().unwrap_or(id),
        _ => id,
    };
    tree.children(clause).map(expression).filter_map(|id| of(request, uses, id)).collect()
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
            let table = uses.number_of(seen)?;
            Origin::of_table(request, uses, ColumnOf { table, name: name.to_owned() })
        }
        Kind::Derived { .. } => behind(request, uses, reference, name, depth),
        _ => None,
    }
}

fn within(request: &Request<'_>, uses: &Uses<'_>, id: NodeId, depth: usize) -> Option<Origin> {
    let tree = request.tree;
    let id = text::without_parens(tree, id);
    if let Some(column) = columns::of(request, uses, id) {
        return Origin::of_table(request, uses, column);
    }
    if tree.kind(id) != Kind::Column {
        return None;
    }
    let names: Vec<_> = tree.children(id).map(|name| text::name(request.sql, tree.span(name))).collect();
    let block = columns::block_of(tree, id)?;
    let (derived, name) = match names.as_slice() {
        [name] => (columns::with(request, uses, block, name)?, name),
        [shown, name] => (columns::shown(request, uses, block, shown)?, name),
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
    let block = whole_block(request, derived)?;
    let depth = depth.checked_sub(1)?;
    let items = tree.child(block, Kind::Items)?;
    let is_called = |item: &NodeId| uses.budget.take(1) && is_called(request, *item, name);
    let mut meant = tree.children(items).filter(is_called);
    let origin = match (meant.next(), meant.next()) {
        (Some(item), None) => within(request, uses, tree.children(item).next()?, depth)?,
        (Some(_), Some(_)) => return None,
        (None, _) => of_star(request, uses, block, name, depth)?,
    };
    let is_nullable = origin.is_nullable
        || tree.block(derived).is_none_or(|around| uses::is_nullable(tree, &uses.budget, derived, around));
    keeps_rows(request, uses, block, &origin.column).then_some(Origin {
        seen: derived,
        is_nullable,
        ..origin
    })
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
    let tables = uses.references(tree, block);
    let is_of_all = tree.children(star).next().is_none() || tables.len() == 1;
    if items.next().is_some() || !is_of_all {
        return None;
    }
    let mut found = None;
    for table in tables {
        let names = columns::names_of(request, uses, *table, depth)?;
        if names.contains(name) && found.replace(table).is_some() {
            return None;
        }
    }
    side(request, uses, *found?, name, depth)
}

/// Whether the rows of a block that have a value of this column come of all rows of the column's
/// table that have it, and of no others.
fn keeps_rows(request: &Request<'_>, uses: &Uses<'_>, block: NodeId, column: &ColumnOf) -> bool {
    let tree = request.tree;
    let is_group = |id: NodeId| {
        let expression = tree.children(id).next().unwrap_or(id);
        uses.budget.take(1) && of(request, uses, expression).is_some_and(|group| group.column == *column)
    };
    let groups = tree.child(block, Kind::GroupBy { rollup: false });
    is_row_by_row(request, uses, block) && groups.is_none_or(|groups| tree.children(groups).any(is_group))
}

/// Whether a row of a block depends on its own rows alone, which are those of its group if it has
/// groups.
pub(super) fn is_row_by_row(request: &Request<'_>, uses: &Uses<'_>, block: NodeId) -> bool {
    if let Some(known) = uses.row_by_row.borrow().get(&block) {
        return *known;
    }
    let found = uses.budget.take(request.tree.len() / 8) && depends_on_its_rows(request, block);
    uses.row_by_row.borrow_mut().insert(block, found);
    found
}

fn depends_on_its_rows(request: &Request<'_>, block: NodeId) -> bool {
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
    let has_groups = tree.child(block, Kind::GroupBy { rollup: false }).is_some();
    let is_refused = |id: NodeId| match tree.kind(id) {
        Kind::WindowCall | Kind::UserVariable | Kind::Sequence => true,
        Kind::Aggregate | Kind::Having => !has_groups && columns::block_of(tree, id) == Some(block),
        Kind::Function => tree.span(id).of(request.sql).eq_ignore_ascii_case(b"ROWNUM"),
        _ => false,
    };
    tree.children(block).all(is_plain)
        && !tree.walk(block).any(|step| matches!(step, Step::Enter(id) if is_refused(id)))
}

/// The query block of a derived table all of whose rows can be seen: it has no `LIMIT`, and is no
/// set operation.
pub(super) fn whole_block(request: &Request<'_>, derived: NodeId) -> Option<NodeId> {
    let tree = request.tree;
    let (query, block) = columns::behind(tree, derived)?;
    let is_plain = |id: NodeId| matches!(tree.kind(id), Kind::Select | Kind::OrderBy);
    let is_whole =
        tree.kind(derived) == Kind::Derived { lateral: false } && tree.children(query).all(is_plain);
    is_whole.then_some(block)
}
