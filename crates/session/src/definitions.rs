//! What a server has said of the parameters and columns of a statement, as a hash: when it has
//! prepared it, and when it has executed it.
//!
//! A client that keeps what it was told (MariaDB's capability `CACHE_METADATA`) gets rows without
//! their columns as long as the *server* thinks that they are the same. Where the statement is
//! prepared again, that server compares with what it has told the proxy; so this has to be what the
//! client knows. An execution tells columns that are others than those of the answer before: of a
//! sum, say, the preparation does not know all yet. From then on the client keeps these.

use wire::frame::Pieces;
use wire::packet::Eof;

/// The hash of no bytes.
pub const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits, of bytes behind those with the hash `before`: it goes on from byte to byte,
/// wherever they are cut.
pub fn fnv(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Bytes of the first packet of an execution's answer at most, if columns follow: their number, and
/// that they do.
const COUNT_MAX: usize = 4;

/// As many definitions as there are packets.
const ALL: u32 = u32::MAX;

/// An answer to a `COM_STMT_EXECUTE` as it comes, or to a [`COM_STMT_PREPARE`](Self::prepared).
#[derive(Debug, Clone, Default)]
pub struct Definitions {
    pieces: Pieces,
    count: [u8; COUNT_MAX],
    /// Definitions that are still to come, or [`ALL`]; nothing before the first packet.
    left: Option<u32>,
    /// The packet is a parameter or a column. The end of those, for clients that want to have it,
    /// tells of the session, which is in another state elsewhere.
    is_definition: bool,
    /// Of an execution, nothing before columns.
    hash: Option<u64>,
}

impl Definitions {
    /// The answer to a `COM_STMT_PREPARE`.
    pub fn prepared() -> Self {
        Self { hash: Some(FNV), ..Self::default() }
    }

    /// The next bytes of the answer.
    pub fn read(&mut self, mut bytes: &[u8]) {
        while self.left != Some(0)
            && let Some(piece) = self.pieces.take(&mut bytes)
        {
            if piece.at == 0 {
                let is_end =
                    piece.bytes.first() == Some(&Eof::HEADER) && (piece.header.len as usize) < Eof::BYTES_END;
                self.is_definition = self.left.is_some() && !is_end;
            }
            if let Some(hash) = self.hash.as_mut().filter(|_| self.is_definition) {
                *hash = fnv(*hash, piece.bytes);
            } else if self.left.is_none() {
                let count = self.count.get_mut(piece.at..).unwrap_or_default();
                count.iter_mut().zip(piece.bytes).for_each(|(to, from)| *to = *from);
            }
            match self.left {
                // No packet of columns is empty.
                _ if piece.bytes.is_empty() => (self.left, self.hash) = (Some(0), None),
                Some(left) if piece.ends() && left < ALL => self.left = Some(left - 1),
                None if piece.ends() => self.begin(piece.header.len),
                _ => {}
            }
        }
    }

    /// The first packet is there, of so many bytes.
    fn begin(&mut self, len: u32) {
        if self.hash.is_some() {
            self.left = Some(ALL);
            return;
        }
        let count = match (len, self.count) {
            (2, [count @ 1..=0xFA, 1, ..]) => u32::from(count),
            (4, [0xFC, low, high, 1]) => u16::from_le_bytes([low, high]).into(),
            // No rows, or the client knows the columns.
            _ => 0,
        };
        // Not that of a preparation which tells the same.
        (self.left, self.hash) = (Some(count), (count > 0).then_some(!FNV));
    }

    /// What a whole answer to a `COM_STMT_PREPARE` says.
    pub fn of(answer: &[u8]) -> Option<u64> {
        let mut definitions = Self::prepared();
        definitions.read(answer);
        definitions.finish()
    }

    /// The hash, once all of the answer has come; nothing if an execution has told no columns, or
    /// not all.
    pub fn finish(&self) -> Option<u64> {
        self.hash.filter(|_| matches!(self.left, Some(0 | ALL)))
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
            let mut cut_up = Definitions::prepared();
            let answer = answer(1, b'a');
            let (first, second) = answer.split_at(cut);
            cut_up.read(first);
            cut_up.read(second);
            assert_eq!(cut_up.finish(), whole, "cut at {cut}");
        }
    }

    fn told(answer: &[u8], cut: usize) -> Option<u64> {
        let (first, second) = answer.split_at(cut);
        let mut told = Definitions::default();
        told.read(first);
        told.read(second);
        told.finish()
    }

    fn execution(packets: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (seq, payload) in (1..=u8::MAX).cycle().zip(packets) {
            wire::frame::put_message(&mut bytes, seq, payload);
        }
        bytes
    }

    #[test]
    fn columns_are_known_by_a_hash_wherever_the_answer_is_cut() {
        let bytes = execution(&[&[2, 1], b"\x03defa", b"\x03defb", b"\0\0row", b"\xfe\0\0\x02\0"]);
        let whole = told(&bytes, 0);
        assert!(whole.is_some());
        assert!((0..bytes.len()).all(|cut| told(&bytes, cut) == whole));
        let rows = execution(&[&[2, 1], b"\x03defa", b"\x03defb", b"\0\0another", b"\0\0row"]);
        assert_eq!(told(&rows, 0), whole, "rows do not matter");
        assert_ne!(told(&execution(&[&[2, 1], b"\x03defa", b"\x03defc"]), 0), whole);
        let many: Vec<&[u8]> = [&[0xFC, 3, 1, 1][..]].into_iter().chain([&b"\x03def"[..]; 259]).collect();
        assert!(told(&execution(&many), 7).is_some());
    }

    #[test]
    fn where_no_columns_are_told_there_is_nothing() {
        for packets in [
            &[&[2, 0][..], b"\0\0row"][..],
            &[b"\0\0\0\x02\0\0\0"],
            &[b"\xff\x7a\x04#42S02No such table"],
            &[&[2, 1], b"\x03defa"],
            &[b"", b"\x01"],
            &[&[0xFD, 1, 1, 0, 1], b"\x03defa"],
        ] {
            assert_eq!(told(&execution(packets), 0), None, "{packets:?}");
        }
    }
}
