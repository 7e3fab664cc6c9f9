//! What a session has at one place: at home, or at a shard.

use std::rc::Rc;

use command::Command;
use route::Session;
use upstream::Backend;
use wire::command::Kind;

use crate::entry::BookEntry;
use crate::flight::Flight;
use crate::links::Links;
use crate::state::SessionState;

/// What a session has at one place.
#[derive(Debug)]
pub struct Leg {
    /// Its connections.
    pub links: Links,
    /// Its state.
    pub state: Box<SessionState>,
    /// The command that runs there.
    pub flight: Flight,
}

impl Leg {
    /// A place with this state, and a connection if there is one.
    pub fn new(entry: &BookEntry, state: Box<SessionState>, backend: Option<Backend>) -> Self {
        let links = Links::new(entry.worker.interned.pool_key(&state.identity), backend);
        Self { links, state, flight: Flight::new(Rc::clone(&entry.flights)) }
    }

    /// The command for which a connection is set up.
    pub fn command(&self) -> Option<Command<'_>> {
        Command::first(&self.flight.front, self.state.identity.capabilities)
    }

    /// Its text, if it is a `COM_QUERY`, and whole.
    pub(crate) fn text(&self) -> Option<&[u8]> {
        let command = self.command().filter(Command::is_whole)?;
        (command.kind == Kind::Query).then(|| command.text())
    }

    /// What the session is in the middle of.
    pub fn session(&self) -> Session {
        self.links.session(&self.state)
    }
}
