//! What servers have executed, as the readers of their binary logs say (`gtid_port`), for sessions that must not read anything older.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use config::Endpoint;
use monitor::{Feed, FeedError, Gtid};
use tokio::sync::Notify;

use crate::counts::report::address;
use crate::stats::GtidStats;

/// What is known of all servers that have a reader.
#[derive(Debug, Default)]
pub(crate) struct Executed {
    feeds: Mutex<HashMap<Endpoint, Feed>>,
    grown: Notify,
}

impl Executed {
    fn feeds(&self) -> MutexGuard<'_, HashMap<Endpoint, Feed>> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Only these servers have readers from now on.
    pub(super) fn keep(&self, servers: &HashSet<Endpoint>) {
        self.feeds().retain(|server, _| servers.contains(server));
    }

    /// A server's reader begins anew: what the one before has said may not hold any more, as the server may be another one.
    pub(super) fn begin(&self, server: &Endpoint) {
        self.feeds().insert(server.clone(), Feed::default());
    }

    /// Hears lines of a server's reader.
    ///
    /// # Errors
    ///
    /// One of them makes no sense; those before it count.
    pub(super) fn hear<'a>(
        &self,
        server: &Endpoint,
        lines: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), FeedError> {
        let outcome = match self.feeds().get_mut(server) {
            Some(feed) => lines.into_iter().try_for_each(|line| feed.hear(line)),
            None => Ok(()),
        };
        self.grown.notify_waiters();
        outcome
    }

    /// Whether a server is known to have executed a transaction.
    pub(crate) fn has(&self, server: &Endpoint, gtid: &Gtid) -> bool {
        let feeds = self.feeds();
        feeds.get(server).and_then(Feed::executed).is_some_and(|executed| executed.contains(gtid))
    }

    /// Waits until `condition` holds, which is looked at whenever something was executed.
    pub(crate) async fn wait_until(&self, condition: impl Fn() -> bool) {
        loop {
            // What comes behind the look is heard of.
            let mut grown = std::pin::pin!(self.grown.notified());
            grown.as_mut().enable();
            if condition() {
                return;
            }
            grown.await;
        }
    }

    /// The rows of `stats_mysql_gtid_executed`.
    pub(crate) fn rows(&self) -> Vec<GtidStats> {
        let feeds = self.feeds();
        let mut rows: Vec<_> = feeds
            .iter()
            .map(|(server, feed)| {
                let (host, port) = address(server);
                let executed = feed.executed().map(ToString::to_string);
                GtidStats { host, port, executed, events: feed.events() }
            })
            .collect();
        rows.sort_unstable_by(|a, b| (&a.host, a.port).cmp(&(&b.host, b.port)));
        rows
    }
}
