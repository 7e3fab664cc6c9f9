//! Which server a session gets, and when.
//!
//! A [`Pool`] knows the servers of every hostgroup and how many connections each may have. A
//! session that needs a backend asks [`Pool::choose`] and gets a [`Permit`] for one server, or
//! hears that all are busy and queues up with [`Pool::enqueue`]. The permit goes into the [`Lease`]
//! together with the connection that was opened under it; when the lease ends the permit passes to
//! the session that waits longest.
//!
//! The hostgroup's [`Policy`] chooses among several servers: by weight, by load, in turn, the first
//! one. Servers that cannot be taken are passed over: full ones, slow ones
//! ([`Server::note_latency`]), those that fail ([`Pool::note_error`]) or lag ([`Pool::mark`]).
//! [`Pool::explain`] says of each server whether it could be taken and why.
//!
//! The crate is pure: it opens no sockets and knows neither clock nor random source. The caller
//! passes random numbers in and the time, counted from any moment that stays the same, and keeps
//! the deadlines. It is generic over what the caller keeps per server (`E`, say the address) and
//! per connection (`C`). A pool is shared by all workers: counting is atomic, and locks are held
//! for the moment in which a server is chosen, and the wait queue's lock is not taken while no
//! session waits.
//!
//! A connection that its session does not use is put on a [`Shelf`], for the next session to
//! take. Such spare connections count as room at their server for those who can use them.
//!
//! Permits make `max_connections` exact: at no moment is a lease granted that would be one more
//! than the server allows.
//!
//! [`Pool::replace`] changes the servers while sessions use and await them: a server that stays
//! keeps its connections and counts, one that is gone is forgotten with its last connection, and
//! waiting sessions get a server or [`Turn::NoServer`].

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod ahead;
mod balance;
mod choice;
mod explain;
mod gate;
mod hostgroup;
mod lease;
mod lifetime;
mod policy;
mod queue;
mod quota;
mod server;
mod shelf;

use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

pub use ahead::Ahead;
pub use choice::Choice;
pub use explain::{Explained, Reason};
pub use gate::Closed;
pub use lease::{Lease, Permit};
pub use lifetime::lifetime;
pub use policy::{Balance, Policy, Shunning};
pub use queue::{Deputy, Ticket, Turn};
pub use quota::{InLine, InTurn, LeaveLine, Quota, Share};
pub use server::{Counts, Gauge, Off, Server, ServerSpec, Standing, Status};
pub use shelf::{Hint as ShelfHint, Shelf, Ticket as ShelfTicket};

use hostgroup::Hostgroup;

/// All servers, by hostgroup.
#[derive(Debug)]
pub struct Pool<E> {
    state: RwLock<State<E>>,
}

#[derive(Debug)]
struct State<E> {
    hostgroups: BTreeMap<u32, Arc<Hostgroup<E>>>,
    /// The id that a server got last.
    last_id: u64,
}

/// How a hostgroup is used at one moment, for error messages and statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Servers configured.
    pub servers: usize,
    /// Servers that take new connections.
    pub available: usize,
    /// Connections open or being opened.
    pub open: u32,
    /// Those among them that are idle.
    pub resting: u32,
    /// Connections allowed on all available servers together.
    pub allowed: u64,
    /// Sessions that wait.
    pub waiting: usize,
    /// Why no connection may be begun in it at the moment, whatever its servers would take.
    pub closed: Option<Closed>,
    /// Whether servers may join it by themselves.
    pub awaited: bool,
}

/// Finding of the monitor about a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It has failed: it is shunned from now on, as after errors.
    Failed,
    /// It does not answer: no session gets it until it works, and connections to it are to be
    /// closed.
    Down,
    /// It works: it is neither shunned nor down any more.
    Works,
    /// A new connection to it was made, which was begun at this time: it is not shunned any more
    /// for errors before that.
    Reached(Duration),
    /// It lags this much, more than it may: it is passed over until it keeps up.
    Lags(Duration),
    /// It has so many transactions to apply, more than it may: it is passed over until it keeps up.
    Behind(u64),
    /// It lags no more than it may.
    KeepsUp,
    /// It does not belong into this hostgroup any more: connections that were made in it are to be
    /// closed. Until it is among the hostgroup's servers again.
    Left,
}

