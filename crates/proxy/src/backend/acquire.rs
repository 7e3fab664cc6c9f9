//! Getting a backend: choosing a server, waiting for a place, opening the connection, trying the next one.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use config::MysqlVariables;
use pool::{Choice, Closed, Lease, Off, Permit, Quota, Server, Ticket, Turn, Usage};
use route::Candidate;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use wire::StatusFlags;

use super::kept::{Asker, Entry};
use super::lend::{Lent, lend, lend_at_once};
use super::share::{Among, UserFull, among};
use super::{Backend, Connection, OpenError, Target};
use crate::choosing::candidates;
use crate::counts::Counter;
use crate::error::{ClientError, Gone};
use crate::holders::{Holders, holders};
use crate::limits::{LENT_MAX, MOVE_WAIT};
use crate::users::User;
use crate::worker::Worker;

/// `ER_CON_COUNT_ERROR`: the server is full. Another one may have room, and soon this one, too.
const SERVER_FULL: u16 = 1040;

/// While a session waits for a server, it looks this often whether one has come back by itself. Servers that are shunned
/// meanwhile announce when that will be to those who look.
const LOOK: Duration = Duration::from_secs(1);

/// The shortest time between two such looks: the resolution of the runtime's timers.
const TICK: Duration = Duration::from_millis(1);

/// Refusals that say nothing about other servers: this one shuts down (`ER_SERVER_SHUTDOWN`), has locked this host out
/// (`ER_HOST_IS_BLOCKED`), or has as many connections of this user as it allows (`ER_TOO_MANY_USER_CONNECTIONS`,
/// `ER_USER_LIMIT_REACHED`).
const TRY_ELSEWHERE: [u16; 4] = [1053, 1129, 1203, 1226];

/// What becomes of a search that finds servers full (error 1040).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// They are tried again: soon one of them may have room.
    TryAgain,
    /// If all are, the client hears it, as from a server.
    Tell,
    /// They are tried again; but nobody waits for servers that do not work, because there is another hostgroup.
    Elsewhere,
}

/// Why a session got no backend.
#[derive(Debug)]
pub(crate) enum AcquireError {
    /// No server could be reached in time.
    Proxy(ClientError),
    /// A server refused the login: the payload of its ERR packet, which the client shall see.
    Server(Vec<u8>),
}

/// The failures of one search for a backend.
#[derive(Debug, Default)]
struct Failures {
    count: u32,
    /// The last refusal of a server, which the client shall see if no other server is left to try.
    refusal: Option<Vec<u8>>,
    /// One entry per server: how often it failed, and how last.
    servers: Vec<(Target, u32, String)>,
}

/// A connection that was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) backend: Backend,
    /// Another session had it; it is as the one that asked would have it, and its server has told this status last.
    pub(crate) lent: Option<StatusFlags>,
}

/// Gets a backend of `hostgroup` within `mysql-connect_timeout_server_max`: one that nobody uses at the moment, if an asker is named
/// who may have such a one, or one opened by `open`, which is one of `user`'s, who may have a limited number of them.
///
/// Each attempt takes at most `mysql-connect_timeout_server`, and no longer than its server is of use; after `mysql-connect_retries_on_failure` failures
/// besides the first the search ends. Servers that have not failed yet come first.
pub(crate) async fn acquire(
    worker: &Rc<Worker>,
    hostgroup: u32,
    full: Full,
    user: Option<&User>,
    asker: Option<&Asker<'_>>,
    open: impl AsyncFn(&Target) -> Result<Connection, OpenError>,
) -> Result<Found, AcquireError> {
    let found = search(worker, hostgroup, full, user, asker, open).await;
    match &found {
        Ok(_) => worker.counts.note(Counter::GotConnection),
        Err(_) => worker.counts.note(Counter::NoConnection),
    }
    if matches!(&found, Err(AcquireError::Proxy(error)) if error.is_connect_timeout()) {
        worker.counts.note(Counter::ConnectTimeouts);
    }
    found
}

