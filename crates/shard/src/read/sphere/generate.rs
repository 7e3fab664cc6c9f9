//! Generated keys and audits: kept as they are said, for those who make keys and judge statements.

use super::{Field, Fields, Imported, Report};
use crate::read::imported::{Audit, GeneratedKey, Generator};
use crate::read::sphere::rules::{Rules, TableRule};

/// Largest number of a worker.
const WORKER_MAX: u16 = 1_023;
/// `max-vibration-offset`, if nothing is said.
const VIBRATION_DEFAULT: u16 = 1;

/// Adds what the rules of `database` say.
pub(super) fn read(rules: &Rules<'_>, database: &str, imported: &mut Imported, report: &mut Report<'_>) {
    for rule in &rules.tables {
        let table = || [database.to_owned(), rule.name.to_owned()];
        if let Some((column, generator)) = key(rule, rules, report) {
            imported.generated_keys.push(GeneratedKey { table: table(), column, generator });
        }
        if let Some(field) = rule.audit.as_ref().or(rules.audit.as_ref())
            && let Some(hint_lifts) = audit(field, rules, report)
        {
            imported.audits.push(Audit { table: table(), hint_lifts });
        }
    }
}

/// Column and generator of a table.
fn key(rule: &TableRule<'_>, rules: &Rules<'_>, report: &mut Report<'_>) -> Option<(String, Generator)> {
    let field = rule.key_generate.as_ref().or(rules.key_generate.as_ref())?;
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

fn generator(kind: &Field<'_>, props: Option<&Field<'_>>, report: &mut Report<'_>) -> Option<Generator> {
    let mut fields = match props {
        Some(props) => Fields::of(props, report),
        None => Fields::none(String::new(), kind.node.line),
    };
    let generator = match kind.text(report)?.to_uppercase().as_str() {
        "UUID" => Generator::Uuid,
        "SNOWFLAKE" => {
            let mut number = |keys: [&str; 2]| {
                let field = keys.iter().find_map(|key| fields.take(key))?;
                field.integer::<u16>(report).map(|value| (value, field))
            };
            let worker = number(["worker-id", "worker.id"]);
            let vibration = number(["max-vibration-offset", "max.vibration.offset"]);
            if let Some((worker, field)) = &worker
                && *worker > WORKER_MAX
            {
                report.refuse(field.node.line, &field.path, format!("must be 0 to {WORKER_MAX}"));
            }
            let keys =
                ["max-tolerate-time-difference-milliseconds", "max.tolerate.time.difference.milliseconds"];
            fields.leave_out(&keys, report);
            let vibration_max = vibration.map_or(VIBRATION_DEFAULT, |(value, _)| value);
            Generator::Snowflake { worker: worker.map(|(worker, _)| worker), vibration_max }
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
