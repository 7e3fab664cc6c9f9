//! What `CACHE ADVISE` says of five loads, beside what a store then does with them.

use cache::advice::{Adviser, Asked, TTLS_MS};
use cache::{Answer, Form, Key, Keys, Life, Store, Versions};

/// Queries of a load.
const QUERIES: usize = 400_000;
/// Milliseconds that a load takes.
const TAKES_MS: u64 = 100_000;
/// Points of hit rate that an advice may be off.
const POINTS: f64 = 5.0;
/// Percent of the memory that is needed then by which an advice may be off.
const PERCENT: usize = 15;

/// Numbers that look random, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Keys of which number n is asked for in proportion to 1 / n^s.
#[expect(clippy::cast_precision_loss, reason = "few keys")]
fn zipf(keys: usize, s: f64) -> Vec<u64> {
    let mut sums = Vec::with_capacity(keys);
    let mut sum = 0.0;
    for n in 1..=keys {
        sum += (n as f64).powf(-s);
        sums.push(sum);
    }
    let mut numbers = Numbers(7);
    (0..QUERIES).map(|_| sums.partition_point(|at| *at < numbers.part() * sum) as u64).collect()
}

fn uniform(keys: u64) -> Vec<u64> {
    let mut numbers = Numbers(9);
    (0..QUERIES).map(|_| numbers.next() % keys).collect()
}

fn loads() -> [(&'static str, Vec<u64>); 5] {
    let mut numbers = Numbers(11);
    // Nine of ten queries are for a tenth of the keys.
    let hot = (0..QUERIES).map(|_| match numbers.next() % 10 {
        0 => 20_000 + numbers.next() % 180_000,
        _ => numbers.next() % 20_000,
    });
    [
        ("uniform", uniform(150_000)),
        ("hot tenth", hot.collect()),
        ("Zipf 0.8", zipf(200_000, 0.8)),
        ("Zipf 1.0", zipf(200_000, 1.0)),
        ("loop", (0..QUERIES as u64).map(|n| n % 60_000).collect()),
    ]
}

fn key(number: u64) -> Key {
    Keys::new([1, 2]).builder().number(number).finish()
}

/// Bytes of the reply of a key.
fn bytes(number: u64) -> usize {
    100 + usize::try_from(number * 2_654_435_761 % 400).expect("few")
}

fn at(n: usize) -> u64 {
    n as u64 * TAKES_MS / QUERIES as u64
}

/// Hits of a store with this budget.
fn hits(load: &[u64], budget: usize, ttl_ms: u64) -> usize {
    let store = Store::new(budget);
    let moment = Versions::default().moment(&cache::Scope::new()).expect("no write is in flight");
    let life = Life { ttl_ms: u32::try_from(ttl_ms).expect("short"), soft_ttl_ms: 0, stale_ms: 0 };
    let mut hits = 0;
    for (n, number) in load.iter().enumerate() {
        if store.get(key(*number), at(n), life, |_| true).is_ok() {
            hits += 1;
        } else {
            let mut reply = vec![1; bytes(*number) - 9];
            reply.extend([5, 0, 0, 7, 0xFE, 0, 0, 2, 0]);
            let answer = Answer::new(&reply, 20, cache::RowCounts::all(1), Form::Eof, 0).expect("a reply");
            let _ = store.put(key(*number), answer, at(n), life, moment);
        }
    }
    hits
}

#[expect(clippy::cast_precision_loss, reason = "few queries")]
fn percent(hits: usize) -> f64 {
    hits as f64 * 100.0 / QUERIES as f64
}

#[test]
fn advice_is_what_a_store_then_does() {
    for (name, load) in loads() {
        let adviser = Adviser::default();
        adviser.switch(true);
        for (n, number) in load.iter().enumerate() {
            let asked = Asked { key: key(*number), digest: 1, refusal: None };
            adviser.count(asked.digest);
            if asked.key.is_followed() {
                adviser.note(asked, at(n), Some((bytes(*number) as u64, 100)));
            }
        }
        let advice = adviser.advice(TAKES_MS).into_iter().next().expect("one digest");
        for (said, ttl_ms) in advice.hit_rates.iter().zip(TTLS_MS) {
            let is = percent(hits(&load, 1 << 30, ttl_ms));
            assert!((said * 100.0 - is).abs() < POINTS, "{name}, {ttl_ms} ms: {said} said, {is} %");
        }
        // With a little more memory there are nine tenths of the hits, with a little less not.
        let said = usize::try_from(advice.bytes).expect("few");
        let all = hits(&load, 1 << 30, TTLS_MS[1]);
        let part = |budget| percent(hits(&load, budget, TTLS_MS[1])) / percent(all);
        let (less, more) = (part(said * 100 / (100 + PERCENT)), part(said * 100 / (100 - PERCENT)));
        assert!(less < 0.9 && more >= 0.9, "{name}: {said} bytes said, {less:.3} and {more:.3} of the hits");
    }
}
