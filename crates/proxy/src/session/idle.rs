//! Between two statements: connections that nothing binds to the session become idle, where
//! another session may get them, and are taken back with the next command if they are still there.

use upstream::Backend;

use super::cx::Cx;
use super::entry::BookEntry;
use super::facts::leases::break_promise;
use super::facts::places::shares;
use super::facts::sharing::make_one_idle;
use super::links::Links;
use super::state::SessionState;
use crate::limits::SWEEP_INTERVAL;
use crate::state::Pin;

impl Cx<'_> {
    /// The session waits for its client: what is not bound to it may be used by others.
    pub(super) fn make_idle(&mut self) {
        let goes_on = !self.io.backlog.is_empty() && !self.leg.links.is_promised();
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
        if self.leg.links.in_use.as_ref().is_none_or(is_awaited) || self.leg.flight.decided.is_some() {
            return;
        }
        self.leg.links.note_ran(&mut self.leg.state);
        let hostgroup = self.leg.state.here;
        if !self.leg.links.away.others.is_empty() {
            make_others_idle(self.entry, &self.leg.state, &mut self.leg.links);
        }
        let may_be_hit = self.leg.links.connection().is_some_and(|link| link.state().may_be_hit);
        if !shares(self.entry, &self.leg.state, hostgroup) || may_be_hit && self.leg.links.is_promised() {
            return break_promise(self.entry, &mut self.leg.state, &mut self.leg.links);
        }
        let pin = self.leg.links.pin(&self.leg.state);
        // Hidden code that began before an error is asked about behind it.
        let is_for_error = pin == Some(Pin::Warnings) || pin.is_some() && self.may_keep_error();
        self.entry
            .control
            .set_pin(if is_for_error { Some(Pin::Warnings) } else { pin }, self.entry.worker.now());
        if is_for_error {
            self.entry.worker.look_in(SWEEP_INTERVAL);
        }
        if pin.is_some() || goes_on || !self.leg.links.is_as_it_seems(&self.leg.state) {
            return break_promise(self.entry, &mut self.leg.state, &mut self.leg.links);
        }
        if let Some(backend) = self.leg.links.in_use.take() {
            make_one_idle(self.entry, &self.leg.state, &mut self.leg.links, backend);
        }
    }
}

/// Makes connections idle that are not in use, and that nothing binds to the session any more.
#[cold]
fn make_others_idle(entry: &BookEntry, state: &SessionState, links: &mut Links) {
    let version = state.version();
    let is_free = |other: &Backend| {
        let (server, link) = (other.server(), other.connection());
        link.state().applied == version
            && shares(entry, state, server.hostgroup())
            && state.pin_of(other).is_none()
            && !server.is_off()
            && !link.has_setup()
    };
    let Some(at) = links.away.others.iter().position(is_free) else { return };
    let backend = links.away.others.swap_remove(at);
    make_one_idle(entry, state, links, backend);
}
