//! A hostgroup: the servers that are interchangeable for a statement, and who waits for one of them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::queue::WaitQueue;
use crate::{Server, ServerSpec, Usage};

/// The servers of one hostgroup.
#[derive(Debug)]
pub(crate) struct Hostgroup<E> {
    /// Those that are configured, and those that are not any more and still have connections.
    servers: RwLock<Vec<Arc<Server<E>>>>,
    /// How many of them are configured no more.
    removed: AtomicUsize,
    pub(crate) queue: WaitQueue<E>,
}

impl<E> Default for Hostgroup<E> {
    fn default() -> Self {
        Self { servers: RwLock::default(), removed: AtomicUsize::new(0), queue: WaitQueue::default() }
    }
}

impl<E> Hostgroup<E> {
    /// The servers. As long as the guard lives, they stay the same.
    pub(crate) fn servers(&self) -> RwLockReadGuard<'_, Vec<Arc<Server<E>>>> {
        self.servers.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing in here is left half done by a panic.
    fn servers_mut(&self) -> RwLockWriteGuard<'_, Vec<Arc<Server<E>>>> {
        self.servers.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_available(&self) -> bool {
        self.servers().iter().any(|server| server.is_available())
    }

    /// Whether nothing would be lost with it.
    pub(crate) fn is_empty(&self) -> bool {
        self.servers().is_empty() && self.queue.waiting() == 0
    }

    pub(crate) fn usage(&self) -> Usage {
        let servers = self.servers();
        let available = servers.iter().filter(|server| server.is_available());
        Usage {
            servers: servers.iter().filter(|server| server.is_configured()).count(),
            available: available.clone().count(),
            open: servers.iter().map(|server| server.open()).sum(),
            allowed: available.map(|server| u64::from(server.max_connections())).sum(),
            waiting: self.queue.waiting(),
        }
    }

    /// A connection to a server has ended, and was its last one. If the server is configured no more, it is forgotten.
    pub(crate) fn note_unused(&self) {
        if self.removed.load(Ordering::SeqCst) > 0 {
            self.forget_unused(&mut self.servers_mut());
        }
    }

    /// Forgets the servers that are configured no more and have no connection.
    fn forget_unused(&self, servers: &mut Vec<Arc<Server<E>>>) {
        // Said first: whoever gives the last connection back either sees it, or has been counted before the look below.
        let removed = servers.iter().filter(|server| !server.is_configured()).count();
        self.removed.store(removed, Ordering::SeqCst);
        servers.retain(|server| server.is_configured() || server.open() > 0);
        let removed = servers.iter().filter(|server| !server.is_configured()).count();
        self.removed.store(removed, Ordering::SeqCst);
    }
}

impl<E: Clone + Eq + Hash> Hostgroup<E> {
    /// Makes these the configured servers. Those that are new get the ids behind `last_id`.
    pub(crate) fn replace(&self, specs: Vec<ServerSpec<E>>, last_id: &mut u64) {
        let mut servers = self.servers_mut();
        let mut before: HashMap<&E, &Arc<Server<E>>> =
            servers.iter().map(|server| (server.endpoint(), server)).collect();
        let mut after = Vec::with_capacity(specs.len());
        for spec in specs {
            let server = if let Some(known) = before.remove(&spec.endpoint) {
                known.changed(spec)
            } else {
                *last_id += 1;
                Server::new(spec, *last_id)
            };
            after.push(Arc::new(server));
        }
        after.extend(before.into_values().map(|server| Arc::new(server.removed())));
        *servers = after;
        self.forget_unused(&mut servers);
    }
}
