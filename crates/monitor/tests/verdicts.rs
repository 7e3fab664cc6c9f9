//! What the monitor makes of findings, and what it promises whatever is found.

use std::time::Duration;

use monitor::{Change, Check, Event, Finding, Lag, Monitor, Pace, Pair, Plan, Row, Settings, Told};
use proptest::prelude::*;

type Server = &'static str;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// `a` is the writer and `b` its reader, which may lag by 10 s; `c` belongs to no pair.
fn plan() -> Plan<Server> {
    let row = |hostgroup, server, max_lag| Row {
        hostgroup,
        server,
        in_use: true,
        weight: 1,
        max_lag,
        lag_when_unknown: s(60),
    };
    Plan {
        settings: Settings {
            connect: Pace { interval: s(120), limit: ms(600) },
            ping: Pace { interval: s(8), limit: s(1) },
            read_only: Pace { interval: s(1), limit: ms(800) },
            lag: Pace { interval: s(10), limit: s(1) },
            ping_failures: 3,
            read_only_timeouts: 3,
            lag_checks: 2,
            writer_is_also_reader: false,
        },
        rows: vec![row(10, "a", None), row(20, "b", Some(s(10))), row(30, "c", None)],
        pairs: vec![Pair { writer: 10, reader: 20, discover: None }],
        clusters: Vec::new(),
    }
}

/// A monitor and its time.
struct Scene {
    monitor: Monitor<Server>,
    now: Duration,
}

impl Scene {
    fn new() -> Self {
        Self { monitor: Monitor::new(plan(), s(100)), now: s(100) }
    }

    /// Goes on to the next check of this kind of this server, answers all others with `others`, and
    /// this with `finding`.
    fn next(&mut self, server: Server, check: Check, finding: Finding) -> Vec<Event<Server>> {
        for _ in 0..1_000 {
            self.now = self.monitor.next_due().expect("something is due").max(self.now);
            let mut found = None;
            for order in self.monitor.due(self.now) {
                if (order.server, order.check) == (server, check) {
                    found = Some(order);
                    continue;
                }
                let events = self.monitor.observe(&order.server, order.check, Finding::Void, "", self.now);
                assert_eq!(events, []);
            }
            if let Some(order) = found {
                if finding == Finding::TimedOut {
                    self.now += order.limit;
                }
                return self.monitor.observe(&server, check, finding, "why", self.now);
            }
        }
        panic!("{check:?} of {server} never comes");
    }

    fn changes(&mut self, server: Server, check: Check, finding: Finding) -> Vec<(u32, Change)> {
        let events = self.next(server, check, finding);
        events.into_iter().map(|event| (event.hostgroup, event.change)).collect()
    }

    fn members(&self) -> Vec<(u32, Server)> {
        let name = |at| self.monitor.row(at).map_or("", |row| row.server);
        self.monitor.members().iter().map(|member| (member.hostgroup, name(member.row))).collect()
    }
}

const ALIVE: Finding = Finding::Well(Told::Alive);
const WRITES: Finding = Finding::Well(Told::ReadOnly(false));
const READS: Finding = Finding::Well(Told::ReadOnly(true));

#[test]
fn all_checks_begin_at_once_and_only_those_that_make_sense() {
    let mut monitor = Monitor::new(plan(), s(100));
    let orders = monitor.due(s(101));
    let of = |server: Server| {
        orders.iter().filter(|order| order.server == server).map(|order| order.check).collect::<Vec<_>>()
    };
    assert_eq!(of("a"), [Check::ReadOnly, Check::Ping, Check::Connect]);
    assert_eq!(of("b"), [Check::ReadOnly, Check::Ping, Check::Lag, Check::Connect]);
    assert_eq!(of("c"), [Check::Ping, Check::Connect]);
    assert_eq!(monitor.due(s(1_000)), [], "they run");
    assert_eq!(monitor.next_due(), None);
}

