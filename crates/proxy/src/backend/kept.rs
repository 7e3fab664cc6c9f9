//! Connections that no session uses any more, kept for the next one: a client that connects, asks and leaves costs its server
//! no login.
//!
//! A connection that a client has left is reset before it is kept: nothing of the client is on it that another one could see.
//! Each worker keeps its own. How many may be kept the pool says ([`pool::Rest`]); nobody waits for a server while there are
//! some in the way ([`Kept::make_room`]).

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use pool::Rest;
use tokio::time::{Instant, timeout};
use wire::command::Kind;
use wire::frame::HEADER_LEN;
use wire::reply::{Answer, End};

use super::passport::Passport;
use super::{AcquireError, Backend, Connection, QUIT, Target, ask};
use crate::client::login::Identity;
use crate::counts::Counter;
use crate::worker::Worker;

/// The connections of one worker, those last that were used last.
#[derive(Debug, Default)]
pub(crate) struct Kept(RefCell<Vec<Entry>>);

#[derive(Debug)]
struct Entry {
    passport: Passport,
    rest: Rest<Target, Connection>,
    /// When its server has answered last.
    heard: Instant,
}

/// Which connections would do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted {
    /// Those to the server with this id.
    Server(u64),
    /// Those of this hostgroup.
    Hostgroup(u32),
}

impl Wanted {
    fn is(self, entry: &Entry) -> bool {
        match self {
            Self::Server(id) => entry.rest.server().id() == id,
            Self::Hostgroup(hostgroup) => entry.passport.hostgroup() == hostgroup,
        }
    }
}

impl Kept {
    /// A connection for this client, in its schema and with its character set, if there is one. An error is a server's: it
    /// does not let the user into the schema.
    pub(crate) async fn take(
        &self,
        worker: &Worker,
        wanted: Wanted,
        identity: &Identity,
    ) -> Option<Result<Backend, AcquireError>> {
        while let Some(mut backend) = self.pop(worker, wanted, identity) {
            let limit = worker.settings().variables.connect_timeout_server;
            let commands = Passport::greeting(identity);
            let greeting = ask(worker, backend.connection_mut(), identity.capabilities, &commands);
            let replies = match timeout(limit, greeting).await {
                Ok(Ok(replies)) => replies,
                Ok(Err(_)) => continue,
                Err(_) => {
                    // It does not answer: the others to it would have the session wait as long.
                    let id = backend.server().id();
                    self.end(|entry| entry.rest.server().id() == id);
                    return None;
                }
            };
            let has_schema = replies.len() > 1;
            let mut refusals = replies.iter().map(|reply| reply.error().map(|_| reply));
            if let Some(Some(refusal)) = refusals.next().filter(|_| has_schema) {
                let payload = refusal.bytes.get(HEADER_LEN..).unwrap_or_default().to_vec();
                part(backend);
                return Some(Err(AcquireError::Server(payload)));
            }
            if replies.iter().any(|reply| reply.error().is_some()) {
                part(backend);
                continue;
            }
            let target = backend.server().endpoint().endpoint.clone();
            backend.connection_mut().join(worker, &target, identity.connection_id);
            worker.counts.note(Counter::TookKept);
            return Some(Ok(backend));
        }
        None
    }

    /// The connection that was used last of those that are wanted; none that its server has closed, or says something over.
    fn pop(&self, worker: &Worker, wanted: Wanted, identity: &Identity) -> Option<Backend> {
        let settings = worker.settings();
        let is_good = |entry: &Entry| {
            wanted.is(entry)
                && entry.rest.is_of_use()
                && entry.passport.is_valid(worker)
                && entry.passport.is_good_for(
                    identity,
                    settings.announced.contains(&entry.rest.server().endpoint().endpoint),
                )
        };
        loop {
            let mut kept = self.0.borrow_mut();
            let at = kept.iter().rposition(is_good)?;
            let mut entry = kept.remove(at);
            drop(kept);
            if is_silent(&mut entry.rest) {
                return Some(entry.rest.wake());
            }
        }
    }

