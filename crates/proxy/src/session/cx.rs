//! What runs a command: parts of a session, for as long as that takes.

use super::entry::BookEntry;
use super::io::Io;
use super::leg::Leg;

/// The client, where its session runs, and what the session has at the place where its command
/// runs: at home, or at a shard.
#[derive(Debug)]
pub(super) struct Cx<'a> {
    pub(super) entry: &'a BookEntry,
    pub(super) io: &'a mut Io,
    pub(super) leg: &'a mut Leg,
}
