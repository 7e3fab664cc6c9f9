//! The columns that an `INSERT` names, and the values of its rows.

use shard::{Reason, Value};
use sql::digest::Span;
use sql::parse::{Kind, NodeId};

use crate::plan::refusal::Cause;
use crate::plan::{Refusal, text};

use super::Insertion;

/// The columns, and the values of each row in the same order.
pub(super) struct Values {
    /// Names in lower case.
    pub(super) columns: Vec<String>,
    pub(super) list: List,
    /// At least one.
    pub(super) rows: Vec<Row>,
}

/// How the columns are said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    /// In parentheses, of which the last is at `end`.
    Named { end: usize },
    /// Not at all: they are those of the table.
    OfTable,
    /// Not at all, and no row has values. A list may stand at `at`.
    Missing { at: usize },
    /// With their values: `SET a = 1`. Others may stand at `end`.
    Set { end: usize },
}

/// One row.
pub(super) struct Row {
    pub(super) span: Span,
    pub(super) values: Vec<NodeId>,
}

/// What a row says of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Given<'a> {
    /// A constant.
    Value(NodeId, Value<'a>),
    /// Nothing, or DEFAULT.
    Default(Option<NodeId>),
    /// An expression.
    Expression(NodeId),
}

impl Values {
    /// Those of an insertion of rows.
    pub(super) fn of(insertion: &Insertion<'_, '_>) -> Result<Self, Refusal> {
        let (tree, statement) = (insertion.request.tree, insertion.statement);
        if let Some(set) = tree.child(statement, Kind::Assignments) {
            return Ok(Self::of_set(insertion, set));
        }
        let refused = Cause::Statement.at(tree.span(statement));
        let rows = tree.child(statement, Kind::Rows).ok_or(refused)?;
        let row = |id| Row { span: tree.span(id), values: tree.children(id).collect() };
        let rows: Vec<_> = tree.children(rows).filter(|id| tree.kind(*id) == Kind::Row).map(row).collect();
        let is_bare = tree.child(statement, Kind::Columns).is_none();
        let (columns, list) = if is_bare && rows.iter().all(|row| row.values.is_empty()) {
            let table = tree.child(statement, Kind::Table).map(|id| tree.span(id).end);
            (Vec::new(), List::Missing { at: table.ok_or(refused)? })
        } else {
            columns(insertion)?
        };
        match rows.iter().find(|row| row.values.len() != columns.len()) {
            Some(row) => Err(Cause::Columns.at(row.span)),
            None if rows.is_empty() => Err(refused),
            None => Ok(Self { columns, list, rows }),
        }
    }

    fn of_set(insertion: &Insertion<'_, '_>, set: NodeId) -> Self {
        let tree = insertion.request.tree;
        let (columns, values) = tree
            .children(set)
            .filter_map(|assignment| {
                let mut children = tree.children(assignment);
                Some((name(insertion, children.next()?), children.next()?))
            })
            .unzip();
        let span = tree.span(set);
        Self { columns, list: List::Set { end: span.end }, rows: vec![Row { span, values }] }
    }

    /// The position of a column.
    pub(super) fn position(&self, column: &str) -> Option<usize> {
        let column = column.to_lowercase();
        self.columns.iter().position(|name| *name == column)
    }

    /// What a row says of the column at a position.
    pub(super) fn given<'a>(insertion: &Insertion<'_, 'a>, row: &Row, at: Option<usize>) -> Given<'a> {
        let Some(id) = at.and_then(|at| row.values.get(at)).copied() else { return Given::Default(None) };
        let tree = insertion.request.tree;
        match tree.kind(id) {
            // `DEFAULT(column)` is the value of another one.
            Kind::Default if tree.children(id).next().is_none() => Given::Default(Some(id)),
            _ => match text::constant(insertion.request, id) {
                Some(value) => Given::Value(id, value),
                None => Given::Expression(id),
            },
        }
    }
}

/// The columns in parentheses, or else those of the table.
pub(super) fn columns(insertion: &Insertion<'_, '_>) -> Result<(Vec<String>, List), Refusal> {
    let tree = insertion.request.tree;
    if let Some(list) = tree.child(insertion.statement, Kind::Columns) {
        let columns = tree.children(list).map(|id| name(insertion, id)).collect();
        return Ok((columns, List::Named { end: tree.span(list).end.saturating_sub(1) }));
    }
    let used = insertion.used;
    let known = insertion.request.definitions.columns(&used.schema, &used.name);
    let known = known.ok_or(Cause::Row(Reason::ColumnUnknown).at(used.reference.name))?;
    Ok((known.iter().map(|info| info.name.to_lowercase()).collect(), List::OfTable))
}

/// The last name of a column, in lower case.
fn name(insertion: &Insertion<'_, '_>, column: NodeId) -> String {
    let tree = insertion.request.tree;
    let last = tree.children(column).last().unwrap_or(column);
    text::name(insertion.request.sql, tree.span(last)).to_lowercase()
}
