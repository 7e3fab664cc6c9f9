//! Where the names of tables stand in a statement, and what takes their places.
//!
//! A table that may have an alias gets its logical name as one: what the client is told of columns
//! does not change. Where none may stand, in INSERT and in DELETE of one table, columns are
//! qualified with the physical name instead.

use std::collections::HashMap;

use shard::Node;
use sql::digest::Span;
use sql::parse::{Kind, NodeId, Step};

use crate::plan::refusal::Cause;
use crate::plan::uses::{Use, Uses};
use crate::plan::{Refusal, Request, columns, text};

use super::Edit;

/// The places of the names of each table.
pub(super) struct Names(Vec<Places>);

/// The places of one table's names.
struct Places {
    /// The name itself.
    name: Span,
    /// The logical name, and where it becomes an alias.
    alias: Option<(usize, String)>,
    /// Qualifiers that the physical name replaces.
    qualifiers: Vec<Span>,
    /// Schemas of qualifiers, which an alias has not.
    schemas: Vec<Span>,
    /// The name cannot be replaced: another part would have to change in a way that is not known.
    unsure: Option<Span>,
}

impl Names {
    /// The names of a statement.
    pub(super) fn of(request: &Request<'_>, uses: &Uses<'_>) -> Self {
        let mut all: Vec<_> = uses.all().iter().map(|table| Places::of(request, uses, table)).collect();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (number, table) in uses.all().iter().enumerate() {
            by_name.entry(table.shown.to_ascii_lowercase()).or_default().push(number);
        }
        let tree = request.tree;
        let Some(root) = tree.root() else { return Self(all) };
        for step in tree.walk(root) {
            let Step::Enter(id) = step else { continue };
            let columns = match tree.kind(id) {
                Kind::Column => 1,
                Kind::Star => 0,
                Kind::TableName if is_target(request, id) => 0,
                _ => continue,
            };
            let names: Vec<_> = tree.children(id).filter(|name| tree.kind(*name) == Kind::Name).collect();
            let qualifier = names.get(..names.len().saturating_sub(columns)).unwrap_or_default();
            let Some(last) = qualifier.last() else { continue };
            let meant = text::name(request.sql, tree.span(*last)).to_ascii_lowercase();
            let numbers = by_name.get(&meant).map_or(&[][..], Vec::as_slice);
            if !uses.budget.take(4 * numbers.len()) {
                break;
            }
            for number in numbers {
                if let Some((table, places)) = uses.get(*number).zip(all.get_mut(*number)) {
                    places.add(request, uses, (*number, table), id, qualifier);
                }
            }
        }
        Self(all)
    }

    /// Puts the name of a node in the places of a table's names, as far as no edit replaces them.
    pub(super) fn rename(
        &self,
        table: usize,
        node: &Node,
        edits: &[&Edit],
        renamed: &mut Vec<(Span, Vec<u8>)>,
    ) -> Result<(), Refusal> {
        let Some(places) = self.0.get(table) else { return Ok(()) };
        if let Some(span) = places.unsure {
            return Err(Cause::Statement.at(span));
        }
        let mut add = |span: Span, text: &str| {
            if !edits.iter().any(|edit| edit.replaces(span)) {
                renamed.push((span, text.into()));
            }
        };
        let name = format!("{}.{}", text::quoted(&node.schema), text::quoted(&node.table));
        add(places.name, &name);
        if let Some((at, alias)) = &places.alias {
            add(Span { start: *at, end: *at }, &format!(" AS {}", text::quoted(alias)));
        }
        for span in &places.schemas {
            add(*span, "");
        }
        for span in &places.qualifiers {
            add(*span, &name);
        }
        Ok(())
    }
}

impl Places {
    fn of(request: &Request<'_>, uses: &Uses<'_>, table: &Use<'_>) -> Self {
        let tree = request.tree;
        let is_twin = |other: &Use<'_>| other.shown.eq_ignore_ascii_case(&table.shown);
        let twins = uses.of_block(table.reference.block).filter(|(_, other)| is_twin(other)).count();
        let takes_alias = table.reference.alias.is_none() && takes_alias(request, table);
        Self {
            name: tree.span(table.reference.id),
            alias: takes_alias.then(|| (alias_place(request, table), table.name.clone())),
            qualifiers: Vec::new(),
            schemas: Vec::new(),
            unsure: (twins > 1).then_some(table.reference.name),
        }
    }

    /// Adds the qualifier of a column, a star or a target, if it names this table.
    fn add(
        &mut self,
        request: &Request<'_>,
        uses: &Uses<'_>,
        (number, table): (usize, &Use<'_>),
        of: NodeId,
        qualifier: &[NodeId],
    ) {
        let (tree, sql) = (request.tree, request.sql);
        let (schema, name) = match *qualifier {
            [name] => (None, name),
            [schema, name] => (Some(schema), name),
            _ => return,
        };
        let is_schema = |id: NodeId| text::name(sql, tree.span(id)) == table.schema;
        let is_meant = text::name(sql, tree.span(name)).eq_ignore_ascii_case(&table.shown)
            && schema.is_none_or(is_schema);
        let is_target = tree.kind(of) == Kind::TableName;
        if !is_meant || is_target && tree.block(of) != Some(table.reference.block) {
            return;
        }
        if table.reference.alias.is_some() || self.alias.is_some() {
            let in_front =
                schema.map(|schema| Span { start: tree.span(schema).start, end: tree.span(name).start });
            self.schemas.extend(in_front);
            return;
        }
        let is_own = match tree.kind(of) {
            Kind::Column => columns::of(request, uses, of).is_some_and(|column| column.table == number),
            _ => tree.block(of) == Some(table.reference.block),
        };
        if is_own {
            let start = tree.span(schema.unwrap_or(name)).start;
            self.qualifiers.push(Span { start, end: tree.span(name).end });
        } else {
            self.unsure = Some(table.reference.name);
        }
    }
}

/// Whether a name is that of a table whose rows a DELETE of several tables deletes.
fn is_target(request: &Request<'_>, id: NodeId) -> bool {
    request.tree.parent(id).is_some_and(|around| request.tree.kind(around) == Kind::Targets)
}

/// Whether an alias may stand behind the table's name, on all servers.
fn takes_alias(request: &Request<'_>, table: &Use<'_>) -> bool {
    let tree = request.tree;
    let is_table = tree.parent(table.reference.id).is_some_and(|around| tree.kind(around) == Kind::Table);
    let block = table.reference.block;
    is_table
        && match tree.kind(block) {
            Kind::Select | Kind::Update => true,
            Kind::Delete => tree.child(block, Kind::Targets).is_some(),
            _ => false,
        }
}

/// Behind PARTITION and FOR `SYSTEM_TIME`, in front of index hints.
fn alias_place(request: &Request<'_>, table: &Use<'_>) -> usize {
    let tree = request.tree;
    let id = table.reference.id;
    let ahead = tree
        .children(tree.parent(id).unwrap_or(id))
        .filter(|id| matches!(tree.kind(*id), Kind::TableName | Kind::Partitions | Kind::SystemTime))
        .map(|id| tree.span(id).end)
        .max();
    ahead.unwrap_or(tree.span(id).end)
}
