//! The pool's promises: exact limits, fair waiting, shares by weight.

mod choosing;
mod gated;
mod refused;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use proptest::prelude::*;

use super::*;

/// The time, where it does not matter.
const NOW: Duration = Duration::ZERO;

type Specs = ServerSpec<&'static str>;

fn pool_of(servers: impl IntoIterator<Item = Specs>) -> Pool<&'static str> {
    Pool::new(servers, |_| Policy::default())
}

fn replace(pool: &Pool<&'static str>, servers: impl IntoIterator<Item = Specs>) {
    pool.replace(servers, |_| Policy::default());
}

fn server(
    hostgroup: u32,
    endpoint: &'static str,
    weight: u32,
    max_connections: u32,
) -> ServerSpec<&'static str> {
    ServerSpec { hostgroup, weight, max_connections, status: Status::Online, max_latency: None, endpoint }
}

fn granted(choice: Choice<&'static str>) -> Permit<&'static str> {
    match choice {
        Choice::Granted(permit) => permit,
        other => panic!("expected a permit, got {other:?}"),
    }
}

/// What has come of waiting, which is over.
fn permit(ticket: &mut Ticket<&'static str>) -> Permit<&'static str> {
    match ticket.poll_turn(Waker::noop()) {
        Some(Turn::Granted(permit)) => permit,
        other => panic!("expected a permit, got {other:?}"),
    }
}

/// Counts how often it was woken.
#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn an_unknown_hostgroup_has_no_server() {
    let pool = pool_of([server(0, "a", 1, 1)]);
    assert!(matches!(pool.choose(1, 0, NOW, |_| false), Choice::NoServer));
    assert!(pool.enqueue(1, 0, NOW).is_none());
    assert_eq!(pool.usage(1), Usage::default());
}

#[test]
fn offline_and_weightless_servers_get_nothing() {
    let offline = ServerSpec { status: Status::OfflineSoft, ..server(0, "a", 1, 1) };
    let pool = pool_of([offline, server(0, "b", 0, 1)]);
    assert!(matches!(pool.choose(0, 7, NOW, |_| false), Choice::NoServer));
}

#[test]
fn shares_follow_weights() {
    let pool = pool_of([server(0, "a", 1, 1000), server(0, "b", 3, 1000)]);
    let permits: Vec<_> = (0..400).map(|random| granted(pool.choose(0, random, NOW, |_| false))).collect();
    let b = permits.iter().filter(|permit| *permit.server().endpoint() == "b").count();
    assert_eq!(b, 300);
}

#[test]
fn avoided_servers_come_last_but_come() {
    let pool = pool_of([server(0, "a", 1, 1), server(0, "b", 1_000_000, 1)]);
    let first = granted(pool.choose(0, 500, NOW, |endpoint| *endpoint == "b"));
    assert_eq!(*first.server().endpoint(), "a");
    let second = granted(pool.choose(0, 500, NOW, |endpoint| *endpoint == "b"));
    assert_eq!(*second.server().endpoint(), "b");
}

#[test]
fn a_returned_permit_goes_to_the_longest_waiting() {
    let pool = pool_of([server(0, "a", 1, 1)]);
    let held = granted(pool.choose(0, 0, NOW, |_| false));
    assert!(matches!(pool.choose(0, 0, NOW, |_| false), Choice::Busy));
    let (bell1, bell2) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    let mut first = pool.enqueue(0, 0, NOW).unwrap();
    let mut second = pool.enqueue(0, 0, NOW).unwrap();
    assert!(first.poll_turn(&Waker::from(Arc::clone(&bell1))).is_none());
    assert!(second.poll_turn(&Waker::from(Arc::clone(&bell2))).is_none());
    assert_eq!(pool.usage(0).waiting, 2);

    drop(held);
    assert_eq!((bell1.0.load(Ordering::SeqCst), bell2.0.load(Ordering::SeqCst)), (1, 0));
    // A newcomer does not overtake those who wait.
    assert!(matches!(pool.choose(0, 0, NOW, |_| false), Choice::Busy));
    assert!(second.poll_turn(Waker::noop()).is_none());
    drop(permit(&mut first));
    permit(&mut second);
}

#[test]
fn a_ticket_given_up_passes_its_permit_on() {
    let pool = pool_of([server(0, "a", 1, 1)]);
    let held = granted(pool.choose(0, 0, NOW, |_| false));
    let first = pool.enqueue(0, 0, NOW).unwrap();
    let mut second = pool.enqueue(0, 0, NOW).unwrap();
    drop(held);
    drop(first);
    permit(&mut second);
}

#[test]
fn a_permit_that_came_back_before_queueing_is_not_missed() {
    let pool = pool_of([server(0, "a", 1, 1)]);
    drop(granted(pool.choose(0, 0, NOW, |_| false)));
    let mut ticket = pool.enqueue(0, 0, NOW).unwrap();
    permit(&mut ticket);
}

#[test]
fn a_server_that_stays_keeps_its_connections_and_counts() {
    let pool = pool_of([server(0, "a", 1, 2)]);
    let held = granted(pool.choose(0, 0, NOW, |_| false));
    held.server().note_opened();
    let id = held.server().id();
    replace(&pool, [server(0, "b", 0, 9), server(0, "a", 1, 1)]);
    assert!(matches!(pool.choose(0, 0, NOW, |_| false), Choice::Busy), "one is open, and no more may be");
    let servers = pool.servers();
    assert_eq!((servers[1].id(), servers[1].open(), servers[1].max_connections()), (id, 1, 1));
    assert_eq!(servers[1].counts(true), Counts { opened: 1, failed: 0, most_open: 1 });
    drop(held);
    assert_eq!(servers[1].counts(false), Counts { opened: 0, failed: 0, most_open: 1 });
    assert_eq!(servers[1].open(), 0);
    assert_ne!(servers[0].id(), id);
}

#[test]
fn a_server_that_is_removed_is_forgotten_with_its_last_connection() {
    let pool = pool_of([server(0, "a", 1, 2), server(1, "a", 1, 2)]);
    let (first, second) =
        (granted(pool.choose(0, 0, NOW, |_| false)), granted(pool.choose(0, 0, NOW, |_| false)));
    replace(&pool, []);
    assert!(matches!(pool.choose(0, 0, NOW, |_| false), Choice::NoServer));
    let left = pool.servers();
    assert_eq!((left.len(), left[0].status(), left[0].is_configured()), (1, Status::OfflineHard, false));
    assert_eq!(pool.usage(0), Usage { open: 2, ..Usage::default() });
    drop(first);
    assert_eq!(pool.servers().len(), 1);
    drop(second);
    assert_eq!(pool.servers().len(), 0);
}

#[test]
fn a_lease_sees_that_its_server_is_switched_off() {
    let pool = pool_of([server(0, "a", 1, 2)]);
    let held = granted(pool.choose(0, 0, NOW, |_| false));
    assert!(!held.server().is_off());
    let off = |status| ServerSpec { status, ..server(0, "a", 1, 2) };
    replace(&pool, [off(Status::OfflineSoft)]);
    assert!(!held.server().is_off());
    replace(&pool, [off(Status::OfflineHard)]);
    assert!(held.server().is_off());
    replace(&pool, [off(Status::Online)]);
    assert!(!held.server().is_off());
    replace(&pool, []);
    assert!(!held.server().is_off(), "the last connections of one that is removed go on");
}

#[test]
fn a_server_that_comes_back_while_it_is_left_is_the_same() {
    let pool = pool_of([server(0, "a", 1, 1)]);
    let held = granted(pool.choose(0, 0, NOW, |_| false));
    replace(&pool, []);
    replace(&pool, [server(0, "a", 1, 1)]);
    assert!(matches!(pool.choose(0, 0, NOW, |_| false), Choice::Busy), "the limit holds");
    drop(held);
    granted(pool.choose(0, 0, NOW, |_| false));
    assert_eq!(pool.servers().len(), 1);
}

#[test]
fn a_waiting_session_gets_a_server_that_comes() {
    let pool = pool_of([server(0, "a", 1, 1)]);
    let _held = granted(pool.choose(0, 0, NOW, |_| false));
    let bell = Arc::new(Bell::default());
    let mut first = pool.enqueue(0, 0, NOW).unwrap();
    let mut second = pool.enqueue(0, 0, NOW).unwrap();
    assert!(first.poll_turn(&Waker::from(Arc::clone(&bell))).is_none());
    replace(&pool, [server(0, "a", 1, 1), server(0, "b", 1, 1)]);
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
    assert_eq!(*permit(&mut first).server().endpoint(), "b");
    // And that of the one before, which has come back already.
    permit(&mut second);
}

#[test]
fn a_waiting_session_learns_that_there_is_no_server_any_more() {
    let pool = pool_of([server(0, "a", 1, 1)]);
    let held = granted(pool.choose(0, 0, NOW, |_| false));
    let bell = Arc::new(Bell::default());
    let mut tickets: Vec<_> = (0..3).map(|_| pool.enqueue(0, 0, NOW).unwrap()).collect();
    for ticket in &mut tickets {
        assert!(ticket.poll_turn(&Waker::from(Arc::clone(&bell))).is_none());
    }
    replace(&pool, [ServerSpec { status: Status::Shunned, ..server(0, "a", 1, 1) }]);
    assert_eq!(bell.0.load(Ordering::SeqCst), 3);
    for ticket in &mut tickets {
        assert!(matches!(ticket.poll_turn(Waker::noop()), Some(Turn::NoServer)));
    }
    assert_eq!(pool.usage(0), Usage { servers: 1, open: 1, ..Usage::default() });
    drop(held);
}

#[derive(Debug, Clone)]
enum Step {
    Choose(u64),
    Enqueue,
    Poll(usize),
    GiveUp(usize),
    Return(usize),
    Replace(Vec<ServerSpec<&'static str>>),
}

fn steps(replaces: bool) -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        any::<u64>().prop_map(Step::Choose),
        Just(Step::Enqueue),
        (0..8usize).prop_map(Step::Poll),
        (0..8usize).prop_map(Step::GiveUp),
        (0..8usize).prop_map(Step::Return),
        configurations().prop_map(move |specs| if replaces { Step::Replace(specs) } else { Step::Enqueue }),
    ];
    prop::collection::vec(step, 0..200)
}

