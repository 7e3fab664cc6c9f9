//! Connections that no statement needs at the moment.
//!
//! A session that waits for its client lays its connection aside here, unless something on it belongs to the session alone
//! ([`crate::state::pins`]). Mostly it takes the same one back with the next statement. But meanwhile another session of the same
//! user may get it: that is how many clients share few connections. Each worker has its own; sessions of the worker that wait for
//! a server get what comes back before anybody else ([`Kept::wait`]).

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use pool::{Shelf, ShelfTicket as Ticket};
use route::Caller;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use wire::command::Kind;
use wire::reply::Answer;

use super::lend::ask_results;
use super::passport::Passport;
use super::{Backend, QUIT, ask};
use crate::client::login::Identity;
use crate::counts::Counter;
use crate::counts::report::address;
use crate::limits::{HANDED_ON_MAX, KEPT_IDLE, LOOKS_MAX};
use crate::state::{Results, Settings};
use crate::stats::FreeConnection;
use crate::worker::Worker;

/// Connections of the same kind: good for the same clients, in the same hostgroup.
type Key = (u64, u32);

/// The connections of one worker.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    shelf: RefCell<Shelf<Key, Entry>>,
    /// Sessions that wait for one, in the order in which they came.
    waiting: RefCell<HashMap<Key, VecDeque<oneshot::Sender<Box<Entry>>>>>,
    /// How many came back and went to sessions that waited here, since one went to whoever waits longest.
    handed_on: Cell<u32>,
}

/// A connection that nobody uses.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(super) passport: Rc<Passport>,
    pub(super) backend: Backend,
    pub(super) left: Left,
    /// When its server has answered last, or somebody has seen that it is well.
    heard: Instant,
}

/// What a session has left on its connection.
#[derive(Debug)]
pub(crate) struct Left {
    /// In which schema it is.
    pub(crate) caller: Arc<Caller>,
    pub(crate) settings: Rc<Settings>,
    /// Its client has reset it: character set and modes are the server's, and not those that the login has asked for.
    pub(crate) was_reset: bool,
    /// Only the server knows what `LAST_INSERT_ID()` is for the session.
    pub(crate) asks_last_id: bool,
    pub(crate) results: Rc<Results>,
}

impl Left {
    /// Whether nothing has to be asked before somebody else gets the connection. A session that has ended asks nothing.
    pub(super) fn is_free(&self) -> bool {
        !self.asks_last_id || Rc::strong_count(&self.results) == 1
    }
}

/// Who wants a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub(crate) identity: &'a Identity,
    pub(crate) passport: &'a Rc<Passport>,
    pub(crate) caller: &'a Caller,
    pub(crate) settings: &'a Settings,
    /// Its client has reset its connection.
    pub(crate) was_reset: bool,
    /// A server has let it in.
    pub(crate) is_admitted: bool,
}

impl Asker<'_> {
    fn key(&self, hostgroup: u32) -> Key {
        (self.passport.hash(), hostgroup)
    }

    /// Whether the connection is as this one would have it.
    fn is_exact(&self, entry: &Entry) -> bool {
        let left = &entry.left;
        self.is_admitted
            && left.is_free()
            && left.caller.schema() == self.caller.schema()
            && left.was_reset == self.was_reset
            && self.settings.missing(&left.settings).is_some_and(|missing| missing.is_empty())
    }
}

impl Kept {
    /// Lays a connection aside that its session does not need now: it gets it back with the ticket if nobody has taken it by then.
    /// None if it went to somebody else at once, or has ended.
    pub(crate) fn lay_aside(
        &self,
        worker: &Rc<Worker>,
        hostgroup: u32,
        passport: &Rc<Passport>,
        backend: Backend,
        left: Left,
    ) -> Option<Ticket> {
        let key = (passport.hash(), hostgroup);
        let waiting = backend.waiting();
        let entry = Entry { passport: Rc::clone(passport), backend, left, heard: worker.now() };
        if waiting > 0 || is_too_old(worker, &entry.backend) {
            self.give_away(worker, key, entry);
            return None;
        }
        entry.backend.connection().set_resting(true);
        worker.counts.note(Counter::LaidAside);
        Some(self.shelf.borrow_mut().put(key, entry))
    }

    /// Somebody waits for a place at the server, here or on another worker.
    fn give_away(&self, worker: &Rc<Worker>, key: Key, entry: Entry) {
        // Whoever waits here needs no other connection. But now and then it has to be the turn of who waits longest.
        let handed_on = self.handed_on.get() + 1;
        let mut entry = Some(Box::new(entry));
        if handed_on < HANDED_ON_MAX && entry.as_ref().is_some_and(|entry| entry.is_valid(worker)) {
            self.handed_on.set(handed_on);
            entry = entry.and_then(|entry| self.hand_on(key, entry));
        }
        if let Some(entry) = entry {
            self.handed_on.set(0);
            entry.end(worker);
        }
    }

