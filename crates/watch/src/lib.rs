//! Watching servers: what [`monitor`] wants checked is checked here, and what follows from it
//! changes the pool.
//!
//! The monitor has a thread of its own: sessions of a busy worker do not make it late, and what it
//! does delays none of them. It is late all the same when the machine is; what it finds then counts
//! for nothing. The thread has a worker without sessions, so that servers are reached and logged in
//! to as sessions do it, with TLS and all.
//!
//! - `plan`: what a configuration says about it; `discovered`: what it says about servers that
//!   it does not name;
//! - `probe`: one check, over a connection that is kept for the next; `ask`: one
//!   command of it;
//! - `greeting`: what servers can do, asked once;
//! - `question`: the statements, and what the answers mean;
//! - `cluster`: the same for servers of clusters; `replicas`: the same for replicas that only
//!   their primary knows; `rds`: and for servers of RDS Multi-AZ clusters;
//! - `readers`: what servers have executed, told by the readers of their binary logs;
//!   `executed`: who asks for it; `lags`: how far those of Aurora are behind;
//! - `sources`: the binary logs of servers, followed for the query cache;
//! - `watching`: where it meets the rest of the proxy: who is in which hostgroup, and is used
//!   there;
//! - `records`: what was found, for the admin port; `aurora_records`: what is special to
//!   Aurora;
//!   `complaints`, `conflicts`: what is logged of it.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod ask;
mod aurora_records;
mod awaited;
mod cluster;
mod complaints;
mod conflicts;
mod discovered;
mod executed;
mod greeting;
mod lags;
mod limits;
mod plan;
mod probe;
mod question;
mod rds;
mod readers;
mod records;
mod replicas;
mod sources;
mod watching;

use std::future::ready;
use std::io;
use std::mem::take;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;

use cache::Cache;
use config::Endpoint;
use monitor::{Check, Event, Monitor, Order};
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

use net::lock;
use net::random::Dice;
use upstream::descriptors::Purpose;
use upstream::{Configuration, Dialer, Holders, Shared, Worker};

use conflicts::Conflicts;
pub use greeting::{probe, probe_new};
pub use limits::CONNECTIONS_MAX;
use probe::{Outcome, Prober};
use watching::News;
pub use watching::Watching;

/// Starts the thread; it ends when [`Watching::stop`] says so.
pub fn spawn(shared: Arc<Shared>, watching: Arc<Watching>, cache: Arc<Cache>) -> io::Result<JoinHandle<()>> {
    let (ready, outcome) = std::sync::mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name("monitor".to_owned()).spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return drop(ready.send(Err(error))),
        };
        let _ = ready.send(Ok(()));
        runtime.block_on(async {
            let configuration = shared.configuration();
            // Its steps do not stand in line behind those of clients that all log in at once.
            let net = net::Local::new(None);
            let (dice, dialer) = (Dice::new(), Dialer::Network(Purpose::Monitor));
            let worker = Worker::new(shared, configuration, net, dice, dialer, Box::new(NoSessions));
            run(Rc::new(worker), watching, cache).await;
        });
    })?;
    match outcome.recv() {
        Ok(outcome) => outcome.map(|()| thread),
        Err(_) => Err(io::Error::other("the thread ended before it was ready")),
    }
}

/// The monitor's thread has no sessions, so none waits there for a connection.
#[derive(Debug)]
struct NoSessions;

impl Holders for NoSessions {
    fn of(&self, _: u32) -> Pin<Box<dyn Future<Output = String> + '_>> {
        Box::pin(ready(String::new()))
    }
}

/// Watches servers until [`Watching::stop`] says that it is enough.
pub async fn run(worker: Rc<Worker>, watching: Arc<Watching>, cache: Arc<Cache>) {
    let shared = Arc::clone(&worker.shared);
    let mut news = watching.news.subscribe();
    // Whether or not servers are checked. It ends by itself.
    tokio::task::spawn_local(readers::follow(Rc::clone(&worker), Arc::clone(&watching)));
    tokio::task::spawn_local(sources::follow(Rc::clone(&worker), Arc::clone(&watching), cache));
    loop {
        // Before the configuration is looked at: whatever changes behind that is news again.
        let is_over = news.borrow_and_update().is_over;
        let configuration = shared.configuration();
        if !is_over && configuration.monitor().enabled {
            Watch::begin(&worker, &watching, &configuration).run(&mut news).await;
            // At the end what was found goes on to hold: sessions may still look for a server.
            if !news.borrow().is_over {
                watching.let_go(&shared);
            }
        }
        if is_over || news.borrow().is_over || news.changed().await.is_err() {
            return;
        }
    }
}

/// The monitor while it is enabled.
struct Watch {
    worker: Rc<Worker>,
    watching: Arc<Watching>,
    monitor: Monitor<Endpoint>,
    prober: Rc<Prober>,
    conflicts: Conflicts,
    /// How checks say what came of them. At most one of each kind for each server is on its way.
    sender: mpsc::UnboundedSender<(Order<Endpoint>, Outcome)>,
    outcomes: mpsc::UnboundedReceiver<(Order<Endpoint>, Outcome)>,
}

