//! A logical table and its nodes.

use crate::placement::{Level, Placement};

/// Physical table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    /// Hostgroup of the servers.
    pub hostgroup: u32,
    /// Schema there.
    pub schema: String,
    /// Table there.
    pub table: String,
}

/// Logical table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Schema that clients name.
    pub schema: String,
    /// Name that clients use.
    pub name: String,
    /// How it is spread.
    pub kind: TableKind,
}

/// How a table is spread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableKind {
    /// Each row is on one node.
    Sharded {
        /// Nodes by the numbers of their shards.
        nodes: Vec<Node>,
        /// Columns that decide.
        key_columns: Vec<String>,
        /// The node of a row.
        placement: Placement,
        /// Whether keys are held against the key columns.
        unique: Unique,
    },
    /// Each node has all rows: written everywhere, read anywhere.
    Reference {
        /// The nodes.
        nodes: Vec<Node>,
    },
    /// All rows are on one node.
    Single {
        /// The node.
        node: Node,
    },
}

/// What becomes of unique keys that only hold within a shard, and of foreign keys that leave it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unique {
    /// They are reported when definitions are read, and refused in statements that make them.
    #[default]
    Checked,
    /// They are taken as they are: the application keeps its values unique.
    Unchecked,
}

impl Table {
    /// A sharded table, whose levels narrow the nodes. Its unique keys are checked.
    pub fn sharded(
        [schema, name]: [&str; 2],
        nodes: Vec<Node>,
        key_columns: Vec<String>,
        levels: Vec<Level>,
    ) -> Self {
        let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let kind = TableKind::Sharded {
            nodes,
            key_columns,
            placement: Placement::new(count, levels),
            unique: Unique::default(),
        };
        Self { schema: schema.to_owned(), name: name.to_owned(), kind }
    }

    /// The same table, with other rules for its unique keys. Tables that are not sharded have none.
    #[must_use]
    pub fn with_unique(mut self, rules: Unique) -> Self {
        if let TableKind::Sharded { unique, .. } = &mut self.kind {
            *unique = rules;
        }
        self
    }

    /// Whether keys are held against the key columns.
    pub fn unique(&self) -> Unique {
        match self.kind {
            TableKind::Sharded { unique, .. } => unique,
            TableKind::Reference { .. } | TableKind::Single { .. } => Unique::Checked,
        }
    }

    /// Columns whose values decide in which shard a row is: in the order in which
    /// [`Placement::prune`] takes conditions on them. None if the table is not sharded.
    pub fn key_columns(&self) -> &[String] {
        match &self.kind {
            TableKind::Sharded { key_columns, .. } => key_columns,
            TableKind::Reference { .. } | TableKind::Single { .. } => &[],
        }
    }

    /// The nodes: those of a sharded table by the numbers of their shards.
    pub fn nodes(&self) -> &[Node] {
        match &self.kind {
            TableKind::Sharded { nodes, .. } | TableKind::Reference { nodes } => nodes,
            TableKind::Single { node } => std::slice::from_ref(node),
        }
    }

    /// The placement of the rows, if the table is sharded.
    pub fn placement(&self) -> Option<&Placement> {
        match &self.kind {
            TableKind::Sharded { placement, .. } => Some(placement),
            TableKind::Reference { .. } | TableKind::Single { .. } => None,
        }
    }
}
