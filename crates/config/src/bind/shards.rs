//! The layout of sharded tables, out of the rows of its tables.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use shard::Layout;
use shard::read::{Yaml, YamlNode, own_tree, parse_yaml};

use super::tables::Tables;
use crate::model::Config;
use crate::problem::Problem;
use crate::row::PlacedRow;
use crate::schema::{
    POINTSMAN_SHARD_GROUPS, POINTSMAN_SHARD_HOMES, POINTSMAN_SHARD_NODES, POINTSMAN_SHARD_SEQUENCES,
    POINTSMAN_SHARD_TABLES, Scalar, Section,
};
use crate::turns::in_turns;

/// The tables that make a layout.
const SECTIONS: [&Section; 5] = [
    &POINTSMAN_SHARD_TABLES,
    &POINTSMAN_SHARD_NODES,
    &POINTSMAN_SHARD_GROUPS,
    &POINTSMAN_SHARD_SEQUENCES,
    &POINTSMAN_SHARD_HOMES,
];

/// The layout that rows make together; none if there are none. Rows that were checked make the one
/// of `before`.
pub(super) fn layout(
    tables: &Tables,
    before: Option<&Config>,
    problems: &mut Vec<Problem>,
) -> Option<Arc<Layout>> {
    if let Some(before) = before.filter(|_| SECTIONS.iter().all(|section| tables.is_seen(section))) {
        return before.shards.clone();
    }
    let rows = || SECTIONS.iter().flat_map(|section| tables.of(section));
    // A row that is wrong by itself would make others wrong.
    if rows().next().is_none() || rows().any(|row| !row.sound) {
        return None;
    }
    let nodes = nodes(tables, problems)?;
    let mut form = Form::default();
    let root = form.root(tables, &nodes);
    let hostgroups: HashSet<u32> = [&POINTSMAN_SHARD_NODES, &POINTSMAN_SHARD_HOMES]
        .into_iter()
        .flat_map(|section| in_turns(tables.of(section)))
        .map(|row| row.row.get("hostgroup_id"))
        .collect();
    let hostgroups: Vec<u32> = hostgroups.into_iter().collect();
    match own_tree(Path::new(""), &root, &hostgroups) {
        Ok(layout) => Some(Arc::new(layout)),
        Err(found) => {
            problems.extend(found.as_slice().iter().filter_map(|problem| form.problem(problem)));
            None
        }
    }
}

/// Rows of nodes by schema and name of their table, in the order of their numbers.
type Nodes<'a> = HashMap<(String, String), Vec<(u32, &'a PlacedRow)>>;

/// The table that a row is of.
fn table_of(row: &PlacedRow) -> (String, String) {
    (row.row.get("schema_name"), row.row.get("table_name"))
}

/// The nodes of each table. Fails if one has no table, or numbers have gaps.
fn nodes<'a>(tables: &'a Tables, problems: &mut Vec<Problem>) -> Option<Nodes<'a>> {
    let before = problems.len();
    let known: HashSet<_> = in_turns(tables.of(&POINTSMAN_SHARD_TABLES)).map(table_of).collect();
    let mut nodes: Nodes<'_> = HashMap::new();
    for row in in_turns(tables.of(&POINTSMAN_SHARD_NODES)) {
        let table = table_of(row);
        if !known.contains(&table) {
            let message = format!(
                "`pointsman_shard_nodes.table_name`: `pointsman_shard_tables` has no table {}.{}",
                table.0.escape_debug(),
                table.1.escape_debug()
            );
            problems.push(problem(row, "table_name", message));
        }
        nodes.entry(table).or_default().push((row.row.get("shard"), row));
    }
    for rows in nodes.values_mut() {
        rows.sort_by_key(|(shard, _)| *shard);
        let gap = rows.iter().zip(0_u32..).find(|((shard, _), expected)| shard > expected);
        if let Some(((shard, row), expected)) = gap {
            let message = format!("`pointsman_shard_nodes.shard`: {shard} is there, but {expected} is not");
            problems.push(problem(row, "shard", message));
        }
    }
    (problems.len() == before).then_some(nodes)
}

