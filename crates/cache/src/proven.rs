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

/// A proof that is younger than this counts for a proxy in front as well, in milliseconds. There it
/// counts for the other half of `PROOF_AGE_MAX_MS`.
pub const PROOF_PASSED_ON_MS: u64 = PROOF_AGE_MAX_MS / 2;

/// Who has let an account have the answer to a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProvenBy {
    /// The server.
    Server,
    /// The cache of a proxy behind this one, by a proof younger than [`PROOF_PASSED_ON_MS`].
    Cache,
}

/// The proofs of a process: hashes of account, schema and digest.
#[derive(Debug, Default)]
pub struct Proven {
    /// With the end of each, in milliseconds.
    proofs: Mutex<HashMap<Key, u64>>,
    /// How often they were forgotten.
    epoch: AtomicU64,
}

impl Proven {
    /// Until when this counts as proven, in milliseconds; nothing if it was not proven lately, or
    /// not since privileges were changed last.
    #[must_use]
    pub fn until(&self, proof: Key, now_ms: u64) -> Option<u64> {
        self.lock().get(&proof).copied().filter(|until| now_ms < *until)
    }

    /// An account has run a digest; the query was sent at `moment`, its answer has come now.
    pub fn add(&self, proof: Key, versions: &Versions, moment: Moment, now_ms: u64, by: ProvenBy) {
        let mut proofs = self.lock();
        // Behind the lock: a change of privileges or definitions forgets all, and then allows
        // answers again.
        if !versions.have_same_definitions(moment) {
            return;
        }
        if proofs.len() >= PROOFS_MAX {
            self.forget(&mut proofs);
        }
        let age_ms = if by == ProvenBy::Cache { PROOF_PASSED_ON_MS } else { 0 };
        let until = proofs.entry(proof).or_default();
        *until = (*until).max(now_ms + PROOF_AGE_MAX_MS - age_ms);
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
        proven.add(proof, &versions, moment, 7, ProvenBy::Server);
        assert!(has(7) && has(6 + PROOF_AGE_MAX_MS));
        assert!(!has(7 + PROOF_AGE_MAX_MS), "privileges may have been changed elsewhere");
        let change = PrivilegeChange::begin(&proven, &versions);
        assert_eq!(versions.moment(&Scope::new()), None, "nothing is served meanwhile");
        drop(change);
        assert!(!has(7));
        proven.add(proof, &versions, moment, 7, ProvenBy::Server);
        assert!(!has(7), "it was sent before the change");
    }

    #[test]
    fn a_proof_of_two_caches_counts_as_long_as_one() {
        let (proven, versions) = (Proven::default(), Versions::default());
        let proof = Keys::new([1, 2]).builder().finish();
        let moment = versions.moment(&Scope::new()).unwrap();
        let add = |now_ms, by| proven.add(proof, &versions, moment, now_ms, by);
        add(7, ProvenBy::Cache);
        assert_eq!(proven.until(proof, 7), Some(7 + PROOF_AGE_MAX_MS - PROOF_PASSED_ON_MS));
        assert_eq!(proven.until(proof, 7 + PROOF_PASSED_ON_MS), None, "not passed on again");
        add(8, ProvenBy::Server);
        add(9, ProvenBy::Cache);
        assert_eq!(proven.until(proof, 9), Some(8 + PROOF_AGE_MAX_MS));
    }
}
