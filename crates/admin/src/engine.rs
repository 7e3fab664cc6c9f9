//! The threads of the admin port: statements come in over bounded queues, and go out as answers.
//!
//! One owns SQLite and executes statements of admins. Those of accounts that may only read
//! statistics have a thread and databases of their own, so that the worst of them stops no admin.
//! A third one writes metrics, from memory alone.

mod desk;
mod reader;

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use config::Config;
use net::clock::unix_s;
use observe::plane::DataPlane;
use rusqlite::types::Value;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

use self::desk::Desk;
use self::reader::Reader;
use crate::answer::{AdminError, Answer};
use crate::limits::{NICE, QUEUE_MAX, REST_CLIENTS_MAX, SLICE, TIMER_SLACK_NS};
use crate::settings::Settings;
use crate::stats::prometheus;
use crate::store::{Known, Lease, Store};
use crate::tries::Tries;
use crate::who::{Rights, Who};

/// How often the thread looks at the time: for history and for those who wait for something.
const TICK: Duration = Duration::from_secs(1);

/// The threads, for those who ask them. They end when the last of these is gone.
#[derive(Clone)]
pub struct Engine {
    queue: mpsc::Sender<Job>,
    /// What the thread of admins works on.
    admins: Arc<Reading>,
    /// Statements of statistics accounts.
    statistics: mpsc::Sender<Request>,
    readers: Arc<Reading>,
    metrics: mpsc::Sender<oneshot::Sender<String>>,
    settings: watch::Receiver<Arc<Settings>>,
    asked: Arc<AtomicU64>,
    tries: Arc<Tries>,
}

/// What the thread is told.
enum Job {
    /// To execute a statement.
    Statement(Request),
    /// To tell what the proxy runs with.
    Config(oneshot::Sender<Arc<Config>>),
    /// To save what a first start has taken from the file.
    SaveFirst(oneshot::Sender<Result<(), AdminError>>),
    /// To give the events of the query log that are in memory, without literals.
    Events(oneshot::Sender<Result<Vec<Vec<Value>>, AdminError>>),
    /// That time has passed.
    Tick,
}

/// A statement, and where the answer goes.
struct Request {
    id: u64,
    who: Who,
    text: String,
    reply: oneshot::Sender<Reply>,
}

/// An answer.
struct Reply {
    answer: Answer,
    /// What it takes of the memory that answers to statistics accounts may take.
    lease: Option<Lease>,
}

/// A statement that was asked. Its answer counts as held until this is dropped.
pub struct Asked {
    id: u64,
    reply: Result<oneshot::Receiver<Reply>, AdminError>,
    reading: Arc<Reading>,
    lease: Option<Lease>,
}

/// Which statement is being read for, so that it can be stopped and no other one.
struct Reading {
    current: Mutex<Option<u64>>,
    /// Whether it is to stop. A flag, as SQLite forgets an interrupt that comes before it has
    /// begun.
    stop: Arc<AtomicBool>,
}

impl Engine {
    /// Starts the threads. `runtime` is where their clock runs.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn start(mut store: Store, plane: Arc<dyn DataPlane>, runtime: &Handle) -> io::Result<Self> {
        let databases = store.take_statistics().ok_or_else(|| io::Error::other("the store has an engine"))?;
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let (statistics, requests) = mpsc::channel(QUEUE_MAX);
        let (metrics, scrapes) = mpsc::channel(REST_CLIENTS_MAX);
        let (admins, readers) = (Reading::new(store.stop_flag()), Reading::new(databases.stop_flag()));
        let desk = Desk::new(store, Arc::clone(&plane));
        let (settings, known) = desk.watched();
        let reader =
            Reader::new(databases, Arc::clone(&plane), settings.clone(), known.clone(), queue.downgrade());
        let (for_admins, for_readers) = (Arc::clone(&admins), Arc::clone(&readers));
        spawn("admin", move || work(desk, jobs, &for_admins))?;
        spawn("statistics", move || read(reader, requests, &for_readers))?;
        spawn("metrics", move || write_metrics(&*plane, &known, scrapes))?;
        let clock = queue.downgrade();
        runtime.spawn(async move {
            let mut ticks = tokio::time::interval(TICK);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            loop {
                ticks.tick().await;
                let Some(queue) = clock.upgrade() else { return };
                // A queue that is full has something to do that makes the thread look at the time
                // later.
                let _ = queue.try_send(Job::Tick);
            }
        });
        let (asked, tries) = (Arc::default(), Arc::default());
        Ok(Self { queue, admins, statistics, readers, metrics, settings, asked, tries })
    }

    /// Gives a statement to the thread for accounts of this kind.
    pub fn ask(&self, who: &Who, text: String) -> Asked {
        let id = self.asked.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        let request = Request { id, who: who.clone(), text, reply };
        let (taken, reading) = match who.rights {
            Rights::Admin => (accepted(&self.queue, Job::Statement(request)), &self.admins),
            Rights::Stats => (accepted(&self.statistics, request), &self.readers),
        };
        Asked { id, reply: taken.map(|()| answer), reading: Arc::clone(reading), lease: None }
    }

    /// All metrics in Prometheus' text format, from memory.
    pub(crate) async fn metrics(&self) -> Result<String, AdminError> {
        let (reply, text) = oneshot::channel();
        self.metrics.send(reply).await.map_err(|_| stopped())?;
        text.await.map_err(|_| stopped())
    }

    /// What the proxy runs with.
    ///
    /// # Errors
    ///
    /// The thread has ended.
    pub async fn config(&self) -> Result<Arc<Config>, AdminError> {
        let (reply, config) = oneshot::channel();
        self.queue.send(Job::Config(reply)).await.map_err(|_| stopped())?;
        config.await.map_err(|_| stopped())
    }

    /// Saves what a first start has taken from the file.
    pub(crate) async fn save_first(&self) -> Result<(), AdminError> {
        let (reply, saved) = oneshot::channel();
        self.queue.send(Job::SaveFirst(reply)).await.map_err(|_| stopped())?;
        saved.await.map_err(|_| stopped())?
    }

    /// The wrong logins of all that listens for operators.
    pub const fn tries(&self) -> &Arc<Tries> {
        &self.tries
    }

    /// Statements that were asked.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// What the variables of the admin port say, now and after every change.
    pub fn settings(&self) -> watch::Receiver<Arc<Settings>> {
        self.settings.clone()
    }
}

