//! The sessions of a worker, as it keeps book of them: to reach them, and to show them.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;

use super::Worker;
use crate::control::{Control, Signal};
use crate::document::Form;
use crate::holders::Held;
use crate::mail::{Request, Seat, Verdict};
use observe::rows::{Census, SessionStats};
use reply::Sessions as _;
use session::identity::Identity;

impl Worker {
    /// Enters a session into the worker's books; it leaves them when the guard is dropped.
    pub fn register(self: &Rc<Self>) -> Registered {
        let mut controls = self.controls.borrow_mut();
        let entry = controls.vacant_entry();
        let key = entry.key();
        let control = Rc::new(Control::new(key, self.shared.connection_id()));
        entry.insert(Rc::clone(&control));
        if self.drain.get().is_some() {
            control.send(Signal::Drain);
        }
        Registered { worker: Rc::clone(self), control }
    }

    /// Enters a session into the directory, under its id and the user that it has now.
    pub fn seat(&self, control: &Control, identity: &Identity) {
        let seat = control.take_seat(identity.connection_id);
        let hostgroup = identity.route_account(&self.routing.borrow().routes().pairs).hostgroup();
        control.about.set_account(&identity.account, hostgroup);
        self.shared.directory.enter(seat, Arc::clone(&identity.account.user), self.inbox.clone());
    }

    /// Gives a KILL to the session that it names.
    pub(super) fn deliver(&self, seat: Seat, request: Request) {
        let refused = match self.controls.borrow().get(seat.key) {
            Some(control) => control.deliver(seat, request),
            None => Err(request),
        };
        if let Err(request) = refused {
            request.answer(Verdict::Unknown);
        }
    }

    /// Its sessions.
    pub fn sessions(&self) -> Vec<SessionStats> {
        let (now, settings) = (Instant::now(), self.settings());
        let form = match settings.variables.show_processlist_extended {
            0 => None,
            1 => Some(Form::Compact),
            _ => Some(Form::Indented),
        };
        let row = |control: &Control| {
            let mut row = control.row(self.index, now);
            row.extended = form.map(|form| control.extended(&row, form, now));
            row
        };
        self.controls.borrow().iter().map(|(_, control)| row(control)).collect()
    }

    /// How many sessions the worker has, by state and by pin.
    pub fn census(&self) -> Census {
        let (now, mut census) = (Instant::now(), Census::default());
        for (_, control) in self.controls.borrow().iter() {
            let (state, pin) = control.state(now);
            *census.states.entry(state).or_default() += 1;
            if let Some(pin) = pin {
                *census.pins.entry(pin).or_default() += 1;
            }
        }
        census
    }

    /// At most `max` of its sessions that can be killed: whose clients have logged in, and that
    /// have not ended.
    pub fn seated(&self, max: usize) -> Vec<SessionStats> {
        let (now, all) = (Instant::now(), self.controls.borrow());
        let rows = all.iter().map(|(_, control)| control.row(self.index, now));
        rows.filter(|row| self.shared.directory.has(row.id)).take(max).collect()
    }

    /// Those of its sessions that have a connection of this hostgroup.
    pub fn holders_of(&self, hostgroup: u32) -> Held {
        let (now, settings, mut held) = (Instant::now(), self.settings(), Held::default());
        let shared = settings.variables.multiplexing && settings.upstream.shares(hostgroup);
        for (_, control) in self.controls.borrow().iter() {
            if let Some(holder) = control.holds(hostgroup, shared, now) {
                held.add(holder);
            }
        }
        held
    }

    /// Tells all sessions.
    pub(super) fn signal_all(&self, signal: Signal) {
        for (_, control) in self.controls.borrow().iter() {
            control.send(signal);
        }
    }
}

/// A session in its worker's books.
#[derive(Debug)]
pub struct Registered {
    /// Its worker.
    pub worker: Rc<Worker>,
    /// What others reach it by.
    pub control: Rc<Control>,
}

impl Registered {
    /// Takes the session out of the directory: it cannot be killed any more.
    pub fn leave_directory(&self) {
        if let Some(seat) = self.control.leave_seat() {
            self.worker.shared.directory.leave(seat);
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.leave_directory();
        self.worker.cached.forget(self.control.id());
        self.worker.controls.borrow_mut().remove(self.control.key());
        self.worker.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}
