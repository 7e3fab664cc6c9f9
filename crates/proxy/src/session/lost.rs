//! Servers that are lost while the session has a connection to one: what is lost with it, and what
//! the client hears.
//!
//! A session that has left nothing there goes on, unnoticed by its client. With a transaction it
//! goes on as well, outside of one: the next statement is answered with an error that says so. What
//! neither can be said again elsewhere nor is over with a transaction ends the session.

use cache::RowCounts;
use front::login::ok;
use legs::entry::BookEntry;
use legs::facts::endings::{code, error_text, told};
use legs::facts::executions::send_once_more;
use legs::facts::leases::{leave_nothing_running, lose_backend};
use legs::facts::places::go_on;
use legs::facts::replies::{flush_client, reply, reply_error, reply_stale};
use legs::flight::Flight;
use legs::io::Io;
use legs::leg::Leg;
use legs::state::SessionState;
use reply::errors::INTERRUPTED;
use runtime::control::Control;
use runtime::invariant::in_use;
use session::link::Loss;
use session::ran::Ran;
use session::unanswered::{Sent, Unanswered};
use upstream::{Target, query};
use wire::command::{Kind, statement_id};
use wire::{Capabilities, StatusFlags, frame};

use crate::counts::Counter;
use crate::ending::Ending;
use crate::error::{ClientError, Gone};
use crate::session::batched::is_together;
use crate::session::facts::cache::take_stale;

/// The server of the connection in use owes the answer to a command, of which the client has
/// seen nothing, and is lost. The answer begins with sequence id `seq`. Commands that were sent
/// behind it are lost, too.
pub(super) async fn outlive(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    gone: Gone,
    seq: u8,
) -> Result<(), Ending> {
    let backend = in_use(leg.links.in_use.as_ref())?;
    let server = backend.server().endpoint().clone();
    let is_off = note_lost(entry, &mut leg.state, gone);
    let loss @ (Loss::Nothing | Loss::Transaction) = leg.links.loss(&leg.state) else {
        let error = match gone {
            Gone::Closed | Gone::Refused | Gone::NotOnly => ClientError::server_lost(&server),
            Gone::Off(off) => ClientError::server_off(&server, off),
        };
        let ending = told(entry, &leg.state, &error, seq);
        if is_off {
            leave_nothing_running(entry, leg);
        }
        return Err(ending);
    };
    flush_client(entry, io, leg).await?;
    let (unanswered, refused) = (sent(&entry.control, leg).unanswered(), leg.flight.begin().refusal.take());
    let refusal = refused.map(|refused| refused.0);
    let (kind, again) =
        (entry.control.running.kind(), again(entry, &leg.state, &leg.flight, unanswered, refusal.as_deref()));
    let (command, outcome) = (kind.map_or("", Kind::name), unanswered.name());
    let error = refusal.as_deref().and_then(error_text).unwrap_or_default();
    tracing::info!(%server, %gone, command, outcome, error, again = again.is_some(), "a server is lost while it owes an answer");
    if is_off {
        leave_nothing_running(entry, leg);
    }
    let error = error_of(unanswered, &server, gone);
    let is_final = again.is_none() && refusal.is_none() && seq == 1;
    let stale = is_final.then(|| stale_instead_of(entry, leg, &error)).flatten();
    lose_backend(entry, leg);
    leg.flight.begin().forget_sent();
    leg.state.last.ran = Ran::default();
    if let Some((rows, _)) = stale {
        return reply_stale(entry, io, leg, rows).await;
    }
    if let Some(command) = again {
        let counts = refusal.is_none() && !is_together(&leg.flight);
        let flight = leg.flight.begin();
        flight.tries = flight.tries.saturating_add(u16::from(counts));
        send_once_more(&entry.control, io, &mut leg.flight, command);
        return Ok(());
    }
    let loses_nothing = loss == Loss::Nothing && unanswered != Unanswered::RolledBack;
    if kind == Some(Kind::Ping) && leg.links.pipelined.is_empty() && loses_nothing {
        // The proxy itself is alive.
        let ok = ok(leg.state.identity.capabilities, leg.state.status);
        reply(entry, io, &mut leg.state, seq, &ok).await?;
        entry.answered_here(&leg.links, 0);
        return Ok(());
    }
    let has_done_nothing = matches!(unanswered, Unanswered::Again | Unanswered::Nothing);
    let refusal = refusal.filter(|refusal| has_done_nothing && code(refusal).is_some());
    refuse_lost(entry, io, leg, seq, refusal.as_deref(), &error).await
}

