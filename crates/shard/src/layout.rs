//! Which tables are sharded, and where their parts are.

mod check;
mod sequence;
mod table;

use std::collections::BTreeSet;

pub use check::{Invalid, Subject};
pub use sequence::{SEGMENT_STEP_DEFAULT, Sequence, SequenceKind, VIBRATION_DEFAULT};
pub use table::{Node, Table, TableKind, Unique};

/// Group of tables whose equal keys are in shards with the same servers and schemas: joins over the
/// key stay within a shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Logical schema of all of them.
    pub schema: String,
    /// Names of the tables.
    pub tables: Vec<String>,
}

/// Where tables are that the layout does not name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// Logical schema; all schemas if there is none.
    pub schema: Option<String>,
    /// Hostgroup of the servers.
    pub hostgroup: u32,
    /// Schema there; the logical one if there is none.
    pub physical_schema: Option<String>,
}

/// What a [`Layout`] is made of, as a file says it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// Hostgroups that exist.
    pub hostgroups: Vec<u32>,
    /// Tables, in any order.
    pub tables: Vec<Table>,
    /// Colocated tables.
    pub groups: Vec<Group>,
    /// Columns whose values the proxy makes.
    pub sequences: Vec<Sequence>,
    /// Homes of all other tables: the first is for new tables, any of them may have others.
    pub homes: Vec<Home>,
}

/// Tables with their places. All of it has been checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// By schema and name.
    tables: Vec<Table>,
    groups: Vec<Group>,
    sequences: Vec<Sequence>,
    homes: Vec<Home>,
    /// Schemas and names of nodes of tables with several, where these are not the table's own.
    node_names: BTreeSet<(String, String)>,
}

impl Layout {
    /// The layout, or everything that is wrong with the draft.
    pub fn new(draft: Draft) -> Result<Self, Vec<Invalid>> {
        let found = check::check(&draft);
        if !found.is_empty() {
            return Err(found);
        }
        let Draft { mut tables, groups, sequences, homes, .. } = draft;
        tables.sort_by(|a, b| (&a.schema, &a.name).cmp(&(&b.schema, &b.name)));
        let several = tables.iter().filter(|table| table.nodes().len() > 1);
        let nodes = several.flat_map(|table| table.nodes().iter().map(move |node| (node, table)));
        let node_names = nodes
            .filter(|(node, table)| node.schema != table.schema || node.table != table.name)
            .map(|(node, _)| (node.schema.clone(), node.table.clone()))
            .collect();
        Ok(Self { tables, groups, sequences, homes, node_names })
    }

    /// The table with a logical name. Names are compared by their bytes: with
    /// `lower_case_table_names` they have to come in lower case, here and in the file.
    pub fn table(&self, schema: &str, name: &str) -> Option<&Table> {
        let found = self
            .tables
            .binary_search_by(|table| (table.schema.as_str(), table.name.as_str()).cmp(&(schema, name)));
        found.ok().and_then(|at| self.tables.get(at))
    }

    /// Whether a name is that of a node of a table with several nodes, and of no logical table.
    pub fn is_node(&self, schema: &str, name: &str) -> bool {
        !self.node_names.is_empty() && self.node_names.contains(&(schema.to_owned(), name.to_owned()))
    }

    /// All tables, by schema and name.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// Groups of colocated tables.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Columns whose values the proxy makes: at most one of each table.
    pub fn sequences(&self) -> &[Sequence] {
        &self.sequences
    }

    /// The sequence of a table.
    pub fn sequence(&self, schema: &str, table: &str) -> Option<&Sequence> {
        self.sequences.iter().find(|sequence| sequence.schema == schema && sequence.table == table)
    }

    /// Homes of tables that the layout does not name.
    pub fn homes(&self) -> &[Home] {
        &self.homes
    }

    /// Homes of such a table of a logical schema.
    pub fn homes_of<'a>(&'a self, schema: &'a str) -> impl Iterator<Item = &'a Home> {
        self.homes.iter().filter(move |home| home.schema.as_deref().is_none_or(|own| own == schema))
    }

    /// The schema at this hostgroup in which statements of a logical schema run: the one of that
    /// name if a node is in it, since names that need no change stay as they are; otherwise that of
    /// the first node.
    pub fn schema_at(&self, schema: &str, hostgroup: u32) -> Option<&str> {
        let tables = self.tables.iter().filter(|table| table.schema == schema);
        let there = || {
            let nodes = tables.clone().flat_map(Table::nodes);
            nodes.filter(|node| node.hostgroup == hostgroup).map(|node| node.schema.as_str())
        };
        there().find(|name| *name == schema).or_else(|| there().next())
    }

    /// Whether equal keys of two tables of a schema are on the same servers.
    pub fn is_colocated(&self, schema: &str, [one, other]: [&str; 2]) -> bool {
        let has = |group: &Group, name: &str| group.tables.iter().any(|table| table == name);
        self.groups.iter().any(|group| group.schema == schema && has(group, one) && has(group, other))
    }
}

#[cfg(test)]
mod tests;
