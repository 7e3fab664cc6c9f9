//! The right to hold a connection, and the connection held under it.

use std::sync::Arc;
use std::time::Duration;

use crate::Server;
use crate::hostgroup::Hostgroup;

/// The right to have one connection to one server. Dropping it lets the next session have it.
#[derive(Debug)]
pub struct Permit<E> {
    group: Arc<Hostgroup<E>>,
    /// As it was configured when the permit was granted.
    server: Arc<Server<E>>,
    /// Whose connection it is for.
    account: Option<usize>,
    /// Whether the connection was made.
    is_made: bool,
}

impl<E> Permit<E> {
    /// A permit for a connection that has been counted already.
    pub(crate) const fn new(
        group: Arc<Hostgroup<E>>,
        server: Arc<Server<E>>,
        account: Option<usize>,
    ) -> Self {
        Self { group, server, account, is_made: false }
    }

    /// Its server has refused the connection at `now` because it has too many: of all accounts, or
    /// of the one that it is for. Whether that is news.
    pub fn note_refused(&self, of_account: bool, now: Duration) -> bool {
        self.server.refusals().note(self.account.filter(|_| of_account), now)
    }

    /// Whether the server has refused connections of the account lately because it has too many.
    /// It may count one that has ended for a moment longer.
    pub fn was_refused(&self) -> bool {
        self.account.is_some_and(|account| self.server.refusals().is_of(account))
    }

    /// The connection was made, in an attempt that was begun at `begun`: if others have waited for
    /// what comes of that, the next one has its turn.
    pub fn note_made(&self, begun: Duration, now: Duration) {
        if self.server.refusals().note_made(self.account, begun, now) {
            self.group.tell(now);
            self.group.queue.serve(&self.group);
        }
    }

    /// The server that a connection may be opened to.
    pub fn server(&self) -> &Arc<Server<E>> {
        &self.server
    }
}

impl<E> Drop for Permit<E> {
    fn drop(&mut self) {
        self.group.gate.leave();
        if self.is_made {
            self.server.count_made(false);
            self.server.refusals().note_ended(self.account);
        }
        if self.server.release() == 0 {
            self.group.note_unused();
        }
        self.group.queue.serve(&self.group);
    }
}

/// A connection lent to a session. Dropping it closes the connection first and then returns the
/// permit, so that the server never sees more connections than it may have.
#[derive(Debug)]
pub struct Lease<E, C> {
    // Fields drop in this order.
    connection: C,
    permit: Permit<E>,
}

impl<E, C> Lease<E, C> {
    /// The lease of `connection`, which was opened under `permit`.
    pub fn new(connection: C, mut permit: Permit<E>) -> Self {
        permit.is_made = true;
        permit.server.count_made(true);
        Self { connection, permit }
    }

    /// The connection.
    pub const fn connection(&self) -> &C {
        &self.connection
    }

    /// The connection, to be used.
    pub const fn connection_mut(&mut self) -> &mut C {
        &mut self.connection
    }

    /// The server at the other end.
    pub fn server(&self) -> &Arc<Server<E>> {
        self.permit.server()
    }

    /// How many sessions wait for a server of its hostgroup.
    pub fn waiting(&self) -> usize {
        self.permit.group.queue.waiting()
    }

    /// When the one came who waits longest for a server of its hostgroup, on the clock of
    /// [`Pool::enqueue`](crate::Pool::enqueue).
    pub fn oldest_waiting(&self) -> Option<Duration> {
        self.permit.group.queue.oldest()
    }

    /// Whether a session waits that would get a server if this connection ended: its server works
    /// and is full, or its hostgroup has all the connections that it may have.
    pub fn is_in_the_way(&self) -> bool {
        self.waiting() > 0 && self.permit.group.is_in_the_way(self.server(), self.permit.account)
    }

    /// How many idle connections to its server may stay open; 0 if the server takes no new
    /// connections any more.
    pub fn most_resting(&self) -> u32 {
        self.permit.group.most_resting(self.server().id())
    }
}
