//! What runs a command: parts of a session, for as long as that takes.

use std::rc::Rc;

use upstream::Backend;

use super::entry::BookEntry;
use super::flight::Flight;
use super::io::Io;
use super::links::Links;
use super::state::SessionState;

/// The client, where its session runs, and what the session has at the place where its command
/// runs: at home, or at a shard.
#[derive(Debug)]
pub(super) struct Cx<'a> {
    pub(super) entry: &'a BookEntry,
    pub(super) io: &'a mut Io,
    pub(super) links: &'a mut Links,
    pub(super) state: &'a mut SessionState,
    pub(super) flight: &'a mut Flight,
}

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

    /// Runs a command of this client here.
    pub(super) fn cx<'a>(&'a mut self, entry: &'a BookEntry, io: &'a mut Io) -> Cx<'a> {
        let Self { links, state, flight } = self;
        Cx { entry, io, links, state, flight }
    }
}
