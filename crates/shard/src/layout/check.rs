//! What has to hold of a layout.

use std::collections::{HashMap, HashSet};
use std::fmt;

use super::{Draft, Group, Node, Sequence, Table, TableKind};
use crate::limits::{COLUMNS_MAX, SHARDS_MAX};
use crate::placement::{Level, Placement};

/// Characters of a name in MySQL.
const NAME_CHARS_MAX: usize = 64;

/// What an error is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// Table, by its logical schema and name.
    Table(String, String),
    /// Group, by its position.
    Group(usize),
    /// Sequence, by its position.
    Sequence(usize),
    /// Home, by its position.
    Home(usize),
}

/// Key of a layout that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid {
    /// What it belongs to.
    pub subject: Subject,
    /// The key: `name`, `nodes`, `key`, `placement`, `tables`, `table`, `column`, `step`,
    /// `worker`, `vibration` or `hostgroup`.
    pub key: &'static str,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subject {
            Subject::Table(schema, name) => write!(f, "table {schema}.{name}")?,
            Subject::Group(at) => write!(f, "group {}", at + 1)?,
            Subject::Sequence(at) => write!(f, "sequence {}", at + 1)?,
            Subject::Home(at) => write!(f, "home {}", at + 1)?,
        }
        write!(f, ": `{}`: {}", self.key, self.message)
    }
}

/// Everything that is wrong with a draft.
pub(super) fn check(draft: &Draft) -> Vec<Invalid> {
    let mut found = Vec::new();
    let hostgroups: HashSet<u32> = draft.hostgroups.iter().copied().collect();
    let mut names = HashSet::new();
    let mut owners: HashMap<&Node, &Table> = HashMap::new();
    for table in &draft.tables {
        let subject = || Subject::Table(table.schema.clone(), table.name.clone());
        let mut add = |key, message| found.push(Invalid { subject: subject(), key, message });
        if !is_name(&table.name) || !is_name(&table.schema) {
            add("name", format!("a name has 1 to {NAME_CHARS_MAX} characters"));
        }
        if !names.insert((&table.schema, &table.name)) {
            add("name", "the table is there twice".to_owned());
        }
        for message in nodes(table.nodes(), &hostgroups) {
            add("nodes", message);
        }
        for node in table.nodes() {
            let owner = owners.entry(node).or_insert(table);
            if (&owner.schema, &owner.name) != (&table.schema, &table.name) {
                add("nodes", format!("{} is a node of table {} as well", shown(node), owner.name));
            }
        }
        if let TableKind::Sharded { key_columns, placement, .. } = &table.kind {
            for message in key(key_columns, placement) {
                add("key", message);
            }
            for message in placement.levels().iter().flat_map(|level| yields(level, placement.nodes())) {
                add("placement", message);
            }
        }
    }
    for (at, group) in draft.groups.iter().enumerate() {
        if let Err(message) = colocated(group, &draft.tables) {
            found.push(Invalid { subject: Subject::Group(at), key: "tables", message });
        }
    }
    for (at, sequence) in draft.sequences.iter().enumerate() {
        let before = draft.sequences.get(..at).unwrap_or_default();
        for (key, message) in self::sequence(sequence, before, &draft.tables) {
            found.push(Invalid { subject: Subject::Sequence(at), key, message });
        }
    }
    for (at, home) in draft.homes.iter().enumerate() {
        if !hostgroups.contains(&home.hostgroup) {
            let message = format!("there is no hostgroup {}", home.hostgroup);
            found.push(Invalid { subject: Subject::Home(at), key: "hostgroup", message });
        }
    }
    found
}

fn is_name(name: &str) -> bool {
    (1..=NAME_CHARS_MAX).contains(&name.chars().count())
}

fn shown(node: &Node) -> String {
    format!("{}.{} in hostgroup {}", node.schema, node.table, node.hostgroup)
}

fn nodes(nodes: &[Node], hostgroups: &HashSet<u32>) -> Vec<String> {
    let mut found = Vec::new();
    if nodes.is_empty() {
        found.push("there are none".to_owned());
    }
    if nodes.len() > SHARDS_MAX {
        found.push(format!("{} are more than {SHARDS_MAX}", nodes.len()));
    }
    let mut seen = HashSet::new();
    for node in nodes {
        if !seen.insert(node) {
            found.push(format!("{} is there twice", shown(node)));
        }
        if !hostgroups.contains(&node.hostgroup) {
            found.push(format!("there is no hostgroup {}", node.hostgroup));
        }
        if !is_name(&node.schema) || !is_name(&node.table) {
            found.push(format!("{} is no name of a table", shown(node)));
        }
    }
    found
}

