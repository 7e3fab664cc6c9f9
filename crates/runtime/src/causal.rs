//! What sessions share so that reads at readers see acknowledged writes.

use std::sync::Arc;

use config::Endpoint;
use session::causal::applied::{Applied, Machine};
use session::causal::own::Own;
use session::causal::tokens::{Scope, Tokens};
use session::identity::Identity;
use upstream::Connection;

/// The tokens of scopes, and what replicas are known to have applied.
#[derive(Debug, Default)]
pub struct Causal {
    /// Writes that were acknowledged.
    pub tokens: Tokens,
    /// What servers were seen to have.
    pub applied: Applied,
}

impl Causal {
    /// What a session of this client must see; nothing if that is nothing.
    pub fn own(&self, identity: &Identity) -> Option<Own> {
        if !identity.is_causal() {
            return None;
        }
        let user = self.tokens.of(Scope::User(Arc::clone(&identity.account.user.name)));
        let application = identity.application().map(|name| self.tokens.of(Scope::application(name)));
        Some(Own::new(user, application))
    }
}

/// The machine at the other end of a connection to `server`.
pub fn machine(server: &Endpoint, link: &Connection) -> Machine {
    (server.clone(), link.sock().peer_ip())
}

/// Whether a server is one of the writers of these readers: what a session has written there it
/// has.
pub fn is_writer_of(shared: &upstream::Shared, server: &Endpoint, writer: u32) -> bool {
    shared.pool.is_any(writer, |one| one.endpoint().endpoint == *server) == Some(true)
}
