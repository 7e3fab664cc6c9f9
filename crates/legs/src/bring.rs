//! Statements that clients have prepared are brought to the backend in use: under the number that
//! they have there, prepared anew where they are not.

use front::ending::Ending;
use front::login::ok;
use reply::columns::Columns;
use runtime::decided::Decided;
use runtime::prepared::Prepared;
use runtime::worker::Worker;
use session::error::ClientError;
use session::places::Came;
use sql::shape::Effects;
use upstream::Full;
use wire::command::{Kind, opens_cursor, statement_id};
use wire::reply::Answer;

use crate::close::{close_at, close_here};
use crate::entry::BookEntry;
use crate::facts::causal::{awaited_for, fresh_of};
use crate::facts::executions::send_parts;
use crate::leg::Leg;
use crate::prepare::{NotPrepared, prepare_again};
use crate::stop::Stop;

impl Leg {
    /// Makes the statement of the command in the backlog one that the backend in use has, and names
    /// it in the command as that server does.
    pub(crate) async fn bring_statement(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        let Some(id) = statement_id(self.flight.payload()) else { return Ok(()) };
        let hostgroup = self.state.here;
        let Some(prepared) = self.state.statement(id) else {
            for left in self.links.left_as(&self.state, id) {
                self.links.close_as(&entry.worker, left).await?;
            }
            return Ok(());
        };
        let (home, is_at_home, serial) = (prepared.home, prepared.is_at_home(), prepared.serial);
        let came = prepared.at(self.links.state()).map(|place| place.came);
        let is_elsewhere = if is_at_home { hostgroup != home } else { came.is_none() };
        if kind == Kind::StmtReset && is_elsewhere {
            // Its cursor and its values are elsewhere, and end with the statement there.
            if let Some(all) = self.state.prepared.as_mut().filter(|_| is_at_home) {
                all.note_parts(id, home, false);
                Box::pin(close_at(entry, &mut self.state, &mut self.links, home, serial)).await?;
            }
            return Err(reset_nothing(self, id));
        }
        if prepared.lacks_at(hostgroup, kind) {
            return Err(refuse_statement(kind, id));
        }
        let command = self.command();
        let lacks_types = |command| self.state.lacks_types(prepared, self.links.state(), command);
        if command.is_some_and(lacks_types) {
            return Err(Stop::kept(ClientError::NeedReprepare));
        }
        let has_parts = kind == Kind::SendLongData || !prepared.unsent.is_empty();
        let reads_last =
            kind == Kind::StmtExecute && prepared.what.plan.effects.intersects(Effects::READS_LAST);
        if is_of_no_use(self, id, prepared, (reads_last, has_parts)) {
            Box::pin(close_here(entry, &mut self.state, &mut self.links, id)).await?;
        }
        let needs_parts = kind != Kind::StmtFetch;
        let mut parts = if needs_parts { self.state.keep_parts(id, Vec::new()) } else { Vec::new() };
        let known_as = match self.statement_here(entry, kind, id, has_parts).await? {
            Ok(known_as) => known_as,
            Err(why) => match Box::pin(self.go_without(entry, kind, id, why, decided)).await {
                Err(stop) if kind == Kind::SendLongData || matches!(stop, Stop::Elsewhere) => {
                    // Parts that came later are behind them.
                    parts.append(&mut self.state.keep_parts(id, Vec::new()));
                    self.state.keep_parts(id, parts);
                    return Err(stop);
                }
                here => here?,
            },
        };
        if !parts.is_empty() && kind != Kind::StmtReset {
            Box::pin(send_parts(&entry.worker, self, known_as, parts)).await?;
        }
        let command = self.command();
        let patch = |command| self.links.patch(self.state.named(command), command, known_as);
        if let Some(patch) = command.map_or(Some(None), patch) {
            tell_columns(self, kind, id);
            decided.patch = patch;
            return Ok(());
        }
        Err(Stop::refused(ClientError::NoTypes { id }))
    }

    /// The number of the statement at the backend in use, where it is, another session has left it,
    /// or it can be prepared.
    async fn statement_here(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        id: u32,
        has_parts: bool,
    ) -> Result<Result<u32, NotPrepared>, Ending> {
        if let Some(known_as) = self.state.statement(id).and_then(|one| one.id_at(self.links.state())) {
            return Ok(Ok(known_as));
        }
        if !has_parts && kind != Kind::StmtFetch {
            let command = self.command();
            let typed = command.map(|command| self.state.typed_by(command)).unwrap_or_default();
            if let Some(known_as) = self.links.reuse_statement(&self.state, id, &typed) {
                return Ok(Ok(known_as));
            }
        }
        Box::pin(prepare_again(entry, self, id)).await
    }

