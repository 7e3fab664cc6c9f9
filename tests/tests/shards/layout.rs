//! Where the parts of the tables are: three kinds of layouts.

use std::path::Path;

use e2e::dice::Dice;
use shard::Layout;

use crate::tables::Table;
use crate::world::{PARTS, Way};

/// The logical schema.
pub(crate) const SCHEMA: &str = "w";

/// How tables are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    /// Tables with the same names on several servers.
    Servers,
    /// Tables with numbers on one server.
    Suffixes,
    /// Tables with numbers on several servers.
    Both,
}

/// A split into a number of shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shards {
    pub(crate) split: Split,
    pub(crate) count: usize,
    /// Hostgroups, which begin with 1.
    pub(crate) hostgroups: usize,
}

/// A physical table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) hostgroup: usize,
    /// Schema and name as a layout says them.
    pub(crate) schema: String,
    pub(crate) table: String,
}

impl Shards {
    /// The split of this kind, into two to eight shards.
    pub(crate) fn random(dice: &mut Dice, split: Split, way: Way) -> Self {
        let count = match (way, split) {
            (Way::Proxied, Split::Servers) => PARTS,
            _ => dice.within(2..9),
        };
        let hostgroups = match split {
            Split::Servers => count,
            Split::Suffixes => 1,
            Split::Both => PARTS.min(count),
        };
        Self { split, count, hostgroups }
    }

    /// The place of a shard of a table.
    pub(crate) fn place(&self, table: &Table, shard: usize) -> Place {
        let hostgroup = shard % self.hostgroups + 1;
        let table = match self.split {
            Split::Servers => table.name.to_owned(),
            Split::Suffixes | Split::Both => format!("{}_{shard}", table.name),
        };
        Place { hostgroup, schema: self.schema(hostgroup), table }
    }

    /// The places of a table that each server has.
    pub(crate) fn everywhere(&self, table: &Table) -> Vec<Place> {
        // Beside the parts is the whole table, if there is one server.
        let name = match self.split {
            Split::Suffixes => format!("{}_all", table.name),
            Split::Servers | Split::Both => table.name.to_owned(),
        };
        let place = |hostgroup| Place { hostgroup, schema: self.schema(hostgroup), table: name.clone() };
        (1..=self.hostgroups).map(place).collect()
    }

    fn schema(&self, hostgroup: usize) -> String {
        match self.split {
            Split::Servers | Split::Suffixes => SCHEMA.to_owned(),
            Split::Both => format!("{SCHEMA}_{hostgroup}"),
        }
    }

    /// All places of a table: those of its shards by their numbers.
    pub(crate) fn places(&self, table: &Table) -> Vec<Place> {
        match table.function {
            Some(_) => (0..self.count).map(|shard| self.place(table, shard)).collect(),
            None => self.everywhere(table),
        }
    }

    /// The layout as tables of `pointsman.toml`, each with its name.
    pub(crate) fn rows(&self, tables: &[Table]) -> Vec<(&'static str, String)> {
        let row = |table: &Table| {
            let node = |Place { hostgroup, schema, table }: &Place| format!("'{hostgroup}/{schema}.{table}'");
            let nodes: Vec<_> = self.places(table).iter().map(node).collect();
            let kind = match &table.function {
                Some(function) => format!("key = 'k'\n{function}"),
                None => "kind = 'reference'".to_owned(),
            };
            let (name, nodes) = (table.name, nodes.join(", "));
            ("shards.table", format!("schema = '{SCHEMA}'\ntable = '{name}'\nnodes = [{nodes}]\n{kind}"))
        };
        let group = ("shards.group", format!("schema = '{SCHEMA}'\ntables = ['a', 'b']"));
        tables.iter().map(row).chain([group]).collect()
    }

    /// The same, read.
    pub(crate) fn layout(&self, tables: &[Table]) -> Layout {
        let hostgroups: Vec<_> = (1..=u32::try_from(self.hostgroups).unwrap_or(u32::MAX)).collect();
        let rows = self.rows(tables);
        let toml: Vec<_> = rows.iter().map(|(table, row)| format!("[[{table}]]\n{row}\n")).collect();
        let toml = toml.concat();
        shard::read::own(Path::new("layout"), &toml, &hostgroups)
            .unwrap_or_else(|problems| panic!("{problems}\n{toml}"))
    }
}
