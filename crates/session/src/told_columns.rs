//! What the answer to an execution has told of columns, as a hash.
//!
//! Servers tell a client with MariaDB's capability `CACHE_METADATA` columns that are others than
//! those of the answer before: of a sum, say, the preparation does not know all yet. From then on
//! the client keeps these.

use wire::frame::Pieces;

use crate::definitions::{FNV, fnv};

/// Bytes of the first packet at most: the number of columns, and whether their definitions follow.
const COUNT_MAX: usize = 4;

/// An answer to a `COM_STMT_EXECUTE`, as it comes.
#[derive(Debug, Clone, Default)]
pub struct ToldColumns {
    pieces: Pieces,
    count: [u8; COUNT_MAX],
    /// Definitions that are still to come; nothing before the first packet.
    left: Option<u16>,
    hash: Option<u64>,
}

impl ToldColumns {
    /// The next bytes of the answer.
    pub fn read(&mut self, mut bytes: &[u8]) {
        while self.left != Some(0)
            && let Some(piece) = self.pieces.take(&mut bytes)
        {
            if let Some(hash) = &mut self.hash {
                *hash = fnv(*hash, piece.bytes);
            } else {
                let count = self.count.get_mut(piece.at..).unwrap_or_default();
                count.iter_mut().zip(piece.bytes).for_each(|(to, from)| *to = *from);
            }
            match self.left {
                // No packet of columns is empty.
                _ if piece.bytes.is_empty() => self.end_without(),
                Some(left) if piece.ends() => self.left = Some(left - 1),
                None if piece.ends() => self.begin_columns(piece.header.len),
                _ => {}
            }
        }
    }

    /// The first packet is there, of so many bytes.
    const fn begin_columns(&mut self, len: u32) {
        let count = match (len, self.count) {
            (2, [count @ 1..=0xFA, 1, ..]) => count as u16,
            (4, [0xFC, low, high, 1]) => u16::from_le_bytes([low, high]),
            // No rows, or the client knows the columns.
            _ => return self.end_without(),
        };
        // Not that of a preparation which tells the same.
        (self.left, self.hash) = (Some(count), Some(!FNV));
    }

    /// No columns are told.
    const fn end_without(&mut self) {
        (self.left, self.hash) = (Some(0), None);
    }

    /// The hash of the columns that were told; nothing if none were, or not all.
    pub fn finish(&self) -> Option<u64> {
        self.hash.filter(|_| self.left == Some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(answer: &[u8], cut: usize) -> Option<u64> {
        let (first, second) = answer.split_at(cut);
        let mut told = ToldColumns::default();
        told.read(first);
        told.read(second);
        told.finish()
    }

    fn answer(packets: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (seq, payload) in (1..=u8::MAX).cycle().zip(packets) {
            wire::frame::put_message(&mut bytes, seq, payload);
        }
        bytes
    }

    #[test]
    fn columns_are_known_by_a_hash_wherever_the_answer_is_cut() {
        let bytes = answer(&[&[2, 1], b"\x03defa", b"\x03defb", b"\0\0row", b"\xfe\0\0\x02\0"]);
        let whole = told(&bytes, 0);
        assert!(whole.is_some());
        assert!((0..bytes.len()).all(|cut| told(&bytes, cut) == whole));
        let rows = answer(&[&[2, 1], b"\x03defa", b"\x03defb", b"\0\0another", b"\0\0row"]);
        assert_eq!(told(&rows, 0), whole, "rows do not matter");
        assert_ne!(told(&answer(&[&[2, 1], b"\x03defa", b"\x03defc"]), 0), whole);
        let many: Vec<&[u8]> = [&[0xFC, 3, 1, 1][..]].into_iter().chain([&b"\x03def"[..]; 259]).collect();
        assert!(told(&answer(&many), 7).is_some());
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
            assert_eq!(told(&answer(packets), 0), None, "{packets:?}");
        }
    }
}
