//! Replicas of plain replication that only their primary knows.

use std::collections::{HashMap, HashSet};

use monitor::{Change, Check, Finding, Monitor, Row, Told};
use proptest::prelude::*;

use super::{JOINED, LEFT, READERS, Scene, Server, WRITERS, members, plan, row, s, word};

#[test]
fn a_replica_is_found_when_it_says_who_it_is() {
    let mut scene = Scene::with_primary();
    assert_eq!(scene.says("a", 1, &[(2, &["b", "b.local"]), (3, &["c"])]), []);
    assert_eq!(scene.of(READERS), [] as [&str; 0], "a name is not enough");
    assert_eq!(scene.monitor.found_in(&"b"), Some(WRITERS));
    assert_eq!(scene.says("c", 9, &[]), [], "somebody else is there");
    assert_eq!(scene.finds("b.local", Check::Replicas, Finding::Unreachable), []);
    assert_eq!(scene.says("b", 2, &[]), [("b", JOINED)]);
    assert_eq!(scene.says("b.local", 2, &[]), [], "the same server by another name");
    assert_eq!(scene.of(READERS), ["b"]);
    assert_eq!(scene.monitor.discovered(), [(WRITERS, "b")]);
    // From now on it is watched as any other, and its lag is.
    for check in [Check::Ping, Check::ReadOnly, Check::Lag, Check::Replicas] {
        assert!(scene.is_asked("b", check), "{check:?}");
    }
    let member = scene.monitor.members().into_iter().find(|member| member.hostgroup == READERS).unwrap();
    let row = scene.monitor.row(member.row).unwrap();
    assert_eq!((row.weight, row.max_lag), (7, Some(s(5))));
}

#[test]
fn one_that_the_operator_has_named_is_not_found_again() {
    let rows =
        [row(WRITERS, "a"), row(READERS, "b"), row(50, "d"), Row { in_use: false, ..row(READERS, "e") }];
    let mut scene = Scene::new(&rows);
    scene.is_read_only("a", false);
    scene.says("a", 1, &[(2, &["b", "b.alias"]), (4, &["d"]), (5, &["e"])]);
    assert_eq!(scene.says("b.alias", 2, &[]), [], "nobody knows who b is");
    scene.says("b", 2, &[]);
    assert_eq!(scene.says("b.alias", 2, &[]), []);
    assert_eq!(scene.monitor.discovered(), []);
    assert_eq!(scene.monitor.found_in(&"d"), None, "it is where the operator wants it");
    assert_eq!(scene.monitor.found_in(&"e"), None);
    assert!(!scene.monitor.is_candidate(&"e"));
}

#[test]
fn one_that_is_not_to_be_used_is_not_found_by_another_name() {
    let rows = [row(WRITERS, "a"), Row { in_use: false, ..row(READERS, "e") }];
    let mut scene = Scene::new(&rows);
    scene.is_read_only("a", false);
    scene.says("a", 1, &[(5, &["e.alias"])]);
    assert_eq!(scene.says("e.alias", 5, &[]), [], "nobody knows who e is");
    assert_eq!(scene.says("e", 5, &[]), []);
    assert_eq!(scene.says("e.alias", 5, &[]), []);
    assert_eq!(scene.of(READERS), ["e"], "where the operator has set it aside");
    for check in Check::ALL {
        assert!(!scene.is_asked("e", check), "{check:?}: it has said who it is");
    }
}

#[test]
fn a_silent_server_that_is_not_in_use_does_not_stop_discovery() {
    let rows = [row(WRITERS, "a"), Row { in_use: false, ..row(READERS, "e") }, row(60, "e")];
    for rows in [&rows[..2], &rows] {
        let mut scene = Scene::new(rows);
        scene.is_read_only("a", false);
        scene.says("a", 1, &[(2, &["b"])]);
        assert_eq!(scene.says("b", 2, &[]), []);
        assert_eq!(scene.finds("e", Check::Replicas, Finding::Unreachable), [("b", JOINED)]);
        // It may be there later, and is used elsewhere perhaps.
        scene.says("e", 5, &[]);
        assert!(!scene.is_asked("e", Check::Replicas));
        assert_eq!(scene.is_asked("e", Check::Ping), rows.len() > 2);
    }
}

#[test]
fn a_silent_configured_server_does_not_stop_discovery() {
    let mut scene = Scene::new(&[row(WRITERS, "a"), row(READERS, "x")]);
    scene.is_read_only("a", false);
    scene.says("a", 1, &[(2, &["b"])]);
    assert_eq!(scene.says("b", 2, &[]), []);
    assert_eq!(scene.finds("x", Check::Replicas, Finding::Unreachable), [("b", JOINED)]);
}

