//! What definitions, proofs and names say about a statement, worked out once for its digest.
//!
//! A worker has one [`Memo`]. What it holds counts as long as no definition and no privilege has
//! changed: then a lookup takes no lock, allocates nothing, and hashes no name.

use std::cell::Cell;
use std::rc::Rc;

use crate::key::Key;
use crate::proven::Proven;
use crate::refusal::Refusal;
use crate::versions::{Moment, Scope, Versions};

/// Statements that a worker remembers, at most. A statement has one place; another one with the
/// same place takes it.
const PLACES: usize = 1024;

/// What depends on more than this is not remembered: a worker has 512 KiB of memo at most.
const SLOTS_MAX: usize = 64;

/// What was found out depends on this, and on nothing else that does not change with definitions,
/// privileges or the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About<P> {
    /// The digest, which tells all tables.
    pub digest: u64,
    /// The account.
    pub account: Key,
    /// What the session has set, with its schema.
    pub class: Key,
    /// The hostgroup of the answer, and the one that is asked for definitions.
    pub hostgroups: [u32; 2],
    /// What rules want.
    pub policy: P,
    /// Whether the digest tells names besides.
    pub tells_names: bool,
}

/// What was found out about a statement.
#[derive(Debug)]
pub struct Said {
    /// What its answer is invalidated by.
    pub scope: Scope,
    /// What shows that the account may run it, where that has to be shown.
    pub proof: Option<Key>,
    /// Why its answer is not cached.
    pub refusal: Option<Refusal>,
    /// Until when it is known that the account has proven it, in milliseconds.
    proven_until_ms: Cell<u64>,
}

impl Said {
    /// What an answer is invalidated by, and what the account has to prove.
    #[must_use]
    pub const fn new(scope: Scope, proof: Option<Key>) -> Self {
        Self { scope, proof, refusal: None, proven_until_ms: Cell::new(0) }
    }

    /// The answer is not cached, because of this.
    #[must_use]
    pub const fn refused(refusal: Refusal) -> Self {
        Self { scope: Scope::new(), proof: None, refusal: Some(refusal), proven_until_ms: Cell::new(0) }
    }

    /// Whether the account may have the answer now. It is to be asked in the epoch of proofs in
    /// which this was found out.
    pub fn is_proven(&self, proven: &Proven, now_ms: u64) -> bool {
        let Some(proof) = self.proof else { return true };
        if now_ms >= self.proven_until_ms.get() {
            let Some(until) = proven.until(proof, now_ms) else { return false };
            self.proven_until_ms.set(until);
        }
        true
    }
}

/// For how long something counts that was found out.
#[derive(Debug, Clone, Copy)]
pub struct Validity {
    /// The [epoch](Proven::epoch) of proofs before it was found out.
    pub epoch: u64,
    /// When it was found out; no definition may have changed since.
    pub moment: Moment,
    /// When definitions are to be asked for again, in milliseconds.
    pub until_ms: u64,
}

/// What one worker remembers.
#[derive(Debug)]
pub struct Memo<P>(Vec<Option<Place<P>>>);

#[derive(Debug)]
struct Place<P> {
    about: About<P>,
    validity: Validity,
    said: Rc<Said>,
}

impl<P> Default for Memo<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P: Copy + PartialEq> Memo<P> {
    /// What is known about a statement at `now_ms`, in this epoch of proofs.
    #[must_use]
    #[inline]
    pub fn get(
        &self,
        about: &About<P>,
        (epoch, now_ms): (u64, u64),
        versions: &Versions,
    ) -> Option<&Rc<Said>> {
        let place = self.0.get(place(about))?.as_ref()?;
        let Validity { epoch: since, moment, until_ms } = place.validity;
        let counts = place.about == *about
            && since == epoch
            && now_ms < until_ms
            && versions.have_same_definitions(moment);
        counts.then_some(&place.said)
    }

    /// Remembers what was found out, unless it is long.
    pub fn put(&mut self, about: About<P>, validity: Validity, said: Rc<Said>) {
        if said.scope.len() > SLOTS_MAX {
            return;
        }
        if self.0.is_empty() {
            self.0.resize_with(PLACES, || None);
        }
        if let Some(entry) = self.0.get_mut(place(&about)) {
            *entry = Some(Place { about, validity, said });
        }
    }

