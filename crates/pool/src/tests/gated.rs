//! Hostgroups that bound their connections, and those that open some ahead of need.

use std::time::Duration;

use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn pool(policy: Policy, servers: impl IntoIterator<Item = Specs>) -> Pool<&'static str> {
    Pool::new(servers, move |_| policy)
}

fn throttled(per_second: u32) -> Pool<&'static str> {
    let policy = Policy { opened_per_second: Some(per_second), ..Policy::default() };
    pool(policy, [server(0, "a", 1, 100)])
}

#[test]
fn connections_are_opened_no_faster_than_may_be() {
    let pool = throttled(5);
    let _first = granted(pool.choose(0, 0, ms(1_000), |_| false));
    assert!(matches!(pool.choose(0, 0, ms(1_100), |_| false), Choice::Busy));
    let (mut one, mut two) = (pool.enqueue(0, 0, ms(1_100)).unwrap(), pool.enqueue(0, 0, ms(1_100)).unwrap());
    assert_eq!(pool.serve(0, ms(1_100)), Some(ms(100)), "whoever waits knows when to look again");
    assert!(one.poll_turn(Waker::noop()).is_none());
    assert_eq!(pool.serve(0, ms(1_200)), Some(ms(200)));
    let second = permit(&mut one);
    assert!(matches!(two.poll_turn(Waker::noop()), Some(Turn::First)));
    // One that has ended makes no other one begin earlier.
    drop(second);
    assert!(two.poll_turn(Waker::noop()).is_none());
    pool.serve(0, ms(1_400));
    permit(&mut two);
}

#[test]
fn only_the_first_in_line_looks_when_the_next_connection_may_be_opened() {
    let pool = throttled(5);
    let _held = granted(pool.choose(0, 0, ms(1_000), |_| false));
    let mut line: Vec<_> = (0..4).map(|_| pool.enqueue(0, 0, ms(1_100)).unwrap()).collect();
    let looks = |line: &[Ticket<_>], now| line.iter().map(|one| one.look(now)).collect::<Vec<_>>();
    assert_eq!(looks(&line, ms(1_100)), [Some(ms(100)), None, None, None]);
    let bell = Arc::new(Bell::default());
    for ticket in &mut line {
        assert!(ticket.poll_turn(&Waker::from(Arc::clone(&bell))).is_none());
    }
    // Who leaves is followed by the next one, and who is served, too; others sleep on.
    drop(line.remove(0));
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
    assert!(matches!(line[0].poll_turn(Waker::noop()), Some(Turn::First)));
    assert_eq!(looks(&line, ms(1_200)), [None, Some(ms(200)), None], "the first one is served");
    permit(&mut line[0]);
    assert_eq!(bell.0.load(Ordering::SeqCst), 2);
    assert!(matches!(line[1].poll_turn(Waker::noop()), Some(Turn::First)));
    assert!(line[2].poll_turn(Waker::noop()).is_none());
}

#[test]
fn connections_that_are_there_are_not_throttled() {
    let pool = throttled(1);
    let held = granted(pool.choose(0, 0, ms(0), |_| false));
    let id = held.server().id();
    let choice = pool.choose_with(0, 0, None, ms(1), |_| false, |server| server == id);
    assert!(matches!(choice, Choice::Spare(_)));
}

#[test]
fn a_throttled_hostgroup_says_so() {
    let pool = throttled(1);
    let _held = granted(pool.choose(0, 0, ms(0), |_| false));
    assert!(pool.enqueue(0, 0, ms(250)).is_some());
    let explained = pool.explain(0, ms(250)).remove(0);
    assert!(!explained.taken);
    assert_eq!(
        explained.reason.to_string(),
        "only 1 connections in a second are opened in its hostgroup, the next one in 750.0ms"
    );
    assert_eq!(pool.usage(0).closed, Some(Closed::Throttled { per_second: 1, left: ms(750) }));
}

