//! What a command changes for those behind it, and how it is written anew.

use crate::control::Control;
use crate::session::flight::Flight;
use crate::session::io::Io;
use crate::session::links::Links;
use crate::session::state::SessionState;
use command::Command;
use session::change::Change;
use tokio::time::Instant;
use wire::command::Kind;

/// Takes note of a command for a prepared statement that is being sent to the backend.
pub(in crate::session) fn note_prepared(
    state: &mut SessionState,
    links: &mut Links,
    flight: &mut Flight,
    command: Command<'_>,
) {
    let (caps, hostgroup, version) = (state.identity.capabilities, state.here, state.version());
    let (kind, opens_cursor) = (command.kind, command.opens_cursor());
    let Some(id) = command.statement() else { return };
    let Some(all) = &mut state.prepared else { return };
    let Some(link) = links.connection_mut() else { return };
    let known = all.get(id).and_then(|one| Some((one.serial, one.id_at(Some(link.state()))?)));
    let known_as = known.map_or(id, |(_, known_as)| known_as);
    match kind {
        Kind::StmtClose => link.statements_mut().close(known_as),
        Kind::SendLongData => link.statements_mut().bind(known_as),
        Kind::StmtExecute if opens_cursor => link.statements_mut().bind(known_as),
        _ => {}
    }
    let Some((serial, _)) = known else { return };
    match kind {
        Kind::StmtClose => {
            all.close(id);
            link.state_mut().places.leave(serial);
        }
        Kind::SendLongData => {
            all.keep_home(id, hostgroup, true);
            all.note_parts(id, true);
        }
        Kind::StmtReset => {
            all.keep_home(id, hostgroup, false);
            all.note_parts(id, false);
        }
        Kind::StmtBulkExecute => {
            let Some(prepared) = all.get_mut(id) else { return };
            if let Some(place) = link.state_mut().places.get_mut(serial) {
                place.note_own();
            }
            if let Some(change) = prepared.what.change.clone() {
                propose(state, links, flight, Box::new(change));
            }
        }
        Kind::StmtExecute => {
            all.keep_home(id, hostgroup, opens_cursor);
            let Some(prepared) = all.get_mut(id) else { return };
            prepared.note_executed();
            let Some(place) = link.state_mut().places.get_mut(serial) else { return };
            place.note_own();
            if prepared.what.text.is_some()
                && let Some(params) = command.params(prepared.params())
            {
                let own = params.types_without_attributes(prepared.params(), caps);
                prepared.types_for(place, own, version);
                if !link.is_mariadb() {
                    prepared.note_typed(&params, caps);
                    let now = prepared.types_of(&params, caps);
                    link.statements_mut().note_typed(known_as, now);
                }
            }
            if let Some(mut change) = prepared.what.change.clone() {
                if let Some(at) = change.passed_by {
                    change.set_passed(state.value_of(command, at));
                }
                propose(state, links, flight, Box::new(change));
            }
        }
        _ => {}
    }
}

/// The command that runs is brought to the front of the backlog, to be sent once more.
pub(in crate::session) fn send_once_more(
    control: &Control,
    io: &mut Io,
    flight: &mut Flight,
    mut command: Vec<u8>,
) {
    let paused = control.running.pause();
    let flight = flight.begin();
    flight.forget_sent();
    flight.paused = paused;
    command.append(&mut io.backlog);
    io.backlog = command;
}

/// A command that changes this if it succeeds is on its way.
pub(in crate::session) fn propose(
    state: &mut SessionState,
    links: &mut Links,
    flight: &mut Flight,
    mut change: Box<Change>,
) {
    if let Some(calls) = &mut change.calls {
        calls.begin(Instant::now().into_std());
    }
    // The one before has not been answered. That it is in vain to stay does no harm.
    if let Some(before) = flight.begin().proposed.replace(change) {
        links.note_left(state, before.marks, None);
    }
}
