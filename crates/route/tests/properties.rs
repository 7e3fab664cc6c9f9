//! Random rules and statements: what is remembered is what is found out, and both are what a slow
//! and obvious second implementation of the chain says.

mod slow;

use std::sync::Arc;

use config::{FastRoute, QueryRule};
use proptest::prelude::*;
use route::{
    Account, Caller, Options, Pairs, Query, Rules, Session, Situation, Statement, StatementPlan, Verdict,
    Verdicts, Ways, explain,
};

/// A statement in its circumstances.
#[derive(Debug, Clone)]
struct Asked {
    text: String,
    user: String,
    schema: String,
    from: String,
    port: u16,
    flag: u32,
    execute: bool,
    has_digest: bool,
}

impl Asked {
    /// As good as a digest: statements that differ in digits share it.
    fn digest_text(&self) -> String {
        self.text.chars().map(|c| if c.is_ascii_digit() { '?' } else { c }).collect()
    }

    fn digest(&self) -> Option<u64> {
        self.has_digest.then(|| sql::spooky::hash64(self.digest_text().as_bytes()))
    }
}

fn word(of: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(of).prop_map(str::to_owned)
}

const USERS: &[&str] = &["a", "b"];
const SCHEMAS: &[&str] = &["s", "t"];
const ADDRESSES: &[&str] = &["10.0.0.1", "10.0.0.12", "10.1.0.1"];
const PATTERNS: &[&str] = &["^select", "from t", "^select ?", "x1", "t$", "x", "1", "update", "t2"];
const TEXTS: &[&str] = &[
    "SELECT 1",
    "SELECT 2",
    "select x1 from t",
    "select x2 from t",
    "UPDATE t set x1",
    "update t2 set x",
    "1",
];

fn asked() -> impl Strategy<Value = Asked> {
    (
        word(TEXTS),
        word(USERS),
        word(SCHEMAS),
        word(ADDRESSES),
        1..3_u16,
        0..3_u32,
        any::<bool>(),
        prop::bool::weighted(0.9),
    )
        .prop_map(|(text, user, schema, from, port, flag, execute, has_digest)| Asked {
            text,
            user,
            schema,
            from,
            port,
            flag,
            execute,
            has_digest,
        })
}

/// A criterion that most rules do not have.
fn rarely<T: std::fmt::Debug + Clone>(
    strategy: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.25, strategy)
}

prop_compose! {
    fn criteria()(
        username in rarely(word(USERS)),
        schemaname in rarely(word(SCHEMAS)),
        flag_in in 0..3_u32,
        client_addr in prop::option::weighted(0.15, word(&["10.0.0.1", "10.0.0.1%", "10.%", "%"])),
        proxy_port in rarely(1..3_u16),
        digest in rarely(word(TEXTS)),
        match_digest in prop::option::weighted(0.4, word(PATTERNS)),
        match_pattern in prop::option::weighted(0.2, word(PATTERNS)),
        negate_match_pattern in prop::bool::weighted(0.3),
        active in prop::bool::weighted(0.9),
    ) -> QueryRule {
        let digest = digest.map(|text| {
            let hash = sql::spooky::hash64(text.replace(|c: char| c.is_ascii_digit(), "?").as_bytes());
            format!("0x{hash:X}")
        });
        // `?` is no operator here.
        let literal = |pattern: Option<String>| pattern.map(|pattern| pattern.replace('?', "\\?"));
        QueryRule {
            username, schemaname, flag_in, client_addr, proxy_port, digest,
            match_digest: literal(match_digest), match_pattern: literal(match_pattern), negate_match_pattern, active,
            ..QueryRule::default()
        }
    }
}

prop_compose! {
    fn rule()(
        mut rule in criteria(),
        flag_out in rarely(0..3_u32),
        replace in word(&["y", "<\\0>", "t2 from t", ""]),
        replaces in any::<bool>(),
        global in any::<bool>(),
        destination_hostgroup in rarely(0..9_u32),
        next_query_flag_in in rarely(0..3_u32),
        mirror_hostgroup in rarely(0..3_u32),
        error_msg in rarely(word(&["no", "never"])),
        multiplex in rarely(0..3_u32),
        retries in rarely(0..9_u32),
        apply in prop::bool::weighted(0.2),
    ) -> QueryRule {
        rule.replace_pattern = rule.match_pattern.as_ref().filter(|_| replaces).map(|_| replace);
        rule.re_modifiers = Some(if global { "CASELESS,GLOBAL" } else { "CASELESS" }.to_owned());
        QueryRule {
            flag_out, destination_hostgroup, next_query_flag_in, mirror_hostgroup, error_msg, multiplex, retries, apply,
            ..rule
        }
    }
}

fn fast_route() -> impl Strategy<Value = FastRoute> {
    (word(&["", "a", "b"]), word(SCHEMAS), 0..3_u32, 10..19_u32).prop_map(
        |(username, schemaname, flag_in, destination_hostgroup)| FastRoute {
            username,
            schemaname,
            flag_in,
            destination_hostgroup,
            comment: String::new(),
        },
    )
}

