//! Connections that sessions share: lending one, taking it back, staying with it.

use front::ending::Ending;
use runtime::control::Control;
use session::error::{ClientError, Gone};
use session::link::Loss;
use session::state::Pin;
use session::tier::Tier;
use upstream::{Backend, part};
use wire::StatusFlags;

use crate::entry::BookEntry;
use crate::facts::endings::told;
use crate::facts::leases::lose_backend;
use crate::facts::places::{has_one_way, is_left_behind, shares};
use crate::followed::{has_readers, is_any};
use crate::leg::Leg;
use crate::state::{Past, SessionState};

/// Before a command: ends the session if a caching proxy is in front, and the session is bound
/// to a server at which others are not.
#[inline]
pub fn stay_with_others(entry: &BookEntry, leg: &Leg) -> Result<(), Ending> {
    if leg.state.identity.tier == Tier::Client { Ok(()) } else { judge_server(entry, leg) }
}

pub(crate) fn judge_server(entry: &BookEntry, leg: &Leg) -> Result<(), Ending> {
    let Some(backend) = &leg.links.in_use else { return Ok(()) };
    let (shared, hostgroup) = (&entry.worker.shared, backend.server().hostgroup());
    let is_replica = leg.state.past.contains(Past::REPLICA);
    if !is_replica && !shared.is_followed(hostgroup) {
        return Ok(());
    }
    let Loss::Session(pin) = leg.links.loss(&leg.state) else { return Ok(()) };
    let is_of_use = if is_replica {
        is_any(&entry.worker, backend, false) == Some(false)
            && !has_readers(&entry.worker, &leg.state, hostgroup)
    } else {
        leg.state.in_transaction() || !is_left_behind(&entry.worker, &leg.state, backend)
    };
    if is_of_use {
        // The server may have refused.
        if backend.connection().state().pins.holds(Pin::Replica) {
            shared.note_followed(hostgroup);
        }
        return Ok(());
    }
    Err(told(
        entry,
        &leg.state,
        &ClientError::session_lost(backend.server().endpoint(), Gone::NotOnly, pin),
        1,
    ))
}

/// Makes a connection idle that nothing binds to the session.
pub(crate) fn make_one_idle(entry: &BookEntry, leg: &mut Leg, mut backend: Backend) {
    let hostgroup = backend.server().hostgroup();
    if backend.connection().state().lacks_schema || backend.connection().state().may_be_hit {
        // No other session may have it, and the next command asks for a missing schema again.
        let last_id = leg.state.last.results.last_id();
        if !last_id.is_at(backend.connection().serial()) {
            part(backend);
            return was_lent(&entry.control, &leg.state, hostgroup);
        }
        backend.connection_mut().version = 0;
    }
    if !leg.links.make_idle(&entry.worker.upstream, leg.state.identity.peer, &leg.state, backend) {
        was_lent(&entry.control, &leg.state, hostgroup);
    }
}

/// A command has come: takes back the idle connection.
pub fn take_back(entry: &BookEntry, leg: &mut Leg) {
    if leg.links.in_use.is_some() {
        return;
    }
    let hostgroup = leg.state.here;
    if entry.worker.is_time_to_choose() && chooses_anew(entry, leg, hostgroup) {
        return;
    }
    if let Some(is_there) = leg.links.take_back(&entry.worker.upstream, hostgroup) {
        match leg.links.connection().filter(|_| is_there) {
            Some(link) => leg.state.hear_status(link.state()),
            None => was_lent(&entry.control, &leg.state, hostgroup),
        }
    }
}

/// Leaves the idle connection to this hostgroup to others, so that a server is chosen again:
/// otherwise a session that is never disturbed would stay at one server for days, whatever the
/// weights say meanwhile.
#[cold]
pub(crate) fn chooses_anew(entry: &BookEntry, leg: &mut Leg, hostgroup: u32) -> bool {
    let shared = &entry.worker.shared;
    shared.upstream.pool.has_choice(hostgroup, shared.uptime()) && makes_way_for_new(entry, leg, hostgroup)
}