/// Up to three servers of hostgroup 0, on and off, with up to three connections.
fn configurations() -> impl Strategy<Value = Vec<ServerSpec<&'static str>>> {
    let status = prop_oneof![3 => Just(Status::Online), 1 => Just(Status::OfflineSoft)];
    let spec = |name| {
        (0..3u32, 1..4u32, status.clone())
            .prop_map(move |(weight, max, status)| ServerSpec { status, ..server(0, name, weight, max) })
    };
    let all = [spec("a"), spec("b"), spec("c")];
    prop::sample::subsequence(all.to_vec(), 0..=3).prop_flat_map(|specs| specs)
}

proptest! {
    /// C23: whatever sessions do, the limit holds, nothing leaks, and no session waits while there
    /// is room.
    #[test]
    fn c23_accounting_is_exact_and_no_session_starves(steps in steps(false)) {
        const LIMIT: u32 = 3;
        let pool = pool_of([server(0, "a", 1, 1), server(0, "b", 2, LIMIT - 1)]);
        let (mut permits, mut tickets) = (Vec::new(), Vec::new());
        for step in steps {
            take(&pool, step, &mut permits, &mut tickets);
            let usage = pool.usage(0);
            prop_assert!(usage.open <= LIMIT);
            prop_assert!(usage.open as usize >= permits.len());
            prop_assert!(usage.waiting == 0 || usage.open == LIMIT, "somebody waits beside a free place");
        }
        drop((permits, tickets));
        prop_assert_eq!(pool.usage(0).open, 0);
        prop_assert_eq!(pool.usage(0).waiting, 0);
    }

    /// The same while servers come, change and go.
    #[test]
    fn c23_accounting_is_exact_while_servers_change(steps in steps(true)) {
        let pool = pool_of([server(0, "a", 1, 2)]);
        let (mut permits, mut tickets) = (Vec::new(), Vec::new());
        for step in steps {
            let before: HashMap<_, _> =
                pool.servers().iter().map(|server| (server.id(), server.open())).collect();
            take(&pool, step, &mut permits, &mut tickets);
            let (servers, usage) = (pool.servers(), pool.usage(0));
            for server in &servers {
                let held = permits.iter().filter(|permit| permit.server().id() == server.id()).count();
                prop_assert!(server.open() as usize >= held, "every permit is counted at its server");
                // A limit that has become smaller is kept from then on.
                let no_more = before.get(&server.id()).is_some_and(|&before| server.open() <= before);
                prop_assert!(server.open() <= server.max_connections() || no_more);
                prop_assert!(server.is_configured() || server.open() > 0, "nothing is kept for nothing");
            }
            let open: u32 = servers.iter().map(|server| server.open()).sum();
            prop_assert!(open as usize >= permits.len(), "no permit is lost");
            let room = servers.iter().any(|server| server.is_available() && server.open() < server.max_connections());
            prop_assert!(usage.waiting == 0 || usage.available > 0 && !room, "nobody waits in vain");
        }
        drop(tickets);
        prop_assert_eq!(pool.usage(0).open as usize, permits.len(), "what nobody took has come back");
        drop(permits);
        prop_assert!(pool.servers().iter().all(|server| server.open() == 0 && server.is_configured()));
        prop_assert_eq!(pool.usage(0).waiting, 0);
        replace(&pool, []);
        prop_assert_eq!(pool.servers().len(), 0);
    }
}

