//! The tables that a statement names.

use sql::parse::{Kind, NodeId, TableReference, Tree};

use crate::layout::{Table, TableKind};

use super::refusal::Cause;
use super::{Refusal, Request, text};

/// A table that a statement names, once for each time that it is named.
#[derive(Debug)]
pub(super) struct Use<'a> {
    /// Where it is named.
    pub(super) reference: TableReference,
    /// The schema, that of the session if none is written.
    pub(super) schema: String,
    /// The table's name.
    pub(super) name: String,
    /// What its columns are qualified with: the alias, or the name.
    pub(super) shown: String,
    /// What the layout says of it; nothing for a table that it does not name.
    pub(super) table: Option<&'a Table>,
}

impl Use<'_> {
    /// Whether each row is on one node of several.
    pub(super) fn is_sharded(&self) -> bool {
        self.table.is_some_and(|table| matches!(table.kind, TableKind::Sharded { .. }))
    }
}

/// All tables of a statement but its common tables.
#[derive(Debug)]
pub(super) struct Uses<'a>(Vec<Use<'a>>);

impl<'a> Uses<'a> {
    /// The tables of this statement.
    pub(super) fn of(request: &Request<'a>) -> Result<Self, Refusal> {
        let mut uses = Vec::new();
        for reference in request.tree.tables() {
            let name = text::name(request.sql, reference.name);
            let schema = reference.schema.map(|span| text::name(request.sql, span));
            let is_common = match schema {
                Some(_) => Some(false),
                None => is_common_table(request, reference.id, &name),
            };
            let schema = schema.unwrap_or_else(|| request.schema.to_owned());
            let table = request.layout.table(&schema, &name);
            match (is_common, table) {
                (Some(true), _) => continue,
                (None, Some(_)) => return Err(Cause::AmbiguousName.at(reference.name)),
                _ => {}
            }
            let shown = reference.alias.map_or_else(|| name.clone(), |alias| text::name(request.sql, alias));
            uses.push(Use { reference, schema, name, shown, table });
        }
        Ok(Self(uses))
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Use<'a>] {
        &self.0
    }

    /// One of them.
    pub(super) fn get(&self, number: usize) -> Option<&Use<'a>> {
        self.0.get(number)
    }

    /// The numbers of those whose rows are on several nodes.
    pub(super) fn sharded(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().filter(|(_, table)| table.is_sharded()).map(|(number, _)| number)
    }

    /// Those of a query block, but not those of blocks within it, and their numbers.
    pub(super) fn of_block(&self, block: NodeId) -> impl Iterator<Item = (usize, &Use<'a>)> {
        self.0.iter().enumerate().filter(move |(_, table)| table.reference.block == block)
    }
}

/// Whether a name without schema is that of a common table; nothing if that is not certain.
fn is_common_table(request: &Request<'_>, id: NodeId, name: &str) -> Option<bool> {
    let tree = request.tree;
    let mut inside = id;
    for around in tree.ancestors(id) {
        if let Some(with) = tree.child(around, Kind::With { recursive: false }) {
            // A common table sees those in front of it.
            for table in tree.children(with).take_while(|table| *table != inside_of(tree, with, id)) {
                if is_named(request, table, name) {
                    return Some(true);
                }
            }
        }
        // Which of them one sees that is recursive differs between servers.
        let recursive = tree.child(around, Kind::With { recursive: true });
        if let Some(with) = recursive
            && tree.children(with).any(|table| is_named(request, table, name))
        {
            return if inside == with { None } else { Some(true) };
        }
        inside = around;
    }
    Some(false)
}

/// The child of `with` that `id` is in; `with` itself if `id` is elsewhere.
fn inside_of(tree: &Tree, with: NodeId, id: NodeId) -> NodeId {
    let mut child = id;
    for around in tree.ancestors(id) {
        if around == with {
            return child;
        }
        child = around;
    }
    with
}

fn is_named(request: &Request<'_>, table: NodeId, name: &str) -> bool {
    let tree = request.tree;
    let own = tree.child(table, Kind::Name).map(|id| text::name(request.sql, tree.span(id)));
    own.is_some_and(|own| own.eq_ignore_ascii_case(name))
}
