//! What others are shown of a session that waits or answers.

use std::num::NonZeroU64;

use command::Command;
use observe::running::Measured;
use tokio::time::Instant;
use wire::command::Kind;

use crate::entry::BookEntry;
use crate::facts::records::{note_traced_here, note_traced_wait, place_here};
use crate::flight::Flight;
use crate::io::Io;
use crate::leg::Leg;
use crate::measure::logs;
use crate::state::SessionState;

/// Counts the command in the backlog, which no server gets.
pub fn measure_own(
    entry: &BookEntry,
    io: &Io,
    state: &SessionState,
    flight: &Flight,
    kind: Kind,
) -> Measured {
    let command = io.command(state.identity.capabilities);
    command.map_or(Measured::plain(kind), |command| entry.measure_as(command, flight.statement))
}

/// A command waits for a backend, or for its turn.
pub fn show_waiting(entry: &BookEntry, leg: &Leg) {
    show_waiting_since(entry, leg, leg.command(), Instant::now());
}

/// The same for who has just looked at the clock.
pub fn show_waiting_since(entry: &BookEntry, leg: &Leg, command: Option<Command<'_>>, now: Instant) {
    if let Some(command) = command {
        entry.begin_running_at(Measured::plain(command.kind), leg.state.shown(&entry.worker, command), now);
        note_traced_wait(entry, &leg.state, command, now);
    }
    if let Some(paused) = &leg.flight.paused {
        entry.control.running.resume(paused);
    }
}

/// The command in the backlog, which no server gets, begins to run. It is counted, unless it
/// was before.
pub fn begin_own(entry: &BookEntry, io: &mut Io, state: &mut SessionState, flight: &mut Flight, kind: Kind) {
    let place = place_here(&entry.worker, io, state, flight, kind);
    let paused = flight.paused.as_ref();
    let measured = match paused {
        Some(paused) => paused.measured,
        None => measure_own(entry, io, state, flight, kind),
    };
    let digest = flight.digest.map(NonZeroU64::get).or(measured.digest);
    let log = flight.log;
    entry.begin_running(Measured { digest, log, place, ..measured }, text_for_logs(entry, io, state));
    if let Some(command) = io.command(state.identity.capabilities) {
        note_traced_here(entry, state, command, None);
    }
    if let Some(paused) = paused {
        entry.control.running.resume(paused);
    }
}

/// Counts the command in the backlog, which no server gets, unless it was counted before.
pub fn measure_refused(entry: &BookEntry, io: &Io, state: &SessionState, flight: &Flight) {
    if let Some(command) = io.command(state.identity.capabilities)
        && flight.paused.is_none()
    {
        measure_own(entry, io, state, flight, command.kind);
    }
}

/// The text of the command in the backlog, if logs want it.
pub(crate) fn text_for_logs<'a>(entry: &BookEntry, io: &'a Io, state: &'a SessionState) -> &'a [u8] {
    let first = io.command(state.identity.capabilities).filter(|_| logs(&entry.worker));
    first.map_or(&[], |command| state.shown(&entry.worker, command))
}
