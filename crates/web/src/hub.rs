//! The statistics for all viewers: one thread reads them once a second, while there are viewers or
//! the page is served and so recorded.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use admin::Engine;
use observe::plane::DataPlane;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::facts::Facts;
use crate::limits::{ANSWER_TIME_MAX, VIEWERS_MAX};
use crate::recorder::Recorder;
use crate::reply::Refusal;
use crate::sample::{Sample, VIEWS, Views};
use crate::sampler::Sampler;
use crate::work::{Order, Request, work};

/// The samples, for those who ask.
pub(crate) struct Hub {
    plane: Arc<dyn DataPlane>,
    facts: Facts,
    host: Arc<str>,
    latest: watch::Sender<Option<Arc<Sample>>>,
    viewers: Arc<Viewers>,
    recorder: Arc<Recorder>,
    thread: OnceLock<Option<mpsc::SyncSender<Order>>>,
}

impl Hub {
    /// The samples of this proxy. Tasks run on `runtime`.
    pub(crate) fn new(engine: Engine, plane: Arc<dyn DataPlane>, runtime: &Handle) -> Self {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self {
            plane,
            facts: Facts::start(engine, runtime),
            host: host.into(),
            latest: watch::Sender::new(None),
            viewers: Arc::default(),
            recorder: Arc::default(),
            thread: OnceLock::new(),
        }
    }

    /// The name of the machine.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// A sample of these views that is not older than a second. The first one for a while takes a
    /// second, as rates need two.
    pub(crate) async fn sample(&self, views: Views) -> Result<Arc<Sample>, Refusal> {
        let changes = self.facts.wait().await?;
        // The thread is asked also where the latest one would do: it begins to sample for viewers.
        let (reply, sample) = oneshot::channel();
        let thread = self.thread().ok_or_else(Refusal::busy)?;
        let order = Order::Sample(Request { views, changes, reply });
        thread.try_send(order).map_err(|_| Refusal::busy())?;
        match timeout(ANSWER_TIME_MAX, sample).await {
            Ok(Ok(sample)) => Ok(sample),
            Ok(Err(_)) | Err(_) => Err(Refusal::busy()),
        }
    }

    /// The samples to come.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<Arc<Sample>>> {
        self.latest.subscribe()
    }

    /// A place for a viewer of these views; nothing if all are taken.
    pub(crate) fn view(&self, views: Views) -> Option<Viewing> {
        let taken = self
            .viewers
            .all
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |all| (all < VIEWERS_MAX).then_some(all + 1));
        taken.ok()?;
        self.viewers.count(views, |count| _ = count.fetch_add(1, Ordering::Relaxed));
        Some(Viewing { viewers: Arc::clone(&self.viewers), views })
    }

    /// Records samples from now on, or no longer.
    pub(crate) fn record(&self, on: bool) {
        if self.recorder.switch(on)
            && on
            && let Some(thread) = self.thread()
        {
            // Where the queue is full, the thread looks anyway.
            let _ = thread.try_send(Order::Record);
        }
    }

    /// What was recorded.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The configuration may have changed.
    pub(crate) fn look_again(&self) {
        self.facts.look_again();
    }

    fn thread(&self) -> Option<&mpsc::SyncSender<Order>> {
        self.thread.get_or_init(|| self.start()).as_ref()
    }

    fn start(&self) -> Option<mpsc::SyncSender<Order>> {
        let (sender, orders) = mpsc::sync_channel(crate::limits::CLIENTS_MAX);
        let sampler = Sampler::new(Arc::clone(&self.plane), self.facts.watch(), Arc::clone(&self.host));
        let (latest, viewers) = (self.latest.clone(), Arc::clone(&self.viewers));
        let recorder = Arc::clone(&self.recorder);
        let begun = std::thread::Builder::new()
            .name("web".to_owned())
            .spawn(move || work(sampler, &orders, &viewers, &recorder, &latest));
        match begun {
            Ok(_) => Some(sender),
            Err(error) => {
                tracing::error!(%error, "the page has no statistics: no thread");
                None
            }
        }
    }
}

/// How many viewers look at what.
#[derive(Debug, Default)]
pub(crate) struct Viewers {
    all: AtomicUsize,
    views: [AtomicUsize; VIEWS],
}

impl Viewers {
    /// Whether there are any.
    pub(crate) fn any(&self) -> bool {
        self.all.load(Ordering::Relaxed) > 0
    }

    /// What they look at.
    pub(crate) fn wanted(&self) -> Views {
        Views(self.views.each_ref().map(|count| count.load(Ordering::Relaxed) > 0))
    }

    fn count(&self, views: Views, change: impl Fn(&AtomicUsize)) {
        self.views.iter().zip(views.0).filter(|(_, wanted)| *wanted).for_each(|(count, _)| change(count));
    }
}

/// A place of a viewer, until it is dropped.
#[derive(Debug)]
pub(crate) struct Viewing {
    viewers: Arc<Viewers>,
    views: Views,
}

impl Drop for Viewing {
    fn drop(&mut self) {
        self.viewers.count(self.views, |count| _ = count.fetch_sub(1, Ordering::Relaxed));
        self.viewers.all.fetch_sub(1, Ordering::Relaxed);
    }
}
