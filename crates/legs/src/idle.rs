//! Between two statements: connections that nothing binds to the session become idle, where
//! another session may get them, and are taken back with the next command if they are still there.

use runtime::limits::SWEEP_INTERVAL;
use session::state::Pin;
use upstream::Backend;

use crate::entry::BookEntry;
use crate::facts::leases::break_promise;
use crate::facts::places::shares;
use crate::facts::sharing::make_one_idle;
use crate::io::Io;
use crate::leg::Leg;

/// The session waits for its client: what is not bound to it may be used by others.
pub fn make_idle(entry: &BookEntry, io: &mut Io, leg: &mut Leg) {
    let goes_on = !io.backlog.is_empty() && !leg.links.is_promised();
    let is_last = io.backlog.is_empty();
    leg.idle_unless(entry, goes_on, is_last);
}

impl Leg {
    /// The session waits for other sessions before its command is sent. They may need the
    /// connection to come to their end.
    pub fn release_to_wait(&mut self, entry: &BookEntry) {
        // Its command waits.
        self.idle_unless(entry, false, false);
    }

    /// The same, unless the session `goes_on` at once. `is_last` says that the client has sent
    /// nothing more.
    pub(crate) fn idle_unless(&mut self, entry: &BookEntry, goes_on: bool, is_last: bool) {
        let is_awaited = |backend: &Backend| backend.connection().is_awaited();
        if self.links.in_use.as_ref().is_none_or(is_awaited) || self.flight.decided.is_some() {
            return;
        }
        self.links.note_ran(&mut self.state);
        let hostgroup = self.state.here;
        if !self.links.away.others.is_empty() {
            make_others_idle(entry, self);
        }
        let may_be_hit = self.links.connection().is_some_and(|link| link.state().may_be_hit);
        if !shares(entry, &self.state, hostgroup) || may_be_hit && self.links.is_promised() {
            return break_promise(entry, self);
        }
        let pin = self.links.pin(&self.state);
        // Hidden code that began before an error is asked about behind it.
        let is_for_error = pin == Some(Pin::Warnings) || pin.is_some() && self.may_keep_error(entry, is_last);
        entry.control.set_pin(if is_for_error { Some(Pin::Warnings) } else { pin }, entry.worker.now());
        if is_for_error {
            entry.worker.look_in(SWEEP_INTERVAL);
        }
        if pin.is_some() || goes_on || !self.links.is_as_it_seems(&self.state) {
            return break_promise(entry, self);
        }
        if let Some(backend) = self.links.in_use.take() {
            make_one_idle(entry, self, backend);
        }
    }
}

/// Makes connections idle that are not in use, and that nothing binds to the session any more.
#[cold]
fn make_others_idle(entry: &BookEntry, leg: &mut Leg) {
    let version = leg.state.version();
    let is_free = |other: &Backend| {
        let (server, link) = (other.server(), other.connection());
        link.state().applied == version
            && shares(entry, &leg.state, server.hostgroup())
            && leg.state.pin_of(other).is_none()
            && !server.is_off()
            && !link.has_setup()
    };
    let Some(at) = leg.links.away.others.iter().position(is_free) else { return };
    let backend = leg.links.away.others.swap_remove(at);
    make_one_idle(entry, leg, backend);
}