/// One step of a session.
fn take(
    pool: &Pool<&'static str>,
    step: Step,
    permits: &mut Vec<Permit<&'static str>>,
    tickets: &mut Vec<Ticket<&'static str>>,
) {
    match step {
        Step::Choose(random) => {
            if let Choice::Granted(permit) = pool.choose(0, random, NOW, |_| false) {
                permits.push(permit);
            }
        }
        Step::Enqueue => tickets.extend(pool.enqueue(0, 0, NOW)),
        Step::Poll(n) if n < tickets.len() => {
            if let Some(turn) = tickets[n].poll_turn(Waker::noop()) {
                drop(tickets.remove(n));
                if let Turn::Granted(permit) = turn {
                    permits.push(permit);
                }
            }
        }
        Step::GiveUp(n) if n < tickets.len() => drop(tickets.remove(n)),
        Step::Return(n) if n < permits.len() => drop(permits.remove(n)),
        Step::Poll(_) | Step::GiveUp(_) | Step::Return(_) => {}
        Step::Replace(specs) => replace(pool, specs),
    }
}

#[test]
fn threads_never_exceed_the_limit_and_all_get_served() {
    const LIMIT: u32 = 4;
    let pool = pool_of([server(0, "a", 1, LIMIT)]);
    let holding = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (pool, holding) = (&pool, &holding);
            scope.spawn(move || {
                for round in 0..2_000 {
                    let permit = match pool.choose(0, thread * 7 + round, NOW, |_| false) {
                        Choice::Granted(permit) => permit,
                        Choice::Busy => wait(pool.enqueue(0, 0, NOW).unwrap()),
                        Choice::NoServer | Choice::Spare(_) => panic!("the server is online"),
                    };
                    assert!(holding.fetch_add(1, Ordering::SeqCst) < LIMIT as usize);
                    holding.fetch_sub(1, Ordering::SeqCst);
                    drop(permit);
                }
            });
        }
    });
    assert_eq!(
        pool.usage(0),
        Usage { servers: 1, available: 1, open: 0, resting: 0, allowed: 4, ..Usage::default() }
    );
}

