//! Assembles whole messages out of arbitrary reads; for logins and control traffic, not for results.

use super::{HEADER_LEN, Header};
use crate::WireError;

/// Collects what a peer sent and hands out whole messages.
///
/// Feed it until [`message`](Self::message) has one; take all messages before feeding more, so that at most
/// one incomplete message (below the limit) and one read are held. After an error it stays at the bad packet
/// and returns the same error again: the connection has no defined next byte any more.
#[derive(Debug)]
pub struct MessageReader {
    /// Bytes that were fed, from `start` on not yet taken.
    buffer: Vec<u8>,
    start: usize,
    /// Payloads of the earlier packets of a message in several packets.
    message: Vec<u8>,
    limit: usize,
    seq: u8,
}

impl MessageReader {
    /// A reader that refuses messages of more than `limit` bytes of payload, and expects sequence id 0 first.
    pub const fn new(limit: usize) -> Self {
        Self { buffer: Vec::new(), start: 0, message: Vec::new(), limit, seq: 0 }
    }

    /// Sets the sequence id that the next message starts with. To be called between messages.
    pub fn expect(&mut self, seq: u8) {
        debug_assert!(self.message.is_empty(), "the packets of one message are numbered in a row");
        self.seq = seq;
    }

    /// The sequence id after the last packet taken: the one that an answer starts with.
    pub const fn next_seq(&self) -> u8 {
        self.seq
    }

    /// Adds what was read from the peer.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Takes the payload of the next message, or `None` if it is not complete yet.
    ///
    /// # Errors
    ///
    /// [`WireError::OutOfOrder`] or [`WireError::TooLong`] as soon as a header says so, before its payload
    /// has arrived.
    pub fn message(&mut self) -> Result<Option<Vec<u8>>, WireError> {
        while let Some(&header) = self.unread().first_chunk::<HEADER_LEN>() {
            let header = Header::parse(header);
            if header.seq != self.seq {
                return Err(WireError::OutOfOrder { expected: self.seq, got: header.seq });
            }
            // Never wraps: both are lengths in memory, and a header says at most 2^24-1.
            let len = header.len as usize;
            if self.message.len() + len > self.limit {
                return Err(WireError::TooLong { limit: self.limit });
            }
            let body = self.start + HEADER_LEN;
            let Some(payload) = self.buffer.get(body..body + len) else {
                return Ok(None);
            };
            self.message.extend_from_slice(payload);
            self.start = body + len;
            self.seq = self.seq.wrapping_add(1);
            if !header.continues() {
                return Ok(Some(std::mem::take(&mut self.message)));
            }
        }
        Ok(None)
    }

    /// Bytes that were fed and belong to no message that was taken.
    pub fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// The unread bytes, for whoever reads the connection next. To be called between messages.
    pub fn into_unread(mut self) -> Vec<u8> {
        debug_assert!(self.message.is_empty(), "the first packets of a message would be lost");
        self.buffer.drain(..self.start);
        self.buffer
    }
}
