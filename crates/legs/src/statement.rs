//! The prepared statement that a command names: what is due for it at the backend in use before the
//! command is sent, and how that is done.

use command::{Command, Patch};
use front::ending::Ending;
use front::login::ok;
use reply::columns::Columns;
use runtime::decided::Decided;
use runtime::prepared::Prepared;
use session::error::ClientError;
use session::places::{Came, Place};
use sql::shape::Effects;
use upstream::Kept;
use wire::command::{Kind, opens_cursor};

use crate::close::close_at;
use crate::entry::BookEntry;
use crate::facts::executions::send_parts;
use crate::leg::Leg;
use crate::links::Links;
use crate::prepare::refuse_statement;
use crate::state::SessionState;
use crate::stop::Stop;

/// What is due for the statement of a command at the backend in use.
#[derive(Debug)]
pub enum Due {
    /// Nothing: the command goes as it has come, or the server gets this in it.
    Nothing(Option<Patch>),
    /// It is prepared by the proxy: its server may give it the number of another one.
    Number,
    /// It is closed at all servers that have it.
    Close,
    /// The client does not have it. Those of other sessions that it would mean are closed.
    CloseLeft(Vec<u32>),
    /// Nothing is to be reset here: it is not there, or its cursor and its values are elsewhere.
    ResetElsewhere,
    /// A refusal: what was sent for it before is elsewhere, or its types have to come again.
    Refusal,
    /// It is known as this. Parts of values go first, the client is told of columns, or there is no
    /// room for its types.
    Rest(u32),
    /// It is not there. Another session may have left one that does.
    Missing,
    /// It is prepared for this command, whether it is there or not.
    Prepare,
}

impl Links {
    /// What is due for the statement of a command at the backend in use.
    pub fn due(&self, kept: &Kept, state: &SessionState, command: Command<'_>) -> Due {
        let (link, kind) = (self.state(), command.kind);
        if let (Some(all), Kind::StmtPrepare) = (&state.prepared, kind) {
            return if all.has_other_homes(link) { Due::Number } else { Due::Nothing(None) };
        }
        let Some(id) = command.statement() else { return Due::Nothing(None) };
        let Some(prepared) = state.statement(id) else {
            let left = self.left_as(state, id);
            return if left.is_empty() { Due::Nothing(None) } else { Due::CloseLeft(left) };
        };
        let (place, has_unsent) = (prepared.at(link), !prepared.unsent.is_empty());
        if kind == Kind::StmtClose {
            let is_known = place.is_some_and(|place| place.statement.id == id) && !has_unsent;
            let is_here = is_known && !self.is_elsewhere(kept, prepared.serial);
            return if is_here { Due::Nothing(None) } else { Due::Close };
        }
        let is_elsewhere = if prepared.is_at_home() { state.here != prepared.home } else { place.is_none() };
        if kind == Kind::StmtReset && is_elsewhere {
            return Due::ResetElsewhere;
        }
        let types = types_due(state, prepared, place, command);
        let (Ok(types), false) = (types, prepared.lacks_at(state.here, kind)) else { return Due::Refusal };
        let has_parts = kind == Kind::SendLongData || has_unsent;
        let Some(place) = place else {
            return if has_parts || kind == Kind::StmtFetch { Due::Prepare } else { Due::Missing };
        };
        if self.is_of_no_use(state, prepared, place, (kind, has_parts)) {
            return Due::Prepare;
        }
        if has_unsent && kind != Kind::StmtFetch || tells_columns(kind, prepared, place) {
            return Due::Rest(place.statement.id);
        }
        patch(place.statement.id, types, command).map_or(Due::Rest(place.statement.id), Due::Nothing)
    }

    /// The same. A statement that another session has left there, and that does, is this session's
    /// from then on.
    pub fn due_reusing(&mut self, kept: &Kept, state: &SessionState, command: Command<'_>) -> Due {
        let due = self.due(kept, state, command);
        let missing = if let Due::Missing = due { state.named(command) } else { None };
        let is_reused = missing.is_some_and(|prepared| self.reuse(prepared, &prepared.typed_by(command)));
        if is_reused { self.due(kept, state, command) } else { due }
    }

    /// Whether a command needs another statement than the one at this place: it reads what the
    /// statement before has left, or has values in parts.
    fn is_of_no_use(
        &self,
        state: &SessionState,
        prepared: &Prepared,
        place: &Place,
        (kind, has_parts): (Kind, bool),
    ) -> bool {
        let reads_last =
            kind == Kind::StmtExecute && prepared.what.plan.effects.intersects(Effects::READS_LAST);
        let can_be_prepared = || prepared.is_preparable_in(state.modes());
        let hears_of_others = || {
            self.is_away(state) && (can_be_prepared() || self.text_with_answers(state, prepared).is_some())
        };
        // MariaDB takes a value in parts for what the value before was: behind a number it is the
        // address of its bytes.
        reads_last && (place.came == Came::ForOnce || hears_of_others())
            || has_parts && place.came == Came::Reused && self.is_mariadb() && can_be_prepared()
    }
}

/// Whether the client has to be told of columns: an execution is about to be sent where the
/// statement has others than it knows.
fn tells_columns(kind: Kind, prepared: &Prepared, place: &Place) -> bool {
    kind == Kind::StmtExecute && prepared.has_other_columns_at(place)
}