    /// Gives a connection to the one who waits longest for such a one; it comes back if there is nobody.
    fn hand_on(&self, key: Key, mut entry: Box<Entry>) -> Option<Box<Entry>> {
        let mut all = self.waiting.borrow_mut();
        let Some(waiting) = all.get_mut(&key) else { return Some(entry) };
        while let Some(sender) = waiting.pop_front() {
            // Who does not wait any more gives it back.
            match sender.send(entry) {
                Ok(()) => return None,
                Err(back) => entry = back,
            }
        }
        all.remove(&key);
        Some(entry)
    }

    /// Waits for a connection that comes back.
    pub(super) fn wait(&self, asker: &Asker<'_>, hostgroup: u32) -> oneshot::Receiver<Box<Entry>> {
        let (sender, receiver) = oneshot::channel();
        self.waiting.borrow_mut().entry(asker.key(hostgroup)).or_default().push_back(sender);
        receiver
    }

    /// The connection that this ticket was given for, if it is still there and its server has not closed it.
    pub(crate) fn take_back(&self, ticket: Ticket) -> Option<Backend> {
        let mut entry = self.shelf.borrow_mut().take(ticket)?;
        entry.backend.connection().set_resting(false);
        entry.is_silent().then_some(entry.backend)
    }

    /// The servers of a hostgroup to which there is a connection that this one could have.
    pub(super) fn spare(&self, worker: &Worker, hostgroup: u32, asker: &Asker<'_>) -> Vec<u64> {
        let mut servers = Vec::new();
        self.shelf.borrow().newest(asker.key(hostgroup), |entry| {
            let id = entry.backend.server().id();
            if !servers.contains(&id) && entry.is_good_for(worker, asker) {
                servers.push(id);
            }
            servers.len() >= LOOKS_MAX
        });
        servers
    }

    /// A connection of this hostgroup, to a certain server if one is named, that this one may have: of those that are as it would
    /// have them, the one that was used last; if there is none, the last of the others.
    pub(super) fn pop(
        &self,
        worker: &Worker,
        hostgroup: u32,
        server: Option<u64>,
        asker: &Asker<'_>,
    ) -> Option<Entry> {
        let key = asker.key(hostgroup);
        let is_good = |entry: &Entry| {
            server.is_none_or(|id| entry.backend.server().id() == id) && entry.is_good_for(worker, asker)
        };
        loop {
            let mut shelf = self.shelf.borrow_mut();
            let mut looked = 0;
            let is_exact = |entry: &Entry| {
                looked += 1;
                looked <= LOOKS_MAX && is_good(entry) && asker.is_exact(entry)
            };
            let ticket = shelf
                .newest(key, is_exact)
                .or_else(|| shelf.newest(key, |entry| entry.left.is_free() && is_good(entry)))
                .or_else(|| shelf.newest(key, is_good))?;
            let mut entry = shelf.take(ticket)?;
            drop(shelf);
            entry.backend.connection().set_resting(false);
            if entry.is_silent() {
                return Some(entry);
            }
        }
    }

    /// A session waits for a server of this hostgroup: one that it cannot use gives its place to it.
    pub(crate) fn make_room(&self, worker: &Rc<Worker>, hostgroup: u32) {
        let of_it = |entry: &Entry| entry.backend.server().hostgroup() == hostgroup;
        let mut shelf = self.shelf.borrow_mut();
        let ticket = shelf
            .iter()
            .find(|(_, entry)| of_it(entry) && entry.left.is_free())
            .or_else(|| shelf.iter().find(|(_, entry)| of_it(entry)))
            .map(|(ticket, _)| ticket);
        let entry = ticket.and_then(|ticket| shelf.take(ticket));
        drop(shelf);
        if let Some(entry) = entry {
            entry.end(worker);
        }
    }

    /// All that are there at the moment.
    pub(crate) fn list(&self) -> Vec<FreeConnection> {
        let now = Instant::now();
        self.shelf.borrow().iter().map(|(_, entry)| entry.row(now)).collect()
    }

    /// Ends all.
    pub(crate) fn clear(&self, worker: &Rc<Worker>) {
        let all = self.shelf.borrow_mut().take_all(|_| true);
        for entry in all {
            entry.end(worker);
        }
    }

