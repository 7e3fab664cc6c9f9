//! `shardingRule:` of 4.x.

use super::rules::{Rules, TableRule};
use super::strategy::{Strategy, strategy};
use crate::read::fields::{Field, Fields};
use crate::read::problem::Report;

/// Reads the rule into the form of 5.x.
pub(super) fn read<'a>(rule: &Field<'a>, rules: &mut Rules<'a>, report: &mut Report<'_>) {
    rules.path.clone_from(&rule.path);
    let mut fields = Fields::of(rule, report);
    for (name, field) in fields.named("tables", report) {
        rules.tables.push(table(name, &field, report));
    }
    rules.binding.extend(fields.take("bindingTables").iter().flat_map(Field::items));
    rules.broadcast.extend(fields.take("broadcastTables"));
    rules.splitting.extend(fields.named("masterSlaveRules", report));
    rules.default_source = fields.take("defaultDataSourceName");
    if let Some(field) = fields.take("defaultDatabaseStrategy") {
        rules.database_strategy = strategy(&field, report);
    }
    if let Some(field) = fields.take("defaultTableStrategy") {
        rules.table_strategy = strategy(&field, report);
    }
    rules.key_generate = fields.take("defaultKeyGenerator");
    fields.finish(report);
}

fn table<'a>(name: &'a str, field: &Field<'a>, report: &mut Report<'_>) -> TableRule<'a> {
    let mut fields = Fields::of(field, report);
    let mut take = |key, report: &mut Report<'_>| match fields.take(key) {
        Some(field) => strategy(&field, report),
        None => Strategy::Absent,
    };
    let rule = TableRule {
        name,
        path: field.path.clone(),
        line: field.node.line,
        database_strategy: take("databaseStrategy", report),
        table_strategy: take("tableStrategy", report),
        nodes: fields.take("actualDataNodes"),
        is_auto: false,
        key_generate: fields.take("keyGenerator"),
        audit: None,
    };
    fields.leave_out(&["logicTable"], report);
    fields.finish(report);
    rule
}
