//! Connections for mirrored copies of statements, which wait for the next copy of the same user in
//! the same schema.

use std::cell::RefCell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use pool::Quota;
use session::identity::Identity;
use tokio::time::Instant;
use wire::Capabilities;

use crate::Worker;
use crate::limits::{COPY_IDLE_CONNECTIONS_MAX, COPY_IDLE_MAX};
use crate::{Backend, Target, part};

/// Connections without a copy.
#[derive(Debug, Default)]
pub struct Copies(RefCell<Vec<Connection>>);

#[derive(Debug)]
struct Connection {
    login: CopyLogin,
    backend: Backend,
    since: Instant,
}

/// Where a connection goes, and as whom it is logged in.
#[derive(Debug)]
pub struct CopyLogin {
    /// The worker's configuration when it was opened. Another one may name other servers, or say
    /// that this one is to be left.
    version: u64,
    hostgroup: u32,
    identity: Box<Identity>,
}

impl CopyLogin {
    /// Of the configuration with this number, for a server of this hostgroup.
    pub const fn new(version: u64, hostgroup: u32, identity: Box<Identity>) -> Self {
        Self { version, hostgroup, identity }
    }

    /// Whom a server is told that it is, with an id that no client has.
    pub fn identity(&self, connection_id: u32) -> Box<Identity> {
        self.identity.for_copies(connection_id, self.identity.account.schema.as_deref().unwrap_or_default())
    }

    /// What the connection and its server have agreed on, as far as answers depend on it.
    pub const fn capabilities(&self) -> Capabilities {
        self.identity.capabilities
    }

    /// Whether a connection of one to this server is as good for the other. After a change of a
    /// server's or a user's row the old ones are not used. Some servers have been told whom the
    /// connection is for.
    fn is_like(&self, worker: &Worker, other: &Self, server: &Target) -> bool {
        let (one, two) = (&self.identity, &other.identity);
        self.version == other.version
            && self.hostgroup == other.hostgroup
            && (one.peer == two.peer || !worker.settings().announced.contains(&server.endpoint))
            && Arc::ptr_eq(&one.account.user, &two.account.user)
            && one.account.schema == two.account.schema
            && one.collation == two.collation
            && one.capabilities == two.capabilities
    }

    /// Whether the configuration of such a connection still holds, and no session waits for its
    /// place.
    fn is_wanted(&self, worker: &Worker) -> bool {
        self.version == worker.version()
            && worker.shared.pool.usage(self.hostgroup).waiting == 0
            && self.identity.account.user.backends().waiting() == 0
    }
}

impl Copies {
    /// A connection for `login` that its server has not closed, and to a server that is not
    /// switched off.
    pub async fn take(&self, worker: &Worker, login: &CopyLogin) -> Option<Backend> {
        loop {
            let mut backend = {
                let mut idle = self.0.borrow_mut();
                let is_good = |kept: &Connection| {
                    let server = kept.backend.server();
                    !server.is_off() && kept.login.is_like(worker, login, server.endpoint())
                };
                let at = idle.iter().rposition(is_good)?;
                idle.swap_remove(at).backend
            };
            let input = poll_fn(|cx| Poll::Ready(backend.connection_mut().poll_input(cx))).await;
            if input.is_pending() {
                return Some(backend);
            }
        }
    }

    /// Keeps a connection if the next copy may have it, if it is as the configuration that holds
    /// now would have it, if there are not too many, and if no session waits for its place; ends it
    /// otherwise.
    pub fn put(&self, worker: &Worker, login: CopyLogin, backend: Backend, is_clean: bool) {
        let is_wanted = is_clean && login.is_wanted(worker);
        let mut idle = self.0.borrow_mut();
        if is_wanted && idle.len() < COPY_IDLE_CONNECTIONS_MAX {
            idle.push(Connection { login, backend, since: Instant::now() });
        } else {
            drop(idle);
            part(backend);
        }
    }

    /// Ends one of these connections, if there is any.
    pub(crate) fn make_room_among(&self, quota: &Arc<Quota>) {
        let mut idle = self.0.borrow_mut();
        let is_one = |connection: &Connection| connection.backend.connection().is_one_of(quota);
        let at = idle.iter().position(is_one);
        let one = at.map(|at| idle.swap_remove(at));
        drop(idle);
        if let Some(one) = one {
            part(one.backend);
        }
    }

    /// Ends the connections that no copy has needed for a while, those that others wait for, those
    /// of a configuration that holds no more, and those to servers that are switched off.
    pub(crate) fn sweep(&self, worker: &Worker, now: Instant) {
        let is_over = |connection: &mut Connection| {
            now.duration_since(connection.since) >= COPY_IDLE_MAX
                || connection.backend.server().is_off()
                || !connection.login.is_wanted(worker)
        };
        let over: Vec<Connection> = self.0.borrow_mut().extract_if(.., is_over).collect();
        for connection in over {
            part(connection.backend);
        }
    }
}
