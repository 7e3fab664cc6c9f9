//! Listeners of HTTP that follow a variable: those of REST, of health checks and of the page.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::limits::ACCEPT_PAUSE;
use crate::retry::{Wake, wake};
use crate::settings::Settings;

/// What is served at such listeners.
pub trait Service: Clone + Send + Sync + 'static {
    /// What the log calls it.
    const NAME: &'static str;
    /// Connections at once; more wait in the kernel's queue.
    const CLIENTS_MAX: usize;

    /// Where `settings` say that it is served.
    fn addresses(&self, settings: &Settings) -> Vec<SocketAddr>;

    /// Serves one client until the connection ends.
    fn serve(self, stream: TcpStream, peer: SocketAddr) -> impl Future<Output = ()> + Send;
}

/// A listener. Dropped, it closes; clients that are connected stay.
struct Listening(JoinHandle<()>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Serves `service` where the variables say, until the admin engine ends. An address that cannot be
/// had is logged once and tried until it can.
pub async fn run<S: Service>(service: S, mut settings: watch::Receiver<Arc<Settings>>) {
    let places = Arc::new(Semaphore::new(S::CLIENTS_MAX));
    let mut listening: HashMap<SocketAddr, Listening> = HashMap::new();
    let mut why = Wake::Changed;
    while why != Wake::Over {
        let wanted = service.addresses(&settings.borrow_and_update());
        for (_, mut other) in listening.extract_if(|address, _| !wanted.contains(address)) {
            other.0.abort();
            // Its port is free for another address when it has ended.
            let _ = (&mut other.0).await;
        }
        let mut missing = false;
        for address in wanted {
            if listening.contains_key(&address) {
                continue;
            }
            match listen(address, &service, &places).await {
                Ok(task) => _ = listening.insert(address, Listening(task)),
                Err(error) => {
                    missing = true;
                    if why == Wake::Changed {
                        tracing::error!(
                            %error, %address,
                            "cannot listen for {}: trying again; free the address, or set another one", S::NAME
                        );
                    }
                }
            }
        }
        why = wake(&mut settings, missing).await;
    }
}

async fn listen<S: Service>(
    address: SocketAddr,
    service: &S,
    places: &Arc<Semaphore>,
) -> io::Result<JoinHandle<()>> {
    let listener = TcpListener::bind(address).await?;
    // With port 0 the kernel has chosen one.
    let address = listener.local_addr().unwrap_or(address);
    tracing::info!(%address, "listening for {}", S::NAME);
    Ok(tokio::spawn(accept(listener, service.clone(), Arc::clone(places))))
}

async fn accept<S: Service>(listener: TcpListener, service: S, places: Arc<Semaphore>) {
    loop {
        // While all places are taken, clients wait in the kernel's queue.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let service = service.clone();
                tokio::spawn(async move {
                    service.serve(stream, peer).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a client of {} could not be accepted", S::NAME);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
