//! Connections that no statement needs at the moment.
//!
//! A session that waits for its client leaves its connection idle here, unless something on it
//! belongs to the session alone ([`session::state::pins`]). Mostly it takes the same one back with
//! the next statement. But meanwhile another session of the same user may get it: that is how many
//! clients share few connections. Each worker has its own; sessions of the worker that wait for a
//! server stand in a [line](super::line), and get what comes back first.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use observe::counts::Counter;
use observe::rows::FreeConnection;
use pool::{Quota, Shelf, ShelfTicket as Ticket, lifetime};
use smallvec::SmallVec;
use tokio::time::{Instant, timeout};
use wire::Peer;
use wire::command::Kind;
use wire::reply::Answer;

use crate::Worker;
use crate::batch::{Candidate, Next};
use crate::entry::Entry;
use crate::handed::Slot;
use crate::idle_state::{Asker, Left};
use crate::keeper::Keeper;
use crate::key::{ByKey, Key};
use crate::last_id::ask_results;
use crate::limits::{KEPT_IDLE, LOOKS_MAX, MOVE_WAIT};
use crate::line::{Line, Other, Waiting};
use crate::pool_key::PoolKey;
use crate::unhealthy::{self, Complaint};
use crate::{Backend, ask, drain_reply};

/// Ids of servers: four without an allocation.
pub(crate) type Servers = SmallVec<[u64; 4]>;

/// The connections of one worker.
#[derive(Debug, Default)]
pub struct Kept {
    shelf: RefCell<Shelf<Key, Entry, ByKey>>,
    /// Sessions that wait for one.
    pub(crate) line: Line,
    /// The task that checks them.
    pub(crate) keeper: Keeper,
    /// The servers of those that are being pinged, and are back soon.
    pinged: RefCell<Vec<u64>>,
}

impl Kept {
    /// Keeps a connection that its session does not need now; the ticket gets it back if no other
    /// session has taken it by then. `None` if another session got it at once, or it has ended.
    pub fn make_idle(
        &self,
        worker: &Rc<Worker>,
        hostgroup: u32,
        pool_key: &Rc<PoolKey>,
        peer: Peer,
        backend: Backend,
        left: Left,
    ) -> Option<Ticket> {
        let entry = Entry { pool_key: Rc::clone(pool_key), peer, backend, left, last_answer: worker.now() };
        let key = Key { pool_key: pool_key.hash(), hostgroup };
        self.put(worker, key, entry)
    }

    /// Keeps a connection, unless a waiting session can use it, or its place, at once.
    fn put(&self, worker: &Rc<Worker>, key: Key, entry: Entry) -> Option<Ticket> {
        entry.backend.connection().check_invariants();
        if !entry.backend.connection().is_free() {
            entry.end_broken(worker, "c02: the replies of its last session are owed");
            return None;
        }
        let entry = self.hand_to_member(worker, entry)?;
        if !entry.backend.connection().is_quiet() {
            entry.end_broken(worker, "c02: it goes to another session, and replies are owed");
            return None;
        }
        if entry.is_surplus(worker) || is_too_old(worker, &entry.backend) {
            entry.end(worker);
            return None;
        }
        let entry = self.pass_on(worker, key, entry)?;
        let ticket = self.keep(worker, key, entry);
        // A session that begins to wait has seen that it is there, or is seen now.
        if !self.shelf.borrow().get(ticket).is_some_and(Entry::is_awaited) {
            return Some(ticket);
        }
        let entry = self.shelf.borrow_mut().take(ticket)?;
        let entry = self.pass_on(worker, key, entry)?;
        Some(self.keep(worker, key, entry))
    }

    fn keep(&self, worker: &Rc<Worker>, key: Key, entry: Entry) -> Ticket {
        entry.backend.connection().set_resting(true);
        worker.counts.note(Counter::ReturnedToPool);
        let mut shelf = self.shelf.borrow_mut();
        let list = shelf.list_of(key, entry.backend.connection().list());
        shelf.put(list, entry)
    }

