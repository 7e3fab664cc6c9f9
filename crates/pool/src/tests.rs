//! The pool's promises: exact limits, fair waiting, shares by weight.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use proptest::prelude::*;

use super::*;

fn server(
    hostgroup: u32,
    endpoint: &'static str,
    weight: u32,
    max_connections: u32,
) -> ServerSpec<&'static str> {
    ServerSpec { hostgroup, weight, max_connections, availability: Availability::Online, endpoint }
}

fn granted(choice: Choice<&'static str>) -> Permit<&'static str> {
    match choice {
        Choice::Granted(permit) => permit,
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
    let pool = Pool::new([server(0, "a", 1, 1)]);
    assert!(matches!(pool.choose(1, 0, |_| false), Choice::NoServer));
    assert!(pool.enqueue(1, 0).is_none());
    assert_eq!(pool.usage(1), Usage::default());
}

#[test]
fn offline_and_weightless_servers_get_nothing() {
    let offline = ServerSpec { availability: Availability::Offline, ..server(0, "a", 1, 1) };
    let pool = Pool::new([offline, server(0, "b", 0, 1)]);
    assert!(matches!(pool.choose(0, 7, |_| false), Choice::NoServer));
}

#[test]
fn shares_follow_weights() {
    let pool = Pool::new([server(0, "a", 1, 1000), server(0, "b", 3, 1000)]);
    let permits: Vec<_> = (0..400).map(|random| granted(pool.choose(0, random, |_| false))).collect();
    let b = permits.iter().filter(|permit| *permit.server().endpoint() == "b").count();
    assert_eq!(b, 300);
}

#[test]
fn avoided_servers_come_last_but_come() {
    let pool = Pool::new([server(0, "a", 1, 1), server(0, "b", 1_000_000, 1)]);
    let first = granted(pool.choose(0, 500, |endpoint| *endpoint == "b"));
    assert_eq!(*first.server().endpoint(), "a");
    let second = granted(pool.choose(0, 500, |endpoint| *endpoint == "b"));
    assert_eq!(*second.server().endpoint(), "b");
}

#[test]
fn a_returned_permit_goes_to_the_longest_waiting() {
    let pool = Pool::new([server(0, "a", 1, 1)]);
    let held = granted(pool.choose(0, 0, |_| false));
    assert!(matches!(pool.choose(0, 0, |_| false), Choice::Busy));
    let (bell1, bell2) = (Arc::new(Bell::default()), Arc::new(Bell::default()));
    let mut first = pool.enqueue(0, 0).unwrap();
    let mut second = pool.enqueue(0, 0).unwrap();
    assert!(first.poll_permit(&Waker::from(Arc::clone(&bell1))).is_none());
    assert!(second.poll_permit(&Waker::from(Arc::clone(&bell2))).is_none());
    assert_eq!(pool.usage(0).waiting, 2);

    drop(held);
    assert_eq!((bell1.0.load(Ordering::SeqCst), bell2.0.load(Ordering::SeqCst)), (1, 0));
    // A newcomer does not overtake those who wait.
    assert!(matches!(pool.choose(0, 0, |_| false), Choice::Busy));
    assert!(second.poll_permit(Waker::noop()).is_none());
    let permit = first.poll_permit(Waker::noop()).unwrap();
    drop(permit);
    assert!(second.poll_permit(Waker::noop()).is_some());
}

#[test]
fn a_ticket_given_up_passes_its_permit_on() {
    let pool = Pool::new([server(0, "a", 1, 1)]);
    let held = granted(pool.choose(0, 0, |_| false));
    let first = pool.enqueue(0, 0).unwrap();
    let mut second = pool.enqueue(0, 0).unwrap();
    drop(held);
    drop(first);
    assert!(second.poll_permit(Waker::noop()).is_some());
}

#[test]
fn a_permit_that_came_back_before_queueing_is_not_missed() {
    let pool = Pool::new([server(0, "a", 1, 1)]);
    drop(granted(pool.choose(0, 0, |_| false)));
    let mut ticket = pool.enqueue(0, 0).unwrap();
    assert!(ticket.poll_permit(Waker::noop()).is_some());
}

#[derive(Debug, Clone)]
enum Step {
    Choose(u64),
    Enqueue,
    Poll(usize),
    GiveUp(usize),
    Return(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        any::<u64>().prop_map(Step::Choose),
        Just(Step::Enqueue),
        (0..8usize).prop_map(Step::Poll),
        (0..8usize).prop_map(Step::GiveUp),
        (0..8usize).prop_map(Step::Return),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    /// C23: whatever sessions do, the limit holds, nothing leaks, and nobody waits while there is room.
    #[test]
    fn c23_accounting_is_exact_and_nobody_starves(steps in steps()) {
        const LIMIT: u32 = 3;
        let pool = Pool::new([server(0, "a", 1, 1), server(0, "b", 2, LIMIT - 1)]);
        let (mut permits, mut tickets) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::Choose(random) => {
                    if let Choice::Granted(permit) = pool.choose(0, random, |_| false) {
                        permits.push(permit);
                    }
                }
                Step::Enqueue => tickets.push(pool.enqueue(0, 0).unwrap()),
                Step::Poll(n) if n < tickets.len() => {
                    if let Some(permit) = tickets[n].poll_permit(Waker::noop()) {
                        permits.push(permit);
                        drop(tickets.remove(n));
                    }
                }
                Step::GiveUp(n) if n < tickets.len() => drop(tickets.remove(n)),
                Step::Return(n) if n < permits.len() => drop(permits.remove(n)),
                Step::Poll(_) | Step::GiveUp(_) | Step::Return(_) => {}
            }
            let usage = pool.usage(0);
            prop_assert!(usage.open <= LIMIT);
            prop_assert!(usage.open as usize >= permits.len());
            prop_assert!(usage.waiting == 0 || usage.open == LIMIT, "somebody waits beside a free place");
        }
        drop((permits, tickets));
        prop_assert_eq!(pool.usage(0).open, 0);
        prop_assert_eq!(pool.usage(0).waiting, 0);
    }
}

#[test]
fn threads_never_exceed_the_limit_and_all_get_served() {
    const LIMIT: u32 = 4;
    let pool = Pool::new([server(0, "a", 1, LIMIT)]);
    let holding = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (pool, holding) = (&pool, &holding);
            scope.spawn(move || {
                for round in 0..2_000 {
                    let permit = match pool.choose(0, thread * 7 + round, |_| false) {
                        Choice::Granted(permit) => permit,
                        Choice::Busy => wait(pool.enqueue(0, 0).unwrap()),
                        Choice::NoServer => panic!("the server is online"),
                    };
                    assert!(holding.fetch_add(1, Ordering::SeqCst) < LIMIT as usize);
                    holding.fetch_sub(1, Ordering::SeqCst);
                    drop(permit);
                }
            });
        }
    });
    assert_eq!(pool.usage(0), Usage { servers: 1, available: 1, open: 0, allowed: 4, waiting: 0 });
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
        if let Some(permit) = ticket.poll_permit(&waker) {
            return permit;
        }
        std::thread::park();
    }
}
