//! Sessions of a proxy in front that follows the binary log of the server through this one.
//!
//! That proxy asks about the log in a session that calls itself a replica (`COM_REGISTER_SLAVE`).
//! Such a session is bound to its connection and does not leave its hostgroup. What its server says
//! is of use in front only as long as all sessions of that proxy are at the same server:
//!
//! - The session ends before its next command if the server is not the only one that gets reads of
//!   its hostgroup: there are others, or the split sends reads to readers.
//! - From the first such session on that goes on, others of caching proxies leave servers of the
//!   hostgroup that take no new connections: those that are removed, and those with `OFFLINE_SOFT`.

use super::Session;
use super::facts::endings::told;
use super::facts::places::is_left_behind;
use super::state::{Past, SessionState};
use crate::ending::Ending;
use crate::error::{ClientError, Gone};
use crate::state::Pin;
use crate::worker::Worker;
use session::link::Loss;
use session::tier::Tier;
use upstream::{Backend, Target};

impl Session {
    /// Before a command: ends the session if a caching proxy is in front, and the session is bound
    /// to a server at which others are not.
    #[inline]
    pub(super) fn stay_with_others(&self) -> Result<(), Ending> {
        if self.state.identity.tier == Tier::Client { Ok(()) } else { self.judge_server() }
    }

    fn judge_server(&self) -> Result<(), Ending> {
        let Some(backend) = &self.links.in_use else { return Ok(()) };
        let (shared, hostgroup) = (&self.worker.shared, backend.server().hostgroup());
        let is_replica = self.state.past.contains(Past::REPLICA);
        if !is_replica && !shared.is_followed(hostgroup) {
            return Ok(());
        }
        let Loss::Session(pin) = self.links.loss(&self.state) else { return Ok(()) };
        let is_of_use = if is_replica {
            self.worker.is_any(backend, false) == Some(false)
                && !self.worker.has_readers(&self.state, hostgroup)
        } else {
            self.state.in_transaction() || !is_left_behind(&self.worker, &self.state, backend)
        };
        if is_of_use {
            // The server may have refused.
            if backend.connection().state().pins.holds(Pin::Replica) {
                shared.note_followed(hostgroup);
            }
            return Ok(());
        }
        Err(told(
            &self.worker,
            &self.control,
            &self.state,
            &ClientError::session_lost(backend.server().endpoint(), Gone::NotOnly, pin),
            1,
        ))
    }
}

impl Worker {
    /// Whether the split sends reads of the hostgroup elsewhere. A listener with a role that names
    /// the hostgroup does not.
    fn has_readers(&self, state: &SessionState, hostgroup: u32) -> bool {
        if state.account.listener.is_some_and(|listener| listener.hostgroup == Some(hostgroup)) {
            return false;
        }
        let routing = self.routing.borrow();
        let routes = routing.routes();
        routes.split_on && routes.pairs.reader(hostgroup).is_some()
    }
}

impl Worker {
    /// Whether a server of the hostgroup that takes new connections is this one, or is another one.
    /// Nothing if none takes any.
    pub(super) fn is_any(&self, backend: &Backend, this: bool) -> Option<bool> {
        let server = backend.server();
        let is_it =
            |one: &pool::Server<Target>| (one.endpoint().endpoint == server.endpoint().endpoint) == this;
        self.shared.upstream.pool.is_any(server.hostgroup(), is_it)
    }
}
