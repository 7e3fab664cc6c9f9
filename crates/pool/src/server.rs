//! One server of a hostgroup and the count of its connections.

use std::sync::atomic::{AtomicU32, Ordering};

/// What the caller says about a server when the pool is made.
#[derive(Debug, Clone)]
pub struct ServerSpec<E> {
    /// The hostgroup that the server belongs to.
    pub hostgroup: u32,
    /// Share of new connections relative to the other servers; 0 means none.
    pub weight: u32,
    /// Connections that the server may have from this proxy.
    pub max_connections: u32,
    /// Whether the server takes new connections.
    pub availability: Availability,
    /// Whatever the caller needs to reach the server.
    pub endpoint: E,
}

/// Whether a server takes new connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// It does.
    Online,
    /// It does not: it is shunned, drains, or is switched off.
    Offline,
}

/// A server and how many connections are open to it.
#[derive(Debug)]
pub struct Server<E> {
    spec: ServerSpec<E>,
    open: AtomicU32,
}

impl<E> Server<E> {
    pub(crate) const fn new(spec: ServerSpec<E>) -> Self {
        Self { spec, open: AtomicU32::new(0) }
    }

    /// Whatever the caller needs to reach the server.
    pub const fn endpoint(&self) -> &E {
        &self.spec.endpoint
    }

    /// Connections that the server may have from this proxy.
    pub const fn max_connections(&self) -> u32 {
        self.spec.max_connections
    }

    /// Connections open or being opened.
    pub fn open(&self) -> u32 {
        self.open.load(Ordering::SeqCst)
    }

    pub(crate) const fn weight(&self) -> u32 {
        self.spec.weight
    }

    /// Whether the server takes new connections at all; it may still be full.
    pub(crate) fn is_available(&self) -> bool {
        self.spec.availability == Availability::Online && self.spec.weight > 0
    }

    pub(crate) fn has_room(&self) -> bool {
        self.open() < self.spec.max_connections
    }

    /// Counts one more connection, unless the server is full.
    pub(crate) fn try_take(&self) -> bool {
        self.open
            .try_update(Ordering::SeqCst, Ordering::SeqCst, |open| {
                (open < self.spec.max_connections).then_some(open + 1)
            })
            .is_ok()
    }

    /// Counts one connection less.
    pub(crate) fn release(&self) {
        let before = self.open.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(before > 0, "a permit was returned that nobody took");
    }
}