impl Watch {
    fn begin(worker: &Rc<Worker>, watching: &Arc<Watching>, configuration: &Arc<Configuration>) -> Self {
        let (sender, outcomes) = mpsc::unbounded_channel();
        worker.use_settings(Arc::clone(configuration));
        // All servers are asked now. A doubt that stayed would keep later ones from being told.
        lock(&watching.doubts).clear();
        let monitor = Monitor::new(plan::plan(configuration.config()), worker.shared.uptime());
        watching.begin(&worker.shared, &monitor);
        Self {
            worker: Rc::clone(worker),
            watching: Arc::clone(watching),
            monitor,
            prober: Rc::new(Prober::new(configuration, None)),
            conflicts: Conflicts::default(),
            sender,
            outcomes,
        }
    }

    /// Until it is disabled, or over.
    async fn run(mut self, news: &mut watch::Receiver<News>) {
        let shared = Arc::clone(&self.worker.shared);
        loop {
            for order in self.monitor.due(shared.uptime()) {
                self.check(order);
            }
            let next = self.monitor.next_due();
            let wait = async {
                match next {
                    Some(next) => {
                        let left = next.saturating_sub(shared.uptime());
                        sleep_until(Instant::now() + left).await;
                    }
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                // Both ends of the channel are here.
                Some((order, outcome)) = self.outcomes.recv() => self.learn_all(&order, &outcome),
                changed = news.changed() => {
                    if changed.is_err() || news.borrow_and_update().is_over || !self.follow() {
                        return;
                    }
                }
                () = wait => {}
            }
        }
    }

    fn check(&self, order: Order<Endpoint>) {
        let (worker, prober, sender) =
            (Rc::clone(&self.worker), Rc::clone(&self.prober), self.sender.clone());
        let found_in = self.monitor.found_in(&order.server);
        tokio::task::spawn_local(async move {
            let outcome = prober.check(&worker, &order, found_in).await;
            // There is no receiver any more when the monitor was disabled meanwhile.
            let _ = sender.send((order, outcome));
        });
    }

    /// What came of a check, and of others that are over by now. What follows from all of them is
    /// carried out at once: that takes time in proportion to the servers, which may all change in
    /// the same moment.
    fn learn_all(&mut self, order: &Order<Endpoint>, outcome: &Outcome) {
        let mut events = self.learn(order, outcome);
        while let Ok((order, outcome)) = self.outcomes.try_recv() {
            events.append(&mut self.learn(&order, &outcome));
        }
        let shared = &self.worker.shared;
        if !events.is_empty() {
            self.watching.carry_out(shared, &self.monitor, &events);
        }
        // Others may be candidates now, or discovered.
        if order.check.is_of_family() || !events.is_empty() {
            self.forget_others();
        }
    }

    /// Forgets what is kept of servers that are not watched any more, and what servers have against
    /// checks that are not made any more.
    fn forget_others(&self) {
        let is_made = |server: &Endpoint, check| self.monitor.makes(server, check);
        self.prober.keep(|server| Check::ALL.into_iter().any(|check| is_made(server, check)));
        lock(&self.watching.records.complaints).keep(is_made);
    }

    fn learn(&mut self, order: &Order<Endpoint>, outcome: &Outcome) -> Vec<Event<Endpoint>> {
        let shared = &self.worker.shared;
        let Order { server, check, .. } = order;
        self.watching.records.note(*check, server, outcome, shared.configuration().monitor().history);
        if *check == Check::Aurora {
            for writer_hostgroup in self.monitor.clusters_asked(server, *check) {
                lock(&self.watching.records.aurora).note(writer_hostgroup, server, outcome);
            }
        }
        if check.is_of_family() && self.monitor.is_candidate(server) {
            self.watching.records.complain_of_candidate(*check, server, outcome);
        }
        let why = outcome.error.as_deref().unwrap_or_default();
        let read_only = self.monitor.read_only(server);
        let events = match &outcome.word {
            Some(word) => self.monitor.hear(server, *check, word.clone(), shared.uptime()),
            None => self.monitor.observe(server, *check, outcome.finding, why, shared.uptime()),
        };
        if *check == Check::Aurora && outcome.word.is_some() {
            self.watching.lags.know(self.monitor.lags());
        }
        if let Some(begun) = outcome.reached {
            watching::mark_reached(shared, &self.monitor, server, begun);
        }
        if let Some(latency) = outcome.latency {
            watching::note_latency(shared, &self.monitor, server, latency);
        }
        if !events.is_empty() || self.monitor.read_only(server) != read_only {
            self.conflicts.doubt();
        }
        self.conflicts.follow(&self.monitor, &self.watching.records, server, *check);
        events
    }

    /// The configuration or something else has changed. Returns false if nothing is to be watched
    /// any more.
    fn follow(&mut self) -> bool {
        let shared = &self.worker.shared;
        let configuration = shared.configuration();
        if !configuration.monitor().enabled {
            return false;
        }
        let doubts = take(&mut *lock(&self.watching.doubts));
        for server in doubts {
            self.monitor.doubt(&server, shared.uptime());
        }
        let suspects = take(&mut *lock(&self.watching.suspects));
        for server in suspects {
            self.monitor.suspect(&server, shared.uptime());
        }
        if !Arc::ptr_eq(&self.prober.configuration, &configuration) {
            self.worker.use_settings(Arc::clone(&configuration));
            self.monitor.configure(plan::plan(configuration.config()), shared.uptime());
            // What checks that run find out with the old one goes to the new one all the same.
            self.prober = Rc::new(Prober::new(&configuration, Some(&self.prober)));
            self.watching.begin(shared, &self.monitor);
            self.conflicts.doubt();
            self.forget_others();
        }
        true
    }
}