async fn search(
    worker: &Rc<Worker>,
    hostgroup: u32,
    full: Full,
    user: Option<&User>,
    asker: Option<&Asker<'_>>,
    open: impl AsyncFn(&Target) -> Result<Connection, OpenError>,
) -> Result<Found, AcquireError> {
    let settings = worker.settings();
    let variables = &settings.variables;
    let started = Instant::now();
    let deadline = started + variables.connect_timeout_server_max;
    let quota = user.and_then(|user| user.backends.as_ref().map(|limited| (user, limited.quota())));
    let (mut failures, mut lent, mut share) = (Failures::default(), 0, None);
    loop {
        // Where a server has failed, its other connections may be no better.
        let asker = asker.filter(|_| failures.count == 0 && lent < LENT_MAX);
        if let Some(asker) = asker {
            worker.warmth.note(worker, hostgroup, asker.identity);
        }
        let place = match quota.filter(|_| share.is_none()) {
            None => place(worker, hostgroup, deadline, &failures, full, asker).await,
            Some((user, quota)) => match among(worker, hostgroup, deadline, quota, asker).await {
                Among::Share(one) => {
                    share = Some(one);
                    continue;
                }
                Among::Spare(entry, asker) => Place::Spare(entry, asker),
                Among::None => return Err(user_full(hostgroup, started, user, quota)),
            },
        };
        let permit = match place {
            Place::Spare(entry, asker) => {
                lent += 1;
                let server = Arc::clone(entry.backend.server());
                let limit = variables.connect_timeout_server;
                let lent = match lend_at_once(worker, entry, asker) {
                    Ok(lent) => Ok(lent),
                    // Boxed: most need no answer, and all that wait for a connection carry this.
                    Err(entry) => {
                        let lending = lend(worker, entry, asker, deadline);
                        Box::pin(while_of_use(worker, &server, lending)).await
                    }
                };
                let why = match lent {
                    Ok(Lent::Ready(backend, status)) => return Ok(Found { backend, lent: Some(status) }),
                    // The next place is not there.
                    Ok(Lent::Useless) | Err(_) => continue,
                    Ok(Lent::Refused(payload)) => return Err(AcquireError::Server(payload)),
                    Ok(Lent::NotAdmitted(error)) => Why::Said(error),
                    Ok(Lent::Late) => {
                        note_failure(worker, &server, true, &no_answer(limit));
                        Why::Late(limit)
                    }
                };
                Failed { target: server.endpoint().clone(), why }.weigh(full, &mut failures)?;
                continue;
            }
            Place::Free(permit) => permit,
            Place::None => return Err(no_place(worker, hostgroup, started, &failures).await),
        };
        let target = permit.server().endpoint();
        if failures.contain(target)
            && let Some(refusal) = failures.refusal
        {
            return Err(AcquireError::Server(refusal));
        }
        // Boxed: most connections are lent, and all that wait for one carry this.
        match Box::pin(attempt(worker, permit, deadline, &open)).await {
            Ok(mut backend) => {
                backend.connection_mut().set_share(share);
                return Ok(Found { backend, lent: None });
            }
            Err(failed) => failed.weigh(full, &mut failures)?,
        }
        let next = Instant::now() + variables.connect_retries_delay;
        if failures.count > variables.connect_retries_on_failure || next >= deadline {
            return Err(AcquireError::Proxy(ClientError::no_backend(
                hostgroup,
                started.elapsed(),
                &failures,
            )));
        }
        sleep_until(next).await;
    }
}

/// An attempt to connect that has failed.
pub(super) struct Failed {
    target: Target,
    why: Why,
}

/// Why an attempt has failed.
enum Why {
    /// The server says so, or the system.
    Said(OpenError),
    /// There was no answer in this time.
    Late(Duration),
    /// The server was found to be of no use meanwhile.
    Off(Off),
}

