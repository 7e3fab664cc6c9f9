//! A query that each shard executes for itself, and the order in which its rows are merged.

use sql::digest::Span;
use sql::parse::{Kind, Literal, NodeId};

use crate::merge::{Direction, Order, Part, Window};

use super::bind::Bound;
use super::columns::{self, ColumnOf};
use super::refusal::Cause;
use super::uses::Uses;
use super::{Refusal, Request, Scatter, Sorting, rewrite, text};

/// The parts of a query whose shards' rows are merged.
pub(super) struct Query<'r, 'a> {
    pub(super) request: &'r Request<'a>,
    pub(super) uses: &'r Uses<'a>,
    /// The `Query`.
    pub(super) whole: NodeId,
    /// Its `Select`.
    pub(super) block: NodeId,
}

/// What is put into the text for the shards.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Additions {
    /// Expressions behind the select list.
    pub(super) hidden: Vec<String>,
    /// Where the select list ends.
    pub(super) at: usize,
    /// The limit, if there is one: where it stands, and its text.
    pub(super) limit: Option<(Span, String)>,
}

/// Plans a query that each shard executes for itself.
pub(super) fn scatter(request: &Request<'_>, uses: &Uses<'_>, bound: &Bound) -> Result<Scatter, Refusal> {
    let query = Query::of(request, uses)?;
    query.check_tables()?;
    let (shards, why) = bound.shards(request, uses)?;
    query.check_clauses()?;
    query.check_functions()?;
    query.check_groups()?;
    let mut additions = Additions { at: query.end_of_items()?, ..Additions::default() };
    let order = query.order(&mut additions)?;
    let window = query.window(&mut additions)?;
    let branches = rewrite::many(request, uses, &shards, &additions)?;
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
            Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete => {
                return refused(Cause::Write, statement);
            }
            _ => return refused(Cause::Statement, statement),
        }
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
    fn order(&self, additions: &mut Additions) -> Result<Order, Refusal> {
        let tree = self.request.tree;
        let Some(clause) = tree.child(self.whole, Kind::OrderBy) else { return Ok(Order::default()) };
        let mut parts = Vec::new();
        // A hidden column must not make rows differ that DISTINCT takes for one.
        let shown = self.is_distinct().then(|| {
            tree.child(self.block, Kind::Items).map_or_else(Vec::new, |items| self.columns_of(items))
        });
        for id in tree.children(clause) {
            let Kind::Ordering { descending } = tree.kind(id) else { continue };
            let expression = tree.children(id).next().unwrap_or(id);
            let column = self.column_meant(expression).ok_or(Cause::Order.at(tree.span(id)))?;
            let (hidden, pad) = self.hidden(&column).ok_or(Cause::Order.at(tree.span(id)))?;
            let is_same = |shown: &Vec<ColumnOf>| shown.contains(&column) && pad.is_none();
            if !shown.as_ref().is_none_or(is_same) {
                return Err(Cause::Order.at(tree.span(id)));
            }
            additions.hidden.push(format!("{hidden} AS `pointsman_key_{}`", parts.len()));
            let direction = if descending { Direction::Descending } else { Direction::Ascending };
            parts.push(Part { direction, pad });
        }
        Ok(Order::new(parts))
    }

    /// The column that an expression of `ORDER BY` is: also by its alias, or by its number in the
    /// select list.
    fn column_meant(&self, expression: NodeId) -> Option<ColumnOf> {
        let tree = self.request.tree;
        let items: Vec<_> = tree.children(tree.child(self.block, Kind::Items)?).collect();
        let sql = self.request.sql;
        if tree.kind(expression) == Kind::Literal(Literal::Integer) {
            let number: usize = std::str::from_utf8(tree.span(expression).of(sql)).ok()?.parse().ok()?;
            let before = items.get(..number.checked_sub(1)?)?;
            // A star in front is of any number of columns.
            let item =
                items.get(before.len()).filter(|_| before.iter().all(|id| tree.kind(*id) == Kind::Item));
            return columns::of(self.request, self.uses, tree.children(*item?).next()?);
        }
        // An alias goes before a column of the same name.
        let names: Vec<_> = match tree.kind(expression) {
            Kind::Column => tree.children(expression).collect(),
            _ => return None,
        };
        if let &[name] = names.as_slice() {
            let name = text::name(sql, tree.span(name));
            let is_meant = |item: &NodeId| {
                let alias = tree.child(*item, Kind::Alias).map(|id| text::name(sql, tree.span(id)));
                alias.is_some_and(|alias| alias.eq_ignore_ascii_case(&name))
            };
            if let Some(item) = items.into_iter().find(is_meant) {
                return columns::of(self.request, self.uses, tree.children(item).next()?);
            }
        }
        columns::of(self.request, self.uses, expression)
    }

    /// The hidden expression that sorts as this column does, and the weight it is padded with.
    fn hidden(&self, column: &ColumnOf) -> Option<(String, Option<Box<[u8]>>)> {
        let info = columns::info(self.request, self.uses, column)?;
        let table = self.uses.get(column.table)?;
        let name = format!("{}.{}", text::quoted(&table.shown), text::quoted(&info.name));
        match &info.sorts {
            Sorting::Value => Some((name, None)),
            Sorting::Number => Some((format!("{name} + 0e0"), None)),
            Sorting::Instant => Some((format!("UNIX_TIMESTAMP({name})"), None)),
            Sorting::Weight(pad) => Some((format!("WEIGHT_STRING({name})"), pad.clone())),
            Sorting::None => None,
        }
    }

    /// LIMIT and OFFSET, and the limit of each shard.
    fn window(&self, additions: &mut Additions) -> Result<Window, Refusal> {
        let tree = self.request.tree;
        let Some(clause) = tree.child(self.whole, Kind::Limit { ties: false }) else {
            return Ok(Window::ALL);
        };
        let number = |kind: Kind| {
            let Some(id) = tree.child(clause, kind) else { return Ok(None) };
            let bytes = tree.span(id).of(self.request.sql);
            let number = std::str::from_utf8(bytes).ok().and_then(|text| text.trim().parse::<u64>().ok());
            number.map(Some).ok_or(Cause::Limit.at(tree.span(id)))
        };
        if tree.children(clause).any(|id| !matches!(tree.kind(id), Kind::Count | Kind::Offset)) {
            return Err(Cause::Limit.at(tree.span(clause)));
        }
        let window =
            Window::new(number(Kind::Offset)?.unwrap_or(0), number(Kind::Count)?.unwrap_or(u64::MAX));
        additions.limit = Some((tree.span(clause), format!("LIMIT {}", window.of_a_shard())));
        Ok(window)
    }
}
