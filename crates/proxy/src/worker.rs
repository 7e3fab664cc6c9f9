//! A worker: one thread, one single-threaded runtime, and the sessions that live and die on it.
//!
//! Sessions of one worker share its scratch buffer: a session borrows it while it is being polled,
//! never across a wait, so thousands of connections need one buffer. Nothing in here is `Send`;
//! other threads reach a worker through its [`Inbox`] only.
//!
//! - [`inbox`]: what they can tell it;
//! - [`books`]: its sessions, [`configuration`]: what it goes by.

mod books;
mod configuration;
mod inbox;

use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use querylog::Sampler;
use slab::Slab;
use tokio::runtime::{Builder, LocalOptions};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::alike::Alike;
use crate::arrival::Arrival;
use crate::cached::Cached;
use crate::catalog::Catalog;
use crate::clock::unix_s;
use crate::control::{Control, Signal};
use crate::counts::report::{ErrorRow, Report, error_row};
use crate::counts::{Counter, Counts};
use crate::followed::Followed;
use crate::holders::{Asked, Sessions};
use crate::limits::{KILLS_MAX, PREPARED_BYTES_OF_ALL_MAX, RETURNS_MAX, SESSIONS_LOOK, SWEEP_INTERVAL};
use crate::log_limit::Logged;
use crate::mirror::Mirrors;
use crate::random::Dice;
use crate::relations::Relations;
use crate::routing::Routing;
use crate::session::Flights;
use crate::shared::Shared;
use crate::snapshot::Settings;
use crate::texts::Texts;
use observe::digests::Table;
use observe::running::Shown;
use upstream::Dialer;
use upstream::descriptors::Purpose;
use upstream::ledger::Ledger;

pub(crate) use books::Registered;
pub(crate) use inbox::{Inbox, Message, Question};

/// What the sessions of one worker share.
#[derive(Debug)]
pub(crate) struct Worker {
    pub(crate) shared: Arc<Shared>,
    /// Connections to servers.
    pub(crate) upstream: Rc<upstream::Worker>,
    settings: RefCell<Rc<Settings>>,
    /// What its sockets share.
    pub(crate) net: Rc<net::Local>,
    /// Its number.
    index: u16,
    pub(crate) counts: Rc<Counts>,
    /// Queries that are followed for advice about caching.
    pub(crate) followed: Followed,
    /// Borrowed while a statement is judged.
    pub(crate) routing: RefCell<Routing>,
    /// Buffers for statements that run.
    pub(crate) shown: Shown,
    /// For commands that run.
    pub(crate) flights: Flights,
    pub(crate) dice: Rc<Dice>,
    /// Returns of sessions to their idle connections, up to [`RETURNS_MAX`].
    returns: Cell<u8>,
    /// Which statements the query log and the slow log get, and which become spans.
    pub(crate) samplers: [Sampler; 3],
    /// Bounds what is logged of things that may happen often.
    pub(crate) logged: Logged,
    /// Bytes in a second that a client may get, if they are limited: looked at with each answer.
    rate_to_client: Cell<Option<NonZeroU32>>,
    /// Whether statements are traced: looked at with each command.
    is_tracing: Cell<bool>,
    /// Whether tables are split over servers: looked at with each command.
    has_shards: Cell<bool>,
    /// What it knows of tables that are split over servers.
    pub(crate) shards: Catalog,
    /// The time of the last sweep, in seconds of Unix time.
    unix_s: Cell<u64>,
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
    pub(crate) kills: Semaphore,
    /// Copies of statements.
    pub(crate) mirrors: Mirrors,
    /// Which sessions have connections, as it was said last to somebody who got none.
    pub(crate) held: Asked,
    /// What sessions have prepared.
    pub(crate) texts: Texts,
    /// Who has it.
    pub(crate) ledger: Ledger,
    /// What sessions begin with.
    pub(crate) alike: Alike,
    /// What is known of tables.
    relations: Relations,
    /// What it has of the query cache.
    pub(crate) cached: Cached,
}

