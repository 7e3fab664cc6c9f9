//! Following the binary logs of servers for the query cache: answers in the modes `bounded` and
//! `strict` are given as far as it is known what others have written.
//!
//! A hostgroup is followed from the first query on that needs it, at the one server that it has,
//! until no query has needed it for some minutes.
//!
//! - `control`: the connection over which a server is asked;
//! - `probe`: what it is asked, and what the answers mean;
//! - `changes`: what a transaction changes, as the cache counts it;
//! - `resets`: whether its log has begun anew, or it replicates;
//! - `start`: where its log is followed from; `asking`: a turn of questions; `pace`: when it is
//!   asked; `alarm`: the wait until then; `learning`: for which definitions;
//! - `stream`: what is in the log; `lost`: why that ends;
//! - `log`: what is known of a log that is read; `seen`: whether it can be read on behind an
//!   interruption;
//! - `server`: one server, connected to again and again.

mod alarm;
mod asking;
mod changes;
mod control;
mod learning;
mod log;
mod lost;
mod pace;
mod probe;
mod resets;
mod seen;
mod server;
mod start;
mod stream;

use std::collections::HashMap;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use cache::{Cache, Source};
use config::Endpoint;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use upstream::{Target, Worker};

use crate::Watching;

/// How often it is looked whether hostgroups have other servers.
const LOOK: Duration = Duration::from_millis(100);

/// Bounds of queries that have ended, and hostgroups that no query needs, are forgotten behind so
/// many looks, a second.
const TURNS_OF_BOUNDS: u32 = 10;

/// A server that is followed; it is no more when this is dropped.
struct Followed {
    source: Arc<Source>,
    task: JoinHandle<()>,
}

impl Drop for Followed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Follows what queries need, until there is nothing to be watched any more.
pub(crate) async fn follow(worker: Rc<Worker>, watching: Arc<Watching>, cache: Arc<Cache>) {
    let news = watching.news.subscribe();
    let mut followed: HashMap<Endpoint, Followed> = HashMap::new();
    let mut turn = 0_u32;
    loop {
        if news.borrow().is_over {
            return;
        }
        turn = turn.wrapping_add(1);
        if turn.is_multiple_of(TURNS_OF_BOUNDS) {
            cache.sources.sweep(worker.shared.uptime_us());
            for one in followed.values() {
                one.source.forget_bounds();
            }
        }
        let wanted = cache.sources.wanted();
        let servers: Vec<_> = wanted.iter().map(|(id, _)| (*id, only_server(&worker, *id))).collect();
        followed.retain(|endpoint, one| {
            !one.task.is_finished()
                && servers
                    .iter()
                    .any(|(_, server)| server.as_ref().is_some_and(|one| one.endpoint == *endpoint))
        });
        for (hostgroup, server) in servers {
            let source = server.map(|target| {
                let begin = || begin(&worker, &cache, &target);
                Arc::clone(&followed.entry(target.endpoint.clone()).or_insert_with(begin).source)
            });
            cache.sources.set(hostgroup, source);
        }
        let more = poll_fn(|cx| cache.sources.poll_wanted(wanted.len(), cx));
        if wanted.is_empty() {
            more.await;
        } else {
            let _ = timeout(LOOK, more).await;
        }
    }
}

fn begin(worker: &Rc<Worker>, cache: &Arc<Cache>, target: &Target) -> Followed {
    let source = Arc::new(Source::new(&target.endpoint.to_string()));
    let task = server::follow(Rc::clone(worker), Arc::clone(cache), Arc::clone(&source), target.clone());
    Followed { source, task: tokio::task::spawn_local(task) }
}

/// The server of a hostgroup; nothing if it has none, or several: then writes may be elsewhere.
fn only_server(worker: &Worker, hostgroup: u32) -> Option<Target> {
    worker.shared.pool.only(hostgroup, |server| server.endpoint().clone())
}
