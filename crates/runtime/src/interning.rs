//! Interning: equal values of a worker's sessions are kept once. Thousands of clients wait, and few
//! of them differ.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use route::{Account, Caller};

use crate::limits::INTERNED_MAX;
use crate::state::gtids::Tracking;
use crate::state::{Setting, Settings};
use crate::users::Options;
use session::identity::Identity;
use upstream::PoolKey;
use wire::Peer;

/// What a session begins with.
#[derive(Debug)]
pub struct Beginning {
    /// What the user's row and the listener say.
    pub account: Rc<Account>,
    /// Whom the rules see.
    pub caller: Arc<Caller>,
    /// What is set before its client has set anything.
    pub settings: Rc<Settings>,
}

/// Interned values: what the last sessions that began have in common.
#[derive(Debug, Default)]
pub struct Interned {
    accounts: Last<Rc<Account>>,
    callers: Last<Arc<Caller>>,
    pool_keys: Last<Rc<PoolKey>>,
    settings: Rc<Settings>,
    /// The same where something is set at first.
    firsts: Last<Rc<Settings>>,
}

impl Interned {
    /// What the session of this client begins with, for which the user's row and the listener say
    /// `account`.
    pub fn beginning(&self, identity: &Identity, account: Account) -> Beginning {
        let schema = identity.account.schema.as_deref().unwrap_or_default();
        Beginning {
            account: self.accounts.share(Rc::new(account)),
            caller: self.callers.share(Arc::new(caller(identity, schema))),
            settings: match with_first(identity, &self.settings) {
                Some(first) => self.firsts.share(Rc::new(first)),
                None => Rc::clone(&self.settings),
            },
        }
    }

    /// The sessions that the connections of this client are good for.
    pub fn pool_key(&self, identity: &Identity) -> Rc<PoolKey> {
        self.pool_keys.share(Rc::new(PoolKey::new(identity)))
    }

    /// Forgets accounts, callers and pool keys: a new configuration has others.
    pub fn clear(&self) {
        self.accounts.0.borrow_mut().clear();
        self.callers.0.borrow_mut().clear();
        self.pool_keys.0.borrow_mut().clear();
    }
}

/// `settings`, and what the sessions of this client begin with; nothing if that is nothing.
pub fn with_first(identity: &Identity, settings: &Settings) -> Option<Settings> {
    let user = &identity.account.user;
    let isolation = user.isolation.filter(|_| !user.has(Options::FAST_FORWARD));
    let tracked = identity.tracking().by_default.then(|| Tracking::with_first(settings));
    let Some(level) = isolation else { return tracked };
    let mut settings = tracked.unwrap_or_else(|| settings.clone());
    let text = format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", level.name());
    settings.set(Setting { key: "transaction_isolation".into(), text: text.into_bytes().into() });
    Some(settings)
}

/// Whom the rules see in a session of this client that is in this schema.
pub fn caller(identity: &Identity, schema: &[u8]) -> Caller {
    let user = &identity.account.user.name;
    match identity.peer {
        Peer::Tcp(addresses) => {
            let listener = addresses.destination();
            Caller::new(user, schema, &listener.ip().to_canonical().to_string(), listener.port())
        }
        Peer::Local => Caller::new(user, schema, "", 0),
    }
}

/// The last different values, at most [`INTERNED_MAX`], in the order in which they were used.
#[derive(Debug)]
struct Last<T>(RefCell<VecDeque<T>>);

impl<T> Default for Last<T> {
    fn default() -> Self {
        Self(RefCell::default())
    }
}

impl<T: Clone + PartialEq> Last<T> {
    /// The one of them that is equal to `value`, or this one.
    fn share(&self, value: T) -> T {
        let mut all = self.0.borrow_mut();
        let at = all.iter().position(|one| *one == value);
        let shared = at.and_then(|at| all.remove(at)).unwrap_or(value);
        all.truncate(INTERNED_MAX - 1);
        all.push_front(shared.clone());
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one() {
        let last = Last::default();
        let first = last.share(Rc::new(1));
        last.share(Rc::new(2));
        assert!(Rc::ptr_eq(&first, &last.share(Rc::new(1))));
    }

    #[test]
    fn a_value_that_no_session_had_for_long_is_forgotten() {
        let last = Last::default();
        let first = last.share(Rc::new(0));
        for value in 1..=INTERNED_MAX {
            last.share(Rc::new(value));
        }
        assert_eq!(last.0.borrow().len(), INTERNED_MAX);
        assert!(!Rc::ptr_eq(&first, &last.share(Rc::new(0))));
    }
}
