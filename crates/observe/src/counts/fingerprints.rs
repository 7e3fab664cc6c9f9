//! Statements that looked like injected SQL, by their fingerprint.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use sql::injection::Fingerprint;

use crate::rows::InjectionStats;

/// Those of one worker. There are no more of them than the detector has fingerprints.
#[derive(Debug, Default)]
pub struct Fingerprints(RefCell<HashMap<Fingerprint, Seen>>);

/// What is known of statements with one fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// While it was not listed.
    found: u64,
    /// While it was.
    passed: u64,
    /// The hash of the digest of one of them; 0 if none had one.
    digest: u64,
}

impl Fingerprints {
    /// Counts a statement with this fingerprint, which is listed or not, and the hash of its
    /// digest.
    pub fn note(&self, fingerprint: Fingerprint, is_listed: bool, digest: u64) {
        let mut all = self.0.borrow_mut();
        let seen = all.entry(fingerprint).or_default();
        *(if is_listed { &mut seen.passed } else { &mut seen.found }) += 1;
        if digest != 0 {
            seen.digest = digest;
        }
    }

    /// All of them, ready to travel.
    pub fn list(&self) -> Vec<(Fingerprint, Seen)> {
        self.0.borrow().iter().map(|(fingerprint, seen)| (*fingerprint, *seen)).collect()
    }
}

/// Those of all workers together, by how they are written.
pub fn sum(workers: impl IntoIterator<Item = Vec<(Fingerprint, Seen)>>) -> Vec<InjectionStats> {
    let mut sums: BTreeMap<String, Seen> = BTreeMap::new();
    for (fingerprint, seen) in workers.into_iter().flatten() {
        let sum = sums.entry(fingerprint.to_string()).or_default();
        sum.found += seen.found;
        sum.passed += seen.passed;
        if seen.digest != 0 {
            sum.digest = seen.digest;
        }
    }
    let row =
        |(fingerprint, Seen { found, passed, digest })| InjectionStats { fingerprint, found, passed, digest };
    sums.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_of_all_workers_are_added() {
        let (first, second) = (Fingerprints::default(), Fingerprints::default());
        let [select, union] = ["Enknk", "sUEnk"].map(|text| Fingerprint::new(text).unwrap());
        first.note(union, false, 7);
        first.note(select, false, 5);
        second.note(select, true, 0);
        second.note(select, true, 0);
        let row = |fingerprint: &str, found, passed, digest| InjectionStats {
            fingerprint: fingerprint.to_owned(),
            found,
            passed,
            digest,
        };
        let sums = sum([first.list(), second.list()]);
        assert_eq!(sums, [row("Enknk", 1, 2, 5), row("sUEnk", 1, 0, 7)]);
    }
}
