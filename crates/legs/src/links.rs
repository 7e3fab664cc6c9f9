//! The connections to servers that a session has a claim on: at most one in each hostgroup.
//!
//! One is in use. Others are bound to the session, and wait until its statements go to their
//! hostgroup again. Idle ones are on the worker's shelf, where other sessions may take them; the
//! session has a ticket, with which it takes its own back if it is still there.

use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use front::ending::Ending;
use net::relay::Parked;
use pool::{Off, Server, ShelfTicket};
use runtime::invariant::in_use_mut;
use session::link::LinkState;
use upstream::{Ahead, Asker, Backend, Connection, Expected, Left, PoolKey, Target, part};
use wire::reply::Answer;
use wire::{Capabilities, Peer};

use crate::pipelined::Pipelined;
use crate::shards::role::Role;
use crate::state::SessionState;

/// The connections of one session. What a command over the connection in use does not need is in a
/// box: most clients wait.
#[derive(Debug)]
pub struct Links {
    /// The connection in use.
    pub in_use: Option<Backend>,
    /// Bytes that it has not taken yet.
    pub unsent: Parked,
    /// The commands behind the one whose reply is relayed.
    pub pipelined: Pipelined,
    /// The others.
    pub away: Box<Away>,
}

/// The connections that are not in use.
#[derive(Debug)]
pub struct Away {
    /// Those that other sessions cannot have.
    pub others: Vec<Backend>,
    /// Those that other sessions may have until this one needs them again.
    pub(crate) idle: Vec<Idle>,
    /// The sessions that they are good for.
    key: Rc<PoolKey>,
    /// A server has let the session in.
    pub is_admitted: bool,
    /// Its part in statements over sharded tables: connections to shards are those of inner
    /// sessions.
    pub role: Role,
}

/// A connection that other sessions may have until the session needs it again.
#[derive(Debug)]
pub(crate) struct Idle {
    pub(crate) ticket: ShelfTicket,
    pub(crate) hostgroup: u32,
}

impl Links {
    pub(crate) fn new(key: Rc<PoolKey>, in_use: Option<Backend>) -> Self {
        let is_admitted = in_use.is_some();
        Self {
            in_use,
            unsent: Parked::default(),
            pipelined: Pipelined::default(),
            away: Box::new(Away {
                others: Vec::new(),
                idle: Vec::new(),
                key,
                is_admitted,
                role: Role::default(),
            }),
        }
    }

    /// The connection in use.
    pub fn connection(&self) -> Option<&Connection> {
        self.in_use.as_ref().map(|backend| backend.connection())
    }

    /// The same, to be changed.
    pub fn connection_mut(&mut self) -> Option<&mut Connection> {
        self.in_use.as_mut().map(|backend| backend.connection_mut())
    }

    /// What the connection in use carries for the session.
    pub fn state(&self) -> Option<&LinkState> {
        self.connection().map(Connection::state)
    }

    /// The same, to be changed.
    pub fn state_mut(&mut self) -> Option<&mut LinkState> {
        self.connection_mut().map(Connection::state_mut)
    }

    /// Version of the session's settings that the connection in use has.
    pub(crate) fn applied(&self) -> u64 {
        self.state().map_or(0, |link| link.applied)
    }

    /// The connection in use has the settings of this version.
    pub(crate) fn set_applied(&mut self, version: u64) {
        if let Some(link) = self.state_mut() {
            link.applied = version;
        }
    }

    /// The server of the connection in use.
    pub(crate) fn server(&self) -> Option<&Arc<Server<Target>>> {
        self.in_use.as_ref().map(|backend| backend.server())
    }

    /// Why nothing more is to be sent over the connection in use, if its server is off.
    pub(crate) fn off(&self) -> Option<Off> {
        self.server().and_then(|server| server.off())
    }

    /// Whether there is no connection that only this session may use.
    pub const fn is_empty(&self) -> bool {
        self.in_use.is_none() && self.away.others.is_empty()
    }

    /// The hostgroup of another connection in whose transaction the session is.
    pub fn open_elsewhere(&self) -> Option<u32> {
        let mut others = self.away.others.iter();
        let open = others.find(|other| other.connection().state().in_transaction());
        open.map(|other| other.server().hostgroup())
    }

    /// Whether one that is not in use, and that no other session can have, is to this hostgroup.
    pub(crate) fn has_other(&self, hostgroup: u32) -> bool {
        self.away.others.iter().any(|other| other.server().hostgroup() == hostgroup)
    }

    /// Takes that connection out.
    pub(crate) fn take_other(&mut self, hostgroup: u32) -> Option<Backend> {
        let at = self.away.others.iter().position(|other| other.server().hostgroup() == hostgroup)?;
        Some(self.away.others.swap_remove(at))
    }

    /// The idle connection to this hostgroup, and its place in the list.
    pub(crate) fn idle_at(&self, hostgroup: u32) -> Option<(usize, ShelfTicket)> {
        let mut idle = self.away.idle.iter().enumerate();
        idle.find(|(_, idle)| idle.hostgroup == hostgroup).map(|(at, idle)| (at, idle.ticket))
    }

    pub(crate) fn is_mariadb(&self) -> bool {
        self.connection().is_some_and(Connection::is_mariadb)
    }

