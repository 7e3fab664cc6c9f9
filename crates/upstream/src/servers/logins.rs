//! Logins of the proxy's own, as users of the configuration: for what no client has asked.

use std::sync::Arc;

use config::Endpoint;
use net::random;
use session::identity::{Identity, Stranger};
use session::users::{Options, User};
use wire::Peer;
use wire::auth::{Credential, Secret};

use crate::limits::LOGIN_USERS_MAX;
use crate::{Connection, OpenError, Target, Worker, open};

/// User that can log in to a server.
#[derive(Debug, Clone)]
pub struct Login {
    user: Arc<User>,
    secret: Secret,
}

impl Login {
    /// That of a user with this password.
    pub fn new(user: &Arc<User>, secret: &Secret) -> Self {
        Self { user: Arc::clone(user), secret: secret.clone() }
    }

    /// The user's name.
    pub fn name(&self) -> &[u8] {
        &self.user.name
    }

    /// Connects to a server and logs in, with this collation if it is not the usual one. The caller
    /// keeps the deadline.
    pub async fn open(
        &self,
        worker: &Worker,
        target: &Target,
        collation: Option<u16>,
    ) -> Result<Connection, OpenError> {
        let Self { user, secret } = self.clone();
        let stranger = Stranger { user, secret, peer: Peer::Local };
        let mut identity = Identity::of_proxy(worker.shared.connection_id(), stranger, random::nonce());
        identity.collation = collation.unwrap_or(identity.collation);
        open(worker, target, &identity).await
    }

    /// That of a user whose password is known.
    fn of(user: &Arc<User>) -> Option<Self> {
        let secret = match &user.credential {
            Credential::Empty => Secret::Empty,
            Credential::Clear(password) => Secret::Clear(password.clone()),
            Credential::Native(_) | Credential::CachingSha2(_) => return None,
        };
        Some(Self::new(user, &secret))
    }
}

/// The users that a server is asked as, those that are most likely let in first: one who has logged
/// in before, then some whose passwords are known and whom `is_wanted` names.
pub fn logins(worker: &Worker, endpoint: &Endpoint, is_wanted: impl Fn(&User) -> bool) -> Vec<Login> {
    let snapshot = worker.shared.configuration();
    let before = worker.shared.servers.login(endpoint);
    // The row may be another one meanwhile, or gone.
    let before = before.filter(|login| snapshot.users.find(login.name()).has(Options::FOR_SERVERS));
    let known = snapshot.users.iter().filter(|user| user.has(Options::FOR_SERVERS) && is_wanted(user));
    before.into_iter().chain(known.filter_map(Login::of)).take(LOGIN_USERS_MAX).collect()
}
