//! What a command needs before it can be sent.

use std::rc::Rc;

use command::Command;
use reply::withhold::Withhold;
use runtime::decided::Decided;
use runtime::limits::{BATCHED_BYTES_MAX, EXPLAINED_BYTES_MAX};
use runtime::worker::Worker;
use session::limits::OWN_STATEMENT_BYTES_MAX;
use session::link::Loss;
use session::statement;
use session::statement::{Kill, Own};
use sql::StatementKind;
use sql::shape::Effects;
use upstream::Candidate;
use wire::command::{Kind, ProcessKill};
use wire::frame::MessageScanner;
use wire::{Codec as _, StatusFlags};

use crate::facts::kills::{own_kill, prepared_kill, takes_several_statements};
use crate::facts::screened::is_watched;
use crate::hidden::Batched;
use crate::leg::Leg;
use crate::state::{Past, SessionState};

/// The command that `input` begins with, which was decided about and waits for a connection, if
/// it may go out together with others.
pub fn batchable(worker: &Worker, leg: &mut Leg, input: &[u8]) -> Option<Candidate> {
    if worker.settings().upstream.statements_together < 2 {
        return None;
    }
    let decided = leg.flight.decided.as_ref().filter(|decided| {
        decided.plan.kind == StatementKind::Select
            && decided.is_plain_read()
            && !decided.plan.effects.intersects(STAYS_ALONE)
            && decided.change.is_none()
            && decided.orders.is_none()
    })?;
    let digest = decided.digest()?;
    let is_usual = leg.state.status.contains(StatusFlags::AUTOCOMMIT)
        && !leg.state.status.contains(StatusFlags::IN_TRANSACTION)
        && leg.links.away.is_admitted
        && leg.links.is_unpinned()
        && leg.state.gtids.is_none()
        && !leg.flight.taps.compares()
        && worker.front.rate_to_client().is_none();
    let command = Command::first(input, leg.state.identity.capabilities)?;
    if !matches!(command.kind, Kind::Query | Kind::StmtExecute) {
        return None;
    }
    let is_one =
        || MessageScanner::new(0).scan(input).is_ok_and(|scanned| scanned.done && scanned.len == input.len());
    if !is_usual || input.len() > BATCHED_BYTES_MAX || !is_one() {
        return None;
    }
    let batchable =
        worker.upstream.history.is_known(digest).then(|| candidate(&leg.state, command)).flatten();
    let command = batchable.as_ref().map(|batchable| match batchable.execution {
        None => Rc::clone(&batchable.command),
        // Sent once more, it is for whatever connection has it then.
        Some(_) => input.into(),
    });
    leg.flight.begin().batched =
        Some(Batched { digest, command, begun: None, reply: Withhold::default(), is_marred: false });
    batchable
}

/// Whether the command in the backlog is a read that may be sent before its reader has said
/// that it has writes. Nothing but a reply comes of such a read: it can be dropped.
///
/// A reader that lacked writes when it was asked last is asked alone: the read would be run in
/// vain. So is one that is not waited for, as the reply takes time. The connection may be given
/// up with the reply: a session that would lose something with it asks alone, too.
pub(crate) fn may_ask_ahead(worker: &Worker, leg: &Leg, kind: Kind, decided: &Decided) -> bool {
    let Leg { state, links, flight } = leg;
    let status = state.status;
    let is_alone = status.contains(StatusFlags::AUTOCOMMIT) && !status.contains(StatusFlags::IN_TRANSACTION);
    decided.is_split()
        && decided.is_plain_read()
        && is_alone
        && state.trace.is_none()
        && flight.is_one_command(state, kind)
        && !leg.session().is_bound_to(decided.hostgroup())
        && links.loss(state) == Loss::Nothing
        && !worker.settings().causal.wait.is_zero()
        && links.connection().is_some_and(upstream::Connection::may_pipeline)
        && !links.is_reader_late(worker)
}