    /// Gives a connection to a session that waits for one, or gives its place; the connection comes
    /// back if no session needs either.
    fn pass_on(&self, worker: &Rc<Worker>, key: Key, entry: Entry) -> Option<Entry> {
        // Some sessions wait for a connection of their user, and not for a server.
        if !entry.is_awaited() && self.line.is_empty() {
            return Some(entry);
        }
        let entry = *self.line.hand_on(worker, key, Box::new(entry))?;
        let is_due = |since| worker.shared.uptime().saturating_sub(since) >= MOVE_WAIT;
        let quota = entry.backend.connection().quota().filter(|quota| quota.waiting() > 0);
        let is_due_to_user = || quota.and_then(|quota| quota.oldest()).is_some_and(is_due);
        let is_due_to_others =
            || entry.backend.oldest_waiting().is_some_and(is_due) && entry.backend.is_in_the_way();
        if !is_due_to_user() && !is_due_to_others() {
            return Some(entry);
        }
        entry.end(worker);
        None
    }

    /// Hands a connection to the next session of its batch. If that session ended after its command
    /// was sent, drains the reply first.
    fn hand_to_member(&self, worker: &Rc<Worker>, mut entry: Entry) -> Option<Entry> {
        match entry.backend.connection_mut().next_member() {
            Next::End => return Some(entry),
            Next::Gone => self.drain(worker, Box::new(entry)),
            Next::Member(slot) => {
                entry.leave();
                slot.put(Box::new(entry));
            }
        }
        None
    }

    /// Reads a reply that no session waits for, and keeps the connection then.
    fn drain(&self, worker: &Rc<Worker>, mut entry: Box<Entry>) {
        entry.leave();
        self.pinged.borrow_mut().push(entry.backend.server().id());
        tokio::task::spawn_local(drain(Rc::clone(worker), entry));
    }

    /// Takes note of one that is back, or gone.
    fn note_back(&self, server: u64) {
        let mut pinged = self.pinged.borrow_mut();
        if let Some(at) = pinged.iter().position(|id| *id == server) {
            pinged.swap_remove(at);
        }
    }

    /// Puts a session in line for a connection that comes back: into `slot`, from `since` on, as
    /// time since the start. The session stands in another line (`other`) as well.
    pub(crate) fn wait(
        &self,
        worker: &Worker,
        asker: &Asker<'_>,
        hostgroup: u32,
        (other, slot): (Other, Rc<Slot>),
        since: Duration,
        (deadline, candidate): (Option<Instant>, Option<Candidate>),
    ) {
        let (wish, turn) = (asker.wish(), Rc::clone(&asker.identity.turn));
        let has_turns = !worker.settings().config().pointsman.connection_turn.is_zero();
        let rank = if has_turns { turn.served().min(since) } else { since };
        let waiting = Waiting { slot, other, wish, turn, since, rank, deadline, candidate };
        self.line.wait(asker.key(hostgroup), waiting);
    }

    /// Takes back a connection that a session was given and has not taken. If there is something
    /// that only this session would have asked its server, it is asked now: the session that wants
    /// to know waits for the answer.
    pub(crate) fn put_back(&self, worker: &Rc<Worker>, entry: Box<Entry>) {
        if entry.backend.connection().is_awaited() {
            self.drain(worker, entry);
        } else if entry.left.is_free() {
            let key = entry.key();
            self.put(worker, key, *entry);
        } else {
            self.pinged.borrow_mut().push(entry.backend.server().id());
            tokio::task::spawn_local(ping(Rc::clone(worker), *entry));
        }
    }

    /// The connection that this ticket was given for, if it is still there and of use.
    pub fn take_back(&self, worker: &Worker, ticket: Ticket) -> Option<Backend> {
        let mut entry = self.shelf.borrow_mut().take(ticket)?;
        entry.backend.connection().set_resting(false);
        (!entry.backend.server().is_off() && entry.is_well(worker)).then_some(entry.backend)
    }

    /// Has `work` done with the connection that this ticket was given for, if it is still there,
    /// where it is.
    pub fn with<T>(&self, ticket: Ticket, work: impl FnOnce(Option<&mut Backend>) -> T) -> T {
        let mut shelf = self.shelf.borrow_mut();
        work(shelf.get_mut(ticket).map(|entry| &mut entry.backend))
    }