/// What is wrong with the key columns.
fn key(columns: &[String], placement: &Placement) -> Vec<String> {
    let mut found = Vec::new();
    if columns.len() > COLUMNS_MAX {
        found.push(format!("{} columns are more than {COLUMNS_MAX}", columns.len()));
    }
    for (at, column) in columns.iter().enumerate() {
        let mut before = columns.iter().take(at);
        if column.is_empty() {
            found.push("a column has no name".to_owned());
        }
        if before.any(|other| other.eq_ignore_ascii_case(column)) {
            found.push(format!("column {column} is there twice"));
        }
    }
    let mut named = placement.levels().iter().flat_map(|level| &level.columns);
    if named.any(|at| *at >= columns.len()) {
        found.push("a column is missing".to_owned());
    }
    found
}

/// What is wrong between a function and the nodes.
fn yields(level: &Level, nodes: u32) -> Vec<String> {
    let name = level.function.name();
    let expected = level.nodes.as_ref().map_or(usize::try_from(nodes).unwrap_or(0), Vec::len);
    let mut found = Vec::new();
    if level.function.shards() != expected {
        let shards = level.function.shards();
        found.push(format!("`{name}` yields {shards} shards, but there are {expected} nodes"));
    }
    for (number, of) in level.nodes.iter().flatten().enumerate() {
        if of.as_slice().is_empty() {
            found.push(format!("number {number} of `{name}` has no node"));
        }
        if of.as_slice().iter().any(|node| *node >= nodes) {
            found.push(format!("number {number} of `{name}` has a node that is not there"));
        }
    }
    found
}

/// What is wrong with a sequence, by keys, behind those `before`.
fn sequence(
    sequence: &Sequence,
    before: &[Sequence],
    tables: &[Table],
) -> impl Iterator<Item = (&'static str, String)> {
    let name = |of: &Sequence| (of.schema.clone(), of.table.clone());
    let found = tables.iter().find(|table| (table.schema.clone(), table.name.clone()) == name(sequence));
    let table = match found.map(|table| &table.kind) {
        None => Some(format!("there is no table {}", sequence.table)),
        Some(TableKind::Single { .. }) => {
            Some(format!("{} is on one node: its server makes ids", sequence.table))
        }
        Some(_) if before.iter().any(|other| name(other) == name(sequence)) => {
            Some(format!("{} has a sequence already", sequence.table))
        }
        Some(_) => None,
    };
    let column = (!is_name(&sequence.column))
        .then(|| ("column", format!("a name has 1 to {NAME_CHARS_MAX} characters")));
    table.map(|message| ("table", message)).into_iter().chain(column).chain(sequence.kind.check())
}

/// Whether the tables of a group have equal keys in the same places.
fn colocated(group: &Group, tables: &[Table]) -> Result<(), String> {
    let find = |name: &String| {
        let found = tables.iter().find(|table| table.schema == group.schema && table.name == *name);
        let sharded = found.filter(|table| table.placement().is_some());
        sharded.ok_or_else(|| format!("there is no sharded table {name}"))
    };
    let members = group.tables.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let Some((first, others)) = members.split_first() else { return Err("there are none".to_owned()) };
    let places = |table: &Table| -> Vec<(u32, String)> {
        table.nodes().iter().map(|node| (node.hostgroup, node.schema.clone())).collect()
    };
    for other in others {
        if places(first) != places(other) {
            return Err(format!("{} and {} have their shards in different places", first.name, other.name));
        }
        let levels = |table: &Table| table.placement().map(|placement| placement.levels().to_vec());
        let (one, two) = (levels(first).unwrap_or_default(), levels(other).unwrap_or_default());
        if one.len() != two.len() || one.iter().zip(&two).any(|(one, two)| !one.is_like(two)) {
            return Err(format!("{} and {} are sharded differently", first.name, other.name));
        }
    }
    Ok(())
}
