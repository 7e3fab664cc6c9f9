//! Checks of the tables behind a layout.

use std::collections::HashSet;

use super::collation::Collations;
use super::columns::columns;
use super::finding::{Finding, Problem};
use super::table::{ForeignKey, Index, TableDefinition};
use super::{own_values, parts};
use shard::placement::Level;
use shard::{ColumnType, Layout, Node, Table, TableKind, Unique};

/// What a node says of its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This is its definition.
    Table(TableDefinition),
    /// There is no such table.
    NoTable,
    /// Nothing: its servers do not answer.
    Unknown,
}

impl Answer {
    /// The definition, if there is one.
    pub fn table(&self) -> Option<&TableDefinition> {
        match self {
            Self::Table(definition) => Some(definition),
            Self::NoTable | Self::Unknown => None,
        }
    }
}

/// What is wrong with the nodes of a table. `found` has their answers in the order of the nodes.
/// Nodes behind the end of `found` are not looked at.
pub fn check(layout: &Layout, table: &Table, found: &[Answer]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut first: Option<Vec<String>> = None;
    for (number, (node, definition)) in table.nodes().iter().zip(found).enumerate() {
        let of_node = Checked { layout, table, node, number };
        let definition = match definition {
            Answer::Table(definition) => definition,
            Answer::NoTable => {
                findings.push(of_node.finding(None, Problem::NoTable));
                continue;
            }
            Answer::Unknown => continue,
        };
        if !definition.is_table() {
            findings.push(of_node.finding(None, Problem::Kind(definition.kind.to_lowercase())));
            continue;
        }
        of_node.check(definition, &mut findings);
        let here = parts::parts(definition, |to| of_node.logical(to));
        match &first {
            None => first = Some(here),
            Some(first) if *first != here => {
                let owned = |parts: Vec<&str>| parts.into_iter().map(str::to_owned).collect();
                let (here, first) = (parts::lacking(&here, first), parts::lacking(first, &here));
                let problem = Problem::Differs { here: owned(here), first: owned(first) };
                findings.push(of_node.finding(None, problem));
            }
            Some(_) => {}
        }
    }
    findings
}

/// A node that is checked.
struct Checked<'a> {
    layout: &'a Layout,
    table: &'a Table,
    node: &'a Node,
    number: usize,
}

