//! One server of a hostgroup, the count of its connections, what was counted of them, and what is
//! observed of it.
//!
//! - [`gauge`]: statements that run;
//! - [`health`]: errors, lag, latency;
//! - [`refusals`]: connections that it has refused because it has too many;
//! - [`standing`]: whether it can be chosen.

mod gauge;
mod health;
mod refusals;
mod standing;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

pub use gauge::Gauge;
pub(crate) use health::micros;
#[cfg(test)]
pub(crate) use refusals::PAUSE;
pub use standing::Standing;

use gauge::Gauges;
use health::Health;
use refusals::Refusals;

/// What the caller says about a server when the pool is made, or made anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSpec<E> {
    /// The hostgroup that the server belongs to.
    pub hostgroup: u32,
    /// Share of new connections relative to the other servers; 0 means none.
    pub weight: u32,
    /// Connections that the server may have from this proxy.
    pub max_connections: u32,
    /// Whether the server takes new connections.
    pub status: Status,
    /// A server with a longer latency is not taken; `None`: [that of the
    /// hostgroup](crate::Policy::max_latency) holds.
    pub max_latency: Option<Duration>,
    /// Whatever the caller needs to reach the server. Within a hostgroup, equal ones are the same
    /// server.
    pub endpoint: E,
}

/// Whether a server takes new connections, and if not, why. Only [`Status::Online`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Status {
    /// It does.
    #[default]
    Online,
    /// It has failed.
    Shunned,
    /// It lags too much.
    ShunnedReplicationLag,
    /// It finishes what it has.
    OfflineSoft,
    /// It is switched off, or configured no more and not yet without connections.
    OfflineHard,
}

/// Why connections to a server are to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    /// It is configured as [`Status::OfflineHard`].
    Configured,
    /// It does not answer.
    Down,
    /// It has left the hostgroup; statements that run may end.
    Left,
}

impl Off {
    /// Whether statements that run are to be broken off, too.
    pub const fn breaks_off(self) -> bool {
        !matches!(self, Self::Left)
    }
}

/// A server as it is configured now. What was counted of it lasts when its configuration changes.
#[derive(Debug)]
pub struct Server<E> {
    spec: ServerSpec<E>,
    life: Arc<Life>,
    configured: bool,
}

/// What all configurations of one server have in common.
#[derive(Debug)]
struct Life {
    id: u64,
    open: AtomicU32,
    /// Those among them that were made.
    made: AtomicU32,
    /// How many there may be, as it is configured now: all configurations of it say so, as old as
    /// they may be.
    max_connections: AtomicU32,
    resting: Gauges,
    opened: AtomicU64,
    failed: AtomicU64,
    most_open: AtomicU32,
    /// Whether it is switched off: all configurations of it say so, as old as they may be.
    off: AtomicBool,
    health: Health,
    refusals: Refusals,
    gauges: Gauges,
}

/// What was counted of a server's connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Connections that were made.
    pub opened: u64,
    /// Attempts to make one that failed.
    pub failed: u64,
    /// The most connections at a time.
    pub most_open: u32,
}

impl<E> Server<E> {
    /// A server without connections. `id` is not used for another server of the pool.
    pub(crate) fn new(spec: ServerSpec<E>, id: u64) -> Self {
        let life = Life {
            id,
            open: AtomicU32::new(0),
            made: AtomicU32::new(0),
            max_connections: AtomicU32::new(spec.max_connections),
            resting: Gauges::default(),
            opened: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            most_open: AtomicU32::new(0),
            off: AtomicBool::new(spec.status == Status::OfflineHard),
            health: Health::default(),
            refusals: Refusals::default(),
            gauges: Gauges::default(),
        };
        Self { spec, life: Arc::new(life), configured: true }
    }

    /// The same server with another configuration. If that says anything new, it is not shunned any
    /// more: what was wrong may be what was changed.
    pub(crate) fn changed(&self, spec: ServerSpec<E>) -> Self
    where
        E: PartialEq,
    {
        if self.spec != spec {
            self.life.health.unshun();
            self.life.refusals.clear();
        }
        self.life.max_connections.store(spec.max_connections, Ordering::SeqCst);
        self.life.off.store(spec.status == Status::OfflineHard, Ordering::Relaxed);
        self.life.health.set_left(false);
        Self { spec, life: Arc::clone(&self.life), configured: true }
    }

    /// A number that tells the server from all others that the pool has had, for as long as the
    /// pool knows it.
    pub fn id(&self) -> u64 {
        self.life.id
    }

    /// The hostgroup that it belongs to.
    pub const fn hostgroup(&self) -> u32 {
        self.spec.hostgroup
    }

    /// Whatever the caller needs to reach the server.
    pub const fn endpoint(&self) -> &E {
        &self.spec.endpoint
    }

    /// Connections that the server may have from this proxy, as it is configured now.
    pub fn max_connections(&self) -> u32 {
        self.life.max_connections.load(Ordering::SeqCst)
    }

    /// Whether it has more connections than it may have, because the limit was lowered.
    pub fn has_surplus(&self) -> bool {
        self.open() > self.max_connections()
    }

    /// Share of new connections relative to the other servers.
    pub const fn weight(&self) -> u32 {
        self.spec.weight
    }

    /// Whether it takes new connections: what is configured, or why a server that is configured to
    /// does not.
    pub fn status(&self) -> Status {
        match self.spec.status {
            Status::Online if self.life.health.is_down() => Status::Shunned,
            Status::Online if self.life.health.shunned_since().is_some() => Status::Shunned,
            Status::Online if self.life.health.is_late() => Status::ShunnedReplicationLag,
            configured => configured,
        }
    }

