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
        self.table_names.iter().filter_map(|id| self.table_reference(*id))
    }

    /// Finds the scope of each node, and the names of tables, in one walk.
    pub(super) fn find_scopes(&mut self) {
        let mut scopes = std::mem::take(&mut self.scopes);
        let mut names = std::mem::take(&mut self.table_names);
        scopes.clear();
        scopes.resize(self.len(), NodeId::NONE);
        names.clear();
        for step in self.root().into_iter().flat_map(|root| self.walk(root)) {
            let Step::Enter(id) = step else { continue };
            let scope = match self.parent(id) {
                Some(around) if self.kind(around).is_scope() => around,
                Some(around) => scopes.get(around.0 as usize).copied().unwrap_or(NodeId::NONE),
                None => NodeId::NONE,
            };
            if let Some(place) = scopes.get_mut(id.0 as usize) {
                *place = scope;
            }
            if self.kind(id) == Kind::TableName {
                names.push(id);
            }
        }
        (self.scopes, self.table_names) = (scopes, names);
    }

    /// The nearest node around a node that is a [scope](Kind::is_scope).
    pub fn scope(&self, id: NodeId) -> Option<NodeId> {
        self.scopes.get(id.0 as usize)?.some()
    }

    /// The scopes around a node, the nearest first: no more than the text is nested, however long
    /// a chain of operators the node stands in.
    pub fn scopes(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        std::iter::successors(self.scope(id), |id| self.scope(*id))
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
        self.scopes(id).find_map(|around| match self.kind(around) {
            Kind::Query => self.body(around),
            Kind::Derived { .. } | Kind::CommonTable | Kind::Subquery => None,
            _ => Some(around),
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
