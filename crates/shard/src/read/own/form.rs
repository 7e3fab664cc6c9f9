//! A sharded table in our own form: what the readers of other files have found, written down.

use crate::calendar::DateTime;
use crate::layout::{Table, TableKind, Unique};
use crate::placement::{Function, Level, Sign};
use crate::read::yaml::{Node, Yaml};

/// The keys of a sharded table beside its name, its nodes and its `key`: `function`, what belongs
/// to it, and `unique`. Nothing for functions that the files of other proxies do not have.
pub fn own_form(table: &Table) -> Option<Vec<(String, Node)>> {
    let TableKind::Sharded { key_columns, placement, unique, .. } = &table.kind else { return None };
    let is_plain = |level: &Level| {
        level.nodes.is_none()
            && !key_columns.is_empty()
            && level.columns.iter().copied().eq(0..key_columns.len())
    };
    let mut form = match placement.levels() {
        [level] if is_plain(level) => function(&level.function)?,
        levels => {
            let levels = levels.iter().map(|level| self::level(level, key_columns));
            let levels = Yaml::List(levels.collect::<Option<_>>()?);
            vec![entry("function", text("levels")), entry("levels", node(levels))]
        }
    };
    if *unique == Unique::Unchecked {
        form.push(entry("unique", text("unchecked")));
    }
    Some(form)
}

fn level(level: &Level, key_columns: &[String]) -> Option<Node> {
    let names = level.columns.iter().filter_map(|at| key_columns.get(*at));
    let mut form = vec![entry("key", list(names))];
    form.extend(function(&level.function)?);
    if let Some(nodes) = &level.nodes {
        let nodes = nodes.iter().map(|of| list(of.as_slice())).collect();
        form.push(entry("nodes", node(Yaml::List(nodes))));
    }
    Some(node(Yaml::Map(form)))
}

fn function(function: &Function) -> Option<Vec<(String, Node)>> {
    let (name, arguments) = match function {
        Function::Modulo(modulo) => {
            let sign = match modulo.sign {
                Sign::Floor => "floor",
                Sign::Java => "java",
                Sign::Absolute => "absolute",
            };
            ("mod", vec![entry("sign", text(sign))])
        }
        Function::Hash(hash) => ("hash", flag("by_collation", hash.weights)),
        Function::Ranges(ranges) => {
            let (bounds, is_open) = ranges.parts();
            let mut arguments = vec![entry("bounds", list(bounds))];
            arguments.extend(flag("closed", !is_open));
            ("range", arguments)
        }
        Function::Dates(dates) => {
            let mut arguments =
                vec![entry("unit", text(dates.unit().name())), entry("numbers", list(dates.numbers()))];
            if dates.utc_offset_seconds() != 0 {
                arguments.push(entry("utc_offset_seconds", text(dates.utc_offset_seconds())));
            }
            ("date", arguments)
        }
        Function::Intervals(intervals) => {
            let (times, shards) = intervals.parts();
            let times = times.iter().map(|seconds| time(*seconds)).collect::<Option<Vec<_>>>()?;
            ("interval", vec![entry("times", list(&times)), entry("shards", list(shards))])
        }
        Function::HashMod(hash) => ("hash_mod", flag("normalized", hash.normalized)),
        Function::CutMod(cut) => {
            ("cut_mod", vec![entry("start", text(cut.start)), entry("stop", text(cut.stop))])
        }
        Function::AutoInterval(intervals) => {
            let (first, every) = intervals.parts();
            ("auto_interval", vec![entry("first", text(time(first)?)), entry("every", text(every))])
        }
        Function::Inline(inline) => {
            let expression = entry("expression", text(inline.template().source()));
            ("inline", vec![expression, entry("names", list(inline.names()))])
        }
        Function::List(_) | Function::Slots(_) | Function::Murmur(_) | Function::Padding(_) => return None,
    };
    Some(std::iter::once(entry("function", text(name))).chain(arguments).collect())
}

/// A time as the readers take it.
fn time(seconds: i64) -> Option<String> {
    let time = DateTime::from_seconds(seconds)?;
    let (date, [hour, minute, second]) = (time.date(), time.time());
    let (year, month, day) = (date.year(), date.month(), date.day());
    Some(format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"))
}

/// A key that is only there if it is true.
fn flag(key: &str, value: bool) -> Vec<(String, Node)> {
    if value { vec![entry(key, text("true"))] } else { Vec::new() }
}

fn entry(key: &str, node: Node) -> (String, Node) {
    (key.to_owned(), node)
}

fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> Node {
    node(Yaml::List(items.into_iter().map(text).collect()))
}

#[expect(clippy::needless_pass_by_value, reason = "values are numbers and borrowed texts")]
fn text(value: impl ToString) -> Node {
    node(Yaml::Text(value.to_string()))
}

fn node(value: Yaml) -> Node {
    Node { line: 0, tag: None, value }
}
