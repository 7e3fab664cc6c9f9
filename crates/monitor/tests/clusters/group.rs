//! MySQL Group Replication.

use monitor::MemberState::{self, Error, Offline, Online, Recovering, Unreachable};
use monitor::{Change, Check, Finding, GroupLimits, GroupMember, GroupWord, Monitor, Topology, Word};
use proptest::prelude::*;

use super::{
    BACKUPS, OFFLINE, READERS, Scene, Server, WRITERS, cluster, each_once, members, ms, plan, row, s,
};

const LIMITS: GroupLimits =
    GroupLimits { max_behind: Some(10), checks: 2, of_writers: false, of_readers: true };

/// What `server` says; members are named like their servers.
fn word(server: Server, writes: bool, members: &[(Server, MemberState)]) -> Word<Server> {
    Word::Group(GroupWord {
        id: server.to_owned(),
        read_only: !writes,
        behind: 0,
        members: members
            .iter()
            .map(|(server, state)| GroupMember {
                id: (*server).to_owned(),
                server: Some(*server),
                state: *state,
            })
            .collect(),
    })
}

fn behind(word: Word<Server>, behind: u64) -> Word<Server> {
    let Word::Group(word) = word else { panic!("{word:?}") };
    Word::Group(GroupWord { behind, ..word })
}

const ALL: [(Server, MemberState); 3] = [("a", Online), ("b", Online), ("c", Online)];

/// `a`, `b` and `c` are in rows of the reader hostgroup.
fn scene() -> Scene {
    let rows = ["a", "b", "c"].map(|server| row(READERS, server)).to_vec();
    Scene::new(plan(cluster(Topology::Group(LIMITS)), rows))
}

/// The same, and all have spoken: `a` writes.
fn settled() -> Scene {
    let mut scene = scene();
    scene.says("a", word("a", true, &ALL));
    scene.says("b", word("b", false, &ALL));
    scene.says("c", word("c", false, &ALL));
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["a"], vec!["b", "c"]));
    scene
}

#[test]
fn the_primary_is_found_wherever_its_row_is() {
    let mut scene = scene();
    assert_eq!(scene.of(READERS), ["a", "b", "c"]);
    let moved = [(READERS, "a", Change::Left), (WRITERS, "a", Change::Joined)];
    assert_eq!(scene.says("a", word("a", true, &ALL)), moved);
    assert_eq!(scene.says("b", word("b", false, &ALL)), []);
}

#[test]
fn who_catches_up_or_is_in_no_group_is_no_reader() {
    let mut scene = settled();
    for state in [Recovering, Error, Offline] {
        let view = [("a", Online), ("b", state), ("c", Online)];
        scene.says("b", word("b", false, &view));
        assert_eq!((scene.of(READERS), scene.of(OFFLINE)), (vec!["c"], vec!["b"]), "{state:?}");
        scene.says("b", word("b", false, &ALL));
        assert_eq!(scene.of(READERS), ["b", "c"], "the others still see it");
    }
    scene.says("b", word("b", true, &[]));
    assert_eq!(scene.of(OFFLINE), ["b"], "it writes, but is in no group");
}

#[test]
fn c13_who_has_no_majority_is_not_used() {
    let mut scene = settled();
    scene.says("a", word("a", true, &[("a", Online), ("b", Unreachable), ("c", Unreachable)]));
    assert_eq!((scene.of(WRITERS), scene.of(OFFLINE)), (vec![], vec!["a"]));
    // The others elect another one.
    let view = [("b", Online), ("c", Online)];
    scene.says("b", word("b", true, &view));
    scene.says("c", word("c", false, &view));
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["b"], vec!["c"]));
    // Half is no majority.
    scene.says("b", word("b", true, &[("b", Online), ("c", Unreachable)]));
    assert_eq!(scene.of(WRITERS), [""; 0]);
}

#[test]
fn c13_a_primary_that_was_expelled_is_out_before_it_knows() {
    let mut scene = settled();
    let view = [("b", Online), ("c", Online)];
    scene.says("b", word("b", true, &view));
    // One against one: `a` itself.
    assert_eq!((scene.of(WRITERS), scene.of(BACKUPS)), (vec!["b"], vec!["a"]), "by name");
    scene.says("c", word("c", false, &view));
    assert_eq!((scene.of(WRITERS), scene.of(OFFLINE)), (vec!["b"], vec!["a"]));
}

