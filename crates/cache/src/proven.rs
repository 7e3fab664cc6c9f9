//! Which accounts have run which digests.
//!
//! Whether a server lets an account run a statement depends on the tables, columns and routines in
//! it, and so on its digest: values do not matter. So an account that has run a digest itself may
//! have answers to it that others have fetched, until privileges change.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::key::Key;
use crate::versions::{Moment, Scope, Versions, Write};

/// Proofs at most; beyond that all are forgotten, and accounts prove anew.
const PROOFS_MAX: usize = 65_536;

/// How long a proof counts, in milliseconds: privileges that are changed elsewhere are noticed
/// after it.
const PROOF_AGE_MAX_MS: u64 = 300_000;

/// The proofs of a process: hashes of account, schema and digest.
#[derive(Debug, Default)]
pub struct Proven {
    /// With the time of each, in milliseconds.
    proofs: Mutex<HashMap<Key, u64>>,
    /// How often they were forgotten.
    epoch: AtomicU64,
}

impl Proven {
    /// Until when this counts as proven, in milliseconds; nothing if it was not proven lately, or
    /// not since privileges were changed last.
    #[must_use]
    pub fn until(&self, proof: Key, now_ms: u64) -> Option<u64> {
        self.lock().get(&proof).map(|since| since + PROOF_AGE_MAX_MS).filter(|until| now_ms < *until)
    }

    /// An account has run a digest; the query was sent at `moment`, its answer has come now.
    pub fn add(&self, proof: Key, versions: &Versions, moment: Moment, now_ms: u64) {
        let mut proofs = self.lock();
        // Behind the lock: a change of privileges or definitions forgets all, and then allows
        // answers again.
        if !versions.have_same_definitions(moment) {
            return;
        }
        if proofs.len() >= PROOFS_MAX {
            self.forget(&mut proofs);
        }
        proofs.insert(proof, now_ms);
    }

    /// What was proven holds as long as this is the same.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch.load(Acquire)
    }

    pub(crate) fn forget_all(&self) {
        self.forget(&mut self.lock());
    }

    fn forget(&self, proofs: &mut HashMap<Key, u64>) {
        self.epoch.fetch_add(1, Release);
        proofs.clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, u64>> {
        self.proofs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A change of privileges in flight: no answer is served, and none from before it is served later.
#[derive(Debug)]
#[must_use = "the change ends when this is dropped"]
pub(crate) struct PrivilegeChange {
    proven: Arc<Proven>,
    _write: Write,
}

impl PrivilegeChange {
    pub(crate) fn begin(proven: &Arc<Proven>, versions: &Arc<Versions>) -> Self {
        Self { proven: Arc::clone(proven), _write: versions.begin_write(Scope::all()) }
    }
}

impl Drop for PrivilegeChange {
    fn drop(&mut self) {
        self.proven.forget_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Keys;

    #[test]
    fn proofs_end_with_a_change_of_privileges() {
        let (proven, versions) = (Arc::<Proven>::default(), Arc::<Versions>::default());
        let proof = Keys::new([1, 2]).builder().finish();
        let has = |now_ms| proven.until(proof, now_ms).is_some();
        let moment = versions.moment(&Scope::new()).unwrap();
        proven.add(proof, &versions, moment, 7);
        assert!(has(7) && has(6 + PROOF_AGE_MAX_MS));
        assert!(!has(7 + PROOF_AGE_MAX_MS), "privileges may have been changed elsewhere");
        let change = PrivilegeChange::begin(&proven, &versions);
        assert_eq!(versions.moment(&Scope::new()), None, "nothing is served meanwhile");
        drop(change);
        assert!(!has(7));
        proven.add(proof, &versions, moment, 7);
        assert!(!has(7), "it was sent before the change");
    }
}
