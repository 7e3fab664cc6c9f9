//! The sequence ids of a compressed connection: those of its frames, and those of the packets
//! inside them.
//!
//! Frames are numbered like packets without compression: both directions together, from zero with
//! every command. The packets inside are numbered as well, but a peer of the compressed protocol
//! ignores their ids, and sets its own count to that of the frames now and then (`net_flush` in the
//! servers' `net_serv.cc`). A peer without compression at the other end of a proxy is strict about
//! them. So what comes out of frames gets the ids that it would have had without them:
//! [`Numbering`] follows the packets of both directions, by their headers only.

use crate::WireError;
use crate::frame::{HEADER_LEN, Header, Piece, Pieces};
use crate::packet::LocalInfile;

/// Who is at the other end of a compressed connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// It sends commands.
    Client,
    /// It answers them.
    Server,
}

/// Counts the frames and the packets of one connection, both directions together.
#[derive(Debug, Clone)]
pub struct Numbering {
    peer: Peer,
    /// The id of the next frame, in either direction.
    frame: u8,
    /// The id of the next packet, in either direction.
    packet: u8,
    /// Whether the server's last message asks the client for a file: what the client sends is not a
    /// command then.
    file: bool,
    /// Whether the frame that is being read began with the beginning of a message.
    fresh_frame: bool,
    read: Walk,
    write: Walk,
}

/// Where one direction is.
#[derive(Debug, Clone, Default)]
struct Walk {
    pieces: Pieces,
    /// Whether the next packet continues the message of the last one.
    continued: bool,
}

/// What has passed of one packet.
struct Passed {
    /// How many bytes.
    len: usize,
    /// The sequence id of a header whose last byte is among them, and where that byte is.
    header: Option<(u8, usize)>,
    /// The first byte of a message, if it is among them.
    first: Option<u8>,
}

const _: () = assert!(size_of::<Numbering>() <= 40, "two may be held per session");

impl Walk {
    /// Before the first byte of a message.
    const fn is_between_messages(&self) -> bool {
        self.pieces.is_between() && !self.continued
    }

    /// Passes bytes up to the end of the current packet.
    fn pass(&mut self, bytes: &[u8]) -> Passed {
        let (begun, mut rest) = (self.pieces.begun(), bytes);
        let piece = self.pieces.take(&mut rest);
        let header = piece.map(|piece| piece.header).or_else(|| self.pieces.header());
        let header = header.filter(|_| begun < HEADER_LEN).map(|header| (header.seq, HEADER_LEN - begun - 1));
        let begins = piece.filter(|piece| piece.at == 0 && !self.continued);
        let first = begins.and_then(|piece| piece.bytes.first().copied());
        if let Some(piece) = piece.filter(Piece::ends) {
            self.continued = piece.header.continues();
        }
        Passed { len: bytes.len() - rest.len(), header, first }
    }
}

impl Numbering {
    /// Behind the OK packet of the login, with which the connection to `peer` has begun to be
    /// compressed.
    pub fn new(peer: Peer) -> Self {
        Self {
            peer,
            frame: 0,
            packet: 0,
            file: false,
            fresh_frame: false,
            read: Walk::default(),
            write: Walk::default(),
        }
    }

    /// Whether a frame that was received with this id begins a new command.
    pub fn begins_command(&self, seq: u8) -> bool {
        let file_goes_on = self.file && self.frame == 0;
        self.peer == Peer::Client && seq == 0 && self.read.is_between_messages() && !file_goes_on
    }

    /// A frame was received; what comes next is its content.
    ///
    /// # Errors
    ///
    /// [`WireError::OutOfOrder`] if it has not the next id of the exchange. The answer to it begins
    /// as if it had.
    pub fn receive_frame(&mut self, seq: u8) -> Result<(), WireError> {
        let (expected, fresh) = (self.frame, self.read.is_between_messages());
        let command = self.begins_command(seq);
        self.frame = seq.wrapping_add(1);
        if command {
            (self.packet, self.file) = (0, false);
        } else if seq != expected {
            // A server begins anew if it was not asked, or has lost count of a client that speaks
            // out of turn.
            if self.peer == Peer::Client || seq > 1 || !fresh {
                return Err(WireError::OutOfOrder { expected, got: seq });
            }
            self.packet = seq;
        }
        self.fresh_frame = fresh;
        Ok(())
    }

