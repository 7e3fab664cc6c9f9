//! What one session knows of the writes that its reads must see.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use config::CausalReads;
use gtid::{Gtid, Highest};

use super::tokens::Shared;

/// Applications that the statements of one transaction may name. Of further ones, reads do not wait
/// for what the transaction has written.
pub const NAMED_MAX: usize = 32;

/// The scopes that the writes of one session belong to.
#[derive(Debug, Default)]
pub struct Own {
    session: Arc<Shared>,
    user: Arc<Shared>,
    /// The application that the session has named at its login.
    home: Option<Arc<Shared>>,
    /// The application of the statement that runs, if that names one.
    named: Option<Arc<Shared>>,
    /// The applications that statements of the open transaction have named: its token comes with
    /// its end.
    open: Vec<Arc<Shared>>,
    proven: Cell<Option<Proof>>,
}

/// What the connection opened at a time is known to have: the tokens of a scope and a cluster when
/// the scope had this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    /// The scope.
    pub scope: CausalReads,
    /// The hostgroup of the cluster's writers.
    pub cluster: u32,
    /// The version of the scope.
    pub version: u64,
    /// When the connection was opened.
    pub opened: Instant,
}

impl Own {
    /// A session of these scopes.
    pub fn new(user: Arc<Shared>, application: Option<Arc<Shared>>) -> Self {
        Self { user, home: application, ..Self::default() }
    }

    /// The same for another session of the same client.
    #[must_use]
    pub fn for_inner(&self) -> Self {
        let session = Arc::clone(&self.session);
        Self { session, ..Self::new(Arc::clone(&self.user), self.home.clone()) }
    }

    /// The next statement belongs to this application, or to that of the session. Statements before
    /// it belong to the same transaction if that `goes_on`.
    pub fn name_application(&mut self, named: Option<Arc<Shared>>, goes_on: bool) {
        if !goes_on {
            self.open.clear();
        }
        if let Some(named) = &named
            && self.open.len() < NAMED_MAX
            && !self.open.iter().any(|open| Arc::ptr_eq(open, named))
        {
            self.open.push(Arc::clone(named));
        }
        if self.named.is_some() || named.is_some() {
            self.proven.set(None);
            self.named = named;
        }
    }

    /// Whether the statement that runs, or ran last, has named its application.
    pub const fn names_application(&self) -> bool {
        self.named.is_some()
    }

    /// A server of this cluster has acknowledged this transaction.
    pub fn note(&mut self, cluster: u32, gtid: Gtid) {
        for shared in self.scopes() {
            shared.raise(cluster, gtid);
        }
    }

    /// All scopes that the session's writes belong to; one may come twice.
    fn scopes(&self) -> impl Iterator<Item = &Arc<Shared>> {
        let named = [&self.home, &self.named].into_iter().flatten();
        [&self.session, &self.user].into_iter().chain(named).chain(&self.open)
    }

    /// What counts in a scope.
    fn shared(&self, scope: CausalReads) -> Option<&Arc<Shared>> {
        match scope {
            CausalReads::Off => None,
            CausalReads::Session => Some(&self.session),
            CausalReads::User => Some(&self.user),
            CausalReads::Application => {
                Some(self.named.as_ref().or(self.home.as_ref()).unwrap_or(&self.session))
            }
        }
    }

    /// The version of a scope's tokens, to be read before them.
    pub fn version(&self, scope: CausalReads) -> u64 {
        self.shared(scope).map_or(0, |shared| shared.version())
    }

    /// The transactions of a cluster that a read of this scope must see.
    pub fn tokens(&self, scope: CausalReads, cluster: u32) -> Highest {
        self.shared(scope).map(|shared| shared.tokens(cluster)).unwrap_or_default()
    }

    /// Whether the connection opened at this time is known to have all tokens of a scope and a
    /// cluster.
    pub fn is_proven(&self, scope: CausalReads, cluster: u32, opened: Instant) -> bool {
        self.proven.get() == Some(Proof { scope, cluster, version: self.version(scope), opened })
    }

    /// This is proven.
    pub fn prove(&self, proof: Proof) {
        self.proven.set(Some(proof));
    }

