//! What all threads share that have connections to servers.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use net::names::Names;
use net::tls::Tls;
use pool::Pool;
use session::limits::{FIRST_CONNECTION_ID, LAST_CONNECTION_ID};
use tokio::time::Instant;

use crate::Target;
use crate::calls::{Doubts, Siblings};
use crate::configuration::Configuration;
use crate::servers::Servers;
use crate::threads::Threads;

/// The servers, and the ways to them.
#[derive(Debug)]
pub struct Shared {
    /// The servers, by hostgroup.
    pub pool: Pool<Target>,
    /// What the servers can do.
    pub servers: Servers,
    /// Which session is behind a server's thread.
    pub threads: Arc<Threads>,
    /// TLS towards clients and servers.
    pub tls: Tls,
    /// Names of servers, and their addresses.
    pub names: Arc<Names>,
    /// Workers that there are, or will be once all are started.
    pub workers: u16,
    pub(crate) doubts: Arc<dyn Doubts>,
    /// The other workers.
    pub siblings: Arc<dyn Siblings>,
    /// For who is not a worker: workers have their own.
    configuration: RwLock<Arc<Configuration>>,
    started: Instant,
    next_connection_id: AtomicU32,
}

impl Shared {
    /// Begins now.
    pub fn new(
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
    pub fn configuration(&self) -> Arc<Configuration> {
        Arc::clone(&self.configuration.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes a configuration hold. Workers are to be sent it.
    pub fn configure(&self, configuration: Arc<Configuration>) {
        *self.configuration.write().unwrap_or_else(PoisonError::into_inner) = configuration;
    }

    /// The time, and how long it is since the start: one look at the clock.
    pub fn now(&self) -> (Instant, Duration) {
        let now = Instant::now();
        (now, now.saturating_duration_since(self.started))
    }

    /// Time from the start to then.
    pub fn uptime_at(&self, then: Instant) -> Duration {
        then.saturating_duration_since(self.started)
    }

    /// Time since the start.
    pub fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Microseconds since the start, cut to whole ones.
    pub fn uptime_us(&self) -> u64 {
        u64::try_from(self.uptime().as_micros()).unwrap_or(u64::MAX)
    }

    /// An id for a client, as told in the greeting, or for a connection of the proxy's own.
    pub fn connection_id(&self) -> u32 {
        let next = |id| Some(if id == LAST_CONNECTION_ID { FIRST_CONNECTION_ID } else { id + 1 });
        match self.next_connection_id.try_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(id) | Err(id) => id,
        }
    }
}
