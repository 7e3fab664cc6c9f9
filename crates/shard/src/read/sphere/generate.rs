//! Generated keys become sequences. Audits are kept as they are said.

use super::{Field, Fields, Report};
use crate::layout::{Sequence, SequenceKind};
use crate::read::imported::Audit;
use crate::read::sphere::rules::{Rules, TableRule};

/// `max-vibration-offset`, if nothing is said.
const VIBRATION_DEFAULT: u16 = 1;

/// The sequences of `database`, each with its line and path.
pub(super) fn sequences(
    rules: &Rules<'_>,
    database: &str,
    report: &mut Report<'_>,
) -> Vec<((usize, String), Sequence)> {
    let sequence = |rule: &TableRule<'_>| {
        let field = rule.key_generate.as_ref().or(rules.key_generate.as_ref())?;
        let (column, kind) = key(field, rules, report)?;
        let (schema, table) = (database.to_owned(), rule.name.to_owned());
        Some(((field.node.line, field.path.clone()), Sequence { schema, table, column, kind }))
    };
    rules.tables.iter().filter_map(sequence).collect()
}

/// The tables of `database` that may not be read or written without a condition on the key.
pub(super) fn audits(rules: &Rules<'_>, database: &str, report: &mut Report<'_>) -> Vec<Audit> {
    let of = |rule: &TableRule<'_>| {
        let field = rule.audit.as_ref().or(rules.audit.as_ref())?;
        let hint_lifts = audit(field, rules, report)?;
        Some(Audit { table: [database.to_owned(), rule.name.to_owned()], hint_lifts })
    };
    rules.tables.iter().filter_map(of).collect()
}

/// Column of a strategy, and how its ids are made.
fn key(field: &Field<'_>, rules: &Rules<'_>, report: &mut Report<'_>) -> Option<(String, SequenceKind)> {
    let mut fields = Fields::of(field, report);
    let column = fields.text("column", report);
    let own_type = fields.take("type");
    let props = fields.take("props");
    let name = fields.take("keyGeneratorName");
    fields.finish(report);
    let generator = match (own_type, name) {
        (Some(kind), None) => generator(&kind, props.as_ref(), report),
        (None, Some(name)) => {
            let text = name.text(report)?;
            let Some((_, found)) = rules.generators.iter().find(|(known, _)| *known == text) else {
                report.refuse(name.node.line, &name.path, format!("there is no key generator {text}"));
                return None;
            };
            let mut fields = Fields::of(found, report);
            let kind = fields.need("type", report)?;
            let props = fields.take("props");
            fields.finish(report);
            generator(&kind, props.as_ref(), report)
        }
        _ => {
            report.refuse(field.node.line, &field.path, "must name a key generator");
            None
        }
    };
    Some((column?.to_owned(), generator?))
}

fn generator(kind: &Field<'_>, props: Option<&Field<'_>>, report: &mut Report<'_>) -> Option<SequenceKind> {
    let mut fields = match props {
        Some(props) => Fields::of(props, report),
        None => Fields::none(String::new(), kind.node.line),
    };
    let generator = match kind.text(report)?.to_uppercase().as_str() {
        "UUID" => {
            let message = "UUIDs are not made here: a default of the column, `UUID()`, makes them";
            report.refuse(kind.node.line, &kind.path, message);
            return None;
        }
        "SNOWFLAKE" => {
            let mut number = |keys: [&str; 2]| {
                let field = keys.iter().find_map(|key| fields.take(key));
                field.and_then(|field| field.integer::<u16>(report))
            };
            let worker = number(["worker-id", "worker.id"]).unwrap_or(0);
            let vibration =
                number(["max-vibration-offset", "max.vibration.offset"]).unwrap_or(VIBRATION_DEFAULT);
            let keys =
                ["max-tolerate-time-difference-milliseconds", "max.tolerate.time.difference.milliseconds"];
            fields.leave_out(&keys, report);
            SequenceKind::Snowflake { worker, vibration }
        }
        other => {
            report.refuse(kind.node.line, &kind.path, format!("{other} is a type that is not known"));
            return None;
        }
    };
    fields.finish(report);
    Some(generator)
}

/// Whether a hint lifts the audit.
fn audit(field: &Field<'_>, rules: &Rules<'_>, report: &mut Report<'_>) -> Option<bool> {
    let mut fields = Fields::of(field, report);
    let names = fields.need("auditorNames", report)?;
    let hint_lifts = fields.text("allowHintDisable", report).is_none_or(|text| text == "true");
    fields.finish(report);
    for name in names.texts(report) {
        let found = rules.auditors.iter().find(|(known, _)| *known == name);
        let kind = found.and_then(|(_, field)| Fields::of(field, report).take("type"));
        if kind.and_then(|kind| kind.text(report)) != Some("DML_SHARDING_CONDITIONS") {
            report.refuse(names.node.line, &names.path, format!("the auditor {name} is not known"));
            return None;
        }
    }
    Some(hint_lifts)
}