/// A server that owes an answer is lost: counts it. Whether it was switched off.
fn note_lost(entry: &BookEntry, state: &mut SessionState, gone: Gone) -> bool {
    let is_off = matches!(gone, Gone::Off(_));
    entry.worker.counts.note(if is_off { Counter::OfflineDuringQuery } else { Counter::ServersAborted });
    if let Some(prepared) = &mut state.prepared {
        prepared.forget_awaited();
    }
    is_off
}

/// What the client is told of a command whose server is lost.
fn error_of(unanswered: Unanswered, server: &Target, gone: Gone) -> ClientError {
    match unanswered {
        Unanswered::Again | Unanswered::Nothing => ClientError::nothing_done(server, gone),
        Unanswered::RolledBack => ClientError::transaction_lost(server, gone),
        Unanswered::Unknown => ClientError::outcome_unknown(server, gone),
    }
}

/// Answers the command that runs, and those that were sent behind it, with the server's
/// `refusal`, else with this error.
async fn refuse_lost(
    entry: &BookEntry,
    io: &mut Io,
    leg: &mut Leg,
    mut seq: u8,
    refusal: Option<&[u8]>,
    error: &ClientError,
) -> Result<(), Ending> {
    loop {
        match refusal {
            Some(refusal) => reply(entry, io, &mut leg.state, seq, refusal).await?,
            None => reply_error(entry, io, &mut leg.state, seq, error).await?,
        }
        entry.answered_here(&leg.links, refusal.and_then(code).unwrap_or_else(|| error.code()));
        seq = 1;
        if !go_on(&entry.control, leg) {
            return Ok(());
        }
    }
}

/// Writes the stale answer that the client gets in place of this error into the worker's buffer, if
/// there is one. Returns the numbers of its rows and bytes.
fn stale_instead_of(entry: &BookEntry, leg: &mut Leg, error: &ClientError) -> Option<(RowCounts, usize)> {
    let is_alone = leg.links.pipelined.is_empty() && !entry.control.overdue.get();
    if is_alone && error.is_no_answer() {
        take_stale(&entry.worker, &leg.state, &mut leg.flight, error)
    } else {
        None
    }
}

/// What was sent and not answered.
fn sent(control: &Control, leg: &Leg) -> Sent {
    Sent {
        kind: control.running.kind(),
        ran: leg.state.last.ran,
        is_last: leg.links.pipelined.is_empty(),
        // What was said in front of it may have switched autocommit on.
        status: leg.state.status
            | if leg.links.has_setup() { StatusFlags::AUTOCOMMIT } else { StatusFlags::empty() },
        only_sets: leg.flight.proposed.as_ref().is_some_and(|change| change.only_sets()),
    }
}

/// The command that was not answered, to be sent once more, if it may be. If it is lost because
/// its server has refused what was said in front of it, that is no failure of the server, but
/// it may be what a KILL has hit.
fn again(
    entry: &BookEntry,
    state: &SessionState,
    flight: &Flight,
    unanswered: Unanswered,
    refusal: Option<&[u8]>,
) -> Option<Vec<u8>> {
    let usual = || entry.worker.settings().variables.query_retries_on_failure;
    let is_killed = entry.control.overdue.get() || refusal.and_then(code) == Some(INTERRUPTED);
    let most = match refusal {
        Some(_) if is_killed => 0,
        Some(_) => u32::MAX,
        // It may be what others have sent that the server has not borne. It goes on alone.
        None if is_together(flight) && !is_killed => u32::MAX,
        None => flight.retries.unwrap_or_else(usual),
    };
    if unanswered != Unanswered::Again || u32::from(flight.tries) >= most || flight.taps.compares() {
        return None;
    }
    let running = &entry.control.running;
    command_that_runs(state, &entry.control, state.identity.capabilities, running.kind()?, running.bytes()?)
}

/// The command that runs, of this kind and so many bytes, as a packet of the client's, if all of it
/// is known.
pub(super) fn command_that_runs(
    state: &SessionState,
    control: &Control,
    caps: Capabilities,
    kind: Kind,
    bytes: usize,
) -> Option<Vec<u8>> {
    let running = &control.running;
    let (text, len) = running.text(usize::MAX);
    let is_whole = !text.is_empty() && text.len() as u64 == len;
    let payload = match kind {
        Kind::Query if is_whole => query(caps, &text),
        Kind::StmtPrepare if is_whole => [&[Kind::StmtPrepare as u8][..], &text].concat(),
        Kind::StmtExecute => {
            let payload = running.execution();
            // Its values went before it.
            let prepared = state.statement(statement_id(&payload)?);
            prepared.filter(|prepared| !prepared.ran_with_parts())?;
            payload
        }
        _ => return None,
    };
    // What a statement had besides its text is not there any more.
    if payload.len() != bytes {
        return None;
    }
    Some(frame::command(&payload))
}
