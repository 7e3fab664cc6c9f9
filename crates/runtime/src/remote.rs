//! Steering a proxy while it runs, from a thread that is not one of its own: another configuration,
//! listening or not, ending single sessions.
//!
//! Calls block until they are done, mostly for less than a millisecond, and never wait for a
//! client.

mod plane;
mod shards;

use std::rc::Rc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use config::Config;
use net::lock;
use observe::digests::{self, DIGESTS_PER_TURN};
use observe::plane::{NotApplied, Order, Process};
use observe::rows::DigestStats;
use tokio::runtime::Handle;
use tokio::task::spawn_local;
use upstream::ledger::Slice;
use watch::probe_new;

use crate::limits::{ASK_WAIT_MAX, DIGESTS_PAUSE, FLUSH_LOGS_MAX};
use crate::routing::Routing;
use crate::shared::Shared;
use crate::worker::{Inbox, Message, Question, Worker};
use front::ClientInbox as _;
use front::listeners::Listeners;

/// A running proxy, as others see it. Copies mean the same proxy. Of one that has ended, calls do
/// nothing.
///
/// The methods must not be called on a thread of the runtime that the proxy was started with.
#[derive(Debug, Clone)]
pub struct Remote {
    /// What all workers share.
    pub shared: Arc<Shared>,
    /// The ways to the workers.
    pub workers: Arc<[Inbox]>,
    /// Where the proxy listens.
    pub listeners: Arc<Listeners>,
    control: Handle,
    process: Arc<dyn Process>,
    /// Held while the configuration changes.
    changes: Arc<Mutex<()>>,
}

impl Remote {
    /// What steers this proxy.
    pub fn new(
        shared: Arc<Shared>,
        workers: Arc<[Inbox]>,
        listeners: Listeners,
        control: &Handle,
        process: Arc<dyn Process>,
    ) -> Self {
        let (listeners, changes) = (Arc::new(listeners), Arc::default());
        Self { shared, workers, listeners, control: control.clone(), process, changes }
    }

    /// Makes all workers use `config`, and returns when they do.
    ///
    /// Sessions that are there go on, also those whose user or server is configured no more; what
    /// has not changed is not disturbed. Listeners and the number of threads stay as they are until
    /// the process is started again.
    ///
    /// What takes long is done on the calling thread, which may have a low priority.
    fn change(&self, config: &Arc<Config>) -> Result<(), NotApplied> {
        let _alone = lock(&self.changes);
        let prepared = self.shared.prepare(config)?;
        // Kept until no worker has it any more: to free 50,000 users takes milliseconds, which
        // workers do not have.
        let before = self.shared.snapshot();
        let others = !Arc::ptr_eq(&before.routes.rules, &prepared.routes().rules);
        let routings = others.then(|| self.workers.iter().map(|_| Routing::new(prepared.routes())).collect());
        let routings: Arc<Mutex<Vec<Routing>>> = Arc::new(Mutex::new(routings.unwrap_or_default()));
        // Workers may wait for its locks, and the caller may be a thread that has to stand back.
        let shared = Arc::clone(&self.shared);
        let committed = self.control.spawn_blocking(move || shared.commit(prepared));
        // Of a proxy that has ended, the runtime may have as well.
        let Ok((snapshot, new)) = self.control.block_on(committed) else { return Ok(()) };
        let replaced = self.ask(move |worker| {
            let routing = lock(&routings).pop();
            worker.configure(Arc::clone(&snapshot), routing)
        });
        replaced.into_iter().flatten().for_each(Routing::free);
        if let Some(before) = Arc::into_inner(before) {
            before.free();
        }
        if !new.is_empty() {
            self.control.spawn(probe_new(Arc::clone(&self.shared.upstream), new));
        }
        Ok(())
    }

    /// Reads the files of TLS again; new connections use what is in them. On an error all stays as
    /// it was.
    fn reload_tls(&self) -> Result<(), String> {
        let _alone = lock(&self.changes);
        let certificate = self.shared.upstream.tls.reload().map_err(|error| error.to_string())?;
        tracing::info!(certificate, "the files of TLS were read again");
        Ok(())
    }

    /// Begins new files of all logs. Blocks until it is done, but not for longer than two seconds:
    /// an error says that it will be done when the disk lets it.
    fn flush_logs(&self) -> Result<(), String> {
        self.process.order(Order::FlushLogs)?;
        self.shared.logs.rotate(FLUSH_LOGS_MAX).map_err(|error| error.to_string())
    }

