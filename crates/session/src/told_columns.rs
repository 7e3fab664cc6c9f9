//! What the answer to an execution has told of columns, as a hash.
//!
//! Servers tell a client with MariaDB's capability `CACHE_METADATA` columns that are others than
//! those of the answer before: of a sum, say, the preparation does not know all yet. From then on
//! the client keeps these.

use wire::frame::HEADER_LEN;

use crate::definitions::{OFFSET, PRIME};

/// Bytes of the first packet at most: the number of columns, and whether their definitions follow.
const COUNT_MAX: usize = 4;

/// An answer to a `COM_STMT_EXECUTE`, as it comes.
#[derive(Debug, Clone)]
pub struct ToldColumns {
    /// Bytes of the packet's header that have come, and the length that they say.
    header: usize,
    len: usize,
    /// Bytes of its payload that have come.
    read: usize,
    count: [u8; COUNT_MAX],
    /// Definitions that are still to come; nothing before the first packet.
    left: Option<u16>,
    hash: Option<u64>,
}

impl Default for ToldColumns {
    fn default() -> Self {
        Self { header: 0, len: 0, read: 0, count: [0; COUNT_MAX], left: None, hash: None }
    }
}

impl ToldColumns {
    /// The next bytes of the answer.
    pub fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match self.left {
                Some(0) => return,
                _ if self.header < HEADER_LEN => self.read_header(*byte),
                _ => self.read_payload(*byte),
            }
        }
    }

    fn read_header(&mut self, byte: u8) {
        // Behind the three bytes of the length is the sequence id.
        if self.header + 1 < HEADER_LEN {
            self.len |= usize::from(byte) << (8 * self.header);
        }
        self.header += 1;
        if self.header == HEADER_LEN && self.len == 0 {
            // No packet of columns is empty.
            self.end_without();
        }
    }

    fn read_payload(&mut self, byte: u8) {
        if let Some(hash) = &mut self.hash {
            *hash = (*hash ^ u64::from(byte)).wrapping_mul(PRIME);
        } else if let Some(at) = self.count.get_mut(self.read) {
            *at = byte;
        }
        self.read += 1;
        if self.read == self.len {
            self.finish_packet();
        }
    }

    fn finish_packet(&mut self) {
        match self.left {
            Some(left) => self.left = Some(left - 1),
            None => self.begin_columns(),
        }
        (self.header, self.len, self.read) = (0, 0, 0);
    }

    /// The first packet is there.
    fn begin_columns(&mut self) {
        let count = match (self.len, self.count) {
            (2, [count @ 1..=0xFA, 1, ..]) => u16::from(count),
            (4, [0xFC, low, high, 1]) => u16::from_le_bytes([low, high]),
            // No rows, or the client knows the columns.
            _ => return self.end_without(),
        };
        // Not that of a preparation which tells the same.
        (self.left, self.hash) = (Some(count), Some(!OFFSET));
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
