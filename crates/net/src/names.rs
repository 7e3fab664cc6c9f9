//! Names of servers, and the addresses that they have.
//!
//! Names are resolved on threads of their own (`resolver`), a few at a time, so that a slow
//! resolver stops no login. What it says is kept (`cache`) and looked up anew when it is older
//! than `mysql-monitor_local_dns_cache_ttl`; meanwhile, and when that fails, the addresses that
//! were known go on to hold. Where a connection cannot be made, its name is looked up at once: the
//! server may have moved.

mod cache;
mod resolver;

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::lock;
use config::MonitorVariables;
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep};

use crate::limits::{NAMES_AT_ONCE_MAX, NAMES_LOOK};
use cache::{Cache, Learned};
use resolver::{Resolver, Saying};

/// What a name was found to be; shared, as several may wait for it.
type Answer = Result<Vec<SocketAddr>, Arc<io::Error>>;

/// An address that has not answered for so long is one that swallows all that is sent there.
const SILENCE: Duration = Duration::from_millis(200);

/// How a name is looked up.
type Lookup = dyn Fn(String) -> Saying + Send + Sync;

/// How names are kept, as the operator wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeping {
    /// How long addresses are not looked up anew.
    ttl: Duration,
    /// How often it is seen after those that are older.
    refresh: Duration,
    /// The most names that wait to be resolved.
    queue: u32,
}

impl Keeping {
    /// What these variables say.
    pub fn new(variables: &MonitorVariables) -> Self {
        Self {
            ttl: variables.dns_cache_ttl,
            refresh: variables.dns_cache_refresh_interval,
            queue: variables.dns_queue_max,
        }
    }

    /// Whether addresses are kept.
    fn is_on(&self) -> bool {
        !self.ttl.is_zero() && !self.refresh.is_zero()
    }
}

/// What was counted since the start, as ProxySQL counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NameCounts {
    /// Names whose address was asked for.
    pub queried: u64,
    /// Those whose address was known.
    pub known: u64,
    /// Names that had got an address, or another one.
    pub updated: u64,
}

/// Who is to blame if an address cannot be connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blamed {
    /// The server: others are tried before this address, and the name may have moved.
    Server,
    /// Something else that runs on the same machine: of the server that says nothing.
    Companion,
}

/// The names and their addresses.
pub struct Names {
    lookup: Box<Lookup>,
    control: Handle,
    state: Mutex<State>,
    /// Places for lookups that run.
    places: Arc<Semaphore>,
    started: Instant,
    queried: AtomicU64,
    known: AtomicU64,
    updated: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    cache: Cache,
    /// Names that are being looked up, with the way to the answer.
    asked: HashMap<String, watch::Receiver<Option<Answer>>>,
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Names").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Names {
    /// Names that the system's resolver knows; what waits for it does so on this runtime.
    pub fn of_system(control: &Handle) -> Arc<Self> {
        let resolver = Arc::<Resolver>::default();
        Self::new(control, Box::new(move |name| Arc::clone(&resolver).look_up(name)))
    }

    fn new(control: &Handle, lookup: Box<Lookup>) -> Arc<Self> {
        Arc::new(Self {
            lookup,
            control: control.clone(),
            state: Mutex::default(),
            places: Arc::new(Semaphore::new(NAMES_AT_ONCE_MAX)),
            started: Instant::now(),
            queried: AtomicU64::default(),
            known: AtomicU64::default(),
            updated: AtomicU64::default(),
        })
    }

    /// What was counted.
    pub fn counts(&self) -> NameCounts {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        NameCounts { queried: of(&self.queried), known: of(&self.known), updated: of(&self.updated) }
    }

