//! Preparing statements at servers: anew where they are not, and for the client where other
//! statements have their numbers.

use command::Command;
use front::ending::Ending;
use runtime::decided::Decided;
use session::change::Change;
use session::error::ClientError;
use session::link::LinkState;
use session::places::Came;
use session::state::substitute::with_numbers;
use session::state::typed::Typed;
use sql::shape::Effects;
use upstream::{Kept, Known};
use wire::command::Kind;
use wire::frame::HEADER_LEN;
use wire::reply::Answer;

use crate::close::close_here;
use crate::entry::BookEntry;
use crate::facts::asking::{ask_server, forget_warnings};
use crate::facts::sharing::may_leave_diagnostics;
use crate::kept_error::leave_diagnostics;
use crate::leg::Leg;
use crate::links::Links;
use crate::measure::note_at_server;
use crate::state::SessionState;

/// Why a statement could not be prepared at a server.
pub enum NotPrepared {
    /// The server says so: the payload of its ERR packet.
    Refused(Vec<u8>),
    /// The connection is lost.
    Lost(ClientError),
    /// It has other parameters or columns there, or has got them since, or would be another one.
    Changed,
    /// Its text is not kept.
    Cannot,
}

/// Prepares them there; from then on they bind the connection to the session. Those that the
/// server refuses now, while tables are locked, say, the client has to prepare again. An error
/// if the connection is lost with that.
pub(crate) async fn prepare_before(
    entry: &BookEntry,
    leg: &mut Leg,
) -> Result<Result<(), ClientError>, Ending> {
    if leg.links.has_warnings() && may_leave_diagnostics(entry, leg) {
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
pub async fn prepare_again(
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
    let known = leg.state.statement(id).and_then(|one| Some((one, one.what.text.as_deref()?)));
    let Some((prepared, text)) = known else { return Ok(Err(NotPrepared::Cannot)) };
    if !prepared.is_preparable_in(leg.state.modes()) {
        return Ok(Err(NotPrepared::Changed));
    }
    let text = told.as_deref().unwrap_or(text);
    let command = ([&[Kind::StmtPrepare as u8][..], text].concat(), Answer::Prepare);
    note_at_server(&entry.worker, Kind::StmtPrepare);
    let reply = match ask_server(entry, leg, &[command]).await? {
        Ok(mut replies) => replies.pop(),
        Err(error) => return Ok(Err(NotPrepared::Lost(error))),
    };
    let answered = reply.as_ref().and_then(|reply| reply.prepared);
    let known = answered.zip(leg.state.statement(id)).zip(leg.links.connection_mut());
    let Some(((statement, prepared), link)) = known else {
        let refusal = reply.and_then(|reply| reply.bytes.get(HEADER_LEN..).map(<[u8]>::to_vec));
        return Ok(Err(refusal.map_or(NotPrepared::Cannot, NotPrepared::Refused)));
    };
    let known = Known { origin: prepared.origin(), entry: prepared.entry().cloned() };
    link.statements_mut().note(statement, known);
    link.state_mut().note_prepared(prepared.what.change.as_ref());
    if !prepared.is_same(statement, &reply.map(|reply| reply.bytes).unwrap_or_default()) {
        // It must not be executed there.
        leg.links.close_as(&entry.worker, statement.id).await?;
        return Ok(Err(NotPrepared::Changed));
    }
    let came = if told.is_some() { Came::ForOnce } else { Came::Prepared };
    link.state_mut().places.add(prepared.serial, statement, came);
    Ok(Ok(statement.id))
}

impl Links {
    /// Whether the command changes what texts mean, while statements that were prepared before are
    /// not at the connection to its hostgroup: they would be prepared as other ones afterwards.
    pub fn has_to_prepare(
        &self,
        kept: &Kept,
        state: &SessionState,
        command: Command<'_>,
        decided: &Decided,
    ) -> bool {
        let Some(all) = &state.prepared else { return false };
        let change = match command.kind {
            Kind::StmtExecute | Kind::StmtBulkExecute => {
                state.executed(command).and_then(|what| what.change.as_ref())
            }
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
        let is_plain = state.statement(id).is_some_and(|prepared| prepared.params() == 0);
        is_plain && self.reuse_statement(state, id, &Typed::default()).is_some()
    }

    /// The text of a statement with what it asks about in it, if that is known here alone.
    pub(crate) fn text_with_answers(&self, state: &SessionState, id: u32) -> Option<Vec<u8>> {
        let what = &state.statement(id)?.what;
        let asks = what.plan.effects.intersects(Effects::READS_LAST) && self.is_away(state);
        asks.then(|| with_numbers(what.text.as_deref()?, self.unknown_here(state))).flatten()
    }
}
