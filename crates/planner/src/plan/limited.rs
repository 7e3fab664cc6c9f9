//! `UPDATE` and `DELETE` with `LIMIT` over several servers.
//!
//! Without `ORDER BY` any rows are right: the servers change theirs one after the other, each as
//! many as are left. With `ORDER BY` the keys of the first rows are read and locked at each server,
//! merged in their order, and the rows are changed by their [keys](super::row_key).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use shard::{Reason, Shards};
use sql::digest::Span;
use sql::parse::{Kind, NodeId};

use crate::limits::{CHANGED_ROWS_MAX, PIECE_ROWS};
use crate::merge::{Direction, Order, Part, Window};

use super::outcome::{Counts, Plan, Scatter, Write};
use super::refusal::Cause;
use super::rewrite::{Edit, Rewriter};
use super::row_key::{self, KeyColumn};
use super::steady::{self, Rows};
use super::uses::Uses;
use super::{Branch, Gap, Refusal, Request, columns, merging, text};

/// A change of the first rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limited {
    /// How many rows at most.
    pub limit: u64,
    /// The change for each shard, in the order of the shards. It lacks the number of rows, or the
    /// condition that names them if their keys are read.
    pub changes: Vec<Gap>,
    /// How the rows are chosen; none if any rows are right.
    pub keys: Option<KeysFirst>,
    /// Why it does not concern one server only.
    pub why: Reason,
}

/// The query for the keys of the rows that are to be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeysFirst {
    /// The query for each shard. Its rows have one column, a text that
    /// [`changes_of`](Limited::changes_of) takes.
    pub reads: Scatter,
    /// In front of the keys, between them, and behind them.
    condition: [String; 3],
    /// The client's statement for the first shard.
    whole: Option<Branch>,
}

impl Limited {
    /// The changes of the rows whose keys were read, in their order; none if a key is not
    /// understood.
    pub fn changes_of(&self, rows: &[Vec<u8>]) -> Option<Write> {
        let keys = self.keys.as_ref()?;
        let [head, between, tail] = keys.condition.each_ref().map(String::as_bytes);
        let mut by_shard = vec![Vec::new(); self.changes.len()];
        for (place, row) in (1_u32..).zip(rows) {
            let (shard, key) = row_key::read(row)?;
            by_shard.get_mut(shard)?.push((place, key));
        }
        let (mut branches, mut numbers) = (Vec::new(), Vec::new());
        for (change, rows) in self.changes.iter().zip(&by_shard) {
            for piece in rows.chunks(PIECE_ROWS) {
                let (places, constants): (Vec<u32>, Vec<&[u8]>) = piece.iter().copied().unzip();
                branches.push(change.filled(&[head, &constants.join(between), tail].concat()));
                numbers.push(places);
            }
        }
        if branches.is_empty() {
            // A server says what a change of no rows says.
            branches.extend(keys.whole.clone());
            numbers.push(Vec::new());
        }
        Some(Write { branches, rows: numbers, counts: Counts::Sum, ids: None, why: self.why })
    }

    /// The servers that it concerns, each once.
    pub fn hostgroups(&self) -> BTreeSet<u32> {
        self.changes.iter().map(Gap::hostgroup).collect()
    }

    /// The change of so many rows, any of them, at the shard with this number among those that the
    /// statement needs; none if there are no more shards.
    pub fn turn(&self, shard: usize, rows: u64) -> Option<Branch> {
        let change = self.changes.get(shard).filter(|_| self.keys.is_none())?;
        Some(change.filled(rows.to_string().as_bytes()))
    }
}

/// A statement that changes rows of one table.
struct Change<'r, 'a> {
    request: &'r Request<'a>,
    uses: &'r Uses<'a>,
    statement: NodeId,
    /// The number of its table among the uses, and the `Table`.
    target: (usize, NodeId),
    limit: NodeId,
    /// The shards that have its rows.
    shards: &'r Shards,
    why: Reason,
}

/// Plans the change.
pub(super) fn plan(
    request: &Request<'_>,
    uses: &Uses<'_>,
    (statement, limit): (NodeId, NodeId),
    (shards, why): (&Shards, Reason),
) -> Result<Plan, Refusal> {
    let tree = request.tree;
    let target = target(request, uses, (statement, limit))?;
    let count = tree.child(limit, Kind::Count).filter(|_| tree.children(limit).count() == 1);
    let count = count.and_then(|count| merging::number(request, count));
    let count = count.ok_or(Cause::Limit.at(tree.span(limit)))?;
    steady::check(request, Rows::Apart)?;
    let change = Change { request, uses, statement, target, limit, shards, why };
    let (changes, keys) = match tree.child(statement, Kind::OrderBy) {
        Some(order) => {
            let (changes, keys) = change.by_keys(order, count)?;
            (changes, Some(keys))
        }
        None => (change.in_turn()?, None),
    };
    Ok(Plan::Limited(Box::new(Limited { limit: count, changes, keys, why })))
}

