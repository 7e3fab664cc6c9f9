//! Which table a column of a statement is of.

mod derived;

use shard::ColumnType;
use sql::parse::{Kind, NodeId, Tree};

use super::uses::{Use, Uses};
use super::{ColumnInfo, Request, text};

use derived::of_block;
pub(super) use derived::{DEPTH_MAX, Names, behind, name_of_item, names_of, shown, with};

/// A column of a table of the statement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ColumnOf {
    /// The number of the table among the [`Uses`].
    pub(super) table: usize,
    /// The column's name in lower case: names of columns have no case.
    pub(super) name: String,
}

/// The column that a node is; nothing if it is none, or its table is not certain.
pub(super) fn of(request: &Request<'_>, uses: &Uses<'_>, id: NodeId) -> Option<ColumnOf> {
    let tree = request.tree;
    let id = text::without_parens(tree, id);
    if tree.kind(id) != Kind::Column {
        return None;
    }
    let names: Vec<_> = tree.children(id).map(|name| text::name(request.sql, tree.span(name))).collect();
    let (schema, table, name) = match names.as_slice() {
        [name] => (None, None, name),
        [table, name] => (None, Some(table), name),
        [schema, table, name] => (Some(schema), Some(table), name),
        _ => return None,
    };
    let name = name.to_lowercase();
    let mut block = block_of(tree, id)?;
    loop {
        let found = match table {
            Some(table) => qualified(request, uses, block, schema.map(String::as_str), table),
            None => unqualified(request, uses, block, &name),
        };
        match found {
            Found::Table(table) => return Some(ColumnOf { table, name }),
            Found::Unclear => return None,
            Found::Outside => block = around(tree, block)?,
        }
    }
}

/// The query block whose columns a node can name. `ORDER BY` stands behind the block that it is of;
/// behind a set operation it is of none.
pub(super) fn block_of(tree: &Tree, id: NodeId) -> Option<NodeId> {
    let is_between =
        |id: &NodeId| matches!(tree.kind(*id), Kind::Derived { .. } | Kind::CommonTable | Kind::Subquery);
    let scope = tree.scopes(id).find(|id| !is_between(id))?;
    match tree.kind(scope) {
        Kind::Query => tree.child(scope, Kind::Select),
        _ => Some(scope),
    }
}

/// The block around a block, whose columns can be named in it too.
fn around(tree: &Tree, block: NodeId) -> Option<NodeId> {
    let query = tree.scopes(block).find(|id| tree.kind(*id) == Kind::Query);
    let inside = query.unwrap_or(block);
    let around = block_of(tree, inside)?;
    // A derived table and a common one do not see the tables beside them.
    let mut between = tree.scopes(inside).take_while(|id| *id != around && tree.kind(*id) != Kind::Query);
    let is_apart =
        between.any(|id| matches!(tree.kind(id), Kind::Derived { lateral: false } | Kind::CommonTable));
    (!is_apart).then_some(around)
}

/// Where a column was looked for.
enum Found {
    Table(usize),
    /// It may be of several, or of one whose columns are not known.
    Unclear,
    /// Not in this block: it is of one around it.
    Outside,
}

fn qualified(
    request: &Request<'_>,
    uses: &Uses<'_>,
    block: NodeId,
    schema: Option<&str>,
    shown: &str,
) -> Found {
    let is_meant = |table: &Use<'_>| {
        table.shown.eq_ignore_ascii_case(shown) && schema.is_none_or(|schema| schema == table.schema)
    };
    let mut meant = uses.of_block(block).filter(|(_, table)| is_meant(table));
    match (meant.next(), meant.next()) {
        // Whether aliases have a case depends on the server.
        (Some((_, table)), None) if table.shown != shown => Found::Unclear,
        (Some((number, _)), None) => Found::Table(number),
        (Some(_), Some(_)) => Found::Unclear,
        (None, _) if has_derived(request, uses, block, Some(shown)) => Found::Unclear,
        (None, _) => Found::Outside,
    }
}

/// Whether a block has a table that is derived, a common one, or a `JSON_TABLE`: with this alias,
/// or with any.
fn has_derived(request: &Request<'_>, uses: &Uses<'_>, block: NodeId, shown: Option<&str>) -> bool {
    let is_shown = |id: &NodeId| shown.is_none_or(|shown| is_shown(request, *id, shown));
    of_block(request, uses, block).any(|id| is_shown(&id))
}

/// Whether a table reference is shown by this name, in any case.
fn is_shown(request: &Request<'_>, id: NodeId, shown: &str) -> bool {
    let tree = request.tree;
    let alias = tree.child(id, Kind::Alias).or_else(|| tree.child(id, Kind::TableName));
    let name = alias.map(|alias| text::name(request.sql, tree.span(alias)));
    name.is_some_and(|name| name.eq_ignore_ascii_case(shown))
}

fn unqualified(request: &Request<'_>, uses: &Uses<'_>, block: NodeId, name: &str) -> Found {
    let tables: Vec<_> = uses.of_block(block).collect();
    let named = uses.named_in(block);
    // Columns of common tables are not known here.
    let lacks_it = |id| {
        let names = names_of(request, uses, id, DEPTH_MAX);
        names.is_some_and(|names| !names.contains(name))
    };
    if tables.len() != named || !of_block(request, uses, block).all(lacks_it) {
        return Found::Unclear;
    }
    match tables.as_slice() {
        [] => return Found::Outside,
        &[(number, _)] if is_outermost(request, uses, block) => return Found::Table(number),
        _ => {}
    }
    let has_it = |table: &Use<'_>| {
        let columns = columns(request, table)?;
        uses.budget.take(columns.len()).then(|| columns.iter().any(|info| is(info, name)))
    };
    let mut having = Vec::new();
    for (number, table) in tables {
        match has_it(table) {
            Some(true) => having.push(number),
            Some(false) => {}
            None => return Found::Unclear,
        }
    }
    match having.as_slice() {
        [number] => Found::Table(*number),
        [] => Found::Outside,
        _ => Found::Unclear,
    }
}

/// Whether no block around this one has tables.
fn is_outermost(request: &Request<'_>, uses: &Uses<'_>, block: NodeId) -> bool {
    let tree = request.tree;
    let mut all = std::iter::successors(around(tree, block), |block| around(tree, *block));
    all.all(|block| uses.of_block(block).next().is_none() && !has_derived(request, uses, block, None))
}

fn is(info: &ColumnInfo, name: &str) -> bool {
    info.name.eq_ignore_ascii_case(name)
}

/// The columns of a table, if they are known.
pub(super) fn columns<'a>(request: &Request<'a>, table: &Use<'_>) -> Option<&'a [ColumnInfo]> {
    request.definitions.columns(&table.schema, &table.name)
}

/// What is known of a column.
pub(super) fn info<'a>(request: &Request<'a>, uses: &Uses<'_>, column: &ColumnOf) -> Option<&'a ColumnInfo> {
    columns(request, uses.get(column.table)?)?.iter().find(|info| is(info, &column.name))
}

/// How a column compares.
pub(super) fn compares(request: &Request<'_>, uses: &Uses<'_>, column: &ColumnOf) -> ColumnType {
    info(request, uses, column).map_or(ColumnType::Unknown, |info| info.compares)
}
