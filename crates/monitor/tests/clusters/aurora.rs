//! Amazon Aurora.

use std::time::Duration;

use monitor::{
    AuroraLimits, AuroraMember, AuroraWord, Change, Check, Cluster, Finding, Monitor, Pace, Topology, Word,
};
use proptest::prelude::*;

use super::{READERS, Scene, Server, WRITERS, cluster, each_once, members, ms, plan, row, s};

const LIMITS: AuroraLimits = AuroraLimits { max_lag: ms(500), samples: 2 };

fn aurora() -> Cluster {
    Cluster {
        spare: None,
        pace: Pace { interval: s(1), limit: ms(800) },
        new_weight: 7,
        ..cluster(Topology::Aurora(LIMITS))
    }
}

/// What is known at this moment: the writer, and readers with their lags in milliseconds.
fn word(at: u32, writer: Server, readers: &[(Server, u64)]) -> Word<Server> {
    let member = |server: Server, is_writer: bool, lag| AuroraMember {
        server,
        id: server.to_owned(),
        session: if is_writer { "MASTER_SESSION_ID".to_owned() } else { format!("session of {server}") },
        updated: format!("2026-01-01 00:00:{at:02}"),
        lag,
        estimated: lag,
        cpu: 5,
    };
    let mut members = vec![member(writer, true, Duration::ZERO)];
    members.extend(readers.iter().map(|(server, lag)| member(server, false, ms(*lag))));
    Word::Aurora(AuroraWord { members })
}

/// `a` is configured and named with `b` and `c`.
fn settled() -> Scene {
    let mut scene = Scene::new(plan(aurora(), vec![row(READERS, "a")]));
    scene.says("a", word(1, "a", &[("b", 20), ("c", 20)]));
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["a"], vec!["b", "c"]));
    scene
}

#[test]
fn one_answer_is_about_all_and_one_server_is_asked_at_a_time() {
    let mut scene = settled();
    assert_eq!(scene.monitor.discovered(), [(WRITERS, "b"), (WRITERS, "c")]);
    let mut asked = Vec::new();
    let begun = scene.now;
    while scene.now < begun + s(12) {
        scene.now = scene.monitor.next_due().unwrap().max(scene.now);
        for order in scene.monitor.due(scene.now) {
            let (server, check) = (order.server, order.check);
            if check == Check::Aurora {
                asked.push(server);
                scene.monitor.hear(&server, check, word(2, "a", &[("b", 20), ("c", 20)]), scene.now);
            } else {
                scene.monitor.observe(&server, check, Finding::Void, "", scene.now);
            }
        }
    }
    assert!((11..=14).contains(&asked.len()), "{asked:?}");
    assert!(["a", "b", "c"].iter().all(|server| asked.contains(server)), "{asked:?}");
}

#[test]
fn c13_the_writer_is_who_the_cluster_says_last() {
    let mut scene = settled();
    scene.says("b", word(5, "b", &[("a", 20), ("c", 20)]));
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["b"], vec!["a", "c"]));
    // One server has not heard of it yet.
    assert_eq!(scene.says("c", word(4, "a", &[("b", 20), ("c", 20)])), []);
    // Both were it, at some time.
    let Word::Aurora(mut both) = word(6, "b", &[("c", 20)]) else { panic!() };
    let Word::Aurora(old) = word(3, "a", &[]) else { panic!() };
    both.members.extend(old.members);
    assert_eq!(scene.says("a", Word::Aurora(both)), []);
    assert_eq!(scene.of(WRITERS), ["b"]);
}

#[test]
fn c12_a_reader_that_lags_is_passed_over_as_long_as_one_of_its_last_answers_says_so() {
    let mut scene = settled();
    let late = [(READERS, "b", Change::Lags(ms(501)))];
    assert_eq!(scene.says("a", word(2, "a", &[("b", 501), ("c", 500)])), late);
    assert_eq!(scene.says("a", word(3, "a", &[("b", 20), ("c", 20)])), [], "the worst of two");
    assert_eq!(scene.says("a", word(4, "a", &[("b", 20), ("c", 20)])), [(READERS, "b", Change::KeepsUp)]);
}

#[test]
fn who_is_not_named_any_more_is_not_used() {
    let mut scene = settled();
    let gone = scene.says("a", word(2, "a", &[("c", 20)]));
    assert_eq!(gone, [(READERS, "b", Change::Left)]);
    assert_eq!(scene.monitor.discovered(), [(WRITERS, "c")]);
    scene.says("a", word(3, "c", &[]));
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["c"], vec![]), "nor one that has a row");
    scene.says("c", word(4, "c", &[("a", 20)]));
    assert_eq!(scene.of(READERS), ["a"]);
}

#[test]
fn c24_when_one_does_not_answer_the_others_are_asked_at_once() {
    let mut scene = settled();
    scene.says("b", word(2, "a", &[("b", 20), ("c", 20)]));
    scene.fails("a", Check::Aurora, Finding::Unreachable);
    let failed = scene.now;
    scene.says("b", word(3, "b", &[("c", 20)]));
    assert_eq!((scene.now, scene.of(WRITERS)), (failed, vec!["b"]));
}

const SERVERS: [Server; 4] = ["a", "b", "c", "d"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever servers say, and whichever does not answer.
    #[test]
    fn promises_hold(steps in prop::collection::vec((0..8_u8, 0..60_u32, 0..4_usize, any::<[bool; 4]>(), 0..900_u64), 1..150)) {
        let mut monitor = Monitor::new(plan(aurora(), vec![row(READERS, "a"), row(READERS, "b")]), s(100));
        let mut now = s(100);
        let mut named: Vec<Server> = SERVERS.to_vec();
        for (kind, at, writer, there, lag) in steps {
            now += ms(300);
            for order in monitor.due(now) {
                if order.check != Check::Aurora || kind == 7 {
                    let finding = if kind == 7 { Finding::TimedOut } else { Finding::Well(monitor::Told::Alive) };
                    monitor.observe(&order.server, order.check, finding, "", now);
                    continue;
                }
                let others = SERVERS.into_iter().enumerate().filter(|(nth, _)| *nth != writer && there[*nth]);
                let readers: Vec<_> = others.map(|(_, server)| (server, lag)).collect();
                named.extend(readers.iter().map(|(server, _)| *server));
                monitor.hear(&order.server, order.check, word(at, SERVERS[writer], &readers), now);
            }
            let writers = members(&monitor, WRITERS);
            prop_assert!(writers.len() <= 1 || monitor.members().len() == 2, "{:?}", writers);
            let all = [writers, members(&monitor, READERS)].concat();
            prop_assert!(each_once(&all), "{:?}", all);
            prop_assert!(all.iter().all(|server| named.contains(server)));
            prop_assert!(monitor.discovered().iter().all(|(_, server)| matches!(*server, "c" | "d")));
            prop_assert!(monitor.next_due().is_some());
        }
    }
}
