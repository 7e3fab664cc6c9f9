//! What a client costs that is logged in and does nothing: thousands of them, and the proxy's
//! memory.

use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testkit::client::{Client, Options};
use testkit::mariadb::{PASSWORD, USER};
use tokio::task::JoinSet;

use crate::procfs;
use crate::progress::Progress;
use crate::target::{Kind, Stage, Target};
use crate::tls::{self, Connector};

/// Most clients with a backend each: every one is also a connection and a thread of MariaDB.
pub(crate) const WITH_BACKEND: u32 = 500;
/// Clients that log in at the same time.
const LOGINS_AT_ONCE: u32 = 32;
/// Files that a process needs for other things than clients.
const OTHER_FILES: u64 = 200;
/// Time for the proxy to come to rest before its memory is read.
const SETTLE_TIME: Duration = Duration::from_millis(500);

/// The memory of one proxy without and with idle clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Idle {
    /// The proxy.
    pub(crate) kind: Kind,
    /// How many clients.
    pub(crate) clients: u32,
    /// Whether each of them has a connection to MariaDB: because it has sent a statement, or
    /// because the proxy opens one for every client.
    pub(crate) backend: bool,
    /// Whether they use TLS.
    pub(crate) tls: bool,
    /// Resident memory before, in KiB.
    pub(crate) before_kib: u32,
    /// Resident memory with all clients logged in, in KiB.
    pub(crate) after_kib: u32,
}

impl Idle {
    /// Resident memory per client, in KiB.
    pub(crate) fn per_client_kib(&self) -> f64 {
        (f64::from(self.after_kib) - f64::from(self.before_kib)) / f64::from(self.clients.max(1))
    }
}

/// Raises this process' limit of open files, which the proxies inherit, as far as the system
/// allows.
///
/// Returns how many clients it allows. In a layer-4 proxy every client takes two files, but there
/// are few.
pub(crate) fn raise_file_limit() -> u32 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let files = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    let clients = files.map_or(u64::from(u32::MAX), |files| files.saturating_sub(OTHER_FILES));
    u32::try_from(clients).unwrap_or(u32::MAX)
}

/// Measures `clients` of Pointsman without a backend, as many with TLS, and fewer of every target
/// with one each.
pub(crate) fn measure(stage: &Stage, clients: u32) -> anyhow::Result<Vec<Idle>> {
    if clients == 0 {
        return Ok(Vec::new());
    }
    let with_backend = WITH_BACKEND.min(clients);
    let mut parts = vec![(Kind::Pointsman, clients, false, false), (Kind::Pointsman, clients, false, true)];
    parts.extend(Kind::ALL.map(|kind| (kind, with_backend, true, false)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut progress = Progress::new("idle clients", u32::try_from(parts.len())?);
    let mut results = Vec::new();
    for (kind, clients, backend, tls) in parts {
        progress.next(&format!("{clients} of {kind}{}", if tls { ", TLS" } else { "" }));
        // A process of its own: nothing that an earlier load has left behind is in its memory.
        let (target, _) = Target::start(stage, kind)?;
        let idle = if tls {
            measure_tls(stage, &target, clients)
        } else {
            runtime.block_on(measure_one(&target, clients, backend))
        };
        results.push(idle.with_context(|| format!("{clients} idle clients of {kind}"))?);
    }
    Ok(results)
}

async fn measure_one(target: &Target, clients: u32, backend: bool) -> anyhow::Result<Idle> {
    // What the first client makes the proxy set up is no cost of each client.
    drop(connect(target, backend).await?);
    tokio::time::sleep(SETTLE_TIME).await;
    let before_kib = procfs::rss_kib(target.pid())?;
    let mut connected = Vec::new();
    for first in (0..clients).step_by(LOGINS_AT_ONCE as usize) {
        let logins: JoinSet<_> =
            (first..clients.min(first + LOGINS_AT_ONCE)).map(|_| connect(target, backend)).collect();
        for client in logins.join_all().await {
            connected.push(client?);
        }
    }
    tokio::time::sleep(SETTLE_TIME).await;
    let after_kib = procfs::rss_kib(target.pid())?;
    drop(connected);
    Ok(Idle { kind: target.kind, clients, backend, tls: false, before_kib, after_kib })
}

/// The same with TLS: clients without a backend, one after the other.
fn measure_tls(stage: &Stage, target: &Target, clients: u32) -> anyhow::Result<Idle> {
    let connector = Connector::new(&tls::folder(stage.sandbox))?;
    drop(connector.connect(target.address())?);
    std::thread::sleep(SETTLE_TIME);
    let before_kib = procfs::rss_kib(target.pid())?;
    let connected: Vec<_> =
        (0..clients).map(|_| connector.connect(target.address())).collect::<anyhow::Result<_>>()?;
    std::thread::sleep(SETTLE_TIME);
    let after_kib = procfs::rss_kib(target.pid())?;
    drop(connected);
    Ok(Idle { kind: target.kind, clients, backend: false, tls: true, before_kib, after_kib })
}

/// Logs a client in, and has it send a statement if it shall have a backend.
fn connect(target: &Target, backend: bool) -> impl Future<Output = anyhow::Result<Client>> + Send + use<> {
    let options = Options::tcp(target.address(), USER, PASSWORD);
    async move {
        let mut client = Client::connect(&options).await?;
        if backend {
            client.query("SELECT 1").await?;
        }
        Ok(client)
    }
}
