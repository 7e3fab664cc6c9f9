//! Takes the figures of all files.

use std::collections::{BTreeMap, BTreeSet};

use super::figure::Figure;
use super::source::{Source, without_tests};
use super::ways_around::WaysAround;
use super::{circle, methods, wide};
use crate::finding::{Finding, Rule};

/// Crates outside of the data plane. Any other crate, a new one too, is in it.
const OTHERS: &[&str] = &[
    "admin",
    "binlog",
    "cache",
    "config",
    "gtid",
    "heap",
    "memtable",
    "monitor",
    "otlp",
    "planner",
    "pointsman",
    "pool",
    "querylog",
    "route",
    "sched",
    "shard",
    "sql",
    "testkit",
    "tidy",
    "web",
    "wire",
];

/// The crate that has sockets in memory.
const PIPES: &str = "net";

/// All figures of the files and findings.
pub(crate) fn figures(sources: Vec<Source>, findings: &[Finding]) -> Vec<Figure> {
    let sources = without_tests(sources);
    let mut crates: BTreeMap<&str, Vec<&Source>> = BTreeMap::new();
    for source in &sources {
        crates.entry(&source.package).or_default().push(source);
    }
    let data_plane: Vec<&Source> =
        sources.iter().filter(|source| !OTHERS.contains(&source.package.as_str())).collect();
    let mut figures = Vec::new();
    for (package, sources) in &crates {
        figures.extend(of_crate(package, sources));
    }
    figures.extend(of_functions(&data_plane, &crates.keys().copied().collect::<Vec<_>>()));
    figures.extend(of_spots(&data_plane));
    figures.extend(of_ways_around(&data_plane));
    for (name, rule) in [("words", Rule::Word), ("pronouns", Rule::Pronoun)] {
        let files: Vec<_> =
            findings.iter().filter(|one| one.rule == rule).map(|one| one.path.as_str()).collect();
        figures.extend(Figure::new(name, "", files.len(), most(&files)));
    }
    figures
}

fn of_crate(package: &str, sources: &[&Source]) -> Vec<Figure> {
    let circle = circle::largest(sources);
    let mut figures: Vec<_> = Figure::new("circle", package, circle.len(), circle).into_iter().collect();
    for (name, count) in methods::by_type(sources) {
        let of = format!("{package}::{name}");
        figures.extend(Figure::new("methods", &of, count, methods::files_of(&name, sources)));
    }
    figures.extend(lines("lines", package, sources));
    figures
}

/// Production lines, with the longest files.
fn lines(name: &str, of: &str, sources: &[&Source]) -> Option<Figure> {
    let mut files: Vec<_> = sources.iter().map(|source| (source.lines, source.full_path())).collect();
    files.sort_by(|a, b| b.cmp(a));
    let sum = files.iter().map(|file| file.0).sum();
    let longest = files.into_iter().take(5);
    Figure::new(name, of, sum, longest.map(|(lines, path)| format!("{path} ({lines})")).collect())
}

fn of_functions(data_plane: &[&Source], packages: &[&str]) -> Vec<Figure> {
    let wide = wide::count(data_plane, packages);
    let mut types: Vec<_> = wide.types.iter().collect();
    types.sort_by(|a, b| b.1.cmp(a.1));
    let parts: Vec<_> = types.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    let figures = [
        Figure::new("wide", "", wide.all, parts.clone()),
        Figure::new("wide-outside-stages", "", wide.outside_stages, parts),
        lines("data-plane-lines", "", data_plane),
    ];
    figures.into_iter().flatten().collect()
}

fn of_spots(data_plane: &[&Source]) -> Vec<Figure> {
    let (mut locks, mut pipes, mut inner) = (Vec::new(), Vec::new(), Vec::new());
    for source in data_plane {
        let path = source.full_path();
        locks.extend(source.spots.locks.iter().map(|line| format!("{path}:{line}")));
        inner
            .extend(source.spots.inner(&source.package, OTHERS).iter().map(|what| format!("{path}: {what}")));
        if source.package != PIPES {
            pipes.extend(source.spots.pipes.iter().map(|used| format!("{path}: {used}")));
        }
    }
    let fields = data_plane.iter().map(|source| source.spots.session_fields).max().unwrap_or(0);
    let figures = [
        Figure::new("shared-locks", "", locks.len(), locks),
        Figure::new("memory-pipes", "", pipes.len(), pipes),
        Figure::new("inner-sessions", "", inner.len(), inner),
        Figure::new("session-fields", "", fields, Vec::new()),
    ];
    figures.into_iter().flatten().collect()
}

