//! What a command changes for those behind it, and how it is written anew.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use command::{Command, renumber, splice};
use front::ending::Ending;
use runtime::control::Control;
use runtime::decided::Decided;
use runtime::prepared::{NO_MODES, Preparing};
use runtime::worker::Worker;
use session::change::Change;
use session::statement::kill::PreparedKill;
use tokio::time::Instant;
use wire::Capabilities;
use wire::command::Kind;
use wire::frame::HEADER_LEN;

use crate::digest::digest_text;
use crate::entry::BookEntry;
use crate::facts::places::{has_one_way, shares};
use crate::flight::Flight;
use crate::io::Io;
use crate::leg::Leg;
use crate::measure::{logs, note_at_server};
use crate::state::Past;

/// Takes note of a command for a prepared statement that is being sent to the backend.
pub fn note_prepared(leg: &mut Leg, command: Command<'_>) {
    let (caps, hostgroup, version) = (leg.state.identity.capabilities, leg.state.here, leg.state.version());
    let (kind, opens_cursor) = (command.kind, command.opens_cursor());
    let Some(id) = command.statement() else { return };
    let Some(all) = &mut leg.state.prepared else { return };
    let Some(link) = leg.links.connection_mut() else { return };
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
        Kind::SendLongData | Kind::StmtReset => all.note_parts(id, hostgroup, kind == Kind::SendLongData),
        Kind::StmtExecute | Kind::StmtBulkExecute => {
            let is_one = kind == Kind::StmtExecute;
            if is_one {
                all.keep_home(id, hostgroup, opens_cursor);
            }
            let Some(prepared) = all.get_mut(id) else { return };
            if is_one {
                prepared.note_executed();
            }
            let Some(place) = link.state_mut().places.get_mut(serial) else { return };
            place.note_own();
            // Where types cannot be needed they are not kept.
            if prepared.what.text.is_some()
                && let Some(params) = command.params(prepared.params())
            {
                let own = params.types_without_attributes(prepared.params(), caps);
                prepared.note_types(place, own, version);
                if !link.is_mariadb() {
                    prepared.note_typed(&params, caps);
                    let now = prepared.types_of(&params, caps);
                    link.statements_mut().note_typed(known_as, now);
                }
            }
            if let Some(mut change) = prepared.what.change.clone() {
                if let Some(at) = change.passed_by.filter(|_| is_one) {
                    change.set_passed(leg.state.value_of(command, at));
                }
                propose(leg, Box::new(change));
            }
        }
        _ => {}
    }
}

/// The command that runs is brought to the front of the backlog, to be sent once more.
pub fn send_once_more(control: &Control, io: &mut Io, flight: &mut Flight, mut command: Vec<u8>) {
    let paused = control.running.pause();
    let flight = flight.begin();
    flight.forget_sent();
    flight.paused = paused;
    command.append(&mut io.backlog);
    io.backlog = command;
}

/// A command that changes this if it succeeds is on its way.
pub fn propose(leg: &mut Leg, mut change: Box<Change>) {
    if let Some(calls) = &mut change.calls {
        calls.begin(Instant::now().into_std());
    }
    // The one before has not been answered. That it is in vain to stay does no harm.
    if let Some(before) = leg.flight.begin().proposed.replace(change) {
        leg.links.note_left(&mut leg.state, before.marks, None);
    }
}

/// Sends parts to the backend in use, which knows the statement by this number.
pub(crate) async fn send_parts(
    worker: &Worker,
    leg: &mut Leg,
    known_as: u32,
    mut parts: Vec<u8>,
) -> Result<(), Ending> {
    let mut rest = &mut parts[..];
    while let Some(command) = Command::first(rest, leg.state.identity.capabilities) {
        let len = command.packet().len();
        note_prepared(leg, command);
        renumber(rest.get_mut(HEADER_LEN..).unwrap_or_default(), known_as);
        rest = rest.get_mut(len..).unwrap_or_default();
    }
    note_at_server(worker, Kind::SendLongData);
    poll_fn(|cx| Poll::Ready(leg.links.send(cx, &parts))).await
}

/// What is kept of a statement that is prepared.
pub fn preparing(entry: &BookEntry, leg: &mut Leg, text: &[u8], decided: &mut Decided) -> Preparing {
    let kill = PreparedKill::of(text);
    if kill.is_some() {
        leg.state.past |= Past::PREPARED_KILL;
    }
    let moves = !has_one_way(&entry.worker, &leg.state)
        || logs(&entry.worker)
        || shares(entry, &leg.state, decided.hostgroup());
    let (digest, mut change) = (decided.digest(), decided.change.take());
    if let Some(change) = change.as_mut().filter(|_| leg.state.identity.keeps_definitions()) {
        change.without_definitions();
    }
    if let Some(link) = leg.links.state_mut() {
        link.note_prepared(change.as_deref());
    }
    let shown = |digest| {
        let new = || digest_text(&entry.worker, digest, text, decided);
        entry.worker.counts.digests.table.borrow().text(digest).unwrap_or_else(new)
    };
    let digest_text = digest.map(shown).unwrap_or_default();
    let (modes, meaning) = leg.state.meaning_at(leg.links.at(decided.hostgroup())).unzip();
    let text = entry.worker.texts.keep(text);
    let entry = text.as_ref().and_then(|text| {
        let Worker { ledger, texts, .. } = &*entry.worker;
        ledger.entry(&leg.state.caller, text, digest.unwrap_or(0), texts)
    });
    Preparing {
        text,
        entry,
        moves,
        digest,
        is_rewritten: decided.is_rewritten,
        plan: decided.plan,
        modes: modes.unwrap_or(NO_MODES),
        meaning,
        digest_text,
        change: change.map(|change| *change),
        kill,
        caller: Arc::clone(&leg.state.caller),
        screened: decided.screened,
    }
}

/// Puts a text in the place of that in the command that `front` begins with. Of a larger one there
/// is no whole text that a rule could have seen.
pub(crate) fn rewrite(front: &mut Vec<u8>, caps: Capabilities, text: &[u8]) {
    let command = Command::first(front, caps).filter(Command::is_whole);
    let part = command.map(|command| (command.payload().len(), command.text().len()));
    if let Some((end, len)) = part {
        splice(front, end - len..end, text);
    }
}
