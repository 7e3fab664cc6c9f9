//! Our own form: the tables `shards` of a TOML document.

mod form;
mod function;
mod level;
mod sequence;
mod tree;

use std::path::Path;

use super::fields::{Field, Fields};
use super::problem::{self, Places, Problems, Report};
use super::yaml::{self, Yaml};
use crate::groovy::expand;
use crate::layout::{Draft, Group, Home, Layout, Node, Table, TableKind, Unique};
use crate::placement::Level;

pub use form::own_form;

/// Reads `[[shards.table]]`, `[[shards.group]]`, `[[shards.sequence]]` and `[[shards.home]]` of a
/// TOML document, whose other keys are not looked at. `hostgroups` are those that exist.
pub fn own(file: &Path, text: &str, hostgroups: &[u32]) -> Result<Layout, Problems> {
    match tree::parse(text) {
        Ok(root) => own_tree(file, &root, hostgroups),
        Err((line, message)) => {
            let mut report = Report::new(file);
            report.refuse(line, "", message);
            report.finish().map(|_| Layout::default())
        }
    }
}

/// The same from the value of `shards`, wherever it comes from. Problems have the lines of its
/// nodes.
pub fn own_tree(file: &Path, root: &yaml::Node, hostgroups: &[u32]) -> Result<Layout, Problems> {
    let mut report = Report::new(file);
    let layout = read(&Field { path: "shards".to_owned(), node: root }, hostgroups, &mut report);
    report.finish()?;
    // Without a problem there is a layout.
    Ok(layout.unwrap_or_default())
}

fn read(root: &Field<'_>, hostgroups: &[u32], report: &mut Report<'_>) -> Option<Layout> {
    let mut fields = Fields::of(root, report);
    let mut draft = Draft { hostgroups: hostgroups.to_vec(), ..Draft::default() };
    let mut places = Places::default();
    for item in fields.take("table").iter().flat_map(Field::items) {
        if let Some(table) = table(&item, report) {
            draft.tables.push(table);
            places.tables.push((item.node.line, item.path.clone()));
        }
    }
    for item in fields.take("group").iter().flat_map(Field::items) {
        let mut group = Fields::of(&item, report);
        let schema = group.need_text("schema", report).unwrap_or_default().to_owned();
        let tables = group.need("tables", report).map(|field| field.texts(report)).unwrap_or_default();
        group.finish(report);
        places.groups.push((item.node.line, item.path.clone()));
        draft.groups.push(Group { schema, tables: tables.into_iter().map(str::to_owned).collect() });
    }
    for item in fields.take("sequence").iter().flat_map(Field::items) {
        if let Some(sequence) = sequence::sequence(&item, report) {
            draft.sequences.push(sequence);
            places.sequences.push((item.node.line, item.path.clone()));
        }
    }
    for item in fields.take("home").iter().flat_map(Field::items) {
        let mut home = Fields::of(&item, report);
        let hostgroup = home.need("hostgroup", report).and_then(|field| field.integer(report));
        let schema = home.text("schema", report).map(str::to_owned);
        let physical_schema = home.text("physical_schema", report).map(str::to_owned);
        home.finish(report);
        draft.homes.push(Home { schema, hostgroup: hostgroup?, physical_schema });
    }
    let line = fields.line;
    fields.finish(report);
    if report.is_clean() { problem::layout(draft, &places, (line, "shards"), report) } else { None }
}

fn table(item: &Field<'_>, report: &mut Report<'_>) -> Option<Table> {
    let mut fields = Fields::of(item, report);
    let schema = fields.need_text("schema", report);
    let name = fields.need_text("table", report);
    let nodes = fields.need("nodes", report).and_then(|field| nodes(&field, report));
    let kind = fields.take("kind");
    let kind = match kind.as_ref().map_or(Some("sharded"), |field| field.text(report)) {
        Some("sharded") => sharded(&mut fields, nodes.as_ref().map_or(0, Vec::len), report),
        Some("reference") => Some(Kind::Reference),
        Some("single") => Some(Kind::Single),
        _ => {
            report.refuse(
                item.node.line,
                &format!("{}.kind", item.path),
                "must be `sharded`, `reference` or `single`",
            );
            None
        }
    };
    fields.finish(report);
    let (schema, name, nodes) = (schema?, name?, nodes?);
    let kind = match kind? {
        Kind::Sharded { columns, levels, unique } => {
            return Some(Table::sharded([schema, name], nodes, columns, levels).with_unique(unique));
        }
        Kind::Reference => TableKind::Reference { nodes },
        Kind::Single => {
            let Ok([node]) = <[Node; 1]>::try_from(nodes) else {
                report.refuse(item.node.line, &format!("{}.nodes", item.path), "must be one node");
                return None;
            };
            TableKind::Single { node }
        }
    };
    Some(Table { schema: schema.to_owned(), name: name.to_owned(), kind })
}

