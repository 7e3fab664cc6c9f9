//! The replies of branches on their way to the client.

use std::cell::Ref;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use net::relay::Output;

use super::branch::{Branches, Replies};
use super::feeds::Feeds;
use super::{Progress, Scatter};
use crate::limits::SCATTER_OUT_BYTES_MAX;

/// A [`Scatter`] with the bytes that its client has not taken yet.
///
/// The legs that run the branches are polled in the same task, before the relay.
#[derive(Debug)]
pub struct Relay {
    replies: Rc<Replies>,
    out: Vec<u8>,
    written: usize,
    /// The client has got a part of the reply.
    has_begun: bool,
    /// Nothing is written before the whole reply is there.
    holds: bool,
    /// The client gets nothing: the reply is for the proxy.
    kept: Option<Kept>,
}

/// A reply that the proxy keeps.
#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    bytes_max: usize,
    /// More bytes have come.
    is_cut: bool,
}

impl Relay {
    /// Nothing has been read or written.
    pub fn new(scatter: Scatter) -> Self {
        let replies = Rc::new(Replies::new(scatter));
        Self { replies, out: Vec::new(), written: 0, has_begun: false, holds: false, kept: None }
    }

    /// The clients of the branches.
    pub fn branches(&self) -> Branches {
        Branches::new(Rc::clone(&self.replies), None)
    }

    /// The same where servers may ask for a file.
    pub fn branches_with(&self, feeds: &Feeds) -> Branches {
        Branches::new(Rc::clone(&self.replies), Some(feeds.clone()))
    }

    /// The first packet of the client has this sequence id.
    pub fn begin_at(&self, seq: u8) {
        self.replies.scatter.borrow_mut().begin_at(seq);
    }

    /// The client takes nothing more: the branches are to end, once they are polled.
    pub fn leave(&self) {
        self.replies.leave();
    }

    /// Whether it does not.
    pub fn has_left(&self) -> bool {
        self.replies.is_left()
    }

    /// The same for a reply that waits for a COMMIT behind it. Rows do not wait.
    pub fn holding(scatter: Scatter) -> Self {
        Self { holds: true, ..Self::new(scatter) }
    }

    /// The same for a reply of at most so many bytes that the proxy [takes](Self::take_kept).
    pub fn keeping(scatter: Scatter, bytes_max: usize) -> Self {
        Self { kept: Some(Kept { bytes_max, ..Kept::default() }), ..Self::new(scatter) }
    }

    /// The reply that was kept; none if it has too many bytes.
    pub fn take_kept(&mut self) -> Option<Vec<u8>> {
        self.kept.take().filter(|kept| !kept.is_cut).map(|kept| kept.bytes)
    }

    /// Keeps what the client would get.
    fn keep(&mut self) {
        let Some(kept) = &mut self.kept else { return };
        kept.is_cut |= kept.bytes.len() + self.out.len() > kept.bytes_max;
        if !kept.is_cut {
            kept.bytes.extend_from_slice(&self.out);
        }
        self.out.clear();
    }

    /// Whether the client has got nothing of the reply because it is held.
    #[cfg(test)]
    pub(crate) const fn is_held(&self) -> bool {
        self.holds
    }

    /// The client was asked for a file: what it gets next is behind that.
    pub const fn note_begun(&mut self) {
        self.has_begun = true;
    }

    /// Whether the client has got a part of the reply. What it gets next is another part to it.
    pub const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// The replies.
    pub fn scatter(&self) -> Ref<'_, Scatter> {
        self.replies.scatter.borrow()
    }

    /// Gives the client what has come, until it has its reply.
    ///
    /// # Errors
    ///
    /// Those of the client's socket. What is wrong with a shard is a part of the reply.
    pub fn poll_reply(&mut self, cx: &mut Context<'_>, client: &mut impl Output) -> Poll<io::Result<()>> {
        loop {
            if !self.holds {
                ready!(self.poll_write(cx, client))?;
            }
            let progress = self.replies.scatter.borrow_mut().drain(&mut self.out);
            self.keep();
            self.holds &= self.out.len() < SCATTER_OUT_BYTES_MAX;
            if !self.out.is_empty() && !self.holds {
                continue;
            }
            match progress {
                Progress::Over => return Poll::Ready(Ok(())),
                Progress::Full if self.kept.is_some() => {}
                Progress::Full | Progress::Wait => {
                    self.replies.wake_those_with_room(cx);
                    return Poll::Pending;
                }
            }
        }
    }

    /// Drops what shards say behind the client's reply, until all of them have ended theirs.
    pub fn poll_rest(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.replies.scatter.borrow_mut().drain(&mut self.out);
        self.keep();
        self.replies.wake_those_with_room(cx);
        if self.scatter().is_quiet() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Writes what the client has not taken; ready when it has taken all.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, client: &mut impl Output) -> Poll<io::Result<()>> {
        while let Some(rest) = self.out.get(self.written..).filter(|rest| !rest.is_empty()) {
            match ready!(client.poll_write(cx, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                bytes => {
                    self.written += bytes;
                    self.has_begun = true;
                }
            }
        }
        self.written = 0;
        self.out.clear();
        if self.out.capacity() > 2 * SCATTER_OUT_BYTES_MAX {
            // A large row has passed.
            self.out = Vec::new();
        }
        client.poll_flush(cx)
    }
}
