//! What all threads share that have connections to servers.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use pool::Pool;
use tokio::time::Instant;

use super::Target;
use super::calls::{Doubts, Siblings};
use super::configuration::Configuration;
use crate::backend::servers::Servers;
use crate::backend::threads::Threads;
use crate::names::Names;
use crate::tls::Tls;
use session::limits::{FIRST_CONNECTION_ID, LAST_CONNECTION_ID};

/// The servers, and the ways to them.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) pool: Pool<Target>,
    /// What the servers can do.
    pub(crate) servers: Servers,
    /// Which session is behind a server's thread.
    pub(crate) threads: Arc<Threads>,
    pub(crate) tls: Tls,
    pub(crate) names: Arc<Names>,
    /// Workers that there are, or will be once all are started.
    pub(crate) workers: u16,
    pub(super) doubts: Arc<dyn Doubts>,
    pub(crate) siblings: Arc<dyn Siblings>,
    /// For who is not a worker: workers have their own.
    configuration: RwLock<Arc<Configuration>>,
    started: Instant,
    next_connection_id: AtomicU32,
}

impl Shared {
    /// Begins now.
    pub(crate) fn new(
        configuration: Arc<Configuration>,
        pool: Pool<Target>,
        (tls, names): (Tls, Arc<Names>),
        doubts: Arc<dyn Doubts>,
        siblings: Arc<dyn Siblings>,
    ) -> Self {
        Self {
            pool,
            servers: Servers::new(configuration.endpoints()),
            threads: Arc::default(),
            tls,
            names,
            workers: configuration.variables.threads,
            doubts,
            siblings,
            configuration: RwLock::new(configuration),
            started: Instant::now(),
            next_connection_id: AtomicU32::new(FIRST_CONNECTION_ID),
        }
    }

    /// The configuration that holds now.
    pub(crate) fn configuration(&self) -> Arc<Configuration> {
        Arc::clone(&self.configuration.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a configuration hold. Workers are to be sent it.
    pub(crate) fn configure(&self, configuration: Arc<Configuration>) {
        *self.configuration.write().unwrap_or_else(PoisonError::into_inner) = configuration;
    }

    /// The time, and how long it is since the start: one look at the clock.
    pub(crate) fn now(&self) -> (Instant, Duration) {
        let now = Instant::now();
        (now, now.saturating_duration_since(self.started))
    }

    /// Time from the start to then.
    pub(crate) fn uptime_at(&self, then: Instant) -> Duration {
        then.saturating_duration_since(self.started)
    }

    /// Time since the start.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// An id for a client, as told in the greeting, or for a connection of the proxy's own.
    pub(crate) fn connection_id(&self) -> u32 {
        let next = |id| Some(if id == LAST_CONNECTION_ID { FIRST_CONNECTION_ID } else { id + 1 });
        match self.next_connection_id.try_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(id) | Err(id) => id,
        }
    }
}
