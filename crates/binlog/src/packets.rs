//! Takes the headers of packets out of a stream.

use wire::frame::{HEADER_LEN, Header};

use crate::error::Broken;

/// What comes next in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// Bytes of the current message.
    Bytes(&'a [u8]),
    /// The current message ends.
    End,
}

/// Follows packets through any number of reads, and keeps none of their bytes.
#[derive(Debug, Clone)]
pub(crate) struct Packets {
    /// The sequence id of the next packet.
    seq: u8,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// In a header, of which so many bytes were seen.
    Header([u8; HEADER_LEN], u8),
    /// In a packet of which so many bytes are left.
    Packet { left: u32, continues: bool },
}

const START: State = State::Header([0; HEADER_LEN], 0);

impl Packets {
    /// A stream whose first packet has this sequence id.
    pub(crate) const fn new(seq: u8) -> Self {
        Self { seq, state: START }
    }

    /// Whether a message has begun and has not ended.
    pub(crate) const fn is_between(&self) -> bool {
        matches!(self.state, State::Header(_, 0))
    }

    /// Takes the next piece from the front of `input`; `None` if more bytes are needed.
    pub(crate) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Piece<'a>>, Broken> {
        loop {
            match &mut self.state {
                State::Header(bytes, filled) => {
                    let Some((byte, rest)) = input.split_first() else { return Ok(None) };
                    *input = rest;
                    if let Some(slot) = bytes.get_mut(usize::from(*filled)) {
                        *slot = *byte;
                    }
                    *filled += 1;
                    if usize::from(*filled) == HEADER_LEN {
                        let header = Header::parse(*bytes);
                        if header.seq != self.seq {
                            return Err(Broken::OutOfOrder { expected: self.seq, got: header.seq });
                        }
                        self.seq = self.seq.wrapping_add(1);
                        self.state = State::Packet { left: header.len, continues: header.continues() };
                    }
                }
                State::Packet { left: 0, continues } => {
                    let continues = *continues;
                    self.state = START;
                    if !continues {
                        return Ok(Some(Piece::End));
                    }
                }
                State::Packet { left, .. } => {
                    if input.is_empty() {
                        return Ok(None);
                    }
                    let (bytes, rest) = split(input, *left);
                    *input = rest;
                    // Fits: there are no more of them than are left.
                    *left -= u32::try_from(bytes.len()).unwrap_or(*left);
                    return Ok(Some(Piece::Bytes(bytes)));
                }
            }
        }
    }
}

/// The first bytes of `input`, at most `max`, and those behind them.
pub(crate) fn split(input: &[u8], max: u32) -> (&[u8], &[u8]) {
    input.split_at_checked(max as usize).unwrap_or((input, &[]))
}

#[cfg(test)]
mod tests {
    use wire::frame::{MAX_PAYLOAD, put_message};

    use super::*;

    fn messages(bytes: &[u8], cut: usize) -> Result<Vec<Vec<u8>>, Broken> {
        let (mut packets, mut all, mut current) = (Packets::new(1), Vec::new(), Vec::new());
        for mut chunk in bytes.chunks(cut) {
            while let Some(piece) = packets.next(&mut chunk)? {
                match piece {
                    Piece::Bytes(bytes) => current.extend_from_slice(bytes),
                    Piece::End => all.push(std::mem::take(&mut current)),
                }
            }
        }
        assert!(packets.is_between() && current.is_empty());
        Ok(all)
    }

    #[test]
    fn messages_are_put_together() {
        let long = vec![7; MAX_PAYLOAD];
        let mut bytes = Vec::new();
        let mut seq = 1;
        for message in [&b"one"[..], b"", &long, b"four"] {
            seq = put_message(&mut bytes, seq, message);
        }
        assert_eq!(messages(&bytes, bytes.len()).unwrap(), [&b"one"[..], b"", &long, b"four"]);
        let short = bytes[..11].to_vec();
        for cut in 1..=short.len() {
            assert_eq!(messages(&short, cut).unwrap(), [&b"one"[..], b""]);
        }
    }

    #[test]
    fn a_lost_packet_is_noticed() {
        let bytes = [1, 0, 0, 1, b'x', 1, 0, 0, 3, b'y'];
        assert_eq!(messages(&bytes, 3), Err(Broken::OutOfOrder { expected: 2, got: 3 }));
    }
}
