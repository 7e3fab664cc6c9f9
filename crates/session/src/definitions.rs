//! What a server has said of the parameters and columns of a statement that it has prepared, as a
//! hash.
//!
//! A client that keeps what it was told (MariaDB's capability `CACHE_METADATA`) gets rows without
//! their columns as long as the *server* thinks that they are the same. Where the statement is
//! prepared again, that server compares with what it has told the proxy; so this has to be what the
//! client knows.

use wire::frame::Pieces;
use wire::packet::Eof;

/// The hash of no bytes.
pub const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits, of bytes behind those with the hash `before`: it goes on from byte to byte,
/// wherever they are cut.
pub fn fnv(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// An answer to a `COM_STMT_PREPARE`, as it comes.
#[derive(Debug, Clone)]
pub struct Definitions {
    pieces: Pieces,
    /// The first packet has come. It has the statement's number.
    has_number: bool,
    /// The packet is a parameter or a column. The end of those, for clients that want to have it,
    /// tells of the session, which is in another state elsewhere.
    is_definition: bool,
    hash: u64,
}

impl Default for Definitions {
    fn default() -> Self {
        Self { pieces: Pieces::default(), has_number: false, is_definition: false, hash: FNV }
    }
}

impl Definitions {
    /// The next bytes of the answer.
    pub fn read(&mut self, mut bytes: &[u8]) {
        while let Some(piece) = self.pieces.take(&mut bytes) {
            if piece.at == 0 {
                let is_end =
                    piece.bytes.first() == Some(&Eof::HEADER) && (piece.header.len as usize) < Eof::BYTES_END;
                self.is_definition = self.has_number && !is_end;
            }
            if self.is_definition {
                self.hash = fnv(self.hash, piece.bytes);
            }
            self.has_number |= piece.ends();
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