#[test]
fn c24_a_server_that_freezes_is_down_within_timeout_times_failures() {
    let mut scene = Scene::new();
    assert_eq!(scene.changes("c", Check::Ping, ALIVE), []);
    assert_eq!(scene.changes("c", Check::Ping, Finding::TimedOut), []);
    let first = scene.now.saturating_sub(s(1));
    assert_eq!(scene.changes("c", Check::Ping, Finding::TimedOut), []);
    let events = scene.next("c", Check::Ping, Finding::TimedOut);
    assert_eq!(scene.now.saturating_sub(first), s(3));
    let down = Event {
        hostgroup: 30,
        server: "c",
        change: Change::Down,
        cause: "3 pings in a row missed: why".into(),
    };
    assert_eq!(events, [down]);
    // It is looked at each second, and one answer is enough.
    let last = scene.now;
    assert_eq!(scene.changes("c", Check::Ping, ALIVE), [(30, Change::Up)]);
    assert!(scene.now.saturating_sub(last) <= s(1));
    let last = scene.now;
    assert_eq!(scene.changes("c", Check::Ping, ALIVE), []);
    assert!(scene.now.saturating_sub(last) > s(6), "then at leisure again");
}

#[test]
fn any_check_that_fails_has_the_server_pinged_at_once() {
    let mut scene = Scene::new();
    scene.next("a", Check::Ping, ALIVE);
    scene.next("a", Check::ReadOnly, Finding::Unreachable);
    let failed = scene.now;
    scene.next("a", Check::Ping, ALIVE);
    assert_eq!(scene.now, failed);
    scene.monitor.suspect(&"c", scene.now);
    let suspected = scene.now;
    scene.next("c", Check::Ping, ALIVE);
    assert_eq!(scene.now, suspected);
}

#[test]
fn c13_writers_change_places() {
    let mut scene = Scene::new();
    assert_eq!(scene.members(), [(10, "a"), (20, "b"), (30, "c")]);
    assert_eq!(scene.changes("a", Check::ReadOnly, WRITES), []);
    assert_eq!(scene.changes("b", Check::ReadOnly, READS), []);
    assert_eq!(scene.changes("a", Check::ReadOnly, READS), [(10, Change::Left), (20, Change::Joined)]);
    assert_eq!(scene.members(), [(20, "a"), (20, "b"), (30, "c")], "nobody writes");
    assert_eq!(scene.changes("b", Check::ReadOnly, WRITES), [(20, Change::Left), (10, Change::Joined)]);
    // What fails says nothing about who writes.
    for finding in
        [Finding::Unreachable, Finding::Refused, Finding::Void, Finding::TimedOut, Finding::TimedOut]
    {
        assert_eq!(scene.changes("b", Check::ReadOnly, finding), []);
    }
    let counts = scene.next("b", Check::ReadOnly, Finding::TimedOut);
    assert_eq!(counts[0].cause, "3 read_only checks in a row timed out: it counts as read-only");
}

#[test]
fn when_the_last_writer_has_left_the_others_are_asked_at_once() {
    let read_only = Finding::Well(Told::ReadOnly(true));
    for has_died in [false, true] {
        let mut scene = Scene::new();
        scene.next("a", Check::ReadOnly, WRITES);
        scene.next("b", Check::ReadOnly, read_only);
        if has_died {
            (0..3).for_each(|_| drop(scene.next("a", Check::Ping, Finding::Unreachable)));
        } else {
            scene.next("a", Check::ReadOnly, read_only);
        }
        let now = scene.now;
        let orders = scene.monitor.due(now);
        let is_asked = |order: &monitor::Order<Server>| (order.server, order.check) == ("b", Check::ReadOnly);
        assert!(orders.iter().any(is_asked), "{orders:?}");
    }
}

#[test]
fn c13_a_primary_comes_back_when_it_has_said_what_it_is() {
    let mut scene = Scene::new();
    scene.next("a", Check::ReadOnly, WRITES);
    for _ in 0..2 {
        assert_eq!(scene.changes("a", Check::Ping, Finding::Unreachable), []);
    }
    assert_eq!(scene.changes("a", Check::Ping, Finding::Unreachable), [(10, Change::Down)]);
    assert_eq!(scene.changes("a", Check::Ping, ALIVE), [], "it is there, but who is it?");
    let alive = scene.now;
    let changes = scene.changes("a", Check::ReadOnly, READS);
    assert_eq!(changes, [(10, Change::Left), (20, Change::Joined), (20, Change::Up)]);
    assert_eq!(scene.now, alive);
}

