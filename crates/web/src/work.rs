//! The thread that samples.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use tokio::sync::{oneshot, watch};

use crate::hub::Viewers;
use crate::limits::{NICE, SAMPLE_INTERVAL, SLICE};
use crate::sample::{Sample, Views};
use crate::sampler::Sampler;

/// A sample that a client waits for.
#[derive(Debug)]
pub(crate) struct Request {
    /// What it must have.
    pub(crate) views: Views,
    /// How many changes of the configuration it must show.
    pub(crate) changes: u64,
    /// Where it goes.
    pub(crate) reply: oneshot::Sender<Arc<Sample>>,
}

/// Samples once a second while there are viewers, and for requests, until no request can come.
pub(crate) fn work(
    mut sampler: Sampler,
    requests: &Receiver<Request>,
    viewers: &Viewers,
    latest: &watch::Sender<Option<Arc<Sample>>>,
) {
    // Traffic goes first where processors are scarce.
    if let Err(error) = sched::stand_back(NICE, SLICE) {
        tracing::debug!(%error, "the thread of the page has the priority of all others");
    }
    let mut due = Instant::now();
    loop {
        let request = if viewers.any() {
            match requests.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(request) => Some(request),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        } else {
            let Ok(request) = requests.recv() else { return };
            Some(request)
        };
        let views = request.as_ref().map(|request| request.views);
        if views.is_none() && !viewers.any() {
            continue;
        }
        let is_fresh = |one: &Arc<Sample>| {
            request.as_ref().is_some_and(|request| {
                one.at.elapsed() < SAMPLE_INTERVAL && one.has(request.views) && one.changes >= request.changes
            })
        };
        let known = latest.borrow().clone().filter(is_fresh);
        let sample = known.or_else(|| {
            let sample = take(&mut sampler, viewers.wanted().and(views.unwrap_or_default()))?;
            due = sample.at + SAMPLE_INTERVAL;
            latest.send_replace(Some(Arc::clone(&sample)));
            Some(sample)
        });
        if sample.is_none() {
            due = Instant::now() + SAMPLE_INTERVAL;
        }
        if let (Some(request), Some(sample)) = (request, sample) {
            // The client may wait for it no more.
            let _ = request.reply.send(sample);
        }
    }
}

/// A sample; nothing if it met a bug, which is logged.
fn take(sampler: &mut Sampler, views: Views) -> Option<Arc<Sample>> {
    let taken = catch_unwind(AssertUnwindSafe(|| sampler.sample(views)));
    if taken.is_err() {
        tracing::error!("a sample of the page met a bug of Pointsman: please report it");
    }
    taken.ok().map(Arc::new)
}
