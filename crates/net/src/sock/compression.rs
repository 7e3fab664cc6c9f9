//! The compressed protocol as a layer of a socket.
//!
//! Frames are read into, and made in, buffers that all connections of a worker share. A connection
//! of its own holds what cannot wait elsewhere: compressed bytes behind the room of a read, the
//! expander of a frame that is cut, and frames that the socket has not taken. While it is idle that
//! is nothing.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use wire::WireError;
use wire::compress::{Codecs, FrameHeader, Inflater, Method, Numbering, Peer};
use wire::frame::HEADER_LEN;

use super::Input;
use super::link::Link;
use crate::limits::{SCRATCH_BYTES, ZLIB_LEVEL};
use crate::relay::Parked;

/// What the compressed connections of a worker share.
#[derive(Debug)]
pub struct Workshop {
    codecs: Codecs,
    /// Where frames are read to. Empty until the first is needed.
    input: Vec<u8>,
    /// Where frames are made.
    output: Vec<u8>,
}

impl Default for Workshop {
    fn default() -> Self {
        Self { codecs: Codecs::new(ZLIB_LEVEL), input: Vec::new(), output: Vec::new() }
    }
}

/// Compressed bytes on one connection, both directions.
#[derive(Debug)]
pub(super) struct Compression {
    workshop: Rc<RefCell<Workshop>>,
    method: Method,
    numbering: Numbering,
    inflater: Inflater,
    /// Compressed bytes that were read and wait for room.
    input: Parked,
    /// The id of a frame of which the header was read and nothing else.
    frame: Option<u8>,
    /// Whether the last read has filled its buffer in the middle of a frame.
    more: bool,
    /// Frames that the socket has not taken.
    output: Parked,
    /// Whether no packet goes into more than two frames.
    two_frames: bool,
    /// Whether a frame was begun that the rest of a packet goes into as it is.
    in_rest: bool,
}

impl Compression {
    /// Begins to compress; `input` was read behind the login.
    pub(super) fn new(workshop: &Rc<RefCell<Workshop>>, peer: Peer, method: Method, input: Vec<u8>) -> Self {
        Self {
            workshop: Rc::clone(workshop),
            method,
            numbering: Numbering::new(peer),
            inflater: Inflater::new(method),
            input: input.into(),
            frame: None,
            more: false,
            output: Parked::default(),
            two_frames: false,
            in_rest: false,
        }
    }

    /// Puts no packet into more than two frames from now on. The second one of a long packet is
    /// stored: its length has to be said before all of it is there.
    pub(super) const fn use_two_frames(&mut self) {
        self.two_frames = true;
    }

    /// Reads plain text. What belongs to another command than what was read before it is left for
    /// the next time: an answer is numbered by what was read before it.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        link: &mut Link,
        plain: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let workshop = Rc::clone(&self.workshop);
        let Workshop { codecs, input: buffer, .. } = &mut *workshop.borrow_mut();
        if self.holds_input() {
            let mut held = std::mem::take(&mut self.input);
            let (read, written) = self.expand(codecs, held.rest(), plain)?;
            held.remove(read);
            self.input = held;
            if written > 0 {
                return Poll::Ready(Ok(written));
            }
        }
        buffer.resize(SCRATCH_BYTES, 0);
        loop {
            let n = ready!(link.poll_read(cx, buffer))?;
            if n == 0 {
                return Poll::Ready(Ok(0));
            }
            let bytes = buffer.get(..n).unwrap_or_default();
            let (read, written) = self.expand(codecs, bytes, plain)?;
            self.input.end().extend_from_slice(bytes.get(read..).unwrap_or_default());
            if written > 0 {
                return Poll::Ready(Ok(written));
            }
        }
    }

    /// Expands what it can of `input` into `plain`; how much of each that was.
    fn expand(&mut self, codecs: &mut Codecs, input: &[u8], plain: &mut [u8]) -> io::Result<(usize, usize)> {
        let (mut read, mut written) = (0, 0);
        loop {
            if let Some(seq) = self.frame {
                if written > 0 && self.numbering.begins_command(seq) {
                    break;
                }
                self.frame = None;
                self.numbering.receive_frame(seq).map_err(broken)?;
            }
            let input = input.get(read..).unwrap_or_default();
            let room = plain.get_mut(written..).unwrap_or_default();
            let done = self.inflater.inflate(codecs, input, room).map_err(broken)?;
            self.numbering.receive(room.get_mut(..done.written).unwrap_or_default());
            read += done.read;
            written += done.written;
            self.frame = done.frame;
            if (done.read, done.written) == (0, 0) {
                break;
            }
        }
        self.more = written == plain.len() && self.inflater.may_have_more();
        Ok((read, written))
    }

    /// Takes at most one buffer of bytes, and none while frames are held.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        link: &mut Link,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.output.poll_flush_by(|rest| link.poll_write(cx, rest)))?;
        let workshop = Rc::clone(&self.workshop);
        let Workshop { codecs, output: buffer, .. } = &mut *workshop.borrow_mut();
        buffer.clear();
        let now = bytes.get(..SCRATCH_BYTES).unwrap_or(bytes);
        let mut taken = 0;
        while let Some(rest) = now.get(taken..).filter(|rest| !rest.is_empty()) {
            if self.in_rest {
                let len = self.numbering.send_rest(rest);
                buffer.extend_from_slice(rest.get(..len).unwrap_or(rest));
                taken += len;
                self.in_rest = self.numbering.unsent() > 0;
                continue;
            }
            if self.two_frames && self.numbering.unsent() > 0 {
                let (len, seq) = (self.numbering.unsent(), self.numbering.begin_rest());
                buffer.extend_from_slice(&FrameHeader { len, seq, plain_len: 0 }.to_bytes());
                self.in_rest = true;
                continue;
            }
            // The beginning of a packet's header, which tells nothing yet: it goes with the rest of
            // it.
            if taken > 0 && now.len() < bytes.len() && rest.len() < HEADER_LEN {
                break;
            }
            let (len, seq) = self.numbering.send(rest);
            codecs.put_frame(self.method, seq, rest.get(..len).unwrap_or(rest), buffer);
            taken += len;
        }
        self.output.send_by(buffer, |rest| link.poll_write(cx, rest))?;
        Poll::Ready(Ok(taken))
    }

    /// Writes the frames that are held.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>, link: &mut Link) -> Poll<io::Result<()>> {
        ready!(self.output.poll_flush_by(|rest| link.poll_write(cx, rest)))?;
        link.poll_flush(cx)
    }

    /// Whether frames are held.
    pub(super) const fn holds_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Whether there may be plain text without another read.
    const fn holds_input(&self) -> bool {
        self.more || self.frame.is_some() || !self.input.is_empty()
    }

    /// What waits on the connection. Of a frame that is not complete it is not known whether it
    /// holds anything: it counts as bytes.
    pub(super) fn poll_input(&self, cx: &mut Context<'_>, link: &mut Link) -> Poll<Input> {
        if self.holds_input() {
            return Poll::Ready(Input::Bytes);
        }
        link.poll_input(cx)
    }

    /// The same without waiting.
    pub(super) fn input(&self, link: &mut Link) -> Option<Input> {
        if self.holds_input() { Some(Input::Bytes) } else { link.input() }
    }
}

/// What is not the compressed protocol, as an error that [`garbled`](super::garbled) knows.
fn broken(error: WireError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
