//! Preparing statements at servers: anew where they are not, and for the client where other
//! statements have their numbers.

use command::Command;
use runtime::decided::Decided;
use runtime::invariant::broken;
use runtime::prepared::Prepared;
use runtime::worker::Worker;
use session::change::Change;
use session::definitions::Definitions;
use session::link::LinkState;
use session::places::Came;
use sql::shape::Effects;
use upstream::{Kept, Known, Reply};
use wire::command::{Kind, STATEMENT_ID};
use wire::frame::{HEADER_LEN, MAX_PAYLOAD};
use wire::reply::Answer;

use super::close::close_here;
use super::cx::Cx;
use super::entry::BookEntry;
use super::facts::asking::{ask_server, forget_warnings};
use super::facts::executions::preparing;
use super::facts::records::{measure, note_traced};
use super::facts::replies::write_to_client;
use super::facts::sharing::may_leave_diagnostics;
use super::kept_error::leave_diagnostics;
use super::leg::Leg;
use super::links::Links;
use super::state::SessionState;
use super::stop::Stop;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::session::backlog::{complete_front, skip_command};
use crate::session::measure::note_at_server;
use crate::session::reply::refuse_counted;
use crate::state::substitute::with_numbers;
use crate::state::typed::Typed;
use crate::state::{Mark, Pin};

/// Why a statement could not be prepared at a server.
pub(super) enum NotPrepared {
    /// The server says so: the payload of its ERR packet.
    Refused(Vec<u8>),
    /// The connection is lost.
    Lost(ClientError),
    /// It has other parameters or columns there, or has got them since, or would be another one.
    Changed,
    /// Its text is not kept.
    Cannot,
}

impl Cx<'_> {
    /// Prepares the statement in the backlog, and names it to the client by a number that no other
    /// one has.
    pub(super) async fn prepare_for_client(&mut self, decided: &mut Decided) -> Result<(), Stop> {
        complete_front(self.entry, self.io, self.leg).await?;
        let copied = self.io.command(self.leg.state.identity.capabilities).filter(Command::is_whole);
        let Some(copied) = copied.map(|command| command.copied()) else {
            let max = u32::try_from(MAX_PAYLOAD).unwrap_or(u32::MAX);
            let error = ClientError::PacketTooLarge { max };
            return Err(Stop::refused(error));
        };
        let command = copied.command();
        self.leg.state.note_prepared_load(command.text());
        let paused = self.leg.flight.as_mut().and_then(|flight| flight.paused.take());
        let measured =
            measure(self.entry, &mut self.leg.state, &self.leg.links, command, decided, paused.as_ref());
        decided.is_counted = true;
        self.entry.begin_running(measured, command.text());
        note_traced(self.entry, &self.leg.state, command, decided);
        if let Some(paused) = paused {
            self.entry.control.running.resume(&paused);
        }
        let question = [(command.payload().to_vec(), Answer::Prepare)];
        let replies = match ask_server(self.entry, self.leg, &question).await? {
            Ok(replies) => replies,
            Err(_) if self.leg.flight.tries_again(decided) => {
                self.entry.end_running(&self.leg.links);
                return Err(Stop::Elsewhere);
            }
            Err(error) => return Ok(refuse_counted(self.entry, self.io, self.leg, &error).await?),
        };
        skip_command(self.entry, self.io, self.leg).await?;
        let preparing =
            preparing(self.entry, &mut self.leg.state, &mut self.leg.links, command.text(), decided);
        let Some(mut reply) = replies.into_iter().next() else {
            return Err(broken("a PREPARE without its reply").into());
        };
        let hostgroup = self.leg.state.here;
        if let Some(statement) = reply.prepared
            && let (Some(all), Some(link)) = (&mut self.leg.state.prepared, self.leg.links.connection_mut())
        {
            let told = self.leg.state.identity.keeps_definitions().then(|| Definitions::of(&reply.bytes));
            link.statements_mut().note(statement, preparing.known(told));
            if statement.warnings > 0 {
                link.state_mut().pins.note(Mark::begin(Pin::Warnings));
            }
            let id = all.client_id(statement.id);
            all.enter(id, preparing, (hostgroup, link.state_mut()), statement, told);
            if let Some(bytes) =
                reply.bytes.get_mut(HEADER_LEN + STATEMENT_ID.start..HEADER_LEN + STATEMENT_ID.end)
            {
                bytes.copy_from_slice(&id.to_le_bytes());
            }
            self.entry.control.running.set_statement(id);
        }
        self.entry.answered_at_server(&self.leg.links, &reply);
        if reply.error().is_some() {
            self.leg.state.note_error(self.leg.links.state_mut());
            self.leg.state.note_failed(Some(&reply.bytes));
            if let Some(all) = &mut self.leg.state.prepared {
                all.forget_last();
            }
        }
        Ok(write_to_client(self.entry, self.io, &mut self.leg.state, &reply.bytes).await?)
    }
}

