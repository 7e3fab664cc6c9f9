//! What a session has at one place: at home, or at a shard.

use std::rc::Rc;

use upstream::Backend;

use super::entry::BookEntry;
use super::flight::Flight;
use super::links::Links;
use super::state::SessionState;

/// What a session has at one place.
#[derive(Debug)]
pub(super) struct Leg {
    pub(super) links: Links,
    pub(super) state: Box<SessionState>,
    pub(super) flight: Flight,
}

impl Leg {
    /// A place with this state, and a connection if there is one.
    pub(super) fn new(entry: &BookEntry, state: Box<SessionState>, backend: Option<Backend>) -> Self {
        let links = Links::new(entry.worker.interned.pool_key(&state.identity), backend);
        Self { links, state, flight: Flight::new(Rc::clone(&entry.flights)) }
    }
}
