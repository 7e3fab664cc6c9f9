//! The search for a backend: a place at a server, opening the connection or making another
//! session's one fit, trying the next server.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;

use config::MysqlVariables;
use pool::{Permit, Quota, Share};
use session::error::ClientError;
use session::users::User;
use tokio::time::{Instant, sleep_until};

use crate::Worker;
use crate::acquire::{Attempt, Blame, Found, attempt, note_failure, while_of_use};
use crate::choosing::candidates;
use crate::entry::Entry;
use crate::failures::{ACCOUNT_FULL, AcquireError, Failed, Failures, NoPermit, Why, no_answer};
use crate::idle_state::Asker;
use crate::lend::{Lent, lend, lend_at_once};
use crate::limits::LENT_MAX;
use crate::place::{InLine, Place, take, wait};
use crate::share::{Among, UserFull, among};
use crate::whom::{Full, Whom};
use crate::{Connection, OpenError, Target};

/// A search, and what has come of it so far.
struct Search<'a> {
    worker: &'a Rc<Worker>,
    hostgroup: u32,
    full: Full,
    whom: &'a Whom<'a>,
    variables: &'a MysqlVariables,
    started: Instant,
    deadline: Instant,
    failures: Failures,
    /// How many connections of other sessions were tried.
    lent: u32,
    /// The place that the session has waited for before the search.
    first: Option<Place>,
    /// The share of the user's quota for the connection.
    share: Option<Share>,
    /// Whether there was a place at a server, and only the user's share lacks.
    had_place: bool,
}

/// Looks for a backend until there is one, or no more time.
pub(crate) async fn search(
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
    let mut search = Search {
        worker,
        hostgroup,
        full,
        whom,
        variables,
        started,
        deadline: started + whom.times(variables).whole,
        failures: Failures::default(),
        lent: 0,
        first: None,
        share: None,
        had_place: false,
    };
    if let Some(mut line) = in_line {
        search.first = Some(poll_fn(|cx| line.poll(cx)).await);
    }
    loop {
        let found = match search.place().await? {
            Place::Free(permit) => search.open(permit, &open).await?,
            Place::Spare(entry) => search.lend(entry).await?,
            Place::Useless => {
                search.lent += 1;
                None
            }
            Place::None => return Err(search.no_place().await),
        };
        if let Some(found) = found {
            return Ok(found);
        }
    }
}

impl<'a> Search<'a> {
    /// The session, if it may have another one's connection. Where a server has failed, its other
    /// connections may be no better.
    fn asker(&self) -> Option<&'a Asker<'a>> {
        self.whom.asker.filter(|_| self.failures.count == 0 && self.lent < LENT_MAX)
    }

