//! Hit rates of the store beside those of LRU and SIEVE, on requests that are generated, and on
//! public traces where `POINTSMAN_CACHE_TRACES` names a folder that has them.
//!
//! The traces are OLTP, P3, P6 and P12 of N. Megiddo and D. S. Modha, "ARC: A Self-Tuning, Low
//! Overhead Replacement Cache", USENIX FAST 03: lines of `first_page number_of_pages ...`.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use cache::{Answer, Form, Keys, Life, Store, Versions};

/// Bytes of a reply.
const PACKETS: usize = 200;
/// Points of hit rate that the store may be below the best of the others.
const POINTS: f64 = 1.5;

fn answer() -> Answer {
    let mut reply = vec![1; PACKETS - 9];
    reply.extend([5, 0, 0, 7, 0xFE, 0, 0, 2, 0]);
    Answer::new(&reply, 20, cache::RowCounts::all(1), Form::Eof, 0).expect("a reply")
}

/// Hit rate of the store, in percent, and the answers that it holds at the end.
fn of_store(requests: &[u32], entries: usize) -> (f64, usize) {
    // By what an answer costs, as many as `entries` fit.
    let bytes_each = {
        let probe = Store::new(1 << 30);
        let keys = Keys::new([1, 2]);
        let moment = Versions::default().moment(&cache::Scope::new()).expect("no write is in flight");
        for number in 0..entries as u64 {
            let key = keys.builder().number(number).finish();
            probe.put(key, answer(), 0, LIFE, moment).expect("room");
        }
        usize::try_from(probe.usage().bytes).expect("few") / entries
    };
    let store = Store::new(entries * bytes_each);
    let keys = Keys::new([1, 2]);
    let moment = Versions::default().moment(&cache::Scope::new()).expect("no write is in flight");
    let mut hits = 0;
    for page in requests {
        let key = keys.builder().number(u64::from(*page)).finish();
        if store.get(key, 0, LIFE, |_| true).is_ok() {
            hits += 1;
        } else {
            store.put(key, answer(), 0, LIFE, moment).expect("room");
        }
    }
    (percent(hits, requests.len()), usize::try_from(store.usage().entries).expect("few"))
}

const LIFE: Life = Life { ttl_ms: 1_000_000, soft_ttl_ms: 0, stale_ms: 0 };

#[expect(clippy::cast_precision_loss, reason = "numbers of requests")]
fn percent(hits: usize, of: usize) -> f64 {
    hits as f64 * 100.0 / of as f64
}

/// Entries in the order of their last insertion, each with whether it was asked for since.
struct Lists {
    next: Vec<u32>,
    before: Vec<u32>,
    visited: Vec<bool>,
    page: Vec<u32>,
    at: HashMap<u32, u32>,
    newest: u32,
    oldest: u32,
}

const NONE: u32 = u32::MAX;

