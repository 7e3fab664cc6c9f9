use super::*;

const READ: StatementPlan = StatementPlan::READ;

fn pairs() -> Pairs {
    Pairs::default().with(0, 1)
}

fn side_of(plan: StatementPlan, session: &Session, asked: Option<AccessMode>) -> (Side, u32, Reason) {
    let split = split(plan, session, asked, 0, &pairs());
    (split.side, split.hostgroup, split.reason)
}

fn with(effects: Effects) -> StatementPlan {
    StatementPlan { effects, ..READ }
}

/// Every effect there is.
fn effects() -> impl Iterator<Item = Effects> {
    Effects::all().iter().filter(|effect| said(*effect).next().is_some())
}

#[test]
fn plain_reads_go_to_the_readers() {
    let session = Session::default();
    assert_eq!(side_of(READ, &session, None), (Side::Reader, 1, Reason::PlainRead));
    assert_eq!(
        side_of(StatementPlan { tables: false, ..READ }, &session, None),
        (Side::Reader, 1, Reason::PlainRead)
    );
    let nowhere = split(READ, &session, None, 7, &pairs());
    assert_eq!(nowhere, Split { side: Side::Writer, hostgroup: 7, reason: Reason::NoPair });
}

/// A transaction stays where it is; with autocommit off one begins with the next access of a table.
#[test]
fn c08_a_transaction_is_never_split() {
    let open = Session { transaction: Some(0), ..Session::default() };
    let reading = Session { transaction: Some(1), ..Session::default() };
    for asked in [None, Some(AccessMode::ReadOnly), Some(AccessMode::ReadWrite)] {
        for kind in [
            StatementKind::Select,
            StatementKind::Commit,
            StatementKind::Rollback,
            StatementKind::Do,
            StatementKind::StartReadOnly,
        ] {
            for effects in effects().chain([Effects::empty()]) {
                let plan = StatementPlan {
                    kind,
                    effects,
                    tables: true,
                    several: false,
                    may_load: false,
                    counts_apart: false,
                };
                assert_eq!(side_of(plan, &open, asked), (Side::Stay, 0, Reason::Transaction), "{plan:?}");
                assert_eq!(side_of(plan, &reading, asked), (Side::Stay, 1, Reason::Transaction), "{plan:?}");
            }
        }
    }
    let off = Session { autocommit: false, ..Session::default() };
    assert_eq!(side_of(READ, &off, None), (Side::Writer, 0, Reason::AutocommitOff));
    let begin = |read_only| StatementPlan {
        kind: if read_only { StatementKind::StartReadOnly } else { StatementKind::Begin },
        effects: Effects::empty(),
        tables: false,
        several: false,
        may_load: false,
        counts_apart: false,
    };
    assert_eq!(side_of(begin(false), &Session::default(), None), (Side::Writer, 0, Reason::Begins));
    assert_eq!(side_of(begin(true), &Session::default(), None), (Side::Reader, 1, Reason::BeginsReadOnly));
    assert_eq!(
        side_of(begin(true), &Session::default(), Some(AccessMode::ReadWrite)),
        (Side::Writer, 0, Reason::Asked)
    );
}

/// Reads with side effects, and what is not understood, go to the writer.
#[test]
fn c31_reads_with_side_effects_stay_at_the_writer() {
    let session = Session::default();
    for effect in effects() {
        let (side, hostgroup, reason) = side_of(with(effect), &session, None);
        assert_eq!((side, hostgroup, reason), (Side::Writer, 0, Reason::Effects(effect)), "{effect:?}");
        assert_eq!(reason.text(), said(effect).next().unwrap());
        // One that is harmless does not make up for another.
        let both = effect.union(Effects::USER_VARIABLES);
        assert_eq!(side_of(with(both), &session, None).0, Side::Writer);
    }
    assert_eq!(side_of(StatementPlan::default(), &session, None).0, Side::Writer);
    for kind in [StatementKind::Do, StatementKind::Commit, StatementKind::Rollback] {
        let plan = StatementPlan {
            kind,
            effects: Effects::empty(),
            tables: false,
            several: false,
            may_load: false,
            counts_apart: false,
        };
        assert_eq!(side_of(plan, &session, None), (Side::Writer, 0, Reason::NotARead));
        assert_eq!(side_of(plan, &session, Some(AccessMode::ReadOnly)), (Side::Writer, 0, Reason::NotARead));
    }
}

#[test]
fn c31_clients_that_ask_for_a_reader_do_not_get_writes_there() {
    let session = Session::default();
    for effect in effects() {
        let (side, ..) = side_of(with(effect), &session, Some(AccessMode::ReadOnly));
        let never = effect.intersects(NEVER_AT_A_READER);
        assert_eq!(side, if never { Side::Writer } else { Side::Reader }, "{effect:?}");
        let other = StatementPlan { kind: StatementKind::Do, ..with(effect) };
        assert_eq!(side_of(other, &session, Some(AccessMode::ReadOnly)).0, Side::Writer, "{effect:?}");
    }
    assert_eq!(side_of(READ, &session, Some(AccessMode::ReadWrite)), (Side::Writer, 0, Reason::Asked));
}

#[test]
fn what_a_session_left_at_a_server_keeps_it_there() {
    for hold in [Hold::TemporaryTables, Hold::LockedTables, Hold::Unknown] {
        let session = Session { hold: Some((hold, 0)), ..Session::default() };
        assert_eq!(side_of(READ, &session, Some(AccessMode::ReadOnly)), (Side::Stay, 0, Reason::Held(hold)));
    }
    // FOUND_ROWS() is about the server that ran the statement before.
    let session = Session { last_hostgroup: Some(1), ..Session::default() };
    assert_eq!(side_of(with(Effects::READS_LAST), &session, None), (Side::Stay, 1, Reason::LastResult));
    assert_eq!(side_of(with(Effects::READS_LAST), &Session::default(), None).0, Side::Writer);
}
