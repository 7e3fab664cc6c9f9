//! The configuration that a worker uses, and what changes with it.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;

use pool::Server;

use super::Worker;
use crate::backend::Target;
use crate::routing::Routing;
use crate::snapshot::{Settings, Snapshot};

impl Worker {
    /// The configuration that holds now. It stays what it is for who has got it.
    pub(crate) fn settings(&self) -> Rc<Settings> {
        Rc::clone(&self.settings.borrow())
    }

    /// The number of the configuration that holds now; never 0.
    pub(crate) const fn version(&self) -> u64 {
        self.version.get()
    }

    /// Uses another configuration from now on. If its rules are others, `routing` was made of them;
    /// what was used before comes back, to be freed where nobody waits.
    pub(crate) fn configure(
        self: &Rc<Self>,
        snapshot: Arc<Snapshot>,
        routing: Option<Routing>,
    ) -> Option<Routing> {
        let before = routing.map(|mut routing| {
            let mut current = self.routing.borrow_mut();
            routing.succeed(&mut current);
            std::mem::replace(&mut *current, routing)
        });
        self.routing.borrow_mut().follow(&snapshot.routes);
        self.settings.replace(Rc::new(Settings(snapshot)));
        self.alike.clear();
        self.version.set(self.version.get() + 1);
        // They may be allowed less.
        self.due.set(self.now());
        self.configure_digests();
        self.configure_rate();
        self.kept.end_surplus(self);
        let servers = self.forget_servers();
        if servers.iter().any(|server| server.is_off() && server.open() > 0) {
            self.recall();
        }
        before
    }

    /// Forgets what was counted of servers that the pool has forgotten: each that comes back is
    /// another one. Returns those that there are.
    fn forget_servers(&self) -> Vec<Arc<Server<Target>>> {
        let servers = self.shared.pool.servers();
        let known: HashSet<u64> = servers.iter().map(|server| server.id()).collect();
        self.counts.forget_servers(|id| known.contains(&id));
        servers
    }

    /// Has all sessions, and whoever else waits for a server, look whether they have to do with
    /// servers that are of no use any more.
    pub(crate) fn recall(&self) {
        self.forget_servers();
        self.recalled.notify_waiters();
        for (_, control) in self.controls.borrow().iter() {
            control.recall();
        }
    }

    /// Uses this configuration from now on, on a worker that has no sessions.
    pub(crate) fn use_settings(&self, snapshot: Arc<Snapshot>) {
        if !Arc::ptr_eq(&self.settings.borrow().0, &snapshot) {
            self.settings.replace(Rc::new(Settings(snapshot)));
            self.version.set(self.version.get() + 1);
        }
    }

    /// How many bytes in a second a client may get; nothing if as many as it takes.
    pub(crate) const fn rate_to_client(&self) -> Option<NonZeroU32> {
        self.rate_to_client.get()
    }

    pub(super) fn configure_rate(&self) {
        let rate = self.settings().variables.throttle_max_bytes_per_second_to_client;
        self.rate_to_client.set(NonZeroU32::new(rate));
    }

    /// How much memory its digests take.
    pub(super) fn configure_digests(&self) {
        let (settings, workers) = (self.settings(), usize::from(self.shared.workers));
        let variables = &settings.variables;
        let budget =
            usize::try_from(variables.query_digests_max_memory).unwrap_or(usize::MAX) / workers.max(1);
        self.counts.digests.configure(budget, variables.query_digests_track_hostname);
    }
}