    /// Closes all listeners, and returns when no client can connect any more; clients that are
    /// there go on.
    fn pause(&self) -> Result<(), String> {
        let closing = self.listeners.close().ok_or("it is already paused")?;
        self.control.block_on(closing);
        tracing::info!("no new clients are accepted");
        Ok(())
    }

    /// Listens again, at the same addresses. On an error listeners are still closed.
    fn resume(&self) -> Result<(), String> {
        let _runtime = self.control.enter();
        let resumed = self.listeners.open(&self.shared.front, &self.workers);
        if !resumed.map_err(|error| format!("{error}: {}", error.source))? {
            return Err("it is not paused".to_owned());
        }
        tracing::info!("clients are accepted again");
        Ok(())
    }

    /// Statements by digest, in the order of digest, hostgroup, user, schema and client. With
    /// `latency` there are percentiles of their times.
    ///
    /// Workers give their tables in small parts and serve their clients in between; what is counted
    /// meanwhile may be among it.
    fn read_digests(&self, latency: bool) -> Vec<DigestStats> {
        let mut sums = digests::report::Sums::default();
        let mut from = 0_u32;
        loop {
            let parts = self.ask(move |worker| {
                worker.counts.digests.table.borrow().slice(from, DIGESTS_PER_TURN, latency)
            });
            let more = parts.iter().any(|(_, next)| next.is_some());
            for (part, _) in parts {
                sums.add(part);
            }
            if !more {
                return sums.finish();
            }
            from = from.saturating_add(DIGESTS_PER_TURN);
            std::thread::sleep(DIGESTS_PAUSE);
        }
    }

    /// The same, and workers begin anew. Each execution is in what is returned, or will be counted
    /// later. What a worker has counted that does not answer in time is lost.
    fn take_digests(&self, latency: bool) -> Vec<DigestStats> {
        let mut sums = digests::report::Sums::default();
        for table in self.ask(|worker| worker.take_digests()) {
            sums.add_table(&table, latency);
        }
        sums.finish()
    }

    /// What each worker has of prepared statements from a hash on, as much as it says in one turn.
    fn slices(&self, from: u64, with_texts: bool) -> Vec<Slice> {
        if from > 0 {
            std::thread::sleep(DIGESTS_PAUSE);
        }
        self.ask(move |worker| worker.ledger.slice(from, with_texts))
    }

    /// Asks one worker, and waits for at most `wait`. `None` if there is no answer.
    fn ask_one<T: Send + 'static, A: Future<Output = T> + 'static>(
        &self,
        wait: Duration,
        question: impl FnOnce(&Rc<Worker>) -> A + Send + 'static,
    ) -> Option<T> {
        let worker = self.workers.iter().find(|worker| worker.is_alive())?;
        let (sender, answer) = channel();
        worker.send(Message::Ask(Question::new(move |worker| {
            let answered = question(worker);
            // An answer that comes too late is dropped: its caller has gone on.
            spawn_local(async move { drop(sender.send(answered.await)) });
        })));
        answer.recv_timeout(wait).ok()
    }

    /// Asks every worker, and returns what those answer that have not ended.
    pub fn ask<T: Send + 'static>(
        &self,
        question: impl Fn(&Rc<Worker>) -> T + Send + Clone + 'static,
    ) -> Vec<T> {
        let (sender, answers) = channel();
        for worker in self.workers.iter() {
            let (question, sender) = (question.clone(), sender.clone());
            // An answer that comes too late is dropped: its caller has gone on.
            worker.send(Message::Ask(Question::new(move |worker| drop(sender.send(question(worker))))));
        }
        drop(sender);
        let deadline = Instant::now() + ASK_WAIT_MAX;
        let mut got = Vec::with_capacity(self.workers.len());
        loop {
            match answers.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(answer) => got.push(answer),
                // All have answered, or have ended.
                Err(RecvTimeoutError::Disconnected) => return got,
                Err(RecvTimeoutError::Timeout) => {
                    let ms = ASK_WAIT_MAX.as_millis();
                    tracing::error!("a worker has not answered within {ms}ms; it does so later");
                    return got;
                }
            }
        }
    }
}