#[test]
fn only_what_a_primary_says_counts() {
    let mut scene = Scene::new(&[row(WRITERS, "a"), row(READERS, "b")]);
    scene.is_read_only("a", false);
    scene.is_read_only("b", true);
    scene.says("b", 2, &[(3, &["c"])]);
    assert_eq!(scene.monitor.found_in(&"c"), None);
    scene.says("a", 1, &[(4, &["d"])]);
    assert_eq!(scene.monitor.found_in(&"d"), Some(WRITERS));
}

#[test]
fn a_replica_is_forgotten_when_its_primary_has_not_named_it_for_a_while() {
    let mut scene = Scene::with_replica();
    let begun = scene.now;
    assert_eq!(scene.says("a", 1, &[]), [], "it may come back");
    while scene.now < begun + s(160) {
        assert_eq!(scene.says("a", 1, &[]), []);
    }
    scene.says("a", 1, &[(2, &["b"])]);
    let begun = scene.now;
    while scene.now < begun + s(160) {
        assert_eq!(scene.says("a", 1, &[]), [], "it counts from the last time");
    }
    let mut events = Vec::new();
    while events.is_empty() && scene.now < begun + s(300) {
        events = scene.says("a", 1, &[]);
    }
    assert_eq!(events, [("b", LEFT)]);
    assert!(scene.now < begun + s(220));
    assert_eq!((scene.of(READERS), scene.monitor.found_in(&"b")), (vec![], None));
    assert!(!scene.is_asked("b", Check::Replicas), "it is not asked any more");
}

#[test]
fn while_the_primary_is_silent_no_replica_is_forgotten() {
    let mut scene = Scene::with_replica();
    scene.says("a", 1, &[]);
    scene.now += s(500);
    assert_eq!(scene.finds("a", Check::Replicas, Finding::TimedOut), []);
    assert_eq!(scene.says("a", 1, &[]), [], "its replicas may have lost it as well");
    assert_eq!(scene.of(READERS), ["b"]);
}

#[test]
fn c13_a_replica_that_can_be_written_to_is_no_writer_while_it_follows_a_primary() {
    let mut scene = Scene::with_replica();
    assert_eq!(scene.is_read_only("b", false), []);
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["a"], vec!["b"]));
}

#[test]
fn c13_a_replica_that_was_never_read_only_is_no_writer_when_its_primary_dies() {
    let mut scene = Scene::with_primary();
    scene.says("a", 1, &[(2, &["b"])]);
    scene.says("b", 2, &[]);
    scene.is_read_only("b", false);
    assert_eq!(scene.dies("a"), [("a", (WRITERS, Change::Down))]);
    assert_eq!(scene.is_read_only("b", false), []);
    assert_eq!(scene.of(READERS), ["b"]);
}

#[test]
fn a_replica_that_is_promoted_is_the_writer() {
    let mut scene = Scene::with_replica();
    scene.dies("a");
    assert_eq!(scene.is_read_only("b", false), [("b", LEFT), ("b", (WRITERS, Change::Joined))]);
    // Its own replicas are those that count now.
    scene.says("b", 2, &[(3, &["c"])]);
    assert_eq!(scene.says("c", 3, &[]), [("c", JOINED)]);
    // The old primary comes back and follows it.
    scene.finds("a", Check::Ping, Finding::Well(Told::Alive));
    assert_eq!(
        scene.is_read_only("a", true),
        [("a", (WRITERS, Change::Left)), ("a", JOINED), ("a", (READERS, Change::Up))]
    );
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["b"], vec!["a", "c"]));
}

#[test]
fn c13_an_old_primary_that_thaws_does_not_take_the_writes_back() {
    let mut scene = Scene::with_replica();
    scene.dies("a");
    scene.is_read_only("b", false);
    // It was not made read-only, and it has not noticed yet that its replica is gone.
    scene.finds("a", Check::Ping, Finding::Well(Told::Alive));
    scene.is_read_only("a", false);
    assert_eq!(scene.says("a", 1, &[(2, &["b"])]), []);
    assert_eq!(scene.of(WRITERS), ["a", "b"], "both say that they take writes");
    // Not even when the new one is away for a moment.
    scene.dies("b");
    scene.says("a", 1, &[(2, &["b"])]);
    scene.finds("b", Check::Ping, Finding::Well(Told::Alive));
    scene.is_read_only("b", false);
    assert_eq!(scene.of(WRITERS), ["a", "b"]);
    scene.is_read_only("a", true);
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["b"], vec!["a"]));
}

