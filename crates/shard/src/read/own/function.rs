//! Functions by their names in our own form. The number of shards is that of the nodes.

use crate::calendar::DateTime;
use crate::groovy::Template;
use crate::placement::gaea::Murmur;
use crate::placement::sphere::{AutoInterval, CutMod, HashMod, Inline};
use crate::placement::{
    Dates, Function, Hash, Intervals, Item, List, Modulo, Ranges, Sign, Step, StepUnit, Unit,
};
use crate::read::fields::{Field, Fields};
use crate::read::problem::Report;
use crate::read::yaml::Yaml;

/// Points of a shard on the ring of a consistent hash.
const POINTS_DEFAULT: u32 = 160;

/// Reads the keys that belong to the function called `name`, over `columns`. Of no shards there is
/// none, which is reported elsewhere.
pub(super) fn function(
    name: &Field<'_>,
    fields: &mut Fields<'_>,
    columns: &[&str],
    nodes: usize,
    report: &mut Report<'_>,
) -> Option<Function> {
    let shards = u32::try_from(nodes).ok().filter(|shards| *shards > 0)?;
    let made = match name.text(report)? {
        "mod" => modulo(fields, shards, report),
        "hash" => match fields.text("by_collation", report) {
            // No statement has the sort key of a text: each would need all shards.
            Some("true") => Err("`by_collation` is not supported: sort keys of texts are not computed"),
            _ => Ok(Function::Hash(Hash { shards, weights: false })),
        },
        "range" => ranges(fields, report)?,
        "list" => list(fields, report)?,
        "date" => dates(fields, shards, report)?,
        "interval" => intervals(fields, shards, report)?,
        "consistent" => {
            let seed = fields.take("seed").map_or(Some(0), |field| field.integer(report));
            let points = fields.take("points").map_or(Some(POINTS_DEFAULT), |field| field.integer(report));
            Murmur::new(seed?, shards, points?).map(Function::Murmur).ok_or("`points` are too many, or none")
        }
        "hash_mod" => {
            let normalized = fields.text("normalized", report) == Some("true");
            Ok(Function::HashMod(HashMod { shards, normalized }))
        }
        "cut_mod" => {
            let start = fields.take("start").map_or(Some(0), |field| field.integer(report));
            let stop = fields.take("stop").map_or(Some(0), |field| field.integer(report));
            Ok(Function::CutMod(CutMod { shards, start: start?, stop: stop? }))
        }
        "auto_interval" => {
            let first = fields.need("first", report).and_then(|field| time(&field, report));
            let every = fields.need("every", report).and_then(|field| field.integer(report));
            let made = AutoInterval::of_shards(first?, every?, shards);
            made.map(Function::AutoInterval).ok_or("`every` is 0, or there is one node only")
        }
        "inline" => return inline(fields, columns, report),
        _ => Err(
            "must be `mod`, `hash`, `range`, `list`, `date`, `interval`, `consistent`, `hash_mod`, `cut_mod`, \
             `auto_interval`, `inline` or `levels`",
        ),
    };
    made.map_err(|message| report.refuse(name.node.line, &name.path, message)).ok()
}

/// A function, or what is wrong with its keys; nothing if that was said already.
type Made = Option<Result<Function, &'static str>>;

fn modulo(fields: &mut Fields<'_>, shards: u32, report: &mut Report<'_>) -> Result<Function, &'static str> {
    let sign = match fields.text("sign", report) {
        None | Some("floor") => Sign::Floor,
        Some("java") => Sign::Java,
        Some("absolute") => Sign::Absolute,
        Some(_) => return Err("`sign` is `floor`, `java` or `absolute`"),
    };
    Ok(Function::Modulo(Modulo { shards, sign }))
}

/// An expression, with the name that it computes for each shard.
fn inline(fields: &mut Fields<'_>, columns: &[&str], report: &mut Report<'_>) -> Option<Function> {
    let expression = fields.need("expression", report);
    let names = fields.need("names", report).map(|field| field.texts(report));
    let expression = expression?;
    let columns = if columns.is_empty() { &["value"] } else { columns };
    match Template::parse(expression.text(report)?, columns) {
        Ok(template) => {
            let names: Vec<String> = names?.into_iter().map(str::to_owned).collect();
            Some(Function::Inline(Inline::new(template, &names)))
        }
        Err(refused) => {
            report.refuse(expression.node.line, &expression.path, refused.to_string());
            None
        }
    }
}

fn ranges(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Made {
    let bounds = fields.need("bounds", report)?;
    let bounds: Option<Vec<i64>> = bounds.items().iter().map(|item| item.integer(report)).collect();
    let ranges = if fields.text("closed", report) == Some("true") { Ranges::closed } else { Ranges::open };
    Some(ranges(bounds?).map(Function::Ranges).ok_or("`bounds` have to rise"))
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
    let numbers = fields.take("numbers");
    let first = match numbers {
        Some(_) => None,
        None => fields.need("first", report).and_then(|field| time(&field, report)),
    };
    let unit = fields.need_text("unit", report);
    let offset = fields.take("utc_offset_seconds").map_or(Some(0), |field| field.integer(report));
    let (unit, step) = match unit? {
        "year" => (Unit::Year, StepUnit::Years),
        "month" => (Unit::Month, StepUnit::Months),
        "day" => (Unit::Day, StepUnit::Days),
        _ => return Some(Err("`unit` of a date is `year`, `month` or `day`")),
    };
    let numbers = if let Some(numbers) = numbers {
        numbers.items().iter().map(|item| item.integer(report)).collect::<Option<_>>()?
    } else {
        let times = times(first?, Step { amount: 1, unit: step }, shards);
        times.into_iter().map(|time| unit.number(time.date())).collect()
    };
    let made = Dates::new(unit, numbers, offset?).map(Function::Dates);
    Some(made.ok_or("`first` is too late, or `numbers` do not rise"))
}

fn intervals(fields: &mut Fields<'_>, shards: u32, report: &mut Report<'_>) -> Made {
    if let Some(times) = fields.take("times") {
        let of = fields.need("shards", report)?;
        let of = of.items().iter().map(|item| item.integer(report)).collect::<Option<Vec<u32>>>()?;
        let times = times.items().iter().map(|item| time(item, report)).collect::<Option<Vec<_>>>()?;
        let intervals = Intervals::between(&times, of).map(Function::Intervals);
        return Some(intervals.ok_or("`times` have to rise, and are one more than `shards`"));
    }
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn a_hash_by_collation_is_refused() {
        let read = |more: &str| {
            let table = "schema = \"s\"\ntable = \"t\"\nkey = \"k\"\nfunction = \"hash\"";
            let text = format!("[[shards.table]]\n{table}\n{more}\nnodes = \"${{1..2}}/s.t\"\n");
            super::super::own(Path::new("f"), &text, &[1, 2]).map_err(|problems| problems.to_string())
        };
        assert!(read("").is_ok() && read("by_collation = false").is_ok());
        let refused = read("by_collation = true").unwrap_err();
        assert!(refused.contains("`by_collation` is not supported"), "{refused}");
    }
}