/// Parts with the connection in use, to which nothing binds the session: others get it, if it
/// is as it seems and sessions share any.
pub(crate) fn leave_backend(entry: &BookEntry, leg: &mut Leg) {
    leg.links.note_ran(&mut leg.state);
    let hostgroup = leg.state.here;
    let is_free = may_leave(entry, leg);
    if let Some(backend) = leg.links.in_use.take() {
        if is_free {
            make_one_idle(entry, leg, backend);
            leg.links.away.idle.retain(|idle| idle.hostgroup != hostgroup);
        } else {
            part(backend);
        }
    }
    lose_backend(entry, leg);
}

/// Whether others may have the connection in use, and its session need never come back to it.
pub(crate) fn may_leave(entry: &BookEntry, leg: &Leg) -> bool {
    let asks = |backend: &Backend| leg.state.last.results.last_id().is_at(backend.connection().serial());
    shares(entry, &leg.state, leg.state.here)
        && leg.links.pin(&leg.state).is_none()
        && leg.links.is_as_it_seems(&leg.state)
        && !leg.links.in_use.as_ref().is_some_and(asks)
}

/// Sees to it that there is no connection of the session's to this hostgroup where the next one
/// is to be new (`create_new_connection`). Whether it may be: one that the session needs is not
/// left.
pub(crate) fn makes_way_for_new(entry: &BookEntry, leg: &mut Leg, hostgroup: u32) -> bool {
    if !shares(entry, &leg.state, hostgroup) || leg.links.has_other(hostgroup) {
        return false;
    }
    if leg.state.here == hostgroup && leg.links.in_use.is_some() {
        leg.links.note_ran(&mut leg.state);
        let may_leave = may_leave(entry, leg);
        if may_leave {
            leave_backend(entry, leg);
        }
        return may_leave;
    }
    let Some((at, ticket)) = leg.links.idle_at(hostgroup) else { return true };
    let last_id = leg.state.last.results.last_id();
    let needs = |backend: &mut Backend| last_id.is_at(backend.connection().serial());
    let needs_it = entry.worker.upstream.kept.with(ticket, |backend| backend.is_some_and(needs));
    if !needs_it {
        leg.links.away.idle.swap_remove(at);
        was_lent(&entry.control, &leg.state, hostgroup);
    }
    !needs_it
}

/// Whether what the server says of the last statement alone binds the session to the connection
/// in use.
pub(crate) fn may_leave_diagnostics(entry: &BookEntry, leg: &Leg) -> bool {
    leg.links.has_only_pins(&[Pin::Warnings]) && is_left_to_itself(entry, leg)
}

/// Whether others could have the connection in use, if no pin bound it to the session.
pub(crate) fn is_left_to_itself(entry: &BookEntry, leg: &Leg) -> bool {
    leg.links.in_use.is_some()
        && !leg.links.is_promised()
        && !leg.state.status.contains(StatusFlags::IN_TRANSACTION)
        && shares(entry, &leg.state, leg.state.here)
}

/// Whether a server is to be asked now what the session has set there.
pub fn may_ask_what_is_set(entry: &BookEntry, leg: &Leg) -> bool {
    let hostgroup = leg.state.here;
    let Some(link) = leg.links.connection() else { return false };
    let pins = &link.state().pins;
    if pins.unknown_values().next().is_none() {
        return false;
    }
    // Sessions that have one connection to one server need not know.
    let matters = shares(entry, &leg.state, hostgroup) || !has_one_way(&entry.worker, &leg.state);
    // The question would take away what the client may ask for, or be told as a part of its
    // transaction.
    let hides = pins.has_any(&[Pin::Warnings, Pin::FoundRows, Pin::Prepare]) || leg.state.in_transaction();
    matters && !hides
}

/// The session's connection to this hostgroup belongs to another session now, or is gone.
pub(crate) fn was_lent(control: &Control, state: &SessionState, hostgroup: u32) {
    if hostgroup == state.here {
        control.about.set_backend(None);
    }
}
