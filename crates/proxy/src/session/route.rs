//! Commands that are being sent: what is kept of them.

use command::Command;
use legs::entry::BookEntry;
use legs::facts::causal::note_causal;
use legs::facts::executions::{note_prepared, preparing, propose};
use legs::facts::kills::begin_listing;
use legs::leg::Leg;
use legs::state::Past;
use runtime::decided::Decided;
use runtime::limits::PREPARED_BYTES_MAX;
use runtime::prepared::Prepared;
use runtime::worker::Worker;
use session::change::Change;
use tokio::time::Instant;
use wire::command::Kind;
use wire::frame::MAX_PAYLOAD;

use crate::session::facts::writes::note_write;
use crate::state::{Mark, Pin};

/// Takes note of a command that is being sent to the backend.
pub(super) fn note_sent(
    entry: &BookEntry,
    leg: &mut Leg,
    command: Command<'_>,
    is_whole: bool,
    decided: &mut Decided,
) {
    let (kind, payload) = (command.kind, command.payload());
    if matches!(kind, Kind::Query | Kind::StmtExecute | Kind::StmtBulkExecute) {
        leg.state.last.ran.note(decided.plan, !leg.links.pipelined.is_empty());
        note_write(entry, leg, command, decided);
        note_causal(&entry.worker, leg, decided);
    }
    if let Some(multiplex) = decided.verdict().and_then(|verdict| verdict.multiplex)
        && let Some(link) = leg.links.state_mut()
    {
        link.note_multiplex(multiplex, decided.change.as_deref_mut());
    }
    if let Some(unseen) = decided.change.as_mut().and_then(|change| change.unseen.take()) {
        let calls = unseen.at(Instant::now().into_std());
        leg.links.note_left(&mut leg.state, vec![Mark::begin(Pin::Function)], calls);
    }
    if kind == Kind::RegisterReplica {
        leg.state.past |= Past::REPLICA;
    }
    if let Some(change) = changes(command) {
        propose(leg, change.into());
    }
    match kind {
        Kind::Query => match decided.change.take() {
            // The replies in front of its own say nothing of it: what it leaves counts at once.
            Some(change) if !leg.links.pipelined.is_empty() => {
                leg.links.note_left(&mut leg.state, change.marks, None);
            }
            Some(change) => propose(leg, change),
            None => {}
        },
        Kind::StmtPrepare => {
            let mut preparing = preparing(entry, leg, command.text(), decided);
            if !is_whole || payload.len() >= MAX_PAYLOAD {
                // Prepared anew, what is here of it would be another statement.
                preparing.forget_text();
            }
            leg.state.prepared.get_or_insert_default().expect(preparing);
            if leg.state.identity.keeps_definitions() {
                leg.flight.begin().taps.keep_definitions();
            }
        }
        _ if kind.names_statement() => {
            if kind == Kind::StmtExecute && leg.state.identity.keeps_definitions() {
                hear_execution(&entry.worker, leg, command, decided);
            }
            note_prepared(leg, command);
        }
        _ => {}
    }
    begin_listing(&leg.state, &mut leg.flight, command);
}

/// An execution is being sent for a client that keeps columns. What its answer tells of them
/// matters if the query cache may give the next one.
fn hear_execution(worker: &Worker, leg: &mut Leg, command: Command<'_>, decided: &Decided) {
    let is_cached = decided.orders.as_ref().is_some_and(|orders| orders.cached.is_some());
    let Some(all) = &mut leg.state.prepared else { return };
    if !is_cached {
        // Most tell columns with the first execution, if ever.
        let is_unheard = || command.statement().and_then(|id| all.get(id)).is_some_and(Prepared::is_unheard);
        if !worker.shared.cache.watches_writes() || !is_unheard() {
            return;
        }
    }
    if leg.links.pipelined.is_empty() {
        // The answer to the one before may not have come to its end.
        all.take_told();
    }
    leg.flight.begin().taps.keep_definitions();
}

/// The length of a statement that is to be prepared, comes in pieces, and is kept as a whole:
/// without the last ones it could not be prepared anew.
pub(super) fn len_to_complete(worker: &Worker, command: Command<'_>) -> Option<usize> {
    let max = worker.settings().variables.max_allowed_packet as usize;
    let len = command.payload_len() as usize;
    (!command.is_there() && !command.continues() && len <= max.min(PREPARED_BYTES_MAX)).then_some(len)
}

/// What a command that carries no statement changes for those behind it, if it succeeds.
fn changes(command: Command<'_>) -> Option<Change> {
    Some(match command.kind {
        Kind::InitDb => Change::of_schema(command.text()),
        Kind::SetOption => Change::of_option(command.payload()),
        // At MySQL it leaves warnings that its reply does not count.
        Kind::FieldList => Change::pinned(Pin::Warnings),
        Kind::ResetConnection => Change::of_reset(),
        Kind::ProcessInfo => Change::of_process_info(),
        Kind::RegisterReplica => Change::pinned(Pin::Replica),
        _ => return None,
    })
}