#[test]
fn c13_a_server_that_never_says_what_it_is_comes_back_as_a_reader() {
    let mut scene = Scene::new();
    scene.next("a", Check::ReadOnly, WRITES);
    for _ in 0..3 {
        scene.next("a", Check::Ping, Finding::TimedOut);
    }
    assert_eq!(scene.changes("a", Check::Ping, ALIVE), [], "it is there, but who is it?");
    for _ in 0..2 {
        assert_eq!(scene.changes("a", Check::ReadOnly, Finding::TimedOut), []);
        assert_eq!(scene.changes("a", Check::Ping, ALIVE), []);
    }
    let changes = scene.changes("a", Check::ReadOnly, Finding::TimedOut);
    assert_eq!(changes, [(10, Change::Left), (20, Change::Joined), (20, Change::Up)]);
    assert_eq!(scene.changes("a", Check::Ping, ALIVE), []);
}

#[test]
fn c24_a_server_that_answers_nothing_but_pings_is_not_asked_without_a_pause() {
    for finding in [Finding::Unreachable, Finding::Void] {
        let mut scene = Scene::new();
        for _ in 0..3 {
            scene.next("a", Check::Ping, Finding::TimedOut);
        }
        scene.next("a", Check::Ping, ALIVE);
        let begun = scene.now;
        for _ in 0..10 {
            scene.next("a", Check::ReadOnly, finding);
            scene.next("a", Check::Ping, ALIVE);
        }
        assert!(scene.now.saturating_sub(begun) >= s(9), "{finding:?}: {:?}", scene.now);
    }
}

#[test]
fn a_primary_that_denies_the_monitor_comes_back_all_the_same() {
    let mut scene = Scene::new();
    for _ in 0..3 {
        scene.next("a", Check::Ping, Finding::TimedOut);
    }
    assert_eq!(scene.changes("a", Check::Ping, Finding::Refused), [(10, Change::Up)]);
}

#[test]
fn c12_replicas_lag_and_catch_up() {
    let mut scene = Scene::new();
    let lag = |seconds| Finding::Well(Told::Lag(Lag::Behind(s(seconds))));
    assert_eq!(scene.changes("b", Check::Lag, lag(11)), []);
    assert_eq!(scene.changes("b", Check::Lag, Finding::TimedOut), []);
    assert_eq!(scene.changes("b", Check::Lag, lag(12)), [(20, Change::Lags(s(12)))]);
    assert_eq!(scene.changes("b", Check::Lag, Finding::Unreachable), [], "nothing is known");
    assert_eq!(scene.changes("b", Check::Lag, lag(10)), [(20, Change::KeepsUp)]);
    let unknown = Finding::Well(Told::Lag(Lag::Unknown));
    assert_eq!(scene.changes("b", Check::Lag, unknown), []);
    assert_eq!(scene.changes("b", Check::Lag, unknown), [(20, Change::Lags(s(60)))]);
    assert_eq!(
        scene.changes("b", Check::Lag, Finding::Well(Told::Lag(Lag::NoReplica))),
        [(20, Change::KeepsUp)]
    );
}

#[test]
fn a_pair_without_a_writer_is_asked_more_often_for_a_while() {
    let mut scene = Scene::new();
    scene.next("a", Check::ReadOnly, WRITES);
    scene.next("b", Check::ReadOnly, READS);
    let begun = scene.now;
    scene.next("b", Check::ReadOnly, READS);
    assert_eq!(scene.now, begun + s(1));
    scene.next("a", Check::ReadOnly, READS);
    let lost = scene.now;
    scene.next("b", Check::ReadOnly, READS);
    assert_eq!(scene.now, lost, "at once");
    for nth in 1..=10 {
        scene.next("b", Check::ReadOnly, READS);
        assert_eq!(scene.now, lost + ms(250) * nth);
    }
    assert_eq!(scene.changes("b", Check::ReadOnly, WRITES).len(), 2);
    scene.next("b", Check::ReadOnly, WRITES);
    let found = scene.now;
    scene.next("b", Check::ReadOnly, WRITES);
    assert_eq!(scene.now, found + s(1), "there is one");
    // Not for ever: perhaps there is to be none.
    scene.next("b", Check::ReadOnly, READS);
    scene.now += s(60);
    scene.next("b", Check::ReadOnly, READS);
    let late = scene.now;
    scene.next("b", Check::ReadOnly, READS);
    assert_eq!(scene.now, late + s(1));
}