impl Asked {
    /// Waits for the answer.
    pub async fn answer(&mut self) -> Answer {
        let reply = match &mut self.reply {
            Ok(reply) => reply.await.map_err(|_| stopped()),
            Err(error) => Err(error.clone()),
        };
        reply.map_or_else(Answer::from, |Reply { answer, lease }| {
            self.lease = lease;
            answer
        })
    }

    /// Waits for the answer on a thread that may block.
    pub fn wait(self) -> Answer {
        let reply = self.reply.and_then(|reply| reply.blocking_recv().map_err(|_| stopped()));
        reply.map_or_else(Answer::from, |reply| reply.answer)
    }

    /// The client waits no more: a statement that only reads need not go on.
    pub fn give_up(self) {
        // First, so that the thread does not begin with it any more.
        drop(self.reply);
        let current = self.reading.current.lock().unwrap_or_else(PoisonError::into_inner);
        // The thread cannot go on to another statement while the lock is held.
        if *current == Some(self.id) {
            self.reading.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl Reading {
    fn new(stop: Arc<AtomicBool>) -> Arc<Self> {
        Arc::new(Self { current: Mutex::new(None), stop })
    }

    fn set(&self, id: Option<u64>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop.store(false, Ordering::Relaxed);
        *current = id;
    }

    /// Has `work` execute a statement. Where its client has left or leaves meanwhile, it stops if
    /// it only reads.
    fn run(&self, request: Request, work: impl FnOnce(Request)) {
        self.set(Some(request.id));
        // Asked when it can be stopped: a client that leaves from here on stops it.
        if request.reply.is_closed() {
            self.stop.store(true, Ordering::Relaxed);
        }
        work(request);
        self.set(None);
    }
}

/// Puts `job` into a queue.
fn accepted<T>(queue: &mpsc::Sender<T>, job: T) -> Result<(), AdminError> {
    queue.try_send(job).map_err(|error| match error {
        mpsc::error::TrySendError::Full(_) => {
            AdminError::new(format!("{QUEUE_MAX} statements are waiting already"))
        }
        mpsc::error::TrySendError::Closed(_) => stopped(),
    })
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Lets traffic go first where processors are scarce: an admin may wait, and a LOAD of 50,000 users
/// is a quarter of a second of work.
fn stand_back() {
    // Linux keeps these values for each thread. Where the first call is refused, as in some
    // sandboxes, the second may not be.
    let result = sched::stand_back(NICE, SLICE);
    if let Err(error) = result.or_else(|_| rustix::process::setpriority_process(None, NICE)) {
        tracing::debug!(%error, "a thread of the admin port has the priority of all others");
    }
    // So that its rests are as short as they say.
    if let Err(error) = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK_NS)) {
        tracing::debug!(%error, "a thread of the admin port rests longer than it should");
    }
}

fn work(mut desk: Desk, mut jobs: mpsc::Receiver<Job>, reading: &Reading) {
    stand_back();
    while let Some(job) = jobs.blocking_recv() {
        match job {
            Job::Tick => desk.tick(unix_s()),
            Job::Config(reply) => drop(reply.send(desk.config())),
            // Who waits for it ends when the process does.
            Job::SaveFirst(reply) => drop(reply.send(desk.save_first())),
            Job::Events(reply) => drop(reply.send(desk.events())),
            Job::Statement(request) => reading.run(request, |request| desk.serve(request)),
        }
    }
}

fn read(mut reader: Reader, mut requests: mpsc::Receiver<Request>, reading: &Reading) {
    stand_back();
    while let Some(request) = requests.blocking_recv() {
        // One whose client has left is not begun with: it would only read.
        if !request.reply.is_closed() {
            reading.run(request, |request| reader.serve(request));
        }
    }
}

/// Does not stand back: a scrape is some milliseconds of work, wanted on a busy machine, too.
fn write_metrics(
    plane: &dyn DataPlane,
    known: &watch::Receiver<Arc<Known>>,
    mut scrapes: mpsc::Receiver<oneshot::Sender<String>>,
) {
    while let Some(reply) = scrapes.blocking_recv() {
        let known = Arc::clone(&known.borrow());
        let _ = reply.send(prometheus::exposition(plane, &known));
    }
}

fn stopped() -> AdminError {
    AdminError::new("the thread that executes statements has ended")
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("asked", &self.asked()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").field("id", &self.id).finish_non_exhaustive()
    }
}
