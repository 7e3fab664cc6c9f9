//! Starting the data plane and bringing it down.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use config::{Address, Config, Protocol};
use front::ClientInbox as _;
use front::listeners::{ListenError, Listeners, bind};
use observe::plane::Process;
use route::RuleError;
use runtime::limits::{CUT_OFF_MAX, END_LOGS_MAX};
use runtime::remote::Remote;
use runtime::routing::routes;
use runtime::shared::Shared;
use runtime::worker::{self, Inbox, Message};
use tokio::runtime::Handle;

use crate::client::serve;
use crate::keys::Keys;
use crate::names;
use crate::tls::{Tls, TlsError};

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    remote: Remote,
    workers: Vec<JoinHandle<()>>,
    monitor: JoinHandle<()>,
}

/// Why the proxy could not start. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener's address cannot be used.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// A thread or its runtime cannot be made.
    #[error("cannot start worker {index}")]
    Worker {
        /// The worker's number.
        index: u16,
        /// What the system says.
        source: io::Error,
    },
    /// The thread that watches servers cannot be made.
    #[error("cannot start the monitor")]
    Monitor(#[source] io::Error),
    /// A file that TLS needs cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Rules that cannot be used: all of them.
    #[error("{}", listed(.0))]
    Rules(Vec<RuleError>),
}

/// All errors in one sentence.
pub(crate) fn listed(errors: &[RuleError]) -> String {
    let one = |error| routes::problem(error).to_string();
    errors.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl Proxy {
    /// Binds all listeners and starts the workers; `control` runs what is not a session. Processes
    /// that are started `beside` each other listen on the same TCP ports (`SO_REUSEPORT`), and the
    /// system spreads new clients over them.
    pub fn start(
        config: &Arc<Config>,
        control: &Handle,
        process: Arc<dyn Process>,
        beside: bool,
    ) -> Result<Self, StartError> {
        let tls = Tls::new(config)?;
        let _runtime = control.enter();
        let bound = bind(&config.listeners, beside)?;
        let keys = Keys::new(control);
        keys.make_ready();
        let shared = Arc::new(Shared::new(config, keys, tls).map_err(StartError::Rules)?);
        control.spawn(watch::probe(Arc::clone(&shared.upstream)));
        control.spawn(names::keep_fresh(shared.names_to_keep()));
        let spawn = |index| {
            worker::spawn(index, Arc::clone(&shared), || {
                let flights = Rc::default();
                move |registered, arrival| serve(Rc::clone(&flights), registered, arrival)
            })
            .map_err(|source| StartError::Worker { index, source })
        };
        let workers: Vec<_> = (0..config.variables.threads).map(spawn).collect::<Result<_, _>>()?;
        let (workers, threads): (Vec<_>, Vec<_>) = workers.into_iter().unzip();
        let (watching, cache) = (Arc::clone(&shared.watching), Arc::clone(&shared.cache));
        let monitor =
            watch::spawn(Arc::clone(&shared.upstream), watching, cache).map_err(StartError::Monitor)?;
        let workers: Arc<[Inbox]> = workers.into();
        let listeners = Listeners::start(bound, beside, &shared.front, &workers);
        let remote = Remote::new(shared, workers, listeners, control, process);
        Ok(Self { remote, workers: threads, monitor })
    }

    /// What others can steer it with while it runs.
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Where the proxy listens, with the ports that the kernel chose where the configuration says
    /// 0.
    pub fn addresses(&self) -> Vec<(Address, Protocol)> {
        self.remote.listeners.addresses()
    }

    /// Sessions that are open or being opened.
    pub fn sessions(&self) -> usize {
        self.remote.workers.iter().map(Inbox::sessions).sum()
    }

    /// Stops accepting, closes idle clients with error 1053, lets transactions finish for
    /// `drain_timeout_ms`, ends what is left then, and waits for the workers to be gone.
    pub async fn drain(self) {
        let timeout = self.remote.shared.snapshot().config().pointsman.drain_timeout;
        self.drain_for(timeout).await;
    }

    /// Stops accepting and ends all sessions at once. Takes a moment at most: what has not ended
    /// then ends with the process.
    pub async fn cut_off(self) {
        let _ = tokio::time::timeout(CUT_OFF_MAX, self.drain_for(Duration::ZERO)).await;
    }

    async fn drain_for(self, timeout: Duration) {
        let Self { remote, workers, monitor } = self;
        // Closed for certain before anybody is sent away.
        if let Some(closing) = remote.listeners.close() {
            closing.await;
        }
        for worker in remote.workers.iter() {
            worker.send(Message::Drain(timeout));
        }
        let shared = Arc::clone(&remote.shared);
        let joined = tokio::task::spawn_blocking(move || {
            // A thread that panicked has said so on standard error.
            for worker in workers {
                let _ = worker.join();
            }
            // Not earlier: transactions that finish need their servers where they are.
            shared.watching.stop();
            let _ = monitor.join();
            shared.logs.end(END_LOGS_MAX);
        });
        let _ = joined.await;
    }
}
