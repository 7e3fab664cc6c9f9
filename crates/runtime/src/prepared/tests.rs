//! Tests of the statements of a session, all together.

use super::*;
use crate::texts::Texts;

const fn statement(id: u32, params: u16) -> reply::Prepared {
    reply::Prepared { id, params, columns: 1, warnings: 0 }
}

fn what(text: &str) -> Preparing {
    let text = Texts::new(usize::MAX).keep(text.as_bytes());
    Preparing {
        text,
        entry: None,
        moves: true,
        digest: Some(1),
        is_rewritten: false,
        plan: StatementPlan::COMMAND,
        modes: 0,
        meaning: None,
        digest_text: Arc::default(),
        change: None,
        kill: None,
        caller: Arc::new(Caller::new(b"app", b"", "127.0.0.1", 6033)),
        screened: Screened::PASSED,
    }
}

#[test]
fn answers_belong_to_statements_in_their_order() {
    let (mut all, mut link) = (Registry::default(), LinkState::default());
    all.expect(what("a"));
    all.expect(what("b"));
    all.expect(what("c"));
    for answer in [Some(statement(1, 0)), None, Some(statement(2, 0))] {
        all.answered(0, &mut link, answer);
    }
    assert_eq!(all.get(1).unwrap().what.text.as_deref(), Some(&b"a"[..]));
    assert_eq!(all.get(2).unwrap().what.text.as_deref(), Some(&b"c"[..]));
    assert_eq!(all.get(LAST_STATEMENT).unwrap().id_at(Some(&link)), Some(2));
    assert_eq!(all.close(LAST_STATEMENT), Some(2));
    assert!(all.get(2).is_none() && all.get(3).is_none());
}

#[test]
fn numbers_do_not_collide() {
    let (mut all, mut link, mut other) = (Registry::default(), LinkState::default(), LinkState::default());
    all.enter(1, what("a"), (0, &mut link), statement(1, 0), None);
    assert_eq!((all.client_id(1), all.client_id(2)), (FIRST_OWN_ID, 2));
    all.enter(FIRST_OWN_ID, what("b"), (7, &mut other), statement(1, 0), None);
    assert_eq!(all.client_id(1), FIRST_OWN_ID + 1);
    assert!(!all.has_other_homes(Some(&link)));
    assert!(all.has_other_homes(Some(&other)), "the server of 7 may call another one 1");
    assert!(all.has_other_homes(None), "so may any other one");
    all.close(1);
    assert!(!all.has_other_homes(Some(&link)) && !all.has_other_homes(Some(&other)));
}

#[test]
fn c16_types_reach_a_server_that_does_not_know_them() {
    /// The types that an execution with these has to have at a connection.
    fn lacks(all: &mut Registry, link: &mut LinkState, types: Option<&[u8]>) -> Option<Vec<u8>> {
        let one = all.get_mut(1).unwrap();
        let place = link.places.get_mut(one.serial).unwrap();
        let lacked = one.types().filter(|_| types.is_none() && !one.has_types_at(place));
        let lacked = lacked.map(|(types, _)| types.to_vec());
        one.note_types(place, types, 0);
        lacked
    }
    let (mut all, mut link, mut other) = (Registry::default(), LinkState::default(), LinkState::default());
    all.enter(1, what("a"), (0, &mut link), statement(1, 1), None);
    assert_eq!(lacks(&mut all, &mut link, Some(b"\x03\x00")), None);
    assert_eq!(lacks(&mut all, &mut link, None), None, "it knows them");
    let one = all.get(1).unwrap();
    assert!(one.is_same(statement(9, 1), b"") && !one.is_same(statement(9, 2), b""));
    other.places.add(one.serial, statement(9, 1), Came::Prepared);
    assert_eq!(one.id_at(Some(&other)), Some(9));
    assert_eq!(lacks(&mut all, &mut other, None).unwrap(), b"\x03\x00");
    assert_eq!(lacks(&mut all, &mut other, None), None);
    assert_eq!(lacks(&mut all, &mut other, Some(b"\x08\x00")), None);
    assert_eq!(lacks(&mut all, &mut link, None).unwrap(), b"\x08\x00", "they have changed elsewhere");
}

