//! Who is chosen, who is passed over, and what is said about it.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::*;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn pool(policy: Policy, servers: impl IntoIterator<Item = Specs>) -> Pool<&'static str> {
    Pool::new(servers, move |_| policy)
}

fn balanced(balance: Balance, servers: impl IntoIterator<Item = Specs>) -> Pool<&'static str> {
    pool(Policy { balance, ..Policy::default() }, servers)
}

/// Three servers with room for many.
fn three() -> [Specs; 3] {
    [server(0, "a", 1, 1000), server(0, "b", 1, 1000), server(0, "c", 1, 1000)]
}

fn chosen_at(pool: &Pool<&'static str>, random: u64, now: Duration) -> Permit<&'static str> {
    granted(pool.choose(0, random, now, |_| false))
}

/// The names of the servers that would be taken one after the other, each given back at once.
fn names(pool: &Pool<&'static str>, times: u64, now: Duration) -> Vec<&'static str> {
    (0..times).map(|random| *chosen_at(pool, random, now).server().endpoint()).collect()
}

fn the(pool: &Pool<&'static str>, name: &str) -> Arc<Server<&'static str>> {
    pool.servers().into_iter().find(|server| *server.endpoint() == name).unwrap()
}

/// Why a server cannot be taken, or can.
fn reason(pool: &Pool<&'static str>, name: &str, now: Duration) -> (bool, String) {
    let all = pool.explain(0, now);
    let one = all.iter().find(|explained| *explained.server.endpoint() == name).unwrap();
    (one.taken, one.reason.to_string())
}

#[test]
fn round_robin_takes_turns() {
    let pool =
        balanced(Balance::RoundRobin, [server(0, "a", 9, 9), server(0, "z", 0, 9), server(0, "b", 1, 9)]);
    assert_eq!(names(&pool, 5, NOW), ["a", "b", "a", "b", "a"]);
}

#[test]
fn round_robin_goes_on_behind_a_server_that_is_full() {
    let mut servers = three();
    servers[1].max_connections = 1;
    let pool = balanced(Balance::RoundRobin, servers);
    let held: Vec<_> = (0..2).map(|_| chosen_at(&pool, 0, NOW)).collect();
    assert_eq!(*held[1].server().endpoint(), "b");
    assert_eq!(names(&pool, 4, NOW), ["c", "a", "c", "a"]);
    drop(held);
    assert_eq!(names(&pool, 3, NOW), ["b", "c", "a"]);
}

#[test]
fn the_first_available_is_the_first_with_room() {
    let mut servers = three();
    servers[0].max_connections = 1;
    let pool = balanced(Balance::FirstAvailable, servers);
    let held = chosen_at(&pool, 5, NOW);
    assert_eq!(names(&pool, 2, NOW), ["b", "b"]);
    assert_eq!(reason(&pool, "a", NOW), (false, "it has 1 of 1 connections".to_owned()));
    assert_eq!(reason(&pool, "c", NOW), (false, "another one is before it".to_owned()));
    drop(held);
    assert_eq!(names(&pool, 2, NOW), ["a", "a"]);
    let avoided = granted(pool.choose(0, 0, NOW, |endpoint| *endpoint == "a"));
    assert_eq!(*avoided.server().endpoint(), "b");
}

#[test]
fn who_was_reached_behind_its_last_error_is_back() {
    let pool = balanced(Balance::FirstAvailable, three());
    pool.mark(0, &"a", Mark::Failed, s(2));
    for begun in [1, 2] {
        pool.mark(0, &"a", Mark::Reached(s(begun)), s(3));
        assert_eq!(names(&pool, 1, s(3)), ["b"], "what was begun before says nothing");
    }
    pool.mark(0, &"a", Mark::Reached(ms(2_001)), s(3));
    assert_eq!(names(&pool, 1, s(3)), ["a"]);
}

#[test]
fn what_has_failed_for_good_does_not_come_back() {
    let shunning = Shunning::default().for_good();
    let policy = Policy { balance: Balance::FirstAvailable, shunning, ..Policy::default() };
    let pool = pool(policy, three());
    assert_eq!(names(&pool, 1, NOW), ["a"]);
    assert!(pool.note_error(&the(&pool, "a"), false, NOW), "one error is enough");
    assert_eq!(names(&pool, 2, NOW), ["b", "b"]);
    // Neither time nor the monitor brings it back.
    pool.mark(0, &"a", Mark::Works, s(1));
    pool.mark(0, &"a", Mark::Reached(s(1)), s(1));
    assert_eq!(names(&pool, 1, s(100_000)), ["b"]);
    let why = "it failed 100.0s ago and is not tried again before it is configured anew";
    assert_eq!(reason(&pool, "a", s(100)), (false, why.to_owned()));
    for name in ["b", "c"] {
        pool.mark(0, &name, Mark::Failed, s(2));
    }
    assert!(
        matches!(pool.choose(0, 0, s(3), |_| false), Choice::NoServer),
        "nobody waits for what does not come"
    );
    // The same configuration is not another one.
    pool.replace(three(), move |_| policy);
    assert!(matches!(pool.choose(0, 0, s(3), |_| false), Choice::NoServer));
    let mut servers = three();
    servers[0].weight = 7;
    pool.replace(servers, move |_| policy);
    assert_eq!(names(&pool, 1, s(3)), ["a"]);
}

#[test]
fn the_less_loaded_of_two_is_taken() {
    let pool = balanced(Balance::LeastLoaded, three());
    let (a, b) = (the(&pool, "a").gauge(), the(&pool, "b").gauge());
    a.add(5);
    b.add(2);
    let mut counts: HashMap<_, u64> = HashMap::new();
    for name in names(&pool, 900, NOW) {
        *counts.entry(name).or_default() += 1;
    }
    // Each of the three pairs is drawn equally often: "a" loses both of its own, "c" wins both.
    assert_eq!((counts.get("a"), counts["b"], counts["c"]), (None, 300, 600));
    assert!(reason(&pool, "b", NOW).1.contains("runs 2 statements"), "{:?}", reason(&pool, "b", NOW));
}

#[test]
fn too_many_online_are_none() {
    let policy = Policy { max_online: 2, ..Policy::default() };
    let pool = pool(policy, three());
    assert!(matches!(pool.choose(0, 0, NOW, |_| false), Choice::NoServer));
    let why = "3 servers are online, more than max_num_online_servers = 2";
    assert_eq!(reason(&pool, "b", NOW), (false, why.to_owned()));
    pool.mark(0, &"a", Mark::Failed, NOW);
    assert_ne!(names(&pool, 1, NOW), ["a"]);
}

#[test]
fn a_slow_server_is_passed_over_for_a_while() {
    let mut servers = three();
    servers[0].max_latency = Some(ms(20));
    let pool = balanced(Balance::FirstAvailable, servers);
    the(&pool, "a").note_latency(ms(20), s(1));
    assert_eq!(names(&pool, 1, s(1)), ["a"]);
    the(&pool, "a").note_latency(ms(21), s(2));
    assert_eq!(names(&pool, 1, s(3)), ["b"]);
    let (taken, why) = reason(&pool, "a", s(3));
    assert!(!taken && why == "its latency is 21.0ms, more than 20.0ms", "{why}");
    assert_eq!(names(&pool, 1, s(12)), ["a"]);
}

/// Under load every login takes long. A pool that passed over its only server for that would turn
/// the load into an outage.
#[test]
fn c23_a_slow_server_is_better_than_none() {
    let policy = Policy {
        max_latency: Some(ms(20)),
        balance: Balance::FirstAvailable,
        latency_aware_from: 9,
        ..Policy::default()
    };
    let mut servers = three();
    servers[1].max_connections = 9;
    servers[2].max_latency = Some(ms(10));
    let pool = pool(policy, servers);
    for name in ["a", "b", "c"] {
        the(&pool, name).note_latency(ms(2_000), s(1));
    }
    assert_eq!(names(&pool, 1, s(2)), ["a"]);
    let why = "its latency is 2.0s, more than 20.0ms, and no other can be taken";
    assert_eq!(reason(&pool, "a", s(2)), (true, why.to_owned()));
    let why = "its latency is 2.0s, more than 10.0ms";
    assert_eq!(reason(&pool, "c", s(2)), (false, why.to_owned()), "its row says so, not a default");
    the(&pool, "b").note_latency(ms(20), s(2));
    assert_eq!(names(&pool, 1, s(2)), ["b"]);
    assert_eq!(reason(&pool, "a", s(2)), (false, "its latency is 2.0s, more than 20.0ms".to_owned()));
    // Others wait for its connections, which come back sooner than the slow one answers.
    let _all: Vec<_> = (0..9).map(|_| granted(pool.choose(0, 0, s(2), |_| false))).collect();
    assert!(matches!(pool.choose(0, 0, s(2), |_| false), Choice::Busy));
    the(&pool, "b").note_latency(ms(21), s(2));
    // As it is for those who wait until a server is tried again that has failed as well.
    for name in ["a", "b"] {
        pool.mark(0, &name, Mark::Failed, s(3));
    }
    let mut ticket = pool.enqueue(0, 0, s(3)).unwrap();
    assert_eq!(pool.serve(0, s(3)), Some(s(1)));
    pool.serve(0, s(4));
    permit(&mut ticket);
}

#[test]
fn of_many_those_above_the_average_are_left_out() {
    let policy = Policy { latency_aware_from: 3, ..Policy::default() };
    let pool = pool(policy, three());
    for (name, latency) in [("a", 1), ("b", 2), ("c", 9)] {
        the(&pool, name).note_latency(ms(latency), NOW);
    }
    assert!(!names(&pool, 30, NOW).contains(&"c"));
    let why = "its latency is 9.0ms, above the candidates' average of 4.0ms";
    assert_eq!(reason(&pool, "c", NOW), (false, why.to_owned()));
    assert!(reason(&pool, "a", NOW).1.starts_with("by weight, 1 of 2;"));
    pool.mark(0, &"a", Mark::Failed, NOW);
    assert!(names(&pool, 30, NOW).contains(&"c"), "two are too few to be choosy");
}

#[test]
fn a_server_that_fails_often_is_shunned_and_comes_back() {
    let pool = balanced(Balance::FirstAvailable, three());
    let a = the(&pool, "a");
    let shunned: Vec<_> = (0..5).map(|_| pool.note_error(&a, false, s(100))).collect();
    assert_eq!(shunned, [false, false, false, false, true]);
    assert_eq!((a.status(), pool.usage(0).available), (Status::Shunned, 2));
    assert_eq!(names(&pool, 1, s(108)), ["b"]);
    let why = "it was shunned, its last connect error was 8.0s ago, it is tried again in 1.0s";
    assert_eq!(reason(&pool, "a", s(108)), (false, why.to_owned()));
    assert!(reason(&pool, "a", s(109)).0, "to be explained changes nothing");
    assert_eq!(a.status(), Status::Shunned);
    // Nor does it take a session that wants it.
    pool.forgive(s(108));
    assert_eq!(a.status(), Status::Shunned);
    pool.forgive(s(109));
    assert_eq!(a.status(), Status::Online);
    pool.mark(0, &"a", Mark::Failed, s(100));
    assert_eq!(names(&pool, 1, s(109)), ["a"]);
    assert_eq!(a.status(), Status::Online);
    // It begins anew.
    assert!(!pool.note_error(&a, false, s(109)));
}

#[test]
fn a_server_that_was_shunned_is_tried_early_where_it_is_the_last() {
    let pool = pool_of([server(0, "a", 1, 9), server(0, "b", 0, 9)]);
    pool.mark(0, &"a", Mark::Failed, s(100));
    assert!(matches!(pool.choose(0, 0, ms(100_999), |_| false), Choice::Busy));
    assert!(!reason(&pool, "a", ms(100_999)).0);
    let why = "it was shunned, its last connect error was 1.0s ago, and no other can be taken";
    assert_eq!(reason(&pool, "a", s(101)), (true, why.to_owned()));
    assert_eq!(names(&pool, 1, s(101)), ["a"]);
}

#[test]
fn without_a_time_of_recovery_only_the_last_resort_helps() {
    let shunning = Shunning { recovery: None, ..Shunning::default() };
    let pool = pool(Policy { shunning, ..Policy::default() }, three());
    pool.mark(0, &"a", Mark::Failed, NOW);
    assert!(!names(&pool, 30, s(1_000)).contains(&"a"));
    pool.mark(0, &"b", Mark::Failed, s(1_000));
    pool.mark(0, &"c", Mark::Failed, s(1_000));
    assert_eq!(names(&pool, 1, s(1_000)), ["a"]);
}

#[test]
fn a_session_that_waits_for_a_shunned_server_learns_when_it_is_tried_again() {
    let pool = pool_of([server(0, "a", 1, 9)]);
    pool.mark(0, &"a", Mark::Failed, s(100));
    let bell = Arc::new(Bell::default());
    let mut ticket = pool.enqueue(0, 0, s(100)).unwrap();
    assert!(ticket.poll_turn(&Waker::from(Arc::clone(&bell))).is_none());
    assert_eq!(pool.serve(0, ms(100_400)), Some(ms(600)));
    // No newcomer overtakes it.
    assert!(matches!(pool.choose(0, 0, ms(100_500), |_| false), Choice::Busy));
    pool.serve(0, s(101));
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
    permit(&mut ticket);
    assert_eq!(pool.serve(0, s(101)), None);
}

/// A waiting session would look without end at a server that is tried early, if time alone could
/// not help it.
#[test]
fn a_session_that_waits_for_a_slow_shunned_server_learns_when_it_counts_as_fast() {
    for recovery in [Some(s(9)), None] {
        let slow = ServerSpec { max_latency: Some(ms(20)), ..server(0, "a", 1, 9) };
        let shunning = Shunning { recovery, ..Shunning::default() };
        let pool = pool(Policy { shunning, ..Policy::default() }, [slow]);
        the(&pool, "a").note_latency(ms(21), s(99));
        pool.mark(0, &"a", Mark::Failed, s(100));
        let mut ticket = pool.enqueue(0, 0, s(100)).unwrap();
        assert_eq!(pool.serve(0, ms(100_400)), Some(ms(600)));
        assert_eq!(pool.serve(0, s(102)), Some(s(7)));
        assert!(ticket.poll_turn(Waker::noop()).is_none());
        pool.serve(0, s(109));
        permit(&mut ticket);
    }
}

#[test]
fn a_waiting_session_gets_a_server_that_is_marked_as_working() {
    let pool = pool_of([server(0, "a", 1, 9)]);
    for (bad, good) in [(Mark::Failed, Mark::Works), (Mark::Lags(s(7)), Mark::KeepsUp)] {
        pool.mark(0, &"a", bad, s(100));
        assert!(matches!(pool.choose(0, 0, s(100), |_| false), Choice::Busy));
        let mut ticket = pool.enqueue(0, 0, s(100)).unwrap();
        assert!(ticket.poll_turn(Waker::noop()).is_none());
        pool.mark(0, &"a", good, s(100));
        permit(&mut ticket);
    }
    // The pool does not know this server.
    pool.mark(0, &"b", Mark::Failed, s(100));
}

#[test]
fn a_server_that_lags_is_passed_over_until_it_keeps_up() {
    let pool = balanced(Balance::FirstAvailable, three());
    pool.mark(0, &"a", Mark::Lags(s(70)), NOW);
    assert_eq!(the(&pool, "a").status(), Status::ShunnedReplicationLag);
    assert_eq!(names(&pool, 1, s(1_000_000)), ["b"]);
    assert_eq!(reason(&pool, "a", NOW), (false, "it lags 70 s, more than it may".to_owned()));
    // Its row changes: that says nothing about its lag.
    let mut changed = three();
    changed[0].weight = 5;
    pool.replace(changed, |_| Policy { balance: Balance::FirstAvailable, ..Policy::default() });
    assert_eq!(names(&pool, 1, NOW), ["b"]);
    pool.mark(0, &"a", Mark::KeepsUp, NOW);
    assert_eq!(names(&pool, 1, NOW), ["a"]);
}

#[test]
fn a_changed_row_ends_shunning_and_an_unchanged_one_does_not() {
    let pool = pool_of(three());
    pool.mark(0, &"a", Mark::Failed, NOW);
    replace(&pool, three());
    assert_eq!(the(&pool, "a").status(), Status::Shunned);
    let mut changed = three();
    changed[0].max_connections = 7;
    replace(&pool, changed);
    assert_eq!(the(&pool, "a").status(), Status::Online);
}

#[test]
fn what_is_switched_off_is_explained() {
    let mut servers = three();
    servers[0].status = Status::OfflineSoft;
    servers[1].weight = 0;
    let pool = pool_of(servers);
    let held = chosen_at(&pool, 0, NOW);
    assert_eq!(reason(&pool, "a", NOW), (false, "its status is configured as OFFLINE_SOFT".to_owned()));
    assert_eq!(reason(&pool, "b", NOW), (false, "its weight is 0".to_owned()));
    let why = "by weight, 1 of 1; it runs 0 statements and has 1 of 1000 connections";
    assert_eq!(reason(&pool, "c", NOW), (true, why.to_owned()));
    replace(&pool, []);
    assert_eq!(reason(&pool, "c", NOW), (false, "it is configured no more".to_owned()));
    drop(held);
    assert!(pool.explain(0, NOW).is_empty());
    assert!(pool.explain(1, NOW).is_empty());
}

/// A server: its weight, its room, whether it has failed, whether it lags, its latency in
/// milliseconds, what it runs.
type Situation = (u32, u32, bool, bool, u64, u32);

fn situations() -> impl Strategy<Value = (Policy, Vec<Situation>)> {
    let balance = prop_oneof![
        Just(Balance::Weighted),
        Just(Balance::LeastLoaded),
        Just(Balance::RoundRobin),
        Just(Balance::FirstAvailable),
    ];
    let policy = (balance, 0..6_usize, 0..4_usize);
    let policy = policy.prop_map(|(balance, max_online, latency_aware_from)| {
        let max_latency = Some(ms(20));
        Policy { balance, max_online, latency_aware_from, max_latency, ..Policy::default() }
    });
    let server = (0..3_u32, 0..3_u32, any::<bool>(), any::<bool>(), 0..40_u64, 0..4_u32);
    (policy, prop::collection::vec(server, 0..5))
}

proptest! {
    /// What is explained is what happens: a server that is said to be one that could be taken can
    /// be, for some random number and without permits of other sessions; no other ever is.
    #[test]
    fn who_is_chosen_is_who_is_explained((policy, servers) in situations(), randoms in prop::collection::vec(any::<u64>(), 1..20)) {
        const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
        let now = s(100);
        let specs = servers.iter().zip(NAMES).map(|(&(weight, max, ..), name)| {
            // Every other has a limit of its own.
            let max_latency = (weight % 2 == 0).then_some(ms(30));
            ServerSpec { max_latency, ..server(0, name, weight, max) }
        });
        let pool = pool(policy, specs);
        for (&(_, _, failed, lags, latency, running), name) in servers.iter().zip(NAMES) {
            let server = the(&pool, name);
            server.note_latency(ms(latency), now);
            server.gauge().add(running);
            if failed {
                pool.mark(0, &name, Mark::Failed, ms(98_500 + latency * 25));
            }
            if lags {
                pool.mark(0, &name, Mark::Lags(s(1)), now);
            }
        }
        let explained = pool.explain(0, now);
        let could: Vec<_> =
            explained.iter().filter(|one| one.taken).map(|one| *one.server.endpoint()).collect();
        for random in randoms {
            match pool.choose(0, random, now, |_| false) {
                Choice::Granted(permit) => prop_assert!(could.contains(permit.server().endpoint())),
                Choice::Busy | Choice::Spare(_) | Choice::NoServer => prop_assert!(could.is_empty()),
            }
        }
    }

    /// Whatever is asked for at a time, each gets its turn as often as the others.
    #[test]
    fn round_robin_is_fair_within_one(servers in 1..5_usize, times in 0..40_u64) {
        const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
        let pool = balanced(Balance::RoundRobin, NAMES[..servers].iter().map(|name| server(0, name, 1, 9)));
        let names = names(&pool, times, NOW);
        let counts = NAMES[..servers].iter().map(|name| names.iter().filter(|other| *other == name).count());
        prop_assert!(counts.clone().max().unwrap() - counts.min().unwrap() <= 1);
    }
}

#[test]
fn a_spare_connection_is_room_at_a_full_server() {
    let pool = Pool::new([server(0, "a", 1, 1), server(0, "b", 0, 1)], |_| Policy::default());
    let a = pool.servers()[0].id();
    let Choice::Spare(chosen) = pool.choose_with(0, 0, None, NOW, |_| false, |id| id == a) else {
        panic!("it need not be full")
    };
    assert_eq!((chosen.id(), pool.usage(0).open), (a, 0));
    let lease = Lease::new(0, granted(pool.choose(0, 0, NOW, |_| false)));
    assert!(matches!(pool.choose(0, 0, NOW, |_| false), Choice::Busy));
    assert!(matches!(pool.choose_with(0, 0, None, NOW, |_| false, |id| id == a), Choice::Spare(_)));
    assert!(
        matches!(pool.choose_with(0, 0, None, NOW, |_| false, |id| id != a), Choice::Busy),
        "b takes none"
    );
    assert_eq!(lease.waiting(), 0);
}

#[test]
fn connections_that_rest_are_counted_thread_by_thread() {
    let pool = Pool::new([server(0, "a", 1, 10)], |_| Policy { resting_percent: 20, ..Policy::default() });
    let lease = Lease::new(0, granted(pool.choose(0, 0, NOW, |_| false)));
    let (one, two) = (lease.server().resting_gauge(), lease.server().resting_gauge());
    one.add(1);
    two.add(2);
    assert_eq!((pool.usage(0).resting, lease.most_resting()), (3, 2));
    pool.replace([], |_| Policy::default());
    assert_eq!(lease.most_resting(), 0, "its server is configured no more");
}
