//! One reply out of those of several shards.
//!
//! Each shard executes the statement, and its reply comes as bytes of the protocol. [`Scatter`]
//! puts the replies together: it decides, and knows of no socket. A [`Branch`] takes the reply of a
//! shard, and [`Relay`] gives the client what comes of all.
//!
//! - `branch`: where the replies of shards come in;
//! - `shard`: which message of a shard's reply is next, and what it means;
//! - `definitions`: the columns of the result, out of those of all shards;
//! - `rows`: the order of the rows, and the limit;
//! - `beginning`: the first packets of the client, `ending`: its last one;
//! - `writer`: packets for the client;
//! - `fault`: why replies do not go together;
//! - `feeds`: a file of the client, as the branches get it;
//! - `relay`: the client's socket.
//!
//! A result begins when the definitions of all shards are there. Its rows do not wait for the last
//! row of any shard. At most `SCATTER_SHARD_BYTES_MAX` bytes of each shard are kept, or one row
//! that is larger.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic))]

mod beginning;
mod branch;
mod definitions;
mod ending;
mod fault;
mod feeds;
mod limits;
mod relay;
mod rows;
mod shard;
#[cfg(test)]
mod tests;
mod writer;

use planner::merge::{Order, Protocol, Window};
use planner::plan::Counts;
use planner::seen::Cells;
use wire::{Capabilities, StatusFlags};

pub use branch::{Branch, Branches};
pub use definitions::logical;
pub use ending::{Over, row_of, with_rows};
use fault::Wrong;
pub use feeds::Feeds;
pub use relay::Relay;
pub use shard::Source;

use crate::limits::{SCATTER_KEPT_BYTES_MAX, SCATTER_SHARD_BYTES_MAX};
use rows::{Count, Passed, Rows};
use shard::{End, Shard};
use writer::Writer;

/// What the replies are, and what becomes of them.
#[derive(Debug)]
pub struct What {
    /// The command that is answered.
    pub kind: Kind,
    /// How rows are written.
    pub protocol: Protocol,
    /// The hidden keys at the end of the rows of shards.
    pub order: Order,
    /// LIMIT and OFFSET of the client's statement.
    pub window: Window,
    /// Names that are replaced in rows.
    pub cells: Cells,
    /// The capabilities of the clients of shards: see [`capabilities_at_shards`].
    pub shard_caps: Capabilities,
    /// The capabilities of the client.
    pub client_caps: Capabilities,
    /// The sequence id of the reply's first packet.
    pub seq: u8,
    /// The status of the client's session, if no shard tells its own.
    pub status: StatusFlags,
    /// Bytes of the longest message of a shard: `max_allowed_packet`.
    pub message_bytes_max: usize,
    /// When the client gets an error.
    pub errors: Errors,
    /// How the numbers of rows become one.
    pub counts: Counts,
    /// The id that the client is told, if it is not that of a shard.
    pub last_insert_id: Option<u64>,
}

/// Which command a reply belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `COM_QUERY` or `COM_STMT_EXECUTE`: OK or one result.
    Result,
    /// `COM_STMT_PREPARE`: parameters and columns. The id in the client's reply is `id`.
    Prepared {
        /// The statement's number for the client.
        id: u32,
    },
}

/// When the client gets the error of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errors {
    /// At once: for statements that only read.
    AtOnce,
    /// When the replies of all shards are over: nothing of a statement that writes goes on behind
    /// its error.
    Last,
}

/// The capabilities with which the proxy is a client of shards, on behalf of a client with `caps`.
/// All packets of replies are there, and none of them is about the progress of a statement.
pub const fn capabilities_at_shards(caps: Capabilities) -> Capabilities {
    caps.difference(
        Capabilities::OPTIONAL_RESULTSET_METADATA
            .union(Capabilities::MARIADB_CACHE_METADATA)
            .union(Capabilities::MARIADB_PROGRESS)
            .union(Capabilities::MARIADB_BULK_UNIT_RESULTS)
            .union(Capabilities::COMPRESS)
            .union(Capabilities::ZSTD_COMPRESSION)
            .union(Capabilities::SSL),
    )
}

