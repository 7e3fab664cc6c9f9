//! Hash of kingshard and Gaea: integers as they are, texts by CRC-32.

use crate::key::{Key, KeyKind};
use crate::placement::count;
use crate::placement::modulo::wrapped;
use crate::prune::{Reason, Shard};

/// `hash(key) mod shards`: an integer as unsigned of 64 bits (negative ones wrap), a text that
/// reads as one as that, any other text by CRC-32 (IEEE) of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hash {
    /// Number of shards, at least 1.
    pub shards: u32,
    /// Whether texts are hashed by their sort keys, so that texts which a collation has equal are
    /// in one shard. kingshard hashes bytes.
    pub weights: bool,
}

impl Hash {
    pub(super) const KINDS: &'static [KeyKind] = &[KeyKind::Integer, KeyKind::Bytes];
    pub(super) const WEIGHT_KINDS: &'static [KeyKind] = &[KeyKind::Integer, KeyKind::Weight];

    pub(super) fn locate(&self, key: Key<'_>) -> Result<Shard, Reason> {
        let hash = match key {
            Key::Integer(key) => wrapped(key).cast_unsigned(),
            Key::Bytes(text) if !self.weights => unsigned(text).unwrap_or_else(|| crc32(text).into()),
            Key::Weight(weight) if self.weights => crc32(weight).into(),
            _ => return Err(Reason::Kind),
        };
        count(i128::from(hash % u64::from(self.shards)))
    }
}

/// The number that `text` is: decimal digits only, zeros in front allowed, at most 2^64-1.
fn unsigned(text: &[u8]) -> Option<u64> {
    let (first, rest) = text.split_first()?;
    rest.iter().try_fold(digit(*first)?, |number, byte| number.checked_mul(10)?.checked_add(digit(*byte)?))
}

fn digit(byte: u8) -> Option<u64> {
    byte.is_ascii_digit().then(|| u64::from(byte - b'0'))
}

/// Table for the reflected polynomial 0xEDB88320.
#[expect(clippy::indexing_slicing, reason = "an index out of bounds would not compile")]
const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut index: u32 = 0;
    while index < 256 {
        let mut value = index;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0xEDB8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[index as usize] = value;
        index += 1;
    }
    table
};

/// CRC-32 (IEEE 802.3), as zlib has it.
fn crc32(text: &[u8]) -> u32 {
    !text.iter().fold(u32::MAX, |crc, byte| {
        let [low, ..] = (crc ^ u32::from(*byte)).to_le_bytes();
        CRC_TABLE.get(usize::from(low)).copied().unwrap_or(0) ^ crc >> 8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_crc32() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn texts_read_as_numbers_where_go_reads_them() {
        assert_eq!(unsigned(b"00018446744073709551615"), Some(u64::MAX));
        for text in ["", "18446744073709551616", "+1", "-1", "1 ", "0x1", "1_0"] {
            assert_eq!(unsigned(text.as_bytes()), None, "{text}");
        }
    }
}
