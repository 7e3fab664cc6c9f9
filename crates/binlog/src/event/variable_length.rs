//! Integers of MySQL's library `serialization`: the ones at the low end of the first byte say how
//! many bytes follow.

use wire::WireError;
use wire::codec::Reader;

/// An unsigned integer, in one to nine bytes.
pub(super) fn unsigned(reader: &mut Reader<'_>, field: &'static str) -> Result<u64, WireError> {
    let first = reader.u8(field)?;
    let more = first.trailing_ones();
    let mut bytes = [0; 8];
    for slot in bytes.iter_mut().take(more as usize) {
        *slot = reader.u8(field)?;
    }
    let high = u64::from_le_bytes(bytes);
    // Of the first byte, what is above the ones and the zero behind them.
    let low = u64::from(first).checked_shr(more + 1).unwrap_or_default();
    Ok(high.checked_shl(7_u32.saturating_sub(more)).unwrap_or_default() | low)
}

/// A signed integer that must not be negative. The lowest bit has the sign.
pub(super) fn not_negative(reader: &mut Reader<'_>, field: &'static str) -> Result<u64, WireError> {
    match unsigned(reader, field)? {
        value if value & 1 == 0 => Ok(value >> 1),
        value => Err(WireError::Invalid { field, value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_in_the_first_byte() {
        let vectors: &[(&[u8], u64)] = &[
            (&[0], 0),
            (&[0b0000_0010], 1),
            (&[0b1111_1110], 127),
            (&[0b0000_0001, 0b0000_0010], 128),
            (&[0b1111_1101, 0xff], 16_383),
            (&[0b0000_0011, 0, 2], 16_384),
            (&[0x7f, 0, 0, 0, 0, 0, 0, 1], 1 << 48),
            (&[0xff, 1, 0, 0, 0, 0, 0, 0, 0x80], 1 << 63 | 1),
        ];
        for (bytes, value) in vectors {
            let mut reader = Reader::new(bytes);
            assert_eq!(unsigned(&mut reader, "n"), Ok(*value), "{bytes:?}");
            assert!(reader.is_empty());
            unsigned(&mut Reader::new(&bytes[..bytes.len() - 1]), "n").unwrap_err();
        }
        assert_eq!(not_negative(&mut Reader::new(&[0b0000_1000]), "n"), Ok(2));
        not_negative(&mut Reader::new(&[0b0000_0110]), "n").unwrap_err();
    }
}
