//! Rules: a sharded table each.

use crate::calendar::Date;
use crate::layout::{Node, Table, Unique};
use crate::limits::SHARDS_MAX;
use crate::placement::{Dates, Function, Hash, Level, Ranges, Unit};
use crate::read::Options;
use crate::read::fields::{Field, Fields};
use crate::read::imported::Source;
use crate::read::problem::Report;

/// What a rule refers to.
pub(super) struct Context<'a> {
    /// Nodes of the schema.
    pub(super) schema_nodes: &'a [&'a str],
    /// All nodes.
    pub(super) sources: &'a [Source],
    /// What the file does not say.
    pub(super) options: Options,
}

/// Physical tables of a rule: the node and the number of each, and the function.
struct Spread {
    tables: Vec<(usize, u32)>,
    function: Function,
}

/// The table of one rule.
pub(super) fn table(rule: &Field<'_>, context: &Context<'_>, report: &mut Report<'_>) -> Option<Table> {
    let mut fields = Fields::of(rule, report);
    let schema = fields.need_text("db", report);
    let name = fields.need_text("table", report);
    let key = fields.need_text("key", report);
    let nodes = fields.need("nodes", report);
    let kind = fields.need("type", report);
    let nodes = nodes.map(|field| (field.texts(report), field));
    let (names, nodes) = nodes?;
    // kingshard takes the node from the schema's list, by its position in the rule's.
    if names.iter().zip(context.schema_nodes).any(|(own, of_schema)| own != of_schema)
        || names.len() > context.schema_nodes.len()
    {
        let message = "must be the first of the schema's nodes, in their order: kingshard uses those";
        report.refuse(nodes.node.line, &nodes.path, message);
    }
    let kind = kind?;
    let spread = match kind.text(report)? {
        "hash" => locations(&mut fields, names.len(), report).map(|tables| {
            let shards = u32::try_from(tables.len()).unwrap_or(u32::MAX);
            Spread { tables, function: Function::Hash(Hash { shards, weights: false }) }
        }),
        "range" => ranges(&mut fields, names.len(), report),
        "date_year" => dates(&mut fields, Unit::Year, names.len(), context.options, report),
        "date_month" => dates(&mut fields, Unit::Month, names.len(), context.options, report),
        "date_day" => dates(&mut fields, Unit::Day, names.len(), context.options, report),
        _ => {
            let message = "must be `hash`, `range`, `date_year`, `date_month` or `date_day`";
            report.refuse(kind.node.line, &kind.path, message);
            return None;
        }
    };
    fields.finish(report);
    let (spread, schema, name) = (spread?, schema?, name?);
    let node = |(at, number): &(usize, u32)| {
        let source = context.sources.iter().find(|source| Some(&source.name.as_str()) == names.get(*at))?;
        let table = format!("{name}_{number:04}");
        Some(Node { hostgroup: source.hostgroup, schema: schema.to_owned(), table })
    };
    let nodes = spread.tables.iter().map(node).collect::<Option<Vec<_>>>()?;
    let level = Level { columns: vec![0], function: spread.function, nodes: None };
    let table = Table::sharded([schema, name], nodes, vec![key?.to_lowercase()], vec![level]);
    // kingshard never looks at keys.
    Some(table.with_unique(Unique::Unchecked))
}

/// Tables by `locations`, numbered on through all nodes.
fn locations(fields: &mut Fields<'_>, nodes: usize, report: &mut Report<'_>) -> Option<Vec<(usize, u32)>> {
    let field = fields.need("locations", report)?;
    let counts: Vec<usize> = field.items().iter().filter_map(|item| item.integer(report)).collect();
    let total = counts.iter().try_fold(0, |total: usize, count| total.checked_add(*count));
    if counts.len() != nodes {
        report.refuse(field.node.line, &field.path, format!("must have as many numbers as `nodes`: {nodes}"));
        return None;
    }
    if total.is_none_or(|total| total == 0 || total > SHARDS_MAX) {
        report.refuse(field.node.line, &field.path, format!("must be 1 to {SHARDS_MAX} tables together"));
        return None;
    }
    let of_node = counts.iter().enumerate().flat_map(|(node, count)| std::iter::repeat_n(node, *count));
    Some(of_node.zip(0..).collect())
}

