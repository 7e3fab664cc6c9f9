//! Algorithms: a type with properties.

use super::strategy::Reference;
use crate::calendar::DateTime;
use crate::groovy::Template;
use crate::limits::SHARDS_MAX;
use crate::pattern::Pattern;
use crate::placement::sphere::{AutoInterval, CutMod, HashMod};
use crate::placement::{Function, Intervals, Modulo, Ranges, Sign, Step, StepUnit};
use crate::read::fields::{Field, Fields};
use crate::read::problem::Report;

/// What an algorithm is, before it is known which names there are to choose from.
pub(super) enum Algorithm {
    /// A number, which the names end in.
    Numbered {
        function: Function,
        /// Digits to which the number itself is padded.
        digits: usize,
    },
    /// A name.
    Named(Template),
    /// A time, which the names end in.
    Timed { beginnings: Vec<DateTime>, step: Step, suffix: Pattern },
}

/// The properties of an algorithm.
struct Props<'a, 'r, 'f> {
    fields: Fields<'a>,
    report: &'r mut Report<'f>,
}

/// Reads the algorithm that a strategy refers to. Its expression may name `columns`.
pub(super) fn read<'a>(
    reference: &Reference<'a>,
    algorithms: &[(&'a str, Field<'a>)],
    columns: &[&str],
    report: &mut Report<'_>,
) -> Option<Algorithm> {
    let name = match reference {
        Reference::Inline(field) => return inline(field, columns, report),
        Reference::Named(name) => name,
    };
    let text = name.text(report)?;
    let Some((_, field)) = algorithms.iter().find(|(known, _)| *known == text) else {
        report.refuse(name.node.line, &name.path, format!("there is no sharding algorithm {text}"));
        return None;
    };
    let mut fields = Fields::of(field, report);
    let kind = fields.need("type", report)?;
    let own = match fields.take("props") {
        Some(props) => Fields::of(&props, report),
        None => Fields::none(fields.at("props"), fields.line),
    };
    fields.finish(report);
    let kind_name = kind.text(report)?.to_uppercase();
    let mut props = Props { fields: own, report };
    let found = match kind_name.as_str() {
        "MOD" => props.modulo(),
        "HASH_MOD" => props.hash_mod(),
        "BOUNDARY_RANGE" => props.boundaries(),
        "VOLUME_RANGE" => props.volumes(),
        "AUTO_INTERVAL" => props.auto_interval(),
        "INTERVAL" => props.interval(),
        "INLINE" | "COMPLEX_INLINE" | "HINT_INLINE" => props.inline(columns),
        "CLASS_BASED" => {
            let class = props.fields.text("algorithmClassName", props.report).unwrap_or_default();
            props.report.refuse(kind.node.line, &kind.path, format!("the class {class} cannot be run here"));
            return None;
        }
        other => {
            props.report.refuse(kind.node.line, &kind.path, format!("{other} is a type that is not known"));
            return None;
        }
    };
    props.fields.finish(props.report);
    found
}

fn inline(field: &Field<'_>, columns: &[&str], report: &mut Report<'_>) -> Option<Algorithm> {
    match Template::parse(field.text(report)?, columns) {
        Ok(template) => Some(Algorithm::Named(template)),
        Err(refused) => {
            report.refuse(field.node.line, &field.path, refused.to_string());
            None
        }
    }
}

