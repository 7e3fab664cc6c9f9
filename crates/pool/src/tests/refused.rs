//! Servers that refuse connections because they have too many, fewer than the pool would open, and
//! limits that are lowered.

use super::*;
use crate::server::PAUSE;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

type Leases = Lease<&'static str, ()>;

fn choose(pool: &Pool<&'static str>, account: usize, now: Duration) -> Choice<&'static str> {
    pool.choose_with(0, 0, Some(account), now, |_| false, |_| false)
}

fn enqueue(
    pool: &Pool<&'static str>,
    account: usize,
    since: Duration,
    now: Duration,
) -> Ticket<&'static str> {
    pool.enqueue_since(0, 0, Some(account), since, now).unwrap()
}

/// The permit's connection is made at once.
fn made(permit: Permit<&'static str>, now: Duration) -> Leases {
    permit.note_made(now, now);
    Lease::new((), permit)
}

fn reason(pool: &Pool<&'static str>, now: Duration) -> String {
    pool.explain(0, now)[0].reason.to_string()
}

#[test]
fn a_server_that_is_full_means_no_more_than_now() {
    let pool = pool_of([server(0, "a", 1, 1000)]);
    let lease = made(granted(choose(&pool, 1, ms(10))), ms(10));
    let refused = granted(choose(&pool, 2, ms(20)));
    assert!(refused.note_refused(false, ms(20)), "that is worth a line of the log");
    drop(refused);
    assert!(matches!(choose(&pool, 3, ms(30)), Choice::Busy) && pool.works(0, ms(30)));
    let why =
        "it has refused a connection 10.0ms ago because it has too many, the next one is tried in 90.0ms";
    assert_eq!(reason(&pool, ms(30)), why);
    assert_eq!(pool.find(0, &"a").unwrap().status(), Status::Online, "it is not shunned");
    // Who has been refused comes before those who have come later.
    let mut later = enqueue(&pool, 3, ms(30), ms(30));
    let mut first = enqueue(&pool, 2, ms(15), ms(31));
    assert_eq!(first.look(ms(31)), Some(ms(89)));
    assert!(later.poll_turn(Waker::noop()).is_none() && first.poll_turn(Waker::noop()).is_none());
    assert!(lease.is_in_the_way(), "if it ended, somebody could have another one");
    // One attempt, and the next one when that has succeeded.
    first.look(ms(120));
    let attempt = permit(&mut first);
    assert!(later.poll_turn(Waker::noop()).is_none());
    let second = made(attempt, ms(121));
    let third = made(permit(&mut later), ms(122));
    drop((lease, second, third));
    assert!(reason(&pool, ms(20_000)).starts_with("by weight"));
}

#[test]
fn a_connection_that_ends_makes_room_at_once() {
    let pool = pool_of([server(0, "a", 1, 1000)]);
    let lease = made(granted(choose(&pool, 1, NOW)), NOW);
    let refused = granted(choose(&pool, 2, NOW));
    refused.note_refused(false, NOW);
    let mut waiting = enqueue(&pool, 2, NOW, NOW);
    drop(refused);
    assert!(waiting.poll_turn(Waker::noop()).is_none(), "an attempt that has failed does not");
    drop(lease);
    permit(&mut waiting);
}

#[test]
fn a_server_that_is_full_of_others_connections_does_not_work() {
    let pool = pool_of([server(0, "a", 1, 1000)]);
    granted(choose(&pool, 1, NOW)).note_refused(false, NOW);
    assert!(!pool.works(0, NOW) && pool.works(0, PAUSE));
}

#[test]
fn those_of_other_accounts_pass_one_that_has_all_that_the_server_gives_it() {
    let pool = pool_of([server(0, "a", 1, 2)]);
    let own = made(granted(choose(&pool, 1, NOW)), NOW);
    granted(choose(&pool, 1, NOW)).note_refused(true, NOW);
    assert!(matches!(choose(&pool, 1, NOW), Choice::Busy));
    let mut first = enqueue(&pool, 1, NOW, NOW);
    let mut other = enqueue(&pool, 2, NOW, NOW);
    let others = made(permit(&mut other), NOW);
    assert!(first.poll_turn(Waker::noop()).is_none());
    assert!(own.is_in_the_way());
    drop(others);
    assert!(first.poll_turn(Waker::noop()).is_none(), "that was not of its account");
    drop(own);
    permit(&mut first);
}

