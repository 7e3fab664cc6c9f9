//! Tables: from rules and algorithms to nodes and levels.

mod target;

use super::algorithm::{self, Algorithm};
use super::rules::{Rules, TableRule};
use super::strategy::Strategy;
use crate::groovy::expand;
use crate::layout::{Draft, Group, Home, Node, Table, TableKind, Unique};
use crate::placement::Level;
use crate::prune::Shards;
use crate::read::fields::Field;
use crate::read::imported::Source;
use crate::read::problem::{Places, Report, Reported};
use target::Targets;

/// What rules refer to.
pub(super) struct Context<'a> {
    /// Logical schema.
    pub(super) database: &'a str,
    /// Its data sources.
    pub(super) sources: &'a [Source],
}

impl Context<'_> {
    fn source(&self, name: &str) -> Option<&Source> {
        self.sources.iter().find(|source| source.name == name)
    }

    fn node(&self, source: &str, table: &str) -> Option<Node> {
        let source = self.source(source)?;
        let schema = source.schema.clone().unwrap_or_default();
        Some(Node { hostgroup: source.hostgroup, schema, table: table.to_owned() })
    }
}

/// The draft of the layout, and where its parts stand.
pub(super) fn draft(rules: &Rules<'_>, context: &Context<'_>, report: &mut Report<'_>) -> (Draft, Places) {
    let hostgroups = context.sources.iter().map(|source| source.hostgroup).collect();
    let mut draft = Draft { hostgroups, ..Draft::default() };
    let mut places = Places::default();
    for rule in &rules.tables {
        if let Some(table) = sharded(rule, rules, context, report) {
            draft.tables.push(table);
            places.tables.push((rule.line, rule.path.clone()));
        }
    }
    for list in &rules.broadcast {
        for name in names(list, report) {
            let nodes =
                context.sources.iter().filter_map(|source| context.node(&source.name, &name)).collect();
            places.tables.push((list.node.line, list.path.clone()));
            draft.tables.push(Table {
                schema: context.database.to_owned(),
                name,
                kind: TableKind::Reference { nodes },
            });
        }
    }
    for list in &rules.binding {
        let tables =
            list.text(report).unwrap_or_default().split(',').map(|name| name.trim().to_owned()).collect();
        places.groups.push((list.node.line, list.path.clone()));
        draft.groups.push(Group { schema: context.database.to_owned(), tables });
    }
    singles(rules, context, &mut draft, &mut places, report);
    (draft, places)
}

/// The names of a list, which may be separated by commas as well.
fn names(list: &Field<'_>, report: &mut Report<'_>) -> Vec<String> {
    let texts = list.texts(report);
    texts.iter().flat_map(|text| text.split(',')).map(|name| name.trim().to_owned()).collect()
}

/// Single tables, and the data sources that have others.
fn singles(
    rules: &Rules<'_>,
    context: &Context<'_>,
    draft: &mut Draft,
    places: &mut Places,
    report: &mut Report<'_>,
) {
    let mut homes: Vec<&str> = Vec::new();
    if let Some(field) = &rules.default_source {
        match field.text(report).filter(|name| context.source(name).is_some()) {
            Some(name) => homes.push(name),
            None => report.refuse(field.node.line, &field.path, "must be a data source"),
        }
    }
    for item in rules.single.iter().flat_map(Field::items) {
        match item.text(report).and_then(|text| text.split_once('.')) {
            Some(("*", "*")) => homes.extend(context.sources.iter().map(|source| source.name.as_str())),
            Some((source, "*")) if context.source(source).is_some() => homes.push(source),
            Some((source, table)) if !table.contains(['.', '*']) && context.source(source).is_some() => {
                let Some(node) = context.node(source, table) else { continue };
                let (schema, name) = (context.database.to_owned(), table.to_owned());
                draft.tables.push(Table { schema, name, kind: TableKind::Single { node } });
                places.tables.push((item.node.line, item.path.clone()));
            }
            _ => report.refuse(item.node.line, &item.path, "must be `source.table`, `source.*` or `*.*`"),
        }
    }
    if rules.single.is_empty() && rules.default_source.is_none() {
        // Before 5.4 all tables that no rule names are single.
        homes.extend(context.sources.iter().map(|source| source.name.as_str()));
    }
    for name in homes {
        let Some(source) = context.source(name) else { continue };
        let home = Home {
            schema: Some(context.database.to_owned()),
            hostgroup: source.hostgroup,
            physical_schema: source.schema.clone(),
        };
        if !draft.homes.contains(&home) {
            draft.homes.push(home);
        }
    }
}

/// Names of data sources and tables of one logical table, in the order of the file.
struct Parts {
    sources: Vec<String>,
    tables: Vec<String>,
}

