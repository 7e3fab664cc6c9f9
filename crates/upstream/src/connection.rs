//! A connection to a server, and the id that the server knows it by.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use config::Endpoint;
use net::relay::Parked;
use net::sock::Sock;
use observe::counts::ServerTally;
use pool::{Quota, Server, Share, ShelfHint};
use session::link::LinkState;
use sql::Dialect;
use tokio::time::Instant;
use wire::Capabilities;

use crate::Target;
use crate::Worker;
use crate::batch::Batch;
use crate::defaults::Defaults;
use crate::login_state::LoginState;
use crate::pipeline::Pipeline;
use crate::setup::Setup;
use crate::statements::Statements;
use crate::threads::Thread;

mod replies;

/// A connection to a server. Used like the socket that it is.
#[derive(Debug)]
pub struct Connection {
    sock: Sock,
    /// This end's address, asked for once: each session that borrows the connection shows it.
    local: Option<Rc<SocketAddr>>,
    /// The number of the time for which one session has it; 0 if it is none that sessions have.
    serial: u64,
    /// The server's id of it; `None` at layer 4, where the proxy does not read the greeting.
    thread_id: Option<u32>,
    /// Its place in the book of threads, while a session has it.
    thread: Option<Thread>,
    opened: Instant,
    /// The version of the worker's configuration that it was opened under; 0 if that was not set.
    pub version: u64,
    /// How often its server had changed what it takes over new connections when it was opened.
    pub(crate) packet_limit: u32,
    /// Counts of its server; `None` for the proxy's own connections, which are not counted.
    tally: Option<Rc<ServerTally>>,
    /// Whether it counts among those that run something. A server runs the statements of one
    /// connection one by one.
    running: Cell<bool>,
    /// Whether it counts as idle.
    resting: Cell<bool>,
    /// The list of idle connections in which it was last.
    list: ShelfHint,
    /// What `LAST_INSERT_ID()` is there, if that is known.
    pub last_id: Option<u64>,
    /// Whether what the proxy has said there has left warnings, which are about no statement of a
    /// client: at MariaDB they outlive statements without tables.
    pub own_warnings: bool,
    /// What its server gives sessions at their beginning.
    pub defaults: Defaults,
    /// Replies that its server still owes.
    pub pipeline: Pipeline,
    /// What it carries for the session that has it.
    state: LinkState,
    /// What is kept of what its server has said.
    known: Known,
}

/// What is known of the other end.
#[derive(Debug, Default)]
struct Known {
    /// What its server has said in its greeting, for another login.
    greeted: Option<Greeted>,
    statements: Statements,
    /// Its place among its user's connections.
    share: Option<Share>,
    /// A random number, by which it ends at another time than others that were opened with it.
    draw: u64,
    /// What was read behind a reply: it belongs to the next ones.
    read_ahead: Parked,
    /// Commands in front of the next one, or that were sent and are not all answered.
    setup: Option<Box<Setup>>,
    /// What is known of logins over it; nothing before it changes hands for the first time.
    login_state: Option<Box<LoginState>>,
    /// The sessions that get it behind the one that has it.
    batch: Option<Box<Batch>>,
}

/// What another login needs of the first one.
#[derive(Debug, Clone)]
pub(crate) struct Greeted {
    /// What both sides have agreed on.
    pub(crate) capabilities: Capabilities,
    pub(crate) plugin: Box<[u8]>,
    pub(crate) nonce: [u8; 20],
    /// Which statements in comments it executes, as far as its version tells.
    pub(crate) dialect: Option<Dialect>,
    /// The server is a proxy that tells the ages of answers from its cache.
    pub(crate) tells_ages: bool,
}

impl Connection {
    /// A connection that has logged in; `thread` is its place among the server's threads.
    pub(crate) fn new(sock: Sock, thread: Thread, greeted: Greeted) -> Self {
        let mut connection = Self::from(sock);
        (connection.thread_id, connection.thread) = (Some(thread.id()), Some(thread));
        (connection.known.greeted, connection.last_id) = (Some(greeted), Some(0));
        connection
    }

    /// This end's address; nothing where it is no TCP socket.
    pub fn local(&self) -> Option<&Rc<SocketAddr>> {
        self.local.as_ref()
    }

    /// What its server has said in its greeting; nothing at layer 4.
    pub(crate) fn greeted(&self) -> Option<&Greeted> {
        self.known.greeted.as_ref()
    }

    /// Which statements in comments its server executes, as far as its version tells.
    pub fn dialect(&self) -> Option<Dialect> {
        self.greeted().and_then(|greeted| greeted.dialect)
    }

    /// Whether its server is a proxy that tells the ages of answers from its cache.
    pub fn tells_ages(&self) -> bool {
        self.greeted().is_some_and(|greeted| greeted.tells_ages)
    }

    /// Its server has said that it is such a proxy.
    pub(crate) fn set_tells_ages(&mut self) {
        if let Some(greeted) = &mut self.known.greeted {
            greeted.tells_ages = true;
        }
    }

    /// Whether its server is known to be MariaDB.
    pub fn is_mariadb(&self) -> bool {
        self.dialect().is_some_and(Dialect::is_mariadb)
    }