    /// Bytes were received, all of one frame: gives the packets among them their ids.
    pub fn receive(&mut self, bytes: &mut [u8]) {
        let mut begin = 0;
        while let Some(rest) = bytes.get(begin..).filter(|rest| !rest.is_empty()) {
            // Behind another message in the same frame, a client can only have put another command.
            let begins = self.read.is_between_messages();
            if begins && self.peer == Peer::Client && !self.file && !self.fresh_frame {
                self.packet = 0;
            }
            let Passed { len, header, first } = self.read.pass(rest);
            if let Some((_, at)) = header {
                if let Some(seq) = bytes.get_mut(begin + at) {
                    *seq = self.packet;
                }
                self.packet = self.packet.wrapping_add(1);
                self.fresh_frame = false;
            }
            if self.peer == Peer::Server {
                self.note(first);
            }
            begin += len;
        }
    }

    /// Bytes are to be sent: returns how many of them go into the next frame, and its id. Never
    /// none, unless there are none.
    ///
    /// A message with another id than the next one begins a new exchange, with a frame of its own.
    pub fn send(&mut self, bytes: &[u8]) -> (usize, u8) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let sent = bytes.len() - rest.len();
            if self.write.is_between_messages() {
                match rest.first_chunk::<HEADER_LEN>() {
                    Some(header) if self.begins_anew(Header::parse(*header).seq) => {
                        if sent > 0 {
                            break;
                        }
                        let [.., seq] = *header;
                        (self.packet, self.frame, self.file) = (seq, seq, false);
                    }
                    // What a header says that is cut here cannot be known.
                    None if sent > 0 => break,
                    _ => {}
                }
            }
            let len = self.pass_sent(rest);
            rest = rest.get(len..).unwrap_or_default();
        }
        let frame = self.frame;
        self.frame = frame.wrapping_add(1);
        (bytes.len() - rest.len(), frame)
    }

    /// Bytes of a packet that are still to be sent; none between two packets.
    pub const fn unsent(&self) -> u32 {
        self.write.pieces.left()
    }

    /// A frame begins that gets the rest of a packet and nothing else, [`unsent`](Self::unsent)
    /// bytes; its id.
    pub const fn begin_rest(&mut self) -> u8 {
        let frame = self.frame;
        self.frame = frame.wrapping_add(1);
        frame
    }

    /// Bytes are to be sent, of which the first ones belong to such a frame: how many.
    pub fn send_rest(&mut self, bytes: &[u8]) -> usize {
        self.pass_sent(bytes.get(..self.unsent() as usize).unwrap_or(bytes))
    }

    /// Passes bytes that are sent, up to the end of the current packet: how many.
    fn pass_sent(&mut self, bytes: &[u8]) -> usize {
        let Passed { len, header, first } = self.write.pass(bytes);
        if let Some((seq, _)) = header {
            self.packet = seq.wrapping_add(1);
        }
        if self.peer == Peer::Client {
            self.note(first);
        }
        len
    }

    /// Whether a message that is sent with this id begins a new exchange.
    const fn begins_anew(&self, seq: u8) -> bool {
        // Ids wrap: a command may come where the count is at zero anyway, and there the frames may
        // be elsewhere.
        let command = matches!(self.peer, Peer::Server) && seq == 0 && !self.file;
        seq != self.packet || command
    }

    /// Takes note of the first byte of a server's message.
    fn note(&mut self, first: Option<u8>) {
        if let Some(first) = first {
            self.file = first == LocalInfile::HEADER;
        }
    }
}

#[cfg(test)]
mod tests;
