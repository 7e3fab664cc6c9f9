//! The packets in which a client sends a file.

use wire::WireError;
use wire::frame::{HEADER_LEN, Header, put_message};

/// The bytes of a file, packet by packet. An empty message ends it.
#[derive(Debug)]
pub(super) struct File {
    /// Bytes of a header that is not whole.
    header: Vec<u8>,
    /// Bytes of the packet that have to come.
    left: usize,
    /// The next packet belongs to the same message.
    continues: bool,
    /// The message has bytes.
    has_bytes: bool,
    has_ended: bool,
    seq: u8,
}

impl File {
    /// A file that the client is asked for with the sequence id `seq`.
    pub(super) const fn new(seq: u8) -> Self {
        Self { header: Vec::new(), left: 0, continues: false, has_bytes: false, has_ended: false, seq }
    }

    /// The packet that asks for the file, with this payload.
    pub(super) fn question(&mut self, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        self.seq = put_message(&mut packet, self.seq, payload);
        packet
    }

    /// The sequence id of the packet behind those that have come.
    pub(super) const fn next_seq(&self) -> u8 {
        self.seq
    }

    /// Whether the end of the file has come.
    pub(super) const fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The next bytes of the file in what was read, which is taken; none if more has to be read, or
    /// the file ends.
    ///
    /// # Errors
    /// If a packet has another sequence id than it should have.
    pub(super) fn take<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<&'i [u8]>, WireError> {
        while !self.has_ended {
            if self.left > 0 {
                let (part, rest) = input.split_at(self.left.min(input.len()));
                *input = rest;
                self.left -= part.len();
                return Ok(Some(part).filter(|part| !part.is_empty()));
            }
            let Some((byte, rest)) = input.split_first() else { return Ok(None) };
            *input = rest;
            self.header.push(*byte);
            if let Ok(header) = <[u8; HEADER_LEN]>::try_from(self.header.as_slice()) {
                self.header.clear();
                self.begin(Header::parse(header))?;
            }
        }
        Ok(None)
    }

    fn begin(&mut self, header: Header) -> Result<(), WireError> {
        if header.seq != self.seq {
            return Err(WireError::OutOfOrder { expected: self.seq, got: header.seq });
        }
        self.seq = self.seq.wrapping_add(1);
        self.left = header.len as usize;
        self.has_bytes = header.len > 0 || self.continues;
        self.continues = header.continues();
        self.has_ended = !self.has_bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_payloads_up_to_an_empty_message() {
        let mut bytes = Vec::new();
        let long = vec![b'x'; wire::frame::MAX_PAYLOAD];
        let mut seq = 2;
        for payload in [&b"one"[..], b"two", &long, b"three", b""] {
            seq = put_message(&mut bytes, seq, payload);
        }
        bytes.extend(b"next");
        for len in [1_usize, 3, 4, 7, 1 << 20, usize::MAX] {
            let mut file = File::new(1);
            assert_eq!(file.question(b"\xfbf"), b"\x02\0\0\x01\xfbf");
            // The long packet is taken at once where single bytes would take too long.
            let small = bytes.len().min(14);
            let (head, tail) = bytes.split_at(small);
            let mut found = Vec::new();
            let mut behind: &[u8] = &[];
            for part in head.chunks(len).chain([tail]) {
                let mut input = part;
                while let Some(part) = file.take(&mut input).unwrap() {
                    found.extend_from_slice(part);
                }
                behind = input;
            }
            assert!(found == [&b"onetwo"[..], &long, b"three"].concat());
            assert!(file.has_ended());
            assert_eq!((behind, file.next_seq()), (&b"next"[..], seq));
        }
    }

    #[test]
    fn packets_come_in_order() {
        let mut file = File::new(2);
        assert!(file.take(&mut &b"\x01\0\0\x03a"[..]).is_err());
    }
}
