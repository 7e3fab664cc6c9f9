//! Statements in flight that may make answers too old.
//!
//! A statement counts from before it is sent until its reply is known. If its connection is lost
//! before that, the server may still be working at it: then it counts for a while longer.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cache::Cache;
use crate::proven::{PrivilegeChange, Proven};
use crate::versions::{Scope, Write};

/// A statement whose end is not known counts for so many sweeps, which are a second apart.
const UNKNOWN_SWEEPS: usize = 60;
/// Such statements at most: beyond that the oldest ones count no longer.
const UNKNOWN_MAX: usize = 4096;

/// What it may change.
#[derive(Debug)]
#[expect(dead_code, reason = "it matters when they are dropped")]
enum What {
    Rows(Write),
    Privileges(PrivilegeChange),
    Proofs(Proofs),
}

/// Definitions that are being changed: who has proven something proves it again.
#[derive(Debug)]
struct Proofs(Arc<Proven>);

impl Drop for Proofs {
    fn drop(&mut self) {
        self.0.forget_all();
    }
}

/// A statement in flight. It ends with [`Self::end`]; dropped, it has an end that is not known.
#[derive(Debug)]
#[must_use = "a statement that is dropped counts for a minute"]
pub struct Writing {
    cache: Arc<Cache>,
    what: Option<What>,
}

impl Writing {
    /// One that may change rows of any table: as long as it runs, no answer is given that no write
    /// may make too old.
    pub fn of_rows(cache: &Arc<Cache>) -> Self {
        let write = cache.versions.begin_write(Scope::of_any_write());
        Self::new(cache, What::Rows(write))
    }

    /// One that may change what accounts may read: no answer is given as long as it runs.
    pub fn of_privileges(cache: &Arc<Cache>) -> Self {
        Self::new(cache, What::Privileges(PrivilegeChange::begin(&cache.proven, &cache.versions)))
    }

    /// One after which accounts have to run digests themselves again: a table has other columns,
    /// say.
    pub fn of_proofs(cache: &Arc<Cache>) -> Self {
        cache.proven.forget_all();
        Self::new(cache, What::Proofs(Proofs(Arc::clone(&cache.proven))))
    }

    fn new(cache: &Arc<Cache>, what: What) -> Self {
        Self { cache: Arc::clone(cache), what: Some(what) }
    }

    /// Its reply is known.
    pub fn end(mut self) {
        self.what = None;
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if let Some(what) = self.what.take() {
            self.cache.unknown.add(self.cache.sweeps(), what);
        }
    }
}

/// Statements whose end is not known, each with the number of the sweep before.
#[derive(Debug, Default)]
pub(crate) struct Unknown(Mutex<VecDeque<(usize, What)>>);

impl Unknown {
    fn add(&self, sweep: usize, what: What) {
        let mut all = self.lock();
        if all.len() >= UNKNOWN_MAX {
            all.pop_front();
        }
        all.push_back((sweep, what));
    }

    /// Forgets those that have counted long enough.
    pub(crate) fn sweep(&self, sweep: usize) {
        let mut all = self.lock();
        while all.pop_front_if(|(since, _)| sweep.wrapping_sub(*since) >= UNKNOWN_SWEEPS).is_some() {}
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(usize, What)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c20_a_write_whose_end_is_not_known_counts_for_a_while() {
        let cache = Arc::new(Cache::new([1, 2], 1 << 20));
        let any = Scope::of_any_write();
        Writing::of_rows(&cache).end();
        assert!(cache.versions.moment(&any).is_some());
        drop(Writing::of_rows(&cache));
        for _ in 0..UNKNOWN_SWEEPS {
            assert_eq!(cache.versions.moment(&any), None);
            cache.sweep(0);
        }
        cache.sweep(0);
        assert!(cache.versions.moment(&any).is_some());
    }

    #[test]
    fn c29_there_is_an_end_to_what_is_not_known() {
        let cache = Arc::new(Cache::new([1, 2], 1 << 20));
        for _ in 0..UNKNOWN_MAX + 9 {
            drop(Writing::of_rows(&cache));
        }
        assert_eq!(cache.unknown.lock().len(), UNKNOWN_MAX);
    }
}
