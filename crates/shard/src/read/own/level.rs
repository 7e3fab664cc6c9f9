//! Levels: one function, or several that narrow the nodes together.

use super::function::function;
use crate::placement::{Function, Level};
use crate::prune::Shards;
use crate::read::fields::{Field, Fields};
use crate::read::problem::Report;

/// Reads `function` of a table with these key columns, and what belongs to it: with `levels` a
/// list of functions.
pub(super) fn levels(
    fields: &mut Fields<'_>,
    columns: &[&str],
    nodes: usize,
    report: &mut Report<'_>,
) -> Option<Vec<Level>> {
    let name = fields.need("function", report);
    if let Some(name) = &name
        && name.text(report) == Some("levels")
    {
        let list = fields.need("levels", report)?;
        let items = list.items();
        return items.iter().map(|item| level(item, columns, nodes, report)).collect();
    }
    if columns.is_empty() {
        report.refuse(fields.line, &fields.at("key"), "is missing");
    }
    let name = name?;
    let function = function(&name, fields, columns, nodes, report)?;
    Some(vec![of_columns((0..columns.len()).collect(), function, None, &name, report)?])
}

/// One of several levels.
fn level(item: &Field<'_>, columns: &[&str], nodes: usize, report: &mut Report<'_>) -> Option<Level> {
    let mut fields = Fields::of(item, report);
    let name = fields.need("function", report);
    let key = fields.take("key").map(|field| positions(&field, columns, report));
    let of_number = fields.take("nodes").map(|field| nodes_of(&field, report));
    let positions = key.unwrap_or_else(|| Some((0..columns.len()).collect()))?;
    let of_number = match of_number {
        Some(nodes) => Some(nodes?),
        None => None,
    };
    let names: Vec<&str> = positions.iter().filter_map(|at| columns.get(*at)).copied().collect();
    let name = name?;
    let shards = of_number.as_ref().map_or(nodes, Vec::len);
    let function = function(&name, &mut fields, &names, shards, report);
    fields.finish(report);
    of_columns(positions, function?, of_number, &name, report)
}

/// The level, if the function takes so many columns.
fn of_columns(
    columns: Vec<usize>,
    function: Function,
    nodes: Option<Vec<Shards>>,
    name: &Field<'_>,
    report: &mut Report<'_>,
) -> Option<Level> {
    if columns.len() > 1 && !matches!(function, Function::Inline(_)) {
        report.refuse(name.node.line, &name.path, "takes one column of `key`");
        return None;
    }
    Some(Level { columns, function, nodes })
}

/// Positions of a level's columns among those of the table. Without any, a hint names the shard.
fn positions(field: &Field<'_>, columns: &[&str], report: &mut Report<'_>) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for name in field.texts(report) {
        let Some(at) = columns.iter().position(|column| column.eq_ignore_ascii_case(name)) else {
            report.refuse(field.node.line, &field.path, format!("{name} is not in the table's `key`"));
            return None;
        };
        found.push(at);
    }
    Some(found)
}

/// The nodes of each number of a function.
fn nodes_of(field: &Field<'_>, report: &mut Report<'_>) -> Option<Vec<Shards>> {
    let of_number = |item: &Field<'_>| {
        let nodes = item.items();
        nodes.iter().map(|node| node.integer(report)).collect::<Option<Shards>>()
    };
    field.items().iter().map(of_number).collect()
}