/// Prepares them there; from then on they bind the connection to the session. Those that the
/// server refuses now, while tables are locked, say, the client has to prepare again. An error
/// if the connection is lost with that.
pub(super) async fn prepare_before(
    entry: &BookEntry,
    leg: &mut Leg,
) -> Result<Result<(), ClientError>, Ending> {
    if leg.links.has_warnings() && may_leave_diagnostics(entry, &leg.state, &leg.links) {
        // To prepare them takes away what the client may ask about.
        leave_diagnostics(entry, leg).await?;
        if leg.links.in_use.is_none() {
            return Ok(Ok(()));
        }
    }
    let (hostgroup, modes) = (leg.state.here, leg.state.modes());
    let all = leg.state.prepared.as_ref();
    let missing = all.map(|all| all.missing_at(hostgroup, leg.links.state(), modes));
    let mut is_refused = false;
    for id in missing.unwrap_or_default() {
        if leg.links.reuses_for_good(&leg.state, id) {
            continue;
        }
        close_here(entry, &mut leg.state, &mut leg.links, id).await?;
        // What it asks about is known there when it is executed: it stays on this connection.
        match prepare_as(entry, leg, id, None).await? {
            Err(NotPrepared::Lost(error)) => return Ok(Err(error)),
            Err(NotPrepared::Refused(_)) => is_refused = true,
            _ => {}
        }
    }
    if is_refused && leg.links.in_use.is_some() {
        // The client has not been refused anything.
        forget_warnings(entry, leg).await?;
    }
    Ok(Ok(()))
}

/// Prepares a statement at the backend in use, to be executed next; the number that it has
/// there, or why it has none.
pub(super) async fn prepare_again(
    entry: &BookEntry,
    leg: &mut Leg,
    id: u32,
) -> Result<Result<u32, NotPrepared>, Ending> {
    let told = leg.links.text_with_answers(&leg.state, id);
    prepare_as(entry, leg, id, told).await
}

/// Prepares it with this text, which is good for one execution, or as it is.
async fn prepare_as(
    entry: &BookEntry,
    leg: &mut Leg,
    id: u32,
    told: Option<Vec<u8>>,
) -> Result<Result<u32, NotPrepared>, Ending> {
    let modes = leg.state.modes();
    let prepared = leg.state.prepared.as_ref().and_then(|all| all.get(id));
    if prepared.is_some_and(|one| one.what.text.is_some() && !one.is_preparable_in(modes)) {
        return Ok(Err(NotPrepared::Changed));
    }
    let Some(text) = told.as_deref().or_else(|| prepared?.what.text.as_deref()) else {
        return Ok(Err(NotPrepared::Cannot));
    };
    let command = ([&[Kind::StmtPrepare as u8][..], text].concat(), Answer::Prepare);
    note_at_server(&entry.worker, Kind::StmtPrepare);
    let mut replies = match ask_server(entry, leg, &[command]).await? {
        Ok(replies) => replies,
        Err(error) => return Ok(Err(NotPrepared::Lost(error))),
    };
    let Some(reply) = replies.pop() else { return Ok(Err(NotPrepared::Cannot)) };
    note_placed(&entry.worker, &leg.state, &mut leg.links, id, reply, told.is_some()).await
}

