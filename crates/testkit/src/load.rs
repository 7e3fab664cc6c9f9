//! A load generator: many connections, a mixed workload, live counters.
//!
//! All connections run on one thread of their own, so that the load takes at most one core and the
//! caller may block. Every statement counts as one query; its time is what the application would
//! have waited.

mod counters;
mod histogram;
mod operation;
mod random;
mod schema;
mod worker;

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::runtime;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::client::Options;
use counters::Counters;

pub use counters::{Snapshot, Stats};
pub use histogram::Histogram;
pub use operation::{Mix, Operation};
pub use random::Random;
pub use schema::{SCHEMA, create_schema};

/// Connections that do the same.
#[derive(Debug, Clone)]
pub struct Group {
    /// How to connect. The schema is set to [`SCHEMA`].
    pub options: Options,
    /// How many connections.
    pub connections: usize,
    /// What they do.
    pub mix: Mix,
}

/// A load that runs until [`stop`](Load::stop) or drop.
#[derive(Debug)]
pub struct Load {
    counters: Arc<Counters>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Load {
    /// Starts the load; [`create_schema`] must have run before.
    ///
    /// # Errors
    /// When no thread or runtime can be made.
    pub fn start(groups: Vec<Group>) -> io::Result<Self> {
        let counters = Arc::new(Counters::default());
        let (stop, stopped) = watch::channel(false);
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let shared = Arc::clone(&counters);
        let thread = std::thread::Builder::new()
            .name("load".to_owned())
            .spawn(move || runtime.block_on(run(groups, shared, stopped)))?;
        Ok(Self { counters, stop, thread: Some(thread) })
    }

    /// What has been done so far.
    pub fn snapshot(&self) -> Snapshot {
        self.counters.snapshot()
    }

    /// Lets every connection finish its operation and leave, and returns what has been done.
    pub fn stop(mut self) -> Snapshot {
        self.finish();
        self.counters.snapshot()
    }

    fn finish(&mut self) {
        // No worker listens if all have ended.
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            // A panic of the load has been printed; what was counted before still stands.
            let _ = thread.join();
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.finish();
    }
}

async fn run(groups: Vec<Group>, counters: Arc<Counters>, stopped: watch::Receiver<bool>) {
    let mut workers = JoinSet::new();
    let mut seed = 0;
    for group in groups {
        for _ in 0..group.connections {
            let options = group.options.clone().schema(SCHEMA);
            workers.spawn(worker::run(seed, options, group.mix, Arc::clone(&counters), stopped.clone()));
            seed += 1;
        }
    }
    while workers.join_next().await.is_some() {}
}