fn sharded(
    rule: &TableRule<'_>,
    rules: &Rules<'_>,
    context: &Context<'_>,
    report: &mut Report<'_>,
) -> Option<Table> {
    let mut key_columns: Vec<String> = Vec::new();
    let default = |strategy, default| if matches!(strategy, &Strategy::Absent) { default } else { strategy };
    let database = default(&rule.database_strategy, &rules.database_strategy);
    let table = default(&rule.table_strategy, &rules.table_strategy);
    let mut choose = |strategy: &Strategy<'_>, report: &mut Report<'_>| {
        chosen(strategy, rules, &mut key_columns, (rule.line, &rule.path), report)
    };
    let (Ok(database), Ok(table)) = (choose(database, report), choose(table, report)) else { return None };
    let parts = parts(rule, table.as_ref(), context, report)?;
    let nodes = parts.sources.iter().zip(&parts.tables).map(|(source, table)| context.node(source, table));
    let nodes = nodes.collect::<Option<Vec<_>>>()?;
    let by_source = Targets::of(&parts.sources, None);
    let by_table = Targets::of(&parts.tables, Some(rule.name));
    let ambiguous = match (&database, &table) {
        (None, None) => nodes.len() > 1,
        (None, Some(_)) => by_table.has_shared(),
        (Some(_), None) => by_source.has_shared(),
        (Some(_), Some(_)) => false,
    };
    if ambiguous {
        let message = "a row would be on several nodes: a `databaseStrategy` or a `tableStrategy` is missing";
        report.refuse(rule.line, &rule.path, message);
        return None;
    }
    let mut levels = Vec::new();
    for (choice, targets) in [(database, by_source), (table, by_table)] {
        let Some(choice) = choice else { continue };
        match targets.level(choice.algorithm, choice.columns) {
            Ok(level) => levels.push(level),
            Err(message) => {
                report.refuse(rule.line, &rule.path, message);
                return None;
            }
        }
    }
    let table = Table::sharded([context.database, rule.name], nodes, key_columns, levels);
    // ShardingSphere never looks at keys.
    Some(table.with_unique(Unique::Unchecked))
}

/// Algorithm of a strategy, with the positions of its columns.
struct Choice {
    algorithm: Algorithm,
    columns: Vec<usize>,
}

/// What a strategy chooses by; nothing if it chooses nothing.
fn chosen(
    strategy: &Strategy<'_>,
    rules: &Rules<'_>,
    key_columns: &mut Vec<String>,
    (line, path): (usize, &str),
    report: &mut Report<'_>,
) -> Result<Option<Choice>, Reported> {
    let (columns, is_hint, algorithm) = match strategy {
        Strategy::Absent | Strategy::None => return Ok(None),
        Strategy::Broken => return Err(Reported),
        Strategy::By { columns, is_hint, algorithm } => (columns, is_hint, algorithm),
    };
    let names = match (columns.as_slice(), is_hint) {
        (_, true) => vec!["value"],
        ([], false) => rules.default_column.into_iter().collect(),
        (columns, false) => columns.to_vec(),
    };
    if names.is_empty() {
        report.refuse(line, path, "there is no `shardingColumn`, and no `defaultShardingColumn`");
        return Err(Reported);
    }
    let algorithm = algorithm::read(algorithm, &rules.algorithms, &names, report).ok_or(Reported)?;
    if *is_hint {
        return Ok(Some(Choice { algorithm, columns: Vec::new() }));
    }
    let mut columns = Vec::new();
    for name in names {
        let known = key_columns.iter().position(|column| column.eq_ignore_ascii_case(name));
        columns.push(known.unwrap_or(key_columns.len()));
        if known.is_none() {
            key_columns.push(name.to_owned());
        }
    }
    Ok(Some(Choice { algorithm, columns }))
}

/// The data sources and tables of a rule.
fn parts(
    rule: &TableRule<'_>,
    table: Option<&Choice>,
    context: &Context<'_>,
    report: &mut Report<'_>,
) -> Option<Parts> {
    let listed = match &rule.nodes {
        Some(field) => match expand(field.text(report).unwrap_or_default()) {
            Ok(names) => names,
            Err(refused) => {
                report.refuse(field.node.line, &field.path, refused.to_string());
                return None;
            }
        },
        None => Vec::new(),
    };
    let (line, path) =
        rule.nodes.as_ref().map_or((rule.line, &rule.path), |field| (field.node.line, &field.path));
    let all = || context.sources.iter().map(|source| source.name.clone()).collect::<Vec<_>>();
    let mut parts = Parts { sources: Vec::new(), tables: Vec::new() };
    if rule.is_auto {
        let Some(Choice { algorithm: Algorithm::Numbered { function, .. }, .. }) = table else {
            report.refuse(
                rule.line,
                &rule.path,
                "an auto table needs an algorithm that says how many tables it has",
            );
            return None;
        };
        let sources = if listed.is_empty() { all() } else { listed };
        for (number, source) in (0..function.shards()).zip(sources.iter().cycle()) {
            parts.sources.push(source.clone());
            parts.tables.push(format!("{}_{number}", rule.name));
        }
    } else if listed.is_empty() {
        parts.sources = all();
        parts.tables = vec![rule.name.to_owned(); parts.sources.len()];
    } else {
        for node in listed {
            let Some((source, table)) = node.split_once('.').filter(|(_, table)| !table.contains('.')) else {
                report.refuse(line, path, format!("{node} is not `source.table`"));
                return None;
            };
            parts.sources.push(source.to_owned());
            parts.tables.push(table.to_owned());
        }
    }
    if let Some(unknown) = parts.sources.iter().find(|name| context.source(name).is_none()) {
        report.refuse(line, path, format!("there is no data source {unknown}"));
        return None;
    }
    Some(parts)
}

/// The level that narrows nodes to those of each number.
fn level(function: crate::placement::Function, columns: Vec<usize>, nodes: Vec<Shards>) -> Level {
    let plain = nodes.iter().zip(0..).all(|(of, number)| of.as_slice() == [number]);
    Level { columns, function, nodes: (!plain).then_some(nodes) }
}