/// Kind of a table, before its nodes are known.
enum Kind {
    Sharded { columns: Vec<String>, levels: Vec<Level>, unique: Unique },
    Reference,
    Single,
}

fn sharded(fields: &mut Fields<'_>, nodes: usize, report: &mut Report<'_>) -> Option<Kind> {
    let key = fields.take("key");
    let columns = key.as_ref().map(|key| key.texts(report)).unwrap_or_default();
    let unique = unique(fields, report);
    let levels = level::levels(fields, &columns, nodes, report);
    let columns = columns.into_iter().map(str::to_owned).collect();
    Some(Kind::Sharded { columns, levels: levels?, unique: unique? })
}

fn unique(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Option<Unique> {
    let Some(field) = fields.take("unique") else { return Some(Unique::default()) };
    match field.text(report)? {
        "checked" => Some(Unique::Checked),
        "unchecked" => Some(Unique::Unchecked),
        _ => {
            report.refuse(field.node.line, &field.path, "must be `checked` or `unchecked`");
            None
        }
    }
}

/// Nodes as `hostgroup/schema.table`, with lists as in `orders_${0..3}`, or as mappings.
fn nodes(field: &Field<'_>, report: &mut Report<'_>) -> Option<Vec<Node>> {
    let mut found = Vec::new();
    for item in field.items() {
        if matches!(item.node.value, Yaml::Map(_)) {
            found.push(mapped(&item, report)?);
            continue;
        }
        let names = match expand(item.text(report)?) {
            Ok(names) => names,
            Err(refused) => {
                report.refuse(item.node.line, &item.path, refused.to_string());
                return None;
            }
        };
        for name in names {
            let Some(node) = node(&name) else {
                report.refuse(item.node.line, &item.path, format!("{name} is not `hostgroup/schema.table`"));
                return None;
            };
            found.push(node);
        }
    }
    if found.is_empty() {
        report.refuse(field.node.line, &field.path, "there are none");
        return None;
    }
    Some(found)
}

/// A node whose names are taken as they are.
fn mapped(item: &Field<'_>, report: &mut Report<'_>) -> Option<Node> {
    let mut fields = Fields::of(item, report);
    let hostgroup = fields.need("hostgroup", report).and_then(|field| field.integer(report));
    let schema = fields.need_text("schema", report);
    let table = fields.need_text("table", report);
    fields.finish(report);
    Some(Node { hostgroup: hostgroup?, schema: schema?.to_owned(), table: table?.to_owned() })
}

fn node(name: &str) -> Option<Node> {
    let (hostgroup, name) = name.split_once('/')?;
    let (schema, table) = name.split_once('.')?;
    Some(Node { hostgroup: hostgroup.parse().ok()?, schema: schema.to_owned(), table: table.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::{Condition, Test};
    use crate::key::ColumnType;
    use crate::prune::{Prune, Reason};
    use crate::value::Value;

    #[test]
    fn a_listed_number_is_found_as_an_integer_and_as_a_text() {
        let text = "[[shards.table]]\nschema = 's'\ntable = 't'\nkey = 'k'\nfunction = 'list'\n\
                    values = [[7, 'x'], ['007']]\nnodes = '${1..2}/s.t'\n";
        let layout = own(Path::new("x"), text, &[1, 2]).unwrap();
        let placement = layout.table("s", "t").unwrap().placement().unwrap();
        let prune = |column, value| placement.prune(&[Condition { column, test: Test::Equal(value) }]);
        let integer = ColumnType::Integer { min: i64::MIN, max: u64::MAX };
        let bytes = ColumnType::Bytes { length_max: 9 };
        assert_eq!(prune(integer, Value::Signed(7)), Prune::One(0));
        assert_eq!(prune(bytes, Value::Text(b"7")), Prune::One(0));
        assert_eq!(prune(bytes, Value::Text(b"007")), Prune::One(1));
        assert_eq!(prune(integer, Value::Signed(8)), Prune::All(Reason::OutOfRange));
    }
}