prop_compose! {
    fn rules()(
        mut rules in prop::collection::vec(rule(), 0..12),
        mut fast in prop::collection::vec(fast_route(), 0..4),
        iterations in prop::sample::select(&[0_u32, 0, 1, 3][..]),
        quirk in any::<bool>(),
    ) -> (Vec<QueryRule>, Vec<FastRoute>, Options) {
        for (rule, id) in rules.iter_mut().zip(1..) {
            rule.rule_id = id;
        }
        // The key of a table is unique.
        fast.sort_by(|a, b| (&a.username, &a.schemaname, a.flag_in).cmp(&(&b.username, &b.schemaname, b.flag_in)));
        fast.dedup_by(|a, b| (&a.username, &a.schemaname, a.flag_in) == (&b.username, &b.schemaname, b.flag_in));
        // The order of rows is not that of rules.
        rules.reverse();
        (rules, fast, Options { iterations, last_rule_hides_fast_routes: quirk, ..Options::default() })
    }
}

/// What the fast implementation says, by itself and with a record.
fn fast(verdicts: &mut Verdicts, asked: &Asked) -> (Verdict, Option<Vec<u8>>) {
    let caller =
        Arc::new(Caller::new(asked.user.as_bytes(), asked.schema.as_bytes(), "127.0.0.1", asked.port));
    let digest_text = asked.digest_text();
    let statement = Statement {
        text: asked.text.as_bytes(),
        digest: asked.digest(),
        digest_text: digest_text.as_bytes(),
        hints: None,
        plan: StatementPlan::default(),
    };
    let query = Query {
        statement,
        caller: &caller,
        client_addr: &asked.from,
        flag_in: asked.flag,
        execute: asked.execute,
        mirror: None,
        hints: true,
        random: 1,
        now_ms: 0,
    };
    let situation = Situation {
        ways: Ways {
            account: Account {
                default_hostgroup: 0,
                transaction_persistent: true,
                listener: None,
                is_shard: false,
            },
            session: &Session::default(),
            pairs: &Pairs::default(),
            split_on: false,
            rules: verdicts.rules(),
            firewall: None,
            injections: None,
            caching: &route::CacheDefaults::default(),
            uncached: &|| None,
        },
        candidates: &|_| Vec::new(),
        must_see: &|_, _| None,
        plan_of: &|_| StatementPlan::default(),
        peek: &|_| route::Peek::Unseen,
        pins: &[],
    };
    let explained = explain(&query, &situation);
    let decision = verdicts.decide(&query);
    assert_eq!(*decision.verdict, explained.verdict);
    (decision.verdict.into_owned(), decision.text)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, ..ProptestConfig::default() })]

    #[test]
    fn all_ways_decide_the_same(
        (rows, fast_rows, options) in rules(),
        queries in prop::collection::vec(asked(), 1..40),
    ) {
        let rules = Rules::compile(&rows, &fast_rows, options).expect("good rules");
        let mut verdicts = Verdicts::new(&rules);
        let mut hits = vec![0; rules.len()];
        // Twice, so that everything that can be remembered is.
        for asked in queries.iter().chain(&queries) {
            let (verdict, text) = fast(&mut verdicts, asked);
            let expected = slow::judge(&rows, &fast_rows, options, asked);
            prop_assert_eq!(&slow::Judged::of(&rules, &verdict, text), &expected);
            for place in &verdict.matched {
                hits[usize::try_from(*place).unwrap()] += 1;
            }
        }
        prop_assert_eq!(verdicts.hits().matches().collect::<Vec<u64>>(), hits);
    }
}

/// More statements than are remembered: others make room, and nothing is mixed up.
#[test]
fn verdicts_are_forgotten_and_found_again() {
    let rows: Vec<QueryRule> = (0..10_i64)
        .map(|digit| QueryRule {
            rule_id: digit + 1,
            active: true,
            match_digest: Some(format!("_{digit}$")),
            destination_hostgroup: Some(u32::try_from(digit).unwrap()),
            ..QueryRule::default()
        })
        .collect();
    let rules = Rules::compile(&rows, &[], Options::default()).unwrap();
    let mut verdicts = Verdicts::new(&rules);
    let caller = Arc::new(Caller::new(b"a", b"s", "127.0.0.1", 1));
    for number in (0..20_000_u64).chain((0..20_000).rev()) {
        let text = format!("select _{}", number % 10);
        let statement = Statement {
            text: text.as_bytes(),
            digest: Some(sql::spooky::hash64(&number.to_le_bytes())),
            digest_text: text.as_bytes(),
            hints: None,
            plan: StatementPlan::default(),
        };
        let query = Query {
            statement,
            caller: &caller,
            client_addr: "",
            flag_in: 0,
            execute: false,
            mirror: None,
            hints: true,
            random: 0,
            now_ms: 0,
        };
        let decision = verdicts.decide(&query);
        assert_eq!(decision.verdict.hostgroup.map(u64::from), Some(number % 10));
    }
    assert!(verdicts.remembered() <= route::limits::VERDICTS_MAX);
    assert!(verdicts.remembered() > route::limits::VERDICTS_MAX / 2);
    assert_eq!(verdicts.hits().matches().sum::<u64>(), 40_000);
}
