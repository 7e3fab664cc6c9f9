//! `INSERT ... SELECT`: rows stay in the shards that they are read from.
//!
//! Each key column of the table gets a column of the query: the rows of a shard then belong to the
//! shard with the same number of a colocated table. Or it gets a constant, and all rows are in one.

use shard::Value;
use sql::parse::{Kind, NodeId};

use crate::plan::bind::Bound;
use crate::plan::columns::{self, ColumnOf};
use crate::plan::facts::{self, Equality};
use crate::plan::merging::Query;
use crate::plan::outcome::{Counts, Plan, Write};
use crate::plan::refusal::Cause;
use crate::plan::rewrite::Rewriter;
use crate::plan::steady::{self, Rows};
use crate::plan::{Refusal, change, everywhere, text};

use super::{Insertion, ids, values};

/// What a query yields for a column.
#[derive(Clone, Debug, PartialEq)]
enum Item<'a> {
    Column(ColumnOf),
    Constant(Value<'a>),
    Other,
}

/// Plans the statement.
pub(super) fn plan(insertion: &Insertion<'_, '_>, query: NodeId) -> Result<Plan, Refusal> {
    let Insertion { request, uses, statement, target, table, .. } = *insertion;
    let tree = request.tree;
    if table.placement().is_none() {
        match ids::column(insertion) {
            Some(_) => return Err(Cause::Ids.at(tree.span(query))),
            None => return everywhere::plan(request, uses, statement, target),
        }
    }
    let query = Query::within(request, uses, query)?;
    let items = items(&query)?;
    let (columns, _) = values::columns(insertion)?;
    if items.len() != columns.len() {
        return Err(Cause::Columns.at(tree.span(query.block)));
    }
    let of = |name: &str| {
        let at = columns.iter().position(|column| *column == name.to_lowercase());
        at.and_then(|at| items.get(at)).unwrap_or(&Item::Other)
    };
    if let Some((column, _)) = ids::column(insertion)
        && !has_id(&query, of(column))
    {
        return Err(Cause::Ids.at(tree.span(query.block)));
    }
    let keys: Vec<_> = table.key_columns().iter().map(|name| (name.as_str(), of(name))).collect();
    plan_query(insertion, &query, &keys)
}

fn plan_query(
    insertion: &Insertion<'_, '_>,
    query: &Query<'_, '_>,
    keys: &[(&str, &Item<'_>)],
) -> Result<Plan, Refusal> {
    let Insertion { request, uses, statement, target, table, .. } = *insertion;
    let tree = request.tree;
    let gather = Cause::Gather.at(tree.span(query.block));
    let mut facts = facts::of(request, uses);
    facts.equalities.extend(keys.iter().flat_map(|key| equalities(insertion, query, key)));
    let mut bound = Bound::of(request, uses, &facts);
    let mut stored = Vec::with_capacity(keys.len());
    for (name, item) in keys {
        let column = ColumnOf { table: target, name: name.to_lowercase() };
        if let Item::Constant(value) = item {
            stored.push((columns::compares(request, uses, &column), *value));
        } else if !matches!(item, Item::Column(_)) {
            return Err(gather);
        }
    }
    if stored.len() == keys.len() {
        let placement = table.placement().ok_or(gather)?;
        let refused = |reason| Cause::Row(reason).at(tree.span(query.block));
        bound.place(target, placement.place(&stored).map_err(refused)?);
    } else if !stored.is_empty() {
        return Err(gather);
    }
    let rewriter = Rewriter::new(request, uses);
    if let Some(places) = bound.one_server(request, uses) {
        return rewriter.one(&places, &[]).map(Plan::One);
    }
    query.check_tables().map_err(|_| gather)?;
    let (shards, why) = bound.shards(request, uses).map_err(|_| gather)?;
    query.check_clauses()?;
    change::check_clauses(request, statement)?;
    if let Some(limit) = tree.children(query.whole).find(|id| matches!(tree.kind(*id), Kind::Limit { .. })) {
        return Err(Cause::SomeRows.at(tree.span(limit)));
    }
    query.check_groups()?;
    steady::check(request, Rows::Apart)?;
    let branches = rewriter.many(&shards, &[])?;
    Ok(Plan::Write(Write { branches, rows: Vec::new(), counts: Counts::Sum, ids: None, why }))
}

/// The columns that a select list yields.
fn items<'a>(query: &Query<'_, 'a>) -> Result<Vec<Item<'a>>, Refusal> {
    let (request, tree) = (query.request, query.request.tree);
    let refused = Cause::Gather.at(tree.span(query.block));
    let list = tree.child(query.block, Kind::Items).ok_or(refused)?;
    let mut found = Vec::new();
    for id in tree.children(list) {
        if tree.kind(id) == Kind::Star {
            // Those of the only table; of several the order is that of the joins.
            let mut tables = query.uses.of_block(query.block);
            let (Some((table, used)), None) = (tables.next(), tables.next()) else { return Err(refused) };
            let is_whole = tree.child(query.block, Kind::From).is_some_and(|from| {
                let mut tables = tree.children(from);
                tables.next().is_some_and(|id| tree.kind(id) == Kind::Table) && tables.next().is_none()
            });
            let known = request.definitions.columns(&used.schema, &used.name).filter(|_| is_whole);
            let column = |name: &str| Item::Column(ColumnOf { table, name: name.to_lowercase() });
            found.extend(known.ok_or(refused)?.iter().map(|info| column(&info.name)));
            continue;
        }
        let Some(expression) = tree.children(id).next() else { return Err(refused) };
        found.push(match columns::of(request, query.uses, expression) {
            Some(column) => Item::Column(column),
            None => text::constant(request, expression).map_or(Item::Other, Item::Constant),
        });
    }
    Ok(found)
}

/// Whether each row has an id: that of the column whose ids a server or a sequence made.
fn has_id(query: &Query<'_, '_>, item: &Item<'_>) -> bool {
    let Item::Column(column) = item else { return false };
    let Some(used) = query.uses.get(column.table) else { return false };
    let request = query.request;
    let sequence = request.layout.sequence(&used.schema, &used.name).map(|sequence| sequence.column.as_str());
    let made = sequence.or_else(|| request.definitions.auto_increment(&used.schema, &used.name));
    !used.is_nullable(request.tree, &query.uses.budget)
        && made.is_some_and(|made| made.eq_ignore_ascii_case(&column.name))
}

/// The equalities of a key of the table with the column that the query yields for it, if the server
/// stores each of its values unchanged.
fn equalities(
    insertion: &Insertion<'_, '_>,
    query: &Query<'_, '_>,
    (name, item): &(&str, &Item<'_>),
) -> Vec<Equality> {
    let Insertion { request, uses, target, .. } = *insertion;
    let (Item::Column(from), Some(source)) = (item, source(query, item)) else { return Vec::new() };
    let to = ColumnOf { table: target, name: name.to_lowercase() };
    let is_own = source.reference.block == query.block && !source.is_nullable(request.tree, &uses.budget);
    if !is_own || columns::compares(request, uses, from) != columns::compares(request, uses, &to) {
        return Vec::new();
    }
    let back = Equality { from: to.clone(), to: from.clone() };
    vec![Equality { from: from.clone(), to }, back]
}

fn source<'q>(query: &'q Query<'_, '_>, item: &Item<'_>) -> Option<&'q crate::plan::uses::Use<'q>> {
    let Item::Column(column) = item else { return None };
    query.uses.get(column.table)
}