impl Failed {
    /// What becomes of the search: it goes on unless the client has to hear of this.
    fn weigh(self, full: Full, failures: &mut Failures) -> Result<(), AcquireError> {
        let target = &self.target;
        match self.why {
            Why::Said(OpenError::Refused { code, message, payload })
                if code != SERVER_FULL || full == Full::Tell =>
            {
                if code != SERVER_FULL && !TRY_ELSEWHERE.contains(&code) {
                    return Err(AcquireError::Server(payload));
                }
                failures.note(target, format!("error {code}: {}", String::from_utf8_lossy(&message)));
                failures.refusal = Some(payload);
            }
            Why::Said(OpenError::Login(why)) => {
                return Err(AcquireError::Proxy(ClientError::backend_login(target, &why)));
            }
            Why::Said(error) => failures.note(target, error.to_string()),
            Why::Late(limit) => failures.note(target, no_answer(limit)),
            Why::Off(off) => failures.note(target, Gone::Off(off).to_string()),
        }
        Ok(())
    }
}

/// Opens a connection to the permit's server.
pub(super) async fn attempt(
    worker: &Worker,
    permit: Permit<Target>,
    deadline: Instant,
    open: &impl AsyncFn(&Target) -> Result<Connection, OpenError>,
) -> Result<Backend, Failed> {
    let settings = worker.settings();
    let variables = &settings.variables;
    let (server, begun, version) = (permit.server(), Instant::now(), worker.version());
    let limit = variables.connect_timeout_server.min(deadline.saturating_duration_since(begun));
    let opened = while_of_use(worker, server, timeout(limit, open(server.endpoint()))).await;
    let why = match opened {
        Ok(Ok(Ok(mut link))) => {
            server.note_latency(begun.elapsed(), worker.shared.uptime());
            server.note_opened();
            worker.counts.note(Counter::ServersCreated);
            link.count_for(worker, server);
            link.set_version(version);
            return Ok(Box::new(Lease::new(link, permit)));
        }
        Ok(Ok(Err(error))) => {
            note_failure(worker, server, error.is_servers(), &error);
            Why::Said(error)
        }
        Ok(Err(_)) => {
            note_failure(worker, server, has_had_time(limit, variables), &no_answer(limit));
            Why::Late(limit)
        }
        Err(off) => {
            // Who has found that out has drawn the consequences.
            note_failure(worker, server, false, &Gone::Off(off));
            Why::Off(off)
        }
    };
    Err(Failed { target: server.endpoint().clone(), why })
}

/// Does something with a server unless it is, or is found to be, of no use: then why. Whoever waits is woken when that is found.
pub(crate) async fn while_of_use<T>(
    worker: &Worker,
    server: &Server<Target>,
    work: impl Future<Output = T>,
) -> Result<T, Off> {
    let (mut work, mut recalled) = (pin!(work), pin!(worker.recalled.notified()));
    poll_fn(|cx| {
        // It calls from now on.
        while recalled.as_mut().poll(cx).is_ready() {
            recalled.set(worker.recalled.notified());
        }
        match server.off() {
            Some(off) => Poll::Ready(Err(off)),
            None => work.as_mut().poll(cx).map(Ok),
        }
    })
    .await
}

/// The user has all the connections that he may have.
fn user_full(hostgroup: u32, started: Instant, user: &User, quota: &Quota) -> AcquireError {
    let why = UserFull { user: &user.name, quota };
    AcquireError::Proxy(ClientError::no_backend(hostgroup, started.elapsed(), &why))
}

/// There is not even a server to try.
async fn no_place(
    worker: &Rc<Worker>,
    hostgroup: u32,
    started: Instant,
    failures: &Failures,
) -> AcquireError {
    let (pool, waited) = (&worker.shared.pool, started.elapsed());
    let candidates = candidates(pool, hostgroup, worker.shared.uptime());
    let usage = pool.usage(hostgroup);
    let holders = if usage.open > 0 { holders(worker, hostgroup).await } else { Rc::default() };
    let why = NoPermit { usage, candidates, holders, failures };
    AcquireError::Proxy(ClientError::no_backend(hostgroup, waited, &why))
}