impl Checked<'_> {
    fn finding(&self, column: Option<&str>, problem: Problem) -> Finding {
        Finding {
            table: [self.table.schema.clone(), self.table.name.clone()],
            node: self.node.clone(),
            column: column.map(str::to_owned),
            problem,
        }
    }

    fn check(&self, definition: &TableDefinition, findings: &mut Vec<Finding>) {
        for column in self.table.key_columns() {
            match definition.column(column) {
                None => findings.push(self.finding(Some(column), Problem::NoColumn)),
                Some(found) if found.is_generated() => {
                    findings.push(self.finding(Some(column), Problem::Generated));
                }
                Some(_) => {}
            }
        }
        let sequence = self.layout.sequence(&self.table.schema, &self.table.name);
        let is_single = matches!(self.table.kind, TableKind::Single { .. });
        match (sequence, definition.auto_increment()) {
            (None, Some(column)) if !is_single => {
                findings.push(self.finding(Some(&column.name), Problem::OwnNumbers));
            }
            (Some(sequence), _) if definition.column(&sequence.column).is_none() => {
                findings.push(self.finding(Some(&sequence.column), Problem::NoSequenceColumn));
            }
            (Some(sequence), Some(column)) if !sequence.column.eq_ignore_ascii_case(&column.name) => {
                findings.push(self.finding(Some(&column.name), Problem::OwnNumbers));
            }
            _ => {}
        }
        if matches!(self.table.kind, TableKind::Reference { .. }) && self.table.nodes().len() > 1 {
            self.own_values(definition, findings);
        }
        if self.table.unique() == Unique::Checked {
            self.unique_keys(definition, findings);
            self.foreign_keys(definition, findings);
        }
    }

    /// The copies of a row have to be the same.
    fn own_values(&self, definition: &TableDefinition, findings: &mut Vec<Finding>) {
        for column in &definition.columns {
            if let Some(function) = own_values::of_column(column) {
                let problem = Problem::OwnValue { function, trigger: None };
                findings.push(self.finding(Some(&column.name), problem));
            }
        }
        for trigger in &definition.triggers {
            if let Some(function) = trigger.own_value.clone() {
                let problem = Problem::OwnValue { function, trigger: Some(trigger.name.clone()) };
                findings.push(self.finding(None, problem));
            }
        }
    }

    /// Unique keys have to have all columns that decide where a row is. Of equal values only one
    /// shard may have rows.
    fn unique_keys(&self, definition: &TableDefinition, findings: &mut Vec<Finding>) {
        let Some(placement) = self.table.placement().filter(|_| self.table.nodes().len() > 1) else { return };
        let unique = definition.indexes.iter().filter(|index| index.is_unique);
        if placement.levels().iter().any(|level| level.columns.is_empty()) {
            let by_hint =
                |index: &Index| self.finding(None, Problem::UniqueByHint { key: index.name.clone() });
            findings.extend(unique.map(by_hint));
            return;
        }
        let known = columns(&[definition], &Collations::default()).unwrap_or_default();
        let compares = |name: &str| {
            let column = known.iter().find(|column| column.name.eq_ignore_ascii_case(name));
            column.map_or(ColumnType::Unknown, |column| column.compares)
        };
        let of_level = |level: &'_ Level| {
            let names = level.columns.iter().filter_map(|at| self.table.key_columns().get(*at));
            let kinds = level.function.kinds();
            let is_exact = |name: &String| compares(name).kind().is_some_and(|kind| kinds.contains(&kind));
            names.map(|name| (name.clone(), is_exact(name))).collect::<Vec<_>>()
        };
        let deciding: Vec<_> = placement.levels().iter().flat_map(of_level).collect();
        let mut seen = HashSet::new();
        for index in unique {
            for (column, is_exact) in &deciding {
                let is_inexact = index.has_whole(column);
                if is_inexact && *is_exact || definition.column(column).is_none() {
                    continue;
                }
                if seen.insert((&index.name, column)) {
                    let (key, by) = (index.name.clone(), column.clone());
                    let problem = Problem::UniqueApart { key, by, is_inexact };
                    findings.push(self.finding(None, problem));
                }
            }
        }
    }

    fn foreign_keys(&self, definition: &TableDefinition, findings: &mut Vec<Finding>) {
        for key in &definition.foreign_keys {
            if !self.stays(key) {
                let problem = Problem::ForeignApart { key: key.name.clone(), to: key.table.clone() };
                findings.push(self.finding(None, problem));
            }
        }
    }

    /// Whether the row that a foreign key refers to is on the same node, whatever its values are.
    fn stays(&self, key: &ForeignKey) -> bool {
        let Some((to, number)) = self.target(&key.table) else {
            // A table that the layout does not name has its rows at its home.
            return matches!(self.table.kind, TableKind::Single { .. });
        };
        match (&self.table.kind, &to.kind) {
            (_, TableKind::Reference { .. }) | (TableKind::Single { .. }, TableKind::Single { .. }) => true,
            (TableKind::Sharded { .. }, TableKind::Sharded { .. }) => {
                let is_it = (&to.schema, &to.name) == (&self.table.schema, &self.table.name);
                let is_colocated = self.table.schema == to.schema
                    && self.layout.is_colocated(&to.schema, [&self.table.name, &to.name]);
                let pairs = self.table.key_columns().iter().zip(to.key_columns());
                let has_pair = |(own, other): (&String, &String)| {
                    let mut both = key.columns.iter().zip(&key.referenced);
                    both.any(|(a, b)| a.eq_ignore_ascii_case(own) && b.eq_ignore_ascii_case(other))
                };
                number == self.number && (is_it || is_colocated) && pairs.into_iter().all(has_pair)
            }
            _ => false,
        }
    }

    /// The logical table with this physical one beside the node, and the number of its node.
    fn target(&self, [schema, table]: &[String; 2]) -> Option<(&Table, usize)> {
        let is_it = |node: &Node| {
            node.hostgroup == self.node.hostgroup && node.schema == *schema && node.table == *table
        };
        self.layout.tables().iter().find_map(|of| Some((of, of.nodes().iter().position(is_it)?)))
    }

    /// The name by which all nodes refer to a physical table.
    fn logical(&self, to: &[String; 2]) -> String {
        match self.target(to) {
            Some((table, _)) => format!("{}.{}", table.schema, table.name),
            None => to.join("."),
        }
    }
}

#[cfg(test)]
mod tests;