/// Types of the execution before that a server has to get with a command, as it does not know them
/// where the statement has this place, and the length of the values behind them. An error, also
/// where the statement is not yet, if values are not read any more as when the types were sent.
fn types_due<'a>(
    state: &SessionState,
    prepared: &'a Prepared,
    place: Option<&Place>,
    command: Command<'_>,
) -> Result<Option<(&'a [u8], usize)>, ClientError> {
    let Some((types, at)) = prepared.types() else { return Ok(None) };
    if place.map_or(state.reads_as_at(at), |place| prepared.has_types_at(place)) {
        return Ok(None);
    }
    let count = prepared.params();
    // What does not make sense the server has to say.
    let params = command.params(count);
    let Some(params) = params.filter(|it| it.types_without_attributes(count, command.caps).is_none()) else {
        return Ok(None);
    };
    if !state.reads_as_at(at) {
        return Err(ClientError::NeedReprepare);
    }
    // Of attributes without types the types are unknown.
    let is_known = prepared.what.text.is_some() && params.count == usize::from(count) && count > 0;
    Ok(is_known.then_some((types, params.values.len())))
}

/// What a server that knows the statement as this gets otherwise than a command has come: the
/// number, and types. An error if the command has no room for these.
fn patch(
    known_as: u32,
    types: Option<(&[u8], usize)>,
    command: Command<'_>,
) -> Result<Option<Patch>, ClientError> {
    let id = command.statement();
    let Some((types, values)) = types else {
        return Ok((id != Some(known_as)).then_some(Patch::Name(known_as)));
    };
    let typed = Patch::typed(command, known_as, types, values);
    typed.map(Some).ok_or(ClientError::NoTypes { id: id.unwrap_or_default() })
}

impl Leg {
    /// Does what is due for the statement of the command in the backlog.
    pub(crate) async fn bring_statement(
        &mut self,
        entry: &BookEntry,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        let Self { links, state, flight } = self;
        let Some(command) = Command::first(&flight.front, state.identity.capabilities) else {
            return Ok(());
        };
        let (kind, id) = (command.kind, command.statement().unwrap_or_default());
        let known_as = match links.due_reusing(&entry.worker.upstream.kept, state, command) {
            Due::Nothing(patch) => {
                decided.patch = patch;
                return Ok(());
            }
            Due::Number => return Err(Stop::Prepared),
            // That has needed no connection.
            Due::Close => return Ok(()),
            Due::CloseLeft(left) => {
                for left in left {
                    self.links.close_as(&entry.worker, left).await?;
                }
                return Ok(());
            }
            Due::ResetElsewhere => return Err(Box::pin(self.reset_elsewhere(entry, id)).await?),
            Due::Refusal => return Err(refuse_statement(kind, id)),
            Due::Rest(known_as) => known_as,
            Due::Missing | Due::Prepare => {
                let here = Box::pin(self.prepare_here(entry, kind, id, decided)).await;
                let is_over = |stop: &Stop| kind != Kind::SendLongData && !matches!(stop, Stop::Elsewhere);
                if kind != Kind::StmtFetch && here.as_ref().is_err_and(is_over) {
                    self.state.keep_parts(id, Vec::new());
                }
                here?
            }
        };
        if kind != Kind::StmtFetch {
            let parts = self.state.keep_parts(id, Vec::new());
            if !parts.is_empty() && kind != Kind::StmtReset {
                Box::pin(send_parts(&entry.worker, self, known_as, parts)).await?;
            }
        }
        decided.patch = self.patch_told()?;
        Ok(())
    }

    /// What the backend in use, which has the statement of the command in the backlog, gets
    /// otherwise than it has come. If it has other columns there than the client knows, the answer
    /// is going to say so.
    fn patch_told(&mut self) -> Result<Option<Patch>, Stop> {
        let known = self.command().and_then(|command| {
            let prepared = self.state.named(command)?;
            Some((command, prepared, prepared.at(self.links.state())?))
        });
        let Some((command, prepared, place)) = known else { return Ok(None) };
        let types = types_due(&self.state, prepared, Some(place), command).map_err(Stop::kept)?;
        let patch = patch(place.statement.id, types, command).map_err(Stop::refused)?;
        if tells_columns(command.kind, prepared, place) {
            let (caps, cursor) = (command.caps, opens_cursor(command.payload()));
            let columns = Columns::new(caps, cursor, prepared.columns());
            self.flight.begin().taps.set_columns(Some(columns));
        }
        Ok(patch)
    }

    /// Answers a `COM_STMT_RESET` of a statement that the backend in use does not have: there is
    /// nothing to reset, and to prepare the statement would take away the warnings that the client
    /// may ask for.
    async fn reset_elsewhere(&mut self, entry: &BookEntry, id: u32) -> Result<Stop, Ending> {
        let kept_home = self.state.statement(id).filter(|prepared| prepared.is_at_home());
        let kept_home = kept_home.map(|prepared| (prepared.home, prepared.serial));
        if let (Some((home, serial)), Some(all)) = (kept_home, &mut self.state.prepared) {
            // Its cursor and its values end with the statement there.
            all.note_parts(id, home, false);
            close_at(entry, self, home, serial).await?;
        }
        self.state.keep_parts(id, Vec::new());
        self.links.note_ran(&mut self.state);
        self.state.last.counted.changed = 0;
        self.state.last.hide_changed();
        Ok(Stop::Told(ok(self.state.identity.capabilities, self.state.status)))
    }
}
