//! Statements that clients have prepared are brought to the backend in use: under the number that
//! they have there, prepared anew where they are not.

use front::login::ok;
use reply::columns::Columns;
use session::places::Came;
use sql::shape::Effects;
use upstream::Full;
use wire::Capabilities;
use wire::command::{Kind, opens_cursor, statement_id};
use wire::frame::front;
use wire::reply::Answer;

use super::close::{close_at, close_here};
use super::cx::Cx;
use super::decided::Decided;
use super::facts::asking::forget_warnings;
use super::facts::causal::{awaited_for, has_to_see, is_bound_to};
use super::facts::executions::send_parts;
use super::io::Io;
use super::leg::Leg;
use super::links::Links;
use super::prepare::{NotPrepared, prepare_again};
use super::state::SessionState;
use super::state::prepared::Prepared;
use super::stop::Stop;
use crate::ending::Ending;
use crate::error::ClientError;
use crate::worker::Worker;

impl Cx<'_> {
    /// Makes the statement of the command in the backlog one that the backend in use has, and names
    /// it in the command as that server does.
    pub(super) async fn bring_statement(&mut self, kind: Kind, decided: &mut Decided) -> Result<(), Stop> {
        let Some(id) = statement_id(self.io.front()) else { return Ok(()) };
        let hostgroup = self.leg.state.here;
        let Some(prepared) = self.leg.state.prepared.as_ref().and_then(|all| all.get(id)) else {
            for left in self.leg.links.left_as(&self.leg.state, id) {
                self.leg.links.close_as(&self.entry.worker, left).await?;
            }
            return Ok(());
        };
        let (home, is_at_home, serial) = (prepared.home, prepared.is_at_home(), prepared.serial);
        let came = prepared.at(self.leg.links.state()).map(|place| place.came);
        if kind == Kind::StmtReset && came.is_none() && (!is_at_home || hostgroup != home) {
            // Its cursor and its values are elsewhere, and end with the statement there.
            if let Some(all) = self.leg.state.prepared.as_mut().filter(|_| is_at_home) {
                all.leave_home(id, home);
                Box::pin(close_at(self.entry, &mut self.leg.state, &mut self.leg.links, home, serial))
                    .await?;
            }
            return Err(self.reset_nothing(kind, id).await.into());
        }
        // A value that was sent before is not there. A cursor ends with the next execution.
        if prepared.is_at_home() && hostgroup != home && (kind != Kind::StmtExecute || prepared.has_parts()) {
            return Err(self.refuse_statement(kind, id).await.into());
        }
        let command = self.io.command(self.leg.state.identity.capabilities);
        if command.is_some_and(|command| self.leg.state.lacks_types(self.leg.links.state(), command)) {
            return Err(self.refuse_and_keep(kind, &ClientError::NeedReprepare).await.into());
        }
        let has_parts = kind == Kind::SendLongData || !prepared.unsent.is_empty();
        let reads_last =
            kind == Kind::StmtExecute && prepared.what.plan.effects.intersects(Effects::READS_LAST);
        if is_of_no_use(&self.leg.state, &self.leg.links, id, prepared, (reads_last, has_parts)) {
            Box::pin(close_here(self.entry, &mut self.leg.state, &mut self.leg.links, id)).await?;
        }
        let mut parts = self.leg.state.take_parts(kind, id);
        let known_as = match self.statement_here(kind, id, has_parts).await? {
            Ok(known_as) => known_as,
            Err(why) => match Box::pin(self.go_without(kind, id, why, decided)).await {
                Err(stop) if kind == Kind::SendLongData || matches!(stop, Stop::Elsewhere) => {
                    // Parts that came later are behind them.
                    parts.append(&mut self.leg.state.take_parts(kind, id));
                    self.leg.state.put_parts_back(id, parts);
                    return Err(stop);
                }
                here => here?,
            },
        };
        if !parts.is_empty() && kind != Kind::StmtReset {
            Box::pin(send_parts(&self.entry.worker, self.leg, known_as, parts)).await?;
        }
        let command = self.io.command(self.leg.state.identity.capabilities);
        let patch =
            command.map_or(Ok(None), |command| self.leg.links.patch(&self.leg.state, command, known_as));
        if let Ok(patch) = patch {
            tell_columns(self.io, self.leg, kind, id);
            decided.patch = patch;
            return Ok(());
        }
        Err(self.refuse_here(kind, &ClientError::NoTypes { id }).await.into())
    }

    /// The number of the statement at the backend in use, where it is, another session has left it,
    /// or it can be prepared.
    async fn statement_here(
        &mut self,
        kind: Kind,
        id: u32,
        has_parts: bool,
    ) -> Result<Result<u32, NotPrepared>, Ending> {
        let link = self.leg.links.state();
        if let Some(known_as) = self.leg.state.prepared.as_ref().and_then(|all| all.get(id)?.id_at(link)) {
            return Ok(Ok(known_as));
        }
        if !has_parts && kind != Kind::StmtFetch {
            let command = self.io.command(self.leg.state.identity.capabilities);
            let typed = command.map(|command| self.leg.state.typed_by(command)).unwrap_or_default();
            if let Some(known_as) = self.leg.links.reuse_statement(&self.leg.state, id, &typed) {
                return Ok(Ok(known_as));
            }
        }
        Box::pin(prepare_again(self.entry, self.leg, id)).await
    }

    /// The statement of the command in the backlog could not be prepared at the backend in use. The
    /// number that it has where the command goes instead.
    async fn go_without(
        &mut self,
        kind: Kind,
        id: u32,
        why: NotPrepared,
        decided: &mut Decided,
    ) -> Result<u32, Stop> {
        let home = self.leg.state.prepared.as_ref().and_then(|all| all.get(id)).map(|prepared| prepared.home);
        let may_go = |home: &u32| {
            *home != self.leg.state.here
                && may_run_elsewhere(&self.entry.worker, &self.leg.state, &self.leg.links, kind, decided)
        };
        let elsewhere = home.filter(may_go);
        match why {
            NotPrepared::Lost(error) => return Err(self.set_up_failed(kind, &error, decided).await),
            // What it cannot do there it can do where it was prepared.
            _ if let Some(home) = elsewhere => return self.go_home(kind, id, home, decided).await,
            NotPrepared::Changed if kind.answer() != Answer::None => {
                self.refuse_and_keep(kind, &ClientError::NeedReprepare).await?;
            }
            NotPrepared::Refused(_) if kind == Kind::SendLongData => {
                self.drop_unanswered(None).await?;
                if !self.leg.links.has_warnings() {
                    // The client has not been refused anything.
                    forget_warnings(self.entry, self.leg).await?;
                }
            }
            NotPrepared::Refused(_) if kind == Kind::StmtFetch => self.refuse_fetch(id).await?,
            NotPrepared::Refused(refusal) if kind.answer() != Answer::None => {
                self.io.keep_types(&mut self.leg.state);
                self.answer_here(kind, &refusal).await?;
                self.leg.state.note_error(self.leg.links.state_mut());
            }
            _ => self.refuse_statement(kind, id).await?,
        }
        Err(Stop::Answered)
    }

    /// Brings the command in the backlog to the hostgroup where its statement was prepared; the
    /// number that this has there.
    async fn go_home(&mut self, kind: Kind, id: u32, home: u32, decided: &mut Decided) -> Result<u32, Stop> {
        if let Err(why) = self.go_to(home, Full::TryAgain).await? {
            return Err(self.unreached(why, decided).await);
        }
        *decided = Decided::plainly_to(home).with_orders_of(decided);
        // The connection may be another one than that over which it was prepared.
        match self.statement_here(kind, id, true).await? {
            Ok(here) => Ok(here),
            Err(why) => Box::pin(self.go_without(kind, id, why, decided)).await,
        }
    }

    /// Answers a `COM_STMT_RESET` of a statement that the backend in use does not have: there is
    /// nothing to reset, and to prepare the statement would take away the warnings that the client
    /// may ask for.
    async fn reset_nothing(&mut self, kind: Kind, id: u32) -> Result<(), Ending> {
        drop(self.leg.state.take_parts(kind, id));
        self.answer_here(kind, &ok(self.leg.state.identity.capabilities, self.leg.state.status)).await?;
        self.leg.links.note_ran(&mut self.leg.state);
        self.leg.state.last.counted.changed = 0;
        self.leg.state.last.hide_changed();
        Ok(())
    }

    /// Answers a `COM_STMT_FETCH` of a statement that the backend in use does not have, and cannot
    /// prepare now: it has no cursor there.
    async fn refuse_fetch(&mut self, id: u32) -> Result<(), Ending> {
        let is_mariadb = self.leg.links.is_mariadb();
        let error = ClientError::NoCursor { id, is_mariadb }.to_packet(1, Capabilities::PROTOCOL_41);
        self.answer_here(Kind::StmtFetch, front(&error)).await?;
        self.leg.state.note_error(self.leg.links.state_mut());
        self.leg.state.note_failed(Some(&error));
        self.leg.links.release_error(&mut self.leg.state);
        Ok(())
    }

    /// Answers the command in the backlog: the statement is not there any more. A client that
    /// executes it prepares it again.
    async fn refuse_statement(&mut self, kind: Kind, id: u32) -> Result<(), Ending> {
        match kind {
            Kind::StmtExecute => self.refuse_and_keep(kind, &ClientError::NeedReprepare).await,
            _ => self.refuse_here(kind, &ClientError::UnknownStatement { id }).await,
        }
    }
}