/// Whether a server that has not answered within `limit` is to blame, and not the session, which had no more time left. A little is
/// always gone for pauses between attempts; if no attempt has all the time that it may take, half of what there is counts.
fn has_had_time(limit: Duration, variables: &MysqlVariables) -> bool {
    let (whole, longest) = (variables.connect_timeout_server, variables.connect_timeout_server_max);
    if longest < whole { limit >= longest / 2 } else { limit >= whole / 10 * 9 }
}

fn no_answer(limit: Duration) -> String {
    format!("no answer within {}ms", limit.as_millis())
}

/// Counts an attempt that failed; `servers` says whether the server is to blame, which is shunned if that happens too often.
fn note_failure(worker: &Worker, server: &Server<Target>, servers: bool, why: &dyn fmt::Display) {
    server.note_failed();
    worker.counts.note(Counter::ServersAborted);
    if servers && worker.shared.pool.note_error(server, worker.shared.uptime()) {
        let hostgroup = server.hostgroup();
        tracing::warn!(server = %server.endpoint(), hostgroup, %why, "shunned: connecting has failed too often");
        worker.shared.watching.note_shunned(hostgroup, &server.endpoint().endpoint, why);
    }
}

/// What a session gets that looks for a server.
enum Place<'a> {
    /// The right to connect to one.
    Free(Permit<Target>),
    /// A connection that nobody uses, and who asked for it.
    Spare(Box<Entry>, &'a Asker<'a>),
    /// There is no server, or it is too late.
    None,
}

/// A place at a server of `hostgroup`, or a connection that is there; waits in line when all are full.
async fn place<'a>(
    worker: &Rc<Worker>,
    hostgroup: u32,
    deadline: Instant,
    failures: &Failures,
    full: Full,
    asker: Option<&'a Asker<'a>>,
) -> Place<'a> {
    let shared = &worker.shared;
    let spare = asker.map_or_else(Vec::new, |asker| worker.kept.spare(worker, hostgroup, asker));
    let avoid = |target: &Target| failures.contain(target);
    let has_spare = |server: u64| spare.contains(&server);
    match shared.pool.choose_with(hostgroup, worker.dice.roll(), shared.uptime(), avoid, has_spare) {
        Choice::Granted(permit) => return Place::Free(permit),
        Choice::Spare(server) => {
            if let Some(asker) = asker
                && let Some(entry) = worker.kept.pop(worker, hostgroup, Some(server.id()), asker)
            {
                return Place::Spare(Box::new(entry), asker);
            }
        }
        Choice::NoServer => return Place::None,
        Choice::Busy if full == Full::Elsewhere && !shared.pool.works(hostgroup, shared.uptime()) => {
            return Place::None;
        }
        Choice::Busy => {}
    }
    if let Some(asker) = asker
        && let Some(entry) = worker.kept.pop(worker, hostgroup, None, asker)
    {
        return Place::Spare(Box::new(entry), asker);
    }
    wait(worker, hostgroup, deadline, asker).await
}

/// Waits for a place at a server of `hostgroup`, or for a connection that another session of this worker does not need any more.
async fn wait<'a>(
    worker: &Rc<Worker>,
    hostgroup: u32,
    deadline: Instant,
    asker: Option<&'a Asker<'a>>,
) -> Place<'a> {
    let shared = &worker.shared;
    let Some(ticket) = shared.pool.enqueue(hostgroup, worker.dice.roll(), shared.uptime()) else {
        return Place::None;
    };
    if matches!(shared.pool.usage(hostgroup).closed, Some(Closed::Throttled { .. })) {
        worker.counts.note(Counter::ServersDelayed);
    }
    let patience = if asker.is_some() { MOVE_WAIT } else { Duration::ZERO };
    let handed = asker.map(|asker| (worker.kept.wait(worker, asker, hostgroup), asker));
    let handed = async {
        let (handed, asker) = handed?;
        Some((handed.await.ok()?, asker))
    };
    tokio::select! {
        biased;
        Some((entry, asker)) = handed => Place::Spare(entry, asker),
        turn = turn(worker, hostgroup, ticket, deadline, patience) => match turn {
            Some(Turn::Granted(permit)) => Place::Free(permit),
            Some(Turn::NoServer) | None => Place::None,
        },
    }
}

