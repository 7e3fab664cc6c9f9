//! A query that each shard executes for itself, and the order in which its rows are merged.

use std::collections::HashMap;

use shard::Value;
use sql::digest::Span;
use sql::parse::{Kind, Literal, NodeId};

use crate::merge::{Direction, Order, Part, Window};

use super::bind::Bound;
use super::columns;
use super::origin::{self, Origin};
use super::refusal::Cause;
use super::rewrite::{Edit, Rewriter};
use super::uses::Uses;
use super::{Refusal, Request, Scatter, Sorting, text};

/// The parts of a query whose shards' rows are merged.
pub(super) struct Query<'r, 'a> {
    pub(super) request: &'r Request<'a>,
    pub(super) uses: &'r Uses<'a>,
    /// The `Query`.
    pub(super) whole: NodeId,
    /// Its `Select`.
    pub(super) block: NodeId,
}

/// The select list of a query block.
struct Items {
    /// The items in front of the first star, and that star.
    plain: Vec<NodeId>,
    /// The first item of each alias, without its case.
    by_alias: HashMap<String, NodeId>,
}

impl Items {
    fn of(request: &Request<'_>, block: NodeId) -> Self {
        let tree = request.tree;
        let all = tree.child(block, Kind::Items).into_iter().flat_map(|items| tree.children(items));
        let (mut plain, mut by_alias, mut is_behind) = (Vec::new(), HashMap::new(), false);
        for item in all {
            if !is_behind {
                plain.push(item);
            }
            is_behind |= tree.kind(item) != Kind::Item;
            if let Some(alias) = tree.child(item, Kind::Alias) {
                let name = text::name(request.sql, tree.span(alias)).to_ascii_lowercase();
                by_alias.entry(name).or_insert(item);
            }
        }
        Self { plain, by_alias }
    }
}

/// Plans a query that each shard executes for itself.
pub(super) fn scatter(request: &Request<'_>, uses: &Uses<'_>, bound: &Bound) -> Result<Scatter, Refusal> {
    let query = Query::of(request, uses)?;
    query.check_tables()?;
    let (shards, why) = bound.shards(request, uses)?;
    query.check_clauses()?;
    query.check_functions()?;
    query.check_groups()?;
    let mut edits = Vec::new();
    let order = query.order(&mut edits)?;
    let window = query.window(&mut edits)?;
    let branches = Rewriter::new(request, uses).many(&shards, &edits)?;
    Ok(Scatter { branches, order, window, why })
}

impl<'r, 'a> Query<'r, 'a> {
    fn of(request: &'r Request<'a>, uses: &'r Uses<'a>) -> Result<Self, Refusal> {
        let tree = request.tree;
        let root = tree.root().ok_or(Cause::Statement.at(Span { start: 0, end: 0 }))?;
        let refused = |cause: Cause, id| Err(cause.at(tree.span(id)));
        let Some(statement) = tree.children(root).find(|id| !matches!(tree.kind(*id), Kind::With { .. }))
        else {
            return refused(Cause::Statement, root);
        };
        match tree.kind(statement) {
            Kind::Query => {}
            _ => return refused(Cause::Statement, statement),
        }
        Self::within(request, uses, statement)
    }

    /// A `Query` within a statement; its body has to be one query block.
    pub(super) fn within(
        request: &'r Request<'a>,
        uses: &'r Uses<'a>,
        statement: NodeId,
    ) -> Result<Self, Refusal> {
        let tree = request.tree;
        let refused = |cause: Cause, id| Err(cause.at(tree.span(id)));
        for child in tree.children(statement) {
            match tree.kind(child) {
                Kind::Select => return Ok(Self { request, uses, whole: statement, block: child }),
                Kind::SetOperation { .. } => return refused(Cause::SetOperation, child),
                _ => {}
            }
        }
        refused(Cause::Statement, statement)
    }

    fn end_of_items(&self) -> Result<usize, Refusal> {
        let tree = self.request.tree;
        let items = tree.child(self.block, Kind::Items);
        items.map(|id| tree.span(id).end).ok_or(Cause::Statement.at(tree.span(self.block)))
    }

    /// The order of the rows, and the hidden columns for it.
    fn order(&self, edits: &mut Vec<Edit>) -> Result<Order, Refusal> {
        let tree = self.request.tree;
        let Some(clause) = tree.child(self.whole, Kind::OrderBy) else { return Ok(Order::default()) };
        let at = self.end_of_items()?;
        let (items, mut parts) = (Items::of(self.request, self.block), Vec::new());
        // A hidden column must not make rows differ that DISTINCT takes for one.
        let shown = self.is_distinct().then(|| {
            tree.child(self.block, Kind::Items).map_or_else(Vec::new, |items| self.columns_of(items))
        });
        for id in tree.children(clause) {
            let Kind::Ordering { descending } = tree.kind(id) else { continue };
            let expression = tree.children(id).next().unwrap_or(id);
            let meant = self.column_meant(&items, expression);
            let meant = meant.and_then(|meant| Some((origin::of(self.request, self.uses, meant)?, meant)));
            let (origin, meant) = meant.ok_or(Cause::Order.at(tree.span(id)))?;
            let (hidden, pad) = self.hidden(&origin, meant).ok_or(Cause::Order.at(tree.span(id)))?;
            let is_same =
                |shown: &Vec<Origin>| shown.iter().any(|one| one.column == origin.column) && pad.is_none();
            self.uses.budget.take(shown.as_ref().map_or(1, Vec::len));
            if !shown.as_ref().is_none_or(is_same) {
                return Err(Cause::Order.at(tree.span(id)));
            }
            edits.push(Edit::insertion(at, format!(", {hidden} AS `pointsman_key_{}`", parts.len())));
            let direction = if descending { Direction::Descending } else { Direction::Ascending };
            parts.push(Part { direction, pad });
        }
        Ok(Order::new(parts))
    }