#[test]
fn a_hostgroup_may_have_fewer_connections_than_its_servers() {
    let pool =
        pool(Policy { max_open: 2, ..Policy::default() }, [server(0, "a", 1, 9), server(0, "b", 1, 9)]);
    let mut held: Vec<_> = (0..2).map(|random| granted(pool.choose(0, random, NOW, |_| false))).collect();
    assert!(matches!(pool.choose(0, 0, NOW, |_| false), Choice::Busy));
    let mut ticket = pool.enqueue(0, 0, NOW).unwrap();
    assert_eq!((pool.usage(0).open, pool.usage(0).allowed), (2, 2));
    let lease = Lease::new((), held.remove(0));
    assert!(lease.is_in_the_way(), "somebody waits for its place");
    drop(lease);
    permit(&mut ticket);
}

fn warming(policy: Policy, max: u32) -> Pool<&'static str> {
    pool(policy, [server(0, "a", 1, max), server(0, "b", 1, max)])
}

/// Opens connections ahead until there are enough, as one of so many workers; no session uses any
/// of them.
fn open_all(pool: &Pool<&'static str>, workers: u32, now: Duration) -> Vec<Permit<&'static str>> {
    let mut permits: Vec<Permit<&'static str>> = Vec::new();
    loop {
        let resting = |server: &Server<&'static str>| {
            let of_it = permits.iter().filter(|permit| permit.server().id() == server.id());
            of_it.count().try_into().unwrap()
        };
        let Ok(permit) = pool.open_ahead(0, &Ahead { workers, account: None, resting }, now) else {
            return permits;
        };
        permits.push(permit);
    }
}

#[test]
fn warming_goes_on_until_the_percentage_is_there() {
    let pool = warming(Policy { warming: true, resting_percent: 10, ..Policy::default() }, 40);
    let used = granted(pool.choose(0, 0, NOW, |endpoint| *endpoint == "b"));
    let opened = open_all(&pool, 1, NOW);
    let at = |name| opened.iter().filter(|permit| *permit.server().endpoint() == name).count();
    assert_eq!((at("a"), at("b")), (3, 4), "those in use count");
    drop(used);
    assert_eq!(open_all(&pool, 2, NOW).len(), 1);
}

#[test]
fn each_worker_opens_its_share() {
    let pool = warming(Policy { warming: true, resting_percent: 10, ..Policy::default() }, 50);
    let (one, two, three) = (open_all(&pool, 2, NOW), open_all(&pool, 2, NOW), open_all(&pool, 2, NOW));
    assert_eq!((one.len(), two.len(), three.len()), (6, 4, 0), "three of five, and two; of both servers");
}

#[test]
fn so_many_rest_as_is_wished() {
    let pool = warming(Policy { min_resting: 3, ..Policy::default() }, 4);
    let used: Vec<_> = (0..2).map(|_| granted(pool.choose(0, 0, NOW, |endpoint| *endpoint == "b"))).collect();
    let opened = open_all(&pool, 1, NOW);
    let at = |name| opened.iter().filter(|permit| *permit.server().endpoint() == name).count();
    assert_eq!((at("a"), at("b")), (2, 3), "no more than the server may have");
    drop(used);
}

#[test]
fn who_opens_ahead_is_told_whether_one_lacks_that_may_be_opened_later() {
    let policy = Policy { min_resting: 1, opened_per_second: Some(1), ..Policy::default() };
    let pool = pool(policy, [server(0, "a", 1, 9)]);
    let _held = granted(pool.choose(0, 0, NOW, |_| false));
    let resting = |rests| Ahead { workers: 1, account: None, resting: move |_: &_| rests };
    assert_eq!(pool.open_ahead(0, &resting(0), NOW + ms(250)).unwrap_err(), Some(ms(750)));
    assert_eq!(pool.open_ahead(0, &resting(1), NOW + ms(250)).unwrap_err(), None, "others are throttled");
}

#[test]
fn nothing_is_opened_ahead_of_those_who_wait_or_faster_than_may_be() {
    let policy = Policy { min_resting: 5, opened_per_second: Some(1), ..Policy::default() };
    let pool = pool(policy, [server(0, "a", 1, 9)]);
    let opened = open_all(&pool, 1, NOW);
    assert_eq!(opened.len(), 1);
    let ticket = pool.enqueue(0, 0, ms(10)).unwrap();
    assert_eq!(open_all(&pool, 1, ms(10)).len(), 0);
    drop(ticket);
    assert_eq!(open_all(&pool, 1, ms(1_000)).len(), 1);
    assert_eq!(open_all(&self::pool(Policy::default(), [server(0, "a", 1, 9)]), 1, NOW).len(), 0);
}
