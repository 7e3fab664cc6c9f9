//! The table of a worker against a plain map, its budget, and what the paths of a query cost.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::hint::black_box;
use std::time::{Duration, Instant};

use super::report::Sums;
use super::*;
use crate::rows::DigestStats;

fn digests(budget: usize) -> Digests {
    let digests = Digests::new(7);
    digests.configure(budget, false);
    digests
}

fn names(user: &str) -> Names {
    Names { user: user.as_bytes().into(), schema: b"shop"[..].into(), client: Arc::default() }
}

fn done(us: u64) -> Done {
    Done {
        took: Duration::from_micros(us),
        rows_sent: 1,
        rows_affected: 2,
        bytes_sent: 3,
        bytes_received: 4,
        failed: us == 0,
    }
}

/// The hash of the digest with this number: evenly spread, as digests are.
fn hash(n: u64) -> u64 {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The text of the digest with this number.
fn text(n: u64) -> Vec<u8> {
    format!("SELECT c{n} FROM t WHERE id = ?").into_bytes()
}

/// Counts one execution from begin to end; whether there was room for it.
fn try_run(digests: &Digests, who: &Arc<Who>, hostgroup: u32, n: u64, us: u64, now_s: u64) -> bool {
    let text = text(n);
    let place = digests.table.borrow_mut().enter(who, hostgroup, hash(n), || text.into());
    if let Some(place) = place {
        digests.table.borrow_mut().note(place, &done(us), now_s);
    }
    place.is_some()
}

/// Counts one execution from begin to end.
fn run(digests: &Digests, who: &Arc<Who>, hostgroup: u32, n: u64, us: u64, now_s: u64) {
    try_run(digests, who, hostgroup, n, us, now_s);
}

/// All that is in a table, as readers see it, in slices of `n`.
fn read(digests: &Digests, n: u32) -> Vec<DigestStats> {
    let (mut sums, mut next) = (Sums::default(), Some(0));
    while let Some(from) = next {
        let (part, behind) = digests.table.borrow().slice(from, n, true);
        sums.add(part);
        next = behind;
    }
    sums.finish()
}

#[test]
fn counts_are_those_of_a_plain_map() {
    let digests = digests(usize::MAX);
    let users = [names("a"), names("b")].map(|names| digests.who(names));
    let random = RandomState::new();
    let mut expected: HashMap<(u32, u8, u64), (u64, u64)> = HashMap::new();
    for now_s in 0..20_000 {
        let roll = random.hash_one(now_s);
        let (user, hostgroup) = (usize::from(roll & 1 == 1), u32::from(roll & 2 == 2));
        let (n, us) = (roll >> 40 & 0x7ff, roll >> 54);
        assert!(try_run(&digests, &users[user], hostgroup, n, us, now_s));
        let (count, sum) = expected.entry((hostgroup, b"ab"[user], n)).or_default();
        (*count, *sum) = (*count + 1, *sum + us);
    }
    let rows = read(&digests, 100);
    assert_eq!(rows.len(), expected.len());
    for ((hostgroup, user, n), (count, sum_us)) in expected {
        let is_it =
            |row: &&DigestStats| row.hostgroup == hostgroup && *row.user == [user] && row.digest == hash(n);
        let row = rows.iter().find(is_it).unwrap();
        assert_eq!((row.count, row.sum_us, &*row.text), (count, sum_us, &*text(n)));
        assert_eq!((row.rows_sent, row.rows_affected, row.bytes_sent), (count, 2 * count, 3 * count));
        assert_eq!(&*row.schema, b"shop");
    }
    let of = |row: &DigestStats| (row.digest, row.hostgroup, row.user.clone());
    assert!(rows.is_sorted_by_key(of), "in the same order each time");
}

#[test]
fn c29_memory_stays_within_the_budget_and_what_is_used_stays() {
    const BUDGET: usize = 256 * 1024;
    let digests = digests(BUDGET);
    let who = digests.who(names("a"));
    for n in 0..100_000 {
        run(&digests, &who, 0, 1_000 + n, n, n);
        // Ten digests that are used all the time.
        run(&digests, &who, 0, n % 10, 100, n);
        assert!(digests.table.borrow().size().bytes <= BUDGET as u64);
    }
    let size = digests.table.borrow().size();
    let rows = read(&digests, 1_000);
    assert_eq!((rows.len() as u64, size.entries + size.evicted), (size.entries, 100_010));
    assert!(size.entries > 500, "{size:?}");
    for n in 0..10 {
        let row = rows.iter().find(|row| row.digest == hash(n)).unwrap();
        assert_eq!(row.count, 10_000, "counted from the beginning on");
    }
}

#[test]
fn what_is_pushed_out_is_counted_nowhere() {
    let digests = digests(64 * 1024);
    let who = digests.who(names("a"));
    let place = digests.table.borrow_mut().enter(&who, 0, hash(1), || b"SELECT ?"[..].into()).unwrap();
    (2..10_000).for_each(|n| run(&digests, &who, 0, n, 1, 1));
    let before = read(&digests, 100);
    digests.table.borrow_mut().note(place, &done(5), 1);
    assert_eq!(read(&digests, 100), before);
    assert!(before.iter().all(|row| row.digest != hash(1)));
}

#[test]
fn an_emptied_table_takes_no_memory() {
    let digests = digests(usize::MAX);
    for user in ["a", "b"] {
        let who = digests.who(names(user));
        for n in 0..5_000 {
            run(&digests, &who, u32::from(n % 2 == 0), n / 3, n, 0);
            run(&digests, &who, u32::from(n % 2 == 0), n / 3, 1_000_000, 0);
        }
    }
    digests.configure(0, false);
    while digests.table.borrow().size().entries > 0 {
        digests.trim();
    }
    assert_eq!(digests.table.borrow().size().bytes, 0, "what was added was taken off again");
    assert_eq!(read(&digests, 1), [], "there are no places to look at");
    assert_eq!(digests.table.borrow().slice(0, 1, false).1, None, "nor is memory kept for any");
    let who = digests.who(names("a"));
    assert!(!try_run(&digests, &who, 0, 1, 1, 1), "there is no room for anything");
    digests.configure(1 << 20, false);
    assert!(try_run(&digests, &who, 0, 1, 1, 1));
}

#[test]
fn a_text_that_is_too_long_is_not_kept() {
    let digests = digests(64 * 1024);
    let who = digests.who(names("a"));
    run(&digests, &who, 0, 1, 1, 1);
    let long = vec![b'x'; 64 * 1024];
    assert_eq!(digests.table.borrow_mut().enter(&who, 0, 2, || long.into()), None);
    assert!(digests.table.borrow().size().bytes <= 64 * 1024);
    assert!(try_run(&digests, &who, 0, 3, 1, 1), "others have room");
}

#[test]
fn what_runs_while_all_is_taken_is_counted_afterwards() {
    let digests = digests(usize::MAX);
    let who = digests.who(names("a"));
    (0..1_000).for_each(|n| run(&digests, &who, 0, n, 5, 1));
    let mut running = [5, 2_000]
        .map(|n| digests.table.borrow_mut().enter(&who, 0, hash(n), || b"SELECT ?"[..].into()).unwrap());
    let stale = running[0];
    let taken = digests.take(|renew| running = running.map(|place| renew(place).unwrap()));
    let mut sums = Sums::default();
    sums.add_table(&taken, true);
    let before = sums.finish();
    assert_eq!((before.len(), before.iter().map(|row| row.count).sum::<u64>()), (1_000, 1_000));
    assert_eq!(read(&digests, 10), [], "nothing has ended yet");
    for place in running {
        digests.table.borrow_mut().note(place, &done(7), 2);
    }
    digests.table.borrow_mut().note(stale, &done(9), 3);
    let after = read(&digests, 10);
    assert_eq!(after.iter().map(|row| (row.count, row.sum_us)).collect::<Vec<_>>(), [(1, 7); 2]);
    assert!(after.iter().any(|row| *row.text == *text(5)), "the text came along");
}

#[test]
fn workers_are_put_together() {
    let (first, second) = (digests(usize::MAX), digests(usize::MAX));
    // Numbers of users differ from worker to worker.
    second.who(names("z"));
    run(&first, &first.who(names("a")), 1, 1, 10, 100);
    run(&first, &first.who(names("a")), 1, 1, 30, 101);
    run(&second, &second.who(names("a")), 1, 1, 20, 99);
    run(&second, &second.who(names("b")), 1, 1, 20, 98);
    let mut sums = Sums::default();
    for digests in [&first, &second] {
        sums.add(digests.table.borrow().slice(0, 10, true).0);
    }
    let rows = sums.finish();
    assert_eq!((rows.len(), &*rows[0].user, &*rows[1].user), (2, &b"a"[..], &b"b"[..]));
    let row = &rows[0];
    assert_eq!((row.count, row.sum_us, row.min_us, row.max_us), (3, 60, 10, 30));
    assert_eq!((row.first_seen, row.last_seen, row.percentiles_us[0]), (99, 101, 20));
}

/// Nanoseconds per call, the best of a hundred rounds: others use the machine as well.
fn nanoseconds(rounds: u32, mut work: impl FnMut(u32)) -> f64 {
    let round = |_| {
        let start = Instant::now();
        (0..rounds).for_each(&mut work);
        start.elapsed().as_secs_f64() * 1e9 / f64::from(rounds)
    };
    (0..100).map(round).fold(f64::INFINITY, f64::min)
}

#[test]
#[ignore = "prints times; run it in a release build"]
fn what_a_statement_costs() {
    for entries in [1_u64, 100, 10_000, 100_000] {
        let digests = digests(usize::MAX);
        let who = digests.who(names("a"));
        (0..entries).for_each(|n| run(&digests, &who, 0, n, 5, 1));
        let both = nanoseconds(20_000, |round| {
            let n = u64::from(round).wrapping_mul(7_919) % entries;
            let place = digests.table.borrow_mut().enter(&who, 0, black_box(hash(n)), Arc::default).unwrap();
            let us = 90 + u64::from(round % 64);
            digests.table.borrow_mut().note(black_box(place), &done(us), 2);
        });
        println!("{entries:>7} digests: {both:.1} ns for both");
    }
    let digests = digests(16 << 20);
    let who = digests.who(names("a"));
    let (mut n, mut longest, start) = (0, Duration::ZERO, Instant::now());
    for _ in 0..1_000_000 {
        let begin = Instant::now();
        n += 1;
        run(&digests, &who, 0, n, 5, 1);
        longest = longest.max(begin.elapsed());
    }
    let mean = start.elapsed() / 1_000_000;
    println!("always new ones: {mean:?} each, longest {longest:?}, {:?}", digests.table.borrow().size());
    let begin = Instant::now();
    let slice = digests.table.borrow().slice(0, 256, true);
    println!("a slice of {}: {:?}", slice.0.len(), begin.elapsed());
    let begin = Instant::now();
    let taken = digests.take(|_| ());
    println!("taking {:?} away: {:?}", taken.size(), begin.elapsed());
}
