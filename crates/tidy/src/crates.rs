//! Checks of the crates: which may depend on which, and that each says what it is for.

use std::collections::BTreeMap;

use crate::finding::{Finding, Rule};

/// The crates from the ground up. A crate may depend on crates of lower floors only. Programs and
/// tests that stand above all of them are not listed, and may depend on any.
const FLOORS: &[&[&str]] = &[
    &["gtid", "heap", "memtable", "otlp", "pool", "querylog", "sched", "shard", "sql", "tidy", "wire"],
    &["binlog", "cache", "command", "monitor", "planner"],
    &["config"],
    &["net", "route"],
    &["observe", "scatter", "session"],
    &["upstream"],
    &["front", "reply", "watch"],
    &["runtime"],
    &["legs"],
    &["admin", "proxy"],
    &["web"],
    &["pointsman"],
];

fn floor(name: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&name))
}

/// Findings about the crate `name`, whose manifest is `manifest` and stands at `path`.
pub(crate) fn check(
    name: &str,
    path: &str,
    manifest: &str,
    has_readme: bool,
) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut add = |rule, text| findings.push(Finding { rule, path: path.to_owned(), line: 0, text });
    if !has_readme {
        add(Rule::Readme, format!("crate {name} has no README.md"));
    }
    let parsed: toml::Table = manifest.parse()?;
    let dependencies = parsed.get("dependencies").and_then(|table| table.as_table());
    let names: BTreeMap<_, _> = dependencies.into_iter().flatten().collect();
    if let Some(own) = floor(name) {
        for dependency in names.keys() {
            if floor(dependency).is_some_and(|other| other >= own) {
                add(Rule::Layer, format!("{name} depends on {dependency}, which is not below it"));
            }
        }
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(name: &str, manifest: &str, has_readme: bool) -> Vec<Rule> {
        check(name, "Cargo.toml", manifest, has_readme).unwrap().iter().map(|one| one.rule).collect()
    }

    #[test]
    fn arrows_point_down() {
        assert_eq!(rules("route", "[dependencies]\nsql.workspace = true\nserde = \"1\"\n", true), []);
        assert_eq!(rules("sql", "[dependencies]\nroute.workspace = true\n", true), [Rule::Layer]);
        assert_eq!(rules("proxy", "[dependencies]\nadmin.workspace = true\n", true), [Rule::Layer]);
        assert_eq!(rules("sql", "[dev-dependencies]\nroute.workspace = true\n", true), []);
        assert_eq!(rules("bench", "[dependencies]\npointsman.workspace = true\n", true), []);
    }

    #[test]
    fn crates_have_readmes() {
        assert_eq!(rules("sql", "", false), [Rule::Readme]);
    }
}