/// Starts a worker thread; it ends when all senders of its inbox are gone or it has drained.
pub(crate) fn spawn(
    index: u16,
    shared: Arc<Shared>,
) -> std::io::Result<(Inbox, std::thread::JoinHandle<()>)> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let sessions = Arc::new(AtomicUsize::new(0));
    let weak = sender.downgrade();
    let inbox = Inbox::new(sender, Arc::clone(&sessions));
    let runtime = move || Builder::new_current_thread().enable_all().build_local(LocalOptions::default());
    let (ready, outcome) = std::sync::mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name(format!("worker-{index}")).spawn(move || {
        let runtime = match runtime() {
            Ok(runtime) => runtime,
            Err(error) => return drop(ready.send(Err(error))),
        };
        let (dice, dialer) = (Dice::new(), Dialer::Network(Purpose::Server));
        let worker = runtime.block_on(async { Worker::new((index, dice, dialer), shared, sessions, weak) });
        let _ = ready.send(Ok(()));
        runtime.block_on(worker.run(receiver));
    })?;
    match outcome.recv() {
        Ok(outcome) => outcome.map(|()| (inbox, thread)),
        Err(_) => Err(std::io::Error::other("the worker thread ended before it was ready")),
    }
}

impl Worker {
    /// The worker with this number.
    pub(crate) fn new(
        (index, dice, dialer): (u16, Dice, Dialer),
        shared: Arc<Shared>,
        sessions: Arc<AtomicUsize>,
        inbox: mpsc::WeakUnboundedSender<Message>,
    ) -> Rc<Self> {
        let snapshot = shared.snapshot();
        let net = net::Local::new(Some(shared.keys.clone()));
        shared.siblings.add(inbox.clone());
        let share = PREPARED_BYTES_OF_ALL_MAX / usize::from(shared.upstream.workers.max(1));
        let ledger = Ledger::new(shared.statement_hash.clone());
        let worker = Rc::new_cyclic(|worker| {
            let (configuration, holders) =
                (Arc::clone(&snapshot.upstream), Box::new(Sessions(worker.clone())));
            let upstream = Arc::clone(&shared.upstream);
            let upstream = upstream::Worker::new(upstream, configuration, net, dice, dialer, holders);
            Self {
                routing: RefCell::new(Routing::new(&snapshot.routes)),
                settings: RefCell::new(Rc::new(Settings(snapshot))),
                shared,
                net: Rc::clone(&upstream.net),
                index,
                counts: Rc::clone(&upstream.counts),
                followed: Followed::default(),
                shown: Shown::default(),
                flights: Flights::default(),
                dice: Rc::clone(&upstream.dice),
                returns: Cell::new(0),
                samplers: Default::default(),
                logged: Logged::default(),
                rate_to_client: Cell::default(),
                is_tracing: Cell::default(),
                has_shards: Cell::default(),
                shards: Catalog::default(),
                unix_s: Cell::new(unix_s()),
                controls: RefCell::new(Slab::new()),
                sessions,
                drain: Cell::new(None),
                cut_off: Cell::new(false),
                due: Cell::new(Instant::now()),
                inbox,
                kills: Semaphore::new(KILLS_MAX),
                mirrors: Mirrors::default(),
                held: Asked::default(),
                texts: Texts::new(share),
                ledger,
                alike: Alike::default(),
                relations: Relations::default(),
                cached: Cached::default(),
                upstream: Rc::new(upstream),
            }
        });
        worker.configure_digests();
        worker.configure_commands();
        worker
    }

