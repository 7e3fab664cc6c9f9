//! Connections that a session gives up, and those that it loses.

use std::cell::Cell;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use front::ending::Ending;
use net::sock::Input;
use observe::counts::Counter;
use runtime::fresh::Behind;
use runtime::invariant::own_mut;
use runtime::kill::clean_up;
use session::error::{ClientError, Gone};
use session::link::Loss;
use session::statement::Kill;
use tokio::task::spawn_local;
use tokio::time::Instant;
use upstream::{AcquireError, Avoid, Connection, Full, Target, Whom, acquire, open_in, part};

use crate::entry::BookEntry;
use crate::facts::endings::{interrupted, told, told_if};
use crate::facts::orders::{shot, while_wanted};
use crate::facts::places::{shares, take_found};
use crate::facts::shown::show_waiting;
use crate::leg::Leg;
use crate::state::{OF_SESSION, Past};
use crate::stop::Stop;
use crate::trace::Part;

/// Those to whom the connection in use is promised do not get it, nor can the session keep it
/// if they have sent something over it: they look for other ones.
pub(crate) fn break_promise(entry: &BookEntry, leg: &mut Leg) {
    if leg.links.is_promised() {
        lose_backend(entry, leg);
    } else if let Some(link) = leg.links.connection_mut() {
        link.drop_batch();
    }
}

/// While no command comes: checks whether the backend closes, or sends something although no
/// command runs. It is of no use any more then.
pub fn poll_idle_backend<T>(
    entry: &BookEntry,
    leg: &mut Leg,
    cx: &mut Context<'_>,
) -> Poll<Result<T, Ending>> {
    match leg.links.in_use.as_mut().map(|backend| backend.connection_mut().poll_input(cx)) {
        None | Some(Poll::Pending) => {}
        Some(Poll::Ready(input)) => lose_idle_backend(entry, leg, input)?,
    }
    Poll::Pending
}

/// Finds out without waiting whether the server of the connection in use has closed it.
pub fn look_at_server(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    match leg.links.connection_mut().and_then(Connection::input) {
        Some(input) => lose_idle_backend(entry, leg, input),
        None => Ok(()),
    }
}

/// The client has reset its connection: of what was at other servers nothing is left, either.
/// The connection in use may have what a reset does not take back, and is closed then.
pub fn was_reset(entry: &BookEntry, leg: &mut Leg, closes: bool) {
    if let Some(link) = leg.links.connection_mut() {
        link.note_reset();
    }
    leg.links.away.idle.clear();
    leg.links.part_with_others();
    if closes {
        // How many rows the reset has changed, of which no other server knows.
        leg.links.note_ran(&mut leg.state);
    }
    if closes && let Some(backend) = leg.links.in_use.take() {
        part(backend);
        lose_backend(entry, leg);
    }
}

/// Between two commands: the server of the connection in use has closed it, or has sent
/// something although no command runs.
pub(crate) fn lose_idle_backend(entry: &BookEntry, leg: &mut Leg, input: Input) -> Result<(), Ending> {
    match leg.links.loss(&leg.state) {
        Loss::Session(_) if input == Input::Bytes => Err(Ending::BackendSpoke { answer_seq: None }),
        _ => give_up_backend(entry, leg, Gone::Closed),
    }
}

/// Between two commands: the connection in use is of no use any more.
pub(crate) fn give_up_backend(entry: &BookEntry, leg: &mut Leg, gone: Gone) -> Result<(), Ending> {
    let Some(backend) = &leg.links.in_use else { return Ok(()) };
    let lost = leg.links.loss(&leg.state).told(backend.server().endpoint(), gone);
    leg.state.transaction.owe(lost.map_err(|error| told(entry, &leg.state, &error, 1))?);
    lose_backend(entry, leg);
    // That it was idle before counts on.
    entry.control.note_transaction(entry.worker.now(), leg.state.in_transaction());
    Ok(())
}

/// The connection in use is of no use any more, and a command of the client waits for it: what
/// is to be said to the client if a transaction is lost with it.
pub fn lose_backend_for(entry: &BookEntry, leg: &mut Leg, gone: Gone) -> Result<Option<ClientError>, Ending> {
    let Some(backend) = &leg.links.in_use else { return Ok(None) };
    let lost = leg.links.loss(&leg.state).told(backend.server().endpoint(), gone);
    let lost = lost.map_err(|error| interrupted(entry, &leg.state, &error, 1))?;
    lose_backend(entry, leg);
    Ok(lost)
}

/// The backend in use is of no use any more. What the session has set stays, and is said at the
/// next one.
pub fn lose_backend(entry: &BookEntry, leg: &mut Leg) {
    leg.links.drop_in_use();
    entry.control.about.set_backend(None);
    leg.state.set_status(leg.state.status & OF_SESSION);
    leg.state.past.remove(Past::IN_TRANSACTION);
    entry.control.set_pin(None, entry.worker.now());
}

