//! Connections of a worker that wait for the next copy of the same user in the same schema.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use tokio::time::{Instant, timeout};
use wire::Capabilities;

use crate::backend::{Backend, QUIT};
use crate::client::login::Identity;
use crate::limits::{COPY_IDLE_CONNECTIONS_MAX, COPY_IDLE_MAX, GOODBYE_MAX};
use crate::worker::Worker;

/// Connections without a copy.
#[derive(Debug, Default)]
pub(super) struct Idle(RefCell<Vec<Connection>>);

#[derive(Debug)]
struct Connection {
    login: Login,
    backend: Backend,
    since: Instant,
}

/// Where a connection goes, and as whom it is logged in.
#[derive(Debug)]
pub(super) struct Login {
    hostgroup: u32,
    identity: Box<Identity>,
}

impl Login {
    pub(super) const fn new(hostgroup: u32, identity: Box<Identity>) -> Self {
        Self { hostgroup, identity }
    }

    /// Whom a server is told that it is, with an id that no client has.
    pub(super) fn identity(&self, connection_id: u32) -> Box<Identity> {
        self.identity.for_copies(connection_id, self.identity.account.schema.as_deref().unwrap_or_default())
    }

    /// What the connection and its server have agreed on, as far as answers depend on it.
    pub(super) const fn capabilities(&self) -> Capabilities {
        self.identity.capabilities
    }

    /// Whether a connection of one is as good for the other. After a change of a user's row nobody uses its old connections.
    fn is_like(&self, other: &Self) -> bool {
        let (one, two) = (&self.identity, &other.identity);
        self.hostgroup == other.hostgroup
            && Arc::ptr_eq(&one.account.user, &two.account.user)
            && one.account.schema == two.account.schema
            && one.collation == two.collation
            && one.capabilities == two.capabilities
    }
}

impl Idle {
    /// A connection for `login` that its server has not closed.
    pub(super) async fn take(&self, login: &Login) -> Option<Backend> {
        loop {
            let mut backend = {
                let mut idle = self.0.borrow_mut();
                let at = idle.iter().rposition(|connection| connection.login.is_like(login))?;
                idle.swap_remove(at).backend
            };
            let input = poll_fn(|cx| Poll::Ready(backend.connection_mut().poll_input(cx))).await;
            if input.is_pending() {
                return Some(backend);
            }
        }
    }

    /// Keeps a connection if the next copy may have it, if there are not too many, and if no session waits for its
    /// place; ends it otherwise.
    pub(super) fn put(&self, worker: &Rc<Worker>, login: Login, backend: Backend, is_clean: bool) {
        let waiting = worker.shared.pool.usage(login.hostgroup).waiting;
        let mut idle = self.0.borrow_mut();
        if is_clean && waiting == 0 && idle.len() < COPY_IDLE_CONNECTIONS_MAX {
            idle.push(Connection { login, backend, since: Instant::now() });
        } else {
            drop(idle);
            tokio::task::spawn_local(goodbye(backend));
        }
    }

    /// Ends the connections that nobody has needed for a while, and those that others wait for.
    pub(super) fn sweep(&self, worker: &Worker, now: Instant) {
        let is_over = |connection: &mut Connection| {
            now.duration_since(connection.since) >= COPY_IDLE_MAX
                || worker.shared.pool.usage(connection.login.hostgroup).waiting > 0
        };
        let over: Vec<Connection> = self.0.borrow_mut().extract_if(.., is_over).collect();
        for connection in over {
            tokio::task::spawn_local(goodbye(connection.backend));
        }
    }
}

/// Ends a connection. Whether the server hears it changes nothing.
async fn goodbye(mut backend: Backend) {
    let _ = timeout(GOODBYE_MAX, backend.connection_mut().write_all(&QUIT)).await;
}