fn problem(row: &PlacedRow, column: &str, message: String) -> Problem {
    let at = row.place(column);
    Problem::new(&at.file, at.line, message)
}

/// Rows in the form that layouts are read from. Lines of its nodes are numbers of rows.
#[derive(Default)]
struct Form<'a> {
    rows: Vec<(&'static Section, &'a PlacedRow)>,
}

impl<'a> Form<'a> {
    fn root(&mut self, tables: &'a Tables, nodes: &Nodes<'a>) -> YamlNode {
        let rows = |section| in_turns(tables.of(section));
        let of_table = rows(&POINTSMAN_SHARD_TABLES).map(|row| self.table(row, nodes)).collect();
        let mut groups: BTreeMap<(String, String), Vec<&PlacedRow>> = BTreeMap::new();
        for row in rows(&POINTSMAN_SHARD_GROUPS) {
            groups.entry((row.row.get("schema_name"), row.row.get("group_name"))).or_default().push(row);
        }
        let of_group = groups.into_iter().filter_map(|((schema, _), rows)| {
            let line = self.line(&POINTSMAN_SHARD_GROUPS, rows.first()?);
            let names = rows.iter().map(|row| text(line, row.row.get("table_name"))).collect();
            Some(map(line, vec![("schema", text(line, schema)), ("tables", list(line, names))]))
        });
        let of_group = of_group.collect();
        let of_home = rows(&POINTSMAN_SHARD_HOMES).map(|row| self.home(row)).collect();
        let of_sequence = rows(&POINTSMAN_SHARD_SEQUENCES).map(|row| self.sequence(row)).collect();
        map(
            0,
            vec![
                ("table", list(0, of_table)),
                ("group", list(0, of_group)),
                ("sequence", list(0, of_sequence)),
                ("home", list(0, of_home)),
            ],
        )
    }

    /// The number of a row.
    fn line(&mut self, section: &'static Section, row: &'a PlacedRow) -> usize {
        self.rows.push((section, row));
        self.rows.len()
    }

    fn table(&mut self, row: &'a PlacedRow, nodes: &Nodes<'a>) -> YamlNode {
        let line = self.line(&POINTSMAN_SHARD_TABLES, row);
        let (schema, name) = table_of(row);
        let node = |(_, row): &(u32, &PlacedRow)| {
            let or_logical = |column, logical: &String| {
                let given: String = row.row.get(column);
                text(line, if given.is_empty() { logical.clone() } else { given })
            };
            let hostgroup: u32 = row.row.get("hostgroup_id");
            map(
                line,
                vec![
                    ("hostgroup", text(line, hostgroup.to_string())),
                    ("schema", or_logical("physical_schema", &schema)),
                    ("table", or_logical("physical_table", &name)),
                ],
            )
        };
        let of_table = nodes.get(&(schema.clone(), name.clone())).map(|rows| rows.iter().map(node).collect());
        let mut entries = vec![
            ("nodes", list(line, of_table.unwrap_or_default())),
            ("schema", text(line, schema)),
            ("table", text(line, name)),
            ("kind", text(line, row.row.get("kind"))),
        ];
        let keys: String = row.row.get("key_columns");
        let keys: Vec<_> = keys.split(',').map(str::trim).filter(|key| !key.is_empty()).collect();
        if !keys.is_empty() {
            entries
                .push(("key", list(line, keys.into_iter().map(|key| text(line, key.to_owned())).collect())));
        }
        let function: String = row.row.get("function");
        if !function.is_empty() {
            entries.push(("function", text(line, function)));
        }
        if !row.row.is_preset("unique_keys") {
            entries.push(("unique", text(line, row.row.get("unique_keys"))));
        }
        let mut table = map(line, entries);
        if let Yaml::Map(entries) = &mut table.value {
            entries.extend(arguments(&row.row.get::<String>("arguments"), line));
        }
        table
    }

