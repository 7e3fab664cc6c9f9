//! Statements that ask about the one before, which ran on a connection that the session does not
//! have any more.

use session::ran::Ran;
use session::state::results::LastId;
use session::state::substitute::Unknown;
use upstream::Connection;

use crate::links::Links;
use crate::state::SessionState;

impl Links {
    /// Takes note of what has run since the connection was taken.
    pub fn note_ran(&mut self, state: &mut SessionState) {
        match self.connection_mut() {
            Some(link) if state.last.note_ran(link.serial()) => link.last_id = None,
            Some(_) => {}
            None => state.last.ran = Ran::default(),
        }
    }

    /// What the server of the connection in use does not know of the statement before the next one,
    /// because that ran over another connection.
    pub(crate) fn unknown_here(&self, state: &SessionState) -> Unknown {
        state.last.unknown_at(self.connection().map(Connection::serial))
    }

    /// Whether there is any of that.
    pub(crate) fn is_away(&self, state: &SessionState) -> bool {
        self.unknown_here(state) != Unknown::default()
    }

    /// An internal query runs over the connection in use: it hides how many rows the statement
    /// before had.
    pub fn hide_last_result(&mut self, state: &mut SessionState) {
        self.note_ran(state);
        state.last.hide_rows();
    }

    /// Whether one that asks about the statement before would be told of another one by the backend
    /// in use.
    pub(crate) fn hears_of_others(&self, state: &SessionState) -> bool {
        self.is_away(state) || self.has_own_warnings() || state.has_released_error()
    }

    /// Whether `LAST_INSERT_ID()` is at the backend in use what it is to the session.
    pub(crate) fn has_last_id(&self, state: &SessionState) -> bool {
        let Some(link) = self.connection() else { return false };
        match state.last.results.last_id() {
            LastId::Is(id) => link.last_id == Some(id),
            at_server if at_server.is_at(link.serial()) => link.last_id.is_none(),
            // It is another server that knows better, and is not going to say it.
            LastId::AtServer { known, .. } => link.last_id == Some(known) && !state.last.results.is_asked(),
        }
    }

    /// The statements of other sessions at the backend in use that a client would mean by this
    /// number, which it does not have: they have to be closed, so that the server says that it does
    /// not know it.
    pub(crate) fn left_as(&self, state: &SessionState, id: u32) -> Vec<u32> {
        // While one is being prepared, the last one is that.
        let is_awaited = state.prepared.as_ref().is_some_and(|all| all.is_awaited(id));
        let statements = self.in_use.as_ref().map(|backend| backend.connection().statements());
        statements.filter(|_| !is_awaited).map_or_else(Vec::new, |statements| statements.left_as(id))
    }
}
