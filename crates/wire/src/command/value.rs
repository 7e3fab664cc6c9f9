//! Values in binary form, of which only the length matters here.

use crate::WireError;
use crate::codec::Reader;

/// The flag that says that an integer has no sign, in the upper byte of a parameter's type.
const UNSIGNED: u16 = 0x8000;

/// Takes one value of the given type (`MYSQL_TYPE_*` and the unsigned flag): the bytes as they are,
/// with the length that some types have in front.
///
/// Source: "Binary Protocol Value" in MySQL's protocol documentation.
pub(super) fn take<'a>(reader: &mut Reader<'a>, kind: u16) -> Result<&'a [u8], WireError> {
    const FIELD: &str = "value";
    let mut ahead = reader.clone();
    let len = match kind & !UNSIGNED {
        // NULL
        0x06 => 0,
        // TINY, BOOL
        0x01 | 0xf4 => 1,
        // SHORT, YEAR
        0x02 | 0x0d => 2,
        // LONG, FLOAT, INT24
        0x03 | 0x04 | 0x09 => 4,
        // DOUBLE, LONGLONG
        0x05 | 0x08 => 8,
        // TIMESTAMP, DATE, TIME, DATETIME: a byte of length
        0x07 | 0x0a | 0x0b | 0x0c => 1 + usize::from(ahead.u8(FIELD)?),
        // DECIMAL, VARCHAR, BIT, VECTOR, JSON to SET, the blobs, VAR_STRING, STRING, GEOMETRY
        0x00 | 0x0f | 0x10 | 0xf2 | 0xf5..=0xff => {
            ahead.lenenc_bytes(FIELD)?;
            reader.left() - ahead.left()
        }
        other => return Err(WireError::Invalid { field: "parameter type", value: other.into() }),
    };
    reader.bytes(len, FIELD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_length() {
        for (kind, bytes, len) in [
            (0x06, &b"xyz"[..], 0),
            (0x01, b"xyz", 1),
            (0x8001, b"xyz", 1),
            (0x0d, b"xyz", 2),
            (0x03, b"abcdef", 4),
            (0x8008, b"abcdefghi", 8),
            (0x05, b"abcdefghi", 8),
            (0x0a, b"\x04abcdef", 5),
            (0x0c, b"\0abcdef", 1),
            (0xfd, b"\x02abcdef", 3),
            (0xfe, b"\0abcdef", 1),
            (0xf6, b"\xfc\x02\0abc", 5),
        ] {
            assert_eq!(take(&mut Reader::new(bytes), kind), Ok(&bytes[..len]), "{kind:#x}");
        }
    }

    #[test]
    fn what_has_no_length_is_refused() {
        let error = WireError::Invalid { field: "parameter type", value: 0x50 };
        assert_eq!(take(&mut Reader::new(b"abc"), 0x50), Err(error));
        assert!(take(&mut Reader::new(b"abc"), 0x08).is_err());
        assert!(take(&mut Reader::new(b"\x04abc"), 0xfd).is_err());
        assert!(take(&mut Reader::new(b"\xfbabc"), 0xfd).is_err());
    }
}
