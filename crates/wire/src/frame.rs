//! Packets and the messages made of them.
//!
//! A *packet* is a header of four bytes (payload length, sequence id) and at most 2^24-1 bytes of
//! payload. A *message* is what the protocol speaks of (a command, a row, an OK): the payload of
//! one packet, or of several if it is longer. A packet of exactly [`MAX_PAYLOAD`] bytes means that
//! the message goes on in the next packet, so a message whose length is a multiple of it ends with
//! an empty packet.
//!
//! Sequence ids count the packets of one exchange, both directions together, and wrap at 256. They
//! start at zero with the greeting and again with every command. Source: "MySQL Packets" in MySQL's
//! "Client/Server Protocol" documentation.

mod packets;
mod pieces;
mod reader;
mod scanner;

pub use packets::{Packet, Packets};
pub use pieces::{Piece, Pieces};
pub use reader::{Front, Message, MessageReader};
pub use scanner::{MessageScanner, Scanned};

use std::convert::Infallible;

use crate::{Capabilities, Codec, codec::put_u24};

/// Bytes of a packet header.
pub const HEADER_LEN: usize = 4;

/// Bytes of payload that one packet can hold; a packet this long is continued in the next one.
pub const MAX_PAYLOAD: usize = 0xff_ffff;

/// [`MAX_PAYLOAD`] as it stands in a header.
const MAX_LEN: u32 = 0xff_ffff;

/// The header of one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of payload that follow, at most [`MAX_PAYLOAD`].
    pub len: u32,
    /// The packet's place in its exchange.
    pub seq: u8,
}

impl Header {
    /// Reads a header; every four bytes are one.
    pub const fn parse(bytes: [u8; HEADER_LEN]) -> Self {
        let [a, b, c, seq] = bytes;
        Self { len: u32::from_le_bytes([a, b, c, 0]), seq }
    }

    /// The header's bytes; the upper byte of `len` is cut off.
    pub const fn to_bytes(self) -> [u8; HEADER_LEN] {
        let [a, b, c, _] = self.len.to_le_bytes();
        [a, b, c, self.seq]
    }

    /// Whether the message goes on in the next packet.
    pub const fn continues(self) -> bool {
        self.len == MAX_LEN
    }
}

/// The payload of the packet that bytes begin with, as far as it is there.
pub fn front(bytes: &[u8]) -> &[u8] {
    let Some((header, behind)) = bytes.split_first_chunk::<HEADER_LEN>() else { return &[] };
    behind.get(..Header::parse(*header).len as usize).unwrap_or(behind)
}

/// The payload of the command that bytes begin with, if all of it is there, in one packet.
pub fn whole_front(bytes: &[u8]) -> Option<&[u8]> {
    let (packet, _) = Packet::split(bytes)?;
    (!packet.header.continues()).then_some(packet.payload)
}

/// Appends `payload` as one message that starts with sequence id `seq`; returns the next sequence
/// id.
///
/// Splits it at [`MAX_PAYLOAD`], and appends an empty packet after an exact multiple (not after
/// nothing: an empty payload is one empty packet).
pub fn put_message(out: &mut Vec<u8>, seq: u8, payload: &[u8]) -> u8 {
    let mut seq = seq;
    let mut rest = payload;
    loop {
        let (chunk, after) = rest.split_at_checked(MAX_PAYLOAD).unwrap_or((rest, &[]));
        // A slice longer than a header can say was cut to MAX_PAYLOAD, which fits.
        let len = u32::try_from(chunk.len()).unwrap_or(MAX_LEN);
        put_u24(out, len);
        out.push(seq);
        out.extend_from_slice(chunk);
        seq = seq.wrapping_add(1);
        if len < MAX_LEN {
            return seq;
        }
        rest = after;
    }
}

/// The packets of a command with this payload.
pub fn command(payload: &[u8]) -> Vec<u8> {
    let mut packets = Vec::with_capacity(HEADER_LEN + payload.len());
    put_message(&mut packets, 0, payload);
    packets
}

/// The packets of an answer's first message, which has this payload.
pub fn answer(payload: &[u8]) -> Vec<u8> {
    let mut packets = Vec::with_capacity(HEADER_LEN + payload.len());
    put_message(&mut packets, 1, payload);
    packets
}

