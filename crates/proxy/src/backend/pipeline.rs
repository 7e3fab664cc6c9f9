//! Queue of the replies that a server connection still owes, oldest first.
//!
//! The code that sends a command appends its reply; the code that reads asks the queue whose bytes
//! these are. A connection with an empty queue owes nothing: bytes that come then were not asked
//! for. Pure: it sees bytes, and no socket.

use std::collections::VecDeque;

use wire::reply::{Answer, Event, Prepared, ReplyScanner};
use wire::{Capabilities, WireError};

use super::lend::Purpose;

/// Replies that a connection still owes, oldest first. A command at a time needs no memory besides
/// the front entry.
#[derive(Debug, Default)]
pub(crate) struct Pipeline {
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
#[derive(Debug)]
struct Expected {
    answer: Answer,
    owner: Owner,
}

/// To which command a reply belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A command that sets the connection up for the command behind it.
    Setup(Purpose),
    /// An internal query of the proxy.
    Internal,
    /// A command whose session is gone: the reply is read and dropped.
    Unowned,
}

/// The start of the input, as far as it belongs to one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment<'i> {
    pub(crate) owner: Owner,
    pub(crate) bytes: &'i [u8],
    /// What happens behind the bytes.
    pub(crate) event: Event,
    /// The statement that was prepared, once the reply has told it.
    pub(crate) prepared: Option<Prepared>,
}

/// Why bytes of a server have no owner. The connection is of no more use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Crossed {
    /// No reply was owed.
    #[error("{0} bytes came that no command asked for")]
    Unasked(usize),
    /// The bytes are not the reply that was owed.
    #[error(transparent)]
    Nonsense(#[from] WireError),
}

impl Pipeline {
    /// Appends the reply to a command that is about to be sent. The connection has agreed on
    /// `caps`.
    pub(crate) fn expect(&mut self, answer: Answer, owner: Owner, caps: Capabilities) {
        if answer == Answer::None {
            return;
        }
        if self.owner().is_none() {
            self.front = Some(Reading { scanner: ReplyScanner::new(answer, caps), owner, is_over: false });
        } else {
            self.rest.push_back(Expected { answer, owner });
        }
    }

    /// The owner of the next byte; none if no reply is owed.
    pub(crate) fn owner(&self) -> Option<Owner> {
        match &self.front {
            Some(front) if !front.is_over => Some(front.owner),
            _ => self.rest.front().map(|next| next.owner),
        }
    }

    /// The bytes of `input` up to the next event of the front reply. A reply that is over leaves
    /// the queue.
    pub(crate) fn cut<'i>(&mut self, input: &'i [u8]) -> Result<Segment<'i>, Crossed> {
        let Some(front) = self.begin() else { return Err(Crossed::Unasked(input.len())) };
        let scan = front.scanner.scan(input)?;
        front.is_over = matches!(scan.event, Event::Done(_));
        let bytes = input.get(..scan.len).unwrap_or(input);
        let prepared = front.scanner.prepared();
        Ok(Segment { owner: front.owner, bytes, event: scan.event, prepared })
    }

    /// The reply that is read next.
    fn begin(&mut self) -> Option<&mut Reading> {
        let front = self.front.as_mut()?;
        if front.is_over {
            let Expected { answer, owner } = self.rest.pop_front()?;
            *front = Reading { scanner: front.scanner.next_answer(answer), owner, is_over: false };
        }
        Some(front)
    }
}

#[cfg(test)]
mod tests;
