//! Servers that together know all tables of a layout, and which rows about tables each tells.

use std::collections::BTreeMap;

use shard::{Layout, Node, Table};

use crate::plan::Request;

use super::Asker;

/// Hostgroups, the one with nodes of the most tables first.
#[derive(Debug)]
pub(super) struct Hosts(Vec<u32>);

/// A server, and the tables that it tells of.
#[derive(Debug)]
pub(super) struct Source<'a> {
    /// The servers.
    pub(super) hostgroup: u32,
    /// Schema of tables that the layout does not name, in its physical and logical form; none if
    /// the server is no home.
    pub(super) home: Option<(&'a str, &'a str)>,
    /// The node that stands for each table.
    pub(super) shown: Vec<(&'a Node, &'a Table)>,
    /// Tables of which the server must not tell, in physical form.
    pub(super) hidden: Vec<(&'a str, &'a str)>,
}

impl Hosts {
    /// The hostgroups of a layout. Of those with equally many tables the `home` is first.
    pub(super) fn of(layout: &Layout, home: Option<u32>) -> Self {
        let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
        for table in layout.tables() {
            let mut hostgroups: Vec<u32> = table.nodes().iter().map(|node| node.hostgroup).collect();
            hostgroups.sort_unstable();
            hostgroups.dedup();
            for hostgroup in hostgroups {
                *counts.entry(hostgroup).or_default() += 1;
            }
        }
        let mut hosts: Vec<u32> = counts.keys().copied().collect();
        let count = |hostgroup: &u32| counts.get(hostgroup).copied().unwrap_or(0);
        hosts.sort_by_key(|hostgroup| (usize::MAX - count(hostgroup), Some(*hostgroup) != home, *hostgroup));
        Self(hosts)
    }

    /// The node of a table on the first of these servers that has one.
    pub(super) fn node_of<'a>(&self, table: &'a Table) -> Option<&'a Node> {
        self.0.iter().find_map(|host| table.nodes().iter().find(|node| node.hostgroup == *host))
    }
}

/// The servers that tell of the tables of a schema, the home first; those of all schemas if there
/// is none.
pub(super) fn sources<'a>(request: &Request<'a>, asker: Asker, schema: Option<&'a str>) -> Vec<Source<'a>> {
    let layout = request.layout;
    let own = schema.map_or_else(|| layout.homes().first(), |schema| layout.homes_of(schema).next());
    let home = own.map_or(asker.home, |home| home.hostgroup);
    let logical = schema.unwrap_or(request.schema);
    let physical = own.and_then(|home| home.physical_schema.as_deref()).unwrap_or(logical);
    let first =
        Source { hostgroup: home, home: Some((physical, logical)), shown: Vec::new(), hidden: Vec::new() };
    let mut sources = vec![first];
    let hosts = Hosts::of(layout, Some(home));
    for table in layout.tables().iter().filter(|table| schema.is_none_or(|schema| table.schema == schema)) {
        let Some(node) = hosts.node_of(table) else { continue };
        match sources.iter_mut().find(|source| source.hostgroup == node.hostgroup) {
            Some(source) => source.shown.push((node, table)),
            None => sources.push(Source {
                hostgroup: node.hostgroup,
                home: None,
                shown: vec![(node, table)],
                hidden: Vec::new(),
            }),
        }
    }
    if let Some(home) = sources.first_mut() {
        home.hide(layout);
    }
    sources
}

impl<'a> Source<'a> {
    /// Hides what a home has of the layout's tables but the nodes that are shown: further nodes,
    /// and tables that have the name of one which is shown elsewhere.
    fn hide(&mut self, layout: &'a Layout) {
        let nodes = layout.tables().iter().flat_map(Table::nodes);
        let own = nodes.filter(|node| node.hostgroup == self.hostgroup);
        let nodes = own.map(|node| (node.schema.as_str(), node.table.as_str()));
        let names = layout.tables().iter().map(|table| (table.schema.as_str(), table.name.as_str()));
        let is_shown = |name: &(&str, &str)| {
            self.shown.iter().any(|(node, _)| (node.schema.as_str(), node.table.as_str()) == *name)
        };
        let mut hidden: Vec<_> = nodes.chain(names).filter(|name| !is_shown(name)).collect();
        hidden.sort_unstable();
        hidden.dedup();
        self.hidden = hidden;
    }