    /// The column that an expression of `ORDER BY` means: also by its alias, or by its number in
    /// the select list.
    fn column_meant(&self, items: &Items, expression: NodeId) -> Option<NodeId> {
        let tree = self.request.tree;
        let sql = self.request.sql;
        if tree.kind(expression) == Kind::Literal(Literal::Integer) {
            let number: usize = std::str::from_utf8(tree.span(expression).of(sql)).ok()?.parse().ok()?;
            // A star in front is of any number of columns.
            let item = items.plain.get(number.checked_sub(1)?)?;
            return tree.children(*item).next();
        }
        // An alias goes before a column of the same name.
        let names: Vec<_> = match tree.kind(expression) {
            Kind::Column => tree.children(expression).collect(),
            _ => return None,
        };
        if let &[name] = names.as_slice() {
            let name = text::name(sql, tree.span(name)).to_ascii_lowercase();
            if let Some(item) = items.by_alias.get(&name) {
                return tree.children(*item).next();
            }
        }
        Some(expression)
    }

    /// The name of a column, with what the query block calls its table.
    fn full_name(&self, origin: &Origin, column: NodeId) -> Option<String> {
        let (tree, sql) = (self.request.tree, self.request.sql);
        let written = |id: NodeId| text::name(sql, tree.span(id));
        if let Some(alias) = tree.child(origin.seen, Kind::Alias) {
            let name = tree.children(text::without_parens(tree, column)).last()?;
            return Some(format!("{}.{}", text::quoted(&written(alias)), text::quoted(&written(name))));
        }
        let info = columns::info(self.request, self.uses, &origin.column)?;
        let table = self.uses.get(origin.column.table)?;
        Some(format!("{}.{}", text::quoted(&table.shown), text::quoted(&info.name)))
    }

    /// The hidden expression that sorts as this column does, and the weight it is padded with.
    fn hidden(&self, origin: &Origin, column: NodeId) -> Option<(String, Option<Box<[u8]>>)> {
        let info = columns::info(self.request, self.uses, &origin.column)?;
        hidden(&info.sorts, &self.full_name(origin, column)?)
    }

    /// LIMIT and OFFSET, and the limit of each shard.
    fn window(&self, edits: &mut Vec<Edit>) -> Result<Window, Refusal> {
        let tree = self.request.tree;
        let Some(clause) = tree.child(self.whole, Kind::Limit { ties: false }) else {
            // Each shard has the session's limit, too.
            return Ok(self.request.asked.select_limit.map_or(Window::ALL, |limit| Window::new(0, limit)));
        };
        if tree.children(clause).any(|id| !matches!(tree.kind(id), Kind::Count | Kind::Offset)) {
            return Err(Cause::Limit.at(tree.span(clause)));
        }
        let number = |kind: Kind| {
            let number = |id| number(self.request, id).ok_or(Cause::Limit.at(tree.span(id)));
            tree.child(clause, kind).map(number).transpose()
        };
        let window =
            Window::new(number(Kind::Offset)?.unwrap_or(0), number(Kind::Count)?.unwrap_or(u64::MAX));
        edits.push(Edit::new(tree.span(clause), format!("LIMIT {}", window.of_a_shard())));
        Ok(window)
    }
}

/// The expression that sorts as the column with this name does, and the weight it is padded with;
/// none if rows of several servers cannot be merged by it.
pub(super) fn hidden(sorts: &Sorting, name: &str) -> Option<(String, Option<Box<[u8]>>)> {
    match sorts {
        Sorting::Value => Some((name.to_owned(), None)),
        Sorting::Number => Some((format!("{name} + 0e0"), None)),
        Sorting::Instant => Some((format!("UNIX_TIMESTAMP({name})"), None)),
        Sorting::Weight(pad) => Some((format!("WEIGHT_STRING({name})"), pad.clone())),
        Sorting::WeightPrefix(pad, bytes) => {
            Some((format!("LEFT(WEIGHT_STRING({name}), {bytes})"), Some(pad.clone())))
        }
        Sorting::None => None,
    }
}

/// The number that a `Count` or an `Offset` is: a literal, or a value of the execution.
pub(super) fn number(request: &Request<'_>, id: NodeId) -> Option<u64> {
    let value = request.tree.children(id).next()?;
    match text::constant(request, value)? {
        Value::Signed(number) => u64::try_from(number).ok(),
        Value::Unsigned(number) => Some(number),
        _ => None,
    }
}