    /// Ends those that are of no use any more, and those that are too many for connections that nobody uses; pings those that were
    /// not used for a while.
    pub(crate) fn sweep(&self, worker: &Rc<Worker>, now: Instant) {
        let mut resting: HashMap<u64, u32> = HashMap::new();
        let over = self.shelf.borrow_mut().take_all(|entry| {
            if !entry.is_silent() || entry.backend.server().is_off() {
                return true;
            }
            let is_idle = now.saturating_duration_since(entry.heard) >= KEPT_IDLE;
            let count = resting.entry(entry.backend.server().id()).or_default();
            *count += 1;
            let share = entry.backend.most_resting().div_ceil(u32::from(worker.shared.workers).max(1));
            is_idle && (!entry.is_valid(worker) || *count > share)
        });
        for entry in over {
            entry.end(worker);
        }
        let interval = worker.settings().variables.ping_interval_server;
        let is_due = |entry: &mut Entry| now.saturating_duration_since(entry.heard) >= interval;
        let due = self.shelf.borrow_mut().take_all(|entry| is_due(entry) && entry.left.is_free());
        for entry in due {
            tokio::task::spawn_local(ping(Rc::clone(worker), entry));
        }
        self.waiting.borrow_mut().retain(|_, waiting| {
            waiting.retain(|sender| !sender.is_closed());
            !waiting.is_empty()
        });
    }
}

impl Entry {
    /// Whether the configuration still holds that the connection was opened under.
    fn is_valid(&self, worker: &Worker) -> bool {
        self.backend.connection().version() == worker.version() && !self.backend.server().is_off()
    }

    fn row(&self, now: Instant) -> FreeConnection {
        let (server, caller) = (self.backend.server(), &self.left.caller);
        let (host, port) = address(&server.endpoint().endpoint);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        FreeConnection {
            fd: self.backend.connection().fd(),
            hostgroup: server.hostgroup(),
            host,
            port,
            user: text(caller.user()),
            schema: Some(text(caller.schema())).filter(|schema| !schema.is_empty()),
            idle: now.saturating_duration_since(self.heard),
        }
    }

    /// Whether this one may have it. No command leaves all schemas, but for a login.
    fn is_good_for(&self, worker: &Worker, asker: &Asker<'_>) -> bool {
        let leaves = asker.caller.schema().is_empty() && !self.left.caller.schema().is_empty();
        let target = &self.backend.server().endpoint().endpoint;
        self.is_valid(worker)
            && !(leaves && asker.is_admitted)
            && self.passport.is_good_for(asker.passport, worker.settings().announced.contains(target))
    }

    /// Whether the server neither has closed the connection nor says anything over it.
    fn is_silent(&mut self) -> bool {
        // Whoever takes it looks again: nobody has to be woken.
        self.backend.connection_mut().poll_input(&mut Context::from_waker(Waker::noop())).is_pending()
    }

    /// Ends it. What its session may still ask is asked before.
    fn end(self, worker: &Rc<Worker>) {
        self.backend.connection().set_resting(false);
        if self.left.is_free() {
            return part(self.backend);
        }
        let worker = Rc::clone(worker);
        tokio::task::spawn_local(async move {
            let Self { passport, mut backend, left, .. } = self;
            let limit = worker.settings().variables.connect_timeout_server;
            if let Ok(Ok(())) =
                timeout(limit, ask_results(&worker, backend.connection_mut(), passport.capabilities(), &left))
                    .await
            {
                part(backend);
            }
        });
    }
}

async fn ping(worker: Rc<Worker>, mut entry: Entry) {
    let limit = worker.settings().variables.ping_timeout_server;
    let command = [(vec![Kind::Ping as u8], Answer::Single)];
    let asking = ask(&worker, entry.backend.connection_mut(), entry.passport.capabilities(), &command);
    if let Ok(Ok(_)) = timeout(limit, asking).await {
        entry.heard = worker.now();
        let key = (entry.passport.hash(), entry.backend.server().hostgroup());
        worker.kept.shelf.borrow_mut().put(key, entry);
    }
}

fn is_too_old(worker: &Worker, backend: &Backend) -> bool {
    let limit = worker.settings().variables.connection_max_age;
    !limit.is_zero() && backend.connection().age() >= limit
}

/// Ends a connection. Without a goodbye the server would count and log an aborted one; what a full socket does not take of it
/// now is not worth waiting for.
pub(crate) fn part(mut backend: Backend) {
    let _: Poll<_> = backend.connection_mut().poll_write(&mut Context::from_waker(Waker::noop()), &QUIT);
}