/// The backend in use has answered when it was to prepare a statement; the number that it has
/// there, or why it has none.
async fn note_placed(
    worker: &Worker,
    state: &SessionState,
    links: &mut Links,
    id: u32,
    reply: Reply,
    is_told: bool,
) -> Result<Result<u32, NotPrepared>, Ending> {
    let Some(statement) = reply.prepared else {
        let refusal = reply.bytes.get(HEADER_LEN..).map(<[u8]>::to_vec);
        return Ok(Err(refusal.map_or(NotPrepared::Cannot, NotPrepared::Refused)));
    };
    if let Some(backend) = &mut links.in_use {
        let prepared = state.prepared.as_ref().and_then(|all| all.get(id));
        let entry = prepared.and_then(Prepared::entry).cloned();
        let origin = prepared.and_then(Prepared::origin);
        backend.connection_mut().statements_mut().note(statement, Known { origin, entry });
    }
    let change = state.prepared.as_ref().and_then(|all| all.get(id)?.what.change.clone());
    if let Some(link) = links.state_mut() {
        link.note_prepared(change.as_ref());
    }
    let same = state.prepared.as_ref().is_some_and(|all| all.is_same(id, statement, &reply.bytes));
    if !same {
        // It must not be executed there.
        links.close_as(worker, statement.id).await?;
        return Ok(Err(NotPrepared::Changed));
    }
    if let (Some(all), Some(link)) = (&state.prepared, links.state_mut()) {
        let came = if is_told { Came::ForOnce } else { Came::Prepared };
        all.add_place(id, link, statement, came);
    }
    Ok(Ok(statement.id))
}

impl Links {
    /// Whether the command changes what texts mean, while statements that were prepared before are
    /// not at the connection to its hostgroup: they would be prepared as other ones afterwards.
    pub(super) fn has_to_prepare(
        &self,
        kept: &Kept,
        state: &SessionState,
        command: Command<'_>,
        decided: &Decided,
    ) -> bool {
        let Some(all) = &state.prepared else { return false };
        let change = match command.kind {
            Kind::StmtExecute | Kind::StmtBulkExecute => state.prepared_change(command),
            // What it changes is changed when it is executed.
            Kind::StmtPrepare => None,
            _ => decided.change.as_deref(),
        };
        let sets_modes =
            |change: &Change| change.sets_modes() || change.runs_stored_code() && !decided.is_believed();
        let sets_modes = command.kind == Kind::InitDb || change.is_some_and(sets_modes);
        let (hostgroup, modes) = (decided.hostgroup(), state.modes());
        let is_missing = |link: Option<&LinkState>| !all.missing_at(hostgroup, link, modes).is_empty();
        sets_modes && self.look_at(kept, hostgroup, is_missing)
    }

    /// Whether a statement of the same text that another session has left is as good as one of its
    /// own: values could be sent to it in parts later, when it could not be prepared any more.
    fn reuses_for_good(&mut self, state: &SessionState, id: u32) -> bool {
        let prepared = state.prepared.as_ref().and_then(|all| all.get(id));
        let is_plain = prepared.is_some_and(|prepared| prepared.params() == 0);
        is_plain && self.reuse_statement(state, id, &Typed::default()).is_some()
    }

    /// The text of a statement with what it asks about in it, if that is known here alone.
    pub(super) fn text_with_answers(&self, state: &SessionState, id: u32) -> Option<Vec<u8>> {
        let what = &state.prepared.as_ref().and_then(|all| all.get(id))?.what;
        let asks = what.plan.effects.intersects(Effects::READS_LAST) && self.is_away(state);
        asks.then(|| with_numbers(what.text.as_deref()?, self.unknown_here(state))).flatten()
    }
}