#[test]
fn c12_what_is_known_of_a_lag_holds_when_servers_are_loaded() {
    let mut scene = Scene::new();
    let lag = |seconds| Finding::Well(Told::Lag(Lag::Behind(s(seconds))));
    let lags = |scene: &Scene| scene.monitor.places(&"b").get(&20).and_then(|health| health.lag);
    scene.changes("b", Check::Lag, lag(15));
    scene.changes("b", Check::Lag, lag(15));
    let with = |max_lag| {
        let mut plan = plan();
        plan.rows[1].max_lag = Some(s(max_lag));
        plan
    };
    for (max_lag, expected) in [(10, Some(s(15))), (12, Some(s(15))), (15, None), (12, None)] {
        scene.monitor.configure(with(max_lag), scene.now);
        assert_eq!(lags(&scene), expected, "{max_lag}");
    }
    // Against a limit that is another one, it is measured at once.
    let begun = scene.now;
    assert_eq!(scene.changes("b", Check::Lag, lag(13)), []);
    assert_eq!(scene.now, begun);
    scene.monitor.configure(with(12), scene.now);
    assert_eq!(scene.changes("b", Check::Lag, lag(13)), [(20, Change::Lags(s(13)))]);
    assert_eq!(scene.now, begun + s(10), "not because others are loaded");
}

#[test]
fn c12_a_replica_that_becomes_the_primary_has_no_lag() {
    for also in [false, true] {
        let mut scene = Scene::new();
        let mut other = plan();
        other.settings.writer_is_also_reader = also;
        scene.monitor.configure(other, scene.now);
        // Its source has died: it does not know how far it is behind.
        let unknown = Finding::Well(Told::Lag(Lag::Unknown));
        scene.next("b", Check::Lag, unknown);
        assert_eq!(scene.changes("b", Check::Lag, unknown), [(20, Change::Lags(s(60)))]);
        let mut expected = vec![(20, Change::Left), (10, Change::Joined), (10, Change::KeepsUp)];
        if also {
            expected = vec![(10, Change::Joined), (10, Change::KeepsUp), (20, Change::KeepsUp)];
        }
        assert_eq!(scene.changes("b", Check::ReadOnly, WRITES), expected);
        // It still has a source, which it does not follow any more.
        for _ in 0..3 {
            assert_eq!(scene.changes("b", Check::Lag, unknown), []);
        }
        let lags = [Change::Lags(s(60))];
        let of = scene
            .changes("b", Check::ReadOnly, READS)
            .into_iter()
            .filter(|(_, change)| lags.contains(change));
        assert_eq!(of.collect::<Vec<_>>(), [(20, lags[0])], "it is a replica again");
    }
}

#[test]
fn what_is_known_survives_another_plan() {
    let mut scene = Scene::new();
    scene.next("a", Check::ReadOnly, READS);
    let mut other = plan();
    other.rows.remove(2);
    scene.monitor.configure(other.clone(), scene.now);
    assert_eq!(scene.members(), [(20, "a"), (20, "b")]);
    // Without the pair it is not asked, and is where its row is.
    scene.monitor.configure(Plan { pairs: Vec::new(), ..other.clone() }, scene.now);
    assert_eq!(scene.members(), [(10, "a"), (20, "b")]);
    scene.monitor.configure(other, scene.now);
    assert_eq!(scene.members(), [(10, "a"), (20, "b")], "nothing is known again");
}