    /// The servers of a hostgroup to which there is a connection that this one could have.
    pub(crate) fn spare(&self, worker: &Worker, hostgroup: u32, asker: &Asker<'_>) -> Servers {
        let (mut servers, wish, mut looks) = (Servers::new(), asker.wish(), 0);
        self.shelf.borrow().newest(asker.key(hostgroup), |entry| {
            let id = entry.backend.server().id();
            if !servers.contains(&id) && entry.is_good_for(worker, &wish) {
                servers.push(id);
            }
            looks += 1;
            looks >= LOOKS_MAX
        });
        servers
    }

    /// A connection of this hostgroup, to a certain server if one is named, that this one may have:
    /// of those that are as it would have them, the one that was used last; if there is none, the
    /// last of the others.
    pub(crate) fn pop(
        &self,
        worker: &Worker,
        hostgroup: u32,
        server: Option<u64>,
        asker: &Asker<'_>,
    ) -> Option<Entry> {
        let (key, wish) = (asker.key(hostgroup), asker.wish());
        let is_good = |entry: &Entry| {
            server.is_none_or(|id| entry.backend.server().id() == id) && entry.is_good_for(worker, &wish)
        };
        loop {
            let mut shelf = self.shelf.borrow_mut();
            let mut looks = 0;
            let is_exact = |entry: &Entry| {
                looks += 1;
                looks > LOOKS_MAX || is_good(entry) && asker.is_exact(&entry.left)
            };
            // After so many looks the last one is as good as any, if it is good at all.
            let exact = shelf.newest(key, is_exact).filter(|ticket| shelf.get(*ticket).is_some_and(is_good));
            let ticket = exact
                .or_else(|| shelf.newest(key, |entry| entry.left.is_free() && is_good(entry)))
                .or_else(|| shelf.newest(key, is_good))?;
            let mut entry = shelf.take(ticket)?;
            drop(shelf);
            entry.leave();
            if entry.is_well(worker) {
                return Some(entry);
            }
        }
    }

    /// A session waits for a server of this hostgroup: ends an idle connection, if the session gets
    /// its place then. Returns whether there was one.
    pub fn make_room(&self, worker: &Rc<Worker>, hostgroup: u32) -> bool {
        self.end_one(worker, |entry| {
            entry.backend.server().hostgroup() == hostgroup && entry.backend.is_in_the_way()
        })
    }

    /// A session waits for a connection of this quota, of which its user has all: ends an idle one
    /// to make room.
    pub fn make_room_among(&self, worker: &Rc<Worker>, quota: &Arc<Quota>) {
        let is_one = |entry: &Entry| entry.backend.connection().is_one_of(quota);
        if quota.waiting() > 0 && !self.end_one(worker, is_one) {
            worker.copies.make_room_among(quota);
        }
    }

    /// The configuration has changed: ends those that servers may not have any more. Other workers
    /// do the same with theirs.
    pub(crate) fn end_surplus(&self, worker: &Rc<Worker>) {
        while self.end_one(worker, |entry| entry.is_surplus(worker)) {}
    }

    /// Ends one of these connections, mostly one whose server is not to be asked anything more.
    /// Returns whether there was one.
    fn end_one(&self, worker: &Rc<Worker>, is_one: impl Fn(&Entry) -> bool) -> bool {
        let mut shelf = self.shelf.borrow_mut();
        let of_them = || shelf.iter().filter(|(_, entry)| is_one(entry));
        let found = of_them().find(|(_, entry)| entry.left.is_free()).or_else(|| of_them().next());
        let ticket = found.map(|(ticket, _)| ticket);
        let entry = ticket.and_then(|ticket| shelf.take(ticket));
        drop(shelf);
        entry.map(|entry| entry.end(worker)).is_some()
    }

    /// All that are there at the moment.
    pub fn list(&self) -> Vec<FreeConnection> {
        let now = Instant::now();
        self.shelf.borrow().iter().map(|(_, entry)| entry.row(now)).collect()
    }

    /// Stops a test if a free connection is not as it must be: its queue and buffers hold nothing
    /// that belongs to a session.
    #[cfg(feature = "memory")]
    pub fn check_invariants(&self) {
        for (_, entry) in self.shelf.borrow().iter() {
            let connection = entry.backend.connection();
            connection.check_invariants();
            assert!(connection.is_free(), "c02: its session's replies are owed");
        }
    }

