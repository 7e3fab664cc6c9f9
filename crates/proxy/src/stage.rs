//! A data plane for tests: one worker on the calling thread, clients and servers made of memory.
//!
//! To be used inside a `tokio::runtime::LocalRuntime` or `LocalSet`, best with paused time: then
//! every deadline is exact and nothing waits for real.

#![expect(clippy::panic, reason = "a harness of tests: what is wrong in a script ends it")]

use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use config::{Config, Endpoint, Listener, Role};
use pool::Usage;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use wire::proxy_header::Addresses;

use crate::client::serve;
use crate::counts::{fingerprints, report};
use crate::keys::Keys;
use crate::memory::{End, pair};
use crate::proxy::listed;
use crate::sock::Sock;
use crate::tls::Tls;
use front::{Arrival, ClientInbox as _, Guest, Stream};
use net::random::Dice;
use observe::digests::report::Sums;
use observe::plane::NotApplied;
use observe::rows::{
    AuroraCheckStats, AuroraFailover, Census, CheckStats, ClientHost, DigestStats, ErrorStats,
    FreeConnection, GtidStats, HostgroupTimes, InjectionStats, ServerEvent, ServerStats, SessionStats,
    StatementStats, Times,
};
use runtime::routing::Routing;
use runtime::shared::Shared;
use runtime::worker::{Inbox, Message, Worker};
use upstream::Dialer;
use upstream::ledger::Slice;
use upstream::ledger::report::{list, sums};
use wire::Peer;

/// One worker, without threads or sockets.
#[derive(Debug)]
pub struct Stage {
    shared: Arc<Shared>,
    inbox: Inbox,
    worker: Rc<Worker>,
}

impl Stage {
    /// A worker that dials servers with `dial`.
    pub fn new(config: Config, dial: impl Fn(&Endpoint) -> io::Result<End> + 'static) -> Self {
        Self::rolling(config, Dice::new(), dial)
    }

    /// The same, with choices among servers that follow from `seed`.
    pub fn seeded(seed: u64, config: Config, dial: impl Fn(&Endpoint) -> io::Result<End> + 'static) -> Self {
        Self::rolling(config, Dice::seeded(seed), dial)
    }

    fn rolling(config: Config, dice: Dice, dial: impl Fn(&Endpoint) -> io::Result<End> + 'static) -> Self {
        let config = Arc::new(config);
        let tls = Tls::new(&config).unwrap_or_else(|error| panic!("{error}"));
        let shared = Shared::new(&config, Keys::new(&Handle::current()), tls);
        let shared = Arc::new(shared.unwrap_or_else(|errors| panic!("{}", listed(&errors))));
        let (sender, receiver) = mpsc::unbounded_channel();
        let sessions = Arc::new(AtomicUsize::new(0));
        let weak = sender.downgrade();
        let inbox = Inbox::new(sender, Arc::clone(&sessions));
        let dialer = Dialer::Scripted(Box::new(move |endpoint| dial(endpoint).map(Sock::from)));
        let worker = Worker::new((0, dice, dialer), Arc::clone(&shared), sessions, weak);
        let flights = Rc::default();
        let serving = move |registered, arrival| serve(Rc::clone(&flights), registered, arrival);
        tokio::task::spawn_local(Rc::clone(&worker).run(receiver, serving));
        Self { shared, inbox, worker }
    }

    /// A client that has just connected; `None` if there are too many.
    pub fn client(&self, capacity: usize) -> Option<End> {
        self.connect(Peer::Local, Listener::default(), capacity)
    }

    /// The same with a client that comes over TCP, `from` and `to` these addresses.
    pub fn client_from(&self, from: SocketAddr, to: SocketAddr, capacity: usize) -> Option<End> {
        self.connect(Peer::Tcp(Addresses::new(from, to)), Listener::default(), capacity)
    }

    /// A client of a layer-4 listener.
    pub fn tunnel(&self, hostgroup: u32, capacity: usize) -> Option<End> {
        let listener = Listener { role: Role::Tcp, hostgroup: Some(hostgroup), ..Listener::default() };
        self.connect(Peer::Local, listener, capacity)
    }

    /// A client of this listener, whatever its address.
    pub fn client_of(&self, listener: &Listener, capacity: usize) -> Option<End> {
        self.connect(Peer::Local, listener.clone(), capacity)
    }

    fn connect(&self, peer: Peer, listener: Listener, capacity: usize) -> Option<End> {
        let Some(place) = self.shared.front.clients.take() else {
            self.shared.front.note_refused();
            return None;
        };
        let slots = (place, None);
        let (ours, theirs) = pair(capacity);
        let stream = Stream::Memory(ours);
        let arrival =
            Arrival { stream, guest: Box::new(Guest { peer, listener: Arc::new(listener), slots }) };
        self.inbox.send(Message::Client(arrival));
        Some(theirs)
    }

    /// Begins to watch the servers.
    pub fn watch(&self) {
        tokio::task::spawn_local(watch::run(
            Rc::clone(&self.worker.upstream),
            Arc::clone(&self.shared.watching),
            Arc::clone(&self.shared.cache),
        ));
    }