#[test]
fn c25_what_was_observed_does_not_change_the_plan() {
    let mut scene = Scene::new();
    scene.next("a", Check::ReadOnly, READS);
    let rows: Vec<_> = (0..3).filter_map(|at| scene.monitor.row(at).cloned()).collect();
    assert_eq!(rows, plan().rows);
}

fn findings() -> impl Strategy<Value = Finding> {
    prop_oneof![
        4 => Just(ALIVE),
        2 => any::<bool>().prop_map(|read_only| Finding::Well(Told::ReadOnly(read_only))),
        1 => (0..20_u64).prop_map(|lag| Finding::Well(Told::Lag(Lag::Behind(s(lag))))),
        1 => Just(Finding::Refused),
        3 => Just(Finding::TimedOut),
        2 => Just(Finding::Unreachable),
        1 => Just(Finding::Void),
    ]
}

proptest! {
    /// Whatever is found, in whatever order, and wherever the clock goes.
    #[test]
    fn promises_hold(steps in prop::collection::vec((findings(), 0..3_000_u64, any::<bool>()), 1..200)) {
        let mut monitor = Monitor::new(plan(), s(100));
        let mut missed = std::collections::HashMap::new();
        let mut now = s(100);
        for (finding, step, back) in steps {
            // A clock that goes backwards stands still.
            now = if back { now.saturating_sub(ms(step / 2)) } else { now + ms(step) };
            for order in monitor.due(now) {
                // An answer fits its question.
                let finding = match (order.check, finding) {
                    (Check::ReadOnly, Finding::Well(Told::ReadOnly(_))) | (Check::Lag, Finding::Well(Told::Lag(_))) => finding,
                    (Check::ReadOnly, Finding::Well(_)) => WRITES,
                    (Check::Lag, Finding::Well(_)) => Finding::Well(Told::Lag(Lag::NoReplica)),
                    (Check::Ping | Check::Connect | Check::Group | Check::Galera | Check::Aurora | Check::Replicas, Finding::Well(_)) => ALIVE,
                    _ => finding,
                };
                let count: &mut u32 = missed.entry(order.server).or_default();
                match finding {
                    _ if finding.is_sign_of_life() => *count = 0,
                    _ if order.check == Check::Ping && finding.is_miss() => *count += 1,
                    _ => {}
                }
                let events = monitor.observe(&order.server, order.check, finding, "", now);
                for event in &events {
                    prop_assert_eq!(event.server, order.server);
                    if event.change == Change::Down {
                        prop_assert!(missed[event.server] >= 3, "{:?}", event);
                    }
                    if event.change == Change::Up {
                        // Or it was there just now, and does not say what it is.
                        let is_silent = order.check == Check::ReadOnly && missed[event.server] == 0;
                        prop_assert!(finding.is_sign_of_life() || is_silent, "{:?}", event);
                    }
                }
            }
            // Each server of the pair is in one of its hostgroups, and none is lost.
            let members = monitor.members();
            prop_assert_eq!(members.len(), 3);
            for member in &members {
                let row = monitor.row(member.row).unwrap();
                prop_assert_eq!(member.hostgroup == 30, row.server == "c");
                if monitor.health(*member).down {
                    prop_assert!(missed.contains_key(row.server));
                }
            }
            // Nothing is forgotten: each check is planned.
            prop_assert!(monitor.next_due().is_some());
        }
    }

    /// A server whose every other answer is lost is never said to be down.
    #[test]
    fn c23_half_the_answers_lost_are_no_verdict(rounds in 1..300_usize) {
        let mut scene = Scene::new();
        for round in 0..rounds {
            let finding = if round % 2 == 0 { Finding::TimedOut } else { ALIVE };
            prop_assert_eq!(scene.changes("c", Check::Ping, finding), []);
        }
    }

    /// A server that flaps is believed each time.
    #[test]
    fn a_server_that_flaps_is_where_it_says(said in prop::collection::vec(any::<bool>(), 1..100)) {
        let mut scene = Scene::new();
        for read_only in said {
            scene.next("a", Check::ReadOnly, Finding::Well(Told::ReadOnly(read_only)));
            let at = if read_only { 20 } else { 10 };
            prop_assert!(scene.members().contains(&(at, "a")));
        }
    }
}
