//! Clients that do something else beside a test, on the same account: they set variables, change
//! the schema, prepare statements, have transactions and temporary tables, leave and come back, all
//! the time.
//!
//! What they get has to be theirs: every answer has a tag that only one client has asked for, or
//! says what this client has set. An error is no reason to worry, as tests lock, kill and drop what
//! they like; the client logs in again then.

mod client;
mod unit;

use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;
use e2e::dice::Dice;
use testkit::client::Options;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use wire::Capabilities;
use wire::compress::Method;

use crate::place::Account;
use crate::trial::Mode;
use client::Noisy;

/// What `mariadb-test` announces: sessions share connections only with those that announce the
/// same.
const CAPABILITIES: Capabilities = Capabilities::LONG_FLAG
    .union(Capabilities::LOCAL_FILES)
    .union(Capabilities::PROTOCOL_41)
    .union(Capabilities::TRANSACTIONS)
    .union(Capabilities::SECURE_CONNECTION)
    .union(Capabilities::MULTI_STATEMENTS)
    .union(Capabilities::MULTI_RESULTS)
    .union(Capabilities::PS_MULTI_RESULTS)
    .union(Capabilities::PLUGIN_AUTH)
    .union(Capabilities::CONNECT_ATTRS)
    .union(Capabilities::PLUGIN_AUTH_LENENC)
    .union(Capabilities::SESSION_TRACK)
    .union(Capabilities::REMEMBER_OPTIONS)
    .union(Capabilities::MARIADB_PROGRESS)
    .union(Capabilities::MARIADB_STMT_BULK_OPERATIONS)
    .union(Capabilities::MARIADB_EXTENDED_METADATA)
    .union(Capabilities::MARIADB_CACHE_METADATA);
/// `latin1_swedish_ci`, in which `mariadb-test` logs in.
const COLLATION: u16 = 8;
/// How long the start of a test waits for all of them to have tried a login.
const ARRIVAL_TIME_MAX: Duration = Duration::from_secs(5);

/// Counts of what noisy clients did and saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoiseCounts {
    /// Answers that were looked at and were right.
    pub answers: u64,
    /// Logins.
    pub logins: u64,
    /// Errors, after which a client logged in again.
    pub errors: u64,
}

impl NoiseCounts {
    /// Adds what others have seen.
    pub const fn add(&mut self, other: Self) {
        self.answers += other.answers;
        self.logins += other.logins;
        self.errors += other.errors;
    }
}

impl std::fmt::Display for NoiseCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { answers, logins, errors } = self;
        write!(f, "{answers} answers, each its asker's; {logins} logins; {errors} errors")
    }
}

/// Noisy clients at work. They go with [`end`](Self::end), or when it is dropped.
#[derive(Debug)]
pub struct Noise {
    stop: watch::Sender<bool>,
    thread: JoinHandle<anyhow::Result<NoiseCounts>>,
}

impl Noise {
    /// What a server needs for them, as statements of `MariaDB`'s client.
    pub const PREPARATION: &'static str = "CREATE TABLE mtr.noise (id INT PRIMARY KEY AUTO_INCREMENT, client INT, tag VARCHAR(60), \
         KEY (client)) ENGINE = InnoDB";

    /// Has `count` clients log in at `socket`, and returns when each of them has tried.
    ///
    /// # Errors
    /// When there can be no thread for them.
    pub fn begin(account: Account, socket: &Path, mode: Mode, count: usize) -> anyhow::Result<Self> {
        let options = Options::unix(socket, account.name, account.password)
            .capabilities(CAPABILITIES)
            .collation(COLLATION);
        let options = if mode == Mode::Compress { options.compression(Method::Zlib) } else { options };
        let (stop, stopped) = watch::channel(false);
        let (here, arrivals) = std::sync::mpsc::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new()
            .name("noise".to_owned())
            .spawn(move || runtime.block_on(work(options, count, here, stopped)))?;
        for _ in 0..count {
            if arrivals.recv_timeout(ARRIVAL_TIME_MAX).is_err() {
                break;
            }
        }
        Ok(Self { stop, thread })
    }

    /// Has all of them go, in whatever they are doing, and returns what they have seen.
    ///
    /// # Errors
    /// When one of them has got what was not for it.
    pub fn end(self) -> anyhow::Result<NoiseCounts> {
        // There is no receiver any more when one has failed.
        let _ = self.stop.send(true);
        self.thread.join().map_err(|_| anyhow::anyhow!("the thread of noisy clients has panicked"))?
    }
}

/// Runs the clients until they are told to stop, or one of them fails.
async fn work(
    options: Options,
    count: usize,
    here: std::sync::mpsc::Sender<()>,
    mut stopped: watch::Receiver<bool>,
) -> anyhow::Result<NoiseCounts> {
    let seed = Dice::fresh_seed();
    let mut clients = JoinSet::new();
    // Counts of what was seen: the clients themselves are cut off in the middle.
    let (seen, mut counts) = mpsc::unbounded_channel();
    for number in 0..count {
        let noisy = Noisy::new(options.clone(), seed, number, seen.clone());
        clients.spawn(noisy.run(here.clone()));
    }
    drop(here);
    let mut total = NoiseCounts::default();
    loop {
        tokio::select! {
            // A sender that is gone says the same.
            _ = stopped.changed() => break,
            Some(more) = counts.recv() => total.add(more),
            Some(failure) = clients.join_next() => {
                let Err(error) = failure.context("a noisy client has panicked")?;
                return Err(error.context(format!("a client beside the test, seed {seed}")));
            }
        }
    }
    clients.shutdown().await;
    Ok(total)
}
