//! `[[shards.sequence]]` of our own form.

use crate::layout::{SEGMENT_STEP_DEFAULT, Sequence, SequenceKind, VIBRATION_DEFAULT};
use crate::read::fields::{Field, Fields};
use crate::read::problem::Report;

/// Reads one sequence. Its numbers are checked with the layout.
pub(super) fn sequence(item: &Field<'_>, report: &mut Report<'_>) -> Option<Sequence> {
    let mut fields = Fields::of(item, report);
    let schema = fields.need_text("schema", report);
    let table = fields.need_text("table", report);
    let column = fields.need_text("column", report);
    let kind = kind(&mut fields, report);
    fields.finish(report);
    let (schema, table, column) = (schema?.to_owned(), table?.to_owned(), column?.to_owned());
    Some(Sequence { schema, table, column, kind: kind? })
}

fn kind(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Option<SequenceKind> {
    let kind = fields.take("kind");
    match kind.as_ref().map_or(Some("segment"), |field| field.text(report))? {
        "segment" => {
            let step = fields.take("step").map_or(Some(SEGMENT_STEP_DEFAULT), |field| field.integer(report));
            Some(SequenceKind::Segment { step: step? })
        }
        "snowflake" => {
            let worker = fields.need("worker", report).and_then(|field| field.integer(report));
            let vibration =
                fields.take("vibration").map_or(Some(VIBRATION_DEFAULT), |field| field.integer(report));
            Some(SequenceKind::Snowflake { worker: worker?, vibration: vibration? })
        }
        _ => {
            let (line, path) =
                kind.map_or((fields.line, fields.at("kind")), |field| (field.node.line, field.path));
            report.refuse(line, &path, "must be `segment` or `snowflake`");
            None
        }
    }
}
