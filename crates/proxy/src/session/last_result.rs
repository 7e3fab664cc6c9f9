//! Statements that ask about the one before, which ran on a connection that the session does not
//! have any more.

use session::ran::Ran;
use upstream::Connection;
use wire::command::Kind;
use wire::frame::HEADER_LEN;
use wire::reply::Answer;

use super::decided::Decided;
use super::entry::BookEntry;
use super::facts::asking::{ask_server, forget_warnings, packet_of};
use super::kept_error::tell_error_again;
use super::leg::Leg;
use super::links::Links;
use super::set_up::rewrite;
use super::state::SessionState;
use super::stop::Stop;
use crate::ending::Ending;
use crate::state::results::LastId;
use crate::state::substitute::{Unknown, with_numbers};
use crate::worker::Worker;

impl Links {
    /// Takes note of what has run since the connection was taken.
    pub(super) fn note_ran(&mut self, state: &mut SessionState) {
        match self.connection_mut() {
            Some(link) if state.last.note_ran(link.serial()) => link.set_last_id(None),
            Some(_) => {}
            None => state.last.ran = Ran::default(),
        }
    }

    /// What the server of the connection in use does not know of the statement before the next one,
    /// because that ran over another connection.
    pub(super) fn unknown_here(&self, state: &SessionState) -> Unknown {
        state.last.unknown_at(self.connection().map(Connection::serial))
    }

    /// Whether there is any of that.
    pub(super) fn is_away(&self, state: &SessionState) -> bool {
        self.unknown_here(state) != Unknown::default()
    }

    /// An internal query runs over the connection in use: it hides how many rows the statement
    /// before had.
    pub(super) fn hide_last_result(&mut self, state: &mut SessionState) {
        self.note_ran(state);
        state.last.hide_rows();
    }

    /// Whether one that asks about the statement before would be told of another one by the backend
    /// in use.
    pub(super) fn hears_of_others(&self, state: &SessionState) -> bool {
        self.is_away(state) || self.has_own_warnings() || state.has_released_error()
    }

    /// Whether `LAST_INSERT_ID()` is at the backend in use what it is to the session.
    pub(super) fn has_last_id(&self, state: &SessionState) -> bool {
        let Some(link) = self.connection() else { return false };
        match state.last.results.last_id() {
            LastId::Is(id) => link.last_id() == Some(id),
            at_server if at_server.is_at(link.serial()) => link.last_id().is_none(),
            // It is another server that knows better, and is not going to say it.
            LastId::AtServer { known, .. } => link.last_id() == Some(known) && !state.last.results.is_asked(),
        }
    }

    /// The statements of other sessions at the backend in use that a client would mean by this
    /// number, which it does not have: they have to be closed, so that the server says that it does
    /// not know it.
    pub(super) fn left_as(&self, state: &SessionState, id: u32) -> Vec<u32> {
        // While one is being prepared, the last one is that.
        let is_awaited = state.prepared.as_ref().is_some_and(|all| all.is_awaited(id));
        let statements = self.in_use.as_ref().map(|backend| backend.connection().statements());
        statements.filter(|_| !is_awaited).map_or_else(Vec::new, |statements| statements.left_as(id))
    }
}

impl Leg {
    /// Puts what the command in the backlog asks for into it, if that is how many rows there were.
    /// Of warnings there are none: they would have kept the connection.
    pub(super) async fn tell_last_result(&mut self, entry: &BookEntry, kind: Kind) -> Result<(), Ending> {
        let has_strange = self.links.has_own_warnings() && !self.links.has_warnings();
        if self.state.has_released_error() {
            tell_error_again(entry, self).await?;
        } else if has_strange {
            forget_warnings(entry, self).await?;
        }
        if self.links.in_use.is_none() {
            return Ok(());
        }
        let told = match kind {
            Kind::Query => {
                let text = self.flight.text(self.state.identity.capabilities).unwrap_or_default();
                with_numbers(text, self.links.unknown_here(&self.state))
            }
            // It is told when it is prepared.
            Kind::StmtExecute => None,
            _ => return Ok(()),
        };
        match told {
            Some(text) => rewrite(&mut self.flight.begin().front, self.state.identity.capabilities, &text),
            None if has_strange || self.links.has_warnings() => {}
            // They belong to the connection over which the statement before ran.
            None if self.links.unknown_here(&self.state).changed.is_some() => {
                forget_warnings(entry, self).await?;
            }
            None => {}
        }
        Ok(())
    }

    /// Makes `LAST_INSERT_ID()` at the backend in use what it is to the session.
    pub(super) async fn bring_last_id(
        &mut self,
        entry: &BookEntry,
        decided: &mut Decided,
    ) -> Result<(), Stop> {
        until_told(&entry.worker, &self.state).await;
        if self.links.has_last_id(&self.state) {
            return Ok(());
        }
        let id = self.state.last.results.last_id().known();
        // At MySQL anything else would hide how many rows were found.
        let set = (packet_of(&self.state, format!("SET last_insert_id = {id}").as_bytes()), Answer::Result);
        let replies = match ask_server(entry, self, &[set]).await? {
            Ok(replies) => replies,
            Err(error) => return Err(self.set_up_failed(error, decided)),
        };
        if let Some(refusal) = replies.iter().find(|reply| reply.error().is_some()) {
            let payload = refusal.bytes.get(HEADER_LEN..).unwrap_or_default().to_vec();
            return Err(Stop::Told(payload));
        }
        self.state.last.results.set_last_id(LastId::Is(id));
        // That has hidden how many rows the statement before had.
        self.links.note_ran(&mut self.state);
        self.state.last.hide_changed();
        if let Some(link) = self.links.connection_mut() {
            link.set_last_id(Some(id));
        }
        Ok(())
    }
}

/// Waits until the session that has the connection now has asked for what this one may need.
async fn until_told(worker: &Worker, state: &SessionState) {
    let limit = worker.settings().variables.connect_timeout_server;
    let _ = tokio::time::timeout(limit, state.last.results.until_told()).await;
}

impl Links {
    /// Whether the backend in use has to know of the statement before what only the session knows:
    /// the command asks about that, or is one of which only the server knows whether it takes away
    /// an error that is kept here.
    pub(super) fn needs_last_result(&self, state: &SessionState, decided: &Decided) -> bool {
        decided.asks_for_last() && self.hears_of_others(state)
            || decided.may_have_tables() && state.has_released_error()
    }
}
