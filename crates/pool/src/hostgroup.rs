//! A hostgroup: the servers that are interchangeable for a statement, and who waits for one of
//! them.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use crate::choice::{last_resort, may_help};
use crate::gate::{Closed, Gate};
use crate::policy::Policy;
use crate::queue::WaitQueue;
use crate::server::micros;
use crate::{Server, ServerSpec, Status, Usage};

/// The servers of one hostgroup.
#[derive(Debug)]
pub(crate) struct Hostgroup<E> {
    members: RwLock<Members<E>>,
    /// How many of them are configured no more.
    removed: AtomicUsize,
    /// Whose turn it is with [`Balance::RoundRobin`](crate::Balance).
    pub(crate) turn: AtomicU64,
    /// The microsecond of the last call that had a time. A permit that comes back has none.
    time: AtomicU64,
    pub(crate) queue: WaitQueue<E>,
    pub(crate) gate: Gate,
}

/// The servers of a hostgroup, and how it chooses among them.
#[derive(Debug)]
pub(crate) struct Members<E> {
    /// Those that are configured, in their order, and behind them those that are not any more and
    /// still have connections.
    pub(crate) servers: Vec<Arc<Server<E>>>,
    /// Where those that are configured are among them: there may be thousands, and each is looked
    /// for with each check of it.
    places: HashMap<E, usize>,
    pub(crate) policy: Policy,
}

impl<E: Eq + Hash> Members<E> {
    /// The server with this endpoint.
    pub(crate) fn find(&self, endpoint: &E) -> Option<&Arc<Server<E>>> {
        let former = || {
            let mut behind = self.servers.iter().rev().take_while(|server| !server.is_configured());
            behind.find(|server| server.endpoint() == endpoint)
        };
        self.places.get(endpoint).map_or_else(former, |at| self.servers.get(*at))
    }
}

impl<E> Default for Hostgroup<E> {
    fn default() -> Self {
        Self {
            members: RwLock::new(Members {
                servers: Vec::new(),
                places: HashMap::new(),
                policy: Policy::default(),
            }),
            removed: AtomicUsize::new(0),
            turn: AtomicU64::new(0),
            time: AtomicU64::new(0),
            queue: WaitQueue::default(),
            gate: Gate::default(),
        }
    }
}

impl<E> Hostgroup<E> {
    /// The servers. As long as the guard lives, they stay the same.
    pub(crate) fn members(&self) -> RwLockReadGuard<'_, Members<E>> {
        self.members.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing in here is left half done by a panic.
    fn members_mut(&self) -> RwLockWriteGuard<'_, Members<E>> {
        self.members.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of the time. It only goes on.
    pub(crate) fn tell(&self, now: Duration) {
        self.time.fetch_max(micros(now), Ordering::Relaxed);
    }

