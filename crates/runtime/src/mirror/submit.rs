//! Having copies run, so many at a time.

use std::rc::Rc;

use tokio::time::{Instant, timeout};

use super::{Copy, Waiting, copy};
use crate::counts::Counter;
use crate::limits::{COPIES_WAITING_BYTES_MAX, COPY_TIME_MAX};
use crate::worker::Worker;

/// Has a copy run: now, or when others have ended. If too many wait, it is only counted.
pub fn submit(worker: &Rc<Worker>, copy: Copy) {
    let settings = worker.settings();
    let variables = &settings.variables;
    // Each worker has its share: nothing is counted in common for a statement.
    let share = |all: u32| all.div_ceil(variables.threads.max(1).into());
    if worker.mirrors.running.get() < share(variables.mirror_max_concurrency) {
        tokio::task::spawn_local(run(Running::begin(worker), copy));
        return;
    }
    let mut waiting = worker.mirrors.waiting.borrow_mut();
    let bytes = waiting.bytes.saturating_add(copy.text.len());
    let has_room = waiting.copies.len() < share(variables.mirror_max_queue_length) as usize;
    if has_room && bytes <= COPIES_WAITING_BYTES_MAX {
        waiting.bytes = bytes;
        waiting.copies.push_back(copy);
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
        next = worker.mirrors.waiting.borrow_mut().pop();
    }
}

impl Waiting {
    fn pop(&mut self) -> Option<Copy> {
        let copy = self.copies.pop_front()?;
        self.bytes -= copy.text.len();
        Some(copy)
    }
}

/// Counts a task that runs copies, from the moment in which it is decided that there is to be one.
struct Running(Rc<Worker>);

impl Running {
    fn begin(worker: &Rc<Worker>) -> Self {
        let running = &worker.mirrors.running;
        running.set(running.get() + 1);
        Self(Rc::clone(worker))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let running = &self.0.mirrors.running;
        running.set(running.get() - 1);
    }
}