fn ranges(fields: &mut Fields<'_>, nodes: usize, report: &mut Report<'_>) -> Option<Spread> {
    let tables = locations(fields, nodes, report);
    let limit = fields.need("table_row_limit", report)?;
    let rows: i64 = limit.integer(report)?;
    let tables = tables?;
    let bounds = (0..=i64::try_from(tables.len()).ok()?).map(|table| table.checked_mul(rows));
    let ranges = bounds.collect::<Option<Vec<_>>>().and_then(Ranges::closed);
    if ranges.is_none() {
        report.refuse(limit.node.line, &limit.path, "must be positive, and its ranges end within 64 bits");
    }
    Some(Spread { tables, function: Function::Ranges(ranges?) })
}

fn dates(
    fields: &mut Fields<'_>,
    unit: Unit,
    nodes: usize,
    options: Options,
    report: &mut Report<'_>,
) -> Option<Spread> {
    let field = fields.need("date_range", report)?;
    let ranges = field.items();
    if ranges.len() != nodes {
        report.refuse(field.node.line, &field.path, format!("must have as many ranges as `nodes`: {nodes}"));
        return None;
    }
    let mut tables = Vec::new();
    for (node, range) in ranges.iter().enumerate() {
        let Some(numbers) = range.text(report).and_then(|text| numbers(text, unit)) else {
            report.refuse(range.node.line, &range.path, format!("must be `A-B` or `A` of {}", form(unit)));
            return None;
        };
        tables.extend(numbers.into_iter().map(|number| (node, number)));
    }
    let numbers: Vec<u32> = tables.iter().map(|(_, number)| *number).collect();
    match Dates::new(unit, numbers, options.utc_offset_seconds) {
        Some(dates) if tables.len() <= SHARDS_MAX => {
            Some(Spread { tables, function: Function::Dates(dates) })
        }
        Some(_) => {
            report.refuse(field.node.line, &field.path, format!("are more than {SHARDS_MAX} tables"));
            None
        }
        None => {
            report.refuse(field.node.line, &field.path, "must rise from node to node");
            None
        }
    }
}

fn form(unit: Unit) -> &'static str {
    match unit {
        Unit::Year => "YYYY",
        Unit::Month => "YYYYMM",
        Unit::Day => "YYYYMMDD",
    }
}

/// The numbers of `A-B`, whichever is first, or of `A`; of too many only the first.
fn numbers(text: &str, unit: Unit) -> Option<Vec<u32>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (begin(first, unit)?, begin(last, unit)?);
    let (first, last) = (first.min(last), first.max(last));
    let next = |date: &Date| match unit {
        Unit::Day => Date::from_days(date.days() + 1),
        Unit::Month => date.plus_months(1),
        Unit::Year => date.plus_months(12),
    };
    let dates = std::iter::successors(Some(first), next).take_while(|date| *date <= last);
    Some(dates.take(SHARDS_MAX + 1).map(|date| unit.number(date)).collect())
}

/// The first day of a year, month or day.
fn begin(text: &str, unit: Unit) -> Option<Date> {
    let length = form(unit).len();
    let valid = text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    let number: u32 = text.parse().ok().filter(|_| valid)?;
    let (year, month, day) = match unit {
        Unit::Year => (number, 1, 1),
        Unit::Month => (number / 100, number % 100, 1),
        Unit::Day => (number / 10_000, number / 100 % 100, number % 100),
    };
    Date::new(u16::try_from(year).ok()?, u8::try_from(month).ok()?, u8::try_from(day).ok()?)
}