    /// Keeps a connection that is as new, or ends it if it is not wanted.
    fn put(&self, worker: &Worker, passport: Passport, backend: Backend) {
        if !passport.is_valid(worker) || worker.is_draining() || is_too_old(worker, &backend) {
            return part(backend);
        }
        match backend.rest() {
            Ok(rest) => self.0.borrow_mut().push(Entry { passport, rest, heard: Instant::now() }),
            Err(backend) => part(backend),
        }
    }

    /// Sessions wait for a server of this hostgroup: none is kept any more.
    pub(crate) fn make_room(&self, hostgroup: u32) {
        self.end(|entry| entry.passport.hostgroup() == hostgroup);
    }

    /// Ends all.
    pub(crate) fn clear(&self) {
        self.end(|_| true);
    }

    /// Ends those that are not wanted any more or that their servers have closed, and pings those that were not used for a while.
    pub(crate) fn sweep(&self, worker: &Rc<Worker>, now: Instant) {
        self.end(|entry| {
            !entry.passport.is_valid(worker) || !entry.rest.may_rest() || !is_silent(&mut entry.rest)
        });
        let interval = worker.settings().variables.ping_interval_server;
        let is_due = |entry: &mut Entry| now.saturating_duration_since(entry.heard) >= interval;
        let due: Vec<Entry> = self.0.borrow_mut().extract_if(.., is_due).collect();
        for Entry { passport, rest, .. } in due {
            tokio::task::spawn_local(ping(Rc::clone(worker), passport, rest.wake()));
        }
    }

    fn end(&self, is_over: impl FnMut(&mut Entry) -> bool) {
        let over: Vec<Entry> = self.0.borrow_mut().extract_if(.., is_over).collect();
        for entry in over {
            part(entry.rest.wake());
        }
    }
}

/// Takes a connection back that its session has left between two commands and outside a transaction: once it is reset, it is
/// kept.
pub(crate) fn hand_back(worker: &Rc<Worker>, passport: Passport, mut backend: Backend) {
    backend.connection_mut().leave();
    tokio::task::spawn_local(reset(Rc::clone(worker), passport, backend));
}

async fn reset(worker: Rc<Worker>, passport: Passport, mut backend: Backend) {
    let limit = worker.settings().variables.connect_timeout_server;
    let commands = passport.reset();
    let asking = ask(&worker, backend.connection_mut(), passport.capabilities(), &commands);
    let is_as_new = match timeout(limit, asking).await {
        Ok(Ok(replies)) => match replies.as_slice() {
            [reset, question] => reset.error().is_none() && is_no(&question.outcome),
            _ => false,
        },
        Ok(Err(_)) | Err(_) => return,
    };
    if is_as_new {
        worker.kept.put(&worker, passport, backend);
    } else {
        part(backend);
    }
}

/// Whether a server has answered a question with no row.
const fn is_no(outcome: &wire::reply::Outcome) -> bool {
    outcome.rows == 0 && !matches!(outcome.end, End::Err { .. })
}

async fn ping(worker: Rc<Worker>, passport: Passport, mut backend: Backend) {
    let limit = worker.settings().variables.ping_timeout_server;
    let command = [(vec![Kind::Ping as u8], Answer::Single)];
    let asking = ask(&worker, backend.connection_mut(), passport.capabilities(), &command);
    if let Ok(Ok(_)) = timeout(limit, asking).await {
        worker.kept.put(&worker, passport, backend);
    }
}

/// Whether the server neither has closed the connection nor says anything over it.
fn is_silent(rest: &mut Rest<Target, Connection>) -> bool {
    // Whoever takes it looks again: nobody has to be woken.
    rest.connection_mut().poll_input(&mut Context::from_waker(Waker::noop())).is_pending()
}

fn is_too_old(worker: &Worker, backend: &Backend) -> bool {
    let limit = worker.settings().variables.connection_max_age;
    !limit.is_zero() && backend.connection().age() >= limit
}

/// Ends a connection. Without a goodbye the server would count and log an aborted one; what a full socket does not take of it
/// now is not worth waiting for.
fn part(mut backend: Backend) {
    let _: Poll<_> = backend.connection_mut().poll_write(&mut Context::from_waker(Waker::noop()), &QUIT);
}