    fn sequence(&mut self, row: &'a PlacedRow) -> YamlNode {
        let line = self.line(&POINTSMAN_SHARD_SEQUENCES, row);
        let columns = [
            ("schema", "schema_name"),
            ("table", "table_name"),
            ("column", "column_name"),
            ("kind", "kind"),
            ("step", "step"),
            ("worker", "worker"),
            ("vibration", "vibration"),
        ];
        let given = columns.into_iter().filter_map(|(key, column)| match row.row.scalar(column) {
            Scalar::Null => None,
            value => Some((key, text(line, value.to_string()))),
        });
        map(line, given.collect())
    }

    fn home(&mut self, row: &'a PlacedRow) -> YamlNode {
        let line = self.line(&POINTSMAN_SHARD_HOMES, row);
        let hostgroup: u32 = row.row.get("hostgroup_id");
        let mut entries = vec![("hostgroup", text(line, hostgroup.to_string()))];
        for (key, column) in [("schema", "schema_name"), ("physical_schema", "physical_schema")] {
            let value: String = row.row.get(column);
            if !value.is_empty() {
                entries.push((key, text(line, value)));
            }
        }
        map(line, entries)
    }

    /// A problem of the form as one of the row and the column that it comes from.
    fn problem(&self, found: &shard::read::Problem) -> Option<Problem> {
        let (section, row) = self.rows.get(found.line.checked_sub(1)?)?;
        let (key, message) = match found.key.rsplit_once("].") {
            Some((_, key)) => (key, found.message.as_str()),
            // Checks of the whole layout name the key in front of what is wrong with it.
            None => found.message.split_once(": ").unwrap_or(("", &found.message)),
        };
        let (column, about) = match key.split(['[', '.']).next().unwrap_or_default() {
            "schema" => ("schema_name", String::new()),
            "table" | "name" | "tables" | "" => ("table_name", String::new()),
            "nodes" => ("table_name", "of its nodes, ".to_owned()),
            "key" => ("key_columns", String::new()),
            "function" | "placement" => ("function", String::new()),
            "kind" => ("kind", String::new()),
            "unique" => ("unique_keys", String::new()),
            "column" => ("column_name", String::new()),
            "step" if section.name == POINTSMAN_SHARD_SEQUENCES.name => ("step", String::new()),
            "worker" => ("worker", String::new()),
            "vibration" => ("vibration", String::new()),
            "hostgroup" => ("hostgroup_id", String::new()),
            other => ("arguments", format!("`{other}` ")),
        };
        Some(problem(row, column, format!("`{}.{column}`: {about}{message}", section.name)))
    }
}

/// The settings of a function, which are JSON: YAML has the same form.
fn arguments(json: &str, line: usize) -> Vec<(String, YamlNode)> {
    let Ok(mut root) = parse_yaml(json) else {
        return vec![("arguments".to_owned(), text(line, json.to_owned()))];
    };
    place(&mut root, line);
    match root.value {
        Yaml::Null => Vec::new(),
        Yaml::Map(entries) => entries,
        Yaml::Text(_) | Yaml::List(_) => vec![("arguments".to_owned(), root)],
    }
}

/// Says of all nodes of a tree on which line they are.
fn place(node: &mut YamlNode, line: usize) {
    node.line = line;
    match &mut node.value {
        Yaml::Null | Yaml::Text(_) => {}
        Yaml::List(items) => items.iter_mut().for_each(|item| place(item, line)),
        Yaml::Map(entries) => entries.iter_mut().for_each(|(_, item)| place(item, line)),
    }
}

fn text(line: usize, value: String) -> YamlNode {
    YamlNode { line, tag: None, value: Yaml::Text(value) }
}

fn list(line: usize, items: Vec<YamlNode>) -> YamlNode {
    YamlNode { line, tag: None, value: Yaml::List(items) }
}

fn map(line: usize, entries: Vec<(&str, YamlNode)>) -> YamlNode {
    let entries = entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    YamlNode { line, tag: None, value: Yaml::Map(entries) }
}

#[cfg(test)]
mod tests;