impl Lists {
    fn new(entries: usize) -> Self {
        Self {
            next: vec![NONE; entries],
            before: vec![NONE; entries],
            visited: vec![false; entries],
            page: vec![NONE; entries],
            at: HashMap::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    fn unlink(&mut self, slot: u32) {
        let (next, before) = (self.next[slot as usize], self.before[slot as usize]);
        match next {
            NONE => self.newest = before,
            next => self.before[next as usize] = before,
        }
        match before {
            NONE => self.oldest = next,
            before => self.next[before as usize] = next,
        }
    }

    fn push(&mut self, slot: u32) {
        self.before[slot as usize] = self.newest;
        self.next[slot as usize] = NONE;
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.next[newest as usize] = slot,
        }
        self.newest = slot;
    }
}

/// Hit rate in percent of a cache that tells `hit` of each slot that is asked for, and asks
/// `victim` for the slot of a new page when it is full.
fn of_lists(
    requests: &[u32],
    entries: usize,
    hit: impl Fn(&mut Lists, u32),
    mut victim: impl FnMut(&mut Lists) -> u32,
) -> f64 {
    let (mut lists, mut hits) = (Lists::new(entries), 0);
    for page in requests {
        if let Some(slot) = lists.at.get(page).copied() {
            hits += 1;
            hit(&mut lists, slot);
            continue;
        }
        let slot = if lists.at.len() == entries {
            let slot = victim(&mut lists);
            lists.unlink(slot);
            lists.at.remove(&lists.page[slot as usize]);
            slot
        } else {
            u32::try_from(lists.at.len()).expect("few")
        };
        lists.page[slot as usize] = *page;
        lists.at.insert(*page, slot);
        lists.push(slot);
    }
    percent(hits, requests.len())
}

fn of_lru(requests: &[u32], entries: usize) -> f64 {
    let hit = |lists: &mut Lists, slot| {
        lists.unlink(slot);
        lists.push(slot);
    };
    of_lists(requests, entries, hit, |lists| lists.oldest)
}

fn of_sieve(requests: &[u32], entries: usize) -> f64 {
    let mut hand = NONE;
    let victim = |lists: &mut Lists| {
        let mut slot = if hand == NONE { lists.oldest } else { hand };
        while std::mem::take(&mut lists.visited[slot as usize]) {
            slot = lists.next[slot as usize];
            if slot == NONE {
                slot = lists.oldest;
            }
        }
        hand = lists.next[slot as usize];
        slot
    };
    of_lists(requests, entries, |lists, slot| lists.visited[slot as usize] = true, victim)
}

fn compare(name: &str, requests: &[u32], entries: usize) {
    let (store, held) = of_store(requests, entries);
    let (lru, sieve) = (of_lru(requests, entries), of_sieve(requests, entries));
    println!(
        "{name}, {entries} entries ({held} held): store {store:.1} %, LRU {lru:.1} %, SIEVE {sieve:.1} %"
    );
    assert!(
        store >= lru.max(sieve) - POINTS,
        "{name}, {entries} entries: {store:.1} % of {lru:.1}, {sieve:.1}"
    );
}

/// Numbers that look like chance, the same in each run.
fn numbers() -> impl FnMut() -> u64 {
    let mut state = 42u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

/// Pages of which few are asked for often: the page is about `pages` to the power of a number
/// between 0 and 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "pages"
)]
fn skewed(next: &mut impl FnMut() -> u64, pages: f64) -> u32 {
    pages.powf((next() >> 11) as f64 / (1u64 << 53) as f64) as u32
}

#[test]
fn hit_rates_are_near_the_best_on_skewed_requests() {
    let mut next = numbers();
    let requests: Vec<u32> = (0..200_000).map(|_| skewed(&mut next, 50_000.0)).collect();
    compare("skewed", &requests, 1000);
}

#[test]
fn hit_rates_are_near_the_best_where_scans_pass() {
    let mut next = numbers();
    let request = |at: u32, next: &mut dyn FnMut() -> u64| match at % 4000 {
        0..2000 => skewed(&mut || next(), 20_000.0),
        offset => 1_000_000 + at / 4000 * 2000 + offset,
    };
    let requests: Vec<u32> = (0..200_000).map(|at| request(at, &mut next)).collect();
    compare("scans", &requests, 1000);
}

#[test]
fn hit_rates_are_near_the_best_on_loops() {
    let mut next = numbers();
    let request = |at: u32, next: &mut dyn FnMut() -> u64| match at % 2 {
        0 => 1_000_000 + at / 2 % 3000,
        _ => skewed(&mut || next(), 20_000.0),
    };
    let requests: Vec<u32> = (0..200_000).map(|at| request(at, &mut next)).collect();
    compare("loops", &requests, 2000);
}

/// The pages of a trace.
fn read(path: &Path) -> Vec<u32> {
    let file = std::fs::File::open(path).expect("a trace");
    let lines = BufReader::new(zstd::Decoder::new(file).expect("zstd")).lines();
    let mut pages = Vec::new();
    for line in lines {
        let line = line.expect("text");
        let mut words = line.split_ascii_whitespace().filter_map(|word| word.parse::<u32>().ok());
        if let (Some(first), Some(count)) = (words.next(), words.next()) {
            pages.extend(first..first + count);
        }
    }
    pages
}

#[test]
fn hit_rates_are_near_the_best_on_public_traces() {
    let Some(folder) = std::env::var_os("POINTSMAN_CACHE_TRACES") else {
        println!("skipped: POINTSMAN_CACHE_TRACES names no folder");
        return;
    };
    for name in ["OLTP", "P3", "P6", "P12"] {
        let requests = read(&Path::new(&folder).join(format!("{name}.lis.zst")));
        let different = requests.iter().collect::<std::collections::HashSet<_>>().len();
        for percent in [5, 10] {
            compare(name, &requests, different * percent / 100);
        }
    }
}