    /// Ends watching them for good, as a proxy does that has drained.
    pub fn stop_watching(&self) {
        self.shared.watching.stop();
    }

    /// What servers have executed.
    pub fn gtids(&self) -> Vec<GtidStats> {
        self.shared.watching.executed.rows()
    }

    /// What has changed of servers.
    pub fn server_events(&self) -> Vec<ServerEvent> {
        self.shared.watching.records.events()
    }

    /// Checks of the servers of Aurora clusters, and changes of their writers.
    pub fn aurora(&self) -> (Vec<AuroraCheckStats>, Vec<AuroraFailover>) {
        let aurora = net::lock(&self.shared.watching.records.aurora);
        (aurora.checks(), aurora.failovers())
    }

    /// What came of checks.
    pub fn checks(&self, check: monitor::Check) -> Vec<CheckStats> {
        self.shared.watching.records.checks(check)
    }

    /// Uses another configuration from now on, as [`Remote`](crate::Remote) makes workers do.
    pub fn apply(&self, config: Config) -> Result<(), NotApplied> {
        let prepared = self.shared.prepare(&Arc::new(config))?;
        let (snapshot, _) = self.shared.commit(prepared);
        self.worker.configure(Arc::clone(&snapshot), Some(Routing::new(&snapshot.routes)));
        Ok(())
    }

    /// A value of `stats_mysql_global`.
    pub fn global(&self, name: &str) -> u64 {
        let rows = self.shared.globals(&[self.worker.report()], sums(|from| self.slices(from, false)), false);
        let row = rows.into_iter().find(|row| row.0 == name);
        row.unwrap_or_else(|| panic!("there is no counter {name}")).1
    }

    /// What sessions and servers have prepared.
    pub fn statements(&self) -> Vec<StatementStats> {
        list(|from| self.slices(from, true))
    }

    fn slices(&self, from: u64, with_texts: bool) -> Vec<Slice> {
        vec![self.worker.ledger.slice(from, with_texts)]
    }

    /// The servers; with `reset` their counters begin again at 0.
    pub fn servers(&self, reset: bool) -> Vec<ServerStats> {
        report::servers(&self.shared.upstream.pool, &[self.worker.counts.by_server(reset)], reset)
    }

    /// For how many servers something is counted, also of those that the pool has forgotten.
    pub fn servers_counted(&self) -> usize {
        self.worker.counts.by_server(false).len()
    }

    /// The connections to servers that no session uses at the moment.
    pub fn free_connections(&self) -> Vec<FreeConnection> {
        self.worker.upstream.kept.list()
    }

    /// Stops the test if what must always hold of free connections does not.
    pub fn check_invariants(&self) {
        self.worker.upstream.kept.check_invariants();
    }

    /// The sessions.
    pub fn processes(&self) -> Vec<SessionStats> {
        self.worker.sessions()
    }

    /// Statements that are counted as this one of ProxySQL's commands.
    pub fn command(&self, name: &str) -> Times {
        let commands = self.worker.counts.commands.counts();
        let command = commands.into_iter().find(|counts| counts.command == name);
        command.unwrap_or_else(|| panic!("there is no such command")).times
    }

    /// Statements by digest, which are forgotten.
    pub fn take_digests(&self) -> Vec<DigestStats> {
        let mut sums = Sums::default();
        sums.add_table(&self.worker.take_digests(), true);
        sums.finish()
    }

    /// Times of statements and waits by hostgroup.
    pub fn hostgroup_times(&self) -> Vec<HostgroupTimes> {
        self.worker.counts.hostgroups.times()
    }

    /// How many sessions there are, by state and by pin.
    pub fn census(&self) -> Census {
        self.worker.census()
    }

    /// What the query cache has done, over all rules and digests.
    pub fn cache(&self) -> cache::stats::Row {
        self.worker.counts.cache.borrow().totals()
    }

    /// Errors that servers have answered; with `reset` they are forgotten.
    pub fn errors(&self, reset: bool) -> Vec<ErrorStats> {
        report::errors(&self.shared.upstream.pool, vec![self.worker.errors(reset)])
    }

    /// Statements that looked like injected SQL, by fingerprint.
    pub fn injections(&self) -> Vec<InjectionStats> {
        fingerprints::sum([self.worker.counts.fingerprints.list()])
    }

    /// Addresses whose connections have failed.
    pub fn client_hosts(&self) -> Vec<ClientHost> {
        self.shared.front.hosts.list(false)
    }

    /// Ends the session with this connection id, as [`Remote`](crate::Remote) does.
    pub fn kill(&self, id: u32) -> bool {
        self.shared.directory.kill_any(id)
    }

    /// Begins to drain, as SIGTERM does.
    pub fn drain(&self) {
        self.inbox.send(Message::Drain(self.shared.snapshot().config().pointsman.drain_timeout));
    }

    /// Sessions that are open or being opened.
    pub fn sessions(&self) -> usize {
        self.inbox.sessions()
    }

    /// How a hostgroup is used.
    pub fn usage(&self, hostgroup: u32) -> Usage {
        self.shared.upstream.pool.usage(hostgroup)
    }
}