/// What is looked up is what a search among all statements would find.
fn searched(all: &Registry, (hostgroup, link): (u32, &LinkState), modes: u64) -> (bool, Vec<Option<u32>>) {
    let is_bound = |one: &Prepared| {
        one.home == hostgroup && (one.is_at_home() || one.what.text.is_none() || one.what.modes != modes)
    };
    let client_id = |known_as| {
        let is_it = |(_, one): &(&u32, &Prepared)| one.id_at(Some(link)) == Some(known_as);
        all.by_id.iter().find(is_it).map(|(id, _)| *id)
    };
    (all.by_id.values().any(is_bound), (0..12).map(client_id).collect())
}

proptest::proptest! {
    #[test]
    fn what_is_looked_up_is_what_a_search_would_find(
        steps in proptest::collection::vec((0..7u8, 0..12u32, 0..3u32, 0..2u64), 0..120),
    ) {
        let (mut all, mut next) = (Registry::default(), [0; 3]);
        let mut links = [0; 3].map(|_| LinkState::default());
        for (step, id, hostgroup, modes) in steps {
            let at = hostgroup as usize;
            let (link, next) = (&mut links[at], &mut next[at]);
            match step {
                0 => {
                    let text = what("SELECT 1").text.filter(|_| id > 0);
                    let client = all.client_id(*next);
                    let what = Preparing { text, modes, ..what("") };
                    all.enter(client, what, (hostgroup, link), statement(*next, 0), None);
                    *next += 1;
                }
                1 => {
                    // Connections may have it still.
                    all.close(id);
                }
                2 => {
                    let missing = all.get(id).filter(|one| one.id_at(Some(link)).is_none());
                    if let Some(one) = missing {
                        link.places.add(one.serial, statement(*next, 0), Came::Prepared);
                        *next += 1;
                    }
                }
                3 => {
                    all.get(id).and_then(|one| link.places.leave(one.serial));
                }
                4 => (*link, *next) = (LinkState::default(), 0),
                5 => all.keep_home(id, hostgroup, modes == 0),
                _ => {
                    all.close(id).and_then(|serial| link.places.leave(serial));
                }
            }
            for (hostgroup, link) in (0..).zip(&links) {
                for modes in 0..2 {
                    let found: Vec<_> = (0..12).map(|known_as| all.client_id_of(known_as, Some(link))).collect();
                    proptest::prop_assert_eq!(
                        (all.is_bound_to(hostgroup, modes), found),
                        searched(&all, (hostgroup, link), modes)
                    );
                }
            }
        }
    }
}

#[test]
fn c29_there_is_an_end_to_what_is_kept() {
    let (mut all, mut link) = (Registry::default(), LinkState::default());
    let large = "x".repeat(PREPARED_BYTES_MAX);
    for (id, kept) in [(1, true), (2, false)] {
        all.expect(what(&large));
        all.answered(0, &mut link, Some(statement(id, 0)));
        assert_eq!(all.get(id).unwrap().what.text.is_some(), kept);
    }
    all.expect(Preparing { digest_text: b"SELECT ?"[..].into(), ..what("") });
    all.answered(0, &mut link, Some(statement(4, 0)));
    assert!(all.executed(4).unwrap().digest_text.is_empty());
    all.close(1);
    all.expect(what(&large));
    all.answered(0, &mut link, Some(statement(3, 0)));
    assert!(all.get(3).unwrap().what.text.is_some());
}

#[test]
fn texts_have_a_limit_together_however_they_come() {
    let (mut all, mut link) = (Registry::default(), LinkState::default());
    let half = "x".repeat(PREPARED_BYTES_MAX / 2);
    // Beside others they are entered, where they are the only ones they are awaited; many may be on
    // their way.
    all.enter(1, what(&half), (0, &mut link), statement(1, 0), None);
    for _ in 2..5 {
        all.expect(what(&half));
    }
    for id in 2..5 {
        all.answered(0, &mut link, Some(statement(id, 0)));
    }
    all.enter(5, what(&half), (0, &mut link), statement(5, 0), None);
    all.enter(6, what("a"), (0, &mut link), statement(6, 0), None);
    assert!(all.bytes <= PREPARED_BYTES_MAX, "{} bytes", all.bytes);
    let kept: Vec<_> = all.ids().into_iter().filter(|id| all.get(*id).unwrap().what.text.is_some()).collect();
    assert_eq!(kept, [1, 2]);
    all.close(2);
    all.enter(7, what(&half), (0, &mut link), statement(7, 0), None);
    assert!(all.get(7).unwrap().what.text.is_some(), "there is room again");
}
