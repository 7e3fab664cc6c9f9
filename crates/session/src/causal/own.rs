//! What one session knows of the writes that its reads must see.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use config::CausalReads;
use gtid::{Gtid, Highest};

use super::tokens::Shared;

/// The transactions of one session, and the scopes that they belong to.
#[derive(Debug, Default)]
pub struct Own {
    highest: Highest,
    /// How often the session's own tokens have changed.
    version: u64,
    user: Option<Arc<Shared>>,
    /// The application that the session has named at its login.
    home: Option<Arc<Shared>>,
    /// The application of the statement that runs, if that names one.
    named: Option<Arc<Shared>>,
    /// What the connection opened at this time is known to have: the tokens of a scope when it had
    /// this version.
    proven: Cell<Option<(CausalReads, u64, Instant)>>,
}

impl Own {
    /// A session of these scopes.
    pub fn new(user: Arc<Shared>, application: Option<Arc<Shared>>) -> Self {
        Self { user: Some(user), home: application, ..Self::default() }
    }

    /// The next statement belongs to this application, or to that of the session.
    pub fn name_application(&mut self, named: Option<Arc<Shared>>) {
        if self.named.is_some() || named.is_some() {
            self.proven.set(None);
            self.named = named;
        }
    }

    /// A server has acknowledged this transaction.
    pub fn note(&mut self, gtid: Gtid) {
        self.version += u64::from(self.highest.raise(gtid));
        for shared in [&self.user, &self.home, &self.named].into_iter().flatten() {
            shared.raise(gtid);
        }
    }

    /// What the sessions of a scope have in common; nothing where the session's own tokens count.
    fn shared(&self, scope: CausalReads) -> Option<&Arc<Shared>> {
        match scope {
            CausalReads::Off | CausalReads::Session => None,
            CausalReads::User => self.user.as_ref(),
            CausalReads::Application => self.named.as_ref().or(self.home.as_ref()),
        }
    }

    /// The version of a scope's tokens, to be read before them.
    pub fn version(&self, scope: CausalReads) -> u64 {
        self.shared(scope).map_or(self.version, |shared| shared.version())
    }

    /// The transactions that a read of this scope must see.
    pub fn tokens(&self, scope: CausalReads) -> Highest {
        match (scope, self.shared(scope)) {
            (CausalReads::Off, _) => Highest::default(),
            (_, Some(shared)) => shared.tokens(),
            (_, None) => self.highest.clone(),
        }
    }

    /// Whether the connection opened at this time is known to have all tokens of a scope.
    pub fn is_proven(&self, scope: CausalReads, opened: Instant) -> bool {
        self.proven.get() == Some((scope, self.version(scope), opened))
    }

    /// The connection opened at this time has the tokens that the scope had at this version.
    pub fn prove(&self, scope: CausalReads, version: u64, opened: Instant) {
        self.proven.set(Some((scope, version, opened)));
    }

    /// Drops a transaction that is lost. Returns whether a scope of the session had it.
    pub fn drop_lost(&mut self, gtid: &Gtid) -> bool {
        let is_own = self.highest.retain(|held| held != gtid) > 0;
        self.version += u64::from(is_own);
        let scopes = [&self.user, &self.home, &self.named].into_iter().flatten();
        scopes.fold(is_own, |dropped, shared| shared.drop_lost(gtid) || dropped)
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
        let mut other = Own::new(user, None);
        own.note(gtid("0-1-1"));
        own.name_application(Some(Arc::clone(&named)));
        own.note(gtid("0-1-2"));
        for scope in [CausalReads::Session, CausalReads::User, CausalReads::Application] {
            assert!(own.tokens(scope).reaches(&gtid("0-1-2")), "{scope:?}");
        }
        assert!(own.tokens(CausalReads::Off).is_empty());
        assert!(named.tokens().reaches(&gtid("0-1-2")) && home.tokens().reaches(&gtid("0-1-2")));
        assert!(other.tokens(CausalReads::User).reaches(&gtid("0-1-2")));
        assert!(other.tokens(CausalReads::Session).is_empty());
        assert!(other.tokens(CausalReads::Application).is_empty(), "it has named none");
        assert!(own.drop_lost(&gtid("0-1-2")) && !other.drop_lost(&gtid("0-1-2")));
        assert!(own.tokens(CausalReads::Session).is_empty() && other.tokens(CausalReads::User).is_empty());
    }

    #[test]
    fn a_proof_holds_until_the_scope_changes() {
        let user = Arc::<Shared>::default();
        let mut own = Own::new(Arc::clone(&user), None);
        let (now, scope) = (Instant::now(), CausalReads::User);
        assert!(!own.is_proven(scope, now));
        own.prove(scope, own.version(scope), now);
        assert!(own.is_proven(scope, now) && !own.is_proven(CausalReads::Session, now));
        user.raise(gtid("0-1-7"));
        assert!(!own.is_proven(scope, now));
        own.prove(scope, own.version(scope), now);
        own.name_application(None);
        assert!(own.is_proven(scope, now));
        own.name_application(Some(Arc::default()));
        assert!(!own.is_proven(scope, now));
    }
}
