//! What a server has said of the parameters and columns of a statement that it has prepared, as a hash.
//!
//! A client that keeps what it was told (MariaDB's capability `CACHE_METADATA`) gets rows without their columns as long as
//! the *server* thinks that they are the same. Where the statement is prepared again, that server compares with what it has told
//! the proxy; so this has to be what the client knows.

use wire::frame::HEADER_LEN;

/// FNV-1a, 64 bits: it goes on from byte to byte, wherever the answer is cut.
const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// An answer to a `COM_STMT_PREPARE`, as it comes.
#[derive(Debug, Clone)]
pub(in crate::session) struct Definitions {
    /// Bytes of the first packet that are still to come: it has the statement's number. It is shorter than 256 bytes.
    first: Option<usize>,
    hash: u64,
}

impl Default for Definitions {
    fn default() -> Self {
        Self { first: None, hash: OFFSET }
    }
}

impl Definitions {
    /// The next bytes of the answer.
    pub(in crate::session) fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match &mut self.first {
                None => self.first = Some(usize::from(*byte) + HEADER_LEN - 1),
                Some(0) => self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(PRIME),
                Some(left) => *left -= 1,
            }
        }
    }

    /// What a whole answer says.
    pub(in crate::session) fn of(answer: &[u8]) -> u64 {
        let mut definitions = Self::default();
        definitions.read(answer);
        definitions.finish()
    }

    /// All of the answer has come.
    pub(in crate::session) const fn finish(&self) -> u64 {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
