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

use runtime::worker::Worker;
use upstream::{Backend, Target};

use crate::state::SessionState;

/// Whether the split sends reads of the hostgroup elsewhere. A listener with a role that names
/// the hostgroup does not.
pub(crate) fn has_readers(worker: &Worker, state: &SessionState, hostgroup: u32) -> bool {
    if state.account.listener.is_some_and(|listener| listener.hostgroup == Some(hostgroup)) {
        return false;
    }
    let routing = worker.routing.borrow();
    let routes = routing.routes();
    routes.split_on && routes.pairs.reader(hostgroup).is_some()
}

/// Whether a server of the hostgroup that takes new connections is this one, or is another one.
/// Nothing if none takes any.
pub(crate) fn is_any(worker: &Worker, backend: &Backend, this: bool) -> Option<bool> {
    let server = backend.server();
    let is_it = |one: &pool::Server<Target>| (one.endpoint().endpoint == server.endpoint().endpoint) == this;
    worker.shared.upstream.pool.is_any(server.hostgroup(), is_it)
}