/// Whether a command is not simply forwarded, even when there is a backend.
pub fn is_own(worker: &Worker, leg: &Leg, command: Command<'_>) -> bool {
    matches!(command.kind, Kind::Quit | Kind::ChangeUser) || look(worker, leg, command) != Look::Plain
}

/// Looks for connection ids in a command.
pub fn look(worker: &Worker, leg: &Leg, command: Command<'_>) -> Look {
    let may_be_ours = match (command.kind, command.is_there()) {
        _ if command.payload_len() > own_bytes_max(command) => false,
        (Kind::ProcessKill | Kind::ProcessInfo, _) | (Kind::StmtPrepare, false) => true,
        (Kind::StmtExecute, false) => leg.state.past.contains(Past::PREPARED_KILL),
        (Kind::StmtExecute, true) => prepared_kill(worker, &leg.state, command).is_some(),
        (Kind::Query, true) => statement::may_be_own(command.text()),
        (Kind::Query, false) => statement::may_become_own(command.text()),
        (Kind::StmtPrepare, true) => statement::naming::has_id(command.payload()),
        _ => false,
    };
    if !may_be_ours {
        return Look::Plain;
    }
    if !command.is_there() {
        return Look::Cut;
    }
    let ours = match command.kind {
        Kind::ProcessKill => ProcessKill::decode(command.payload(), command.caps)
            .map(|command| Kill::connection(command.connection_id))
            .ok()
            .filter(Kill::is_of_a_session)
            .map(Own::Kill),
        Kind::Query => own_statement(worker, &leg.state, command.text()),
        Kind::StmtExecute => prepared_kill(worker, &leg.state, command),
        Kind::ProcessInfo => Some(Own::Processes { is_full: false }),
        _ => None,
    };
    let ours = ours.filter(|own| !leg.flight.needs_no_more(*own));
    let ours = ours.or_else(|| leg.links.names_threads(worker, command).then_some(Own::Naming));
    ours.map_or(Look::Plain, Look::Ours)
}

/// What the session would send.
pub(crate) fn candidate(state: &SessionState, command: Command<'_>) -> Option<Candidate> {
    if command.kind == Kind::Query {
        return Some(state.candidate(command.packet().into(), None));
    }
    let (packet, execution) = state.execution(command)?;
    Some(state.candidate(packet, Some(Rc::new(execution))))
}

/// Effects of statements that are not sent together with others, though they may be executed twice.
pub(crate) const STAYS_ALONE: Effects = Effects::NEEDS_LAST_INSERT_ID.union(Effects::COUNTS_ROWS);

/// What a statement is to the proxy, in this session.
pub(crate) fn own_statement(worker: &Worker, state: &SessionState, text: &[u8]) -> Option<Own> {
    match statement::judge(text) {
        // Where texts are judged, the server gets the client's, and refuses an id that it does
        // not know.
        Some(Own::KillAndMore) => {
            (takes_several_statements(state) && !is_watched(worker, state)).then_some(Own::KillAndMore)
        }
        Some(Own::KillOwn(kill)) => Some(Own::Kill(own_kill(state, kill))),
        own => own,
    }
}

/// Bytes of the longest command that is looked at, with the beginning of this one.
pub(crate) fn own_bytes_max(command: Command<'_>) -> u32 {
    if command.kind == Kind::Query && statement::begins_like_explain(command.text()) {
        EXPLAINED_BYTES_MAX
    } else {
        OWN_STATEMENT_BYTES_MAX
    }
}

/// The text of a command that may name sessions.
pub(crate) fn naming(command: Command<'_>) -> Option<&[u8]> {
    matches!(command.kind, Kind::Query | Kind::StmtPrepare).then(|| command.text())
}

/// What a command is to the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// The server's.
    Plain,
    /// Not complete, and maybe one of ours.
    Cut,
    /// The proxy answers it itself.
    Ours(Own),
}