    /// The statement of the command in the backlog could not be prepared at the backend in use. The
    /// number that it has where the command goes instead.
    async fn go_without(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        id: u32,
        why: NotPrepared,
        decided: &mut Decided,
    ) -> Result<u32, Stop> {
        let home = self.state.statement(id).map(|prepared| prepared.home);
        let may_go =
            |home: &u32| *home != self.state.here && may_run_elsewhere(&entry.worker, self, kind, decided);
        let elsewhere = home.filter(may_go);
        Err(match why {
            NotPrepared::Lost(error) => self.set_up_failed(error, decided),
            // What it cannot do there it can do where it was prepared.
            _ if let Some(home) = elsewhere => return self.go_home(entry, kind, id, home, decided).await,
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
        })
    }

    /// Brings the command in the backlog to the hostgroup where its statement was prepared; the
    /// number that this has there.
    async fn go_home(
        &mut self,
        entry: &BookEntry,
        kind: Kind,
        id: u32,
        home: u32,
        decided: &mut Decided,
    ) -> Result<u32, Stop> {
        self.go_to(entry, home, Full::TryAgain).await.map_err(|stop| self.unreached(stop, decided))?;
        *decided = Decided::plainly_to(home).with_orders_of(decided);
        // The connection may be another one than that over which it was prepared.
        match self.statement_here(entry, kind, id, true).await? {
            Ok(here) => Ok(here),
            Err(why) => Box::pin(self.go_without(entry, kind, id, why, decided)).await,
        }
    }
}

/// Answers a `COM_STMT_RESET` of a statement that the backend in use does not have: there is
/// nothing to reset, and to prepare the statement would take away the warnings that the client
/// may ask for.
fn reset_nothing(leg: &mut Leg, id: u32) -> Stop {
    leg.state.keep_parts(id, Vec::new());
    leg.links.note_ran(&mut leg.state);
    leg.state.last.counted.changed = 0;
    leg.state.last.hide_changed();
    Stop::Told(ok(leg.state.identity.capabilities, leg.state.status))
}

/// Answers a command: the statement is not there any more. A client that executes it prepares it
/// again.
fn refuse_statement(kind: Kind, id: u32) -> Stop {
    match kind {
        Kind::StmtExecute => Stop::kept(ClientError::NeedReprepare),
        _ => Stop::refused(ClientError::UnknownStatement { id }),
    }
}

/// An execution of this statement is about to be sent: if it has other columns there than the
/// client knows, the answer says so.
fn tell_columns(leg: &mut Leg, kind: Kind, id: u32) {
    let (caps, cursor) = (leg.state.identity.capabilities, opens_cursor(leg.flight.payload()));
    let is_other = |prepared: &&Prepared| prepared.has_other_columns_at(leg.links.state());
    let prepared = leg.state.statement(id).filter(is_other);
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
fn may_run_elsewhere(worker: &Worker, leg: &Leg, kind: Kind, decided: &Decided) -> bool {
    let (session, here) = (leg.session(), leg.state.here);
    let is_bound = leg.stays(decided) || !session.autocommit || session.is_bound_to(here);
    let must_see = || {
        fresh_of(worker, leg, decided).is_some()
            || !awaited_for(worker, &leg.state, decided.verdict(), here).tokens.is_empty()
    };
    kind != Kind::StmtExecute || !is_bound && !must_see()
}

/// Whether an execution needs another statement than the one that the backend in use has under this
/// number: it reads what the statement before has left, or has values in parts.
fn is_of_no_use(leg: &Leg, id: u32, prepared: &Prepared, (reads_last, has_parts): (bool, bool)) -> bool {
    let came = prepared.at(leg.links.state()).map(|place| place.came);
    let can_be_prepared = prepared.is_preparable_in(leg.state.modes());
    let hears_of_others = || {
        leg.links.is_away(&leg.state)
            && (can_be_prepared || leg.links.text_with_answers(&leg.state, id).is_some())
    };
    // MariaDB takes a value in parts for what the value before was: behind a number it is the
    // address of its bytes.
    reads_last && (came == Some(Came::ForOnce) || hears_of_others())
        || has_parts && leg.links.is_mariadb() && came == Some(Came::Reused) && can_be_prepared
}