/// An execution of this statement is about to be sent: if it has other columns there than the
/// client knows, the answer says so.
fn tell_columns(io: &Io, leg: &mut Leg, kind: Kind, id: u32) {
    let (caps, cursor) = (leg.state.identity.capabilities, opens_cursor(io.front()));
    let prepared = leg.state.prepared.as_ref().and_then(|all| all.get(id));
    let prepared = prepared.filter(|prepared| prepared.has_other_columns_at(leg.links.state()));
    if kind == Kind::StmtExecute
        && let Some(prepared) = prepared
    {
        let columns = prepared.columns();
        leg.flight.begin().taps.set_columns(Some(Columns::new(caps, cursor, columns)));
    }
}

/// Whether the command in the backlog may run where its statement was prepared, instead of at
/// the backend in use. An execution may not if the session is bound to that backend, or if it
/// must see what other servers may lack.
fn may_run_elsewhere(
    worker: &Worker,
    state: &SessionState,
    links: &Links,
    kind: Kind,
    decided: &Decided,
) -> bool {
    let (session, here) = (links.session(state), state.here);
    let is_bound = links.stays(state, decided) || !session.autocommit || is_bound_to(state, links, here);
    let verdict = decided.orders.as_ref().map(|orders| &orders.verdict);
    let must_see = || {
        has_to_see(worker, state, links, decided).is_some()
            || !awaited_for(worker, state, verdict, here).tokens.is_empty()
    };
    kind != Kind::StmtExecute || !is_bound && !must_see()
}

impl Io {
    /// Takes note of the types in the execution in the backlog, which no server gets.
    pub(super) fn keep_types(&mut self, state: &mut SessionState) {
        if let Some(command) = self.command(state.identity.capabilities) {
            state.keep_types(command);
        }
    }
}

/// Whether an execution needs another statement than the one that the backend in use has under this
/// number: it reads what the statement before has left, or has values in parts.
fn is_of_no_use(
    state: &SessionState,
    links: &Links,
    id: u32,
    prepared: &Prepared,
    (reads_last, has_parts): (bool, bool),
) -> bool {
    let came = prepared.at(links.state()).map(|place| place.came);
    let can_be_prepared = prepared.is_preparable_in(state.modes());
    let hears_of_others =
        || links.is_away(state) && (can_be_prepared || links.text_with_answers(state, id).is_some());
    // MariaDB takes a value in parts for what the value before was: behind a number it is the
    // address of its bytes.
    reads_last && (came == Some(Came::ForOnce) || hears_of_others())
        || has_parts && links.is_mariadb() && came == Some(Came::Reused) && can_be_prepared
}