/// The connection was taken over with a command that was sent already, and now something else
/// has to be done first.
pub fn leave_batch(entry: &BookEntry, leg: &mut Leg) {
    if leg.links.is_awaited() {
        if let Some(flight) = leg.flight.as_mut() {
            flight.batched = None;
        }
        lose_backend(entry, leg);
    }
}

/// Sees to it that the statement of a client that has vanished does not run on.
pub fn leave_nothing_running(entry: &BookEntry, leg: &mut Leg) {
    if entry.control.turns.current().is_some() {
        clean_up_behind(entry, leg);
    }
}

/// The same where something does run.
pub fn clean_up_behind(entry: &BookEntry, leg: &mut Leg) {
    if !entry.worker.settings().variables.kill_backend_connection_when_disconnect {
        return;
    }
    let Some(backend) = leg.links.in_use.take() else { return };
    if let Some(shot) =
        shot(&entry.worker, &leg.state, &backend, Kill::connection(leg.state.identity.connection_id), None)
    {
        spawn_local(clean_up(shot, backend));
    }
}

/// While an answer is on its way: ends the session if the server that owes it is off. What runs
/// there is killed.
pub fn break_off(entry: &BookEntry, leg: &mut Leg) -> Result<(), Ending> {
    let Some(backend) = &leg.links.in_use else { return Ok(()) };
    // What runs at a server that has only left its hostgroup may end.
    let Some(off) = backend.server().off().filter(|off| off.breaks_off()) else { return Ok(()) };
    let reply = backend.connection().pipeline.progress();
    if !reply.is_begun {
        return Err(Ending::ServerLost(Gone::Off(off)));
    }
    entry.worker.counts.note(Counter::OfflineDuringQuery);
    let error = ClientError::server_off(backend.server().endpoint(), off);
    let ending = told_if(entry, &leg.state, reply, &error);
    leave_nothing_running(entry, leg);
    Err(ending)
}

impl Leg {
    /// Gets a backend of `hostgroup` for the command in the backlog, which stays there. Whether it
    /// was opened for that.
    pub(crate) async fn borrow_backend(
        &mut self,
        entry: &BookEntry,
        hostgroup: u32,
        full: Full,
    ) -> Result<bool, Stop> {
        let in_line = self.flight.as_mut().and_then(|flight| flight.in_line.take());
        let in_line = in_line.filter(|line| line.hostgroup == hostgroup);
        if in_line.as_ref().is_some_and(|line| line.is_killed) {
            entry.end_running(&self.links);
            return Err(AcquireError::Proxy(ClientError::Interrupted).into());
        }
        let lacks_schema = self.state.lacks_schema();
        let is_elsewhere = self.state.identity.account.schema.as_deref() != Some(self.state.caller.schema());
        let logs_in_without = lacks_schema || is_elsewhere && self.links.away.is_admitted;
        let schema =
            if logs_in_without { own_mut(&mut self.state.identity)?.account.schema.take() } else { None };
        let connecting = Cell::new(Duration::ZERO);
        let open = async |target: &Target| {
            let begun = Instant::now();
            let opened = open_in(&entry.worker.upstream, hostgroup, target, &self.state.identity).await;
            connecting.set(connecting.get() + begun.elapsed());
            opened
        };
        let begun = Instant::now();
        if !in_line.as_ref().is_some_and(|line| line.has_stood()) {
            show_waiting(entry, self);
        }
        let acquired = {
            let shares = shares(entry, &self.state, hostgroup) && !self.flight.wants_new && !lacks_schema;
            let asker = shares.then(|| self.links.asker(&self.state, self.flight.ahead));
            let behind = self.flight.wanted.as_deref().map(|wanted| Behind(wanted, &entry.worker.shared));
            let avoid = behind.as_ref().map(|behind| behind as &dyn Avoid);
            let whom = Whom { asker: asker.as_ref(), avoid, ..Whom::of(&self.state.identity.account.user) };
            let acquiring = pin!(acquire(&entry.worker.upstream, hostgroup, full, whom, in_line, open));
            while_wanted(&entry.control, self.state.identity.capabilities, acquiring).await
        };
        if logs_in_without {
            own_mut(&mut self.state.identity)?.account.schema = schema;
        }
        let acquired = acquired?.unwrap_or(Err(AcquireError::Proxy(ClientError::Interrupted)));
        self.state.trace(|trace| {
            trace.add(Part::Connect, connecting.get());
            trace.add(Part::Queue, begun.elapsed().saturating_sub(connecting.get()));
        });
        entry.end_running(&self.links);
        Ok(take_found(&entry.control, &mut self.state, &mut self.links, acquired?))
    }
}