    /// Whether idle connections to this server may be lent to sessions: while the server is online,
    /// and while it is shunned but was not silent since `last_answer`: the moment of the last
    /// answer over the connection, as time since the start.
    pub fn lends(&self, last_answer: impl FnOnce() -> Duration) -> bool {
        let health = &self.life.health;
        match self.status() {
            Status::Online => true,
            Status::Shunned if self.spec.status == Status::Online && !health.is_down() => {
                health.silent_since().is_none_or(|silent| silent < last_answer())
            }
            _ => false,
        }
    }

    /// Whether it lags more than it may: who is in the middle of nothing there is to leave it.
    pub fn is_late(&self) -> bool {
        self.life.health.is_late()
    }

    /// The latency that was noted last; zero if none was.
    pub fn latency(&self) -> Duration {
        self.life.health.latency()
    }

    /// Takes note of how long the server takes to answer, as it turned out at `now`. It counts for
    /// ten seconds.
    pub fn note_latency(&self, latency: Duration, now: Duration) {
        self.life.health.note_latency(latency, now);
    }

    /// A gauge for one thread's statements at this server.
    pub fn gauge(&self) -> Arc<Gauge> {
        self.life.gauges.add()
    }

    /// Statements that run, of all threads.
    pub fn running(&self) -> u64 {
        self.life.gauges.sum()
    }

    /// Whether it is configured, and not only waiting for its last connection to end.
    pub const fn is_configured(&self) -> bool {
        self.configured
    }

    /// Whether connections to it are to be closed. One that is configured no more keeps those that
    /// it has.
    pub fn is_off(&self) -> bool {
        self.off().is_some()
    }

    /// Why they are, if they are.
    pub fn off(&self) -> Option<Off> {
        let health = &self.life.health;
        let configured = self.life.off.load(Ordering::Relaxed).then_some(Off::Configured);
        configured
            .or_else(|| health.is_down().then_some(Off::Down))
            .or_else(|| health.has_left().then_some(Off::Left))
    }

    /// Connections open or being opened.
    pub fn open(&self) -> u32 {
        self.life.open.load(Ordering::SeqCst)
    }

    /// Connections that were made and have not ended: those that are being opened are not among
    /// them.
    pub fn made(&self) -> u32 {
        self.life.made.load(Ordering::SeqCst)
    }

    /// Idle connections of all threads; they are among those that are open.
    pub fn resting(&self) -> u32 {
        u32::try_from(self.life.resting.sum()).unwrap_or(u32::MAX)
    }

    /// A gauge for one thread's idle connections.
    pub fn resting_gauge(&self) -> Arc<Gauge> {
        self.life.resting.add()
    }

    /// Counts a connection that was made.
    pub fn note_opened(&self) {
        self.life.opened.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an attempt to make one that failed.
    pub fn note_failed(&self) {
        self.life.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted; with `reset` it counts from 0 again.
    pub fn counts(&self, reset: bool) -> Counts {
        let Life { opened, failed, most_open, .. } = &*self.life;
        if reset {
            // What is open now was open at once.
            let most_open = most_open.swap(self.open(), Ordering::Relaxed);
            let (opened, failed) = (opened.swap(0, Ordering::Relaxed), failed.swap(0, Ordering::Relaxed));
            return Counts { opened, failed, most_open };
        }
        let (opened, failed) = (opened.load(Ordering::Relaxed), failed.load(Ordering::Relaxed));
        Counts { opened, failed, most_open: most_open.load(Ordering::Relaxed) }
    }

    /// Whether the server takes new connections at all; it may still be full.
    pub fn is_available(&self) -> bool {
        self.configured && self.status() == Status::Online && self.spec.weight > 0
    }

    pub(crate) fn health(&self) -> &Health {
        &self.life.health
    }

    pub(crate) fn refusals(&self) -> &Refusals {
        &self.life.refusals
    }

    /// A connection was made, or has ended.
    pub(crate) fn count_made(&self, more: bool) {
        if more {
            self.life.made.fetch_add(1, Ordering::SeqCst);
        } else {
            self.life.made.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Counts one more connection, unless the server is full.
    pub(crate) fn try_take(&self) -> bool {
        self.try_take_below(u32::MAX)
    }

    /// The same, unless it has `max` already.
    pub(crate) fn try_take_below(&self, max: u32) -> bool {
        let max = self.max_connections().min(max);
        let more = |open| (open < max).then_some(open + 1);
        let before = self.life.open.try_update(Ordering::SeqCst, Ordering::SeqCst, more);
        if let Ok(before) = before {
            self.life.most_open.fetch_max(before + 1, Ordering::Relaxed);
        }
        before.is_ok()
    }

    /// Counts one connection less; returns how many are left.
    pub(crate) fn release(&self) -> u32 {
        let before = self.life.open.fetch_sub(1, Ordering::SeqCst);
        debug_assert!(before > 0, "a permit was returned that nobody took");
        before.saturating_sub(1)
    }
}

impl<E: Clone> Server<E> {
    /// The same server, configured no more.
    pub(crate) fn removed(&self) -> Self {
        let spec = ServerSpec { status: Status::OfflineHard, ..self.spec.clone() };
        Self { spec, life: Arc::clone(&self.life), configured: false }
    }
}