#[test]
fn another_configuration_is_tried_at_once() {
    let pool = pool_of([server(0, "a", 1, 1000)]);
    granted(choose(&pool, 1, NOW)).note_refused(false, NOW);
    replace(&pool, [server(0, "a", 1, 20)]);
    granted(choose(&pool, 1, NOW));
}

#[test]
fn free_connections_of_a_server_that_is_shunned_are_used_if_there_is_no_other() {
    let pool = pool_of([server(0, "a", 1, 9), server(0, "b", 1, 1)]);
    let id = pool.find(0, &"a").unwrap().id();
    pool.mark(0, &"a", Mark::Failed, NOW);
    let choose = || pool.choose_with(0, 0, None, ms(10), |_| false, |server| server == id);
    let other = granted(choose());
    assert_eq!(*other.server().endpoint(), "b");
    assert!(matches!(choose(), Choice::Spare(server) if *server.endpoint() == "a"));
    pool.mark(0, &"a", Mark::Down, NOW);
    assert!(matches!(choose(), Choice::Busy), "nobody can use those of one that does not answer");
}

#[test]
fn a_lease_sees_that_the_limit_was_lowered() {
    let pool = pool_of([server(0, "a", 1, 9)]);
    let mut leases: Vec<_> = (0..3).map(|_| made(granted(choose(&pool, 1, NOW)), NOW)).collect();
    assert!(!leases[0].server().has_surplus());
    replace(&pool, [server(0, "a", 1, 2)]);
    assert!(leases[0].server().has_surplus());
    let _waiting = enqueue(&pool, 1, NOW, NOW);
    assert!(leases[0].is_in_the_way());
    leases.pop();
    assert!(!leases[0].server().has_surplus() && leases[0].is_in_the_way());
}

proptest! {
    /// Whatever the server's own limit is and whatever sessions do, it is never exceeded, and all
    /// of them are served in time.
    #[test]
    fn all_are_served_in_turn_by_a_server_with_a_limit_of_its_own(
        limit in 1..5usize,
        steps in prop::collection::vec((0..4u8, 0..3usize, 0..60u64, 0..8usize), 0..120),
    ) {
        let pool = pool_of([server(0, "a", 1, 1000)]);
        let (mut leases, mut tickets, mut now): (Vec<Leases>, Vec<_>, _) = (Vec::new(), Vec::new(), NOW);
        let attempt = |permit: Permit<&'static str>, leases: &mut Vec<Leases>, now| {
            if leases.len() < limit {
                leases.push(made(permit, now));
                return true;
            }
            permit.note_refused(false, now);
            false
        };
        for (what, account, step, at) in steps {
            now += ms(step);
            match what {
                0 => match choose(&pool, account, now) {
                    Choice::Granted(permit) => drop(attempt(permit, &mut leases, now)),
                    choice => prop_assert!(matches!(choice, Choice::Busy)),
                },
                1 => tickets.push((account, now, enqueue(&pool, account, now, now))),
                2 if at < leases.len() => drop(leases.remove(at)),
                _ => {}
            }
            prop_assert_eq!(pool.find(0, &"a").unwrap().made() as usize, leases.len());
        }
        let mut rounds = 4 * tickets.len() + 4;
        while let Some((_, _, first)) = tickets.first() {
            prop_assert!(rounds > 0, "somebody is not served");
            rounds -= 1;
            leases.pop();
            now += PAUSE;
            first.look(now);
            let mut later = Vec::new();
            for (account, since, mut ticket) in tickets.drain(..) {
                match ticket.poll_turn(Waker::noop()) {
                    None => later.push((account, since, ticket)),
                    Some(Turn::Granted(permit)) => {
                        drop(ticket);
                        if !attempt(permit, &mut leases, now) {
                            later.push((account, since, enqueue(&pool, account, since, now)));
                        }
                    }
                    Some(turn) => panic!("the server is online, got {turn:?}"),
                }
            }
            tickets = later;
        }
        drop(leases);
        prop_assert_eq!(pool.usage(0).open, 0);
        prop_assert_eq!(pool.find(0, &"a").unwrap().made(), 0);
    }
}
