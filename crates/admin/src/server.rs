//! The admin port: listeners, and one task for each client.

mod clients;
mod commands;
mod connection;
mod listener;
mod login;
mod prefixed;
mod rows;
mod shared;
mod trail;

use std::io;
use std::sync::Arc;

use config::Address;
use observe::plane::DataPlane;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

pub use self::clients::Clients;
use self::listener::Bound;
use self::shared::Shared;
use crate::engine::Engine;
use crate::retry::while_in_use;

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

impl Server {
    /// A server that listens nowhere yet.
    pub(crate) fn new(engine: &Engine, plane: &Arc<dyn DataPlane>) -> Self {
        Self { shared: Arc::new(Shared::new(engine, plane)), listeners: Vec::new() }
    }

    /// Listens on those of `addresses` that it does not listen on yet, with tasks on `runtime`.
    ///
    /// # Errors
    ///
    /// One of the addresses cannot be listened on, the first of such; the text names it. All others
    /// are.
    pub(crate) fn listen(&mut self, addresses: &[Address], runtime: &Handle) -> io::Result<()> {
        let mut outcome = Ok(());
        for wanted in addresses {
            if !self.listeners.iter().any(|listener| listener.wanted == *wanted) {
                outcome = outcome.and(self.open(wanted, wanted, runtime));
            }
        }
        outcome
    }

    /// Listens on all of `addresses` and on no others. Listeners that are there already are not
    /// disturbed.
    ///
    /// # Errors
    ///
    /// One of the addresses cannot be listened on; the text names it. All others are, and so are
    /// those of before: there may be no other way in.
    pub(crate) async fn follow(&mut self, addresses: &[Address], runtime: &Handle) -> io::Result<()> {
        match self.listen(addresses, runtime) {
            // One of before may be in its way: that of all addresses, say.
            Err(error) if error.kind() != io::ErrorKind::AddrInUse => return Err(error),
            _ => {}
        }
        let (stay, go) = self.listeners.drain(..).partition(|listener| addresses.contains(&listener.wanted));
        self.listeners = stay;
        let mut closed = Vec::new();
        for listener in go {
            closed.push(listener.close().await);
        }
        let outcome = while_in_use(|| self.listen(addresses, runtime)).await;
        if outcome.is_err() {
            for (wanted, address) in closed {
                if let Err(error) = self.open(&wanted, &address, runtime) {
                    tracing::error!("the admin port: {error}");
                }
            }
        }
        outcome
    }

    /// Listens on `address`, which is what `wanted` stands for.
    fn open(&mut self, wanted: &Address, address: &Address, runtime: &Handle) -> io::Result<()> {
        let bound = Bound::new(address)?;
        let address = bound.address()?;
        let task = runtime.spawn(bound.serve(Arc::clone(&self.shared)));
        self.listeners.push(Listener { wanted: wanted.clone(), address, task });
        Ok(())
    }

    /// Its clients, whatever becomes of the listeners.
    pub(crate) fn clients(&self) -> Clients {
        self.shared.clients.clone()
    }

    /// The addresses that it listens on; where port 0 was asked for, the kernel has chosen one.
    pub(crate) fn addresses(&self) -> Vec<Address> {
        self.listeners.iter().map(|listener| listener.address.clone()).collect()
    }
}

impl Listener {
    /// Closes it. Returns what was wanted and the address that it had, which is free now.
    async fn close(mut self) -> (Address, Address) {
        self.task.abort();
        let _ = (&mut self.task).await;
        (self.wanted.clone(), self.address.clone())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}