fn of_ways_around(data_plane: &[&Source]) -> Vec<Figure> {
    let figure = |name: &str, list: fn(&WaysAround) -> &[String]| {
        let found = data_plane.iter().flat_map(|source| {
            list(&source.ways_around).iter().map(|what| format!("{}:{what}", source.full_path()))
        });
        let found: Vec<String> = found.collect();
        Figure::new(name, "", found.len(), found)
    };
    let figures = [
        figure("twins", |ways| &ways.twins),
        figure("cells", |ways| &ways.cells),
        figure("derefs", |ways| &ways.derefs),
        figure("swaps", |ways| &ways.swaps),
    ];
    figures.into_iter().flatten().collect()
}

/// Texts that stand in `all` most often, each with how often.
fn most(all: &[&str]) -> Vec<String> {
    let count = |text: &str| all.iter().filter(|one| **one == text).count();
    let mut counts: Vec<_> = BTreeSet::from_iter(all).into_iter().map(|text| (count(text), *text)).collect();
    counts.sort_by(|a, b| b.cmp(a));
    counts.into_iter().map(|(count, text)| format!("{text} ({count})")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::source::sources;
    use super::*;

    fn value(key: &str, files: &[(&str, &str)], findings: &[Finding]) -> usize {
        let figures = figures(sources(files), findings);
        let found: Vec<_> = figures.iter().filter(|figure| figure.key() == key).collect();
        assert_eq!(found.len(), 1, "{key}");
        found[0].value
    }

    #[test]
    fn each_crate_and_type_has_its_figures() {
        let files = [
            ("crates/sql/src/a.rs", "use crate::b;\nimpl A { fn a() {} }\n"),
            ("crates/sql/src/b.rs", "use crate::a;\n"),
            ("crates/wire/src/a.rs", "impl A { fn a() {} fn b() {} }\n"),
        ];
        let figures = ["circle sql", "circle wire", "methods sql::A", "methods wire::A", "lines sql"];
        assert_eq!(figures.map(|key| value(key, &files, &[])), [2, 0, 1, 2, 3]);
    }

    #[test]
    fn the_data_plane_is_all_crates_but_some() {
        let text = "type A = Arc<Mutex<u8>>;\nuse net::sock::memory;\nstruct B(Session);\n";
        let files =
            [("crates/new/src/a.rs", text), ("crates/net/src/a.rs", text), ("crates/testkit/src/a.rs", text)];
        let figures =
            ["data-plane-lines", "shared-locks", "memory-pipes", "inner-sessions", "session-fields"];
        assert_eq!(figures.map(|key| value(key, &files, &[])), [6, 2, 1, 2, 0]);
    }

    #[test]
    fn ways_around_the_figures_are_counted_in_the_data_plane() {
        let text = "impl Session { fn is_here() {} }\nstruct Core(Cell<u8>);\nimpl Deref for A { type Target = Core; }
            fn f() { swap(&mut a.io, b); }\n";
        let files = [("crates/command/src/a.rs", text), ("crates/sql/src/a.rs", text)];
        let figures = ["twins", "cells", "derefs", "swaps"];
        assert_eq!(figures.map(|key| value(key, &files, &[])), [1, 1, 1, 1]);
    }

    #[test]
    fn words_and_pronouns_are_counted() {
        let finding = |rule| Finding { rule, path: "a.md".into(), line: 1, text: String::new() };
        let findings =
            [finding(Rule::Word), finding(Rule::Pronoun), finding(Rule::Word), finding(Rule::File)];
        assert_eq!((value("words", &[], &findings), value("pronouns", &[], &findings)), (2, 1));
    }
}
