//! The thread that samples.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use crate::hub::Viewers;
use crate::limits::{NICE, RECORD_PAUSE_MAX, RECORD_SHARE, SAMPLE_INTERVAL, SLICE};
use crate::recorder::Recorder;
use crate::sample::{Sample, Views};
use crate::sampler::Sampler;

/// What the thread is asked for.
#[derive(Debug)]
pub(crate) enum Order {
    /// A sample that a client waits for.
    Sample(Request),
    /// To see whether there is something to record.
    Record,
}

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

/// Samples once a second while there are viewers, while samples are recorded, and for requests,
/// until no order can come.
pub(crate) fn work(
    mut sampler: Sampler,
    orders: &Receiver<Order>,
    viewers: &Viewers,
    recorder: &Recorder,
    latest: &watch::Sender<Option<Arc<Sample>>>,
) {
    // Traffic goes first where processors are scarce.
    if let Err(error) = sched::stand_back(NICE, SLICE) {
        tracing::debug!(%error, "the thread of the page has the priority of all others");
    }
    // When the last sample was begun, and the processor time that it took.
    let mut last: Option<(Instant, Duration)> = None;
    let due = |last: Option<(Instant, Duration)>| {
        last.map_or_else(Instant::now, |(at, cost)| at + pause(viewers.any(), cost))
    };
    loop {
        let is_wanted = || viewers.any() || recorder.is_on();
        let first = if is_wanted() {
            match orders.recv_timeout(due(last).saturating_duration_since(Instant::now())) {
                Ok(order) => Some(order),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        } else {
            let Ok(order) = orders.recv() else { return };
            Some(order)
        };
        // All that wait are served by one sample.
        let mut waiting = Waiting::of(first.into_iter().chain(orders.try_iter()));
        if let Some(latest) = latest.borrow().clone() {
            waiting.serve_from(&latest);
        }
        if waiting.0.is_empty() && !(is_wanted() && due(last) <= Instant::now()) {
            continue;
        }
        let recorded = if recorder.is_on() { Views::NOW } else { Views::default() };
        let views = viewers.wanted().and(waiting.views()).and(recorded);
        let (is_known, begun) = (sampler.is_known(), processor_time());
        let Some(sample) = take(&mut sampler, views, viewers.any() || !waiting.0.is_empty()) else {
            last = Some((Instant::now(), Duration::ZERO));
            continue;
        };
        if is_known {
            recorder.add(&sample);
        }
        // The first ones, which read all for the first time, say nothing of the cost of others.
        let cost = if is_known { processor_time().saturating_sub(begun) } else { Duration::ZERO };
        last = Some((sample.at, cost));
        latest.send_replace(Some(Arc::clone(&sample)));
        waiting.serve(&sample);
    }
}

/// Time between two samples, the last of which took `cost` of a processor. Those for the record
/// alone take a small share of the processor only.
fn pause(is_viewed: bool, cost: Duration) -> Duration {
    if is_viewed {
        return SAMPLE_INTERVAL;
    }
    cost.saturating_mul(RECORD_SHARE).clamp(SAMPLE_INTERVAL, RECORD_PAUSE_MAX)
}

/// The processor time of this thread. Unlike the time on a clock, it does not grow while busy
/// workers have the processors.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Requests that are not served yet.
#[derive(Debug)]
struct Waiting(Vec<Request>);

impl Waiting {
    /// The requests among these orders, without those whose clients are gone.
    fn of(orders: impl Iterator<Item = Order>) -> Self {
        let request = |order| match order {
            Order::Sample(request) => Some(request),
            Order::Record => None,
        };
        Self(orders.filter_map(request).filter(|request| !request.reply.is_closed()).collect())
    }

    /// What they want, all together.
    fn views(&self) -> Views {
        self.0.iter().fold(Views::default(), |all, request| all.and(request.views))
    }

    /// Serves those that a sample from before is good enough for.
    fn serve_from(&mut self, known: &Arc<Sample>) {
        if known.at.elapsed() >= SAMPLE_INTERVAL {
            return;
        }
        let is_served = |request: &mut Request| known.has(request.views) && known.changes >= request.changes;
        for request in self.0.extract_if(.., is_served) {
            // The client may wait for it no more.
            let _ = request.reply.send(Arc::clone(known));
        }
    }

    /// Serves all of them.
    fn serve(self, sample: &Arc<Sample>) {
        for request in self.0 {
            let _ = request.reply.send(Arc::clone(sample));
        }
    }
}

/// A sample; nothing if it met a bug, which is logged. `is_seen`: a viewer gets it.
fn take(sampler: &mut Sampler, views: Views, is_seen: bool) -> Option<Arc<Sample>> {
    let taken = catch_unwind(AssertUnwindSafe(|| sampler.sample(views, is_seen)));
    if taken.is_err() {
        tracing::error!("a sample of the page met a bug of Pointsman: please report it");
    }
    taken.ok().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Id;

    /// A request for the views that a list names, and where its sample comes.
    fn request(views: &str, changes: u64) -> (Order, oneshot::Receiver<Arc<Sample>>) {
        let (reply, sample) = oneshot::channel();
        (Order::Sample(Request { views: Views::parse(Some(views)).unwrap(), changes, reply }), sample)
    }

    /// A sample with the views `now` and `servers`.
    fn sample(at: Instant, changes: u64) -> Arc<Sample> {
        let text = || Some(crate::sample::Text { admin: "{}".into(), stats: "{}".into() });
        Arc::new(Sample {
            id: Id { boot: "b".into(), number: 1 },
            at,
            at_ms: 1,
            changes,
            about: String::new(),
            texts: [text(), text(), None, None, None],
            points: [].into(),
            digests: None,
            sessions: None,
        })
    }

    #[test]
    fn all_that_wait_get_one_sample() {
        let (now, mut of_now) = request("now", 0);
        let (sessions, mut of_sessions) = request("sessions,config", 0);
        let (gone, _) = request("statements", 0);
        let waiting = Waiting::of([now, Order::Record, sessions, gone].into_iter());
        assert_eq!(waiting.views(), Views::parse(Some("now,sessions,config")).unwrap());
        waiting.serve(&sample(Instant::now(), 0));
        assert!(Arc::ptr_eq(&of_now.try_recv().unwrap(), &of_sessions.try_recv().unwrap()));
    }

    #[test]
    fn a_sample_from_before_serves_those_it_is_good_for() {
        let now = Instant::now();
        let (good, mut of_good) = request("servers", 3);
        let (other, mut of_other) = request("now,sessions", 3);
        let (newer, mut of_newer) = request("now", 4);
        let mut waiting = Waiting::of([good, other, newer].into_iter());
        waiting.serve_from(&sample(now.checked_sub(SAMPLE_INTERVAL).unwrap(), 9));
        assert_eq!(waiting.0.len(), 3, "it is too old");
        waiting.serve_from(&sample(now, 3));
        assert!(of_good.try_recv().is_ok() && of_other.try_recv().is_err() && of_newer.try_recv().is_err());
        assert_eq!(waiting.views(), Views::parse(Some("now,sessions")).unwrap());
    }

    #[test]
    fn a_costly_sample_is_recorded_less_often() {
        let ms = Duration::from_millis;
        assert_eq!((pause(true, ms(50)), pause(false, ms(2))), (SAMPLE_INTERVAL, SAMPLE_INTERVAL));
        assert_eq!(pause(false, ms(20)), ms(4_000));
        assert_eq!(pause(false, ms(500)), RECORD_PAUSE_MAX);
    }

    #[test]
    fn a_thread_that_waits_takes_no_processor_time() {
        let (begun, took) = (Instant::now(), processor_time());
        std::thread::sleep(Duration::from_millis(100));
        let (slept, took) = (begun.elapsed(), processor_time().saturating_sub(took));
        assert!(took < slept / 2, "{took:?} of {slept:?}");
    }
}
