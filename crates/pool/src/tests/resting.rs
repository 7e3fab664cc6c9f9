//! Connections that nobody uses: how many there may be, and for how long.

use super::*;

fn lease(pool: &Pool<&'static str>) -> Lease<&'static str, u8> {
    Lease::new(0, granted(pool.choose(0, 0, NOW, |_| false)))
}

fn percent(resting_percent: u32) -> impl Fn(u32) -> Policy {
    move |_| Policy { resting_percent, ..Policy::default() }
}

#[test]
fn only_so_many_rest() {
    let pool = Pool::new([server(0, "a", 1, 10)], percent(20));
    let leases: Vec<_> = (0..4).map(|_| lease(&pool)).collect();
    assert!(leases.iter().all(Lease::could_rest));
    let (mut resting, mut refused) = (Vec::new(), Vec::new());
    for lease in leases {
        match lease.rest() {
            Ok(rest) => resting.push(rest),
            Err(lease) => refused.push(lease),
        }
    }
    assert_eq!((resting.len(), refused.len()), (2, 2), "20 % of 10");
    assert!(!refused.iter().any(Lease::could_rest));
    let usage = pool.usage(0);
    assert_eq!((usage.open, usage.resting), (4, 2));
    drop(refused);
    let awake = resting.pop().unwrap().wake();
    assert_eq!((pool.usage(0).open, pool.usage(0).resting), (2, 1));
    assert!(awake.rest().is_ok(), "there is room again");
    drop(resting);
    assert_eq!((pool.usage(0).open, pool.usage(0).resting), (0, 0));
}

#[test]
fn none_rests_where_none_may() {
    for (connections, resting_percent) in [(10, 0), (9, 10)] {
        let pool = Pool::new([server(0, "a", 1, connections)], percent(resting_percent));
        assert!(lease(&pool).rest().is_err(), "{resting_percent} % of {connections}");
    }
}

#[test]
fn none_rests_while_somebody_waits() {
    let pool = Pool::new([server(0, "a", 1, 2)], percent(100));
    let (first, second) = (lease(&pool).rest().unwrap(), lease(&pool));
    assert!(first.may_rest());
    let mut ticket = pool.enqueue(0, 0, NOW).unwrap();
    assert!(!first.may_rest(), "somebody waits for its permit");
    let second = second.rest().unwrap_err();
    drop(first);
    drop(permit(&mut ticket));
    drop(ticket);
    assert!(second.rest().is_ok());
}

#[test]
fn none_rests_at_a_server_that_takes_none() {
    let pool = Pool::new([server(0, "a", 1, 10)], percent(100));
    let (resting, used) = (lease(&pool).rest().unwrap(), lease(&pool));
    for status in [Status::OfflineSoft, Status::OfflineHard, Status::Shunned] {
        pool.replace([ServerSpec { status, ..server(0, "a", 1, 10) }], percent(100));
        assert!(!resting.is_of_use() && !resting.may_rest(), "{status:?}");
    }
    let used = used.rest().unwrap_err();
    pool.replace([], percent(100));
    assert!(!resting.is_of_use());
    drop((resting, used));
    assert_eq!(pool.usage(0), Usage::default());
}

#[test]
fn threads_never_rest_more_than_may() {
    let pool = Pool::new([server(0, "a", 1, 8)], percent(25));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..2_000 {
                    let rest = lease(&pool).rest();
                    assert!(pool.usage(0).resting <= 2);
                    drop(rest);
                }
            });
        }
    });
    assert_eq!((pool.usage(0).open, pool.usage(0).resting), (0, 0));
}
