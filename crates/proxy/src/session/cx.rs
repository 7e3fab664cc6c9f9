//! What runs a command: parts of a session, for as long as that takes.

use legs::entry::BookEntry;
use legs::io::Io;
use legs::leg::Leg;

/// The client, where its session runs, and what the session has at the place where its command
/// runs: at home, or at a shard.
#[derive(Debug)]
pub(super) struct Cx<'a> {
    pub(super) entry: &'a BookEntry,
    pub(super) io: &'a mut Io,
    pub(super) leg: &'a mut Leg,
}

impl Cx<'_> {
    /// The command in the backlog is the flight's, for as long as the leg does something for it.
    pub(super) fn lend_command(&mut self) {
        self.leg.flight.begin().front = std::mem::take(&mut self.io.backlog);
    }

    /// It is in the backlog again.
    pub(super) fn take_command_back(&mut self) {
        self.io.backlog = std::mem::take(&mut self.leg.flight.begin().front);
    }
}