#[test]
fn c13_a_promoted_one_that_does_not_say_what_it_is_is_the_writer_again_when_it_does() {
    let mut scene = Scene::with_replica();
    scene.dies("a");
    scene.is_read_only("b", false);
    for _ in 0..3 {
        scene.finds("b", Check::ReadOnly, Finding::TimedOut);
    }
    assert_eq!(scene.of(WRITERS), ["a"]);
    scene.finds("a", Check::Ping, Finding::Well(Told::Alive));
    scene.is_read_only("a", false);
    scene.is_read_only("b", false);
    assert_eq!(scene.of(WRITERS), ["a", "b"]);
}

#[test]
fn c13_a_replica_that_did_not_say_whether_it_is_read_only_was_not_read_only() {
    let mut scene = Scene::with_primary();
    scene.says("a", 1, &[(2, &["b"])]);
    scene.says("b", 2, &[]);
    scene.is_read_only("b", false);
    for _ in 0..3 {
        assert_eq!(scene.finds("b", Check::ReadOnly, Finding::TimedOut), []);
    }
    assert_eq!(scene.finds("b", Check::ReadOnly, Finding::Unreachable), [], "nothing new");
    scene.is_read_only("b", false);
    scene.dies("a");
    assert_eq!(scene.is_read_only("b", false), []);
    assert_eq!(scene.of(READERS), ["b"]);
}

#[test]
fn c13_a_replica_that_was_made_writable_and_follows_is_no_writer_when_its_primary_dies() {
    let mut scene = Scene::with_replica();
    scene.is_read_only("b", false);
    assert_eq!(scene.follows("b", 2, true), []);
    assert_eq!(scene.dies("a"), [("a", (WRITERS, Change::Down))]);
    assert_eq!(scene.is_read_only("b", false), []);
    assert_eq!(scene.of(READERS), ["b"]);
    // It is promoted: it says nothing else of read_only.
    assert_eq!(scene.follows("b", 2, false), [("b", LEFT), ("b", (WRITERS, Change::Joined))]);
}

#[test]
fn one_that_can_be_written_to_is_asked_at_once_whom_it_follows_when_its_primary_is_lost() {
    let mut scene = Scene::with_replica();
    scene.is_read_only("b", false);
    scene.follows("b", 2, true);
    scene.dies("a");
    // It did follow its primary a moment ago. A promotion has it stop that.
    let lost = scene.now;
    assert_eq!(scene.follows("b", 2, true), []);
    assert!(scene.now <= lost);
    for _ in 0..3 {
        scene.is_read_only("b", false);
        let said = scene.now;
        assert_eq!(scene.follows("b", 2, true), []);
        assert!(scene.now <= said, "with each check of whether it is read-only");
    }
    // Silence is no reason to ask again before that.
    scene.is_read_only("b", false);
    scene.finds("b", Check::Replicas, Finding::Unreachable);
    let said = scene.now;
    scene.finds("b", Check::Replicas, Finding::Unreachable);
    assert!(scene.now > said + s(1) / 5);
    assert_eq!(scene.follows("b", 2, false), [("b", LEFT), ("b", (WRITERS, Change::Joined))]);
    // Its own replicas; and from then on as usual.
    scene.follows("b", 2, false);
    scene.is_read_only("b", false);
    let said = scene.now;
    scene.follows("b", 2, false);
    assert!(scene.now > said + s(5));
}

#[test]
fn c13_what_a_replica_followed_while_it_was_read_only_does_not_delay_its_promotion() {
    let mut scene = Scene::with_replica();
    scene.follows("b", 2, true);
    scene.dies("a");
    assert_eq!(scene.is_read_only("b", false), [("b", LEFT), ("b", (WRITERS, Change::Joined))]);
}

#[test]
fn c13_a_primary_that_says_that_it_is_read_only_hands_over_to_a_writable_replica() {
    let mut scene = Scene::with_replica();
    scene.is_read_only("b", false);
    scene.follows("b", 2, true);
    scene.is_read_only("a", true);
    assert_eq!(scene.of(WRITERS), ["b"]);
}

