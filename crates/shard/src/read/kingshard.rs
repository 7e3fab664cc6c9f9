//! kingshard's YAML.

mod nodes;
mod rules;

use std::path::Path;

use super::fields::{Field, Fields};
use super::imported::{Imported, Scope, Secret, User};
use super::problem::{self, Places, Problems, Report};
use super::{Options, yaml};
use crate::layout::{Draft, Home, Layout};

/// Keys that say how kingshard runs, and nothing about where rows are.
const LEFT_OUT: &[&str] = &[
    "prometheus_addr",
    "web_addr",
    "web_user",
    "web_password",
    "log_path",
    "log_level",
    "log_sql",
    "slow_log_time",
    "proxy_charset",
];

/// Keys that keep clients or statements out: without them more would be allowed.
const GUARDS: &[&str] = &["allow_ips", "blacklist_sql_file"];

/// Reads kingshard's configuration.
///
/// Each entry of `schema_list` becomes the layout of its user.
pub fn kingshard(file: &Path, text: &str, options: Options) -> Result<Imported, Problems> {
    let mut report = Report::new(file);
    let mut imported = Imported::default();
    match yaml::parse(text) {
        Ok(root) => {
            let root = Field { path: String::new(), node: &root };
            read(&root, options, &mut imported, &mut report);
        }
        Err((line, message)) => report.refuse(line, "", message),
    }
    imported.left_out = report.finish()?;
    Ok(imported)
}

fn read(root: &Field<'_>, options: Options, imported: &mut Imported, report: &mut Report<'_>) {
    let mut fields = Fields::of(root, report);
    fields.leave_out(LEFT_OUT, report);
    imported.own = fields.own(report);
    imported.address = fields
        .take("addr")
        .and_then(|field| Some((report.place(field.node.line, &field.path), field.text(report)?.to_owned())));
    for guard in GUARDS {
        if let Some(field) = fields.take(guard)
            && field.text(report).is_some()
        {
            report.refuse(field.node.line, &field.path, "keeps out what would be allowed without it");
        }
    }
    let list = fields.need("user_list", report);
    imported.users = list.as_ref().map(|list| users(list, report)).unwrap_or_default();
    if let Some(list) = list.as_ref().filter(|_| imported.users.is_empty()) {
        report.refuse(list.node.line, &list.path, "has no user");
    }
    for item in fields.need("nodes", report).iter().flat_map(Field::items) {
        let number = u32::try_from(imported.sources.len()).unwrap_or(u32::MAX);
        let hostgroup = options.first_hostgroup.saturating_add(number.saturating_mul(2));
        if let Some(source) = nodes::source(&item, hostgroup, report) {
            if imported.sources.iter().any(|known| known.name == source.name) {
                report.refuse(item.node.line, &item.path, format!("node {} is there twice", source.name));
            }
            imported.sources.push(source);
        }
    }
    for item in fields.need("schema_list", report).iter().flat_map(Field::items) {
        if let Some(scope) = schema(&item, imported, options, report) {
            imported.scopes.push(scope);
        }
    }
    for user in &imported.users {
        let has_schema = imported.scopes.iter().any(|scope| scope.users.contains(&user.name));
        if let Some(list) = list.as_ref().filter(|_| !has_schema && report.is_clean()) {
            report.refuse(list.node.line, &list.path, format!("user {} has no schema", user.name));
        }
    }
    fields.finish(report);
}

fn users(list: &Field<'_>, report: &mut Report<'_>) -> Vec<User> {
    let mut users: Vec<User> = Vec::new();
    for item in list.items() {
        let mut fields = Fields::of(&item, report);
        let name = fields.need_text("user", report).unwrap_or_default().to_owned();
        let password = Secret::new(fields.text("password", report).unwrap_or_default());
        fields.finish(report);
        match users.iter().find(|known| known.name == name) {
            None => users.push(User { name, password, schemas: Vec::new() }),
            Some(known) if known.password == password => {}
            Some(_) => report.refuse(item.node.line, &item.path, format!("user {name} has two passwords")),
        }
    }
    users
}

/// The layout of the user of one schema.
fn schema(item: &Field<'_>, imported: &Imported, options: Options, report: &mut Report<'_>) -> Option<Scope> {
    let mut fields = Fields::of(item, report);
    let user = fields.need("user", report)?;
    let name = user.text(report).unwrap_or_default();
    if !imported.users.iter().any(|known| known.name == name) {
        report.leave_out(user.node.line, &user.path, format!("there is no user {name} in `user_list`"));
        return None;
    }
    if imported.scopes.iter().any(|scope| scope.users.iter().any(|known| known == name)) {
        report.refuse(user.node.line, &user.path, format!("user {name} has two schemas"));
    }
    let nodes = fields.need("nodes", report)?;
    let names = nodes.texts(report);
    let find = |name: &str| imported.sources.iter().find(|source| source.name == name);
    for name in names.iter().filter(|name| find(name).is_none()) {
        report.refuse(nodes.node.line, &nodes.path, format!("there is no node {name}"));
    }
    let default = fields.need("default", report)?;
    let home = default.text(report).filter(|name| names.contains(name)).and_then(find);
    if home.is_none() {
        report.refuse(default.node.line, &default.path, "must be one of the schema's `nodes`");
    }
    let rules = fields.take("shard");
    fields.finish(report);
    let mut places = Places::default();
    let mut draft = Draft {
        hostgroups: imported.sources.iter().map(|source| source.hostgroup).collect(),
        homes: vec![Home { schema: None, hostgroup: home?.hostgroup, physical_schema: None }],
        ..Draft::default()
    };
    for rule in rules.iter().flat_map(Field::items) {
        let context = rules::Context { schema_nodes: &names, sources: &imported.sources, options };
        if let Some(table) = rules::table(&rule, &context, report) {
            places.tables.push((rule.node.line, rule.path.clone()));
            draft.tables.push(table);
        }
    }
    problem::layout(draft, &places, (item.node.line, &item.path), report).map(|layout: Layout| Scope {
        users: vec![name.to_owned()],
        layout,
        schema: None,
        place: report.place(item.node.line, &item.path),
    })
}
