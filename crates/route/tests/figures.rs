//! What decisions cost. Prints, asserts nothing about time:
//! `cargo test -p route --release --test figures -- --ignored --nocapture`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use config::{FastRoute, FirewallMode, FirewallRule, FirewallUser, QueryRule};
use route::{Asked, Caller, Firewall, Options, Query, Rules, Statement, StatementPlan, Verdicts};

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
                    plan: StatementPlan::default(),
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

/// Nanoseconds that the firewall takes for a statement that is listed, among so many, and for one
/// of a user who may send all.
fn firewall(count: u64) -> (f64, f64) {
    let user = |username: &str, mode| FirewallUser {
        active: true,
        username: username.to_owned(),
        mode,
        ..FirewallUser::default()
    };
    let rule = |digest: u64| FirewallRule {
        active: true,
        username: "app".to_owned(),
        schemaname: "shop".to_owned(),
        digest: format!("0x{:016X}", digest.wrapping_mul(0x9E37_79B9_7F4A_7C15)),
        ..FirewallRule::default()
    };
    let users = [user("app", FirewallMode::Protecting), user("free", FirewallMode::Off)];
    let rules: Vec<FirewallRule> = (1..=count).map(rule).collect();
    let firewall = Firewall::new(&users, &rules, "no");
    let cost = |user: &str| {
        let caller = Caller::new(user.as_bytes(), b"shop", "127.0.0.1", 6033);
        let mut best = f64::MAX;
        for _ in 0..7 {
            let start = Instant::now();
            for digest in (1..=count).cycle().take(1_000_000) {
                let digest = Some(digest.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                black_box(firewall.rule(black_box(&caller), "10.0.0.1", Asked { digest, flag: 0 }));
            }
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
        }
        best
    };
    (cost("app"), cost("free"))
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

    for count in [100, 100_000] {
        let (listed, off) = firewall(count);
        println!("the firewall, {count} statements, ns: listed {listed:.1}, OFF {off:.1}");
    }

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
