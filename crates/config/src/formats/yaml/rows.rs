//! What a file says, as the tree of a file of our own.

use std::path::Path;
use std::rc::Rc;

use shard::read::{self, Imported, Scope, Source, User};

use super::Program;
use super::layout;
use crate::tree::{Entry, Node, Place, Value};

/// Port of ShardingSphere-Proxy where its files say none.
const SPHERE_ADDRESS: &str = ":3307";

/// The top level.
pub(super) fn root(program: Program, imported: &Imported, origin: &Path) -> Vec<Entry> {
    let top = Place::new(&origin.into(), 0);
    let mut root = vec![
        list("mysql_servers", imported.sources.iter().flat_map(servers).collect(), &top),
        list("mysql_replication_hostgroups", imported.sources.iter().filter_map(pair).collect(), &top),
        list(
            "mysql_users",
            imported.users.iter().map(|user| self::user(user, imported, &top)).collect(),
            &top,
        ),
        list("mysql_query_rules_fast_routing", routes(imported), &top),
        entry("mysql_variables", Value::Group(variables(imported, &top)), &top),
    ];
    if let Some(listener) = listener(program, imported, &top) {
        root.push(list("listeners", vec![listener], &top));
    }
    root.extend(own(imported));
    root.extend(layout::sections(imported, &top));
    root.retain(|entry| !matches!(&entry.node.value, Value::List(rows) if rows.is_empty()));
    root
}

/// Where clients connect. Without a host it is every address.
fn listener(program: Program, imported: &Imported, top: &Place) -> Option<Node> {
    let default = || (program == Program::ShardingSphere).then(|| (top.clone(), SPHERE_ADDRESS.to_owned()));
    let (at, address) =
        imported.address.as_ref().map(|(at, text)| (place(at), text.clone())).or_else(default)?;
    let address = if address.starts_with(':') { format!("0.0.0.0{address}") } else { address };
    Some(row(vec![entry("address", Value::Text(address), &at)], &at))
}

/// Keys of the mapping `pointsman`: the section and the name of each.
pub(super) const OWN: [(&str, &str, &str); 4] = [
    ("admin_address", "admin_variables", "mysql_ifaces"),
    ("admin_credentials", "admin_variables", "admin_credentials"),
    ("health_address", "pointsman_variables", "health_address"),
    ("datadir", "", "datadir"),
];

/// The settings of this proxy, those of a section in one group.
fn own(imported: &Imported) -> Vec<Entry> {
    let mut out: Vec<Entry> = Vec::new();
    for (at, key, text) in &imported.own {
        let at = place(at);
        let Some((_, section, name)) = OWN.iter().find(|(known, ..)| known == key) else { continue };
        let setting = entry(name, Value::Text(text.clone()), &at);
        if section.is_empty() {
            out.push(setting);
            continue;
        }
        let group = out.iter_mut().find(|entry| entry.key == *section);
        match group.map(|entry| &mut entry.node.value) {
            Some(Value::Group(settings)) => settings.push(setting),
            _ => out.push(entry(section, Value::Group(vec![setting]), &at)),
        }
    }
    out
}

/// Neither program looks at `read_only`: who is written to stands in the file.
fn variables(imported: &Imported, top: &Place) -> Vec<Entry> {
    let has_readers = imported.sources.iter().any(|source| source.reader_hostgroup.is_some());
    let mut variables = vec![entry("monitor_enabled", Value::Bool(false), top)];
    if has_readers {
        variables.push(entry("read_write_split", Value::Bool(true), top));
    }
    variables
}

/// The servers of a source: those with a weight are for reading.
fn servers(source: &Source) -> Vec<Node> {
    let at = place(&source.place);
    let server = |server: &read::Server| {
        let hostgroup = match (server.read_weight, source.reader_hostgroup) {
            (Some(_), Some(readers)) => readers,
            _ => source.hostgroup,
        };
        let mut columns = vec![
            entry("hostgroup_id", Value::Int(hostgroup.into()), &at),
            entry("hostname", Value::Text(server.host.clone()), &at),
            entry("port", Value::Int(server.port.into()), &at),
            entry("comment", Value::Text(source.name.clone()), &at),
        ];
        if let Some(weight) = server.read_weight {
            columns.push(entry("weight", Value::Int(weight.into()), &at));
        }
        if let Some(most) = source.max_connections.filter(|most| *most > 0) {
            columns.push(entry("max_connections", Value::Int(most.into()), &at));
        }
        if source.tls {
            columns.push(entry("use_ssl", Value::Bool(true), &at));
        }
        row(columns, &at)
    };
    source.servers.iter().map(server).collect()
}

fn pair(source: &Source) -> Option<Node> {
    let at = place(&source.place);
    let readers = source.reader_hostgroup?;
    let columns = vec![
        entry("writer_hostgroup", Value::Int(source.hostgroup.into()), &at),
        entry("reader_hostgroup", Value::Int(readers.into()), &at),
        entry("comment", Value::Text(source.name.clone()), &at),
    ];
    Some(row(columns, &at))
}

/// A user, whose tables without a rule are at its home.
fn user(user: &User, imported: &Imported, top: &Place) -> Node {
    let own = imported.scopes.iter().find(|scope| scope.users.is_empty() || scope.users.contains(&user.name));
    let first = imported.sources.first().map_or(0, |source| source.hostgroup);
    let hostgroup = own.and_then(home).unwrap_or(first);
    let password = user.password.reveal();
    let mut columns = vec![
        entry("username", Value::Text(user.name.clone()), top),
        entry("password", Value::Text(password.to_owned()), top),
        entry("default_hostgroup", Value::Int(hostgroup.into()), top),
    ];
    // Clear text that looks like a hash.
    if password.starts_with(['*', '$']) {
        let attributes = "{\"clear_password\": true}".to_owned();
        columns.push(entry("attributes", Value::Text(attributes), top));
    }
    row(columns, top)
}

/// The hostgroup of tables that no rule names.
fn home(scope: &Scope) -> Option<u32> {
    scope.layout.homes().first().map(|home| home.hostgroup)
}

/// Of several databases each has its home.
fn routes(imported: &Imported) -> Vec<Node> {
    let route = |scope: &Scope| {
        let at = place(&scope.place);
        let columns = vec![
            entry("username", Value::Text(String::new()), &at),
            entry("schemaname", Value::Text(scope.schema.clone()?), &at),
            entry("flagIN", Value::Int(0), &at),
            entry("destination_hostgroup", Value::Int(home(scope)?.into()), &at),
            entry("comment", Value::Text(String::new()), &at),
        ];
        Some(row(columns, &at))
    };
    if imported.scopes.len() > 1 { imported.scopes.iter().filter_map(route).collect() } else { Vec::new() }
}

pub(super) fn place(at: &read::Place) -> Place {
    Place::new(&Rc::from(at.file.as_path()), at.line)
}

pub(super) fn row(columns: Vec<Entry>, at: &Place) -> Node {
    Node { value: Value::Group(columns), at: at.clone() }
}

pub(super) fn list(key: &str, rows: Vec<Node>, at: &Place) -> Entry {
    entry(key, Value::List(rows), at)
}

pub(super) fn entry(key: &str, value: Value, at: &Place) -> Entry {
    Entry { key: key.to_owned(), at: at.clone(), node: Node { value, at: at.clone() } }
}
