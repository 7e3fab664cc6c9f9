//! Strategies: which columns decide, by which algorithm.

use crate::read::fields::{Field, Fields};
use crate::read::problem::Report;

/// How a database or a table is chosen.
#[derive(Default)]
pub(super) enum Strategy<'a> {
    /// Nothing is said, so the default holds.
    #[default]
    Absent,
    /// `none`: nothing is chosen.
    None,
    /// Wrong, as a problem says.
    Broken,
    /// By an algorithm.
    By {
        /// The columns. None stands for the default column, or a hint.
        columns: Vec<&'a str>,
        /// Whether the value is a hint's.
        is_hint: bool,
        algorithm: Reference<'a>,
    },
}

/// Algorithm of a strategy.
pub(super) enum Reference<'a> {
    /// The one with this name in `shardingAlgorithms`.
    Named(Field<'a>),
    /// `INLINE` with this expression.
    Inline(Field<'a>),
}

/// Reads one strategy: exactly one of `standard`, `complex`, `hint`, `none`, and `inline` of 4.x.
pub(super) fn strategy<'a>(field: &Field<'a>, report: &mut Report<'_>) -> Strategy<'a> {
    let mut kinds = Fields::of(field, report).rest();
    let (Some((kind, of_kind)), true) = (kinds.pop(), kinds.is_empty()) else {
        let message = "must have exactly one of `standard`, `complex`, `hint` and `none`";
        report.refuse(field.node.line, &field.path, message);
        return Strategy::Broken;
    };
    if kind == "none" {
        return Strategy::None;
    }
    let mut fields = Fields::of(&of_kind, report);
    if refuse_classes(&mut fields, report) {
        return Strategy::Broken;
    }
    let columns = match kind {
        "standard" | "inline" => fields.text("shardingColumn", report).into_iter().collect(),
        "complex" => fields
            .need_text("shardingColumns", report)
            .unwrap_or_default()
            .split(',')
            .map(str::trim)
            .collect(),
        "hint" => Vec::new(),
        _ => {
            report.refuse(of_kind.node.line, &of_kind.path, "is a strategy that is not known");
            return Strategy::Broken;
        }
    };
    let algorithm = if kind == "inline" {
        fields.need("algorithmExpression", report).map(Reference::Inline)
    } else {
        fields.need("shardingAlgorithmName", report).map(Reference::Named)
    };
    fields.finish(report);
    algorithm.map_or(Strategy::Broken, |algorithm| Strategy::By {
        columns,
        is_hint: kind == "hint",
        algorithm,
    })
}

/// Refuses classes of the user, by name. Tells whether there were any.
fn refuse_classes(fields: &mut Fields<'_>, report: &mut Report<'_>) -> bool {
    let mut found = false;
    for key in ["preciseAlgorithmClassName", "rangeAlgorithmClassName", "algorithmClassName"] {
        if let Some(field) = fields.take(key) {
            let class = field.text(report).unwrap_or_default().to_owned();
            report.refuse(field.node.line, &field.path, format!("the class {class} cannot be run here"));
            found = true;
        }
    }
    found
}
