//! Preparing statements at servers where they are not, and where a command goes whose statement
//! cannot be prepared.

use command::Command;
use runtime::decided::Decided;
use runtime::prepared::Prepared;
use runtime::worker::Worker;
use session::change::Change;
use session::error::ClientError;
use session::places::Came;
use session::state::substitute::with_numbers;
use session::state::typed::Typed;
use sql::shape::Effects;
use upstream::{Full, Kept, Known};
use wire::command::Kind;
use wire::frame::HEADER_LEN;
use wire::reply::Answer;

use crate::close::close_here;
use crate::entry::BookEntry;
use crate::facts::asking::{NoReply, ask_server, forget_warnings};
use crate::facts::causal::{awaited_for, fresh_of};
use crate::facts::sharing::may_leave_diagnostics;
use crate::kept_error::leave_diagnostics;
use crate::leg::Leg;
use crate::links::Links;
use crate::measure::note_at_server;
use crate::state::SessionState;
use crate::stop::Stop;

/// Why a statement could not be prepared at a server.
pub enum NotPrepared {
    /// The server says so: the payload of its ERR packet.
    Refused(Vec<u8>),
    /// The server has not answered.
    NoReply(NoReply),
    /// It has other parameters or columns there, or has got them since, or would be another one.
    Changed,
    /// Its text is not kept.
    Cannot,
}

impl From<NoReply> for NotPrepared {
    fn from(why: NoReply) -> Self {
        Self::NoReply(why)
    }
}

/// Prepares [these](Links::due_before) there; from then on they bind the connection to the session.
/// Those that the server refuses now, while tables are locked, say, the client has to prepare
/// again. An error if the connection is lost with that.
pub(crate) async fn prepare_before(entry: &BookEntry, leg: &mut Leg, due: Vec<u32>) -> Result<(), NoReply> {
    if leg.links.has_warnings() && may_leave_diagnostics(entry, leg) {
        // To prepare them takes away what the client may ask about.
        leave_diagnostics(entry, leg).await?;
        if leg.links.in_use.is_none() {
            return Ok(());
        }
    }
    let mut is_refused = false;
    for id in due {
        // Values could be sent in parts later to one that another session has left, when it could
        // not be prepared any more.
        let plain = leg.state.statement(id).filter(|prepared| prepared.params() == 0);
        if plain.is_some_and(|prepared| leg.links.reuse(prepared, &Typed::default())) {
            continue;
        }
        // What it asks about is known there when it is executed: it stays on this connection.
        match prepare_as(entry, leg, id, None).await {
            Err(NotPrepared::NoReply(why)) => return Err(why),
            Err(NotPrepared::Refused(_)) => is_refused = true,
            _ => {}
        }
    }
    if is_refused && leg.links.in_use.is_some() {
        // The client has not been refused anything.
        forget_warnings(entry, leg).await?;
    }
    Ok(())
}

/// Prepares a statement at the backend in use, to be executed next; the number that it has
/// there, or why it has none.
pub async fn prepare_again(entry: &BookEntry, leg: &mut Leg, id: u32) -> Result<u32, NotPrepared> {
    let prepared = leg.state.statement(id);
    let told = prepared.and_then(|prepared| leg.links.text_with_answers(&leg.state, prepared));
    prepare_as(entry, leg, id, told).await
}

/// Prepares it with this text, which is good for one execution, or as it is. One that is there is
/// closed.
async fn prepare_as(
    entry: &BookEntry,
    leg: &mut Leg,
    id: u32,
    told: Option<Vec<u8>>,
) -> Result<u32, NotPrepared> {
    close_here(entry, leg, id).await.map_err(NoReply::Over)?;
    let known = leg.state.statement(id).and_then(|one| Some((one, one.what.text.as_deref()?)));
    let (prepared, text) = known.ok_or(NotPrepared::Cannot)?;
    if !prepared.is_preparable_in(leg.state.modes()) {
        return Err(NotPrepared::Changed);
    }
    let text = told.as_deref().unwrap_or(text);
    let command = ([&[Kind::StmtPrepare as u8][..], text].concat(), Answer::Prepare);
    note_at_server(&entry.worker, Kind::StmtPrepare);
    let reply = ask_server(entry, leg, &[command]).await?.pop();
    let answered = reply.as_ref().and_then(|reply| reply.prepared);
    let known = answered.zip(leg.state.statement(id)).zip(leg.links.connection_mut());
    let Some(((statement, prepared), link)) = known else {
        let refusal = reply.and_then(|reply| reply.bytes.get(HEADER_LEN..).map(<[u8]>::to_vec));
        return Err(refusal.map_or(NotPrepared::Cannot, NotPrepared::Refused));
    };
    let known = Known { origin: prepared.origin(), entry: prepared.entry().cloned() };
    link.statements_mut().note(statement, known);
    link.state_mut().note_prepared(prepared.what.change.as_ref());
    if !prepared.is_same(statement, &reply.map(|reply| reply.bytes).unwrap_or_default()) {
        // It must not be executed there.
        leg.links.close_as(&entry.worker, statement.id).await.map_err(NoReply::Over)?;
        return Err(NotPrepared::Changed);
    }
    let came = if told.is_some() { Came::ForOnce } else { Came::Prepared };
    link.state_mut().places.add(prepared.serial, statement, came);
    Ok(statement.id)
}