    /// How many of them are to this server.
    pub(crate) fn resting_at(&self, hostgroup: u32, server: u64) -> u32 {
        let is_to_it = |entry: &Entry| {
            entry.backend.server().id() == server && entry.backend.server().hostgroup() == hostgroup
        };
        let resting = self.shelf.borrow().iter().filter(|(_, entry)| is_to_it(entry)).count();
        let pinged = self.pinged.borrow().iter().filter(|id| **id == server).count();
        u32::try_from(resting + pinged).unwrap_or(u32::MAX)
    }

    /// Ends all.
    pub(crate) fn clear(&self, worker: &Rc<Worker>) {
        let all = self.shelf.borrow_mut().take_all(|_| true);
        for entry in all {
            entry.end(worker);
        }
    }

    /// Ends connections that are of no use any more, and idle ones that are too many; pings those
    /// that were not used for a while.
    pub(crate) fn sweep(&self, worker: &Rc<Worker>, now: Instant) {
        let mut resting: HashMap<u64, u32> = HashMap::new();
        let over = self.shelf.borrow_mut().take_all(|entry| {
            if !entry.is_well(worker) || entry.backend.server().is_off() || is_too_old(worker, &entry.backend)
            {
                return true;
            }
            let is_idle = now.saturating_duration_since(entry.last_answer) >= KEPT_IDLE;
            let count = resting.entry(entry.backend.server().id()).or_default();
            *count += 1;
            let share = entry.backend.most_resting().div_ceil(u32::from(worker.shared.workers).max(1));
            is_idle && (!entry.is_valid(worker) || !entry.pool_key.is_current(worker) || *count > share)
        });
        for entry in over {
            entry.end(worker);
        }
        let interval = worker.settings().variables.ping_interval_server;
        let is_due = |entry: &mut Entry| now.saturating_duration_since(entry.last_answer) >= interval;
        let due = self.shelf.borrow_mut().take_all(is_due);
        self.pinged.borrow_mut().extend(due.iter().map(|entry| entry.backend.server().id()));
        for entry in due {
            tokio::task::spawn_local(ping(Rc::clone(worker), entry));
        }
        self.shelf.borrow_mut().forget_empty();
        self.line.sweep();
    }
}

async fn ping(worker: Rc<Worker>, mut entry: Entry) {
    let (limit, server) = (worker.settings().variables.ping_timeout_server, entry.backend.server().id());
    let capabilities = entry.pool_key.capabilities();
    entry.leave();
    let link = entry.backend.connection_mut();
    let pinging = async {
        if !entry.left.is_free() {
            return ask_results(&worker, link, capabilities, &entry.left).await;
        }
        ask(&worker, link, capabilities, (vec![Kind::Ping as u8], Answer::Single)).await.map(drop)
    };
    let answered = timeout(limit, pinging).await;
    worker.kept.note_back(server);
    if let Ok(Ok(())) = answered {
        entry.last_answer = worker.now();
        (entry.left.asks, entry.left.asking) = (false, None);
        let key = entry.key();
        worker.kept.put(&worker, key, entry);
    } else {
        unhealthy::log(&worker, &entry.backend, Complaint::Silent);
    }
}

/// Reads a reply that no session waits for.
async fn drain(worker: Rc<Worker>, mut entry: Box<Entry>) {
    let (limit, server) = (worker.settings().variables.connect_timeout_server, entry.backend.server().id());
    let drained = timeout(limit, drain_reply(&worker, entry.backend.connection_mut())).await;
    worker.kept.note_back(server);
    if let Ok(Some(status)) = drained {
        entry.last_answer = worker.now();
        entry.backend.connection_mut().state_mut().status = status;
        let key = entry.key();
        worker.kept.put(&worker, key, *entry);
    } else {
        unhealthy::log(&worker, &entry.backend, Complaint::Silent);
    }
}

fn is_too_old(worker: &Worker, backend: &Backend) -> bool {
    let (limit, link) = (worker.settings().variables.connection_max_age, backend.connection());
    lifetime(limit, link.draw()).is_some_and(|lifetime| link.opened().elapsed() >= lifetime)
}