#[test]
fn a_member_that_dies_is_out_when_the_others_say_so_or_after_some_questions() {
    let mut scene = settled();
    assert_eq!(scene.fails("a", Check::Group, Finding::Unreachable), []);
    let view = [("a", Unreachable), ("b", Online), ("c", Online)];
    let out = [(WRITERS, "a", Change::Left), (OFFLINE, "a", Change::Joined)];
    scene.says("b", word("b", false, &view));
    assert_eq!(scene.of(WRITERS), ["a"], "one says so, one does not");
    assert_eq!(scene.says("c", word("c", false, &view)), out);

    let mut scene = settled();
    assert_eq!(scene.fails("a", Check::Group, Finding::Unreachable), []);
    let first = scene.now;
    assert_eq!(scene.fails("a", Check::Group, Finding::Unreachable), []);
    assert_eq!(scene.fails("a", Check::Group, Finding::Unreachable), out);
    assert_eq!(scene.now.saturating_sub(first), ms(400), "it is asked again at once");
    // It is as it was when it answers.
    scene.says("a", word("a", true, &ALL));
    assert_eq!(scene.of(WRITERS), ["a"]);
}

#[test]
fn a_member_that_does_not_answer_pings_has_to_speak_before_it_is_used() {
    let mut scene = settled();
    for _ in 0..2 {
        assert_eq!(scene.fails("a", Check::Ping, Finding::TimedOut), []);
    }
    let out = [(WRITERS, "a", Change::Left), (OFFLINE, "a", Change::Joined), (OFFLINE, "a", Change::Down)];
    assert_eq!(scene.fails("a", Check::Ping, Finding::TimedOut), out);
    let answers = Finding::Well(monitor::Told::Alive);
    assert_eq!(scene.fails("a", Check::Ping, answers), [(OFFLINE, "a", Change::Up)]);
    let alive = scene.now;
    scene.says("a", word("a", true, &ALL));
    assert_eq!((scene.of(WRITERS), scene.now), (vec!["a"], alive), "it is asked at once");
}

#[test]
fn a_refusal_says_nothing() {
    let mut scene = settled();
    for _ in 0..10 {
        assert_eq!(scene.fails("a", Check::Group, Finding::Refused), []);
    }
}

#[test]
fn of_several_primaries_one_writes_and_the_rest_are_kept_ready() {
    let mut scene = scene();
    for server in ["a", "b", "c"] {
        scene.says(server, word(server, true, &ALL));
    }
    assert_eq!((scene.of(WRITERS), scene.of(BACKUPS)), (vec!["c"], vec!["a", "b"]));
    // The next one takes its place, and not both at once.
    let view = [("a", Online), ("b", Online), ("c", Error)];
    let changes = scene.says("c", word("c", true, &view));
    let left = [(WRITERS, "c", Change::Left), (BACKUPS, "b", Change::Left)];
    let joined = [(WRITERS, "b", Change::Joined), (OFFLINE, "c", Change::Joined)];
    assert!(left.iter().all(|change| changes[..2].contains(change)), "{changes:?}");
    assert!(joined.iter().all(|change| changes[2..].contains(change)), "{changes:?}");
}

#[test]
fn c12_a_reader_with_too_much_to_apply_is_passed_over_until_it_has_not() {
    let mut scene = settled();
    let late = |number| behind(word("b", false, &ALL), number);
    assert_eq!(scene.says("b", late(11)), []);
    assert_eq!(scene.says("b", late(12)), [(READERS, "b", Change::Behind(12))]);
    assert_eq!(scene.says("b", late(10)), [(READERS, "b", Change::KeepsUp)]);
    // A writer may.
    let busy = || behind(word("a", true, &ALL), 99);
    assert_eq!(
        [scene.says("a", busy()), scene.says("a", busy()), scene.says("a", busy())],
        [(); 3].map(|()| vec![])
    );
}

