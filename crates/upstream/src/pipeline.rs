//! Queue of the replies that a server connection still owes, oldest first.
//!
//! The code that sends a command appends its reply; the code that reads asks the queue whose bytes
//! these are. A connection with an empty queue owes nothing: bytes that come then were not asked
//! for. Pure: it sees bytes, and no socket.

use std::collections::VecDeque;

use wire::reply::{Answer, Event, ReplyScanner};
use wire::{Capabilities, WireError};

use crate::purpose::Purpose;

/// Replies for which a connection that owes none keeps room.
const KEPT: usize = 8;

/// Replies that a connection still owes, oldest first. A command at a time needs no memory besides
/// the front entry.
#[derive(Debug, Default)]
pub struct Pipeline {
    /// The reply that is being read, or was read last.
    front: Option<Reading>,
    /// The replies behind it.
    rest: VecDeque<Expected>,
}

#[derive(Debug)]
struct Reading {
    scanner: ReplyScanner,
    owner: Owner,
    /// All of it was read: it is not owed any more.
    is_over: bool,
}

/// A reply of which nothing was read.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    answer: Answer,
    owner: Owner,
    /// The sequence id that it begins with.
    seq: u8,
    /// Whether the scanner stops behind packets that tell of changes in the session.
    stops: bool,
}

/// To which command a reply belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// A command of the client whose session has the connection.
    Client,
    /// A command that sets the connection up for the command behind it.
    Setup(Purpose),
    /// An internal query of the proxy.
    Internal,
    /// A command of another session, sent in the same batch.
    Member {
        /// The number of the prepared statement that it executes.
        statement: Option<u32>,
    },
    /// The same, of the session that gets the connection next or has just got it; or a command of
    /// the session that has it, sent behind an internal query.
    Sent {
        /// The number of the prepared statement that it executes.
        statement: Option<u32>,
    },
    /// A command whose session is gone: the reply is read and dropped.
    Unowned,
}

/// The start of the input, as far as it belongs to one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'i> {
    /// To which command the bytes belong.
    pub owner: Owner,
    /// Bytes of one reply: whole packets or parts of them.
    pub bytes: &'i [u8],
    /// What happens behind the bytes.
    pub event: Event,
}

/// How far the reply that the client gets next has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Whether any byte of it was read.
    pub is_begun: bool,
    /// Whether another packet may follow what was read.
    pub is_between_packets: bool,
    /// The sequence id of the next packet.
    pub next_seq: u8,
}

/// Why bytes of a server have no owner. The connection is of no more use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Crossed {
    /// No reply was owed.
    #[error("{0} bytes came that no command asked for")]
    Unasked(usize),
    /// The bytes are not the reply that was owed.
    #[error(transparent)]
    Nonsense(#[from] WireError),
}

impl Expected {
    /// A reply to a command of this owner.
    pub(crate) const fn new(answer: Answer, owner: Owner) -> Self {
        Self { answer, owner, seq: 1, stops: false }
    }

    /// A reply to a command of the client. Its scanner `stops` behind packets that tell of changes
    /// in the session, or not.
    pub const fn of_client(answer: Answer, stops: bool) -> Self {
        Self { answer, owner: Owner::Client, seq: 1, stops }
    }

    /// The same for a command that is sent behind an internal query. The reply is not the client's
    /// yet.
    pub(crate) const fn of_sent(answer: Answer, stops: bool) -> Self {
        Self { answer, owner: Owner::Sent { statement: None }, seq: 1, stops }
    }
}

impl Pipeline {
    /// Appends the reply to a command that is about to be sent. The connection has agreed on
    /// `caps`.
    pub(crate) fn expect(&mut self, expected: Expected, caps: Capabilities) {
        let Expected { answer, owner, seq, stops } = expected;
        if answer == Answer::None {
            return;
        }
        if self.owner().is_none() {
            let scanner = ReplyScanner::new(answer, caps).starting_at(seq).stopping_at_changes(stops);
            self.front = Some(Reading { scanner, owner, is_over: false });
        } else {
            self.rest.push_back(expected);
        }
    }

    /// The reply to the last command begins with this sequence id: the command had several packets.
    pub fn start_at(&mut self, seq: u8) {
        if let Some(last) = self.rest.back_mut() {
            last.seq = seq;
        } else if let Some(front) = self.front.as_mut().filter(|front| !front.scanner.started()) {
            front.scanner = front.scanner.clone().starting_at(seq);
        }
    }

    /// The reply that is read next is the one of the session that gets the connection: of a batch
    /// member, which is gone or not. Whether it is one.
    pub(crate) fn hand_over(&mut self, is_gone: bool) -> bool {
        let Some(Owner::Member { statement }) = self.owner() else { return false };
        self.set_owner(if is_gone { Owner::Unowned } else { Owner::Sent { statement } });
        true
    }

