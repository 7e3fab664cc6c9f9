//! The tables of a statement, each with the query block that reads or changes it.

use crate::digest::Span;

use super::kind::Kind;
use super::tree::{NodeId, Step, Tree};

/// A table that a statement names. It may be the name of a common table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableReference {
    /// The node [`Kind::TableName`].
    pub id: NodeId,
    /// The schema in front of the name, quotes included.
    pub schema: Option<Span>,
    /// The name, quotes included.
    pub name: Span,
    /// The alias, quotes included.
    pub alias: Option<Span>,
    /// The query block: see [`Tree::block`].
    pub block: NodeId,
}

impl Tree {
    /// The tables in the text's order. Left out: names behind `FOR UPDATE OF` and the targets of a
    /// multi-table `DELETE`, which name tables of its `FROM`.
    pub fn tables(&self) -> impl Iterator<Item = TableReference> + '_ {
        let walk = self.root().map(|root| self.walk(root));
        walk.into_iter().flatten().filter_map(|step| match step {
            Step::Enter(id) if self.kind(id) == Kind::TableName => self.table_reference(id),
            _ => None,
        })
    }

    fn table_reference(&self, id: NodeId) -> Option<TableReference> {
        let parent = self.parent(id)?;
        if matches!(self.kind(parent), Kind::Locking | Kind::Targets) {
            return None;
        }
        let mut names = self.children(id).map(|name| self.span(name));
        let (first, second) = (names.next()?, names.next());
        let alias = self.child(parent, Kind::Alias).filter(|_| self.kind(parent) == Kind::Table);
        Some(TableReference {
            id,
            schema: second.map(|_| first),
            name: second.unwrap_or(first),
            alias: alias.map(|alias| self.span(alias)),
            block: self.block(id)?,
        })
    }

    /// The query block that a node belongs to. What stands in a query's `ORDER BY` belongs to the
    /// query's body.
    pub fn block(&self, id: NodeId) -> Option<NodeId> {
        self.ancestors(id).find_map(|around| match self.kind(around) {
            Kind::Select
            | Kind::TableQuery
            | Kind::Insert
            | Kind::Replace
            | Kind::Update
            | Kind::Delete
            | Kind::Explain
            | Kind::Command
            | Kind::Utility
            | Kind::Statement => Some(around),
            Kind::Query => self.body(around),
            _ => None,
        })
    }

    /// The body of a query: a block, or what combines some.
    pub fn body(&self, query: NodeId) -> Option<NodeId> {
        self.children(query).find(|child| {
            matches!(
                self.kind(*child),
                Kind::Select | Kind::TableQuery | Kind::SetOperation { .. } | Kind::Rows | Kind::Subquery
            )
        })
    }
}