impl<E> Default for Pool<E> {
    /// A pool without servers.
    fn default() -> Self {
        Self { state: RwLock::new(State { hostgroups: BTreeMap::new(), last_id: 0 }) }
    }
}

impl<E> Pool<E> {
    /// A permit for one server of `hostgroup`, chosen as its [`Policy`] says.
    ///
    /// `random` decides among the candidates. Servers for which `avoid` is true (which just failed,
    /// say) are taken only when no other can be. While sessions wait, newcomers get
    /// [`Choice::Busy`], so that they do not overtake the queue.
    pub fn choose(
        &self,
        hostgroup: u32,
        random: u64,
        now: Duration,
        avoid: impl Fn(&E) -> bool,
    ) -> Choice<E> {
        self.choose_with(hostgroup, random, None, now, avoid, |_| false)
    }

    /// The same for a session of this account, which can use a connection that is there already, to
    /// the servers for whose ids `spare` is true. Those have room, be they full or not, and the
    /// choice of one is [`Choice::Spare`]; one that is shunned comes behind all others.
    pub fn choose_with(
        &self,
        hostgroup: u32,
        random: u64,
        account: Option<usize>,
        now: Duration,
        avoid: impl Fn(&E) -> bool,
        spare: impl Fn(u64) -> bool,
    ) -> Choice<E> {
        let Some(group) = self.hostgroup(hostgroup) else { return Choice::NoServer };
        group.tell(now);
        if group.queue.waiting() > 0 {
            return if group.may_help() { Choice::Busy } else { Choice::NoServer };
        }
        choice::choose(&group, random, account, now, avoid, spare)
    }

    /// A place at the end of `hostgroup`'s queue; `None` if there is no such hostgroup.
    ///
    /// `random` decides among the servers that have room when it is this place's turn. There is
    /// mostly one: a session that has to wait cannot avoid a server.
    pub fn enqueue(&self, hostgroup: u32, random: u64, now: Duration) -> Option<Ticket<E>> {
        self.enqueue_since(hostgroup, random, None, now, now)
    }

    /// The same for a session of this account, which has waited `since` then: it comes before those
    /// who have come later.
    pub fn enqueue_since(
        &self,
        hostgroup: u32,
        random: u64,
        account: Option<usize>,
        since: Duration,
        now: Duration,
    ) -> Option<Ticket<E>> {
        let group = self.hostgroup(hostgroup)?;
        group.tell(now);
        Some(Ticket::new(group, random, account, since))
    }

    /// Gives those who wait for a server of `hostgroup` what has become free because time has
    /// passed: a server that was shunned long enough, say. The pool has no clock: a waiting session
    /// calls this from time to time, at the latest when the time that it returns is over. `None`:
    /// nothing changes because of time alone, as far as is known now.
    pub fn serve(&self, hostgroup: u32, now: Duration) -> Option<Duration> {
        let group = self.hostgroup(hostgroup)?;
        group.tell(now);
        group.queue.serve(&group);
        group.changes_in(now)
    }

    /// A permit for a connection to a server of `hostgroup` that is to be opened before a session
    /// needs it, as its [`Policy`] says.
    ///
    /// # Errors
    ///
    /// When to ask again, if one lacks and may be opened only then; nothing if there are enough, or
    /// others need what could be had.
    pub fn open_ahead(
        &self,
        hostgroup: u32,
        ahead: &Ahead<impl Fn(&Server<E>) -> u32>,
        now: Duration,
    ) -> Result<Permit<E>, Option<Duration>> {
        let group = self.hostgroup(hostgroup).ok_or(None)?;
        group.tell(now);
        ahead::open_ahead(&group, ahead, now)
    }

    /// Takes note of an error that says that `server` is not well; with enough of them in a second
    /// it is shunned. Whether that is what has happened just now. A server that is `silent` has not
    /// said a word.
    pub fn note_error(&self, server: &Server<E>, silent: bool, now: Duration) -> bool {
        let Some(group) = self.hostgroup(server.hostgroup()) else { return false };
        group.tell(now);
        let enough = group.members().policy.shunning.errors;
        if silent {
            server.health().note_silent(now);
        }
        server.health().note_error(now, enough)
    }

