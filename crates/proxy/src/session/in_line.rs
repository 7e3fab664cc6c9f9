//! Waiting in line for a connection. Where many sessions share few connections, that is what nearly
//! every statement does first, and mostly it is all that has to be done: so it is a part of how a
//! command comes, and the command is forwarded as soon as a connection is handed over that is as
//! the session would have it. What takes more than that, [`set_up`](crate::session::set_up) goes on
//! with: opening a connection, saying something there first, telling the client that there is none.

use std::rc::Rc;
use std::task::{Context, Poll};

use legs::facts::commands::batchable;
use legs::facts::orders::killed_here;
use legs::facts::places::take_found;
use legs::facts::shown::show_waiting_since;
use legs::leg::Leg;
use legs::phase::Phase;
use runtime::control::Signal;
use runtime::worker::Worker;
use upstream::{Found, InLine, Place, Whom, take, take_at_once};

use crate::ending::Ending;
use crate::session::cx::Cx;
use crate::sock::Input;

impl Cx<'_> {
    /// Gets a connection for the command that `input` begins with. True if it has to wait in line
    /// for one, in the backlog. If not, the connection is there, or the search is over that
    /// [`borrow_backend`](Leg::borrow_backend) goes on with.
    pub(super) fn get_in_line(&mut self, input: &[u8]) -> bool {
        let (worker, hostgroup) = (Rc::clone(&self.entry.worker.upstream), self.leg.state.here);
        let now @ (began, uptime) = worker.shared.now();
        let asker = self.leg.links.asker(&self.leg.state, self.leg.flight.ahead);
        // If another hostgroup may do it as well, servers that do not work are not waited for.
        let full = self.leg.state.full(hostgroup, self.leg.flight.decided.as_ref());
        let whom = Whom { asker: Some(&asker), ..Whom::of(&self.leg.state.identity.account.user) };
        let line = match take(&worker, hostgroup, uptime, |_| false, full, &whom) {
            Some(Place::Spare(entry)) => match take_at_once(&worker, hostgroup, entry, &asker) {
                Ok(found) => {
                    take_found(&self.entry.control, &mut self.leg.state, &mut self.leg.links, found);
                    return false;
                }
                Err(place) => InLine::over(&worker, hostgroup, began, place),
            },
            Some(place) => InLine::over(&worker, hostgroup, began, place),
            None => {
                let deadline = began + worker.settings().variables.connect_timeout_server_max;
                let batchable = batchable(&self.entry.worker, self.leg, input);
                let asker = self.leg.links.asker(&self.leg.state, self.leg.flight.ahead);
                InLine::stand(&worker, hostgroup, now, (began, deadline), &asker, batchable)
            }
        };
        let is_waiting = line.is_waiting();
        self.leg.flight.begin().in_line = Some(Box::new(line));
        if is_waiting {
            self.io.backlog = input.to_vec();
            let command = self.io.command(self.leg.state.identity.capabilities);
            show_waiting_since(self.entry, self.leg, command, began);
        }
        is_waiting
    }

    /// Waits in line as long as the client and others want that.
    pub(super) fn poll_line(&mut self, cx: &mut Context<'_>) -> Poll<Result<Phase, Ending>> {
        let Some(line) = self.leg.flight.as_mut().and_then(|flight| flight.in_line.as_mut()) else {
            return Poll::Ready(Ok(Phase::Reading));
        };
        if killed_here(&self.entry.control, self.leg.state.identity.capabilities, true)? {
            line.is_killed = true;
            return Poll::Ready(Ok(Phase::Reading));
        }
        if self.entry.control.signal() >= Signal::Stop {
            return Poll::Ready(Err(Ending::Silent));
        }
        let Poll::Ready(place) = line.poll(cx) else {
            return match self.io.client.poll_input(cx) {
                Poll::Ready(Input::End) => Poll::Ready(Err(Ending::ClientLeft)),
                _ => Poll::Pending,
            };
        };
        if self.io.client.input() == Some(Input::End) {
            line.set_came(place);
            return Poll::Ready(Err(Ending::ClientLeft));
        }
        match take_handed(&self.entry.worker, self.leg, place) {
            Ok(found) => {
                self.leg.flight.begin().in_line = None;
                self.entry.end_running(&self.leg.links);
                take_found(&self.entry.control, &mut self.leg.state, &mut self.leg.links, found);
            }
            Err(place) => {
                if let Some(line) = &mut self.leg.flight.begin().in_line {
                    line.set_came(place);
                }
            }
        }
        Poll::Ready(Ok(Phase::Reading))
    }
}

/// Takes what has come of waiting, if nothing more has to be done for that.
fn take_handed(worker: &Worker, leg: &Leg, place: Place) -> Result<Found, Place> {
    let Place::Spare(entry) = place else { return Err(place) };
    let asker = leg.links.asker(&leg.state, leg.flight.ahead);
    take_at_once(&worker.upstream, leg.state.here, entry, &asker)
}
