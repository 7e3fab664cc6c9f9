//! What is counted, logged, traced and copied of statements.

use std::rc::Rc;
use std::sync::Arc;

use command::Command;
use observe::counts::Counter;
use observe::digests::Place;
use observe::rows::NO_HOSTGROUP;
use observe::running::{Measured, Paused, Traced};
use reply::compare::{Compare, Half};
use route::limits::JUDGED_BYTES_MAX;
use route::{Account, Branches, Cached, Route};
use runtime::cached::asked::row;
use runtime::counted::is_question;
use runtime::decided::Decided;
use runtime::mirror::Copy;
use runtime::mirror::submit::submit;
use runtime::worker::Worker;
use session::state::trackers::told_in;
use session::statement::set_use::{SetOf, set_of};
use sql::StatementKind;
use tokio::time::Instant;
use upstream::{Reply, Run};
use wire::command::Kind;
use wire::frame::HEADER_LEN;
use wire::reply::End;

use crate::digest::{digest_text, know_who};
use crate::entry::BookEntry;
use crate::facts::screened::{note_ruling, note_sighting};
use crate::flight::Flight;
use crate::hidden::Batched;
use crate::io::Io;
use crate::leg::Leg;
use crate::measure::note_at_server;
use crate::state::SessionState;
use crate::traced::traced;
use crate::upload::Upload;

/// The statement is over.
#[inline]
pub fn note_statement_over(worker: &Worker, state: &SessionState, flight: &mut Flight) {
    let batched = flight.as_mut().and_then(|flight| flight.batched.take());
    let Some(batched @ Batched { begun: Some(begun), .. }) = batched else { return };
    let is_marred = batched.is_marred
        || state
            .last
            .ran
            .end
            .is_none_or(|end| !matches!(end, End::Ok { warnings: 0, .. } | End::Eof { warnings: 0, .. }));
    let time = begun.elapsed();
    worker.upstream.history.note(batched.digest, Run { time, bytes: batched.reply.bytes(), is_marred });
}

/// Where a command is counted that the backend in use gets; nothing if it is no statement to be
/// executed.
pub(crate) fn place(
    entry: &BookEntry,
    state: &mut SessionState,
    command: Command<'_>,
    decided: &Decided,
) -> Option<Place> {
    let hostgroup = state.here;
    match command.kind {
        Kind::Query => {
            let digest = decided.digest()?;
            know_who(&entry.worker, state);
            let (worker, text) = (&entry.worker, command.text());
            worker.followed.begin(&worker.shared.cache, entry.control.id(), &state.caller, digest, text);
            let who = state.who.as_ref()?;
            let text = || digest_text(&entry.worker, digest, text, decided);
            entry.worker.counts.digests.table.borrow_mut().enter(who, hostgroup, digest, text)
        }
        Kind::StmtExecute | Kind::StmtBulkExecute => {
            // It may have been prepared before digests were switched off.
            entry.worker.routing.borrow().routes().digests.as_ref()?;
            know_who(&entry.worker, state);
            let who = state.who.as_ref()?;
            let what = state.executed(command)?;
            if what.digest_text.is_empty() {
                return None;
            }
            let text = || Arc::clone(&what.digest_text);
            entry.worker.counts.digests.table.borrow_mut().enter(who, hostgroup, what.digest?, text)
        }
        _ => None,
    }
}

/// Where a command is counted that the query cache answers.
pub fn place_of_hit(
    entry: &BookEntry,
    state: &mut SessionState,
    command: Command<'_>,
    decided: &Decided,
) -> Option<Place> {
    let digest = decided.digest()?;
    know_who(&entry.worker, state);
    if command.kind == Kind::Query {
        let (worker, text) = (&entry.worker, command.text());
        worker.followed.begin(&worker.shared.cache, entry.control.id(), &state.caller, digest, text);
    }
    let who = state.who.as_ref()?;
    let text = || match state.named(command).filter(|_| command.kind == Kind::StmtExecute) {
        Some(prepared) => Arc::clone(&prepared.what.digest_text),
        None => digest_text(&entry.worker, digest, command.text(), decided),
    };
    entry.worker.counts.digests.table.borrow_mut().enter(who, NO_HOSTGROUP, digest, text)
}

/// Takes note of what a reply to an internal query tells.
pub(crate) fn note_internal(worker: &Worker, leg: &mut Leg, reply: &Reply) {
    if let Some(link) = leg.links.state_mut() {
        leg.state.note_status(reply.outcome, link);
    }
    collect(worker, &mut leg.state, reply);
    leg.state.note_tracked(&reply.bytes, reply.outcome);
}

/// Takes note of a transaction that an answer tells.
pub(crate) fn collect(worker: &Worker, state: &mut SessionState, reply: &Reply) {
    let Some(gtids) = &mut state.gtids else { return };
    if let Some(gtid) = reply.bytes.get(HEADER_LEN..).and_then(told_in) {
        let hostgroup = state.here;
        gtids.note(hostgroup, worker.cluster_of(hostgroup), gtid);
        worker.counts.note(Counter::GtidCollected);
    }
}

