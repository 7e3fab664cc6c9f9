//! Between two statements: connections that nothing binds to the session become idle, where
//! another session may get them, and are taken back with the next command if they are still there.

use super::Session;
use super::facts::places::shares;
use super::state::SessionState;
use crate::control::Control;
use crate::limits::SWEEP_INTERVAL;
use crate::state::Pin;
use upstream::{Backend, part};

impl Session {
    /// The session waits for its client: what is not bound to it may be used by others.
    pub(super) fn make_idle(&mut self) {
        let goes_on = !self.io.backlog.is_empty() && !self.links.is_promised();
        self.idle_unless(goes_on);
    }

    /// The session waits for other sessions before its command is sent. They may need the
    /// connection to come to their end.
    pub(super) fn release_to_wait(&mut self) {
        self.idle_unless(false);
    }

    /// The same, unless the session `goes_on` at once.
    fn idle_unless(&mut self, goes_on: bool) {
        let is_awaited = |backend: &Backend| backend.connection().is_awaited();
        if self.links.in_use.as_ref().is_none_or(is_awaited) || self.flight.decided.is_some() {
            return;
        }
        self.links.note_ran(&mut self.state);
        let hostgroup = self.state.here;
        if !self.links.away.others.is_empty() {
            self.make_others_idle();
        }
        let may_be_hit = self.links.connection().is_some_and(|link| link.state().may_be_hit);
        if !shares(&self.worker, &self.control, &self.state, hostgroup)
            || may_be_hit && self.links.is_promised()
        {
            return self.break_promise();
        }
        let pin = self.links.pin(&self.state);
        // Hidden code that began before an error is asked about behind it.
        let is_for_error = pin == Some(Pin::Warnings) || pin.is_some() && self.may_keep_error();
        self.control.set_pin(if is_for_error { Some(Pin::Warnings) } else { pin }, self.worker.now());
        if is_for_error {
            self.worker.look_in(SWEEP_INTERVAL);
        }
        if pin.is_some() || goes_on || !self.links.is_as_it_seems(&self.state) {
            return self.break_promise();
        }
        if let Some(backend) = self.links.in_use.take() {
            self.make_one_idle(backend);
        }
    }

    /// Makes connections idle that are not in use, and that nothing binds to the session any more.
    #[cold]
    fn make_others_idle(&mut self) {
        let version = self.state.version();
        let is_free = |other: &Backend| {
            let (server, link) = (other.server(), other.connection());
            link.state().applied == version
                && shares(&self.worker, &self.control, &self.state, server.hostgroup())
                && self.state.pin_of(other).is_none()
                && !server.is_off()
                && !link.has_setup()
        };
        let Some(at) = self.links.away.others.iter().position(is_free) else { return };
        let backend = self.links.away.others.swap_remove(at);
        self.make_one_idle(backend);
    }

    /// Makes a connection idle that nothing binds to the session.
    pub(super) fn make_one_idle(&mut self, mut backend: Backend) {
        let hostgroup = backend.server().hostgroup();
        if backend.connection().state().lacks_schema || backend.connection().state().may_be_hit {
            // No other session may have it, and the next command asks for a missing schema again.
            let last_id = self.state.last.results.last_id();
            if !last_id.is_at(backend.connection().serial()) {
                part(backend);
                return was_lent(&self.control, &self.state, hostgroup);
            }
            backend.connection_mut().set_version(0);
        }
        if !self.links.make_idle(&self.worker.upstream, self.state.identity.peer, &self.state, backend) {
            was_lent(&self.control, &self.state, hostgroup);
        }
    }

    /// A command has come: takes back the idle connection.
    pub(super) fn take_back(&mut self) {
        if self.links.in_use.is_some() {
            return;
        }
        let hostgroup = self.state.here;
        if self.worker.is_time_to_choose() && self.chooses_anew(hostgroup) {
            return;
        }
        if let Some(is_there) = self.links.take_back(&self.worker.upstream, hostgroup) {
            match self.links.connection().filter(|_| is_there) {
                Some(link) => self.state.set_status(link.state().status),
                None => was_lent(&self.control, &self.state, hostgroup),
            }
        }
    }

    /// Leaves the idle connection to this hostgroup to others, so that a server is chosen again:
    /// otherwise a session that is never disturbed would stay at one server for days, whatever the
    /// weights say meanwhile.
    #[cold]
    fn chooses_anew(&mut self, hostgroup: u32) -> bool {
        let shared = &self.worker.shared;
        shared.upstream.pool.has_choice(hostgroup, shared.uptime()) && self.makes_way_for_new(hostgroup)
    }

    /// Parts with the connection in use, to which nothing binds the session: others get it, if it
    /// is as it seems and sessions share any.
    pub(super) fn leave_backend(&mut self) {
        self.links.note_ran(&mut self.state);
        let hostgroup = self.state.here;
        let is_free = self.may_leave();
        if let Some(backend) = self.links.in_use.take() {
            if is_free {
                self.make_one_idle(backend);
                self.links.away.idle.retain(|idle| idle.hostgroup != hostgroup);
            } else {
                part(backend);
            }
        }
        self.lose_backend();
    }

    /// Whether others may have the connection in use, and its session need never come back to it.
    fn may_leave(&self) -> bool {
        let asks = |backend: &Backend| self.state.last.results.last_id().is_at(backend.connection().serial());
        shares(&self.worker, &self.control, &self.state, self.state.here)
            && self.links.pin(&self.state).is_none()
            && self.links.is_as_it_seems(&self.state)
            && !self.links.in_use.as_ref().is_some_and(asks)
    }

    /// Sees to it that there is no connection of the session's to this hostgroup where the next one
    /// is to be new (`create_new_connection`). Whether it may be: one that the session needs is not
    /// left.
    pub(super) fn makes_way_for_new(&mut self, hostgroup: u32) -> bool {
        if !shares(&self.worker, &self.control, &self.state, hostgroup) || self.links.has_other(hostgroup) {
            return false;
        }
        if self.state.here == hostgroup && self.links.in_use.is_some() {
            self.links.note_ran(&mut self.state);
            let may_leave = self.may_leave();
            if may_leave {
                self.leave_backend();
            }
            return may_leave;
        }
        let Some((at, ticket)) = self.links.idle_at(hostgroup) else { return true };
        let last_id = self.state.last.results.last_id();
        let needs = |backend: &mut Backend| last_id.is_at(backend.connection().serial());
        let needs_it = self.worker.upstream.kept.with(ticket, |backend| backend.is_some_and(needs));
        if !needs_it {
            self.links.away.idle.swap_remove(at);
            was_lent(&self.control, &self.state, hostgroup);
        }
        !needs_it
    }

    /// The client has reset its connection: of what was at other servers nothing is left, either.
    /// The connection in use may have what a reset does not take back, and is closed then.
    pub(super) fn was_reset(&mut self, closes: bool) {
        if let Some(link) = self.links.connection_mut() {
            link.note_reset();
        }
        self.links.away.idle.clear();
        self.links.part_with_others();
        if closes {
            // How many rows the reset has changed, of which no other server knows.
            self.links.note_ran(&mut self.state);
        }
        if closes && let Some(backend) = self.links.in_use.take() {
            part(backend);
            self.lose_backend();
        }
    }
}

/// The session's connection to this hostgroup belongs to another session now, or is gone.
pub(super) fn was_lent(control: &Control, state: &SessionState, hostgroup: u32) {
    if hostgroup == state.here {
        control.about.set_backend(None);
    }
}
