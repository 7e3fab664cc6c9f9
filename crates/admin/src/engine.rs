//! The thread that owns SQLite: statements come in over a bounded queue, and go out as answers.
//!
//! A thread of its own, so that a slow statement stops other admins only.

mod desk;

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use config::Config;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};

use self::desk::Desk;
use crate::answer::{AdminError, Answer};
use crate::command::behind_comments;
use crate::limits::{NICE, QUEUE_MAX, SLICE, TIMER_SLACK_NS};
use crate::plane::DataPlane;
use crate::settings::Settings;
use crate::store::Store;
use crate::who::Who;

/// How often the thread looks at the time: for history and for those who wait for something.
const TICK: Duration = Duration::from_secs(1);

/// The thread, for those who ask it. It ends when the last of them is gone.
#[derive(Clone)]
pub struct Engine {
    queue: mpsc::Sender<Job>,
    settings: watch::Receiver<Arc<Settings>>,
    reading: Arc<Reading>,
    asked: Arc<AtomicU64>,
}

/// What the thread is told.
enum Job {
    /// To execute a statement.
    Statement(Request),
    /// To tell what the proxy runs with.
    Config(oneshot::Sender<Arc<Config>>),
    /// To save what a first start has taken from the file.
    SaveFirst(oneshot::Sender<Result<(), AdminError>>),
    /// That time has passed.
    Tick,
}

/// A statement, and where the answer goes.
struct Request {
    id: u64,
    who: Who,
    text: String,
    reply: oneshot::Sender<Answer>,
}

/// A statement that was asked.
pub struct Asked {
    id: u64,
    reply: Result<oneshot::Receiver<Answer>, AdminError>,
    reading: Arc<Reading>,
}

/// Which statement is being read for, so that it can be stopped and no other one.
struct Reading {
    current: Mutex<Option<u64>>,
    /// Whether it is to stop. A flag, as SQLite forgets an interrupt that comes before it has
    /// begun.
    stop: Arc<AtomicBool>,
}

impl Engine {
    /// Starts the thread. `runtime` is where its clock runs.
    ///
    /// # Errors
    ///
    /// The system gives no thread.
    pub fn start(store: Store, plane: Arc<dyn DataPlane>, runtime: &Handle) -> io::Result<Self> {
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let reading = Arc::new(Reading { current: Mutex::new(None), stop: store.stop_flag() });
        let (desk, settings) = Desk::new(store, plane);
        let for_thread = Arc::clone(&reading);
        std::thread::Builder::new().name("admin".to_owned()).spawn(move || {
            stand_back();
            work(desk, jobs, &for_thread);
        })?;
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
        Ok(Self { queue, settings, reading, asked: Arc::new(AtomicU64::new(0)) })
    }

    /// Gives the thread a statement.
    pub fn ask(&self, who: &Who, text: String) -> Asked {
        let id = self.asked.fetch_add(1, Ordering::Relaxed);
        let (reply, answer) = oneshot::channel();
        let job = Job::Statement(Request { id, who: who.clone(), text, reply });
        let reply = match self.queue.try_send(job) {
            Ok(()) => Ok(answer),
            Err(mpsc::error::TrySendError::Full(_)) => {
                Err(AdminError::new(format!("{QUEUE_MAX} statements are waiting already")))
            }
            Err(mpsc::error::TrySendError::Closed(_)) => Err(stopped()),
        };
        Asked { id, reply, reading: Arc::clone(&self.reading) }
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
        match &mut self.reply {
            Ok(reply) => reply.await.unwrap_or_else(|_| stopped().into()),
            Err(error) => error.clone().into(),
        }
    }

    /// Waits for the answer on a thread that may block.
    pub fn wait(self) -> Answer {
        match self.reply {
            Ok(reply) => reply.blocking_recv().unwrap_or_else(|_| stopped().into()),
            Err(error) => error.into(),
        }
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
    fn set(&self, id: Option<u64>) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop.store(false, Ordering::Relaxed);
        *current = id;
    }
}

/// Lets traffic go first where processors are scarce: an admin may wait, and a LOAD of 50,000 users
/// is a quarter of a second of work.
fn stand_back() {
    // Linux keeps these values for each thread. Where the first call is refused, as in some
    // sandboxes, the second may not be.
    let result = sched::stand_back(NICE, SLICE);
    if let Err(error) = result.or_else(|_| rustix::process::setpriority_process(None, NICE)) {
        tracing::debug!(%error, "the admin port's thread has the priority of all others");
    }
    // So that its rests are as short as they say.
    if let Err(error) = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK_NS)) {
        tracing::debug!(%error, "the admin port's thread rests longer than it should");
    }
}

fn work(mut desk: Desk, mut jobs: mpsc::Receiver<Job>, reading: &Reading) {
    while let Some(job) = jobs.blocking_recv() {
        match job {
            Job::Tick => desk.tick(unix_now()),
            Job::Config(reply) => drop(reply.send(desk.config())),
            // Who waits for it ends when the process does.
            Job::SaveFirst(reply) => drop(reply.send(desk.save_first())),
            Job::Statement(Request { id, who, text, reply }) => {
                let only_reads = is_reading(&text);
                reading.set(only_reads.then_some(id));
                // Asked when it can be stopped: a client that leaves from here on stops it.
                if !only_reads || !reply.is_closed() {
                    desk.serve(&who, &text, reply);
                }
                reading.set(None);
            }
        }
    }
}

/// Seconds of Unix time.
fn unix_now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Whether a statement changes nothing, by its first word: one that does is finished, whether or
/// not its client waits.
fn is_reading(text: &str) -> bool {
    let word = behind_comments(text).split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
    ["SELECT", "SHOW", "EXPLAIN", "VALUES", "DESC", "DESCRIBE"]
        .iter()
        .any(|reading| word.eq_ignore_ascii_case(reading))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_says_whether_a_statement_only_reads() {
        for text in
            ["SELECT 1", " show tables", "select(1)", "EXPLAIN SELECT 1", "values (1)", "/* x */ SELECT 1"]
        {
            assert!(is_reading(text), "{text}");
        }
        for text in [
            "",
            "SELECTED",
            "INSERT INTO t VALUES (1)",
            "/* x */ INSERT INTO t VALUES (1)",
            "WITH x AS (SELECT 1) DELETE FROM t",
        ] {
            assert!(!is_reading(text), "{text}");
        }
    }
}
