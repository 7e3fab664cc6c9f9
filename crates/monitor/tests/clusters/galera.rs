//! Galera.

use monitor::{AlsoRead, Change, Check, Cluster, Finding, GaleraLimits, GaleraWord, Monitor, Topology, Word};
use proptest::prelude::*;

use super::{
    BACKUPS, OFFLINE, READERS, Scene, Server, WRITERS, cluster, each_once, members, ms, plan, row, s,
};

const LIMITS: GaleraLimits = GaleraLimits { max_queue: Some(100) };

/// A node that is well.
const WELL: GaleraWord = GaleraWord {
    primary: true,
    local_state: 4,
    desync: false,
    rejects_queries: false,
    donor_rejects_queries: false,
    maintenance: false,
    read_only: false,
    queue: 0,
};

fn galera() -> Cluster {
    Cluster { also_read: AlsoRead::Backups, ..cluster(Topology::Galera(LIMITS)) }
}

/// Three nodes that are well, in the writer hostgroup; backups read.
fn settled() -> Scene {
    let rows = ["a", "b", "c"].map(|server| row(WRITERS, server)).to_vec();
    let mut scene = Scene::new(plan(galera(), rows));
    assert_eq!(scene.of(WRITERS), ["c"], "no more than one, from the start");
    for server in ["a", "b", "c"] {
        scene.says(server, Word::Galera(WELL));
    }
    assert_eq!(
        (scene.of(WRITERS), scene.of(BACKUPS), scene.of(READERS)),
        (vec!["c"], vec!["a", "b"], vec!["a", "b"])
    );
    scene
}

#[test]
fn c13_a_node_that_is_not_well_is_not_used_and_the_next_one_writes() {
    let ill = [
        GaleraWord { primary: false, ..WELL },
        GaleraWord { local_state: 1, ..WELL },
        GaleraWord { local_state: 3, ..WELL },
        GaleraWord { local_state: 2, donor_rejects_queries: true, ..WELL },
        GaleraWord { desync: true, ..WELL },
        GaleraWord { rejects_queries: true, ..WELL },
        GaleraWord { maintenance: true, ..WELL },
        GaleraWord { queue: 101, ..WELL },
    ];
    for word in ill {
        let mut scene = settled();
        scene.says("c", Word::Galera(word.clone()));
        assert_eq!((scene.of(WRITERS), scene.of(OFFLINE)), (vec!["b"], vec!["c"]), "{word:?}");
        assert_eq!(scene.of(READERS), ["a"]);
        scene.says("c", Word::Galera(WELL));
        assert_eq!((scene.of(WRITERS), scene.of(OFFLINE)), (vec!["c"], vec![]));
    }
}

#[test]
fn a_donor_that_answers_and_a_full_queue_are_no_reason() {
    let mut scene = settled();
    for word in [GaleraWord { local_state: 2, ..WELL }, GaleraWord { queue: 100, ..WELL }] {
        assert_eq!(scene.says("c", Word::Galera(word)), []);
    }
}

#[test]
fn a_node_that_is_read_only_reads() {
    let mut scene = settled();
    scene.says("c", Word::Galera(GaleraWord { read_only: true, ..WELL }));
    assert_eq!((scene.of(WRITERS), scene.of(READERS)), (vec!["b"], vec!["a", "c"]));
}

#[test]
fn c24_a_writer_that_dies_is_replaced_after_some_questions() {
    let mut scene = settled();
    for _ in 0..2 {
        assert_eq!(scene.fails("c", Check::Galera, Finding::Unreachable), []);
    }
    let changes = scene.fails("c", Check::Galera, Finding::Unreachable);
    assert!(changes.contains(&(WRITERS, "b", Change::Joined)), "{changes:?}");
    assert_eq!((scene.of(WRITERS), scene.of(OFFLINE)), (vec!["b"], vec!["c"]));
}

fn words() -> impl Strategy<Value = GaleraWord> {
    (any::<[bool; 6]>(), 0..6_u32, 0..150_u64).prop_map(|(flags, local_state, queue)| GaleraWord {
        primary: flags[0] || queue > 50,
        local_state: if queue > 30 { 4 } else { local_state },
        desync: flags[1] && flags[2],
        rejects_queries: flags[2] && flags[3],
        donor_rejects_queries: flags[4],
        maintenance: flags[3] && flags[4],
        read_only: flags[5],
        queue,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whatever nodes say, and whichever does not answer.
    #[test]
    fn promises_hold(steps in prop::collection::vec((0..8_u8, words()), 1..150), max_writers in 0..4_usize) {
        const SERVERS: [Server; 4] = ["a", "b", "c", "d"];
        let rows = SERVERS.iter().map(|server| row(WRITERS, server)).collect();
        let mut monitor = Monitor::new(plan(Cluster { max_writers, ..galera() }, rows), s(100));
        let mut said = std::collections::HashMap::new();
        let mut now = s(100);
        for (kind, word) in steps {
            now += ms(900);
            for order in monitor.due(now) {
                if order.check != Check::Galera || kind == 7 {
                    let finding = if kind == 7 { Finding::TimedOut } else { Finding::Well(monitor::Told::Alive) };
                    monitor.observe(&order.server, order.check, finding, "", now);
                    continue;
                }
                said.insert(order.server, word.clone());
                monitor.hear(&order.server, order.check, Word::Galera(word.clone()), now);
            }
            let writers = members(&monitor, WRITERS);
            prop_assert!(writers.len() <= max_writers, "{:?}", writers);
            for hostgroup in [WRITERS, BACKUPS, READERS] {
                for server in members(&monitor, hostgroup) {
                    let Some(word) = said.get(server) else { continue };
                    prop_assert!(word.primary && !word.desync && !word.rejects_queries && !word.maintenance);
                    prop_assert!(matches!(word.local_state, 2 | 4) && word.queue <= 100);
                    prop_assert!(!word.read_only || hostgroup == READERS);
                }
            }
            // Each is in one place, but for backups that read.
            let all: Vec<_> = [WRITERS, BACKUPS, OFFLINE].into_iter().flat_map(|id| members(&monitor, id)).collect();
            prop_assert!(each_once(&all));
            let somewhere = |server| all.contains(server) || members(&monitor, READERS).contains(server);
            prop_assert!(SERVERS.iter().all(somewhere));
        }
    }
}