    /// Puts what is `left` of its origin in the place of a cluster's transaction that is `lost`.
    /// Returns whether a scope of the session had the lost one.
    pub fn replace_lost(&self, cluster: u32, lost: &Gtid, left: Option<Gtid>) -> bool {
        let mut is_replaced = false;
        for shared in self.scopes() {
            is_replaced |= shared.replace_lost(cluster, lost, left);
        }
        is_replaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gtid(text: &str) -> Gtid {
        text.parse().unwrap()
    }

    #[test]
    fn a_write_counts_in_all_scopes_of_its_session() {
        let (user, home, named) = (Arc::<Shared>::default(), Arc::<Shared>::default(), Arc::default());
        let mut own = Own::new(Arc::clone(&user), Some(Arc::clone(&home)));
        let other = Own::new(user, None);
        let inner = own.for_inner();
        own.note(10, gtid("0-1-1"));
        own.name_application(Some(Arc::clone(&named)), false);
        own.note(10, gtid("0-1-2"));
        let two = gtid("0-1-2");
        for scope in [CausalReads::Session, CausalReads::User, CausalReads::Application] {
            assert!(
                own.tokens(scope, 10).reaches(&two) && inner.tokens(scope, 10).reaches(&two),
                "{scope:?}"
            );
            assert!(own.tokens(scope, 20).is_empty(), "{scope:?}");
        }
        assert!(own.tokens(CausalReads::Off, 10).is_empty());
        assert!(named.tokens(10).reaches(&two) && home.tokens(10).reaches(&two));
        assert!(other.tokens(CausalReads::User, 10).reaches(&two));
        assert!(other.tokens(CausalReads::Session, 10).is_empty());
        assert!(other.tokens(CausalReads::Application, 10).is_empty(), "it has named none");
        assert!(own.replace_lost(10, &two, None) && !other.replace_lost(10, &two, None));
        let is_empty = |own: &Own, scope| own.tokens(scope, 10).is_empty();
        assert!(is_empty(&own, CausalReads::Session) && is_empty(&other, CausalReads::User));
    }

    #[test]
    fn a_transaction_counts_for_all_applications_that_its_statements_name() {
        let (one, two): (Arc<Shared>, Arc<Shared>) = (Arc::default(), Arc::default());
        let mut own = Own::default();
        own.name_application(Some(Arc::clone(&one)), false);
        own.name_application(Some(Arc::clone(&two)), true);
        own.name_application(Some(Arc::clone(&one)), true);
        // The statement that commits.
        own.name_application(None, true);
        own.note(10, gtid("0-1-1"));
        assert!([&one, &two].iter().all(|shared| shared.tokens(10).reaches(&gtid("0-1-1"))));
        // The one after that.
        own.name_application(None, false);
        own.note(10, gtid("0-1-2"));
        assert!([&one, &two].iter().all(|shared| !shared.tokens(10).reaches(&gtid("0-1-2"))));
        for _ in 0..2 * NAMED_MAX {
            own.name_application(Some(Arc::default()), true);
        }
        assert_eq!(own.open.len(), NAMED_MAX);
    }

    #[test]
    fn a_proof_holds_until_the_scope_changes() {
        let user = Arc::<Shared>::default();
        let mut own = Own::new(Arc::clone(&user), None);
        let (opened, scope) = (Instant::now(), CausalReads::User);
        let prove = |own: &Own| own.prove(Proof { scope, cluster: 10, version: own.version(scope), opened });
        assert!(!own.is_proven(scope, 10, opened));
        prove(&own);
        assert!(own.is_proven(scope, 10, opened));
        assert!(!own.is_proven(CausalReads::Session, 10, opened) && !own.is_proven(scope, 20, opened));
        user.raise(10, gtid("0-1-7"));
        assert!(!own.is_proven(scope, 10, opened));
        prove(&own);
        own.name_application(None, false);
        assert!(own.is_proven(scope, 10, opened));
        assert!(!own.names_application());
        own.name_application(Some(Arc::default()), false);
        assert!(own.names_application() && !own.is_proven(scope, 10, opened));
    }
}
