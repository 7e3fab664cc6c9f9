//! `rules:` of 5.x, as far as their keys go.

use super::strategy::{Strategy, strategy};
use crate::read::fields::{Field, Fields};
use crate::read::problem::Report;

/// What the rules of a database say.
#[derive(Default)]
pub(super) struct Rules<'a> {
    /// Path of the rule, for what is wrong with all of it.
    pub(super) path: String,
    pub(super) tables: Vec<TableRule<'a>>,
    /// Lists of tables, separated by commas.
    pub(super) binding: Vec<Field<'a>>,
    /// Data sources that are made of a primary and replicas.
    pub(super) splitting: Vec<(&'a str, Field<'a>)>,
    pub(super) balancers: Vec<(&'a str, Field<'a>)>,
    pub(super) broadcast: Vec<Field<'a>>,
    pub(super) single: Vec<Field<'a>>,
    pub(super) default_source: Option<Field<'a>>,
    pub(super) database_strategy: Strategy<'a>,
    pub(super) table_strategy: Strategy<'a>,
    pub(super) default_column: Option<&'a str>,
    pub(super) key_generate: Option<Field<'a>>,
    pub(super) audit: Option<Field<'a>>,
    pub(super) algorithms: Vec<(&'a str, Field<'a>)>,
    pub(super) generators: Vec<(&'a str, Field<'a>)>,
    pub(super) auditors: Vec<(&'a str, Field<'a>)>,
}

/// What the rules say of one table.
pub(super) struct TableRule<'a> {
    pub(super) name: &'a str,
    pub(super) path: String,
    pub(super) line: usize,
    /// `actualDataNodes`, or `actualDataSources` of an auto table.
    pub(super) nodes: Option<Field<'a>>,
    /// Whether the algorithm makes the physical tables.
    pub(super) is_auto: bool,
    pub(super) database_strategy: Strategy<'a>,
    pub(super) table_strategy: Strategy<'a>,
    pub(super) key_generate: Option<Field<'a>>,
    pub(super) audit: Option<Field<'a>>,
}

/// Reads the list of rules.
pub(super) fn read<'a>(list: &Field<'a>, rules: &mut Rules<'a>, report: &mut Report<'_>) {
    rules.path.clone_from(&list.path);
    for rule in list.items() {
        let tag = rule.node.tag.as_deref().unwrap_or_default();
        let mut fields = Fields::of(&rule, report);
        match tag {
            "SHARDING" => sharding(&mut fields, rules, report),
            "BROADCAST" => rules.broadcast.extend(fields.need("tables", report)),
            "READWRITE_SPLITTING" => {
                // Versions before 5.5 have the shorter key.
                for key in ["dataSourceGroups", "dataSources"] {
                    rules.splitting.extend(fields.named(key, report));
                }
                rules.balancers.extend(fields.named("loadBalancers", report));
            }
            "SINGLE" => {
                rules.single.extend(fields.take("tables"));
                rules.default_source = fields.take("defaultDataSource");
            }
            _ => {
                report.refuse(rule.node.line, &rule.path, unknown(tag));
                continue;
            }
        }
        fields.finish(report);
    }
}

/// What is wrong with a rule of the kind `tag`, or without one.
fn unknown(tag: &str) -> String {
    match tag {
        "" => {
            "has no kind: `!SHARDING`, `!READWRITE_SPLITTING`, `!BROADCAST` or `!SINGLE` goes behind the `-`"
                .to_owned()
        }
        tag => format!("has the kind `!{tag}`, which has no counterpart here"),
    }
}

fn sharding<'a>(fields: &mut Fields<'a>, rules: &mut Rules<'a>, report: &mut Report<'_>) {
    for (key, is_auto) in [("tables", false), ("autoTables", true)] {
        for (name, field) in fields.named(key, report) {
            rules.tables.push(table(name, &field, is_auto, report));
        }
    }
    rules.binding.extend(fields.take("bindingTables").iter().flat_map(Field::items));
    rules.broadcast.extend(fields.take("broadcastTables"));
    if let Some(field) = fields.take("defaultDatabaseStrategy") {
        rules.database_strategy = strategy(&field, report);
    }
    if let Some(field) = fields.take("defaultTableStrategy") {
        rules.table_strategy = strategy(&field, report);
    }
    rules.key_generate = fields.take("defaultKeyGenerateStrategy");
    rules.audit = fields.take("defaultAuditStrategy");
    rules.default_column = fields.text("defaultShardingColumn", report);
    rules.algorithms = fields.named("shardingAlgorithms", report);
    rules.generators = fields.named("keyGenerators", report);
    rules.auditors = fields.named("auditors", report);
}

fn table<'a>(name: &'a str, field: &Field<'a>, is_auto: bool, report: &mut Report<'_>) -> TableRule<'a> {
    let mut fields = Fields::of(field, report);
    let mut take = |key, report: &mut Report<'_>| match fields.take(key) {
        Some(field) => strategy(&field, report),
        None => Strategy::Absent,
    };
    let (database_strategy, table_strategy) = if is_auto {
        (Strategy::None, take("shardingStrategy", report))
    } else {
        (take("databaseStrategy", report), take("tableStrategy", report))
    };
    let rule = TableRule {
        name,
        path: field.path.clone(),
        line: field.node.line,
        nodes: fields.take(if is_auto { "actualDataSources" } else { "actualDataNodes" }),
        is_auto,
        database_strategy,
        table_strategy,
        key_generate: fields.take("keyGenerateStrategy"),
        audit: fields.take("auditStrategy"),
    };
    // ShardingSphere writes the name once more when it exports rules.
    fields.leave_out(&["logicTable"], report);
    fields.finish(report);
    rule
}
