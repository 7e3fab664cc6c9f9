//! Getting a backend: for whom, how long it may take, and one attempt to open a connection. The
//! [search](super::search) tries one server after the other.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use observe::counts::Counter;
use pool::{Lease, Off, Permit, Server};
use session::error::{ClientError, Gone};
use session::identity::Identity;
use tokio::time::{Instant, timeout};

use crate::Worker;
use crate::failures::{ACCOUNT_FULL, AcquireError, Failed, SERVER_FULL, Why, no_answer};
use crate::idle_state::Asker;
use crate::place::InLine;
use crate::search::search;
use crate::times::Times;
use crate::whom::{Full, Whom};
use crate::{Backend, Connection, OpenError, Target};

/// A connection that was found.
#[derive(Debug)]
pub struct Found {
    /// The connection.
    pub backend: Backend,
    /// Another session had it, and it is as the one that asked would have it.
    pub is_lent: bool,
}

/// Gets a backend of `hostgroup` within `mysql-connect_timeout_server_max`, or as long as it may
/// take: an idle connection, or one opened by `open`.
///
/// Each attempt takes at most `mysql-connect_timeout_server`, and no longer than its server is of
/// use; after `mysql-connect_retries_on_failure` failures besides the first the search ends.
/// Servers that have not failed yet come first. A session in line goes on with that.
pub async fn acquire(
    worker: &Rc<Worker>,
    hostgroup: u32,
    full: Full,
    whom: Whom<'_>,
    in_line: Option<Box<InLine>>,
    open: impl AsyncFn(&Target) -> Result<Connection, OpenError>,
) -> Result<Found, AcquireError> {
    let found = search(worker, hostgroup, full, &whom, in_line, open).await;
    match &found {
        Ok(_) => note_got(worker, hostgroup, whom.asker),
        Err(_) => worker.counts.note(Counter::NoConnection),
    }
    if matches!(&found, Err(AcquireError::Proxy(ClientError::NoBackend(_)))) {
        worker.counts.note(Counter::ConnectTimeouts);
    }
    found
}

/// Takes note of a session that has got a connection.
pub(crate) fn note_got(worker: &Worker, hostgroup: u32, asker: Option<&Asker<'_>>) {
    worker.counts.note(Counter::GotConnection);
    if let Some(asker) = asker {
        note_client(worker, hostgroup, asker.identity);
    }
}

/// Takes note of a client that has got a connection: others like it may need some.
pub fn note_client(worker: &Worker, hostgroup: u32, client: &Identity) {
    worker.warmth.note(worker, hostgroup, client);
}

/// How a connection is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attempt {
    pub(crate) deadline: Instant,
    pub(crate) times: Times,
    pub(crate) full: Full,
    /// Whether the user has other connections to servers, which sessions may wait for.
    pub(crate) has_more: bool,
}

impl Attempt {
    /// Whether this error of a server means that it takes no more connections than it has now: of
    /// all users, or of this one (`Some(true)`). Without a connection that could be waited for, now
    /// or when the server refused one before, the client hears what the server says.
    fn has_too_many(self, permit: &Permit<Target>, error: &OpenError) -> Option<bool> {
        match error {
            OpenError::Refused { code: SERVER_FULL, .. } => {
                (self.full != Full::Tell || permit.server().made() > 0).then_some(false)
            }
            OpenError::Refused { code, .. } if ACCOUNT_FULL.contains(code) => {
                (self.has_more || permit.was_refused()).then_some(true)
            }
            _ => None,
        }
    }
}

