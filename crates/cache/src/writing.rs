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
    Definitions(Definitions),
}

/// Definitions that are being changed: accounts prove again what they have proven, and definitions
/// are learnt again.
#[derive(Debug)]
struct Definitions {
    proven: Arc<Proven>,
    _write: Write,
}

impl Drop for Definitions {
    fn drop(&mut self) {
        self.proven.forget_all();
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
    /// One that may change rows of tables: `scope` is what that changes. As long as it runs, no
    /// answer is given that depends on these.
    pub fn of_rows(cache: &Arc<Cache>, scope: Scope) -> Self {
        Self::new(cache, What::Rows(cache.versions.begin_write(scope)))
    }

    /// The same for a transaction that the binary log of the server tells.
    pub fn of_log(cache: &Arc<Cache>, scope: Scope) -> Self {
        Self::new(cache, What::Rows(cache.versions.begin_logged(scope)))
    }

    /// One that may change what accounts may read: no answer is given as long as it runs.
    pub fn of_privileges(cache: &Arc<Cache>) -> Self {
        Self::new(cache, What::Privileges(PrivilegeChange::begin(&cache.proven, &cache.versions)))
    }

    /// One that may change definitions: a table has other columns or triggers, say. Accounts have
    /// to run digests themselves again, and no definition that was learnt before it ends counts.
    pub fn of_definitions(cache: &Arc<Cache>) -> Self {
        let write = cache.versions.begin_write(Scope::of_definitions());
        cache.proven.forget_all();
        let proven = Arc::clone(&cache.proven);
        Self::new(cache, What::Definitions(Definitions { proven, _write: write }))
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
        let mut any = Scope::new();
        any.add_any_write();
        let begin = || Writing::of_rows(&cache, Scope::of_write(&[1]));
        begin().end();
        assert!(cache.versions.moment(&any).is_some());
        drop(begin());
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
            drop(Writing::of_rows(&cache, Scope::of_unknown_write()));
        }
        assert_eq!(cache.unknown.lock().len(), UNKNOWN_MAX);
    }
}
