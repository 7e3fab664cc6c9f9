//! Layouts of a file as rows of their tables.

use serde_json::{Map, Value as Json};
use shard::read::{Imported, Scope, Yaml, YamlNode, own_form};
use shard::{Sequence, SequenceKind, Table, TableKind};

use super::super::shard_rows::ShardRows;
use super::rows::{entry, list, place, row};
use crate::tree::{Entry, Node, Place, Value};

/// The sections of all layouts. Of a table that several users have the rules are the same.
pub(super) fn sections(imported: &Imported, top: &Place) -> Vec<Entry> {
    let mut rows = ShardRows::default();
    let homes: Vec<_> = imported.scopes.iter().map(|scope| scope.layout.homes()).collect();
    let has_one_home = homes.windows(2).all(|pair| matches!(pair, [one, other] if one == other));
    for (scope, number) in imported.scopes.iter().zip(0..) {
        let is_by_user = !scope.users.is_empty();
        let before = imported.scopes.get(..number).unwrap_or_default();
        let is_new = |table: &&Table| {
            !before.iter().any(|other| other.layout.table(&table.schema, &table.name).is_some())
        };
        let tables: Vec<&Table> = scope.layout.tables().iter().filter(is_new).collect();
        rows.scope(scope, &tables);
        if !is_by_user || has_one_home && number == 0 {
            rows.home(scope);
        }
    }
    rows.sections().into_iter().map(|(section, rows)| list(section.name, rows, top)).collect()
}

impl ShardRows {
    /// All but the home; of tables only these.
    fn scope(&mut self, scope: &Scope, tables: &[&Table]) {
        let at = place(&scope.place);
        for table in tables {
            self.layout_table(table, &at);
        }
        for group in scope.layout.groups() {
            let Some(name) = group.tables.first() else { continue };
            let of_table = |table: &String| {
                let columns = vec![
                    entry("schema_name", Value::Text(group.schema.clone()), &at),
                    entry("group_name", Value::Text(name.clone()), &at),
                    entry("table_name", Value::Text(table.clone()), &at),
                ];
                row(columns, &at)
            };
            self.groups.extend(group.tables.iter().map(of_table));
        }
        self.sequences.extend(scope.layout.sequences().iter().map(|sequence| self::sequence(sequence, &at)));
    }

    fn home(&mut self, scope: &Scope) {
        let at = place(&scope.place);
        if let Some(home) = scope.layout.homes().first() {
            let columns = vec![
                entry("schema_name", Value::Text(home.schema.clone().unwrap_or_default()), &at),
                entry("hostgroup_id", Value::Int(home.hostgroup.into()), &at),
            ];
            self.homes.push(row(columns, &at));
        }
    }

    fn layout_table(&mut self, table: &Table, at: &Place) {
        let kind = match table.kind {
            TableKind::Sharded { .. } => "sharded",
            TableKind::Reference { .. } => "reference",
            TableKind::Single { .. } => "single",
        };
        let name = || {
            vec![
                entry("schema_name", Value::Text(table.schema.clone()), at),
                entry("table_name", Value::Text(table.name.clone()), at),
            ]
        };
        let mut columns = name();
        columns.push(entry("kind", Value::Text(kind.to_owned()), at));
        columns.push(entry("key_columns", Value::Text(table.key_columns().join(",")), at));
        let mut arguments = Map::new();
        for (key, node) in own_form(table).unwrap_or_default() {
            match (key.as_str(), &node.value) {
                ("function", Yaml::Text(text)) => {
                    columns.push(entry("function", Value::Text(text.clone()), at));
                }
                ("unique", Yaml::Text(text)) => {
                    columns.push(entry("unique_keys", Value::Text(text.clone()), at));
                }
                _ => drop(arguments.insert(key, json(&node))),
            }
        }
        if !arguments.is_empty() {
            columns.push(entry("arguments", Value::Text(Json::Object(arguments).to_string()), at));
        }
        self.tables.push(row(columns, at));
        for (node, number) in table.nodes().iter().zip(0..) {
            let mut columns = name();
            columns.push(entry("shard", Value::Int(number), at));
            columns.push(entry("hostgroup_id", Value::Int(node.hostgroup.into()), at));
            columns.push(entry("physical_schema", Value::Text(node.schema.clone()), at));
            columns.push(entry("physical_table", Value::Text(node.table.clone()), at));
            self.nodes.push(row(columns, at));
        }
    }
}

fn sequence(sequence: &Sequence, at: &Place) -> Node {
    let mut columns = vec![
        entry("schema_name", Value::Text(sequence.schema.clone()), at),
        entry("table_name", Value::Text(sequence.table.clone()), at),
        entry("column_name", Value::Text(sequence.column.clone()), at),
        entry("kind", Value::Text(sequence.kind.name().to_owned()), at),
    ];
    match sequence.kind {
        SequenceKind::Segment { step } => columns.push(entry("step", Value::Int(step.into()), at)),
        SequenceKind::Snowflake { worker, vibration } => {
            columns.push(entry("worker", Value::Int(worker.into()), at));
            columns.push(entry("vibration", Value::Int(vibration.into()), at));
        }
    }
    row(columns, at)
}

/// A setting of a function as JSON.
fn json(node: &YamlNode) -> Json {
    match &node.value {
        Yaml::Null => Json::Null,
        Yaml::Text(text) => match (text.as_str(), text.parse::<i64>()) {
            ("true", _) => Json::Bool(true),
            (_, Ok(number)) if number.to_string() == *text => Json::from(number),
            _ => Json::String(text.clone()),
        },
        Yaml::List(items) => Json::Array(items.iter().map(json).collect()),
        Yaml::Map(entries) => {
            Json::Object(entries.iter().map(|(key, value)| (key.clone(), json(value))).collect())
        }
    }
}
