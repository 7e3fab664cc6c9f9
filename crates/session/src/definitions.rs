//! What a server has said of the parameters and columns of a statement that it has prepared, as a
//! hash.
//!
//! A client that keeps what it was told (MariaDB's capability `CACHE_METADATA`) gets rows without
//! their columns as long as the *server* thinks that they are the same. Where the statement is
//! prepared again, that server compares with what it has told the proxy; so this has to be what the
//! client knows.

use wire::frame::HEADER_LEN;
use wire::packet::Eof;

/// FNV-1a, 64 bits: it goes on from byte to byte, wherever the answer is cut.
pub(crate) const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
pub(crate) const PRIME: u64 = 0x0000_0100_0000_01b3;

/// An answer to a `COM_STMT_PREPARE`, as it comes.
#[derive(Debug, Clone)]
pub struct Definitions {
    /// Bytes of the packet's header that have come, and the length that they say.
    header: usize,
    len: usize,
    /// Bytes of its payload that have come.
    read: usize,
    packet: Packet,
    hash: u64,
}

/// What a packet is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Packet {
    /// The first one: it has the statement's number.
    Number,
    /// A parameter or a column.
    Definition,
    /// The end of those, for clients that want to have it: it tells of the session, which is in
    /// another state elsewhere.
    End,
}

impl Default for Definitions {
    fn default() -> Self {
        Self { header: 0, len: 0, read: 0, packet: Packet::Number, hash: OFFSET }
    }
}

impl Definitions {
    /// The next bytes of the answer.
    pub fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.header < HEADER_LEN {
                self.read_header(*byte);
            } else {
                self.read_payload(*byte);
            }
        }
    }

    fn read_header(&mut self, byte: u8) {
        // Behind the three bytes of the length is the sequence id.
        if self.header + 1 < HEADER_LEN {
            self.len |= usize::from(byte) << (8 * self.header);
        }
        self.header += 1;
        self.finish_packet();
    }

    fn read_payload(&mut self, byte: u8) {
        if self.read == 0 && self.packet != Packet::Number {
            let is_end = byte == Eof::HEADER && self.len < Eof::BYTES_END;
            self.packet = if is_end { Packet::End } else { Packet::Definition };
        }
        if self.packet == Packet::Definition {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
        self.read += 1;
        self.finish_packet();
    }

    /// Goes on to the next packet if all of this one has come.
    fn finish_packet(&mut self) {
        if self.header == HEADER_LEN && self.read == self.len {
            *self = Self { packet: Packet::Definition, hash: self.hash, ..Self::default() };
        }
    }

    /// What a whole answer says.
    pub fn of(answer: &[u8]) -> u64 {
        let mut definitions = Self::default();
        definitions.read(answer);
        definitions.finish()
    }

    /// All of the answer has come.
    pub const fn finish(&self) -> u64 {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_the_session_does_not_matter() {
        let answer = |name, status| {
            let (definition, end) = ([3, b'd', b'e', b'f', name], [0xFE, 0, 0, status, 0]);
            let packets: [&[u8]; 4] = [&[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], &definition, &end, &definition];
            let mut bytes = Vec::new();
            for (seq, payload) in (1..).zip(packets) {
                wire::frame::put_message(&mut bytes, seq, payload);
            }
            bytes
        };
        assert_eq!(Definitions::of(&answer(b'a', 2)), Definitions::of(&answer(b'a', 3)));
        assert_ne!(Definitions::of(&answer(b'a', 2)), Definitions::of(&answer(b'b', 2)));
    }

    #[test]
    fn the_number_of_the_statement_does_not_matter_nor_where_the_answer_is_cut() {
        let answer = |id, name| {
            [&[12, 0, 0, 1, 0, id, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], &[1, 0, 0, 2, name]].concat()
        };
        let whole = Definitions::of(&answer(1, b'a'));
        assert_eq!(whole, Definitions::of(&answer(2, b'a')));
        assert_ne!(whole, Definitions::of(&answer(1, b'b')));
        for cut in 0..answer(1, b'a').len() {
            let mut cut_up = Definitions::default();
            let answer = answer(1, b'a');
            let (first, second) = answer.split_at(cut);
            cut_up.read(first);
            cut_up.read(second);
            assert_eq!(cut_up.finish(), whole, "cut at {cut}");
        }
    }
}
