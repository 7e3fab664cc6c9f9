//! Tests of the rows.

use super::*;

#[test]
fn every_name_is_there_once() {
    let rows = globals(&[], &Globals::default());
    let names: std::collections::HashSet<_> = rows.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), rows.len());
    assert!(rows.iter().all(|(_, value)| *value == 0));
}

/// What a name with alternatives in braces and optional parts in brackets stands for.
fn expanded(name: &str) -> Vec<String> {
    if let Some((before, rest)) = name.split_once('{') {
        let (inner, after) = rest.split_once('}').unwrap();
        let all = inner.split(", ").flat_map(|part| expanded(&format!("{before}{part}{after}")));
        return all.collect();
    }
    match name.split_once('[') {
        Some((before, part)) => {
            vec![before.to_owned(), format!("{before}{}", part.trim_end_matches(']'))]
        }
        None => vec![name.to_owned()],
    }
}

#[test]
fn names_and_order_are_those_of_proxysql() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference/proxysql-surface.md");
    let Ok(reference) = std::fs::read_to_string(path) else {
        return println!("skipped: names_and_order_are_those_of_proxysql needs the reference");
    };
    let line = reference.lines().find_map(|line| line.strip_prefix("- stats_mysql_global rows: ")).unwrap();
    let (mut depth, mut names) = (0, vec![String::new()]);
    for letter in line.trim_end_matches('.').chars() {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        match letter {
            ',' if depth == 0 => names.push(String::new()),
            letter => names.last_mut().unwrap().push(letter),
        }
    }
    let expected: Vec<_> = names.iter().flat_map(|name| expanded(name.trim())).collect();
    let rows: Vec<_> = ROWS.iter().map(|row| row.name.to_owned()).collect();
    // Behind them are those that only this proxy has.
    assert_eq!(rows[..expected.len()], expected);
}

/// Who looks at a counter is to know that it counts nothing.
#[test]
fn what_is_always_0_is_in_the_manual() {
    let manual = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/admin.md");
    let manual = std::fs::read_to_string(manual).unwrap();
    // The admin port puts that one in.
    let absent =
        ROWS.iter().filter(|row| matches!(row.source, Source::Absent) && row.name != "SQLite3_memory_bytes");
    let silent: Vec<_> =
        absent.map(|row| row.name).filter(|name| !manual.contains(&format!("`{name}`"))).collect();
    assert_eq!(silent, Vec::<&str>::new());
}

#[test]
fn workers_are_added_up() {
    let reports: Vec<_> = (1..4)
        .map(|n| {
            let counts = Counts::default();
            counts.add(Counter::Questions, n);
            counts.clients.add_sent(10);
            counts.server(n, Default::default).flow.add_received(1);
            Report::new(&counts, 1, 0)
        })
        .collect();
    let rows = globals(&reports, &Globals::default());
    let of = |name| rows.iter().find(|row| row.0 == name).unwrap().1;
    assert_eq!((of("Questions"), of("Queries_frontends_bytes_sent")), (6, 30));
    assert_eq!((of("Queries_backends_bytes_recv"), of("Client_Connections_non_idle")), (3, 3));
}

#[test]
fn metrics_of_one_name_stand_together() {
    let metrics = super::super::metrics();
    let mut names: Vec<_> = metrics.iter().map(|metric| metric.0).collect();
    names.dedup();
    let all: std::collections::HashSet<_> = names.iter().collect();
    assert_eq!((all.len(), metrics.len()), (names.len(), 25));
    assert_eq!(
        metrics[..2].iter().map(|metric| metric.1).collect::<Vec<_>>(),
        [Some("query"), Some("audit")]
    );
    assert_eq!(names.last(), Some(&"pointsman_invariants_broken_total"));
}
