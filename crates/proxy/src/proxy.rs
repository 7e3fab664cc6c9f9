//! Starting the data plane and bringing it down.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use config::{Address, Config, Protocol};
use tokio::runtime::Handle;

use crate::keys::Keys;
use crate::listener::Bound;
use crate::servers;
use crate::shared::Shared;
use crate::tls::{Tls, TlsError};
use crate::worker::{self, Inbox, Message};

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    listeners: Vec<tokio::task::JoinHandle<()>>,
    addresses: Vec<(Address, Protocol)>,
    workers: Arc<[Inbox]>,
    threads: Vec<JoinHandle<()>>,
    drain_timeout: Duration,
    shared: Arc<Shared>,
}

/// Why the proxy could not start. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener's address cannot be used.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: Address,
        /// What the system says.
        source: io::Error,
    },
    /// A thread or its runtime cannot be made.
    #[error("cannot start worker {index}")]
    Worker {
        /// The worker's number.
        index: u16,
        /// What the system says.
        source: io::Error,
    },
    /// A file that TLS needs cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
}

impl Proxy {
    /// Binds all listeners and starts the workers; `control` runs what is not a session.
    pub fn start(config: &Config, control: &Handle) -> Result<Self, StartError> {
        let listen = |listener: &config::Listener| {
            let failed = |source| StartError::Listen { address: listener.address.clone(), source };
            let bound = Bound::new(listener).map_err(failed)?;
            let address = bound.address().map_err(failed)?;
            Ok::<_, StartError>((bound, (address, listener.protocol)))
        };
        let tls = Tls::new(config)?;
        let bound: Vec<_> = config.listeners.iter().map(listen).collect::<Result<_, _>>()?;
        let keys = Keys::new(control);
        keys.make_ready();
        let shared = Arc::new(Shared::new(config, keys, tls));
        control.spawn(servers::probe(Arc::clone(&shared)));
        let spawn = |index| {
            worker::spawn(index, Arc::clone(&shared)).map_err(|source| StartError::Worker { index, source })
        };
        let workers: Vec<_> = (0..config.variables.threads).map(spawn).collect::<Result<_, _>>()?;
        let (workers, threads): (Vec<_>, Vec<_>) = workers.into_iter().unzip();
        let workers: Arc<[Inbox]> = workers.into();
        let (bound, addresses): (Vec<_>, Vec<_>) = bound.into_iter().unzip();
        let serve = |bound: Bound| control.spawn(bound.serve(Arc::clone(&shared), Arc::clone(&workers)));
        let listeners = bound.into_iter().map(serve).collect();
        Ok(Self {
            listeners,
            addresses,
            workers,
            threads,
            drain_timeout: config.pointsman.drain_timeout,
            shared,
        })
    }

    /// Where the proxy listens, with the ports that the kernel chose where the configuration says 0.
    pub fn addresses(&self) -> &[(Address, Protocol)] {
        &self.addresses
    }

    /// Sessions that are open or being opened.
    pub fn sessions(&self) -> usize {
        self.workers.iter().map(Inbox::sessions).sum()
    }

    /// Reads the files of TLS again. New connections use what is in them; if something is wrong with them, all stays as it
    /// was, and the log says what. Blocks while files are read.
    pub fn reload_tls(&self) {
        match self.shared.tls.reload() {
            Ok(certificate) => tracing::info!(certificate, "the files of TLS were read again"),
            Err(error) => tracing::error!(%error, "TLS stays as it was"),
        }
    }

    /// Stops accepting, closes idle clients with error 1053, lets transactions finish for `drain_timeout_ms`, ends
    /// what is left then, and waits for the workers to be gone.
    pub async fn drain(self) {
        for listener in self.listeners {
            listener.abort();
            // Closed for certain before anybody is sent away.
            let _ = listener.await;
        }
        for worker in self.workers.iter() {
            worker.send(Message::Drain(self.drain_timeout));
        }
        let threads = self.threads;
        let joined = tokio::task::spawn_blocking(move || {
            for thread in threads {
                // A worker that panicked has said so on standard error.
                let _ = thread.join();
            }
        });
        let _ = joined.await;
    }
}