    /// Why each server of `hostgroup` could be taken at `now`, or could not, in the order of the
    /// configuration; nothing if there is no such hostgroup. Changes nothing.
    pub fn explain(&self, hostgroup: u32, now: Duration) -> Vec<Explained<E>> {
        let group = self.hostgroup(hostgroup);
        group.map_or_else(Vec::new, |group| explain::explain(&group, now))
    }

    /// Whether a server of `hostgroup` works at `now`, as far as is known; it may be full of
    /// connections of this proxy's.
    pub fn works(&self, hostgroup: u32, now: Duration) -> bool {
        let Some(group) = self.hostgroup(hostgroup) else { return false };
        let members = group.members();
        let works = |server: &Arc<Server<E>>| match server.standing(now, &members.policy) {
            Standing::Ready | Standing::Full { .. } => true,
            Standing::Refusing { .. } => server.made() > 0,
            _ => false,
        };
        members.servers.iter().any(works)
    }

    /// Whether a connection to a server of `hostgroup` could be opened at `now`, and no session
    /// waits for that. Changes nothing.
    pub fn has_room(&self, hostgroup: u32, now: Duration) -> bool {
        let Some(group) = self.hostgroup(hostgroup).filter(|group| group.queue.waiting() == 0) else {
            return false;
        };
        let members = group.members();
        group.gate.closed(&members.policy, now).is_none()
            && !choice::ready(&members.servers, &members.policy, None, now).is_empty()
    }

    /// Whether a session could get more than one server of `hostgroup` at `now`. Changes nothing.
    pub fn has_choice(&self, hostgroup: u32, now: Duration) -> bool {
        let Some(group) = self.hostgroup(hostgroup) else { return false };
        let members = group.members();
        choice::ready(&members.servers, &members.policy, None, now).len() > 1
    }

    /// Idle connections to servers of `hostgroup`, of all threads.
    pub fn resting(&self, hostgroup: u32) -> u32 {
        let group = self.hostgroup(hostgroup);
        group.map_or(0, |group| group.members().servers.iter().map(|server| server.resting()).sum())
    }

    /// How `hostgroup` is used now; all zero if there is no such hostgroup.
    pub fn usage(&self, hostgroup: u32) -> Usage {
        self.hostgroup(hostgroup).map_or_else(Usage::default, |group| group.usage())
    }

    /// All servers by hostgroup, in the order in which they were configured, and behind them those
    /// that are configured no more but still have connections.
    pub fn servers(&self) -> Vec<Arc<Server<E>>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.hostgroups.values().flat_map(|group| group.members().servers.clone()).collect()
    }

    /// Whether a server of `hostgroup` that takes new connections is like this; nothing if there is
    /// none.
    pub fn is_any(&self, hostgroup: u32, is_it: impl Fn(&Server<E>) -> bool) -> Option<bool> {
        let group = self.hostgroup(hostgroup)?;
        let members = group.members();
        let mut available = members.servers.iter().filter(|server| server.is_available()).peekable();
        available.peek()?;
        Some(available.any(|server| is_it(server)))
    }

    /// How many servers of `hostgroup` that take new connections are like this.
    pub fn count(&self, hostgroup: u32, is_it: impl Fn(&Server<E>) -> bool) -> usize {
        let Some(group) = self.hostgroup(hostgroup) else { return 0 };
        let members = group.members();
        members.servers.iter().filter(|server| server.is_available() && is_it(server)).count()
    }

    /// What is asked of the only server of `hostgroup` that takes new connections; nothing if it
    /// has none, or several.
    pub fn only<T>(&self, hostgroup: u32, ask: impl FnOnce(&Server<E>) -> T) -> Option<T> {
        let group = self.hostgroup(hostgroup)?;
        let members = group.members();
        let mut available = members.servers.iter().filter(|server| server.is_available());
        let only = available.next()?;
        available.next().is_none().then(|| ask(only))
    }

    /// How many servers `hostgroup` has that are not [switched off](Status::OfflineHard), whether
    /// they take new connections or not.
    pub fn configured(&self, hostgroup: u32) -> usize {
        let Some(group) = self.hostgroup(hostgroup) else { return 0 };
        let members = group.members();
        let is_on =
            |server: &&Arc<Server<E>>| server.is_configured() && server.off() != Some(Off::Configured);
        members.servers.iter().filter(is_on).count()
    }

    /// Servers that were shunned, and whose time is over, are so no more: for who looks at them.
    /// Who chooses one does not wait for this.
    pub fn forgive(&self, now: Duration) {
        let groups: Vec<_> = {
            let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
            state.hostgroups.values().cloned().collect()
        };
        for group in groups {
            let members = group.members();
            choice::forgive(&members.servers, members.policy.shunning.recovery, now);
        }
    }

    fn hostgroup(&self, id: u32) -> Option<Arc<Hostgroup<E>>> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).hostgroups.get(&id).cloned()
    }
}

