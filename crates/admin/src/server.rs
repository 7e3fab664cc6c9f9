//! The admin port: listeners, and one task for each client.

mod accounts;
mod commands;
mod connection;
mod listener;
mod login;
mod rows;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Instant;

use config::Address;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(crate) use self::accounts::Accounts;
use self::listener::Bound;
use crate::engine::Engine;
use crate::limits::CLIENTS_MAX;
use crate::plane::DataPlane;
use crate::settings::Settings;

/// The listeners of the admin port. Dropped, they close; clients that are connected stay.
pub struct Server {
    addresses: Vec<Address>,
    tasks: Vec<JoinHandle<()>>,
}

/// What the tasks of all clients share.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) plane: Arc<dyn DataPlane>,
    pub(crate) settings: watch::Receiver<Arc<Settings>>,
    pub(crate) started: Instant,
    clients: AtomicUsize,
    last_id: AtomicU32,
}

/// A client's place among [`CLIENTS_MAX`], given back when it is dropped.
pub(crate) struct Place(Arc<Shared>);

impl Server {
    /// Listens on all of `addresses`, and serves whoever comes with tasks on `runtime`.
    ///
    /// # Errors
    ///
    /// One of the addresses cannot be listened on; the text names it. Then none is.
    pub fn start(
        addresses: &[Address],
        engine: &Engine,
        plane: &Arc<dyn DataPlane>,
        runtime: &Handle,
    ) -> io::Result<Self> {
        let bound: Vec<Bound> = addresses.iter().map(Bound::new).collect::<io::Result<_>>()?;
        let shared = Arc::new(Shared {
            engine: engine.clone(),
            plane: Arc::clone(plane),
            settings: engine.settings(),
            started: Instant::now(),
            clients: AtomicUsize::new(0),
            last_id: AtomicU32::new(0),
        });
        let addresses = bound.iter().map(Bound::address).collect::<io::Result<_>>()?;
        let tasks =
            bound.into_iter().map(|listener| runtime.spawn(listener.serve(Arc::clone(&shared)))).collect();
        Ok(Self { addresses, tasks })
    }

    /// The addresses that it listens on; where port 0 was asked for, the kernel has chosen one.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

impl Shared {
    /// A place for one more client, if there is one.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Place> {
        let before = self.clients.fetch_add(1, Ordering::Relaxed);
        let place = Place(Arc::clone(self));
        (before < CLIENTS_MAX).then_some(place)
    }

    /// The id of a new connection.
    pub(crate) fn next_id(&self) -> u32 {
        self.last_id.fetch_add(1, Ordering::Relaxed).wrapping_add(1)
    }

    /// Clients that there are.
    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
    }
}
