//! Getting a backend: a place at a server, opening the connection or making another session's one
//! fit, trying the next server.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use config::MysqlVariables;
use pool::{Lease, Off, Permit, Quota, Server};
use tokio::time::{Instant, sleep_until, timeout};
use wire::StatusFlags;

use super::failures::{ACCOUNT_FULL, Failed, Failures, NoPermit, SERVER_FULL, Why, no_answer};
use super::idle_state::Asker;
use super::place::{InLine, Place, take, wait};
use super::share::{Among, UserFull, among};
use super::spare::{Spare, lend_spare};
use super::times::Times;
use super::{Backend, Connection, OpenError, Target};
use crate::choosing::candidates;
use crate::counts::Counter;
use crate::error::{ClientError, Gone};
use crate::fresh::Wanted;
use crate::holders::holders;
use crate::limits::LENT_MAX;
use crate::users::User;
use crate::worker::Worker;

/// What becomes of a search that finds servers full (error 1040).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// They are tried again: soon one of them may have room.
    TryAgain,
    /// If all are, the client hears it, as from a server.
    Tell,
    /// They are tried again; but nobody waits for servers that do not work, because there is
    /// another hostgroup.
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

/// A connection that was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) backend: Backend,
    /// Another session had it; it is as the one that asked would have it, and its server has told
    /// this status last.
    pub(crate) lent: Option<StatusFlags>,
}

/// For whom a backend is searched.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Whom<'a> {
    /// Whose connection it will be, who may have a limited number of them.
    pub(crate) user: Option<&'a User>,
    /// Who may have one that nobody uses at the moment.
    pub(crate) asker: Option<&'a Asker<'a>>,
    /// Servers that have this come first.
    pub(crate) wanted: Option<&'a Wanted>,
    /// How long it may take, if not as long as the variables say.
    pub(crate) times: Option<&'a Times>,
}