impl<E: Clone + Eq + Hash> Pool<E> {
    /// The server of `hostgroup` with this endpoint.
    pub fn find(&self, hostgroup: u32, endpoint: &E) -> Option<Arc<Server<E>>> {
        let group = self.hostgroup(hostgroup)?;
        group.members().find(endpoint).cloned()
    }

    /// A pool of these servers, all without connections; `policy` says how each hostgroup chooses.
    pub fn new(servers: impl IntoIterator<Item = ServerSpec<E>>, policy: impl Fn(u32) -> Policy) -> Self {
        let pool = Self::default();
        pool.replace(servers, policy);
        pool
    }

    /// Takes note of what the monitor has found out about a server. Ignores a server that is not in
    /// the pool.
    pub fn mark(&self, hostgroup: u32, endpoint: &E, mark: Mark, now: Duration) {
        let Some(group) = self.hostgroup(hostgroup) else { return };
        group.tell(now);
        {
            let members = group.members();
            let Some(server) = members.find(endpoint) else { return };
            match mark {
                Mark::Failed => {
                    server.health().note_silent(now);
                    server.health().shun(now);
                }
                Mark::Down => {
                    server.health().set_down(true);
                    if members.policy.shunning.for_good {
                        server.health().shun(now);
                    }
                }
                Mark::Works => {
                    // Where what has failed is not tried again, it does not matter that it would
                    // work.
                    if !members.policy.shunning.for_good {
                        server.health().unshun();
                    }
                    server.health().set_down(false);
                }
                Mark::Reached(begun) => {
                    let is_since = server.health().shunned_since().is_some_and(|since| since < begun);
                    if is_since && !members.policy.shunning.for_good {
                        server.health().unshun();
                    }
                }
                Mark::Left => server.health().set_left(true),
                Mark::Lags(lag) => server.health().set_lag(Some(lag)),
                Mark::Behind(behind) => server.health().set_behind(Some(behind)),
                Mark::KeepsUp => {
                    server.health().set_lag(None);
                    server.health().set_behind(None);
                }
            }
        }
        group.queue.serve(&group);
    }

    /// Makes these the servers of the pool, and this how their hostgroups choose. Takes time in
    /// proportion to the servers before and after.
    ///
    /// A server that was there, in the same hostgroup and with an equal endpoint, keeps its
    /// connections and counts. One that is not among them takes no new connections, and is
    /// forgotten when its last permit has come back. Sessions that wait get what has become free
    /// for them, or hear that their hostgroup has no server any more.
    pub fn replace(&self, servers: impl IntoIterator<Item = ServerSpec<E>>, policy: impl Fn(u32) -> Policy) {
        self.replace_all(servers, [], policy);
    }

    /// The same where hostgroups may be without a server: `awaited` are there nevertheless, for who
    /// waits for one, if their [`Policy`] says that they are awaited, too.
    pub fn replace_all(
        &self,
        servers: impl IntoIterator<Item = ServerSpec<E>>,
        awaited: impl IntoIterator<Item = u32>,
        policy: impl Fn(u32) -> Policy,
    ) {
        let mut by_hostgroup: BTreeMap<u32, Vec<ServerSpec<E>>> = BTreeMap::new();
        for spec in servers {
            by_hostgroup.entry(spec.hostgroup).or_default().push(spec);
        }
        let mut guard = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let State { hostgroups, last_id } = &mut *guard;
        for id in by_hostgroup.keys().copied().chain(awaited) {
            hostgroups.entry(id).or_default();
        }
        hostgroups.retain(|id, group| {
            group.replace(by_hostgroup.remove(id).unwrap_or_default(), policy(*id), last_id);
            group.queue.serve(group);
            !group.is_empty()
        });
    }
}

#[cfg(test)]
mod tests;
