//! The stream of events: the state whole, then what changes, once a second.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::access;
use crate::hub::Viewing;
use crate::limits::{HEARTBEAT, VIEWERS_MAX};
use crate::reply::{self, Refusal, Reply};
use crate::sample::{Sample, Seen, Views};
use crate::site::Site;
use crate::viewer::Viewer;

/// How long a browser waits before it connects again.
const RETRY: Duration = Duration::from_secs(2);

/// Opens a stream of `views` at a `port` of the page. `last` is the id of the last event that the
/// viewer has.
pub(crate) async fn open(
    site: &Arc<Site>,
    viewer: Viewer,
    port: u16,
    views: Views,
    last: Option<&str>,
) -> Result<Reply, Refusal> {
    let viewing = site.hub.view(views).ok_or_else(|| {
        let message = format!("{VIEWERS_MAX} viewers are connected: close a page, or poll /api/state");
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "too_many_viewers", message)
    })?;
    let samples = site.hub.subscribe();
    let first = site.hub.sample(views).await?;
    // One event at a time: the next one is made when the viewer has taken this one.
    let (events, parts) = mpsc::channel(1);
    let (seen, name) = match last.and_then(|last| resumed(&first, last)) {
        Some(number) => (Seen::up_to(number), "changed"),
        None => (Seen::default(), "whole"),
    };
    let stream = Stream { site: Arc::clone(site), viewer, port, views, seen, events, _viewing: viewing };
    tokio::spawn(stream.run(first, name, samples));
    Ok(reply::stream("text/event-stream", parts))
}

/// The number of the sample that a viewer has, if all points since then are there.
fn resumed(sample: &Sample, last: &str) -> Option<u64> {
    let (boot, number) = last.rsplit_once('-')?;
    let number: u64 = number.parse().ok()?;
    let oldest = sample.points.first()?.number;
    let is_there = number <= sample.id.number && number.saturating_add(1) >= oldest;
    (boot == &*sample.id.boot && is_there).then_some(number)
}

/// A stream of one viewer.
struct Stream {
    site: Arc<Site>,
    viewer: Viewer,
    port: u16,
    views: Views,
    seen: Seen,
    events: mpsc::Sender<Bytes>,
    _viewing: Viewing,
}

/// What a viewer gets next.
enum Next {
    Sample(Arc<Sample>),
    Heartbeat,
    End(&'static str, &'static str),
}

impl Stream {
    /// Sends events until the viewer is gone.
    async fn run(
        mut self,
        first: Arc<Sample>,
        mut name: &'static str,
        mut samples: watch::Receiver<Option<Arc<Sample>>>,
    ) {
        let mut text = format!("retry: {}\n", RETRY.as_millis());
        let mut next = Next::Sample(first);
        loop {
            let is_over = matches!(next, Next::End(..));
            match next {
                Next::Sample(sample) => {
                    let data = sample.changed(self.views, &self.viewer, &mut self.seen);
                    // Writing to a string cannot fail.
                    let _ = write!(text, "event: {name}\nid: {}\ndata: {data}\n\n", sample.id);
                    name = "changed";
                }
                Next::Heartbeat => text.push_str(": heartbeat\n\n"),
                Next::End(word, message) => {
                    let refusal = Refusal::new(StatusCode::OK, word, message);
                    let _ = write!(text, "event: end\ndata: {}\n\n", refusal.json());
                }
            }
            if self.events.send(Bytes::from(std::mem::take(&mut text))).await.is_err() || is_over {
                return;
            }
            // A slow viewer gets the latest state when it has taken this one, and never a queue.
            let Ok(permit) = self.events.clone().reserve_owned().await else { return };
            drop(permit);
            next = self.next(&mut samples).await;
        }
    }

    async fn next(&self, samples: &mut watch::Receiver<Option<Arc<Sample>>>) -> Next {
        let mut ending = self.site.ending.clone();
        let wait = async {
            tokio::select! {
                () = self.events.closed() => Next::End("gone", ""),
                _ = ending.wait_for(|ending| *ending) => Next::End("ending", "the proxy ends"),
                sample = newer(samples, self.seen.number, self.views) => match sample {
                    Some(sample) => Next::Sample(sample),
                    None => Next::End("ending", "the proxy ends"),
                },
            }
        };
        let next = timeout(HEARTBEAT, wait).await.unwrap_or(Next::Heartbeat);
        if !access::is_current(&self.site, &self.viewer) {
            return Next::End("login_required", "the login is over");
        }
        if !self.site.is_served(self.port) {
            return Next::End("ending", "the page is not served here any more");
        }
        next
    }
}

/// The latest sample behind `number` that has these views; nothing if none can come.
async fn newer(
    samples: &mut watch::Receiver<Option<Arc<Sample>>>,
    number: u64,
    views: Views,
) -> Option<Arc<Sample>> {
    let is_newer = |sample: &Option<Arc<Sample>>| {
        sample.as_ref().is_some_and(|sample| sample.id.number > number && sample.has(views))
    };
    samples.wait_for(is_newer).await.ok().and_then(|sample| sample.clone())
}
