//! The tables `shards` of a file, as rows of the tables that have what they say.
//!
//! `[[shards.table]]` becomes a row of `pointsman_shard_tables` and one of `pointsman_shard_nodes`
//! for each node. `[[shards.group]]`, `[[shards.sequence]]` and `[[shards.home]]` become rows of
//! the tables of those names.

use serde_json::{Map, Value as Json};
use shard::groovy::expand;

use super::shard_rows::ShardRows;
use crate::nearest::suggestion;
use crate::problem::Problem;
use crate::tree::{Entry, Node, Place, Value};

/// The lists in `shards`.
const LISTS: [&str; 4] = ["table", "group", "sequence", "home"];

/// `root`, in which rows of sections stand in place of `shards`.
pub(super) fn as_rows(root: Vec<Entry>, problems: &mut Vec<Problem>) -> Vec<Entry> {
    let mut rows = ShardRows::default();
    let mut out = Vec::with_capacity(root.len());
    for entry in root {
        match entry.node.value {
            Value::Group(lists) if entry.key == "shards" => {
                for list in lists {
                    rows.list(list, problems);
                }
            }
            value => out.push(Entry { node: Node { value, ..entry.node }, ..entry }),
        }
    }
    rows.into_sections(&mut out);
    out
}

/// Keys of a file, and the columns that have other names.
type Names = [(&'static str, &'static str)];

const GROUP: [(&str, &str); 2] = [("schema", "schema_name"), ("name", "group_name")];
const SEQUENCE: [(&str, &str); 3] =
    [("schema", "schema_name"), ("table", "table_name"), ("column", "column_name")];
const HOME: [(&str, &str); 2] = [("schema", "schema_name"), ("hostgroup", "hostgroup_id")];
const NODE: [(&str, &str); 3] =
    [("hostgroup", "hostgroup_id"), ("schema", "physical_schema"), ("table", "physical_table")];

/// `entries` under the names of columns.
fn columns(entries: Vec<Entry>, names: &Names) -> Vec<Entry> {
    let column = |entry: Entry| match names.iter().find(|(key, _)| *key == entry.key) {
        Some((_, column)) => Entry { key: (*column).to_owned(), ..entry },
        None => entry,
    };
    entries.into_iter().map(column).collect()
}

/// The row that they are.
fn renamed(entries: Vec<Entry>, names: &Names, at: Place) -> Node {
    Node { value: Value::Group(columns(entries, names)), at }
}

impl ShardRows {
    fn list(&mut self, list: Entry, problems: &mut Vec<Problem>) {
        if !LISTS.contains(&list.key.as_str()) {
            let near = suggestion(&list.key, LISTS);
            let message = format!("unknown setting `{}` in `shards`{near}", list.key.escape_debug());
            problems.push(Problem::new(&list.at.file, list.at.line, message));
            return;
        }
        let Value::List(items) = list.node.value else {
            let message = format!("`shards.{}` must be a list of groups", list.key);
            problems.push(Problem::new(&list.at.file, list.at.line, message));
            return;
        };
        for item in items {
            let at = item.at;
            let Value::Group(entries) = item.value else {
                let message = format!("an item of `shards.{}` must be a group", list.key);
                problems.push(Problem::new(&at.file, at.line, message));
                continue;
            };
            match list.key.as_str() {
                "table" => self.table(entries, &at, problems),
                "group" => self.group(entries, &at),
                "sequence" => self.sequences.push(renamed(entries, &SEQUENCE, at)),
                _ => self.homes.push(renamed(entries, &HOME, at)),
            }
        }
    }

    /// A row of the table; what no column is for belongs to its function.
    fn table(&mut self, entries: Vec<Entry>, at: &Place, problems: &mut Vec<Problem>) {
        let name = |key| entries.iter().find(|entry| entry.key == key).map(|entry| entry.node.clone());
        let (schema, table) = (name("schema"), name("table"));
        let mut row = Vec::new();
        let mut arguments = Map::new();
        for entry in entries {
            match entry.key.as_str() {
                "schema" => row.push(Entry { key: "schema_name".to_owned(), ..entry }),
                "table" => row.push(Entry { key: "table_name".to_owned(), ..entry }),
                "key" => {
                    let node = joined(entry.node);
                    row.push(Entry { key: "key_columns".to_owned(), node, ..entry });
                }
                "unique" => row.push(Entry { key: "unique_keys".to_owned(), ..entry }),
                "kind" | "function" | "comment" => row.push(entry),
                "nodes" => {
                    for (node, number) in nodes(entry.node, problems).into_iter().zip(0..) {
                        let names = [("schema_name", &schema), ("table_name", &table)];
                        self.node(node, number, names);
                    }
                }
                _ => drop(arguments.insert(entry.key, json(entry.node.value))),
            }
        }
        if !arguments.is_empty() {
            row.push(entry("arguments", Value::Text(Json::Object(arguments).to_string()), at));
        }
        self.tables.push(Node { value: Value::Group(row), at: at.clone() });
    }