/// The replies of all shards to one statement, and the client's reply out of them.
///
/// Statements of shards must not open cursors, which leave the rows to `COM_STMT_FETCH`.
#[derive(Debug)]
pub struct Scatter {
    shards: Vec<Shard>,
    /// The definitions that the client was told, with the names of the first shard, if shards begin
    /// behind them.
    columns: Vec<Box<[u8]>>,
    what: What,
    /// Flags of shards that say nothing of the client's session.
    hidden: StatusFlags,
    writer: Writer,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Not all shards have reached their rows, or ended.
    Begin,
    /// Rows pass.
    Rows(Box<Rows>),
    /// The client has all rows: the ends of the shards are awaited.
    Rest(Count),
    /// The client gets an error when the shards have ended.
    Failing(Failure),
    /// The client has its reply.
    Over(Over),
}

/// How far the reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Shards have to send more.
    Wait,
    /// The client has to take what is there.
    Full,
    /// The client has its reply, once it has taken what is there. Shards may go on.
    Over,
}

/// Why a reply ends with an error.
#[derive(Debug, Clone)]
enum Failure {
    /// The shard with this number has answered with an error.
    Refused(usize),
    /// The reply of the shard with this number is wrong.
    Wrong(usize, Wrong),
}

impl Scatter {
    /// The replies of these shards, before their first bytes.
    pub fn new(what: What, sources: Vec<Source>) -> Self {
        let limit = what.message_bytes_max;
        let mut shards: Vec<Shard> = Vec::with_capacity(sources.len());
        for source in sources {
            let mut shard = Shard::new(source, what.kind, what.shard_caps, limit);
            for before in shards.iter_mut().filter(|before| before.source.session == shard.source.session) {
                before.turn.is_followed = true;
                shard.turn.follows = true;
            }
            shards.push(shard);
        }
        let writer = Writer::new(what.client_caps, what.seq);
        let hidden = StatusFlags::empty();
        Self { shards, columns: Vec::new(), what, hidden, writer, state: State::Begin }
    }

    /// The statement is a transaction of its own at each shard, of which the client knows nothing.
    pub const fn hide_transaction(&mut self) {
        self.hidden = StatusFlags::IN_TRANSACTION;
    }

    /// How many bytes of a shard may be [fed](Self::feed): none if the shard is ahead of others, or
    /// if its reply is over.
    pub fn room(&self, shard: usize) -> usize {
        match self.shards.get(shard) {
            Some(shard) if shard.room() > 0 => shard.room(),
            // Sorted rows wait for those that the session gets later.
            Some(shard) if shard.turn.is_followed && shard.is_open() && !self.what.order.is_empty() => {
                let kept: usize = self.shards.iter().map(Shard::kept).sum();
                SCATTER_KEPT_BYTES_MAX.saturating_sub(kept).min(SCATTER_SHARD_BYTES_MAX)
            }
            _ => 0,
        }
    }

    /// Takes the next bytes of a shard, not more than there is [room](Self::room) for.
    pub fn feed(&mut self, shard: usize, bytes: &[u8]) {
        if let Some(shard) = self.shards.get_mut(shard) {
            shard.feed(bytes);
        }
    }

    /// The connection of a shard has ended. Whole messages in front of the end count.
    pub fn close(&mut self, shard: usize) {
        if let Some(shard) = self.shards.get_mut(shard) {
            shard.close();
        }
    }

    /// The first packet of the client has this sequence id. Nothing was [drained](Self::drain) yet.
    pub(crate) const fn begin_at(&mut self, seq: u8) {
        self.writer.begin_at(seq);
    }

    /// Whether the reply of a shard is over.
    pub(crate) fn has_ended(&self, shard: usize) -> bool {
        self.shards.get(shard).is_none_or(|shard| shard.end().is_some())
    }

    /// Whether the replies of all shards are over.
    pub(crate) fn is_quiet(&self) -> bool {
        self.shards.iter().all(|shard| shard.end().is_some())
    }

    /// Whether a shard has answered without an error, once it has answered.
    pub fn has_succeeded(&self, shard: usize) -> Option<bool> {
        let shard = self.shards.get(shard)?;
        Some(!matches!(shard.end()?, End::Refused(_) | End::Lost))
    }