#[test]
fn members_without_a_configured_row_are_found_and_lost() {
    let rows = vec![row(READERS, "a")];
    let mut scene = Scene::new(plan(cluster(Topology::Group(LIMITS)), rows));
    let found = scene.says("a", word("a", true, &ALL));
    assert!(found.contains(&(OFFLINE, "b", Change::Joined)), "{found:?}");
    assert_eq!(scene.of(OFFLINE), ["b", "c"], "they have not been asked yet");
    scene.says("b", word("b", false, &ALL));
    assert_eq!((scene.of(READERS), scene.of(OFFLINE)), (vec!["b"], vec!["c"]));
    assert_eq!(scene.monitor.discovered(), [(WRITERS, "b"), (WRITERS, "c")]);
    // What the operator wants is another matter, and wins.
    let rows = vec![row(READERS, "a"), row(OFFLINE, "c")];
    scene.monitor.configure(plan(cluster(Topology::Group(LIMITS)), rows), scene.now);
    assert_eq!(scene.monitor.discovered(), [(WRITERS, "b")]);
    assert_eq!(scene.of(READERS), ["b"], "what was known goes on to hold");
    // It leaves the group.
    scene.says("b", word("b", false, &[("b", Offline)]));
    scene.says("a", word("a", true, &[("a", Online), ("c", Online)]));
    assert_eq!((scene.monitor.discovered(), scene.of(OFFLINE)), (vec![], vec!["c"]));
}

#[test]
fn a_member_that_the_operator_calls_otherwise_is_not_another_one() {
    let mut scene =
        Scene::new(plan(cluster(Topology::Group(LIMITS)), vec![row(READERS, "alias"), row(READERS, "b")]));
    // It is called `a` in the group.
    let view = [("a", Online), ("b", Online)];
    scene.says("b", word("b", false, &view));
    assert_eq!(scene.monitor.discovered(), [(WRITERS, "a")]);
    scene.says("alias", word("a", true, &view));
    assert_eq!((scene.monitor.discovered(), scene.of(WRITERS)), (vec![], vec!["alias"]));
}

fn states() -> impl Strategy<Value = MemberState> {
    prop_oneof![6 => Just(Online), 1 => Just(Recovering), 2 => Just(Unreachable), 1 => Just(Error), 1 => Just(Offline)]
}

const SERVERS: [Server; 5] = ["a", "b", "c", "d", "e"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever members say, and whichever does not answer.
    #[test]
    fn promises_hold(
        steps in prop::collection::vec((0..8_u8, any::<bool>(), 0..30_u64, prop::collection::vec(states(), 0..5)), 1..150),
        max_writers in 0..3_usize,
    ) {
        let rows = SERVERS[..3].iter().map(|server| row(READERS, server)).collect();
        let cluster = monitor::Cluster { max_writers, ..cluster(Topology::Group(LIMITS)) };
        let mut monitor = Monitor::new(plan(cluster, rows), s(100));
        let mut said = std::collections::HashMap::new();
        let mut now = s(100);
        for (kind, writes, late, view) in steps {
            now += ms(700);
            for order in monitor.due(now) {
                if order.check != Check::Group || kind == 7 {
                    let finding = if kind == 7 { Finding::TimedOut } else { Finding::Well(monitor::Told::Alive) };
                    monitor.observe(&order.server, order.check, finding, "", now);
                    continue;
                }
                let view: Vec<_> = SERVERS.into_iter().zip(view.iter().copied()).collect();
                let word = behind(word(order.server, writes, &view), late);
                if let Word::Group(group_word) = word.clone() {
                    said.insert(order.server, group_word);
                }
                monitor.hear(&order.server, order.check, word, now);
            }
            let writers = members(&monitor, WRITERS);
            prop_assert!(writers.len() <= max_writers, "{:?}", writers);
            for hostgroup in [WRITERS, BACKUPS, READERS] {
                let there = members(&monitor, hostgroup);
                prop_assert!(each_once(&there));
                for server in there {
                    // Who has spoken is used only as what it said it is.
                    let Some(word) = said.get(server) else { continue };
                    prop_assert!(word.is_viable(), "{} in {}", server, hostgroup);
                    prop_assert_eq!(word.read_only, hostgroup == READERS);
                }
            }
            // The operator's servers are always somewhere, in one place each.
            let all: Vec<_> = [WRITERS, BACKUPS, READERS, OFFLINE].into_iter().flat_map(|id| members(&monitor, id)).collect();
            prop_assert!(each_once(&all));
            prop_assert!(SERVERS[..3].iter().all(|server| all.contains(server)));
            prop_assert!(monitor.discovered().len() <= 2);
            prop_assert!(monitor.next_due().is_some());
        }
    }
}