    /// Serves clients until the proxy is drained.
    pub(crate) async fn run(self: Rc<Self>, mut inbox: mpsc::UnboundedReceiver<Message>) {
        let mut sweep = interval(SWEEP_INTERVAL);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if self.is_drained() {
                return;
            }
            // In this order: what happens to a simulated worker follows from its seed.
            tokio::select! {
                biased;
                message = inbox.recv() => match message {
                    Some(Message::Client(arrival)) => self.admit(arrival),
                    Some(Message::Drain(timeout)) => self.start_drain(timeout),
                    Some(Message::Kill(seat, request)) => self.deliver(seat, request),
                    Some(Message::Ask(Question(question))) => question(&self),
                    None => return,
                },
                _ = sweep.tick() => self.sweep(),
                () = self.until_drained_or_late() => {}
            }
        }
    }

    fn admit(self: &Rc<Self>, arrival: Arrival) {
        self.counts.note(Counter::ClientsCreated);
        let registered = self.register();
        tokio::task::spawn_local(crate::client::serve(Rc::clone(self), registered, arrival));
    }

    /// Whether sessions are being ended, because the proxy stops.
    pub(crate) fn is_draining(&self) -> bool {
        self.upstream.is_draining()
    }

    /// Whether the worker can end: all sessions are gone, and nothing is being killed for them
    /// unless the time is up.
    fn is_drained(&self) -> bool {
        let Some(deadline) = self.drain.get() else { return false };
        let kills_nothing = self.kills.available_permits() == KILLS_MAX || Instant::now() >= deadline;
        kills_nothing && self.controls.borrow().is_empty()
    }

    /// Its number among the workers.
    pub(crate) const fn index(&self) -> u16 {
        self.index
    }

    /// What it has counted, and what it has to do.
    pub(crate) fn report(&self) -> Report {
        let controls = self.controls.borrow();
        let count = |is_so: fn(&Control) -> bool| {
            controls.iter().filter(|(_, control)| is_so(control)).count() as u64
        };
        let (busy, transactions) = (count(Control::is_busy), count(Control::is_in_transaction));
        let mut report = Report::new(&self.counts, busy, transactions);
        report.given_up = self.routing.borrow().hits().exhausted();
        report
    }

    /// Takes all digests away; what runs is counted anew.
    pub(crate) fn take_digests(&self) -> Table {
        self.counts.digests.take(|renew| {
            for (_, control) in self.controls.borrow().iter() {
                control.running.renew(&mut *renew);
            }
        })
    }

    /// Errors that servers answered here; with `reset` they are forgotten.
    pub(crate) fn errors(&self, reset: bool) -> Vec<ErrorRow> {
        self.counts.errors.borrow_mut().list(reset).into_iter().map(error_row).collect()
    }

    /// Whether the session that is about to return to its idle connection is the one of many that
    /// chooses a server anew.
    #[inline]
    pub(crate) fn is_time_to_choose(&self) -> bool {
        let returns = (self.returns.get() + 1) % RETURNS_MAX;
        self.returns.set(returns);
        returns == 0
    }

    /// The time, up to a second old.
    pub(crate) fn now(&self) -> Instant {
        self.upstream.now()
    }

    /// Seconds of Unix time, as they were when the worker looked at the clock last: less than two
    /// before now.
    pub(crate) const fn unix_s(&self) -> u64 {
        self.unix_s.get()
    }

    /// Milliseconds since the start.
    pub(crate) fn uptime_ms(&self) -> u64 {
        millis(self.shared.uptime())
    }

    /// Microseconds from the start to then, cut to whole ones.
    pub(crate) fn uptime_us_at(&self, then: Instant) -> u64 {
        u64::try_from(self.shared.upstream.uptime_at(then).as_micros()).unwrap_or(u64::MAX)
    }

    /// What is known of tables, with the time that goes with it.
    pub(crate) fn relations(&self) -> (&Relations, u64) {
        let about = millis(self.shared.upstream.uptime_at(self.now()));
        let version = self.shared.definitions.version();
        (&self.relations, self.relations.refresh(version, about, || self.uptime_ms()))
    }

    /// Looks at all sessions in this time at the latest.
    pub(crate) fn look_in(&self, time: Duration) {
        self.due.set(self.due.get().min(self.now() + time));
    }

    fn sweep(self: &Rc<Self>) {
        let now = Instant::now();
        self.upstream.sweep(now);
        self.texts.sweep();
        self.unix_s.set(unix_s());
        self.counts.digests.trim();
        self.shared.refusals.sum_up(now);
        if self.index == 0 {
            self.shared.cache.sweep(self.uptime_ms());
        }
        if now >= self.due.get() {
            self.due.set(self.sweep_sessions(now));
        }
    }

    /// Ends sessions that take too long. Returns when there can be others at the earliest: to look
    /// at each of thousands that wait takes longer than all else that there is to do for them.
    fn sweep_sessions(&self, now: Instant) -> Instant {
        let patience = self.settings().patience;
        let controls = self.controls.borrow();
        let ends = controls.iter().filter_map(|(_, control)| control.sweep(now, &patience));
        ends.chain(patience.end(now)).fold(now + SESSIONS_LOOK, Instant::min)
    }

    pub(crate) fn start_drain(self: &Rc<Self>, timeout: Duration) {
        self.upstream.drain();
        self.drain.set(Some(Instant::now() + timeout));
        self.signal_all(Signal::Drain);
    }

    /// Waits, while draining, for the last session to end or for the deadline, which ends them all.
    async fn until_drained_or_late(&self) {
        /// How often the end of the last session is looked for while draining.
        const LOOK: Duration = Duration::from_millis(10);
        let Some(deadline) = self.drain.get() else { return std::future::pending().await };
        if Instant::now() >= deadline {
            let sessions = self.controls.borrow().len();
            if !self.cut_off.replace(true) && sessions > 0 {
                tracing::warn!(sessions, "drain_timeout_ms is over: what is left is cut off");
            }
            self.signal_all(Signal::Stop);
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
