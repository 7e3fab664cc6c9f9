//! The schemas and tables that the conditions of a query name.

use shard::{Layout, Table, Value};
use sql::parse::{Kind, NodeId, Operator};

use crate::plan::{Request, text};
use crate::seen::source::Source;

use super::view::{Views, last_name};

/// Names that rows must have.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// One of these schemas; none if any.
    schemas: Option<Vec<String>>,
    /// One of these tables; none if any.
    tables: Option<Vec<String>>,
}

impl Named {
    /// What the conditions say that all rows have to meet.
    pub(super) fn of(request: &Request<'_>, views: &Views) -> Self {
        let tree = request.tree;
        let mut named = Self::default();
        // A condition of a subquery says nothing about the rows around it.
        let Some(block) = tree.root().and_then(|root| tree.child(root, Kind::Query)) else { return named };
        let Some(block) = tree.child(block, Kind::Select) else { return named };
        let condition = tree.child(block, Kind::Where).and_then(|clause| tree.children(clause).next());
        let mut open = Vec::from_iter(condition);
        while let Some(id) = open.pop() {
            match tree.kind(id) {
                Kind::Paren | Kind::Binary(Operator::And) => open.extend(tree.children(id)),
                Kind::Binary(Operator::Equal) | Kind::In { not: false } => named.add(request, views, id),
                _ => {}
            }
        }
        let is_of_block = |used: &super::view::Used| used.reference.block == block;
        if views.all().iter().all(is_of_block) { named } else { Self::default() }
    }

    fn add(&mut self, request: &Request<'_>, views: &Views, comparison: NodeId) {
        let tree = request.tree;
        let operands: Vec<_> = tree.children(comparison).collect();
        let &[left, right] = operands.as_slice() else { return };
        let is_column = |id: &NodeId| tree.kind(*id) == Kind::Column;
        let (column, values) = if is_column(&left) { (left, right) } else { (right, left) };
        let Some(view) = Some(column).filter(is_column).and_then(|id| views.of_column(request, id)) else {
            return;
        };
        let values: Option<Vec<String>> = match tree.kind(values) {
            Kind::List => tree.children(values).map(|id| constant(request, id)).collect(),
            _ => constant(request, values).map(|value| vec![value]),
        };
        let Some(values) = values else { return };
        let name = last_name(request, column);
        if view.is_schema(&name) {
            self.schemas.get_or_insert(values);
        } else if view.is_table(&name) {
            self.tables.get_or_insert(values);
        }
    }

    /// Whether rows may be about tables of the layout.
    pub(super) fn may_be_of(&self, layout: &Layout) -> bool {
        let is_named = |table: &Table| has(self.schemas.as_ref(), &table.schema);
        layout.tables().iter().any(is_named)
    }

    /// The schema of the layout that all rows have.
    pub(super) fn schema<'a>(&self, layout: &'a Layout) -> Option<&'a str> {
        let [only] = self.schemas.as_ref()?.as_slice() else { return None };
        let table = layout.tables().iter().find(|table| table.schema == *only)?;
        Some(&table.schema)
    }

    /// Whether a server may have rows that are asked for.
    pub(super) fn concerns(&self, layout: &Layout, source: &Source<'_>) -> bool {
        let is_shown = |table: &&Table| source.shown.iter().any(|(_, shown)| shown == table);
        let Some(names) = &self.tables else { return source.home.is_some() || !source.shown.is_empty() };
        let is_meant =
            |table: &&Table| has(self.schemas.as_ref(), &table.schema) && has(Some(names), &table.name);
        if layout.tables().iter().filter(is_meant).any(|table| is_shown(&table)) {
            return true;
        }
        // Tables that the layout does not name are at the home.
        let is_of_layout =
            |name: &String| layout.tables().iter().any(|table| table.name.eq_ignore_ascii_case(name));
        source.home.is_some() && !names.iter().all(is_of_layout)
    }

    /// Whether a server's own rows are right: all tables that are named have their logical names
    /// there.
    pub(super) fn is_answered_by(&self, source: &Source<'_>) -> bool {
        let (Some(_), Some(tables)) = (&self.schemas, &self.tables) else { return false };
        let is_hidden = source.hidden.iter().any(|(_, table)| has(Some(tables), table));
        source.has_same_names() && !is_hidden
    }
}

/// Whether a name is among these. Servers differ in whether they mind its case.
fn has(names: Option<&Vec<String>>, name: &str) -> bool {
    names.is_none_or(|names| names.iter().any(|one| one.eq_ignore_ascii_case(name)))
}

/// A text, or the name of the current schema.
fn constant(request: &Request<'_>, id: NodeId) -> Option<String> {
    if is_schema_call(request, id) {
        return Some(request.schema.to_owned());
    }
    match text::constant(request, id)? {
        Value::Text(value) => std::str::from_utf8(value).ok().map(str::to_owned),
        _ => None,
    }
}

/// Whether a node is `DATABASE()` or `SCHEMA()`.
pub(super) fn is_schema_call(request: &Request<'_>, id: NodeId) -> bool {
    let tree = request.tree;
    let name = tree.child(id, Kind::Function).map(|name| tree.span(name).of(request.sql));
    let is = |name: &[u8]| name.eq_ignore_ascii_case(b"DATABASE") || name.eq_ignore_ascii_case(b"SCHEMA");
    tree.kind(id) == Kind::Call && name.is_some_and(is) && tree.children(id).count() == 1
}