/// Waits for a ticket's turn until the deadline, for so long without asking other workers for anything.
async fn turn(
    worker: &Rc<Worker>,
    hostgroup: u32,
    mut ticket: Ticket<Target>,
    deadline: Instant,
    patience: Duration,
) -> Option<Turn<Target>> {
    let shared = &worker.shared;
    let mut patience = Some(patience).filter(|patience| !patience.is_zero());
    loop {
        // What nobody uses in this hostgroup is in somebody's way.
        worker.kept.make_room(worker, hostgroup);
        if patience.is_none() && shared.pool.resting(hostgroup) > 0 {
            shared.siblings.make_room(hostgroup);
        }
        let change = shared.pool.serve(hostgroup, shared.uptime());
        let turn = poll_fn(|cx| ticket.poll_turn(cx.waker()).map_or(Poll::Pending, Poll::Ready));
        let look = change.map_or(LOOK, |change| change.clamp(TICK, LOOK));
        let look = patience.take().map_or(look, |patience| look.min(patience));
        // One timer for both: whoever waits does so with nearly every statement.
        let now = Instant::now();
        match timeout_at(deadline.min(now + look), turn).await {
            Ok(turn) => return Some(turn),
            Err(_) if now + look >= deadline => return None,
            Err(_) => {}
        }
    }
}

impl Failures {
    fn note(&mut self, target: &Target, error: String) {
        self.count += 1;
        match self.servers.iter_mut().find(|(server, ..)| server == target) {
            Some((_, count, last)) => {
                *count += 1;
                *last = error;
            }
            None => self.servers.push((target.clone(), 1, error)),
        }
    }

    fn contain(&self, target: &Target) -> bool {
        self.servers.iter().any(|(server, ..)| server == target)
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (server, count, last)) in self.servers.iter().enumerate() {
            let comma = if i == 0 { "tried " } else { ", " };
            let times = if *count == 1 { "time" } else { "times" };
            write!(f, "{comma}{server} {count} {times} ({last})")?;
        }
        Ok(())
    }
}

/// Servers that such a message names.
const SHOWN_SERVERS_MAX: usize = 4;

/// Why there was not even a server to try.
struct NoPermit<'a> {
    usage: Usage,
    candidates: Vec<Candidate>,
    holders: Rc<Holders>,
    failures: &'a Failures,
}

impl fmt::Display for NoPermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Usage { servers, available, open, resting: _, allowed, waiting, closed: _, awaited } = self.usage;
        if servers == 0 && awaited {
            write!(f, "the monitor knows no server that belongs into this hostgroup")?;
        } else if servers == 0 {
            write!(f, "no server is configured for this hostgroup")?;
        } else if available == 0 || u64::from(open) < allowed {
            write!(f, "none of its {servers} servers can be taken")?;
            for (i, Candidate { server, reason, .. }) in
                self.candidates.iter().take(SHOWN_SERVERS_MAX).enumerate()
            {
                write!(f, "{} {server}: {reason}", if i == 0 { ":" } else { ";" })?;
            }
        } else {
            write!(f, "{open} of {allowed} connections of {available} servers are in use")?;
            write!(f, ", {waiting} more sessions wait")?;
            let held = self.holders.to_string();
            write!(f, "{}{held}", if held.is_empty() { "" } else { "; " })?;
        }
        if self.failures.count > 0 {
            write!(f, "; {}", self.failures)?;
        }
        Ok(())
    }
}
