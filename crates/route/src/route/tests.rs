use super::*;

use crate::query::Statement;
use crate::rules::Options;
use crate::split::{Reason, Side};

const ACCOUNT: Account =
    Account { default_hostgroup: 0, transaction_persistent: true, listener: None, is_shard: false };
const READ: StatementPlan = StatementPlan::READ;

fn rule(hostgroup: u32) -> Verdict {
    Verdict { hostgroup: Some(hostgroup), source: Some(Source::Rule(7)), ..Verdict::default() }
}

fn go(verdict: &Verdict, account: Account, session: &Session, split_on: bool) -> Result<(u32, Why), Answer> {
    let (pairs, rules) = (Pairs::default().with(0, 1), no_rules());
    let (firewall, injections, pairs, rules) = (None, None, &pairs, &rules);
    let (caching, uncached) = (&CacheDefaults::default(), &|| None);
    let ways = Ways { account, session, pairs, split_on, rules, firewall, injections, caching, uncached };
    hostgroup(verdict, READ, &ways)
}

fn no_rules() -> Rules {
    Rules::compile(&[], &[], Options::default()).unwrap()
}

/// What becomes of `text` with this verdict, this firewall and this search for injected SQL.
fn routed(
    verdict: &Verdict,
    text: &[u8],
    firewall: Option<&Firewall>,
    injections: Option<&Injections>,
) -> Routed {
    let (pairs, rules, session) = (Pairs::default(), no_rules(), Session::default());
    let ways = Ways {
        account: ACCOUNT,
        session: &session,
        pairs: &pairs,
        split_on: false,
        rules: &rules,
        firewall: firewall.map(|firewall| (firewall, true)),
        injections,
        caching: &CacheDefaults::default(),
        uncached: &|| None,
    };
    let caller = Arc::new(crate::Caller::new(b"app", b"", "", 0));
    let query = Query {
        statement: Statement { text, digest: Some(7), digest_text: text, hints: None, plan: READ },
        caller: &caller,
        client_addr: "",
        flag_in: 0,
        execute: false,
        mirror: None,
        hints: true,
        random: 0,
        now_ms: 0,
    };
    route(&query, READ, verdict, 0, &ways)
}

/// A firewall that knows no user, and so refuses all statements.
fn strict() -> Firewall {
    Firewall::new(&[], &[], "not you")
}

#[test]
fn what_the_firewall_refuses_is_answered() {
    let firewall = strict();
    let refused = routed(&rule(5), b"SELECT 1", Some(&firewall), None);
    assert_eq!(
        (refused.route, refused.ruling),
        (Route::Local(Answer::Error("not you".into())), Ruling::Refused)
    );
    let answers = Verdict { ok: Some("fine".into()), ..Verdict::default() };
    let answered = routed(&answers, b"SELECT 1", Some(&firewall), None);
    assert_eq!(answered.route, Route::Local(Answer::Ok("fine".into())), "what rules answer themselves stays");
}

#[test]
fn injected_sql_is_answered_and_not_looked_for_where_rules_answer() {
    let injected = b"SELECT * FROM t WHERE a = '' OR 1=1 UNION SELECT 1,2 -- '";
    let injections = Injections::new(&[], false);
    let refused = routed(&rule(5), injected, None, Some(&injections));
    assert!(matches!(refused.sighting, Some(Sighting::Refused(_))), "{refused:?}");
    assert!(matches!(refused.route, Route::Local(Answer::Error(_))), "{refused:?}");
    assert_eq!(routed(&rule(5), injected, Some(&strict()), Some(&injections)).sighting, None);
    let answers = Verdict { error: Some("no".into()), ..Verdict::default() };
    assert_eq!(routed(&answers, injected, None, Some(&injections)).sighting, None);
}

#[test]
fn a_mirrored_statement_has_two_targets() {
    let verdict = Verdict { mirror_hostgroup: Some(9), ..rule(5) };
    let Route::Many(branches) = routed(&verdict, b"SELECT 1", None, None).route else { panic!("one target") };
    assert_eq!(branches.target, Target { hostgroup: 5, is_split: false });
    assert_eq!(branches.copy, Mirror { hostgroup: Some(9), flag_in: None });
    assert!(!branches.compare);
    assert_eq!(routed(&rule(5), b"SELECT 1", None, None).route, Route::to(5));
}

#[test]
fn answers_of_rules_come_first_and_ok_before_errors() {
    let mut verdict = rule(5);
    verdict.error = Some("no".into());
    assert_eq!(go(&verdict, ACCOUNT, &Session::default(), true), Err(Answer::Error("no".into())));
    verdict.ok = Some("yes".into());
    let busy = Session { transaction: Some(3), locked_on: Some(4), ..Session::default() };
    assert_eq!(go(&verdict, ACCOUNT, &busy, true), Err(Answer::Ok("yes".into())));
}

#[test]
fn rules_beat_the_split_and_the_split_the_default() {
    let session = Session::default();
    assert_eq!(go(&rule(5), ACCOUNT, &session, true), Ok((5, Why::Verdict(Some(Source::Rule(7))))));
    let Ok((1, Why::Split(split))) = go(&Verdict::default(), ACCOUNT, &session, true) else {
        panic!("not to the reader")
    };
    assert_eq!((split.side, split.reason), (Side::Reader, Reason::PlainRead));
    assert_eq!(go(&Verdict::default(), ACCOUNT, &session, false), Ok((0, Why::Default)));
}

#[test]
fn c08_a_persistent_transaction_beats_rules() {
    let session = Session { transaction: Some(3), ..Session::default() };
    assert_eq!(go(&rule(5), ACCOUNT, &session, true), Ok((3, Why::Transaction)));
    assert_eq!(go(&Verdict::default(), ACCOUNT, &session, false), Ok((3, Why::Transaction)));
    let loose = Account { transaction_persistent: false, ..ACCOUNT };
    assert_eq!(go(&rule(5), loose, &session, true), Ok((5, Why::Verdict(Some(Source::Rule(7))))));
    // Without a rule the split keeps it, and without the split it goes where ProxySQL sends it.
    assert!(matches!(go(&Verdict::default(), loose, &session, true), Ok((3, _))));
    assert_eq!(go(&Verdict::default(), loose, &session, false), Ok((0, Why::Default)));
}

#[test]
fn a_locked_session_goes_nowhere_else() {
    let session = Session { locked_on: Some(2), ..Session::default() };
    assert_eq!(go(&rule(5), ACCOUNT, &session, true), Err(Answer::Locked { locked_on: 2, hostgroup: 5 }));
    assert_eq!(
        go(&Verdict::default(), ACCOUNT, &session, false),
        Err(Answer::Locked { locked_on: 2, hostgroup: 0 })
    );
    assert!(matches!(go(&rule(2), ACCOUNT, &session, true), Ok((2, _))));
    // The split does not lead a locked session into an error.
    assert!(matches!(go(&Verdict::default(), ACCOUNT, &session, true), Ok((2, _))));
}