    /// The session to which the connection was handed over goes on with reading. Whether its
    /// command was sent.
    pub fn promote(&mut self) -> bool {
        let is_sent = matches!(self.owner(), Some(Owner::Sent { .. }));
        if is_sent {
            self.set_owner(Owner::Client);
        }
        is_sent
    }

    /// The session to which the connection was handed over is gone.
    pub(crate) fn disown(&mut self) {
        if matches!(self.owner(), Some(Owner::Sent { .. })) {
            self.set_owner(Owner::Unowned);
        }
    }

    /// C02: whether another session may get the connection. It owes nothing, or its next reply is
    /// the one of that session, or of none.
    pub(crate) fn is_free(&self) -> bool {
        !matches!(self.owner(), Some(Owner::Client | Owner::Setup(_) | Owner::Internal))
    }

    /// Checks what holds between two reads, in debug builds; so many bytes were read ahead.
    pub(crate) fn check_invariants(&self, read_ahead: usize) {
        debug_assert!(self.front.is_some() || self.rest.is_empty(), "a reply stands behind none");
        debug_assert!(read_ahead == 0 || self.owner().is_some(), "c01: {read_ahead} bytes without an owner");
        let rank = |owner: Owner| match owner {
            Owner::Sent { .. } | Owner::Unowned => 0,
            Owner::Setup(_) => 1,
            Owner::Client | Owner::Internal => 2,
            Owner::Member { .. } => 3,
        };
        let front = self.front.iter().filter(|front| !front.is_over).map(|front| front.owner);
        let owners = || front.chain(self.rest.iter().map(|next| next.owner));
        debug_assert!(
            owners().is_sorted_by_key(rank),
            "c02: a reply of another session is in front: {self:?}"
        );
    }

    /// Sets the owner of the reply that is read next.
    fn set_owner(&mut self, owner: Owner) {
        if let Some(next) = self.begin() {
            next.owner = owner;
        }
    }

    /// Whether replies to batch members are owed, behind that of the session that has the
    /// connection.
    pub(crate) fn has_members(&self) -> bool {
        let last = self.rest.back().map(|last| last.owner);
        let front = || self.front.as_ref().filter(|front| !front.is_over).map(|front| front.owner);
        matches!(last.or_else(front), Some(Owner::Member { .. }))
    }

    /// The owner of the next byte; none if no reply is owed.
    pub(crate) fn owner(&self) -> Option<Owner> {
        match &self.front {
            Some(front) if !front.is_over => Some(front.owner),
            _ => self.rest.front().map(|next| next.owner),
        }
    }

    /// Whether the next reply is one to a command of the proxy's own.
    pub(crate) fn owes_the_proxy(&self) -> bool {
        matches!(self.owner(), Some(Owner::Setup(_) | Owner::Internal))
    }

    /// The bytes of `input` up to the next event of the front reply. A reply that is over leaves
    /// the queue.
    #[inline]
    pub fn cut<'i>(&mut self, input: &'i [u8]) -> Result<Segment<'i>, Crossed> {
        let Some(front) = self.begin() else { return Err(Crossed::Unasked(input.len())) };
        let scan = front.scanner.scan(input)?;
        front.is_over = matches!(scan.event, Event::Done(_));
        let segment =
            Segment { owner: front.owner, bytes: input.get(..scan.len).unwrap_or(input), event: scan.event };
        if front.is_over && self.rest.is_empty() && self.rest.capacity() > KEPT {
            self.rest = VecDeque::new();
        }
        Ok(segment)
    }

    /// The reply that was read last, or is being read.
    pub fn last_reply(&self) -> Option<&ReplyScanner> {
        self.front.as_ref().map(|front| &front.scanner)
    }

    /// The reply that is read next.
    pub fn next_reply(&mut self) -> Option<&mut ReplyScanner> {
        self.begin().map(|front| &mut front.scanner)
    }

    /// How far the reply that the client gets next has come.
    pub fn progress(&self) -> Progress {
        if let Some(Reading { scanner, owner: Owner::Client, is_over: false }) = &self.front {
            return Progress {
                is_begun: scanner.started(),
                is_between_packets: scanner.is_between_packets(),
                next_seq: scanner.next_seq(),
            };
        }
        let next = self.rest.iter().find(|next| next.owner == Owner::Client);
        Progress { is_begun: false, is_between_packets: true, next_seq: next.map_or(1, |next| next.seq) }
    }

    /// Begins the reply that is read next, unless it is begun.
    fn begin(&mut self) -> Option<&mut Reading> {
        let front = self.front.as_mut()?;
        if front.is_over {
            let Expected { answer, owner, seq, stops } = self.rest.pop_front()?;
            let scanner = front.scanner.next_answer(answer).starting_at(seq).stopping_at_changes(stops);
            *front = Reading { scanner, owner, is_over: false };
        }
        Some(front)
    }
}

#[cfg(test)]
mod tests;