impl Props<'_, '_, '_> {
    fn integer<T: std::str::FromStr>(&mut self, key: &str) -> Option<T> {
        self.fields.need(key, self.report).and_then(|field| field.integer(self.report))
    }

    fn optional<T: std::str::FromStr>(&mut self, key: &str, default: T) -> Option<T> {
        self.fields.take(key).map_or(Some(default), |field| field.integer(self.report))
    }

    fn flag(&mut self, key: &str) -> bool {
        self.fields.text(key, self.report).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }

    fn refuse(&mut self, key: &str, message: impl Into<String>) {
        let path = self.fields.at(key);
        self.report.refuse(self.fields.line, &path, message);
    }

    fn count(&mut self) -> Option<u32> {
        let field = self.fields.need("sharding-count", self.report)?;
        let count: u32 = field.integer(self.report)?;
        let valid = usize::try_from(count).is_ok_and(|count| (1..=SHARDS_MAX).contains(&count));
        if !valid {
            self.report.refuse(field.node.line, &field.path, format!("must be 1 to {SHARDS_MAX}"));
        }
        valid.then_some(count)
    }

    fn modulo(&mut self) -> Option<Algorithm> {
        let shards = self.count();
        let (start, stop) = (self.optional("start-offset", 0)?, self.optional("stop-offset", 0)?);
        let padded = self.flag("zero-padding");
        let shards = shards?;
        let function = match (start, stop) {
            (0, 0) => Function::Modulo(Modulo { shards, sign: Sign::Java }),
            (start, stop) => Function::CutMod(CutMod { shards, start, stop }),
        };
        let digits = if padded { (shards - 1).to_string().len() } else { 1 };
        Some(Algorithm::Numbered { function, digits })
    }

    fn hash_mod(&mut self) -> Option<Algorithm> {
        let shards = self.count();
        let normalized = self.flag("normalize-numeric-int-range");
        shards.map(|shards| numbered(Function::HashMod(HashMod { shards, normalized })))
    }

    fn boundaries(&mut self) -> Option<Algorithm> {
        let field = self.fields.need("sharding-ranges", self.report)?;
        let parse = |text: &str| text.trim().parse::<i64>().ok();
        let bounds: Option<Vec<i64>> = field.text(self.report)?.split(',').map(parse).collect();
        let ranges = bounds.and_then(|mut bounds| {
            bounds.sort_unstable();
            Ranges::open(bounds)
        });
        if ranges.is_none() {
            self.report.refuse(
                field.node.line,
                &field.path,
                "must be different integers, separated by commas",
            );
        }
        ranges.map(|ranges| numbered(Function::Ranges(ranges)))
    }

    fn volumes(&mut self) -> Option<Algorithm> {
        let [lower, upper, volume] =
            ["range-lower", "range-upper", "sharding-volume"].map(|key| self.integer::<i64>(key));
        let (lower, upper, volume) = (lower?, upper?, volume?);
        let span = upper.checked_sub(lower).filter(|span| volume > 0 && *span >= volume);
        let steps = span.and_then(|span| usize::try_from((span - 1) / volume + 1).ok());
        let Some(steps) = steps.filter(|steps| *steps <= SHARDS_MAX) else {
            self.refuse("sharding-volume", format!("must divide the range into 1 to {SHARDS_MAX} parts"));
            return None;
        };
        let bounds = (0..i64::try_from(steps).ok()?).map(|step| lower + step * volume).chain([upper]);
        Ranges::open(bounds.collect()).map(|ranges| numbered(Function::Ranges(ranges)))
    }

    fn auto_interval(&mut self) -> Option<Algorithm> {
        let seconds = self.integer("sharding-seconds");
        let [lower, upper] = ["datetime-lower", "datetime-upper"].map(|key| {
            let field = self.fields.need(key, self.report)?;
            let text = field.text(self.report)?;
            let time = DateTime::parse(text.as_bytes()).filter(|_| text.len() == 19);
            if time.is_none() {
                self.report.refuse(field.node.line, &field.path, "must be `yyyy-MM-dd HH:mm:ss`");
            }
            time
        });
        let intervals = AutoInterval::new(lower?, upper?, seconds?);
        if intervals.is_none() {
            self.refuse("sharding-seconds", format!("must divide the time into 1 to {SHARDS_MAX} parts"));
        }
        intervals.map(|intervals| numbered(Function::AutoInterval(intervals)))
    }

    fn interval(&mut self) -> Option<Algorithm> {
        let pattern = self.pattern("datetime-pattern");
        let suffix = self.pattern("sharding-suffix-pattern");
        let amount = self.optional("datetime-interval-amount", 1);
        let unit = match self.fields.text("datetime-interval-unit", self.report) {
            None => Some(StepUnit::Days),
            Some(text) => unit(text),
        };
        if unit.is_none() {
            self.refuse(
                "datetime-interval-unit",
                "must be SECONDS, MINUTES, HOURS, DAYS, WEEKS, MONTHS or YEARS",
            );
        }
        let upper = self.fields.take("datetime-upper");
        if upper.is_none() {
            self.refuse(
                "datetime-upper",
                "is missing: its default is the time at which ShardingSphere starts",
            );
        }
        let lower = self.fields.need("datetime-lower", self.report);
        let pattern = pattern?;
        let [lower, upper] = [lower?, upper?].map(|field| {
            let time = pattern.read(field.text(self.report)?);
            if time.is_none() {
                self.report.refuse(
                    field.node.line,
                    &field.path,
                    "must be a time in `datetime-pattern`, with a year",
                );
            }
            time
        });
        let step = Step { amount: amount?, unit: unit? };
        let beginnings = Intervals::beginnings(lower?, upper?, step).filter(|found| !found.is_empty());
        if beginnings.is_none() {
            self.refuse("datetime-interval-amount", "gives no interval, or too many");
        }
        Some(Algorithm::Timed { beginnings: beginnings?, step, suffix: suffix? })
    }

    fn pattern(&mut self, key: &str) -> Option<Pattern> {
        let field = self.fields.need(key, self.report)?;
        match Pattern::parse(field.text(self.report)?) {
            Ok(pattern) => Some(pattern),
            Err(letters) => {
                let message = format!("`{letters}` is not supported in a pattern");
                self.report.refuse(field.node.line, &field.path, message);
                None
            }
        }
    }

    /// Ranges need all shards here, so whether ShardingSphere refuses them makes no difference.
    fn inline(&mut self, columns: &[&str]) -> Option<Algorithm> {
        self.fields.take("allow-range-query-with-inline-sharding");
        self.fields.take("sharding-columns");
        let field = self.fields.need("algorithm-expression", self.report)?;
        inline(&field, columns, self.report)
    }
}

fn numbered(function: Function) -> Algorithm {
    Algorithm::Numbered { function, digits: 1 }
}

fn unit(text: &str) -> Option<StepUnit> {
    Some(match text.to_uppercase().as_str() {
        "SECONDS" => StepUnit::Seconds,
        "MINUTES" => StepUnit::Minutes,
        "HOURS" => StepUnit::Hours,
        "DAYS" => StepUnit::Days,
        "WEEKS" => StepUnit::Weeks,
        "MONTHS" => StepUnit::Months,
        "YEARS" => StepUnit::Years,
        _ => return None,
    })
}
