//! What the sessions of one thread share of connections to servers.
//!
//! A worker of the proxy has one, the monitor has one of its own. Functions in here take this part,
//! and know nothing of what is above them: who asks for a connection, and what for.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use net::random::Dice;
use observe::counts::Counts;
use observe::log_limit::LogLimit;
use pool::Server;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::calls::Holders;
use crate::configuration::{Configuration, Local};
use crate::requests::Requests;
use crate::shared::Shared;
use crate::{AcceptedSettings, BatchHistory, Copies, Dialer, Kept, Target, Warmth};

/// What a thread needs to get connections to servers, and those that it has.
#[derive(Debug)]
pub struct Worker {
    /// What all threads share.
    pub shared: Arc<Shared>,
    settings: RefCell<Rc<Local<Configuration>>>,
    /// How often they have been others, and once more.
    version: Cell<u64>,
    /// What its sockets share.
    pub net: Rc<net::Local>,
    /// What is counted here.
    pub counts: Rc<Counts>,
    /// Random numbers.
    pub dice: Rc<Dice>,
    /// The way to servers.
    pub dialer: Dialer,
    /// Sessions of all workers, as an error names them.
    pub(crate) holders: Box<dyn Holders>,
    /// How often a session has got a connection to a server.
    serials: Cell<u64>,
    /// The time of the last sweep: good enough for limits of seconds, and free to read.
    clock: Cell<Instant>,
    /// Whether sessions are being ended, because the proxy stops.
    is_draining: Cell<bool>,
    /// Calls when servers may be of no use any more.
    pub(crate) recalled: Notify,
    /// Bounds what is logged of idle connections whose servers say something
    /// (`mysql-log_unhealthy_connections`).
    pub(crate) unhealthy: LogLimit,
    /// Connections that no statement needs at the moment.
    pub kept: Kept,
    /// Connections that wait for copies of statements.
    pub copies: Copies,
    /// Statements that were fast lately.
    pub history: BatchHistory,
    /// Settings that servers have accepted.
    pub accepted: AcceptedSettings,
    /// When room was asked for on other workers.
    pub(crate) requests: Requests,
    /// For whom connections are opened before they are needed.
    pub(crate) warmth: Warmth,
}

impl Worker {
    /// Without connections.
    pub fn new(
        shared: Arc<Shared>,
        configuration: Arc<Configuration>,
        net: net::Local,
        dice: Dice,
        dialer: Dialer,
        holders: Box<dyn Holders>,
    ) -> Self {
        Self {
            shared,
            settings: RefCell::new(Rc::new(Local(configuration))),
            version: Cell::new(1),
            net: Rc::new(net),
            counts: Rc::new(Counts::new(dice.roll())),
            dice: Rc::new(dice),
            dialer,
            holders,
            serials: Cell::new(0),
            clock: Cell::new(Instant::now()),
            is_draining: Cell::new(false),
            recalled: Notify::new(),
            unhealthy: LogLimit::default(),
            kept: Kept::default(),
            copies: Copies::default(),
            history: BatchHistory::default(),
            accepted: AcceptedSettings::default(),
            requests: Requests::default(),
            warmth: Warmth::default(),
        }
    }

    /// The configuration that holds now. It stays what it is for who has got it.
    pub fn settings(&self) -> Rc<Local<Configuration>> {
        Rc::clone(&self.settings.borrow())
    }

    /// The number of the configuration that holds now; never 0.
    pub const fn version(&self) -> u64 {
        self.version.get()
    }

    /// Uses another configuration from now on, if it is another.
    pub fn use_settings(&self, configuration: Arc<Configuration>) {
        if !Arc::ptr_eq(&self.settings.borrow().0, &configuration) {
            self.settings.replace(Rc::new(Local(configuration)));
            self.version.set(self.version.get() + 1);
        }
    }

    /// Uses another configuration from now on, and ends connections that are too many with it.
    /// Returns the servers that there are.
    pub fn configure(self: &Rc<Self>, configuration: Arc<Configuration>) -> Vec<Arc<Server<Target>>> {
        self.settings.replace(Rc::new(Local(configuration)));
        self.version.set(self.version.get() + 1);
        self.kept.end_surplus(self);
        self.forget_servers()
    }

    /// Forgets what was counted of servers that the pool has forgotten: each that comes back is
    /// another one. Returns those that there are.
    fn forget_servers(&self) -> Vec<Arc<Server<Target>>> {
        let servers = self.shared.pool.servers();
        let known: HashSet<u64> = servers.iter().map(|server| server.id()).collect();
        self.counts.forget_servers(|id| known.contains(&id));
        servers
    }

    /// Has what waits for a server look whether that is of no use any more.
    pub fn recall(&self) {
        self.forget_servers();
        self.recalled.notify_waiters();
    }

    /// A number for the time for which a session has a connection to a server; never the same,
    /// never 0.
    pub(crate) fn next_serial(&self) -> u64 {
        self.serials.set(self.serials.get() + 1);
        self.serials.get()
    }

    /// The time, up to a second old.
    pub fn now(&self) -> Instant {
        self.clock.get()
    }

    /// Whether sessions are being ended, because the proxy stops.
    pub const fn is_draining(&self) -> bool {
        self.is_draining.get()
    }

    /// Ends idle connections, as the proxy stops.
    pub fn drain(self: &Rc<Self>) {
        self.kept.clear(self);
        self.is_draining.set(true);
    }

    /// Ends idle connections that are of no use any more, and opens those that lack.
    pub fn sweep(self: &Rc<Self>, now: Instant) {
        self.copies.sweep(self, now);
        self.kept.sweep(self, now);
        self.warmth.sweep(self);
        self.clock.set(now);
    }
}
