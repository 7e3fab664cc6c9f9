//! Which server a session gets, and when.
//!
//! A [`Pool`] knows the servers of every hostgroup and how many connections each may have. A session that
//! needs a backend asks [`Pool::choose`] and gets a [`Permit`] for one server, or hears that all are busy and
//! queues up with [`Pool::enqueue`]. The permit goes into the [`Lease`] together with the connection that was
//! opened under it; when the lease ends the permit passes to whoever waits longest.
//!
//! The crate is pure: it opens no sockets and knows neither clock nor random source (the caller passes random
//! numbers in and keeps the deadlines). It is generic over what the caller keeps per server (`E`, say the
//! address) and per connection (`C`). A pool is shared by all workers: counting is atomic, and the only lock is
//! the wait queue's, which nobody takes while nobody waits.
//!
//! Permits make `max_connections` exact: at no moment do more leases of a server exist than it allows.

mod choice;
mod lease;
mod queue;
mod server;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use choice::Choice;
pub use lease::{Lease, Permit};
pub use queue::Ticket;
pub use server::{Availability, Server, ServerSpec};

use queue::WaitQueue;

/// All servers, by hostgroup.
#[derive(Debug)]
pub struct Pool<E> {
    hostgroups: BTreeMap<u32, Arc<Hostgroup<E>>>,
}

/// The servers that are interchangeable for a statement, and who waits for one of them.
#[derive(Debug)]
pub(crate) struct Hostgroup<E> {
    pub(crate) servers: Vec<Server<E>>,
    pub(crate) queue: WaitQueue<E>,
}

/// How a hostgroup is used at one moment, for error messages and statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Servers configured.
    pub servers: usize,
    /// Servers that take new connections.
    pub available: usize,
    /// Connections open or being opened.
    pub open: u32,
    /// Connections allowed on all available servers together.
    pub allowed: u64,
    /// Sessions that wait.
    pub waiting: usize,
}

impl<E> Pool<E> {
    /// A pool of these servers, all without connections.
    pub fn new(servers: impl IntoIterator<Item = ServerSpec<E>>) -> Self {
        let mut by_hostgroup: BTreeMap<u32, Vec<Server<E>>> = BTreeMap::new();
        for spec in servers {
            by_hostgroup.entry(spec.hostgroup).or_default().push(Server::new(spec));
        }
        let hostgroups = by_hostgroup
            .into_iter()
            .map(|(id, servers)| (id, Arc::new(Hostgroup { servers, queue: WaitQueue::default() })))
            .collect();
        Self { hostgroups }
    }

    /// A permit for one server of `hostgroup`, chosen by weight.
    ///
    /// `random` decides among the candidates. Servers for which `avoid` is true (which just failed, say) are
    /// taken only when no other has room. While sessions wait, newcomers are told [`Choice::Busy`],
    /// so that nobody overtakes the queue.
    pub fn choose(&self, hostgroup: u32, random: u64, avoid: impl Fn(&E) -> bool) -> Choice<E> {
        let Some(group) = self.hostgroups.get(&hostgroup) else { return Choice::NoServer };
        if group.queue.waiting() > 0 {
            return if group.has_available() { Choice::Busy } else { Choice::NoServer };
        }
        choice::choose(group, random, avoid)
    }

    /// A place at the end of `hostgroup`'s queue; `None` if there is no such hostgroup.
    ///
    /// `random` decides among the servers that have room when it is this place's turn. There is mostly one: whoever
    /// has to wait cannot avoid a server.
    pub fn enqueue(&self, hostgroup: u32, random: u64) -> Option<Ticket<E>> {
        self.hostgroups.get(&hostgroup).map(|group| Ticket::new(Arc::clone(group), random))
    }

    /// How `hostgroup` is used now; all zero if there is no such hostgroup.
    pub fn usage(&self, hostgroup: u32) -> Usage {
        let Some(group) = self.hostgroups.get(&hostgroup) else { return Usage::default() };
        let available = group.servers.iter().filter(|server| server.is_available());
        Usage {
            servers: group.servers.len(),
            available: available.clone().count(),
            open: group.servers.iter().map(Server::open).sum(),
            allowed: available.map(|server| u64::from(server.max_connections())).sum(),
            waiting: group.queue.waiting(),
        }
    }
}

impl<E> Hostgroup<E> {
    fn has_available(&self) -> bool {
        self.servers.iter().any(Server::is_available)
    }
}

#[cfg(test)]
mod tests;