    /// Whether setup commands go out in front of the next command, or are not all answered.
    pub fn has_setup(&self) -> bool {
        self.connection().is_some_and(Connection::has_setup)
    }

    /// Whether others have sent statements over the connection in use already.
    pub fn is_promised(&self) -> bool {
        self.connection().is_some_and(Connection::is_promised)
    }

    /// Whether the connection in use was taken over with a command that was sent already.
    pub fn is_awaited(&self) -> bool {
        self.connection().is_some_and(Connection::is_awaited)
    }

    /// Whether the server has warnings of what the proxy has said there.
    pub fn has_own_warnings(&self) -> bool {
        self.connection().is_some_and(|link| link.own_warnings)
    }

    /// The server owes the client this reply to a command that is about to be sent; `stops` says
    /// whether trackers in it are looked at.
    pub fn expect_reply(&mut self, answer: Answer, stops: bool, caps: Capabilities) {
        if let Some(link) = self.connection_mut() {
            link.expect(Expected::of_client(answer, stops), caps);
        }
    }

    /// Sends bytes over the connection in use. What it does not take is kept.
    pub fn send(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Result<(), Ending> {
        let backend = in_use_mut(&mut self.in_use)?;
        // A backend that cannot be written to may still have said why: reading its answer will
        // tell.
        if self.unsent.send(cx, backend.connection_mut().sock_mut(), bytes).is_err() {
            tracing::debug!(server = %backend.server().endpoint(), "a server does not take commands any more");
        }
        Ok(())
    }

    /// Whether the connection in use has taken all that was sent.
    pub fn is_sent(&self) -> bool {
        self.connection().is_none_or(|link| self.unsent.is_sent(link.sock()))
    }

    /// Waits until it has.
    pub(crate) async fn flush(&mut self) -> Result<(), &'static str> {
        poll_fn(|cx| {
            let Some(backend) = &mut self.in_use else { return Poll::Ready(Err("the connection is gone")) };
            self.unsent
                .poll_flush(cx, backend.connection_mut().sock_mut())
                .map_err(|_| "the connection is gone")
        })
        .await
    }

    /// Whether the connection in use has all that was sent, and is as the session would have it. If
    /// its server did not have a setting, it must not be taken for one that has.
    pub(crate) fn is_as_it_seems(&self, state: &SessionState) -> bool {
        let is_fit = |backend: &Backend| {
            let link = backend.connection();
            link.state().applied == state.version()
                && !backend.server().is_off()
                && self.unsent.is_sent(link.sock())
                && link.is_free()
        };
        self.in_use.as_ref().is_some_and(is_fit)
    }

    /// Makes a connection idle that nothing binds to the session. False if it is not the session's
    /// any more.
    pub(crate) fn make_idle(
        &mut self,
        worker: &Rc<upstream::Worker>,
        peer: Peer,
        state: &SessionState,
        backend: Backend,
    ) -> bool {
        let hostgroup = backend.server().hostgroup();
        let left = left(state, backend.connection().serial());
        let ticket = worker.kept.make_idle(worker, hostgroup, &self.away.key, peer, backend, left);
        if let Some(ticket) = ticket {
            // Nearly always it is the only one.
            self.away.idle.reserve_exact(1);
            self.away.idle.push(Idle { ticket, hostgroup });
        }
        ticket.is_some()
    }

    /// The session as one that looks for a connection that others made idle.
    pub fn asker<'a>(&'a self, state: &'a SessionState, ahead: Ahead) -> Asker<'a> {
        Asker {
            identity: &state.identity,
            pool_key: &self.away.key,
            caller: &state.caller,
            settings: state.shared_settings(),
            was_reset: state.was_reset(),
            is_admitted: self.away.is_admitted,
            status: state.status,
            ahead,
        }
    }

    /// Takes the idle connection to this hostgroup back, if there is one, for use. Nothing if there
    /// is none; false if another session has it, or it is gone.
    pub(crate) fn take_back(&mut self, worker: &Rc<upstream::Worker>, hostgroup: u32) -> Option<bool> {
        let (at, ticket) = self.idle_at(hostgroup)?;
        self.away.idle.swap_remove(at);
        self.in_use = worker.kept.take_back(worker, ticket);
        Some(self.in_use.is_some())
    }

    /// Forgets the connection in use, and what it has not taken.
    pub fn drop_in_use(&mut self) {
        (self.in_use, self.unsent) = (None, Parked::default());
    }

    /// Says goodbye to the servers whose connections are not in use, and closes them.
    pub fn part_with_others(&mut self) {
        for other in std::mem::take(&mut self.away.others) {
            part(other);
        }
    }

    /// The session is another one from now on: no connection but this one is good for it.
    pub fn begin_anew(&mut self, key: Rc<PoolKey>, in_use: Option<Backend>) {
        self.away.idle.clear();
        (self.away.key, self.away.is_admitted) = (key, in_use.is_some());
        self.in_use = in_use;
    }
}

/// What the session leaves on the connection with this number.
fn left(state: &SessionState, connection: u64) -> Left {
    let results = &state.last.results;
    Left {
        caller: Arc::clone(&state.caller),
        settings: Rc::clone(state.shared_settings()),
        was_reset: state.was_reset(),
        asks: results.last_id().is_at(connection),
        results: Rc::clone(results),
        asking: None,
    }
}
