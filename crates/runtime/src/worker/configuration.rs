//! The configuration that a worker uses, and what changes with it.

use std::rc::Rc;
use std::sync::Arc;

use super::Worker;
use crate::routing::Routing;
use crate::snapshot::{Settings, Snapshot};
use upstream::Local;

impl Worker {
    /// The configuration that holds now. It stays what it is for who has got it.
    pub fn settings(&self) -> Rc<Settings> {
        Rc::clone(&self.settings.borrow())
    }

    /// Uses another configuration from now on. If its rules are others, `routing` was made of them;
    /// what was used before comes back, to be freed where no session waits.
    pub fn configure(self: &Rc<Self>, snapshot: Arc<Snapshot>, routing: Option<Routing>) -> Option<Routing> {
        let before = routing.map(|mut routing| {
            let mut current = self.routing.borrow_mut();
            routing.succeed(&mut current);
            std::mem::replace(&mut *current, routing)
        });
        self.routing.borrow_mut().follow(&snapshot.routes);
        let servers = Arc::clone(&snapshot.upstream);
        self.settings.replace(Rc::new(Local(snapshot)));
        self.interned.clear();
        self.cached.clear();
        self.shards.clear();
        // They may be allowed less.
        self.due.set(self.now());
        self.configure_digests();
        let servers = self.upstream.configure(servers);
        self.configure_commands();
        if servers.iter().any(|server| server.is_off() && server.open() > 0) {
            self.recall();
        }
        before
    }

    /// Has all sessions, and all other tasks that wait for a server, check whether they have to do
    /// with servers that are of no use any more.
    pub fn recall(&self) {
        self.upstream.recall();
        for (_, control) in self.controls.borrow().iter() {
            control.recall();
        }
    }

    /// What is looked at with each command, and by what clients are let in.
    pub(super) fn configure_commands(&self) {
        let settings = self.settings();
        self.front.configure(&settings.routes.pairs, settings.tracking());
        self.has_shards.set(settings.shards.is_some());
        let is_tracing = settings.logs.traces.is_some();
        if self.is_tracing.replace(is_tracing) != is_tracing {
            // Notes of statements that were over in between would belong to later ones.
            for (_, control) in self.controls.borrow().iter() {
                control.running.take_traced();
            }
        }
    }

    /// How much memory its digests take.
    pub(super) fn configure_digests(&self) {
        let (settings, workers) = (self.settings(), usize::from(self.shared.upstream.workers));
        let variables = &settings.variables;
        let budget =
            usize::try_from(variables.query_digests_max_memory).unwrap_or(usize::MAX) / workers.max(1);
        self.counts.digests.configure(budget, variables.query_digests_track_hostname);
    }
}