    /// The time that was told last.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_micros(self.time.load(Ordering::Relaxed))
    }

    /// Whether one who waits may get a server.
    pub(crate) fn may_help(&self) -> bool {
        let members = self.members();
        may_help(&members.servers, &members.policy, self.time())
    }

    /// Whether it has as many connections as it may, or all its servers work and have as many as
    /// they may. Then no session can be served now, but a waiting one will be.
    pub(crate) fn is_full(&self) -> bool {
        let members = self.members();
        if self.is_gate_full(&members) {
            return true;
        }
        let is_full =
            |server: &Arc<Server<E>>| server.is_available() && server.open() >= server.max_connections();
        !members.servers.is_empty() && members.servers.iter().all(is_full)
    }

    /// Whether it has as many connections as it may, whatever its servers have.
    fn is_gate_full(&self, members: &Members<E>) -> bool {
        matches!(self.gate.closed(&members.policy, self.time()), Some(Closed::Full { .. }))
    }

    /// Whether one of its servers has refused a connection of this account, and of no other, a
    /// short time ago.
    pub(crate) fn refuses(&self, account: usize) -> bool {
        self.members().servers.iter().any(|server| server.refusals().is_of(account))
    }

    /// Whether connections are opened so fast that the next one has to wait.
    pub(crate) fn is_throttled(&self) -> bool {
        matches!(self.gate.closed(&self.members().policy, self.time()), Some(Closed::Throttled { .. }))
    }

    /// Whether a waiting session could open a connection if one of this account to `server` ended.
    pub(crate) fn is_in_the_way(&self, server: &Server<E>, account: Option<usize>) -> bool {
        let members = self.members();
        let is_full = || server.open() >= server.max_connections() || server.refusals().concern(account);
        server.status() == Status::Online && is_full() || self.is_gate_full(&members)
    }

    /// Time until a server that those who wait cannot get now can be had, if nothing but time has
    /// to pass.
    pub(crate) fn changes_in(&self, now: Duration) -> Option<Duration> {
        self.recovers_in(None, now).into_iter().chain(self.opens_in(now)).min()
    }

    /// Time until a server is back for this account, if nothing but time has to pass.
    pub(crate) fn recovers_in(&self, account: Option<usize>, now: Duration) -> Option<Duration> {
        let members = self.members();
        // Mostly all are well, and looking closer would show that once more.
        if !members.servers.iter().any(|server| server.may_recover(&members.policy)) {
            return None;
        }
        // A waiting session has found no other server. For it a shunned server is tried early, and
        // a slow one is taken.
        let policy = last_resort(&members.servers, &members.policy, now);
        let standings = members.servers.iter().map(|server| server.standing_for(account, now, &policy));
        standings.filter_map(crate::Standing::changes_in).min()
    }

    /// Time until the next connection may be opened, where they are opened one after the other.
    pub(crate) fn opens_in(&self, now: Duration) -> Option<Duration> {
        match self.gate.closed(&self.members().policy, now) {
            Some(Closed::Throttled { left, .. }) => Some(left),
            Some(Closed::Full { .. }) | None => None,
        }
    }

    /// The most idle connections that this server may have; none if it takes no new connections.
    pub(crate) fn most_resting(&self, id: u64) -> u32 {
        let members = self.members();
        let server = members.servers.iter().find(|server| server.id() == id && server.is_available());
        server.map_or(0, |server| members.policy.most_resting(server.max_connections()))
    }

    /// Whether nothing would be lost with it.
    pub(crate) fn is_empty(&self) -> bool {
        let members = self.members();
        members.servers.is_empty() && !members.policy.awaited && self.queue.waiting() == 0
    }

    pub(crate) fn usage(&self) -> Usage {
        let members = self.members();
        let servers = &members.servers;
        let available = servers.iter().filter(|server| server.is_available());
        Usage {
            servers: servers.iter().filter(|server| server.is_configured()).count(),
            available: available.clone().count(),
            open: servers.iter().map(|server| server.open()).sum(),
            resting: servers.iter().map(|server| server.resting()).sum(),
            allowed: available
                .map(|server| u64::from(server.max_connections()))
                .sum::<u64>()
                .min(members.policy.max_open.into()),
            closed: self.gate.closed(&members.policy, self.time()),
            waiting: self.queue.waiting(),
            awaited: members.policy.awaited,
        }
    }

    /// A connection to a server has ended, and was its last one. If the server is configured no
    /// more, it is forgotten.
    pub(crate) fn note_unused(&self) {
        if self.removed.load(Ordering::SeqCst) > 0 {
            self.forget_unused(&mut self.members_mut().servers);
        }
    }

    /// Forgets the servers that are configured no more and have no connection.
    fn forget_unused(&self, servers: &mut Vec<Arc<Server<E>>>) {
        // Said first: a thread that gives the last connection back either sees it, or was counted
        // before the look below.
        let removed = servers.iter().filter(|server| !server.is_configured()).count();
        self.removed.store(removed, Ordering::SeqCst);
        servers.retain(|server| server.is_configured() || server.open() > 0);
        let removed = servers.iter().filter(|server| !server.is_configured()).count();
        self.removed.store(removed, Ordering::SeqCst);
    }
}

impl<E: Clone + Eq + Hash> Hostgroup<E> {
    /// Makes these the configured servers. Those that are new get the ids behind `last_id`.
    pub(crate) fn replace(&self, specs: Vec<ServerSpec<E>>, policy: Policy, last_id: &mut u64) {
        let mut members = self.members_mut();
        members.policy = policy;
        let servers = &mut members.servers;
        let mut before: HashMap<&E, &Arc<Server<E>>> =
            servers.iter().map(|server| (server.endpoint(), server)).collect();
        let mut after = Vec::with_capacity(specs.len());
        for spec in specs {
            let server = if let Some(known) = before.remove(&spec.endpoint) {
                known.changed(spec)
            } else {
                *last_id += 1;
                Server::new(spec, *last_id)
            };
            after.push(Arc::new(server));
        }
        let mut places = HashMap::with_capacity(after.len());
        for (at, server) in after.iter().enumerate() {
            places.entry(server.endpoint().clone()).or_insert(at);
        }
        after.extend(before.into_values().map(|server| Arc::new(server.removed())));
        *servers = after;
        members.places = places;
        let servers = &mut members.servers;
        self.forget_unused(servers);
    }
}
