use sql::Modes;

use super::*;
use crate::event::{Begin, Change};

const MYSQL: Begin = Begin { gtid: None, change: Change::ToBeSeen };

fn statement(text: &str) -> Event<'_> {
    Event::Statement(Statement { schema: b"d", text: Some(text.as_bytes()), modes: Some(Modes::default()) })
}

fn table(id: u64, name: &str) -> Event<'_> {
    Event::Table { id, schema: b"d", name: name.as_bytes() }
}

fn rows<'a>(id: u64) -> Event<'a> {
    Event::Rows { id }
}

fn xid() -> Xid {
    Xid::new(1, b"a", b"").unwrap()
}

/// The facts of events in a stream that was at 4 before, each event 10 bytes long.
fn facts(transactions: &mut Transactions, events: &[Event<'_>]) -> Vec<Fact> {
    let mut facts = Vec::new();
    for (event, position) in events.iter().cloned().zip((14..).step_by(10)) {
        transactions.take(&Logged { next_position: position, event }, |fact| facts.push(fact));
    }
    facts
}

/// Facts as text: names of tables, reasons, kinds of facts.
fn said(events: &[Event<'_>]) -> Vec<String> {
    facts(&mut Transactions::default(), events).iter().map(short).collect()
}

fn short(fact: &Fact) -> String {
    match fact {
        Fact::Transaction(Transaction { tables: Tables::These(tables), .. }) => {
            tables.iter().map(|(table, how)| format!("{table}:{}", how.bits())).collect::<Vec<_>>().join(" ")
        }
        Fact::Transaction(Transaction { tables: Tables::All(why), .. }) => format!("{why:?}"),
        other => format!("{other:?}"),
    }
}

#[test]
fn a_transaction_ends_with_its_commit() {
    let begin = || [Event::Begin(MYSQL), statement("BEGIN"), table(1, "t"), rows(1)];
    let ends = [Event::Commit, statement("COMMIT"), statement("ROLLBACK")];
    for end in ends {
        assert_eq!(said(&begin()), [""; 0]);
        assert_eq!(said(&[&begin()[..], &[end]].concat()), ["d.t:1"]);
    }
    assert_eq!(said(&[Event::Begin(MYSQL), statement("DROP TABLE t")]), ["d.t:4"]);
    let standalone = Begin { gtid: None, change: Change::Standalone };
    assert_eq!(said(&[Event::Begin(standalone), statement("DROP TABLE t")]), ["d.t:4"]);
    let mariadb = Begin { gtid: None, change: Change::Transaction };
    let events = [Event::Begin(mariadb), statement("DELETE FROM t"), statement("DELETE FROM u")];
    assert_eq!(said(&events), [""; 0]);
    assert_eq!(said(&[&events[..], &[Event::Commit]].concat()), ["d.t:2 d.u:2"]);
}

#[test]
fn a_transaction_without_an_end_is_not_lost() {
    let events = [Event::Begin(MYSQL), statement("BEGIN"), table(1, "t")];
    for next in [
        Event::Begin(MYSQL),
        Event::Rotate { file: b"f", position: 4 },
        Event::Format { version: b"" },
        Event::Incident,
    ] {
        assert_eq!(said(&[&events[..], &[next]].concat())[0], "d.t:0");
    }
}

#[test]
fn what_stands_outside_of_transactions_is_told() {
    for event in [
        statement("BEGIN"),
        table(1, "t"),
        rows(1),
        Event::Commit,
        Event::Prepare { xid: xid(), one_phase: false },
        Event::Compressed,
        Event::Expanded { whole: true },
    ] {
        let said = said(std::slice::from_ref(&event));
        assert!(said[0].starts_with("Misplaced"), "{event:?}: {said:?}");
    }
}

#[test]
fn unknown_events_change_everything() {
    let events = [
        Event::Begin(MYSQL),
        statement("BEGIN"),
        table(1, "t"),
        Event::Unknown { kind: 200 },
        Event::Commit,
        Event::Unknown { kind: 201 },
    ];
    assert_eq!(said(&events), ["Unknown { kind: 200 }", "UnknownEvent", "Unknown { kind: 201 }"]);
}

#[test]
fn rows_without_a_table_change_everything() {
    let begin = [Event::Begin(MYSQL), statement("BEGIN"), table(1, "t")];
    let with = |id| said(&[&begin[..], &[rows(id), Event::Commit]].concat());
    assert_eq!(with(2), ["UnknownTable"]);
    assert_eq!(with(0xff_ffff), ["d.t:0"]);
    // A number may be that of another table later.
    let again = [&begin[..], &[table(1, "u"), rows(1), Event::Commit]].concat();
    assert_eq!(said(&again), ["d.t:0 d.u:1"]);
}

#[test]
fn compressed_transactions_end_when_all_of_them_is_checked() {
    let begin = [Event::Begin(MYSQL), Event::Compressed, statement("BEGIN"), table(1, "t"), Event::Commit];
    assert_eq!(said(&begin), [""; 0]);
    for (whole, expected) in [(true, "d.t:0"), (false, "Compressed")] {
        assert_eq!(said(&[&begin[..], &[Event::Expanded { whole }]].concat()), [expected]);
    }
}

#[test]
fn prepared_transactions_change_tables_when_they_are_committed() {
    let prepare = [
        Event::Begin(MYSQL),
        statement("XA START X'61',X'',1"),
        table(1, "t"),
        statement("XA END X'61',X'',1"),
        Event::Prepare { xid: xid(), one_phase: false },
    ];
    let end = |text| [Event::Begin(MYSQL), statement(text)];
    let commit = end("XA COMMIT X'61',X'',1");
    assert_eq!(said(&[&prepare[..], &commit].concat()), ["", "d.t:0"]);
    assert_eq!(said(&[&prepare[..], &commit, &commit].concat()), ["", "d.t:0", "UnknownXid"]);
    let rollback = end("XA ROLLBACK X'61',X'',1");
    assert_eq!(said(&[&prepare[..], &rollback, &commit].concat()), ["", "", "UnknownXid"]);
    assert_eq!(said(&end("XA COMMIT X'6'")), ["UnknownXid"]);
    let one_phase = Event::Prepare { xid: xid(), one_phase: true };
    assert_eq!(said(&[&prepare[..4], &[one_phase]].concat()), ["d.t:0"]);
}

#[test]
fn prepared_transactions_outlive_their_stream() {
    let mut transactions = Transactions::default();
    let prepare = [Event::Begin(MYSQL), table(1, "t"), Event::Prepare { xid: xid(), one_phase: false }];
    facts(&mut transactions, &prepare);
    facts(&mut transactions, &[Event::Begin(MYSQL), table(1, "u")]);
    transactions.reconnect();
    let commit = [Event::Begin(MYSQL), statement("XA COMMIT X'61',X'',1")];
    let said: Vec<_> = facts(&mut transactions, &commit).iter().map(short).collect();
    assert_eq!(said, ["d.t:0"]);
}

#[test]
fn positions_are_behind_the_last_transaction() {
    let mut transactions = Transactions::default();
    let rotate = Event::Rotate { file: b"f.1", position: 4 };
    let events = [rotate, Event::Begin(MYSQL), statement("DROP TABLE t"), Event::Begin(MYSQL)];
    facts(&mut transactions, &events);
    assert_eq!(transactions.position().to_string(), "f.1:34");
    facts(&mut transactions, &[Event::Heartbeat { file: b"f.2", position: 99 }]);
    assert_eq!(transactions.position().to_string(), "f.2:99");
}

#[test]
fn the_servers_own_tables_have_privileges() {
    let events = [
        Event::Begin(MYSQL),
        statement("BEGIN"),
        Event::Table { id: 1, schema: b"mysql", name: b"user" },
        Event::Commit,
    ];
    let facts = facts(&mut Transactions::default(), &events);
    assert!(matches!(&facts[..], [Fact::Transaction(Transaction { privileges: true, .. })]));
}

#[test]
fn privileges_change_when_a_prepared_transaction_is_committed() {
    let prepare = [
        Event::Begin(MYSQL),
        Event::Table { id: 1, schema: b"mysql", name: b"user" },
        Event::Prepare { xid: xid(), one_phase: false },
    ];
    let end = |text| [Event::Begin(MYSQL), statement(text)];
    let (commit, rollback) = (end("XA COMMIT X'61',X'',1"), end("XA ROLLBACK X'61',X'',1"));
    let changes = |events: &[Event<'_>]| -> Vec<_> {
        let facts = facts(&mut Transactions::default(), events);
        facts.iter().map(|fact| matches!(fact, Fact::Transaction(one) if one.privileges)).collect()
    };
    assert_eq!(changes(&[&prepare[..], &commit].concat()), [false, true]);
    assert_eq!(changes(&[&prepare[..], &rollback].concat()), [false, false]);
    assert_eq!(changes(&commit), [true], "nobody knows");
}