    /// Forgets everything: the configuration is another one.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the remainder is below PLACES")]
const fn place<P>(about: &About<P>) -> usize {
    // All three are hashes.
    ((about.digest ^ about.account.low ^ about.class.low.rotate_left(7)) % PLACES as u64) as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::key::Keys;
    use crate::proven::ProvenBy;

    fn about(digest: u64) -> About<u8> {
        let key = Keys::new([1, 2]).builder().finish();
        About { digest, account: key, class: key, hostgroups: [1, 1], policy: 7, tells_names: true }
    }

    #[test]
    fn what_was_found_out_counts_until_something_changes() {
        let versions = Arc::<Versions>::default();
        let mut memo = Memo::default();
        let put = |memo: &mut Memo<u8>| {
            let moment = versions.moment(&Scope::of_definitions()).unwrap();
            let validity = Validity { epoch: 3, moment, until_ms: 100 };
            memo.put(about(1), validity, Rc::new(Said::refused(Refusal::Volatile)));
        };
        let knows = |memo: &Memo<u8>, about: About<u8>, epoch, now_ms| {
            memo.get(&about, (epoch, now_ms), &versions).is_some()
        };
        put(&mut memo);
        assert!(knows(&memo, about(1), 3, 99));
        assert!(!knows(&memo, about(1), 3, 100), "definitions are to be asked for again");
        assert!(!knows(&memo, about(1), 4, 99), "proofs were forgotten");
        for other in [
            About { policy: 8, ..about(1) },
            About { hostgroups: [1, 2], ..about(1) },
            About { tells_names: false, ..about(1) },
            About { digest: 1 + PLACES as u64, ..about(1) },
        ] {
            assert!(!knows(&memo, other, 3, 99), "{other:?}");
        }
        versions.flush(Scope::of_write(&[1]));
        assert!(knows(&memo, about(1), 3, 99), "a write changes no definition");
        for change in [Scope::of_definitions(), Scope::all()] {
            put(&mut memo);
            let write = versions.begin_write(change);
            assert!(!knows(&memo, about(1), 3, 99), "one is being changed");
            drop(write);
            assert!(!knows(&memo, about(1), 3, 99), "one was changed");
        }
    }

    #[test]
    fn there_is_a_limit() {
        let place = size_of::<Option<Place<[u64; 3]>>>() + size_of::<Said>() + 16 + 2 * SLOTS_MAX;
        assert!(PLACES * place < 512 << 10, "{place} bytes");
        let versions = Arc::<Versions>::default();
        let moment = versions.moment(&Scope::of_definitions()).unwrap();
        let mut memo = Memo::default();
        let mut many = Scope::new();
        (0..=SLOTS_MAX as u64).for_each(|hash| many.add(hash));
        let validity = Validity { epoch: 0, moment, until_ms: 1 };
        memo.put(about(0), validity, Rc::new(Said::new(many, None)));
        assert!(memo.get(&about(0), (0, 0), &versions).is_none());
        let count = 3 * PLACES as u64;
        for digest in 0..count {
            let said = Rc::new(Said::new(Scope::new(), None));
            memo.put(about(digest), validity, said);
        }
        let known = (0..count).filter(|digest| memo.get(&about(*digest), (0, 0), &versions).is_some());
        assert_eq!(known.count(), PLACES);
    }

    #[test]
    fn a_proof_is_asked_for_once() {
        let (proven, versions) = (Proven::default(), Arc::<Versions>::default());
        let proof = Keys::new([1, 2]).builder().finish();
        let said = Said::new(Scope::new(), Some(proof));
        assert!(!said.is_proven(&proven, 7));
        proven.add(proof, &versions, versions.moment(&Scope::new()).unwrap(), 7, ProvenBy::Server);
        assert!(said.is_proven(&proven, 7));
        let until = said.proven_until_ms.get();
        assert!(said.is_proven(&Proven::default(), until - 1), "no other one is asked");
        assert!(!said.is_proven(&proven, until));
    }
}
