//! A worker: one thread, one single-threaded runtime, and the sessions that live and die on it.
//!
//! Sessions of one worker share its scratch buffer: a session borrows it while it is being polled,
//! never across a wait, so thousands of connections need one buffer. Nothing in here is `Send`;
//! other threads reach a worker through its [`Inbox`] only.
//!
//! - `starting`, `running`: its thread, and the loop there;
//! - `inbox`: what others can tell it;
//! - `books`: its sessions, `configuration`: what it goes by.

mod books;
mod configuration;
mod inbox;
mod running;
mod starting;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use querylog::Sampler;
use slab::Slab;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use crate::cached::Cached;
use crate::catalog::Catalog;
use crate::clock::millis;
use crate::control::Control;
use crate::counts::Counts;
use crate::counts::report::{ErrorRow, Report, error_row};
use crate::followed::Followed;
use crate::holders::Asked;
use crate::interning::Interned;
use crate::limits::RETURNS_MAX;
use crate::log_limit::Logged;
use crate::mirror::Mirrors;
use crate::random::Dice;
use crate::relations::Relations;
use crate::routing::Routing;
use crate::shared::Shared;
use crate::snapshot::Settings;
use crate::texts::Texts;
use observe::digests::Table;
use observe::running::Shown;
use reply::WorkerParts;
use upstream::ledger::Ledger;

pub use books::Registered;
pub use inbox::{Inbox, Message, Question};
pub use starting::spawn;

/// What the sessions of one worker share.
#[derive(Debug)]
pub struct Worker {
    /// What all workers share.
    pub shared: Arc<Shared>,
    /// Connections to servers.
    pub upstream: Rc<upstream::Worker>,
    /// Letting clients in.
    pub front: front::Worker,
    settings: RefCell<Rc<Settings>>,
    /// What its sockets share.
    pub net: Rc<net::Local>,
    /// Its number among the workers.
    pub index: u16,
    /// What it counts.
    pub counts: Rc<Counts>,
    /// Queries that are followed for advice about caching.
    pub followed: Followed,
    /// Borrowed while a statement is judged.
    pub routing: RefCell<Routing>,
    /// Buffers for statements that run.
    pub shown: Shown,
    /// Random numbers.
    pub dice: Rc<Dice>,
    /// Returns of sessions to their idle connections, up to [`RETURNS_MAX`].
    returns: Cell<u8>,
    /// Which statements the query log and the slow log get, and which become spans.
    pub samplers: [Sampler; 3],
    /// Bounds what is logged of things that may happen often.
    pub logged: Logged,
    /// Whether statements are traced: looked at with each command.
    pub is_tracing: Cell<bool>,
    /// Whether tables are split over servers: looked at with each command.
    pub has_shards: Cell<bool>,
    /// What it knows of tables that are split over servers.
    pub shards: Catalog,
    /// The time of the last sweep, in seconds of Unix time: less than two before now.
    pub(crate) unix_s: Cell<u64>,
    controls: RefCell<Slab<Rc<Control>>>,
    sessions: Arc<AtomicUsize>,
    drain: Cell<Option<Instant>>,
    /// Whether that time is over.
    cut_off: Cell<bool>,
    /// When a session can have taken too long at the earliest.
    due: Cell<Instant>,
    /// The way for others to send messages here.
    inbox: mpsc::WeakUnboundedSender<Message>,
    /// Places for connections that kill something at a server.
    pub kills: Semaphore,
    /// Copies of statements.
    pub mirrors: Mirrors,
    /// Which sessions have connections, as it was told last to a session that got none.
    pub held: Asked,
    /// What sessions have prepared.
    pub texts: Texts,
    /// Who has it.
    pub ledger: Ledger,
    /// What sessions begin with.
    pub interned: Interned,
    /// What is known of tables.
    relations: Relations,
    /// What it has of the query cache.
    pub cached: Cached,
}

impl Worker {
    /// What it has counted, and what it has to do.
    pub fn report(&self) -> Report {
        let controls = self.controls.borrow();
        let count = |is_so: fn(&Control) -> bool| {
            controls.iter().filter(|(_, control)| is_so(control)).count() as u64
        };
        let (busy, transactions) = (count(Control::is_busy), count(Control::is_in_transaction));
        let mut report = Report::new(&self.counts, busy, transactions);
        report.given_up = self.routing.borrow().hits().exhausted();
        report.copies = self.mirrors.copies();
        report
    }

    /// Takes all digests away; what runs is counted anew.
    pub fn take_digests(&self) -> Table {
        self.counts.digests.take(|renew| {
            for (_, control) in self.controls.borrow().iter() {
                control.running.renew(&mut *renew);
            }
        })
    }

    /// Errors that servers answered here; with `reset` they are forgotten.
    pub fn errors(&self, reset: bool) -> Vec<ErrorRow> {
        self.counts.errors.borrow_mut().list(reset).into_iter().map(error_row).collect()
    }

    /// Whether the session that is about to return to its idle connection is the one of many that
    /// chooses a server anew.
    #[inline]
    pub fn is_time_to_choose(&self) -> bool {
        let returns = (self.returns.get() + 1) % RETURNS_MAX;
        self.returns.set(returns);
        returns == 0
    }

    /// The time, up to a second old.
    pub fn now(&self) -> Instant {
        self.upstream.now()
    }

    /// Milliseconds since the start.
    pub fn uptime_ms(&self) -> u64 {
        millis(self.shared.uptime())
    }

    /// Microseconds from the start to then, cut to whole ones.
    pub fn uptime_us_at(&self, then: Instant) -> u64 {
        u64::try_from(self.shared.upstream.uptime_at(then).as_micros()).unwrap_or(u64::MAX)
    }

    /// The hostgroup of the writers of the pair that a hostgroup is in, if it is in one.
    pub fn cluster_of(&self, hostgroup: u32) -> Option<u32> {
        let routing = self.routing.borrow();
        let pairs = &routing.routes().pairs;
        pairs.reader(hostgroup).map(|_| hostgroup).or_else(|| pairs.writer(hostgroup))
    }

    /// What is known of tables, with the time that goes with it.
    pub fn relations(&self) -> (&Relations, u64) {
        let about = millis(self.shared.upstream.uptime_at(self.now()));
        let version = self.shared.definitions.version();
        (&self.relations, self.relations.refresh(version, about, || self.uptime_ms()))
    }

    /// Looks at all sessions in this time at the latest.
    pub fn look_in(&self, time: Duration) {
        self.due.set(self.due.get().min(self.now() + time));
    }
}

impl<'a> From<&'a Worker> for WorkerParts<'a> {
    fn from(worker: &'a Worker) -> Self {
        Self {
            counts: &worker.counts,
            differences: &worker.mirrors.differences,
            upstream: &worker.shared.upstream,
            sessions: &worker.shared.directory,
        }
    }
}
