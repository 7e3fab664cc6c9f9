//! What a session has at one place: at home, or at a shard.

use std::rc::Rc;

use route::Session;
use upstream::Backend;

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

    /// What the session is in the middle of.
    pub fn session(&self) -> Session {
        self.links.session(&self.state)
    }
}