    /// What has become of the statement, once the client has its reply.
    pub const fn over(&self) -> Option<&Over> {
        match &self.state {
            State::Over(over) => Some(over),
            State::Begin | State::Rows(_) | State::Rest(_) | State::Failing(_) => None,
        }
    }

    /// Appends to `out` what the client can be sent.
    ///
    /// Behind [`Progress::Over`] nothing is appended any more: the rest of the shards is dropped.
    pub fn drain(&mut self, out: &mut Vec<u8>) -> Progress {
        match self.advance(out) {
            Ok(progress) => progress,
            Err(failure) => {
                self.lose(&failure);
                self.state = State::Failing(failure);
                self.give_up(out)
            }
        }
    }

    fn advance(&mut self, out: &mut Vec<u8>) -> Result<Progress, Failure> {
        loop {
            match &mut self.state {
                State::Begin => {
                    if !self.begin(out)? {
                        return Ok(Progress::Wait);
                    }
                }
                State::Rows(_) => {
                    self.admit()?;
                    let State::Rows(rows) = &mut self.state else { continue };
                    let passed = rows.pass(&mut self.shards, &mut self.writer, out)?;
                    let count = rows.count();
                    // Errors behind the limit are none of the client's rows.
                    if !rows.is_limit_reached() {
                        self.check()?;
                    }
                    match passed {
                        Passed::Wait => {
                            self.check_kept()?;
                            return Ok(Progress::Wait);
                        }
                        Passed::Full => return Ok(Progress::Full),
                        Passed::All => self.state = State::Rest(count),
                    }
                }
                &mut State::Rest(count) => {
                    self.skip();
                    if !self.is_quiet() {
                        return Ok(Progress::Wait);
                    }
                    self.end(Some(count), out)?;
                }
                State::Failing(_) => return Ok(self.give_up(out)),
                State::Over(_) => {
                    self.skip();
                    return Ok(Progress::Over);
                }
            }
        }
    }

    /// Ends the reply with an error, as soon as the client is to get it.
    fn give_up(&mut self, out: &mut Vec<u8>) -> Progress {
        self.skip();
        if self.what.errors == Errors::Last && !self.is_quiet() {
            return Progress::Wait;
        }
        if let State::Failing(failure) = &self.state {
            let failure = match failure {
                Failure::Refused(at) => match self.first_refused(*at) {
                    Some(first) => Failure::Refused(first),
                    None => return Progress::Wait,
                },
                wrong @ Failure::Wrong(..) => wrong.clone(),
            };
            let over = self.fail(failure, out);
            self.state = State::Over(over);
        }
        Progress::Over
    }

    /// The shard that has refused first in the session of this one, which has: the others are
    /// refused because of it. None as long as a reply before has not ended.
    fn first_refused(&self, at: usize) -> Option<usize> {
        let session = self.shards.get(at)?.source.session;
        let before = self.shards.iter().take(at).enumerate();
        for (number, shard) in before.filter(|(_, shard)| shard.source.session == session) {
            shard.end()?;
            if shard.refusal().is_some() {
                return Some(number);
            }
        }
        Some(at)
    }

    /// Fails if a shard has answered with an error.
    fn check(&self) -> Result<(), Failure> {
        let refused = self.shards.iter().position(|shard| shard.refusal().is_some());
        refused.map_or(Ok(()), |at| Err(Failure::Refused(at)))
    }

    /// Drops what shards have sent, as far as it reaches.
    fn skip(&mut self) {
        self.shards.iter_mut().for_each(Shard::skip);
    }
}

#[cfg(test)]
impl Scatter {
    /// Whether the next byte of a shard means nothing any more.
    fn is_lost(&self, shard: usize) -> bool {
        self.shards.get(shard).is_some_and(|shard| shard.end() == Some(&End::Lost))
    }

    /// Whether shards run on that the client needs nothing of, because of a limit or an error.
    fn is_rest(&self) -> bool {
        !matches!(self.state, State::Begin | State::Rows(_)) && !self.is_quiet()
    }
}