/// Blocks the thread until it is the ticket's turn.
fn wait(mut ticket: Ticket<&'static str>) -> Permit<&'static str> {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match ticket.poll_turn(&waker) {
            Some(Turn::Granted(permit)) => return permit,
            Some(Turn::NoServer | Turn::First) => panic!("the server is online"),
            None => std::thread::park(),
        }
    }
}

#[test]
fn servers_are_found_while_they_come_and_go() {
    let names = ["a", "b", "c"];
    let pool = pool_of(names.map(|name| server(0, name, 1, 1)));
    let taken = granted(pool.choose(0, 0, NOW, |name| *name != "a"));
    let is = |name| pool.find(0, &name).map(|server| (*server.endpoint(), server.is_configured()));
    assert_eq!(names.map(is), names.map(|name| Some((name, true))));
    replace(&pool, ["c", "d"].map(|name| server(0, name, 1, 1)));
    // One of them has a connection left.
    assert_eq!(
        ["c", "d", "a", "b"].map(is),
        [Some(("c", true)), Some(("d", true)), Some(("a", false)), None]
    );
    drop(taken);
    assert_eq!(["a", "d"].map(is), [None, Some(("d", true))]);
    replace(&pool, names.map(|name| server(0, name, 1, 1)));
    assert_eq!(names.map(is), names.map(|name| Some((name, true))));
    assert_eq!(is("d"), None);
}

#[test]
fn servers_that_are_not_switched_off_are_configured() {
    let with = |endpoint, status| ServerSpec { status, ..server(1, endpoint, 1, 1) };
    let pool = pool_of([
        with("a", Status::Online),
        with("b", Status::Shunned),
        with("c", Status::OfflineSoft),
        with("d", Status::OfflineHard),
        server(2, "a", 1, 1),
    ]);
    assert_eq!([pool.configured(1), pool.configured(2), pool.configured(3)], [3, 1, 0]);
    assert_eq!(pool.count(1, |_| true), 1);
    assert_eq!(pool.only(1, |server| *server.endpoint()), Some("a"));
    assert_eq!(pool.only(3, |_| ()), None, "it has none");
    replace(&pool, [server(1, "a", 1, 1), server(1, "b", 1, 1)]);
    assert_eq!(pool.only(1, |_| ()), None, "it has two");
}