    fn quota(&self) -> Option<&'a Arc<Quota>> {
        self.whom.user.map(User::backends)
    }

    /// The user, if the session needs a share of its quota before it takes a place. A session that
    /// would wait for servers without room takes no share from others of the user.
    fn limited(&self) -> Option<(&'a User, &'a Arc<Quota>)> {
        let user = self.whom.user.filter(|user| user.backends().is_limited())?;
        let shared = &self.worker.shared;
        let has_room = || self.had_place || shared.pool.has_room(self.hostgroup, shared.uptime());
        (self.first.is_none() && self.share.is_none() && has_room()).then(|| (user, user.backends()))
    }

    /// A place at a server, or a connection that is there.
    async fn place(&mut self) -> Result<Place, AcquireError> {
        let times = (self.started, self.deadline);
        while let Some((user, quota)) = self.limited() {
            // Boxed: most users have no limit.
            let among = Box::pin(among(self.worker, self.hostgroup, times, quota, self.asker()));
            match among.await {
                Among::Share(share) => self.share = Some(share),
                Among::Spare(entry) => return Ok(Place::Spare(entry)),
                Among::None => return Err(self.user_full(user, quota)),
            }
        }
        let whom = Whom { asker: self.asker(), ..*self.whom };
        if let Some(place) = self.first.take().or_else(|| self.take(&whom)) {
            return Ok(place);
        }
        // Others of the user may have more use for it meanwhile.
        self.share = None;
        Ok(wait(self.worker, self.hostgroup, times, &whom).await)
    }

    /// The same without waiting.
    fn take(&self, whom: &Whom<'_>) -> Option<Place> {
        let avoid = |target: &Target| self.failures.contain(target) || whom.avoids(target);
        take(self.worker, self.hostgroup, self.worker.shared.uptime(), avoid, self.full, whom)
    }

    /// Makes a connection fit that another session had; nothing if that is not possible.
    async fn lend(&mut self, entry: Box<Entry>) -> Result<Option<Found>, AcquireError> {
        let (worker, asker) = (self.worker, self.asker());
        self.lent += 1;
        let Some(asker) = asker else {
            // Sessions share no connections any more.
            worker.kept.put_back(worker, entry);
            return Ok(None);
        };
        let server = Arc::clone(entry.backend.server());
        let limit = worker.settings().variables.connect_timeout_server;
        let lent = match lend_at_once(worker, entry, asker) {
            Ok(lent) => Ok(lent),
            // Boxed: most need no answer, and all that wait for a connection carry this.
            Err(entry) => {
                let lending = lend(worker, entry, asker, self.deadline);
                Box::pin(while_of_use(worker, &server, lending)).await
            }
        };
        let why = match lent {
            Ok(Lent::Ready(backend)) => return Ok(Some(Found { backend, is_lent: true })),
            // The next place is not there.
            Ok(Lent::Useless) | Err(_) => return Ok(None),
            // At a change of user servers count the connection twice. It has ended with that, and
            // there is room for another one.
            Ok(Lent::NotAdmitted(OpenError::Refused { code, .. })) if ACCOUNT_FULL.contains(&code) => {
                return Ok(None);
            }
            Ok(Lent::Refused(payload)) => return Err(AcquireError::Server(payload)),
            Ok(Lent::NotAdmitted(error)) => Why::Said(error),
            Ok(Lent::Late) => {
                note_failure(worker, &server, Some(Blame::Silence), &no_answer(limit));
                Why::Late(limit)
            }
        };
        Failed { target: server.endpoint().clone(), why }.weigh(self.full, &mut self.failures)?;
        Ok(None)
    }

    /// Opens a connection to the permit's server; nothing if that fails, and others may be tried.
    async fn open(
        &mut self,
        permit: Permit<Target>,
        open: &impl AsyncFn(&Target) -> Result<Connection, OpenError>,
    ) -> Result<Option<Found>, AcquireError> {
        if self.failures.contain(permit.server().endpoint())
            && let Some(refusal) = self.failures.refusal.take()
        {
            return Err(AcquireError::Server(refusal));
        }
        let quota = self.quota();
        // Those of users without a limit count as well: they may get one.
        self.share = self.share.take().or_else(|| quota.and_then(Quota::take));
        self.had_place = self.share.is_none() && quota.is_some();
        if self.had_place {
            return Ok(None);
        }
        let has_more = quota.is_some_and(|quota| quota.taken() > 1);
        let times = self.whom.times(self.variables);
        let how = Attempt { deadline: self.deadline, times, full: self.full, has_more };
        // Boxed: most connections are lent, and all that wait for one carry this.
        match Box::pin(attempt(self.worker, permit, how, open)).await {
            Ok(mut backend) => {
                backend.connection_mut().set_share(self.share.take());
                return Ok(Some(Found { backend, is_lent: false }));
            }
            Err(Failed { target, why: Why::Full(error) }) => {
                self.failures.note_full(&target, error.to_string());
                return Ok(None);
            }
            Err(failed) => failed.weigh(self.full, &mut self.failures)?,
        }
        let next = Instant::now() + self.variables.connect_retries_delay;
        if self.failures.count > self.variables.connect_retries_on_failure || next >= self.deadline {
            let error = self.failures.to_error(self.hostgroup, self.started.elapsed());
            return Err(AcquireError::Proxy(error));
        }
        sleep_until(next).await;
        Ok(None)
    }

    /// The user has all the connections that it may have.
    fn user_full(&self, user: &User, quota: &Quota) -> AcquireError {
        let why = UserFull { user: &user.name, quota };
        AcquireError::Proxy(ClientError::no_backend(self.hostgroup, self.started.elapsed(), &why))
    }

    /// There is not even a server to try.
    async fn no_place(&self) -> AcquireError {
        let (shared, waited) = (&self.worker.shared, self.started.elapsed());
        let candidates = candidates(&shared.pool, self.hostgroup, shared.uptime());
        let usage = shared.pool.usage(self.hostgroup);
        let holders = &self.worker.holders;
        let holders = if usage.open > 0 { holders.of(self.hostgroup).await } else { String::new() };
        let why = NoPermit { usage, candidates, holders, failures: &self.failures };
        AcquireError::Proxy(ClientError::no_backend(self.hostgroup, waited, &why))
    }
}
