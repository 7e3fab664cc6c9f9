//! ShardingSphere-Proxy's YAML: one file for each database, one for the proxy.
//!
//! `rules:` of 5.x and `shardingRule:` of 4.x give the same model.

mod algorithm;
mod generate;
mod legacy;
mod rules;
mod sources;
mod splitting;
mod strategy;
mod tables;
mod users;

use std::path::Path;

use super::fields::{Field, Fields};
use super::imported::{Imported, Scope};
use super::problem::{Problems, Report};
use super::{Options, yaml};

/// Keys of the proxy's file that say how ShardingSphere runs.
const LEFT_OUT: &[&str] = &["mode", "transaction", "sqlParser", "logging", "sqlFederation", "cache"];

/// Reads the files of a ShardingSphere-Proxy, in any order: `(name, text)` each.
///
/// Each database becomes a layout of its own, for all users. Data sources get hostgroups in the
/// order of the files.
pub fn sphere(files: &[(&Path, &str)], options: Options) -> Result<Imported, Problems> {
    let mut imported = Imported::default();
    let mut problems = Vec::new();
    for (file, text) in files {
        let mut report = Report::new(file);
        match yaml::parse(text) {
            Err((line, message)) => report.refuse(line, "", message),
            Ok(root) => {
                let root = Field { path: String::new(), node: &root };
                read(&root, options, &mut imported, &mut report);
            }
        }
        match report.finish() {
            Ok(left_out) => imported.left_out.extend(left_out),
            Err(Problems(found)) => problems.extend(found),
        }
    }
    if problems.is_empty() { Ok(imported) } else { Err(Problems(problems)) }
}

fn read(root: &Field<'_>, options: Options, imported: &mut Imported, report: &mut Report<'_>) {
    let mut fields = Fields::of(root, report);
    let name = fields.take("databaseName").or_else(|| fields.take("schemaName"));
    if name.is_none() && !fields.has("dataSources") {
        users::read(&mut fields, imported, report);
        fields.leave_out(LEFT_OUT, report);
        imported.own.extend(fields.own(report));
        props(&mut fields, imported, report);
        fields.finish(report);
        return;
    }
    let Some(database) = name.as_ref().and_then(|name| name.text(report)) else {
        report.refuse(fields.line, "databaseName", "is missing");
        return;
    };
    let first = imported.sources.len();
    let common = match fields.take("dataSourceCommon") {
        Some(field) => sources::login(Fields::of(&field, report), report),
        None => sources::Login::default(),
    };
    for (name, field) in fields.named("dataSources", report) {
        let number = u32::try_from(imported.sources.len()).unwrap_or(u32::MAX);
        let hostgroup = options.first_hostgroup.saturating_add(number.saturating_mul(2));
        imported.sources.extend(sources::source(name, &field, &common, hostgroup, report));
    }
    let mut rules = rules::Rules::default();
    if let Some(list) = fields.take("rules") {
        rules::read(&list, &mut rules, report);
    }
    if let Some(rule) = fields.take("shardingRule") {
        legacy::read(&rule, &mut rules, report);
    }
    fields.leave_out(&["props"], report);
    fields.finish(report);
    let of_database = splitting::apply(&rules, imported.sources.split_off(first), report);
    imported.sources.extend(of_database.iter().cloned());
    let context = tables::Context { database, sources: &of_database };
    let (mut draft, mut places) = tables::draft(&rules, &context, report);
    for (place, sequence) in generate::sequences(&rules, database, report) {
        draft.sequences.push(sequence);
        places.sequences.push(place);
    }
    imported.audits.extend(generate::audits(&rules, database, report));
    if !report.is_clean() {
        return;
    }
    if let Some(layout) = super::problem::layout(draft, &places, (root.node.line, &rules.path), report) {
        let place = report.place(root.node.line, &rules.path);
        imported.scopes.push(Scope { users: Vec::new(), layout, schema: Some(database.to_owned()), place });
    }
}

/// The port out of the properties of the proxy, which say how it runs.
fn props(fields: &mut Fields<'_>, imported: &mut Imported, report: &mut Report<'_>) {
    let Some(field) = fields.take("props") else { return };
    let mut props = Fields::of(&field, report);
    if let Some(port) = props.take("proxy-default-port") {
        let address = port.integer::<u16>(report).map(|port| format!(":{port}"));
        imported.address = address.map(|address| (report.place(port.node.line, &port.path), address));
    }
    if !props.rest().is_empty() {
        report.leave_out(field.node.line, &field.path, "has no counterpart here");
    }
}
