//! Statements that other sessions have left prepared at a connection. A session that executes one
//! of the same text executes theirs without preparing its own, and its execution may be sent
//! together with those of other such sessions.

use std::rc::Rc;

use command::{Command, Patch, add_types};
use runtime::prepared::Prepared;
use session::places::Came;
use session::state::typed::Typed;
use upstream::{Execution, Kept};
use wire::command::Kind;

use crate::facts::executions::is_usual;
use crate::links::Links;
use crate::state::SessionState;

impl SessionState {
    /// An execution as any connection may get it where its statement is, but for the number that
    /// this has there; nothing if it needs more than that.
    pub(crate) fn execution(&self, command: Command<'_>) -> Option<(Rc<[u8]>, Execution)> {
        let prepared = self.named(command)?;
        if !command.is_whole() || !is_usual(prepared, command) || prepared.what.change.is_some() {
            return None;
        }
        let (caps, count) = (command.caps, prepared.params());
        let params = command.params(count)?;
        let mut packet = command.packet().to_vec();
        if count > 0 && params.types_without_attributes(count, caps).is_none() {
            let (types, at) = prepared.types().filter(|_| params.count == usize::from(count))?;
            if !self.reads_as_at(at) || !add_types(&mut packet, params.values.len(), types) {
                return None;
            }
        }
        let now = Typed::of(prepared.types_of(&params, caps));
        Some((packet.into(), execution(prepared, prepared.typed().clone(), now)?))
    }
}

impl Links {
    /// What the backend in use, which knows the statement of a command as this, gets otherwise than
    /// it has come: the number, and types that the server lacks. Nothing if the command has no room
    /// for these.
    pub fn patch(
        &self,
        prepared: Option<&Prepared>,
        command: Command<'_>,
        known_as: u32,
    ) -> Option<Option<Patch>> {
        let named = (command.statement() != Some(known_as)).then_some(Patch::Name(known_as));
        let lacks = |one: &&Prepared| one.what.text.is_some() && !one.has_types_at(self.state());
        let Some(prepared) = prepared.filter(lacks) else { return Some(named) };
        let count = prepared.params();
        // What does not make sense the server has to say.
        let Some(params) = command.params(count) else { return Some(named) };
        let own = params.types_without_attributes(count, command.caps);
        match prepared.types().filter(|_| own.is_none()) {
            Some((types, _)) if params.count == usize::from(count) && count > 0 => {
                Patch::typed(command, known_as, types, params.values.len()).map(Some)
            }
            // Attributes without types: their types are unknown.
            _ => Some(named),
        }
    }

    /// A statement of the same text that another session has left at the backend in use is this
    /// session's from now on; the number that it has there. It is about to be executed with these
    /// values.
    pub fn reuse_statement(&mut self, state: &SessionState, id: u32, now: &Typed) -> Option<u32> {
        let prepared = state.statement(id)?;
        let execution = execution(prepared, prepared.typed(), now)?;
        let link = self.in_use.as_mut()?.connection_mut();
        let found = link.take_statement(&execution, prepared.entry())?;
        link.state_mut().places.add(prepared.serial, found, Came::Reused);
        Some(found.id)
    }

    /// What the backend in use gets otherwise than the command has come, if it has the statement
    /// that this names, and nothing is to be sent there for it first. Nothing if something is.
    pub fn patch_here(
        &self,
        kept: &Kept,
        state: &SessionState,
        command: Command<'_>,
    ) -> Option<Option<Patch>> {
        let link = self.state();
        if let (Some(all), Kind::StmtPrepare) = (&state.prepared, command.kind) {
            return (!all.has_other_homes(link)).then_some(None);
        }
        let Some(id) = command.statement() else { return Some(None) };
        let Some(prepared) = state.statement(id) else {
            return self.left_as(state, id).is_empty().then_some(None);
        };
        let place = prepared.at(link)?;
        debug_assert!(!self.is_awaited(), "whoever gets a connection has nothing there yet");
        let is_usable = match command.kind {
            Kind::StmtClose => place.statement.id == id && !self.is_elsewhere(kept, prepared.serial),
            kind if prepared.lacks_at(state.here, kind) => false,
            Kind::StmtExecute => {
                place.came != Came::ForOnce
                    && !prepared.has_other_columns_at(link)
                    && !state.lacks_types(prepared, link, command)
            }
            Kind::SendLongData => place.came != Came::Reused,
            _ => true,
        };
        if !is_usable || !prepared.unsent.is_empty() {
            return None;
        }
        self.patch(Some(prepared), command, place.statement.id)
    }

    /// The same of an execution whose statement another session has left there: it is this
    /// session's from now on.
    pub fn patch_reused(&mut self, state: &SessionState, command: Command<'_>) -> Option<Option<Patch>> {
        let id = command.statement().filter(|_| command.kind == Kind::StmtExecute && command.is_whole())?;
        let prepared = state.statement(id)?;
        let link = self.state();
        let is_there = prepared.at(link).is_some();
        if is_there || !is_usual(prepared, command) || state.lacks_types(prepared, link, command) {
            return None;
        }
        let known_as = self.reuse_statement(state, id, &state.typed_by(command))?;
        self.patch(Some(prepared), command, known_as)
    }
}

/// An execution with these values, by a session that has executed the statement with those so far;
/// nothing if the statement must not outlive its session.
fn execution<T>(prepared: &Prepared, typed: T, now: T) -> Option<Execution<T>> {
    let (params, columns) = (prepared.params(), prepared.columns());
    Some(Execution { origin: prepared.origin()?, params, columns, typed, now })
}