#[test]
fn c13_a_replica_that_can_be_written_to_does_not_keep_others_from_being_asked() {
    let mut scene = Scene::new(&[row(WRITERS, "a"), row(READERS, "c")]);
    scene.is_read_only("a", false);
    scene.is_read_only("c", true);
    scene.says("c", 3, &[]);
    scene.says("a", 1, &[(2, &["b"])]);
    scene.says("b", 2, &[]);
    scene.is_read_only("b", false);
    assert_eq!(scene.of(READERS), ["b", "c"]);
    scene.is_read_only("a", true);
    let orders = scene.monitor.due(scene.now);
    let is_asked = orders.iter().any(|order| (order.server, order.check) == ("c", Check::ReadOnly));
    assert!(is_asked, "{orders:?}");
}

#[test]
fn c13_one_that_says_late_that_it_is_read_only_can_be_promoted() {
    let mut scene = Scene::with_primary();
    scene.says("a", 1, &[(2, &["b"])]);
    scene.says("b", 2, &[]);
    for _ in 0..3 {
        scene.finds("b", Check::ReadOnly, Finding::TimedOut);
    }
    scene.is_read_only("b", true);
    scene.dies("a");
    scene.is_read_only("b", false);
    assert_eq!(scene.of(WRITERS), ["a", "b"]);
}

#[test]
fn c13_a_primary_that_does_not_name_its_replicas_does_not_come_back_as_what_it_was() {
    for check in [Check::Replicas, Check::Lag] {
        let mut scene = Scene::new(&[Row { max_lag: Some(s(5)), ..row(WRITERS, "a") }]);
        scene.is_read_only("a", false);
        scene.dies("a");
        assert_eq!(scene.finds("a", check, Finding::Refused), [], "{check:?}: it lacks a privilege");
        assert_eq!(scene.finds("a", Check::Ping, Finding::Well(Told::Alive)), []);
        assert_eq!(scene.finds("a", check, Finding::Refused), [], "{check:?}");
        let events = scene.is_read_only("a", true);
        let expected = [("a", (WRITERS, Change::Left)), ("a", JOINED), ("a", (READERS, Change::Up))];
        assert_eq!(events, expected);
    }
}

#[test]
fn what_one_primary_does_not_say_keeps_no_replicas_of_another() {
    for silence in [Finding::Refused, Finding::TimedOut] {
        let mut scene = Scene::new(&[row(WRITERS, "a"), row(WRITERS, "x")]);
        scene.is_read_only("a", false);
        scene.is_read_only("x", false);
        scene.finds("x", Check::Replicas, silence);
        scene.says("a", 1, &[(2, &["b"])]);
        assert_eq!(scene.says("b", 2, &[]), [("b", JOINED)]);
        let begun = scene.now;
        while scene.of(READERS) == ["b"] && scene.now < begun + s(300) {
            scene.says("a", 1, &[]);
            scene.finds("x", Check::Replicas, silence);
        }
        assert_eq!(scene.of(READERS), [] as [&str; 0], "{silence:?}");
    }
}

#[test]
fn a_primary_that_never_had_a_replica_does_not_say_that_it_is_gone() {
    let mut scene = Scene::new(&[row(WRITERS, "a"), row(WRITERS, "x")]);
    scene.is_read_only("a", false);
    scene.is_read_only("x", false);
    scene.says("x", 9, &[]);
    scene.says("a", 1, &[(2, &["b"])]);
    scene.says("b", 2, &[]);
    let begun = scene.now;
    while scene.now < begun + s(300) {
        scene.finds("a", Check::Replicas, Finding::TimedOut);
        assert_eq!(scene.says("x", 9, &[]), []);
    }
    assert_eq!(scene.of(READERS), ["b"]);
}

#[test]
fn a_switch_that_is_planned_makes_it_the_writer() {
    let mut scene = Scene::with_replica();
    scene.is_read_only("b", false);
    let events = scene.is_read_only("a", true);
    let b = [("b", LEFT), ("b", (WRITERS, Change::Joined))];
    assert!(b.iter().all(|event| events.contains(event)), "{events:?}");
    assert_eq!(scene.of(WRITERS), ["b"]);
}

#[test]
fn what_was_found_stays_with_another_plan_unless_the_operator_names_it() {
    let mut scene = Scene::with_replica();
    scene.monitor.configure(plan(&[row(WRITERS, "a"), row(READERS, "x")]), scene.now);
    assert_eq!(scene.of(READERS), ["b", "x"]);
    scene.monitor.configure(plan(&[row(WRITERS, "a"), row(60, "b")]), scene.now);
    assert_eq!((scene.of(READERS), scene.of(60)), (vec![], vec!["b"]));
    let mut scene = Scene::with_replica();
    let mut without = plan(&[row(WRITERS, "a")]);
    without.pairs[0].discover = None;
    scene.monitor.configure(without, scene.now);
    assert_eq!((scene.of(READERS), scene.monitor.discovered()), (vec![], vec![]));
    assert!(!scene.is_asked("b", Check::Ping));
}

