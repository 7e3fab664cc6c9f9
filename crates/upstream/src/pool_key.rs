//! Pool key of a connection to a server: the user that it has logged in as, and what was agreed on
//! in the login.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use session::identity::Identity;
use session::tier::Tier;
use session::users::User;
use wire::Capabilities;
use wire::command::Kind;

use crate::Worker;

/// What the login of a connection said, as far as it lasts.
#[derive(Debug)]
pub struct PoolKey {
    user: Arc<User>,
    collation: u16,
    capabilities: Capabilities,
    /// What an inner proxy takes this one for: the next login may not change that.
    tier: Tier,
    hash: u64,
}

impl PartialEq for PoolKey {
    /// Whether the connections of both are good for the same clients. After a change of a user's
    /// row, later logins do not use the old ones.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.user, &other.user)
            && self.collation == other.collation
            && self.capabilities == other.capabilities
            && self.tier == other.tier
    }
}

impl PoolKey {
    /// The pool key of the connections of this client.
    pub fn new(identity: &Identity) -> Self {
        let user = Arc::clone(&identity.account.user);
        // That there was a schema in a login matters only there.
        let capabilities = identity.server_capabilities() - Capabilities::CONNECT_WITH_DB;
        let (collation, tier) = (identity.collation, identity.announced_tier());
        // Not by its address: waiting sessions would be told in an order that differs in each run.
        let mut hasher = DefaultHasher::new();
        (&user.name, collation, capabilities.bits(), tier).hash(&mut hasher);
        Self { user, collation, capabilities, tier, hash: hasher.finish() }
    }

    /// Whether its user is still what the configuration says. Only sessions of before can use the
    /// connections of another one.
    pub(crate) fn is_current(&self, worker: &Worker) -> bool {
        Arc::ptr_eq(&self.user, &worker.settings().users.find(&self.user.name))
    }

    /// A number that pool keys have in common that are good for the same clients.
    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    /// What answers depend on.
    pub(crate) const fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// The collation that its logins ask for.
    pub(crate) const fn collation(&self) -> u16 {
        self.collation
    }
}

/// The payload of a `COM_QUERY`.
pub fn query(capabilities: Capabilities, text: impl AsRef<[u8]>) -> Vec<u8> {
    // No attributes, in the one set that there always is.
    let attributes: &[u8] = if capabilities.contains(Capabilities::QUERY_ATTRIBUTES) { &[0, 1] } else { &[] };
    [&[Kind::Query as u8][..], attributes, text.as_ref()].concat()
}
