use super::*;

use crate::split::{Reason, Side};

const ACCOUNT: Account = Account { default_hostgroup: 0, transaction_persistent: true, listener: None };
const READ: StatementPlan = StatementPlan::READ;

fn rule(hostgroup: u32) -> Verdict {
    Verdict { hostgroup: Some(hostgroup), source: Some(Source::Rule(7)), ..Verdict::default() }
}

fn go(verdict: &Verdict, account: Account, session: &Session, split_on: bool) -> Destination {
    destination(verdict, account, session, READ, &Pairs::default().with(0, 1), split_on)
}

fn to(hostgroup: u32, why: Why) -> Destination {
    Destination::Hostgroup { hostgroup, why }
}

#[test]
fn answers_of_rules_come_first_and_ok_before_errors() {
    let mut verdict = rule(5);
    verdict.error = Some("no".into());
    assert_eq!(go(&verdict, ACCOUNT, &Session::default(), true), Destination::Error("no".into()));
    verdict.ok = Some("yes".into());
    let busy = Session { transaction: Some(3), locked_on: Some(4), ..Session::default() };
    assert_eq!(go(&verdict, ACCOUNT, &busy, true), Destination::Ok("yes".into()));
}

#[test]
fn rules_beat_the_split_and_the_split_the_default() {
    let session = Session::default();
    assert_eq!(go(&rule(5), ACCOUNT, &session, true), to(5, Why::Verdict(Some(Source::Rule(7)))));
    let Destination::Hostgroup { hostgroup: 1, why: Why::Split(split) } =
        go(&Verdict::default(), ACCOUNT, &session, true)
    else {
        panic!("not to the reader")
    };
    assert_eq!((split.side, split.reason), (Side::Reader, Reason::PlainRead));
    assert_eq!(go(&Verdict::default(), ACCOUNT, &session, false), to(0, Why::Default));
}

#[test]
fn c08_a_persistent_transaction_beats_rules() {
    let session = Session { transaction: Some(3), ..Session::default() };
    assert_eq!(go(&rule(5), ACCOUNT, &session, true), to(3, Why::Transaction));
    assert_eq!(go(&Verdict::default(), ACCOUNT, &session, false), to(3, Why::Transaction));
    let loose = Account { transaction_persistent: false, ..ACCOUNT };
    assert_eq!(go(&rule(5), loose, &session, true), to(5, Why::Verdict(Some(Source::Rule(7)))));
    // Without a rule the split keeps it, and without the split it goes where ProxySQL sends it.
    assert!(matches!(
        go(&Verdict::default(), loose, &session, true),
        Destination::Hostgroup { hostgroup: 3, .. }
    ));
    assert_eq!(go(&Verdict::default(), loose, &session, false), to(0, Why::Default));
}

#[test]
fn a_locked_session_goes_nowhere_else() {
    let session = Session { locked_on: Some(2), ..Session::default() };
    assert_eq!(go(&rule(5), ACCOUNT, &session, true), Destination::Locked { locked_on: 2, hostgroup: 5 });
    assert_eq!(
        go(&Verdict::default(), ACCOUNT, &session, false),
        Destination::Locked { locked_on: 2, hostgroup: 0 }
    );
    assert!(matches!(go(&rule(2), ACCOUNT, &session, true), Destination::Hostgroup { hostgroup: 2, .. }));
    // The split does not lead a locked session into an error.
    assert!(matches!(
        go(&Verdict::default(), ACCOUNT, &session, true),
        Destination::Hostgroup { hostgroup: 2, .. }
    ));
}
