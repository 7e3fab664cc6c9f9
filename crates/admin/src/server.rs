//! The admin port: listeners, and one task for each client.

mod accounts;
mod commands;
mod connection;
mod listener;
mod login;
mod prefixed;
mod rows;

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
pub(crate) struct Server {
    shared: Arc<Shared>,
    listeners: Vec<Listener>,
}

/// One of them.
struct Listener {
    /// The address that was asked for.
    wanted: Address,
    /// The address that it has.
    address: Address,
    task: JoinHandle<()>,
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
    /// A server that listens nowhere yet.
    pub(crate) fn new(engine: &Engine, plane: &Arc<dyn DataPlane>) -> Self {
        let shared = Arc::new(Shared {
            engine: engine.clone(),
            plane: Arc::clone(plane),
            settings: engine.settings(),
            started: Instant::now(),
            clients: AtomicUsize::new(0),
            last_id: AtomicU32::new(0),
        });
        Self { shared, listeners: Vec::new() }
    }

    /// Listens on all of `addresses` and on no others, with tasks on `runtime`. Listeners that are there already are not
    /// disturbed.
    ///
    /// # Errors
    ///
    /// One of the addresses cannot be listened on; the text names it. Those before it are.
    pub(crate) fn listen(&mut self, addresses: &[Address], runtime: &Handle) -> io::Result<()> {
        self.listeners.retain(|listener| addresses.contains(&listener.wanted));
        for wanted in addresses {
            if self.listeners.iter().any(|listener| listener.wanted == *wanted) {
                continue;
            }
            let bound = Bound::new(wanted)?;
            let address = bound.address()?;
            let task = runtime.spawn(bound.serve(Arc::clone(&self.shared)));
            self.listeners.push(Listener { wanted: wanted.clone(), address, task });
        }
        Ok(())
    }

    /// The addresses that it listens on; where port 0 was asked for, the kernel has chosen one.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        self.listeners.iter().map(|listener| listener.address.clone()).collect()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
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