/// The only table of the statement.
fn target(
    request: &Request<'_>,
    uses: &Uses<'_>,
    (statement, limit): (NodeId, NodeId),
) -> Result<(usize, NodeId), Refusal> {
    let tree = request.tree;
    let clause = |id: &NodeId| matches!(tree.kind(*id), Kind::Returning | Kind::Portion | Kind::Opaque);
    if let Some(id) = tree.children(statement).find(clause) {
        return Err(Cause::Clause.at(tree.span(id)));
    }
    let first = tree.parent(statement).and_then(|root| tree.children(root).next());
    if let Some(with) = first.filter(|first| *first != statement) {
        return Err(Cause::SomeRows.at(tree.span(with)));
    }
    let mut tables = uses.of_block(statement);
    let only = tables.next().filter(|_| tables.next().is_none());
    let only = only.filter(|_| tree.child(statement, Kind::Targets).is_none());
    let found = only.and_then(|(number, used)| Some((number, tree.parent(used.reference.id)?)));
    found.filter(|(_, id)| tree.kind(*id) == Kind::Table).ok_or(Cause::SomeRows.at(tree.span(limit)))
}

impl Change<'_, '_> {
    fn span(&self, id: NodeId) -> Span {
        self.request.tree.span(id)
    }

    /// The change with a gap for its limit.
    fn in_turn(&self) -> Result<Vec<Gap>, Refusal> {
        let limit = self.span(self.limit);
        self.rewriter().gaps(self.shards, &[Edit::new(limit, "LIMIT ")], limit.end)
    }

    fn rewriter(&self) -> Rewriter<'_, '_> {
        Rewriter::new(self.request, self.uses)
    }

    /// The change with a gap for a condition, and the query for the keys. The change keeps the
    /// order: rows may take the unique values of those in front of them.
    fn by_keys(&self, order: NodeId, limit: u64) -> Result<(Vec<Gap>, KeysFirst), Refusal> {
        let used = self.uses.get(self.target.0).ok_or(Cause::SomeRows.at(self.span(order)))?;
        let key = self.request.definitions.row_key(&used.schema, &used.name);
        let key = key.filter(|key| !key.is_empty()).ok_or(Cause::NoRowKey.at(used.reference.name))?;
        let before = self.span(order).start;
        let (condition, at) = match self.request.tree.child(self.statement, Kind::Where) {
            Some(id) => (Edit::new(self.span(id), "WHERE "), self.span(id).end),
            None => (Edit::insertion(before, "WHERE "), before),
        };
        let edits = [condition, Edit::new(self.span(self.limit), "")];
        let changes = self.rewriter().gaps(self.shards, &edits, at)?;
        let reads = self.reads(order, &key, limit.min(CHANGED_ROWS_MAX + 1))?;
        let first = self.shards.as_slice().iter().take(1).copied().collect();
        let whole = self.rewriter().many(&first, &[])?.pop();
        Ok((changes, KeysFirst { reads, condition: row_key::condition(&key), whole }))
    }

    /// The query for the keys: hidden columns of the order stand behind them.
    fn reads(&self, order: NodeId, key: &[KeyColumn], limit: u64) -> Result<Scatter, Refusal> {
        let (order, hidden) = self.order(order)?;
        let table = self.span(self.target.1);
        let mut edits = vec![Edit::new(self.span(self.limit), format!("LIMIT {limit} FOR UPDATE"))];
        if let Some(assignments) = self.request.tree.child(self.statement, Kind::Assignments) {
            edits.push(Edit::new(Span { start: table.end, end: self.span(assignments).end }, ""));
        }
        let head = Span { start: self.span(self.statement).start, end: table.start };
        let select = |shard| {
            let row = row_key::selected(key, shard);
            let select = Edit::new(head, format!("SELECT {row} AS `pointsman_row`{hidden} FROM "));
            edits.iter().cloned().chain([select]).collect()
        };
        let branches = self.rewriter().each(self.shards, &select)?;
        Ok(Scatter { branches, order, window: Window::new(0, limit), why: self.why })
    }

    /// The order of the rows, and the hidden columns for it.
    fn order(&self, clause: NodeId) -> Result<(Order, String), Refusal> {
        let (request, tree) = (self.request, self.request.tree);
        let (mut parts, mut hidden_columns) = (Vec::new(), String::new());
        for id in tree.children(clause) {
            let Kind::Ordering { descending } = tree.kind(id) else { continue };
            let expression = tree.children(id).next().unwrap_or(id);
            let column = columns::of(request, self.uses, expression);
            let info = column.and_then(|column| columns::info(request, self.uses, &column));
            let hidden = info.and_then(|info| merging::hidden(&info.sorts, &text::quoted(&info.name)));
            let (hidden, pad) = hidden.ok_or(Cause::Order.at(tree.span(id)))?;
            // Writing to a string cannot fail.
            let _ = write!(hidden_columns, ", {hidden} AS `pointsman_key_{}`", parts.len());
            let direction = if descending { Direction::Descending } else { Direction::Ascending };
            parts.push(Part { direction, pad });
        }
        Ok((Order::new(parts), hidden_columns))
    }
}
