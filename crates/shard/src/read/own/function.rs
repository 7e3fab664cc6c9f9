//! Functions by their names in our own form. The number of shards is that of the nodes.

use crate::calendar::DateTime;
use crate::placement::gaea::Murmur;
use crate::placement::{
    Dates, Function, Hash, Intervals, Item, List, Modulo, Ranges, Sign, Step, StepUnit, Unit,
};
use crate::read::fields::{Field, Fields};
use crate::read::problem::Report;
use crate::read::yaml::Yaml;

/// Points of a shard on the ring of a consistent hash.
const POINTS_DEFAULT: u32 = 160;

/// Reads `function` and the keys that belong to it.
pub(super) fn function(fields: &mut Fields<'_>, nodes: usize, report: &mut Report<'_>) -> Option<Function> {
    let name = fields.need("function", report)?;
    let shards = u32::try_from(nodes).ok().filter(|shards| *shards > 0)?;
    let made = match name.text(report)? {
        "mod" => Ok(Function::Modulo(Modulo { shards, sign: Sign::Floor })),
        "hash" => {
            let weights = fields.text("by_collation", report) == Some("true");
            Ok(Function::Hash(Hash { shards, weights }))
        }
        "range" => ranges(fields, report)?,
        "list" => list(fields, report)?,
        "date" => dates(fields, shards, report)?,
        "interval" => intervals(fields, shards, report)?,
        "consistent" => {
            let seed = fields.take("seed").map_or(Some(0), |field| field.integer(report));
            let points = fields.take("points").map_or(Some(POINTS_DEFAULT), |field| field.integer(report));
            Murmur::new(seed?, shards, points?).map(Function::Murmur).ok_or("`points` are too many, or none")
        }
        _ => Err("must be `mod`, `hash`, `range`, `list`, `date`, `interval` or `consistent`"),
    };
    made.map_err(|message| report.refuse(name.node.line, &name.path, message)).ok()
}

/// A function, or what is wrong with its keys; nothing if that was said already.
type Made = Option<Result<Function, &'static str>>;

fn ranges(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Made {
    let bounds = fields.need("bounds", report)?;
    let bounds: Option<Vec<i64>> = bounds.items().iter().map(|item| item.integer(report)).collect();
    Some(Ranges::open(bounds?).map(Function::Ranges).ok_or("`bounds` have to rise"))
}

fn list(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Made {
    let values = fields.need("values", report)?;
    let default = fields.take("default").map(|field| field.integer(report));
    let default = match default {
        Some(None) => return None,
        Some(shard) => shard,
        None => None,
    };
    let mut items = Vec::new();
    for (of_shard, shard) in values.items().iter().zip(0..) {
        for text in of_shard.texts(report) {
            // A column has integers or texts, so a number may stand for both.
            let integer = text.parse::<i64>().ok().filter(|value| value.to_string() == text);
            items.extend(integer.map(|value| (Item::Integer(value), shard)));
            items.push((Item::Text(text.to_owned()), shard));
        }
    }
    Some(List::new(items, default).map(Function::List).map_err(|_| "a value of `values` is there twice"))
}

/// The time of a key, as a date or with a time of day.
fn time(field: &Field<'_>, report: &mut Report<'_>) -> Option<DateTime> {
    let time = match &field.node.value {
        Yaml::Text(text) => DateTime::parse(text.replace('T', " ").as_bytes()),
        _ => None,
    };
    if time.is_none() {
        report.refuse(field.node.line, &field.path, "must be a date, with a time of day or without");
    }
    time
}

fn dates(fields: &mut Fields<'_>, shards: u32, report: &mut Report<'_>) -> Made {
    let first = fields.need("first", report).and_then(|field| time(&field, report));
    let unit = fields.need_text("unit", report);
    let offset = fields.take("utc_offset_seconds").map_or(Some(0), |field| field.integer(report));
    let (unit, step) = match unit? {
        "year" => (Unit::Year, StepUnit::Years),
        "month" => (Unit::Month, StepUnit::Months),
        "day" => (Unit::Day, StepUnit::Days),
        _ => return Some(Err("`unit` of a date is `year`, `month` or `day`")),
    };
    let numbers = times(first?, Step { amount: 1, unit: step }, shards);
    let numbers = numbers.into_iter().map(|time| unit.number(time.date())).collect();
    Some(Dates::new(unit, numbers, offset?).map(Function::Dates).ok_or("`first` is too late"))
}

fn intervals(fields: &mut Fields<'_>, shards: u32, report: &mut Report<'_>) -> Made {
    let first = fields.need("first", report).and_then(|field| time(&field, report));
    let unit = fields.need_text("unit", report);
    let amount = fields.take("every").map_or(Some(1), |field| field.integer(report));
    let unit = match unit? {
        "seconds" => StepUnit::Seconds,
        "minutes" => StepUnit::Minutes,
        "hours" => StepUnit::Hours,
        "days" => StepUnit::Days,
        "weeks" => StepUnit::Weeks,
        "months" => StepUnit::Months,
        "years" => StepUnit::Years,
        _ => return Some(Err("`unit` of an interval is `seconds` to `years`")),
    };
    let step = Step { amount: amount?, unit };
    let beginnings: Vec<_> = times(first?, step, shards).into_iter().zip(0..).collect();
    let intervals = Intervals::new(&beginnings, step).map(Function::Intervals);
    Some(intervals.ok_or("`every` is 0, or the intervals end after the year 9999"))
}

/// Times one step apart, as many as there are shards, within the calendar.
fn times(first: DateTime, step: Step, shards: u32) -> Vec<DateTime> {
    (0..shards).scan(Some(first), |next, _| next.inspect(|time| *next = step.after(*time))).collect()
}