    fn node(&mut self, node: Node, number: i64, names: [(&str, &Option<Node>); 2]) {
        let at = node.at;
        let Value::Group(mut row) = node.value else { return };
        for (key, value) in names {
            if let Some(value) = value {
                row.push(entry(key, value.value.clone(), &at));
            }
        }
        row.push(entry("shard", Value::Int(number), &at));
        self.nodes.push(Node { value: Value::Group(row), at });
    }

    /// A row for each table of a group, whose name is that of its first table if it has none.
    fn group(&mut self, entries: Vec<Entry>, at: &Place) {
        let (tables, rest): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.key == "tables");
        let tables: Vec<Node> = tables.into_iter().flat_map(|entry| items(entry.node)).collect();
        let mut common = columns(rest, &GROUP);
        if let Some(first) = tables.first()
            && !common.iter().any(|entry| entry.key == "group_name")
        {
            common.push(entry("group_name", first.value.clone(), at));
        }
        for table in tables {
            let mut row = common.clone();
            row.push(entry("table_name", table.value, at));
            self.groups.push(Node { value: Value::Group(row), at: at.clone() });
        }
    }

    /// Appends the sections that have rows; to rows of the same section that stand elsewhere.
    fn into_sections(self, root: &mut Vec<Entry>) {
        for (section, rows) in self.sections() {
            let Some(first) = rows.first() else { continue };
            let at = first.at.clone();
            let known = root.iter_mut().find(|entry| entry.key == section.name);
            match known.map(|entry| &mut entry.node.value) {
                Some(Value::List(known)) => known.extend(rows),
                Some(_) => {}
                None => root.push(entry(section.name, Value::List(rows), &at)),
            }
        }
    }
}

/// Rows of nodes, of which the table and the number are missing: `hostgroup/schema.table` with
/// lists as in `orders_${0..3}`, or groups.
fn nodes(node: Node, problems: &mut Vec<Problem>) -> Vec<Node> {
    let mut found = Vec::new();
    for item in items(node) {
        let at = item.at;
        match item.value {
            Value::Group(entries) => found.push(renamed(entries, &NODE, at)),
            Value::Text(text) => match expand(&text) {
                Ok(names) => found.extend(names.iter().filter_map(|name| named(name, &at, problems))),
                Err(refused) => {
                    problems.push(Problem::new(&at.file, at.line, format!("`nodes`: {refused}")));
                }
            },
            other => {
                let message = format!("`nodes` must be texts or groups, not {other}");
                problems.push(Problem::new(&at.file, at.line, message));
            }
        }
    }
    found
}

/// The row of a node by its name.
fn named(name: &str, at: &Place, problems: &mut Vec<Problem>) -> Option<Node> {
    let parts = name.split_once('/').and_then(|(hostgroup, rest)| {
        let (schema, table) = rest.split_once('.')?;
        Some((hostgroup.parse::<i64>().ok()?, schema, table))
    });
    let Some((hostgroup, schema, table)) = parts else {
        let message = format!("`nodes`: {} is not `hostgroup/schema.table`", name.escape_debug());
        problems.push(Problem::new(&at.file, at.line, message));
        return None;
    };
    let row = vec![
        entry("hostgroup_id", Value::Int(hostgroup), at),
        entry("physical_schema", Value::Text(schema.to_owned()), at),
        entry("physical_table", Value::Text(table.to_owned()), at),
    ];
    Some(Node { value: Value::Group(row), at: at.clone() })
}

/// The items of a list; any other value is its only one.
fn items(node: Node) -> Vec<Node> {
    match node.value {
        Value::List(items) => items,
        value => vec![Node { value, at: node.at }],
    }
}

/// Texts of a list as one text, separated by commas.
fn joined(node: Node) -> Node {
    let Value::List(items) = &node.value else { return node };
    let texts: Option<Vec<&str>> = items
        .iter()
        .map(|item| if let Value::Text(text) = &item.value { Some(text.as_str()) } else { None })
        .collect();
    match texts {
        Some(texts) => Node { value: Value::Text(texts.join(",")), at: node.at },
        None => node,
    }
}

fn json(value: Value) -> Json {
    match value {
        Value::Bool(value) => Json::Bool(value),
        Value::Int(value) => Json::from(value),
        Value::Float(value) => Json::from(value),
        Value::Text(text) | Value::Date(text) => Json::String(text),
        Value::List(items) => Json::Array(items.into_iter().map(|item| json(item.value)).collect()),
        Value::Group(entries) => {
            Json::Object(entries.into_iter().map(|entry| (entry.key, json(entry.node.value))).collect())
        }
    }
}

/// A setting.
fn entry(key: &str, value: Value, at: &Place) -> Entry {
    Entry { key: key.to_owned(), at: at.clone(), node: Node { value, at: at.clone() } }
}
