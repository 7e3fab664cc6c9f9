//! What is looked for in the query cache for a command: the key of its answer, and what makes the
//! answer too old.

use cache::{Key, Refusal};
use config::ProxyProtocol;

use super::state::SessionState;
use crate::cached::account_of;
use crate::worker::Worker;

impl Worker {
    /// The account that the session has at servers. `user` is that of its user alone, if it is
    /// known.
    pub(super) fn cache_account(&self, state: &SessionState, user: Option<Key>) -> Key {
        let (worker, state) = (self, state);
        let settings = worker.settings();
        // A server that gets the client's address may know the user as several accounts.
        let is_by_address =
            settings.config().server_options.iter().any(|one| one.proxy_protocol != ProxyProtocol::Off);
        let address = if is_by_address { state.client_addr.as_bytes() } else { &[] };
        user.filter(|_| !is_by_address)
            .unwrap_or_else(|| account_of(&worker.shared.cache, &state.caller, address))
    }
}

impl Worker {
    /// Fails if an answer from this hostgroup may be older than a write that a client of this proxy
    /// knows to have succeeded.
    pub(super) fn sees_own_writes(&self, hostgroup: u32) -> Result<(), Refusal> {
        let shared = &self.shared;
        let is_reader = self.settings().config().pairs().any(|(_, reader)| reader == hostgroup);
        if is_reader || shared.upstream.pool.has_choice(hostgroup, shared.uptime()) {
            return Err(Refusal::Replica);
        }
        if shared.cache.is_bypassed() { Err(Refusal::FastForward) } else { Ok(()) }
    }
}