#[test]
fn a_primary_that_names_the_world_finds_some_of_it() {
    let mut scene = Scene::with_primary();
    let names: Vec<Server> = (0..1_000).map(|n| &*Box::leak(format!("r{n:04}").into_boxed_str())).collect();
    scene.says("a", 1, &[(2, &names)]);
    let found = names.iter().filter(|name| scene.monitor.found_in(name).is_some()).count();
    assert_eq!(found, 64);
}

/// What servers have said of themselves.
#[derive(Default)]
struct Said {
    /// The last word of each.
    read_only: HashMap<Server, bool>,
    /// Who has ever said that it is read-only.
    were_read_only: HashSet<Server>,
    /// Who has not answered since it has said something.
    silent: HashSet<Server>,
}

impl Said {
    fn note(&mut self, server: Server, finding: Finding) {
        match finding {
            Finding::Well(Told::ReadOnly(read_only)) => {
                self.read_only.insert(server, read_only);
                self.silent.remove(server);
                if read_only {
                    self.were_read_only.insert(server);
                }
            }
            Finding::TimedOut => drop(self.silent.insert(server)),
            _ => {}
        }
    }

    fn may_be_writer(&self, server: Server) -> bool {
        match self.read_only.get(server) {
            // One that the operator has named may be one before it has said anything.
            None => server == "a",
            Some(read_only) => !read_only && (server <= "b" || self.were_read_only.contains(server)),
        }
    }

    /// Whether one that is the writer has said that it is none, or says nothing.
    fn gives_up(&self, server: Server) -> bool {
        self.silent.contains(server) || self.read_only.get(server) == Some(&true)
    }
}

proptest! {
    /// Whatever is said, each server is in a place once, those that the operator has named are
    /// never lost, there is no writer that was not one or promoted, and those that were promoted
    /// are writers until they say something else.
    #[test]
    fn promises_hold(steps in prop::collection::vec((0..8_u32, 0..4_u32, 0..4_u32, 0..30_u64), 1..50)) {
        const NAMES: [Server; 4] = ["a", "b", "c", "d"];
        let mut monitor = Monitor::new(plan(&[row(WRITERS, "a"), row(READERS, "b")]), s(100));
        let mut now = s(100);
        let (mut said, mut promoted) = (Said::default(), Vec::new());
        for (kind, one, other, step) in steps {
            now += s(step);
            for order in monitor.due(now) {
                let (server, check) = (order.server, order.check);
                let events = if check == Check::Replicas && kind < 6 {
                    let id = (0_u32..).zip(NAMES).find(|(_, name)| *name == server).map_or(9, |(id, _)| id);
                    let named = |id: u32| NAMES[id as usize];
                    let followers = [(one, &[named(one)][..]), (other, &[named(other)][..])];
                    monitor.hear(&server, check, word(id, &followers), now)
                } else {
                    let finding = match (kind, check) {
                        (0..=4, Check::ReadOnly) => Finding::Well(Told::ReadOnly(NAMES[one as usize] != server)),
                        (0..=5, _) => Finding::Well(Told::Alive),
                        (6, _) => Finding::TimedOut,
                        _ => Finding::Unreachable,
                    };
                    if check == Check::ReadOnly {
                        said.note(server, finding);
                    }
                    monitor.observe(&server, check, finding, "", now)
                };
                for event in events.iter().filter(|event| event.change == Change::Joined) {
                    prop_assert!([WRITERS, READERS].contains(&event.hostgroup));
                }
            }
            let (writers, readers) = (members(&monitor, WRITERS), members(&monitor, READERS));
            let all: Vec<_> = writers.iter().chain(&readers).collect();
            for name in NAMES {
                let times = all.iter().filter(|other| ***other == name).count();
                prop_assert!(times <= 1, "{name}: {all:?}");
                prop_assert!(times == 1 || name > "b", "{name}: {all:?}");
            }
            for writer in &writers {
                prop_assert!(said.may_be_writer(writer), "{writer}");
            }
            let found = monitor.discovered();
            for server in promoted.drain(..) {
                let is_gone = said.gives_up(server) || !found.contains(&(WRITERS, server));
                prop_assert!(is_gone || writers.contains(&server), "{server} of {writers:?}");
            }
            promoted.extend(writers.into_iter().filter(|writer| *writer > "b"));
        }
    }
}
