//! What decisions cost. Prints, asserts nothing about time:
//! `cargo test -p route --release --test figures -- --ignored --nocapture`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use config::{FastRoute, QueryRule};
use route::{Caller, Facts, Options, Query, Rules, Statement, Verdicts};

/// Nanoseconds that a decision takes, at best of seven rounds over `texts`.
fn cost(rules: &Rules, texts: &[String], patience: u32) -> f64 {
    let mut verdicts = Verdicts::new(rules);
    let caller = Arc::new(Caller::new(b"app", b"shop", "127.0.0.1", 6033));
    let digests: Vec<u64> = texts.iter().map(|text| sql::spooky::hash64(text.as_bytes())).collect();
    let mut best = f64::MAX;
    for _ in 0..7 {
        let start = Instant::now();
        for _ in 0..patience {
            for (text, digest) in texts.iter().zip(&digests) {
                let statement = Statement {
                    text: text.as_bytes(),
                    digest: Some(*digest),
                    digest_text: text.as_bytes(),
                    hints: None,
                    facts: Facts::default(),
                };
                let query = Query {
                    statement,
                    caller: &caller,
                    client_addr: "10.0.0.1",
                    flag_in: 0,
                    execute: false,
                    mirror: None,
                    hints: true,
                    random: 1,
                    now_ms: 0,
                };
                black_box(verdicts.decide(black_box(&query)).verdict.hostgroup);
            }
        }
        let count = f64::from(patience) * f64::from(u32::try_from(texts.len()).unwrap());
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / count);
    }
    best
}

fn by_digest(count: i64) -> Vec<QueryRule> {
    let rule = |id: i64| QueryRule {
        rule_id: id,
        active: true,
        match_digest: Some(format!("^SELECT .* FROM table{id}_x WHERE")),
        destination_hostgroup: Some(1),
        ..QueryRule::default()
    };
    (1..=count).map(rule).collect()
}

fn fast_rows(count: u32) -> Vec<FastRoute> {
    let row = |number: u32| FastRoute {
        username: format!("user{number}"),
        schemaname: "shop".to_owned(),
        flag_in: 0,
        destination_hostgroup: number,
        comment: String::new(),
    };
    (0..count).map(row).chain([FastRoute { username: "app".to_owned(), ..row(1) }]).collect()
}

#[test]
#[ignore = "prints times"]
fn figures() {
    let texts: Vec<String> = (0..100)
        .map(|number| format!("SELECT c{number} , d FROM some_table WHERE id = ? AND name = ? ORDER BY x"))
        .collect();
    let point = vec!["SELECT c FROM sbtest1 WHERE id=?".to_owned()];
    let rules =
        |rows: &[QueryRule], fast: &[FastRoute]| Rules::compile(rows, fast, Options::default()).unwrap();
    println!("a decision, warm, ns: 1 digest, 100 digests");
    for (name, rules) in [
        ("no rules", rules(&[], &[])),
        ("1 match_digest", rules(&by_digest(1), &[])),
        ("100 match_digest", rules(&by_digest(100), &[])),
        ("10,000 fast routes", rules(&[], &fast_rows(10_000))),
        ("100 and 10,000", rules(&by_digest(100), &fast_rows(10_000))),
    ] {
        println!("{name:>20} {:8.1} {:8.1}", cost(&rules, &point, 20_000), cost(&rules, &texts, 1_000));
    }
    let mut literal = by_digest(100);
    for rule in &mut literal {
        rule.match_pattern = rule.match_digest.take();
    }
    println!("{:>20} {:8.1}", "100 match_pattern", cost(&rules(&literal, &[]), &point, 200));
    let mut one = by_digest(100);
    one.extend(literal.into_iter().take(1).map(|rule| QueryRule { rule_id: 1_000, ..rule }));
    println!("{:>20} {:8.1}", "100 digest, 1 pattern", cost(&rules(&one, &[]), &point, 2_000));

    for count in [1_000, 10_000] {
        let rows = by_digest(count);
        let start = Instant::now();
        let rules = Rules::compile(&rows, &[], Options::default()).unwrap();
        let compiled = start.elapsed();
        let start = Instant::now();
        let mut verdicts = Verdicts::new(&rules);
        let copied = start.elapsed();
        let start = Instant::now();
        black_box(cost(&rules, &point, 1));
        println!(
            "{count} rules: compiled in {compiled:?}, copied in {copied:?}, first decision in {:?}",
            start.elapsed()
        );
        black_box(&mut verdicts);
    }
}