    /// Connects to an address of a host that can be reached, to each in turn; the caller keeps the
    /// deadline. What one of them says about the server counts for more than an error that is
    /// `ours`, such as that this machine has no port left. Those that cannot be connected to are
    /// tried behind the others for a while if they are `blamed`.
    pub async fn dial(
        self: &Arc<Self>,
        host: &str,
        port: u16,
        keeping: Keeping,
        ours: impl Fn(&io::Error) -> bool,
        blamed: Blamed,
    ) -> io::Result<TcpStream> {
        let mut failure: Option<io::Error> = None;
        let addresses = self.resolve(host, keeping).await?;
        // Also if the caller's deadline passes.
        let mut doubt = Doubt { names: self, host, keeping, holds: blamed == Blamed::Server, tried: None };
        for mut address in addresses {
            address.set_port(port);
            doubt.tried = Some((address, Instant::now()));
            let error = match TcpStream::connect(address).await {
                Ok(stream) => {
                    doubt.holds = false;
                    return Ok(stream);
                }
                Err(error) => error,
            };
            doubt.tried = None;
            let is_ours = ours(&error);
            if blamed == Blamed::Server && !is_ours {
                lock(&self.state).cache.put_back(host, address, self.now());
            }
            if !is_ours || failure.is_none() {
                failure = Some(error);
            }
        }
        Err(failure.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "its name has no address")))
    }

    /// The addresses of a host, with port 0; the caller keeps the deadline.
    async fn resolve(self: &Arc<Self>, host: &str, keeping: Keeping) -> io::Result<Vec<SocketAddr>> {
        if let Ok(ip) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, 0)]);
        }
        if keeping.is_on() {
            self.queried.fetch_add(1, Ordering::Relaxed);
            let now = self.now();
            if let Some(addresses) = lock(&self.state).cache.get(host, now) {
                self.known.fetch_add(1, Ordering::Relaxed);
                return Ok(addresses);
            }
        }
        let mut answer = self.ask(host, keeping)?;
        let answer = answer.wait_for(Option::is_some).await;
        let answer = answer.ok().and_then(|answer| answer.clone());
        let answer = answer.ok_or_else(|| io::Error::other("nobody resolves names any more"))?;
        answer.map_err(|error| match error.raw_os_error() {
            // Also if it is this machine that has nothing left.
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), format!("its name cannot be resolved: {error}")),
        })
    }

    /// Has a name looked up, unless a lookup of it runs already.
    fn ask(self: &Arc<Self>, host: &str, keeping: Keeping) -> io::Result<watch::Receiver<Option<Answer>>> {
        let now = self.now();
        let mut state = lock(&self.state);
        if let Some(answer) = state.asked.get(host) {
            return Ok(answer.clone());
        }
        if state.asked.len() >= (keeping.queue as usize).saturating_add(NAMES_AT_ONCE_MAX) {
            return Err(io::Error::other(TooMany(keeping.queue)));
        }
        let (told, answer) = watch::channel(None);
        state.asked.insert(host.to_owned(), answer.clone());
        state.cache.note_asked(host, now);
        drop(state);
        let (names, host) = (Arc::clone(self), host.to_owned());
        self.control.spawn(async move {
            // Never closed.
            let place = names.places.acquire().await;
            let outcome = (names.lookup)(host.clone()).await;
            drop(place);
            let answer = names.learn(&host, outcome, keeping);
            // The connection that has waited may have given up.
            let _ = told.send(Some(answer));
        });
        Ok(answer)
    }

    /// Takes note of what a resolver has said.
    fn learn(&self, host: &str, outcome: io::Result<Vec<SocketAddr>>, keeping: Keeping) -> Answer {
        let outcome = outcome.and_then(|addresses| {
            if addresses.is_empty() {
                return Err(io::Error::new(io::ErrorKind::NotFound, "it has no address"));
            }
            Ok(addresses)
        });
        let outcome = outcome.map_err(Arc::new);
        let now = self.now();
        let mut state = lock(&self.state);
        state.asked.remove(host);
        if !keeping.is_on() {
            state.cache.forget(host);
            return outcome;
        }
        let learned = state.cache.learn(host, outcome.as_deref().ok(), now);
        drop(state);
        match learned {
            Learned::New => drop(self.updated.fetch_add(1, Ordering::Relaxed)),
            Learned::Other { before, now } => {
                self.updated.fetch_add(1, Ordering::Relaxed);
                let [before, now] = [&before, &now].map(|addresses| listed(addresses));
                tracing::info!(host, before, now, "the name of a server has other addresses");
            }
            Learned::Failed => {
                let error = outcome.as_ref().err().map(ToString::to_string).unwrap_or_default();
                tracing::warn!(
                    host,
                    error,
                    "the name of a server cannot be resolved; addresses that were known hold"
                );
            }
            Learned::Nothing => {}
        }
        outcome
    }

    /// Has the names looked up whose addresses are too old.
    pub fn refresh(self: &Arc<Self>, keeping: Keeping) {
        let due = lock(&self.state).cache.due(keeping.ttl, self.now());
        for host in due {
            // Those for which there is no place have their turn with the next refresh.
            let _ = self.ask(&host, keeping);
        }
    }

    /// A server of this name cannot be reached.
    fn doubt(self: &Arc<Self>, host: &str, keeping: Keeping) {
        let is_old = lock(&self.state).cache.doubt(host, self.now());
        if keeping.is_on() && is_old {
            let _ = self.ask(host, keeping);
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

/// Addresses as the log has them.
fn listed(addresses: &[SocketAddr]) -> String {
    let addresses: Vec<String> = addresses.iter().map(|address| address.ip().to_string()).collect();
    addresses.join(", ")
}

/// So many names wait to be resolved that the proxy looks up no more at the moment. No server is to
/// blame.
#[derive(Debug, thiserror::Error)]
#[error(
    "its name is not resolved: {0} others wait for that (mysql-monitor_local_dns_resolver_queue_maxsize)"
)]
pub struct TooMany(u32);

/// Whether the address of a server is in doubt: it could not be reached.
struct Doubt<'a> {
    names: &'a Arc<Names>,
    host: &'a str,
    keeping: Keeping,
    holds: bool,
    /// The address that has not answered yet, and since when it is tried.
    tried: Option<(SocketAddr, Instant)>,
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        if !self.holds {
            return;
        }
        // If it is not the deadline but a client that has left, the address may be as good as any.
        if let Some((silent, since)) = self.tried
            && since.elapsed() >= SILENCE
        {
            lock(&self.names.state).cache.put_back(self.host, silent, self.names.now());
        }
        self.names.doubt(self.host, self.keeping);
    }
}

/// Looks names up anew when they are older than they may be, as long as `current` gives names and
/// how they are kept.
pub async fn keep_fresh(current: impl Fn() -> Option<(Arc<Names>, Keeping)>) {
    let mut last = Instant::now();
    loop {
        sleep(NAMES_LOOK).await;
        let Some((names, keeping)) = current() else { return };
        if keeping.is_on() && last.elapsed() >= keeping.refresh {
            last = Instant::now();
            names.refresh(keeping);
        }
    }
}

#[cfg(test)]
mod tests;
