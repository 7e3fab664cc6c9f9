//! The configuration: what is not loaded, what is not saved, who has loaded what.

use serde_json::{Value, json};

use crate::facts::{Difference, Known, Version};

/// The view, for admins and for others, who see no values.
pub(crate) fn config(known: &Known) -> [Value; 2] {
    let modules: Vec<Value> = known
        .modules
        .iter()
        .filter_map(|module| {
            let newest = known.versions.iter().find(|version| version.module == module.module);
            // Modules that ProxySQL has and that hold nothing here.
            if newest.is_none() && module.not_loaded == 0 && module.not_saved == 0 {
                return None;
            }
            Some(json!({
                "module": module.module,
                "version": newest.map(|version| version.number),
                "by": newest.map(|version| &version.by),
                "applied_ms": newest.map(|version| version.applied_ms),
                "not_loaded": module.not_loaded,
                "not_saved": module.not_saved,
            }))
        })
        .collect();
    let versions: Vec<Value> = known.versions.iter().map(version).collect();
    let view = |differences: &[Difference], left_out: usize, check: &[[String; 2]]| {
        let check = check.iter().map(|[level, message]| json!({ "level": level, "message": message }));
        json!({
            "modules": modules,
            "diff": differences.iter().map(difference).collect::<Vec<_>>(),
            "diff_left_out": left_out,
            "versions": versions,
            "check": check.collect::<Vec<_>>(),
            "read_only": known.read_only,
            "read_at_ms": known.read_at_ms,
        })
    };
    let all = known.differences.len().saturating_add(known.left_out);
    [view(&known.differences, known.left_out, &known.check), view(&[], all, &[])]
}

fn version(version: &Version) -> Value {
    json!({
        "module": version.module,
        "version": version.number,
        "by": version.by,
        "applied_ms": version.applied_ms,
        "runs": version.runs,
    })
}

fn difference(difference: &Difference) -> Value {
    let [against, table, row, change, column, there, memory] = &difference.cells;
    json!({
        "module": difference.module,
        "against": against,
        "table": table,
        "row": row,
        "change": change,
        "column": column,
        "there": there,
        "memory": memory,
    })
}