/// Opens a connection to the permit's server.
pub(crate) async fn attempt(
    worker: &Worker,
    permit: Permit<Target>,
    how: Attempt,
    open: &impl AsyncFn(&Target) -> Result<Connection, OpenError>,
) -> Result<Backend, Failed> {
    let (server, version) = (permit.server(), worker.version());
    let (begun, begun_uptime) = worker.shared.now();
    let limit = how.times.attempt.min(how.deadline.saturating_duration_since(begun));
    let opened = while_of_use(worker, server, timeout(limit, open(server.endpoint()))).await;
    let why = match opened {
        Ok(Ok(Ok(mut link))) => {
            let uptime = worker.shared.uptime();
            server.note_latency(begun.elapsed(), uptime);
            server.note_opened();
            permit.note_made(begun_uptime, uptime);
            worker.counts.note(Counter::ServersCreated);
            link.count_for(worker, server);
            link.version = version;
            return Ok(Box::new(Lease::new(link, permit)));
        }
        Ok(Ok(Err(error))) if let Some(of_account) = how.has_too_many(&permit, &error) => {
            if permit.note_refused(of_account, worker.shared.uptime()) {
                log_full(server, &error);
            }
            Why::Full(error)
        }
        Ok(Ok(Err(error))) => {
            let blame =
                error.is_servers().then_some(if error.is_answer() { Blame::Answer } else { Blame::Silence });
            note_failure(worker, server, blame, &error);
            Why::Said(error)
        }
        Ok(Err(_)) => {
            let blame = how.times.has_had_time(limit).then_some(Blame::Silence);
            note_failure(worker, server, blame, &no_answer(limit));
            Why::Late(limit)
        }
        Err(off) => {
            // Who has found that out has drawn the consequences.
            note_failure(worker, server, None, &Gone::Off(off));
            Why::Off(off)
        }
    };
    Err(Failed { target: server.endpoint().clone(), why })
}

/// A server has refused a connection because it has too many: at the first one in a while.
#[cold]
fn log_full(server: &Server<Target>, error: &OpenError) {
    let (hostgroup, made, max_connections) = (server.hostgroup(), server.made(), server.max_connections());
    tracing::warn!(
        server = %server.endpoint(), hostgroup, made, max_connections, %error,
        "a server takes no more connections: sessions share those that were made, and more are tried from time to time; \
         raise its limit, or lower max_connections of its row"
    );
}

/// Does `work` with a server unless the server is, or is found to be, of no use: then why. That
/// finding wakes the waiting task.
pub(crate) async fn while_of_use<T>(
    worker: &Worker,
    server: &Server<Target>,
    work: impl Future<Output = T>,
) -> Result<T, Off> {
    until_off(worker, server, |_| true, work).await
}

/// The same for a statement that runs: one at a server that has only left its hostgroup may end.
pub async fn until_broken_off<T>(
    worker: &Worker,
    server: &Server<Target>,
    work: impl Future<Output = T>,
) -> Result<T, Off> {
    until_off(worker, server, Off::breaks_off, work).await
}

/// Does something until the server is off in this way.
async fn until_off<T>(
    worker: &Worker,
    server: &Server<Target>,
    is_over: impl Fn(Off) -> bool,
    work: impl Future<Output = T>,
) -> Result<T, Off> {
    let (mut work, mut recalled) = (pin!(work), pin!(worker.recalled.notified()));
    poll_fn(|cx| {
        // It calls from now on.
        while recalled.as_mut().poll(cx).is_ready() {
            recalled.set(worker.recalled.notified());
        }
        match server.off().filter(|off| is_over(*off)) {
            Some(off) => Poll::Ready(Err(off)),
            None => work.as_mut().poll(cx).map(Ok),
        }
    })
    .await
}

/// What a server is to blame for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    /// What it has answered.
    Answer,
    /// It has not answered.
    Silence,
}

/// Counts an attempt that failed; a server that is to blame is shunned if that happens too often.
pub(crate) fn note_failure(
    worker: &Worker,
    server: &Server<Target>,
    blame: Option<Blame>,
    why: &dyn fmt::Display,
) {
    server.note_failed();
    worker.counts.note(Counter::ServersAborted);
    let Some(blame) = blame else { return };
    if worker.shared.pool.note_error(server, blame == Blame::Silence, worker.shared.uptime()) {
        let hostgroup = server.hostgroup();
        tracing::warn!(server = %server.endpoint(), hostgroup, %why, "shunned: connecting has failed too often");
        worker.shared.doubts.shunned(hostgroup, &server.endpoint().endpoint, why);
    }
}
