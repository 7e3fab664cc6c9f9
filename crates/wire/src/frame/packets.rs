//! The packets of bytes that are all there.

use super::{HEADER_LEN, Header};

/// A packet that is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its header.
    pub header: Header,
    /// As many bytes as the header says.
    pub payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// The packet that bytes begin with, and what is behind it; nothing if it is not whole.
    pub fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (header, behind) = bytes.split_first_chunk::<HEADER_LEN>()?;
        let header = Header::parse(*header);
        let (payload, behind) = behind.split_at_checked(header.len as usize)?;
        Some((Self { header, payload }, behind))
    }

    /// The last of the packets that bytes consist of; nothing if there is none, or it is not whole.
    pub fn last(bytes: &'a [u8]) -> Option<Self> {
        let mut packets = Packets::new(bytes);
        packets.by_ref().last().filter(|_| packets.left.is_empty())
    }
}

/// Iterator over the packets that bytes begin with. It ends before a packet that is not whole.
#[derive(Clone, Debug)]
pub struct Packets<'a> {
    left: &'a [u8],
}

impl<'a> Packets<'a> {
    /// The packets of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// Bytes behind the packets that were taken.
    pub const fn left(&self) -> &'a [u8] {
        self.left
    }
}

impl<'a> Iterator for Packets<'a> {
    type Item = Packet<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (packet, left) = Packet::split(self.left)?;
        self.left = left;
        Some(packet)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::frame::put_message;

    proptest! {
        #[test]
        fn packets_are_those_that_were_put(payloads in vec(any::<Vec<u8>>(), 0..6), seq: u8, cut: usize) {
            let mut bytes = Vec::new();
            payloads.iter().fold(seq, |seq, payload| put_message(&mut bytes, seq, payload));
            prop_assert!(Packets::new(&bytes).map(|packet| packet.payload).eq(&payloads));
            prop_assert_eq!(Packets::new(&bytes).next().map(|packet| packet.header.seq), payloads.first().map(|_| seq));
            prop_assert_eq!(Packet::last(&bytes).map(|packet| packet.payload), payloads.last().map(Vec::as_slice));
            let mut packets = Packets::new(&bytes[..cut % (bytes.len() + 1)]);
            let whole = packets.by_ref().count();
            let last = Packet::last(&bytes[..cut % (bytes.len() + 1)]);
            prop_assert_eq!(last.is_some(), whole > 0 && packets.left().is_empty());
        }
    }
}