/// Gets a backend of `hostgroup` within `mysql-connect_timeout_server_max`, or as long as it may
/// take: one that nobody uses at the moment, or one opened by `open`.
///
/// Each attempt takes at most `mysql-connect_timeout_server`, and no longer than its server is of
/// use; after `mysql-connect_retries_on_failure` failures besides the first the search ends.
/// Servers that have not failed yet come first. Who stands in line already goes on with that.
pub(crate) async fn acquire(
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
pub(super) fn note_got(worker: &Worker, hostgroup: u32, asker: Option<&Asker<'_>>) {
    worker.counts.note(Counter::GotConnection);
    if let Some(asker) = asker {
        worker.warmth.note(worker, hostgroup, asker.identity);
    }
}

async fn search(
    worker: &Rc<Worker>,
    hostgroup: u32,
    full: Full,
    whom: &Whom<'_>,
    in_line: Option<Box<InLine>>,
    open: impl AsyncFn(&Target) -> Result<Connection, OpenError>,
) -> Result<Found, AcquireError> {
    let settings = worker.settings();
    let variables = &settings.variables;
    let started = in_line.as_ref().map_or_else(Instant::now, |line| line.began);
    let deadline = started + whom.times(variables).whole;
    let quota = whom.user.map(|user| (user, user.backends()));
    let (mut failures, mut lent, mut share, mut first) = (Failures::default(), 0, None, None);
    if let Some(mut line) = in_line {
        first = Some(poll_fn(|cx| line.poll(cx)).await);
    }
    // Whether there was a place at a server, and nothing lacks but the user's share.
    let mut had_place = false;
    loop {
        // Where a server has failed, its other connections may be no better.
        let asker = whom.asker.filter(|_| failures.count == 0 && lent < LENT_MAX);
        let whom = Whom { asker, ..*whom };
        // Who would wait for servers that have no room takes no share for that from others of the
        // user, who could go on.
        let has_room = || had_place || worker.shared.pool.has_room(hostgroup, worker.shared.uptime());
        let limited =
            quota.filter(|(_, quota)| first.is_none() && share.is_none() && quota.is_limited() && has_room());
        let place = match limited {
            None => {
                // In a block, so that who waits does not carry it.
                let taken = {
                    let avoid = |target: &Target| failures.contain(target) || whom.lacks(worker, target);
                    first
                        .take()
                        .or_else(|| take(worker, hostgroup, worker.shared.uptime(), avoid, full, &whom))
                };
                if let Some(place) = taken {
                    place
                } else {
                    // Others of the user may have more use for it meanwhile.
                    share = None;
                    wait(worker, hostgroup, (started, deadline), &whom).await
                }
            }
            // Boxed: most users have no limit.
            Some((user, quota)) => {
                let among = among(worker, hostgroup, (started, deadline), quota, asker);
                match Box::pin(among).await {
                    Among::Share(one) => {
                        share = Some(one);
                        continue;
                    }
                    Among::Spare(entry) => Place::Spare(entry),
                    Among::None => return Err(user_full(hostgroup, started, user, quota)),
                }
            }
        };
        let permit = match place {
            Place::Useless => {
                lent += 1;
                continue;
            }
            Place::Spare(entry) => {
                lent += 1;
                let Some(asker) = asker else {
                    // Sessions share no connections any more.
                    worker.kept.put_back(worker, entry);
                    continue;
                };
                match lend_spare(worker, entry, asker, deadline).await? {
                    Spare::Lent(found) => return Ok(found),
                    // The next place is not there.
                    Spare::Useless => {}
                    Spare::Failed(failed) => failed.weigh(full, &mut failures)?,
                }
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
        // Those of users without a limit count as well: they may get one.
        share = share.or_else(|| quota.and_then(|(_, quota)| quota.take()));
        had_place = share.is_none() && quota.is_some();
        if had_place {
            continue;
        }
        // Boxed: most connections are lent, and all that wait for one carry this.
        let has_more = quota.is_some_and(|(_, all)| all.taken() > 1);
        let how = Attempt { deadline, times: whom.times(variables), full, has_more };
        match Box::pin(attempt(worker, permit, how, &open)).await {
            Ok(mut backend) => {
                backend.connection_mut().set_share(share);
                return Ok(Found { backend, lent: None });
            }
            Err(Failed { target, why: Why::Full(error) }) => {
                failures.note_full(&target, error.to_string());
                continue;
            }
            Err(failed) => failed.weigh(full, &mut failures)?,
        }
        let next = Instant::now() + variables.connect_retries_delay;
        if failures.count > variables.connect_retries_on_failure || next >= deadline {
            return Err(AcquireError::Proxy(failures.to_error(hostgroup, started.elapsed())));
        }
        sleep_until(next).await;
    }
}

impl<'a> Whom<'a> {
    /// How the pool knows the user.
    pub(super) fn account(&self) -> Option<usize> {
        self.user.map(User::account)
    }

    /// This user, on a connection of his own.
    pub(crate) fn of(user: &'a User) -> Self {
        Self { user: Some(user), ..Self::default() }
    }

    /// How long it may take.
    fn times(&self, variables: &MysqlVariables) -> Times {
        self.times.copied().unwrap_or_else(|| Times::of(variables))
    }

    /// Whether this server does not have what is wanted.
    fn lacks(&self, worker: &Worker, target: &Target) -> bool {
        self.wanted.is_some_and(|wanted| !wanted.is_first(&worker.shared, &target.endpoint))
    }
}

/// How a connection is opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    pub(super) deadline: Instant,
    pub(super) times: Times,
    pub(super) full: Full,
    /// Whether the user has other connections to servers, which sessions may wait for.
    pub(super) has_more: bool,
}

impl Attempt {
    /// Whether this error of a server means that it takes no more connections than it has now: of
    /// all users, or of this one (`Some(true)`). Without a connection that could be waited for, the
    /// client hears what the server says.
    fn has_too_many(self, server: &Server<Target>, error: &OpenError) -> Option<bool> {
        match error {
            OpenError::Refused { code: SERVER_FULL, .. } => {
                (self.full != Full::Tell || server.made() > 0).then_some(false)
            }
            OpenError::Refused { code, .. } if ACCOUNT_FULL.contains(code) => self.has_more.then_some(true),
            _ => None,
        }
    }
}

/// Opens a connection to the permit's server.
pub(super) async fn attempt(
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
            link.set_version(version);
            return Ok(Box::new(Lease::new(link, permit)));
        }
        Ok(Ok(Err(error))) if let Some(of_account) = how.has_too_many(server, &error) => {
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

/// Does something with a server unless it is, or is found to be, of no use: then why. Whoever waits
/// is woken when that is found.
pub(crate) async fn while_of_use<T>(
    worker: &Worker,
    server: &Server<Target>,
    work: impl Future<Output = T>,
) -> Result<T, Off> {
    until_off(worker, server, |_| true, work).await
}

/// The same for a statement that runs: one at a server that has only left its hostgroup may end.
pub(crate) async fn until_broken_off<T>(
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

/// What a server is to blame for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blame {
    /// What it has answered.
    Answer,
    /// It has not answered.
    Silence,
}

/// Counts an attempt that failed; a server that is to blame is shunned if that happens too often.
pub(super) fn note_failure(
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
        worker.shared.watching.note_shunned(hostgroup, &server.endpoint().endpoint, why);
    }
}
