//! What `EXPLAIN ROUTE` says of plans: `explained.txt` has statements, each with its rows.
//! `POINTSMAN_WRITE_GOLDEN=1` writes the rows anew.

use std::fmt::Write as _;
use std::path::Path;

use super::*;

#[test]
fn plans_are_written_down() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/plan/tests/explained.txt"));
    let golden = std::fs::read_to_string(path).unwrap();
    let mut out = String::new();
    for statement in golden.lines().filter_map(|line| line.strip_prefix("> ")) {
        writeln!(out, "> {statement}").unwrap();
        let rows = with_request(statement, &[], |request| explain(request, &plan(request)));
        for [step, result, detail] in rows {
            writeln!(out, "{step} | {result} | {detail}").unwrap();
        }
        out.push('\n');
    }
    if std::env::var_os("POINTSMAN_WRITE_GOLDEN").is_some() {
        std::fs::write(path, &out).unwrap();
    }
    assert_eq!(out, std::fs::read_to_string(path).unwrap());
}

#[test]
fn long_texts_are_cut_between_characters() {
    let long = format!("SELECT '{}' FROM users WHERE id = 1", "\u{e4}".repeat(2_000));
    let rows = with_request(&long, &[], |request| explain(request, &plan(request)));
    let [_, _, text] = rows.last().unwrap();
    assert!(text.ends_with("\u{e4}..."), "{text}");
    assert!(text.len() < crate::limits::EXPLAINED_BYTES_MAX + 8);
}

#[test]
fn writes_tell_their_rows_and_ids() {
    let branch = |hostgroup| Branch { hostgroup, ..Branch::default() };
    let name = |name: &str| name.to_owned();
    let ids = Ids { schema: name("shop"), table: name("users"), first: Some(7), largest: None };
    let write = Write {
        branches: vec![branch(10), branch(11)],
        rows: vec![vec![1, 3], vec![2]],
        counts: Counts::Sum,
        ids: Some(ids),
        why: Reason::Covers,
    };
    let wanted = Wanted { schema: name("shop"), table: name("users"), count: 3 };
    let insert = "INSERT INTO users (name) VALUES ('a'), ('b'), ('c')";
    let rows = |plan: &Plan| {
        let rows = with_request(insert, &[], |request| explain(request, plan));
        rows.iter().map(|row| row.join(" | ")).filter(|row| !row.starts_with("table")).collect::<Vec<_>>()
    };
    let shard = |hostgroup: u32| format!("shard in hostgroup {hostgroup} | unchanged | {insert}");
    let way = "shards | write | no route: the conditions need several shards".to_owned();
    let split = "rows | split | 2, 1".to_owned();
    let ids = "ids | from 7 | of shop.users".to_owned();
    assert_eq!(rows(&Plan::Write(write)), [way, shard(10), shard(11), split, ids]);
    let expected = [
        "shards | ids first | the shards depend on ids of the sequence".to_owned(),
        "ids | 3 wanted | of shop.users".to_owned(),
    ];
    assert_eq!(rows(&Plan::NeedsIds(wanted)), expected);
    assert_eq!(rows(&Plan::Each(vec![branch(10)]))[0], "shards | each node | the statement defines a table");
}