    /// Whether all tables that are shown have the names that clients know.
    pub(super) fn has_same_names(&self) -> bool {
        let is_same =
            |(node, table): &(&Node, &Table)| node.schema == table.schema && node.table == table.name;
        self.home.is_none_or(|(physical, logical)| physical == logical) && self.shown.iter().all(is_same)
    }

    /// Whether the server tells of just those tables that it should, by the names that clients
    /// know.
    pub(super) fn is_plain(&self) -> bool {
        self.home.is_some() && self.hidden.is_empty() && self.has_same_names()
    }

    /// Whether the server has tables of which it must not tell.
    pub(super) fn is_filtered(&self) -> bool {
        self.home.is_none() || !self.hidden.is_empty()
    }

    /// The condition that rows about tables have to meet, which are in the columns `schema` and
    /// `table`; none if all do.
    pub(super) fn filter(&self, schema: &str, table: &str) -> Option<String> {
        let list = |names: &mut dyn Iterator<Item = (&str, &str)>| {
            let pairs: Vec<_> =
                names.map(|(schema, table)| format!("({}, {})", literal(schema), literal(table))).collect();
            pairs.join(", ")
        };
        if self.home.is_some() {
            let hidden = list(&mut self.hidden.iter().copied());
            return (!hidden.is_empty()).then(|| format!("({schema}, {table}) NOT IN ({hidden})"));
        }
        let shown = self.shown.iter().map(|(node, _)| (node.schema.as_str(), node.table.as_str()));
        Some(format!("({schema}, {table}) IN ({})", list(&mut shown.into_iter())))
    }

    /// The expression of a table's logical name; none if all are the physical ones.
    pub(super) fn table_case(&self, schema: &str, table: &str) -> Option<String> {
        let renamed = self.shown.iter().filter(|(node, of)| node.table != of.name);
        let cases: Vec<_> = renamed
            .map(|(node, of)| {
                let (in_schema, is) = (literal(&node.schema), literal(&node.table));
                format!("WHEN {schema} = {in_schema} AND {table} = {is} THEN {}", literal(&of.name))
            })
            .collect();
        (!cases.is_empty()).then(|| format!("CASE {} ELSE {table} END", cases.join(" ")))
    }

    /// The expression of a schema's logical name; none if all are the physical ones. A schema with
    /// nodes of several schemas needs the column of the `table`.
    pub(super) fn schema_case(&self, schema: &str, table: Option<&str>) -> Option<String> {
        let mut cases = Vec::new();
        for (node, of) in self.shown.iter().filter(|(node, of)| node.schema != of.schema) {
            let in_schema = literal(&node.schema);
            let and_table = table.map(|table| format!(" AND {table} = {}", literal(&node.table)));
            let case = format!(
                "WHEN {schema} = {in_schema}{} THEN {}",
                and_table.unwrap_or_default(),
                literal(&of.schema)
            );
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
        if let Some((physical, logical)) = self.home.filter(|(physical, logical)| physical != logical) {
            cases.push(format!("WHEN {schema} = {} THEN {}", literal(physical), literal(logical)));
        }
        (!cases.is_empty()).then(|| format!("CASE {} ELSE {schema} END", cases.join(" ")))
    }
}

/// A name as a string of SQL that reads the same in all modes and character sets.
pub(super) fn literal(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_control() && byte != b'\'' && byte != b'\\';
    if name.bytes().all(is_plain) {
        return format!("'{name}'");
    }
    name.bytes().fold("_utf8mb4 0x".to_owned(), |text, byte| format!("{text}{byte:02X}"))
}