/// The same for a command that is sent to the backend, of which some bytes may not have come
/// yet.
pub fn begin_sent(entry: &BookEntry, state: &SessionState, measured: Measured, command: Command<'_>) {
    let payload = command.payload();
    let missing = (command.payload_len() as usize).saturating_sub(payload.len());
    entry.begin_running(measured, state.shown(&entry.worker, command));
    entry.control.running.note_missing(missing);
    if measured.kind == Kind::StmtExecute && missing == 0 {
        entry.control.running.keep_execution(&entry.worker.shown, payload);
    }
    entry.control.running.statement.set(state.executed_id(command));
}

/// Has a copy of the command run that is being sent, if its rules want one. Of one that is so
/// long that rules do not see its end there is none.
pub fn mirror(
    worker: &Rc<Worker>,
    state: &SessionState,
    flight: &mut Flight,
    command: Command<'_>,
    upload: &Upload,
    decided: &Decided,
) {
    let Route::Many(branches) = &decided.route else { return };
    let Branches { copy: mirror, compare, .. } = **branches;
    if command.kind != Kind::Query {
        return;
    }
    let text = command.text();
    if !upload.complete || text.len() > JUDGED_BYTES_MAX {
        return worker.counts.note(Counter::CopiesDropped);
    }
    let text: Box<[u8]> = text.into();
    let halves = compare.then(|| Half::pair(decided.digest())).unzip();
    let (original, compared) = halves;
    if let Some(half) = original {
        let (hostgroup, caps) = (state.here, state.identity.capabilities);
        flight.begin().taps.set_compare(Compare::new(half, hostgroup, caps, upload.next_seq()));
    }
    let copy = Copy {
        text,
        mirror,
        identity: state.identity.for_copies(0, state.caller.schema()),
        caller: Arc::clone(&state.caller),
        client_addr: state.client_addr.clone(),
        // The listener says where statements go, not where their copies do.
        account: Account { listener: None, ..*state.account },
        reading: state.reading(),
        compared,
    };
    submit(worker, copy);
}

/// Takes note of a command that is sent.
#[inline]
pub fn note_traced(entry: &BookEntry, state: &SessionState, command: Command<'_>, decided: &Decided) {
    if entry.worker.is_tracing.get() {
        entry.control.running.trace(traced(&entry.worker, state, command, Some(decided)));
    }
}

/// The same of a command that no server gets.
#[inline]
pub fn note_traced_here(
    entry: &BookEntry,
    state: &SessionState,
    command: Command<'_>,
    decided: Option<&Decided>,
) {
    if entry.worker.is_tracing.get() {
        entry.control.running.trace(traced(&entry.worker, state, command, decided));
    }
}

/// Takes note of a command that waits for a connection since then. Commands without a span are
/// left out: some have no reply, and the note would belong to the next command.
#[inline]
pub(crate) fn note_traced_wait(
    entry: &BookEntry,
    state: &SessionState,
    command: Command<'_>,
    since: Instant,
) {
    if entry.worker.is_tracing.get() && is_question(command.kind) {
        let known = traced(&entry.worker, state, command, None);
        let waiting = Traced { waiting_since: Some(since), ..known };
        entry.control.running.trace(waiting);
    }
}

/// Where a statement in the backlog is counted that the proxy answers itself; nothing if it has
/// no digest.
pub(crate) fn place_here(
    worker: &Worker,
    io: &mut Io,
    state: &mut SessionState,
    flight: &mut Flight,
    kind: Kind,
) -> Option<Place> {
    let digest = flight.digest.filter(|_| kind == Kind::Query)?.get();
    know_who(worker, state);
    let who = state.who.as_ref()?;
    let text = io.command(state.identity.capabilities).map_or(&[][..], |command| command.text());
    let text = || worker.routing.borrow_mut().shown_of(digest, text).into();
    worker.counts.digests.table.borrow_mut().enter(who, NO_HOSTGROUP, digest, text)
}

/// Counts a command that the backend gets. Of a long one the beginning is there. One that was
/// `paused` was counted as one of the client's before.
pub fn measure(
    entry: &BookEntry,
    leg: &mut Leg,
    command: Command<'_>,
    decided: &Decided,
    paused: Option<&Paused>,
) -> Measured {
    let kind = command.kind;
    let own = match paused {
        Some(paused) => Measured { statement: paused.measured.statement, ..Measured::plain(kind) },
        None if decided.is_counted => Measured::plain(kind),
        None => {
            note_ruling(&entry.worker, &leg.state, command, decided);
            note_sighting(&entry.worker, &leg.state, command, decided);
            note_uncached(&entry.worker, decided);
            entry.measure_as(command, decided.plan.statement())
        }
    };
    if is_question(kind)
        && let Some(backend) = &leg.links.in_use
    {
        backend.connection().note_query();
    }
    let place = place(entry, &mut leg.state, command, decided);
    let (digest, log) = (decided.digest(), decided.log());
    let bytes = u32::try_from(command.payload().len()).unwrap_or(u32::MAX);
    note_at_server(&entry.worker, kind);
    if own.statement == Some(StatementKind::Set) && set_of(command.text()) == SetOf::Names {
        entry.worker.counts.note(Counter::ServerSetNames);
    }
    Measured { digest, log, place, bytes, ..own }
}

/// Counts why the answer to a command is not looked up, if it was to be.
fn note_uncached(worker: &Worker, decided: &Decided) {
    let Some(Cached { policy, refused: Some(refusal) }) =
        decided.orders.as_ref().and_then(|orders| orders.cached)
    else {
        return;
    };
    let row = row(&policy, decided);
    worker.counts.cache.borrow_mut().refused(row, refusal);
}
