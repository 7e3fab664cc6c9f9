//! Takes the packets of a stream apart without keeping their bytes.

use super::{HEADER_LEN, Header, Packet};

/// Bytes of a header.
const HEADER_BYTES: u32 = 4;

const _: () = assert!(HEADER_BYTES as usize == HEADER_LEN);

/// Cuts what was read into pieces of payload, each of one packet, wherever the reads were cut.
#[derive(Debug, Clone, Default)]
pub struct Pieces {
    /// The current header, as far as it has come.
    header: [u8; HEADER_LEN],
    /// Bytes of the current packet that have come, with its header.
    begun: u32,
}

/// A part of a packet's payload: all of it that was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'i> {
    /// The packet's header.
    pub header: Header,
    /// Where in the payload it begins.
    pub at: usize,
    /// Its bytes; none only if the packet has none.
    pub bytes: &'i [u8],
}

impl Piece<'_> {
    /// Whether the packet ends with it.
    pub const fn ends(&self) -> bool {
        self.at + self.bytes.len() == self.header.len as usize
    }

    /// Whether the message ends with it.
    pub const fn ends_message(&self) -> bool {
        self.ends() && !self.header.continues()
    }
}

impl Pieces {
    /// Before the first packet.
    pub const fn new() -> Self {
        Self { header: [0; HEADER_LEN], begun: 0 }
    }

    /// The header of the current packet, once it is whole.
    pub const fn header(&self) -> Option<Header> {
        if self.begun() < HEADER_LEN { None } else { Some(Header::parse(self.header)) }
    }

    /// Bytes of the current packet that have come, with its header.
    pub const fn begun(&self) -> usize {
        self.begun as usize
    }

    /// Payload bytes of the current packet that are still to come; none in front of its payload.
    pub const fn left(&self) -> u32 {
        match self.header() {
            Some(header) => (HEADER_BYTES + header.len).saturating_sub(self.begun),
            None => 0,
        }
    }

    /// Whether the input so far ends with a whole packet.
    pub const fn is_between(&self) -> bool {
        self.begun == 0
    }

    /// Takes the next piece off `input`; nothing, and all of `input`, if more has to come first.
    #[inline]
    pub fn take<'i>(&mut self, input: &mut &'i [u8]) -> Option<Piece<'i>> {
        if self.begun == 0
            && let Some((Packet { header, payload: bytes }, rest)) = Packet::split(input)
        {
            *input = rest;
            return Some(Piece { header, at: 0, bytes });
        }
        while let Some(place) = self.header.get_mut(self.begun as usize) {
            let (byte, rest) = input.split_first()?;
            (*place, *input) = (*byte, rest);
            self.begun += 1;
        }
        let header = Header::parse(self.header);
        let at = self.begun().saturating_sub(HEADER_LEN);
        let left = self.left() as usize;
        if left > 0 && input.is_empty() {
            return None;
        }
        let (bytes, rest) = input.split_at_checked(left).unwrap_or((*input, &[]));
        *input = rest;
        let piece = Piece { header, at, bytes };
        // Fits: it is a part of what the header says.
        self.begun += u32::try_from(bytes.len()).unwrap_or(header.len);
        if piece.ends() {
            *self = Self::default();
        }
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::frame::put_message;

    proptest! {
        #[test]
        fn any_cut_gives_the_same_payloads(
            payloads in vec(any::<Vec<u8>>(), 0..6),
            seq: u8,
            cuts in vec(1_usize..9, 0..60),
        ) {
            let mut bytes = Vec::new();
            payloads.iter().fold(seq, |seq, payload| put_message(&mut bytes, seq, payload));
            let (mut pieces, mut taken, mut payload, mut rest) = (Pieces::default(), vec![], vec![], &bytes[..]);
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (mut input, behind) = rest.split_at(cut.min(rest.len()));
                rest = behind;
                while let Some(piece) = pieces.take(&mut input) {
                    prop_assert_eq!((piece.at, piece.bytes.is_empty()), (payload.len(), piece.header.len == 0));
                    payload.extend_from_slice(piece.bytes);
                    if piece.ends() {
                        taken.push(std::mem::take(&mut payload));
                    }
                }
                prop_assert!(input.is_empty());
            }
            prop_assert_eq!(taken, payloads);
        }
    }
}
