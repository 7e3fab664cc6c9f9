//! The tables that a statement names.

use sql::digest::Span;
use sql::parse::{Join, Kind, NodeId, TableReference, Tree};

use crate::layout::{Node, Table, TableKind};

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

impl<'a> Use<'a> {
    /// The node of this table for a shard of which another table, or this one, has `node`: on the
    /// same servers, in the same schema if there is a choice.
    pub(super) fn node_beside(&self, shard: usize, node: &Node) -> Option<&'a Node> {
        let nodes = self.table?.nodes();
        let is_here = |other: &&Node| other.hostgroup == node.hostgroup;
        if self.is_sharded() {
            return nodes.get(shard).filter(is_here);
        }
        let is_near = |other: &&Node| is_here(other) && other.schema == node.schema;
        let own = nodes.iter().find(|other| *other == node);
        own.or_else(|| nodes.iter().find(is_near)).or_else(|| nodes.iter().find(is_here))
    }

    /// Whether an outer join may give a row without a row of this table.
    pub(super) fn is_nullable(&self, tree: &Tree) -> bool {
        is_nullable(tree, self.reference.id, self.reference.block)
    }

    /// Whether each node has all rows.
    pub(super) fn is_reference(&self) -> bool {
        self.table.is_some_and(|table| matches!(table.kind, TableKind::Reference { .. }))
    }

    /// Whether each row is on one node of several.
    pub(super) fn is_sharded(&self) -> bool {
        self.table.is_some_and(|table| matches!(table.kind, TableKind::Sharded { .. }))
    }
}

/// Whether an outer join of a query block may give a row without a row of this table reference.
pub(super) fn is_nullable(tree: &Tree, reference: NodeId, block: NodeId) -> bool {
    let mut inside = reference;
    for around in tree.ancestors(reference).take_while(|around| *around != block) {
        if let Kind::Join(join) = tree.kind(around) {
            let is_left = tree.children(around).next() == Some(inside);
            let missing = match join {
                Join::Left | Join::NaturalLeft => !is_left,
                Join::Right | Join::NaturalRight => is_left,
                Join::Inner | Join::Straight | Join::Natural => false,
            };
            if missing {
                return true;
            }
        }
        inside = around;
    }
    false
}

/// All tables of a statement but its common tables.
#[derive(Debug)]
pub(super) struct Uses<'a>(Vec<Use<'a>>);

impl<'a> Uses<'a> {
    /// The tables of this statement.
    pub(super) fn of(request: &Request<'a>) -> Result<Self, Refusal> {
        let mut uses = Vec::new();
        for reference in request.tree.tables() {
            let is_utf8 = |span: Span| std::str::from_utf8(span.of(request.sql)).is_ok();
            if !is_utf8(reference.name) || !reference.schema.is_none_or(is_utf8) {
                return Err(Cause::AmbiguousName.at(reference.name));
            }
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
                _ if is_unsure(request, &reference, &name, table) => {
                    return Err(Cause::AmbiguousName.at(reference.name));
                }
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

    /// The nodes of all tables [beside](Use::node_beside) one.
    ///
    /// # Errors
    /// If a table has none there.
    pub(super) fn nodes_beside(&self, shard: usize, node: &Node) -> Result<Vec<Option<&'a Node>>, Refusal> {
        let of = |table: &Use<'a>| {
            let found = table.node_beside(shard, node);
            found.map(Some).ok_or(Cause::ServersDiffer.at(table.reference.name))
        };
        self.0.iter().map(of).collect()
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

/// Whether the name is that of a table of the layout but for its case, or the statement names the
/// table's schema elsewhere (`SHOW COLUMNS FROM t FROM s`).
fn is_unsure(request: &Request<'_>, reference: &TableReference, name: &str, table: Option<&Table>) -> bool {
    let tree = request.tree;
    let is_like = || request.layout.tables().iter().any(|other| other.name.eq_ignore_ascii_case(name));
    let around = tree.parent(reference.id).filter(|around| tree.kind(*around) == Kind::Utility);
    let has_other_schema = around.is_some_and(|around| tree.child(around, Kind::Name).is_some());
    (table.is_none() && is_like() && !is_of_other_schema(request, reference, name))
        || has_other_schema && is_like()
}

/// Whether the layout has a table of just this name, in another schema only.
fn is_of_other_schema(request: &Request<'_>, reference: &TableReference, name: &str) -> bool {
    let schema = reference.schema.map(|span| text::name(request.sql, span));
    let schema = schema.as_deref().unwrap_or(request.schema);
    let mut like = request.layout.tables().iter().filter(|table| table.name.eq_ignore_ascii_case(name));
    like.all(|table| !table.schema.eq_ignore_ascii_case(schema))
}

/// Whether a name without schema is that of a common table; nothing if that is not certain.
fn is_common_table(request: &Request<'_>, id: NodeId, name: &str) -> Option<bool> {
    let tree = request.tree;
    let mut inside = id;
    for around in tree.ancestors(id) {
        if let Some(with) = tree.child(around, Kind::With { recursive: false }) {
            // A common table sees those in front of it.
            for table in tree.children(with).take_while(|table| *table != inside_of(tree, with, id)) {
                if let Some(is_same) = is_named(request, table, name) {
                    return is_same.then_some(true);
                }
            }
        }
        // Which of them one sees that is recursive differs between servers.
        let recursive = tree.child(around, Kind::With { recursive: true });
        if let Some(with) = recursive
            && tree.children(with).any(|table| is_named(request, table, name).is_some())
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

/// Whether a common table has this name in the same case, on which servers differ; nothing if it
/// has another one.
fn is_named(request: &Request<'_>, table: NodeId, name: &str) -> Option<bool> {
    let tree = request.tree;
    let own = tree.child(table, Kind::Name).map(|id| text::name(request.sql, tree.span(id)))?;
    own.eq_ignore_ascii_case(name).then(|| own == name)
}