impl Links {
    /// The statements that are prepared before a command that changes what texts mean: they are not
    /// at the connection to its hostgroup, and would be prepared as other ones afterwards.
    pub fn due_before(
        &self,
        kept: &Kept,
        state: &SessionState,
        command: Command<'_>,
        decided: &Decided,
    ) -> Vec<u32> {
        let Some(all) = &state.prepared else { return Vec::new() };
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
        if command.kind != Kind::InitDb && !change.is_some_and(sets_modes) {
            return Vec::new();
        }
        let (hostgroup, modes) = (decided.hostgroup(), state.modes());
        self.look_at(kept, hostgroup, |link| all.missing_at(hostgroup, link, modes))
    }

    /// The text of a statement with what it asks about in it, if that is known here alone.
    pub(crate) fn text_with_answers(&self, state: &SessionState, prepared: &Prepared) -> Option<Vec<u8>> {
        let what = &prepared.what;
        let asks = what.plan.effects.intersects(Effects::READS_LAST) && self.is_away(state);
        asks.then(|| with_numbers(what.text.as_deref()?, self.unknown_here(state))).flatten()
    }
}

impl Leg {
    /// Prepares the statement of the command in the backlog at the backend in use, to be executed
    /// next. If it cannot be, the command may go where it was prepared first. The number that it
    /// has where the command is then.
    pub(crate) async fn prepare_here(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        id: u32,
        decided: &mut Decided,
    ) -> Result<u32, Stop> {
        loop {
            let why = match prepare_again(entry, self, id).await {
                Ok(known_as) => return Ok(known_as),
                Err(NotPrepared::NoReply(why)) => return Err(self.set_up_failed(why, decided)),
                Err(why) => why,
            };
            let home = self.state.statement(id).map(|prepared| prepared.home);
            let may_go = |home: &u32| {
                *home != self.state.here && may_run_elsewhere(&entry.worker, self, kind, decided)
            };
            let Some(home) = home.filter(may_go) else { return Err(self.not_prepared(kind, id, why)) };
            self.go_to(entry, home, Full::TryAgain).await.map_err(|stop| self.unreached(stop, decided))?;
            *decided = Decided::plainly_to(home).with_orders_of(decided);
            // The connection may be another one than that over which it was prepared.
            let known_as = self.state.statement(id).and_then(|one| one.id_at(self.links.state()));
            if let Some(known_as) = known_as {
                return Ok(known_as);
            }
        }
    }

    /// Answers a command whose statement could not be prepared.
    fn not_prepared(&mut self, kind: Kind, id: u32, why: NotPrepared) -> Stop {
        match why {
            NotPrepared::Changed if kind.answer() != Answer::None => Stop::kept(ClientError::NeedReprepare),
            // The client has not been refused anything.
            NotPrepared::Refused(_) if kind == Kind::SendLongData => {
                Stop::Dropped { is_to_forget: !self.links.has_warnings() }
            }
            // It has no cursor there.
            NotPrepared::Refused(_) if kind == Kind::StmtFetch => {
                Stop::kept(ClientError::NoCursor { id, is_mariadb: self.links.is_mariadb() })
            }
            NotPrepared::Refused(refusal) if kind.answer() != Answer::None => {
                self.state.note_error(self.links.state_mut());
                Stop::Told(refusal)
            }
            _ => refuse_statement(kind, id),
        }
    }
}

/// Answers a command: the statement is not there any more. A client that executes it prepares it
/// again.
pub(crate) fn refuse_statement(kind: Kind, id: u32) -> Stop {
    match kind {
        Kind::StmtExecute => Stop::kept(ClientError::NeedReprepare),
        _ => Stop::refused(ClientError::UnknownStatement { id }),
    }
}

/// Whether the command in the backlog may run where its statement was prepared, instead of at
/// the backend in use. An execution may not if the session is bound to that backend, or if it
/// must see what other servers may lack.
fn may_run_elsewhere(worker: &Worker, leg: &Leg, kind: Kind, decided: &Decided) -> bool {
    let (session, here) = (leg.session(), leg.state.here);
    let is_bound = leg.stays(decided) || !session.autocommit || session.is_bound_to(here);
    let must_see = || {
        fresh_of(worker, leg, decided).is_some()
            || !awaited_for(worker, &leg.state, decided.verdict(), here).tokens.is_empty()
    };
    kind != Kind::StmtExecute || !is_bound && !must_see()
}
