//! What binds a session to its connections, and what it would lose with one.

use route::Hold;
use session::link::{LinkState, Loss};
use session::state::{Mark, Pin, Pins};
use session::unjudged::{CODE, Calls};
use upstream::{Backend, Kept};
use wire::StatusFlags;

use crate::links::Links;
use crate::state::{Past, SessionState};

impl SessionState {
    /// What the session loses with this connection, if it is not a replica's.
    pub(crate) fn loss_of(&self, backend: &Backend) -> Loss {
        let link = backend.connection().state();
        match link.pins.missed().or_else(|| self.statement_bound_to(backend)) {
            Some(pin) => Loss::Session(pin),
            None if link.in_transaction() => Loss::Transaction,
            None => Loss::Nothing,
        }
    }

    /// What binds the session to this connection, so that no other may have it.
    pub(crate) fn pin_of(&self, backend: &Backend) -> Option<Pin> {
        let link = backend.connection().state();
        if link.in_transaction() {
            return Some(Pin::Transaction);
        }
        link.pins.first().or_else(|| self.statement_bound_to(backend))
    }

    fn statement_bound_to(&self, backend: &Backend) -> Option<Pin> {
        let hostgroup = backend.server().hostgroup();
        let is_bound = self.prepared.as_ref().is_some_and(|all| all.is_bound_to(hostgroup, self.modes()));
        is_bound.then_some(Pin::Statement)
    }
}

impl Links {
    /// What the session loses with the connection in use.
    pub fn loss(&self, state: &SessionState) -> Loss {
        if state.past.contains(Past::REPLICA) {
            return Loss::Session(Pin::Replica);
        }
        self.in_use.as_ref().map_or(Loss::Nothing, |backend| state.loss_of(backend))
    }

    /// What binds the session to the connection in use.
    pub fn pin(&self, state: &SessionState) -> Option<Pin> {
        if state.past.contains(Past::REPLICA) {
            return Some(Pin::Replica);
        }
        self.in_use.as_ref().and_then(|backend| state.pin_of(backend))
    }

    /// The connections that others cannot have.
    pub(crate) fn bound(&self) -> impl Iterator<Item = &Backend> {
        self.in_use.iter().chain(&self.away.others)
    }

    /// What the one to this hostgroup carries, if there is one.
    pub(crate) fn at(&self, hostgroup: u32) -> Option<&LinkState> {
        let one = self.bound().find(|backend| backend.server().hostgroup() == hostgroup)?;
        Some(one.connection().state())
    }

    /// Has `read` look at what the connection to this hostgroup carries, if there is one: an idle
    /// one, too, while no other session has it.
    pub fn look_at<T>(&self, kept: &Kept, hostgroup: u32, read: impl FnOnce(Option<&LinkState>) -> T) -> T {
        match (self.at(hostgroup), self.idle_at(hostgroup)) {
            (None, Some((_, ticket))) => {
                kept.with(ticket, |backend| read(backend.map(|backend| backend.connection().state())))
            }
            (bound, _) => read(bound),
        }
    }

    /// The pins at each of them, and its hostgroup.
    pub fn pins(&self) -> impl Iterator<Item = (&Pins, u32)> {
        self.bound().map(|backend| (&backend.connection().state().pins, backend.server().hostgroup()))
    }

    /// Whether there are no pins.
    pub fn is_unpinned(&self) -> bool {
        self.pins().all(|(pins, _)| pins.is_empty())
    }

    /// Whether there are pins of these kinds.
    pub fn has_pins(&self, kinds: &[Pin]) -> bool {
        self.pins().any(|(pins, _)| pins.has_any(kinds))
    }

    /// Nothing that stored code has left binds the session to the connection in use any more.
    pub(crate) fn end_pins_of_code(&mut self) {
        if let Some(link) = self.state_mut() {
            for pin in CODE {
                link.pins.note(Mark::EndAll(pin));
            }
        }
    }

    /// The session has written: what it has waited for at other servers is older than that.
    pub fn end_waiting(&mut self) {
        for other in &mut self.away.others {
            other.connection_mut().state_mut().pins.note(Mark::EndAll(Pin::Waited));
        }
    }

    /// Whether the connection in use has pins, and none but of these kinds.
    pub(crate) fn has_only_pins(&self, pins: &[Pin]) -> bool {
        self.connection().is_some_and(|link| link.state().pins.holds_only(pins))
    }

    /// Whether what the server of the connection in use has to say is about the session's
    /// statements.
    pub fn has_warnings(&self) -> bool {
        self.connection().is_some_and(|link| link.state().pins.holds(Pin::Warnings))
    }

    /// What the session is in the middle of.
    pub fn session(&self, state: &SessionState) -> route::Session {
        let is_replica = state.past.contains(Past::REPLICA);
        route::Session {
            transaction: if state.in_transaction() { Some(state.here) } else { self.open_elsewhere() },
            autocommit: state.status.contains(StatusFlags::AUTOCOMMIT),
            locked_on: self.lock().map(|(_, hostgroup)| hostgroup).or(is_replica.then_some(state.here)),
            hold: self.hold(),
            last_hostgroup: state.last.hostgroup,
        }
    }

    /// A statement leaves this over the connection in use, and calls these routines.
    pub fn note_left(&mut self, state: &mut SessionState, marks: Vec<Mark>, calls: Option<Box<Calls>>) {
        if let Some(link) = self.state_mut() {
            state.note_calling(marks, calls, link);
        }
    }

    /// Why the session cannot leave a hostgroup, and which.
    pub fn lock(&self) -> Option<(Pin, u32)> {
        self.pins().find_map(|(pins, hostgroup)| Some((pins.lock()?, hostgroup)))
    }

    /// What keeps reads where the session is, and where that is.
    pub(crate) fn hold(&self) -> Option<(Hold, u32)> {
        self.pins().find_map(|(pins, hostgroup)| Some((pins.hold()?, hostgroup)))
    }
}