    /// The statements that are prepared there.
    pub const fn statements(&self) -> &Statements {
        &self.known.statements
    }

    /// The same, to be changed.
    pub const fn statements_mut(&mut self) -> &mut Statements {
        &mut self.known.statements
    }

    /// It was reset: all statements are gone there, and no key was generated since.
    pub fn note_reset(&mut self) {
        self.known.statements.clear();
        self.state.places.clear();
        self.last_id = Some(0);
        self.defaults.note_reset();
    }

    /// It is one of its user's, which are counted.
    pub(crate) fn set_share(&mut self, share: Option<Share>) {
        self.known.share = share;
    }

    /// What counts the connections of its user.
    pub(crate) fn quota(&self) -> Option<&Arc<Quota>> {
        self.known.share.as_ref().map(Share::quota)
    }

    /// Whether it is one of these.
    pub(crate) fn is_one_of(&self, quota: &Arc<Quota>) -> bool {
        self.quota().is_some_and(|own| Arc::ptr_eq(own, quota))
    }

    /// The random number that was drawn when it was opened.
    pub(crate) fn draw(&self) -> u64 {
        self.known.draw
    }

    /// What it carries for the session that has it.
    pub const fn state(&self) -> &LinkState {
        &self.state
    }

    /// The same, to be changed.
    pub const fn state_mut(&mut self) -> &mut LinkState {
        &mut self.state
    }

    /// When it was opened.
    pub const fn opened(&self) -> Instant {
        self.opened
    }

    /// What is known of logins over it.
    pub(crate) fn login_state(&self) -> Option<&LoginState> {
        self.known.login_state.as_deref()
    }

    /// The same, to be changed.
    pub(crate) fn login_state_mut(&mut self) -> &mut LoginState {
        self.known.login_state.get_or_insert_default()
    }

    /// Its socket. What is read there directly passes by what was read ahead.
    pub const fn sock(&self) -> &Sock {
        &self.sock
    }

    /// The same, to be used.
    pub const fn sock_mut(&mut self) -> &mut Sock {
        &mut self.sock
    }

    /// The list of idle connections in which it was last.
    pub(crate) const fn list(&self) -> &ShelfHint {
        &self.list
    }

    /// Counts it as idle from now on, or no longer.
    pub(crate) fn set_resting(&self, resting: bool) {
        if let Some(tally) = self.tally.as_ref().filter(|_| self.resting.replace(resting) != resting) {
            if resting { tally.resting.add(1) } else { tally.resting.subtract(1) }
        }
    }

    /// No session has it any more.
    pub(crate) fn leave(&mut self) {
        self.note_answered();
        self.thread = None;
    }

    /// Another session has it, with this id; its server is `endpoint`.
    pub(crate) fn join(&mut self, worker: &Worker, endpoint: &Endpoint, session: u32) {
        self.serial = worker.next_serial();
        match &self.thread {
            Some(thread) => thread.pass_to(session),
            None => {
                self.thread = self.thread_id.map(|id| worker.shared.threads.enter(endpoint, id, session));
            }
        }
    }

    /// The number of the time for which one session has it: no other connection of the worker has
    /// it, nor this one before or after.
    pub const fn serial(&self) -> u64 {
        self.serial
    }

    /// Counts from now on what is sent to this server, and what comes back.
    pub(crate) fn count_for(&mut self, worker: &Worker, server: &Server<Target>) {
        self.serial = worker.next_serial();
        self.known.draw = worker.dice.roll();
        self.packet_limit = server.endpoint().packet_limit();
        let tally = worker.counts.server(server.id(), || (server.gauge(), server.resting_gauge()));
        self.sock.count_in(Rc::clone(&tally.flow));
        self.tally = Some(tally);
    }

    /// Counts a statement that is sent.
    pub fn note_query(&self) {
        if let Some(tally) = &self.tally {
            tally.queries.set(tally.queries.get() + 1);
            if !self.running.replace(true) {
                tally.running.add(1);
            }
        }
    }

    /// The next statement must see a transaction, and goes to this server.
    pub fn note_synced(&self) {
        if let Some(tally) = &self.tally {
            tally.synced.set(tally.synced.get() + 1);
        }
    }

    /// The server has answered all that was sent.
    pub fn note_answered(&self) {
        if let Some(tally) = self.tally.as_ref().filter(|_| self.running.replace(false)) {
            tally.running.subtract(1);
        }
    }

    /// What the server calls the connection, as in its `KILL`.
    pub fn thread_id(&self) -> Option<u32> {
        self.thread.as_ref().map(Thread::id)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.note_answered();
        self.set_resting(false);
    }
}

impl From<Sock> for Connection {
    /// A connection of which nothing is known.
    fn from(sock: Sock) -> Self {
        Self {
            local: sock.local_addr().map(Rc::new),
            sock,
            serial: 0,
            thread_id: None,
            thread: None,
            opened: Instant::now(),
            version: 0,
            packet_limit: 0,
            tally: None,
            running: Cell::new(false),
            resting: Cell::new(false),
            list: ShelfHint::default(),
            last_id: None,
            own_warnings: false,
            defaults: Defaults::default(),
            pipeline: Pipeline::default(),
            state: LinkState::default(),
            known: Known::default(),
        }
    }
}
