//! Mirrors: copies of statements for other hostgroups, as rules and hints ask for them.
//!
//! A copy runs as a task of its session's worker, over a connection of the worker's own, logged in
//! as the session's user in the session's schema. Nobody waits for it: its answer is read and
//! thrown away, and where there are too many copies some are left out. With `compare` its answer
//! and the one that the client gets are counted, and differences are reported.
//!
//! - [`copy`](mod@copy): running one;
//! - [`tally`]: what is counted of a reply.

mod copy;
pub(crate) mod tally;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use route::{Account, Caller, Mirror};
use tokio::time::{Instant, timeout};

use crate::counts::Counter;
use crate::limits::{COPIES_WAITING_BYTES_MAX, COPY_TIME_MAX};
use crate::log_limit::LogLimit;
use crate::routing::Reading;
use crate::worker::Worker;
use session::identity::Identity;

use crate::taps::compare::Half;

/// The copies of one worker.
#[derive(Debug, Default)]
pub(crate) struct Mirrors {
    waiting: RefCell<Waiting>,
    /// Bounds what is logged of copies that fail.
    failures: LogLimit,
    /// Bounds what is logged of differences.
    pub(crate) differences: LogLimit,
}

/// Copies that wait for one of those that run to end.
#[derive(Debug, Default)]
struct Waiting {
    copies: VecDeque<Copy>,
    /// Bytes of their statements.
    bytes: usize,
}

/// A copy that is to be run.
#[derive(Debug)]
pub(crate) struct Copy {
    /// The statement as its first server gets it.
    pub(crate) text: Box<[u8]>,
    /// What the rule or the hint says.
    pub(crate) mirror: Mirror,
    /// Who the copy is run for.
    pub(crate) identity: Box<Identity>,
    /// The session as its rules see it.
    pub(crate) caller: Arc<Caller>,
    /// The client's address, without its port.
    pub(crate) client_addr: Box<str>,
    /// What the user's row says about hostgroups.
    pub(crate) account: Account,
    /// How the text is to be read.
    pub(crate) reading: Reading,
    /// Where to report the answer, if the copy is compared.
    pub(crate) compared: Option<Half>,
}

/// Has a copy run: now, or when others have ended. If too many wait, it is only counted.
pub(crate) fn submit(worker: &Rc<Worker>, copy: Copy) {
    let settings = worker.settings();
    let variables = &settings.variables;
    // Each worker has its share: nothing is counted in common for a statement.
    let share = |all: u32| all.div_ceil(variables.threads.max(1).into());
    let counts = &worker.counts.copies;
    if counts.running.get() < share(variables.mirror_max_concurrency) {
        tokio::task::spawn_local(run(Running::begin(worker), copy));
        return;
    }
    let mut waiting = worker.mirrors.waiting.borrow_mut();
    let bytes = waiting.bytes.saturating_add(copy.text.len());
    if counts.waiting.get() < share(variables.mirror_max_queue_length) && bytes <= COPIES_WAITING_BYTES_MAX {
        waiting.bytes = bytes;
        waiting.copies.push_back(copy);
        counts.waiting.set(counts.waiting.get() + 1);
    } else {
        worker.counts.note(Counter::CopiesDropped);
    }
}

/// Runs a copy, and then those that wait.
async fn run(running: Running, first: Copy) {
    let worker = &running.0;
    let mut next = Some(first);
    while let Some(copy) = next {
        let why = match timeout(COPY_TIME_MAX, Box::pin(copy::run(worker, copy))).await {
            Ok(Ok(())) => None,
            Ok(Err(why)) => Some(why),
            Err(_) => Some(format!("no answer within {}s", COPY_TIME_MAX.as_secs())),
        };
        worker.counts.note(if why.is_none() { Counter::Copies } else { Counter::CopiesFailed });
        if let Some(why) = why
            && let Some(hidden) = worker.mirrors.failures.admit(Instant::now())
        {
            tracing::warn!(why, hidden, "a mirrored statement has failed");
        }
        next = worker.mirrors.waiting.borrow_mut().pop(worker);
    }
}

impl Waiting {
    fn pop(&mut self, worker: &Worker) -> Option<Copy> {
        let copy = self.copies.pop_front()?;
        self.bytes -= copy.text.len();
        let waiting = &worker.counts.copies.waiting;
        waiting.set(waiting.get().saturating_sub(1));
        Some(copy)
    }
}

/// Counts a task that runs copies, from the moment in which it is decided that there is to be one.
struct Running(Rc<Worker>);

impl Running {
    fn begin(worker: &Rc<Worker>) -> Self {
        let running = &worker.counts.copies.running;
        running.set(running.get() + 1);
        Self(Rc::clone(worker))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let running = &self.0.counts.copies.running;
        running.set(running.get() - 1);
    }
}
