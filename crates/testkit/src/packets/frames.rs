//! The compressed protocol below packets, as strict as real peers are, and as careless.
//!
//! Real peers close the connection at a frame with a wrong sequence id; so does this one. And they
//! ignore the ids of the packets inside the frames, and send what they like: here every packet that
//! is sent has the same one.

use wire::compress::{Codecs, Inflated, Inflater, Method, Peer};
use wire::frame::{HEADER_LEN, Header};
use wire::{WireError, frame};

/// Plain text of a frame, in bytes: what servers put into one (`net_buffer_length`).
const FRAME_LEN: usize = 16 << 10;
/// Level of zlib.
const ZLIB_LEVEL: u8 = 6;
/// Bytes expanded at once.
const ROOM: usize = 64 << 10;

/// The id of all packets that are sent in frames.
const ANY_ID: u8 = 0xcc;

/// One side of a compressed connection.
#[derive(Debug)]
pub(super) struct Frames {
    method: Method,
    codecs: Codecs,
    inflater: Inflater,
    room: Vec<u8>,
    /// The id of the next frame, in either direction.
    next: u8,
    peer: Peer,
}

impl Frames {
    pub(super) fn new(peer: Peer, method: Method) -> Self {
        Self {
            method,
            codecs: Codecs::new(ZLIB_LEVEL),
            inflater: Inflater::new(method),
            room: vec![0; ROOM],
            next: 0,
            peer,
        }
    }

    /// The next frame has this id.
    pub(super) const fn expect(&mut self, seq: u8) {
        self.next = seq;
    }

    /// The plain text of what was received.
    pub(super) fn receive(&mut self, mut bytes: &[u8]) -> Result<Vec<u8>, WireError> {
        let mut plain = Vec::new();
        loop {
            let Inflated { read, written, frame } =
                self.inflater.inflate(&mut self.codecs, bytes, &mut self.room)?;
            plain.extend_from_slice(self.room.get(..written).unwrap_or_default());
            bytes = bytes.get(read..).unwrap_or_default();
            match frame {
                // A client may begin a command before anybody has said that one is expected.
                Some(got) if got != self.next && (got, self.peer) != (0, Peer::Client) => {
                    return Err(WireError::OutOfOrder { expected: self.next, got });
                }
                Some(got) => self.next = got.wrapping_add(1),
                None if (read, written) == (0, 0) => return Ok(plain),
                None => {}
            }
        }
    }

    /// The frames that send whole packets.
    pub(super) fn send(&mut self, mut packets: Vec<u8>) -> Vec<u8> {
        let mut at = 0;
        while let Some(header) = packets.get(at..).and_then(|rest| rest.first_chunk::<HEADER_LEN>()) {
            let len = Header::parse(*header).len as usize;
            if let Some(seq) = packets.get_mut(at + HEADER_LEN - 1) {
                *seq = ANY_ID;
            }
            at += HEADER_LEN + len;
        }
        let mut out = Vec::new();
        // A long message is sent in long frames, as `libmysqlclient` does, but for the first.
        let (first, rest) = packets.split_at_checked(FRAME_LEN).unwrap_or((&packets, &[]));
        for plain in std::iter::once(first).chain(rest.chunks(frame::MAX_PAYLOAD)) {
            self.codecs.put_frame(self.method, self.next, plain, &mut out);
            self.next = self.next.wrapping_add(1);
        }
        out
    }
}
