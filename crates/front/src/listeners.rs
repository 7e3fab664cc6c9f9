//! All listeners of a proxy, which can be closed and opened while it runs.

use std::io;
use std::sync::{Arc, Mutex};

use config::{Address, Listener, Protocol};
use net::lock;
use pool::Quota;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::listener::{Bound, ClientInbox};
use crate::shared::Shared;

/// A listener's address that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct ListenError {
    /// The address.
    pub address: Address,
    /// What the system says.
    pub source: io::Error,
}

/// Where the proxy listens.
#[derive(Debug)]
pub struct Listeners {
    /// With the ports that the kernel chose where the configuration says 0, and the places of
    /// their clients.
    configs: Vec<(Listener, Arc<Quota>)>,
    /// Whether other processes may listen there as well.
    beside: bool,
    /// The tasks that accept clients; `None` while no client may connect.
    tasks: Mutex<Option<Vec<JoinHandle<()>>>>,
}

/// Binds all addresses, or none; `beside`: other processes may listen there as well. To be called
/// within the runtime that shall accept.
pub fn bind(configs: &[Listener], beside: bool) -> Result<Vec<Bound>, ListenError> {
    // 0: there is no limit.
    let places = |max: u32| Quota::new(if max == 0 { u32::MAX } else { max });
    configs.iter().map(|config| bind_one(config, &places(config.max_connections), beside)).collect()
}

/// Binds an address; clients have their places in `clients`.
fn bind_one(config: &Listener, clients: &Arc<Quota>, beside: bool) -> Result<Bound, ListenError> {
    let failed = |source| ListenError { address: config.address.clone(), source };
    Bound::new(config, clients, beside).map_err(failed)
}

impl Listeners {
    /// Begins to accept at what was bound, `beside` others or not. To be called within the runtime
    /// that shall do it.
    pub fn start(
        bound: Vec<Bound>,
        beside: bool,
        shared: &Arc<Shared>,
        workers: &Arc<[impl ClientInbox]>,
    ) -> Self {
        let configs = bound.iter().map(|bound| (bound.config(), Arc::clone(bound.clients()))).collect();
        Self { configs, beside, tasks: Mutex::new(Some(accept(bound, shared, workers))) }
    }

    /// The addresses and what is spoken there.
    pub fn addresses(&self) -> Vec<(Address, Protocol)> {
        self.configs().map(|config| (config.address.clone(), config.protocol())).collect()
    }

    /// All of them.
    pub fn configs(&self) -> impl Iterator<Item = &Listener> {
        self.configs.iter().map(|(config, _)| config)
    }

    /// Whether no client may connect.
    pub fn is_closed(&self) -> bool {
        lock(&self.tasks).is_none()
    }

    /// Closes all; the future is ready when they are closed. `None` if they were before.
    pub fn close(&self) -> Option<impl Future<Output = ()> + use<>> {
        let tasks = lock(&self.tasks).take()?;
        for task in &tasks {
            task.abort();
        }
        Some(async {
            for task in tasks {
                // It was aborted.
                let _ = task.await;
            }
        })
    }

    /// Opens all again; false if they were open. To be called within the runtime that shall accept.
    pub fn open(&self, shared: &Arc<Shared>, workers: &Arc<[impl ClientInbox]>) -> Result<bool, ListenError> {
        let mut tasks = lock(&self.tasks);
        if tasks.is_some() {
            return Ok(false);
        }
        let bound = self.configs.iter().map(|(config, clients)| bind_one(config, clients, self.beside));
        *tasks = Some(accept(bound.collect::<Result<_, _>>()?, shared, workers));
        Ok(true)
    }
}

fn accept(bound: Vec<Bound>, shared: &Arc<Shared>, workers: &Arc<[impl ClientInbox]>) -> Vec<JoinHandle<()>> {
    let runtime = Handle::current();
    let serve = |bound: Bound| runtime.spawn(bound.serve(Arc::clone(shared), Arc::clone(workers)));
    bound.into_iter().map(serve).collect()
}