/// Encodes `packet` directly behind its header; returns the next sequence id.
///
/// A packet of [`MAX_PAYLOAD`] bytes or more is split as in [`put_message`], at the price of one
/// copy.
pub fn put_packet<'a>(out: &mut Vec<u8>, seq: u8, packet: &impl Codec<'a>, caps: Capabilities) -> u8 {
    let Ok(next) = put_with(out, seq, |out| {
        packet.write(caps, out);
        Ok::<_, Infallible>(())
    });
    next
}

/// The same for a payload that `write` appends. After an error of `write`, `out` is as before.
pub fn put_with<E>(
    out: &mut Vec<u8>,
    seq: u8,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<u8, E> {
    let start = out.len();
    let body = start + HEADER_LEN;
    out.resize(body, 0);
    if let Err(error) = write(out) {
        out.truncate(start);
        return Err(error);
    }
    Ok(match u32::try_from(out.len() - body) {
        Ok(len) if len < MAX_LEN => {
            if let Some(header) = out.get_mut(start..body) {
                header.copy_from_slice(&Header { len, seq }.to_bytes());
            }
            seq.wrapping_add(1)
        }
        _ => {
            let payload = out.split_off(body);
            out.truncate(start);
            put_message(out, seq, &payload)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::AuthMore;

    #[test]
    fn a_front_may_be_cut() {
        for (bytes, there, whole) in [
            (&b""[..], &b""[..], None),
            (b"\x02\0", b"", None),
            (b"\x02\0\0\0", b"", None),
            (b"\x02\0\0\0\x03", b"\x03", None),
            (b"\x02\0\0\0\x03Abehind", b"\x03A", Some(&b"\x03A"[..])),
            (b"\0\0\0\0behind", b"", Some(b"")),
            (b"\xff\xff\xff\0\x03A", b"\x03A", None),
        ] {
            assert_eq!((front(bytes), whole_front(bytes)), (there, whole), "{bytes:?}");
        }
    }

    #[test]
    fn headers_round_trip() {
        for bytes in [[0, 0, 0, 0], [1, 0, 0, 0], [0xff, 0xff, 0xff, 0xff], [0x12, 0x34, 0x56, 0x78]] {
            assert_eq!(Header::parse(bytes).to_bytes(), bytes);
        }
        assert_eq!(Header::parse([0x12, 0x34, 0x56, 0x78]), Header { len: 0x56_3412, seq: 0x78 });
        assert!(Header::parse([0xff, 0xff, 0xff, 0]).continues());
        assert!(!Header::parse([0xfe, 0xff, 0xff, 0]).continues());
    }

    #[test]
    fn a_message_is_split_and_ends_with_a_short_packet() {
        for (len, packets) in [
            (0, vec![0]),
            (1, vec![1]),
            (MAX_PAYLOAD - 1, vec![MAX_PAYLOAD - 1]),
            (MAX_PAYLOAD, vec![MAX_PAYLOAD, 0]),
            (MAX_PAYLOAD + 1, vec![MAX_PAYLOAD, 1]),
            (2 * MAX_PAYLOAD, vec![MAX_PAYLOAD, MAX_PAYLOAD, 0]),
        ] {
            let mut out = Vec::new();
            let next = put_message(&mut out, 254, &vec![7; len]);
            assert_eq!(out.len(), len + packets.len() * HEADER_LEN);
            let mut at = 0;
            let mut seq = 254u8;
            for packet in packets {
                let header = Header::parse(out[at..at + HEADER_LEN].try_into().unwrap());
                assert_eq!((header.len as usize, header.seq), (packet, seq));
                at += HEADER_LEN + packet;
                seq = seq.wrapping_add(1);
            }
            assert_eq!(next, seq);
        }
    }

    #[test]
    fn put_packet_is_put_message_of_the_encoded_packet() {
        // AuthMore adds one byte to its data.
        for len in [0, 5, MAX_PAYLOAD - 2, MAX_PAYLOAD - 1, MAX_PAYLOAD] {
            let data = vec![3; len];
            let packet = AuthMore { data: &data };
            let caps = Capabilities::empty();
            let (mut direct, mut split) = (b"before".to_vec(), b"before".to_vec());
            let next = put_packet(&mut direct, 9, &packet, caps);
            assert_eq!(next, put_message(&mut split, 9, &packet.encode(caps)));
            assert!(direct == split, "payload of {} bytes", len + 1);
        }
    }

    #[test]
    fn a_payload_that_fails_leaves_nothing() {
        let mut out = b"before".to_vec();
        let failed = put_with(&mut out, 3, |out| {
            out.push(1);
            Err("no")
        });
        assert_eq!((failed, &out[..]), (Err("no"), &b"before"[..]));
    }
}
