//! Histories of the query cache: readers and writers through one proxy in the mode `own`; in the
//! modes `strict` and `bounded` also writers through another proxy and at the server itself. All
//! are on one clock, and a [checker](e2e::history) finds each read that an exact cache would not
//! have answered so.
//!
//! Writers write in [many ways](load); each waits until readers have read some more, so that there
//! are hits between writes. At the end all cached texts are read once more, at rest. `make test`
//! has some seconds of it; `make history READS=10000000` as much as is wanted.
//!
//! That the checker can tell is shown twice: mutants of the rule, [without](rule) and
//! [with](logged) a followed log, in all orders of a write and some reads, and the same load with
//! the mode `ttl`.

mod crash;
mod failover;
mod faults;
mod flight;
mod frozen;
mod kills;
mod load;
mod logged;
mod pace;
mod reader;
mod relay;
mod reset;
mod round;
mod rule;
mod world;
mod writer;

use std::sync::LazyLock;
use std::time::Duration;

use e2e::history::Wrong;
use e2e::{Backend, on_each_server, run};
use world::World;

static DB: LazyLock<Backend> = LazyLock::new(|| Backend::start(&OPTIONS));
static MYSQL: LazyLock<Option<Backend>> = LazyLock::new(|| {
    let gtids = ["--gtid-mode=ON", "--enforce-gtid-consistency=ON"];
    Backend::start_mysql(&[&OPTIONS[..], &gtids].concat())
});

/// Writes do not wait for the disk: while they do, there are no hits. The log is there to be
/// followed.
const OPTIONS: [&str; 4] =
    ["--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0", "--log-bin=binlog", "--server-id=7"];

/// Reads of a round of `make test`.
const READS: usize = 30_000;
/// Reads of a round of `make history`.
const LONG_READS: usize = 50_000;
/// Reads of `make history`, if nothing else is said.
const TOTAL_READS: usize = 1_000_000;
/// How long `make soak-cache` takes, if nothing else is said.
const SECONDS: u64 = 600;
/// Hits of a hundred reads, at least: with fewer the cache was hardly used.
const HITS_PCT_MIN: usize = 20;

on_each_server! {
    c20_no_read_is_older_than_a_write_that_was_acknowledged,
    c20_no_strict_read_is_older_than_a_write_elsewhere,
    c20_no_bounded_read_is_older_than_the_bound,
    c20_no_answer_stays_old_behind_writers_that_are_killed,
    c20_no_answer_is_older_than_a_write_in_flight_that_is_seen,
    reads_of_the_mode_ttl_are_found_to_be_old,
}

#[test]
#[ignore = "takes minutes"]
fn long_on_mariadb() {
    long(&DB);
}

#[test]
#[ignore = "takes minutes"]
fn long_on_mysql() {
    if let Some(server) = e2e::mysql_or_skip(&MYSQL) {
        long(server);
    }
}

fn c20_no_read_is_older_than_a_write_that_was_acknowledged(server: &'static Backend) {
    let world = World::new(server, world::OWN);
    run(async {
        check(&world.round(READS).await);
        world.rest().await;
        check_use(world.hits().await, READS);
    });
}

fn c20_no_strict_read_is_older_than_a_write_elsewhere(server: &'static Backend) {
    elsewhere(server, world::STRICT);
}

fn c20_no_bounded_read_is_older_than_the_bound(server: &'static Backend) {
    elsewhere(server, world::BOUNDED);
}

fn elsewhere(server: &'static Backend, promise: world::Promise) {
    let world = World::new(server, promise);
    run(async {
        check(&world.round(READS).await);
        world.rest().await;
        check_use(world.hits().await, READS);
    });
}

#[test]
#[ignore = "takes minutes"]
fn soak_on_mariadb() {
    soak(&DB);
}

#[test]
#[ignore = "takes minutes"]
fn soak_on_mysql() {
    if let Some(server) = e2e::mysql_or_skip(&MYSQL) {
        soak(server);
    }
}

/// As many rounds as there is time for, and each fault in turn.
fn soak(server: &'static Backend) {
    let seconds = std::env::var("POINTSMAN_HISTORY_SECONDS").ok().map(|seconds| seconds.parse().unwrap());
    let end = std::time::Instant::now() + Duration::from_secs(seconds.unwrap_or(SECONDS));
    let step_by_step: [faults::Fault; 3] =
        [("frozen", frozen::frozen), ("prepared_before", frozen::prepared_before), ("reset", reset::reset)];
    let faults: Vec<_> = faults::ALL.iter().chain(crash::ALL).chain(&step_by_step).collect();
    let mut turn = 0;
    while std::time::Instant::now() < end {
        for promise in [world::STRICT, world::BOUNDED] {
            let world = World::new(server, promise);
            run(async {
                check(&world.round(LONG_READS).await);
                world.rest().await;
                check_use(world.hits().await, LONG_READS);
            });
            let (name, fault) = faults[turn % faults.len()];
            println!("{name}");
            faults::alone(server.is_mysql(), *fault);
            turn += 1;
        }
        faults::alone(server.is_mysql(), |first| failover::in_all_modes(first, server));
    }
}

/// As many rounds as it takes, writers that are killed, and the minute until there are hits again.
fn long(server: &'static Backend) {
    let total = std::env::var("POINTSMAN_HISTORY_READS").ok().map(|reads| reads.parse().unwrap());
    let world = World::new(server, world::OWN);
    let mut reads = 0;
    while reads < total.unwrap_or(TOTAL_READS) {
        run(async {
            check(&world.round(LONG_READS).await);
            world.rest().await;
            reads += LONG_READS;
            check_use(world.hits().await, reads);
        });
    }
    check(&run(world.with_kills()));
    run(world.wait_for_hits());
    run(world.rest());
}

fn c20_no_answer_stays_old_behind_writers_that_are_killed(server: &'static Backend) {
    let world = World::new(server, world::OWN_UNTIL_OLD);
    check(&run(world.with_kills()));
}

fn c20_no_answer_is_older_than_a_write_in_flight_that_is_seen(server: &'static Backend) {
    run(World::new(server, world::OWN_UNTIL_OLD).write_in_flight());
}

/// The checker is no good if it finds nothing here.
fn reads_of_the_mode_ttl_are_found_to_be_old(server: &'static Backend) {
    let world = World::new(server, world::TTL);
    let wrong = run(world.round(READS / 10));
    assert!(wrong.iter().any(|wrong| matches!(wrong, Wrong::Stale { .. })), "{wrong:?}");
}

fn check(wrong: &[Wrong]) {
    assert!(wrong.is_empty(), "{} reads are wrong: {:?}", wrong.len(), wrong.first());
}

fn check_use(hits: usize, reads: usize) {
    println!("{hits} of {reads} reads came from the cache");
    assert!(hits * 100 >= reads * HITS_PCT_MIN, "only {hits} of {reads} reads came from the cache");
}
