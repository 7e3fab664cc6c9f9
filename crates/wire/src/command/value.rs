//! Values in binary form, of which only the length matters here.

use crate::WireError;
use crate::codec::Reader;

/// The flag that says that an integer has no sign, in the upper byte of a parameter's type.
const UNSIGNED: u16 = 0x8000;

/// Whole numbers below this are all different as doubles.
const WHOLE_BELOW: f64 = 9_007_199_254_740_992.0;

/// How a value is written in binary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// In so many bytes.
    Fixed(usize),
    /// One byte says how many follow.
    Short,
    /// A length-encoded integer says that.
    Long,
}

impl Width {
    /// How values of this type (`MYSQL_TYPE_*`) are written; nothing for an unknown one.
    ///
    /// Source: "Binary Protocol Value" in MySQL's protocol documentation.
    pub const fn of(kind: u8) -> Option<Self> {
        Some(match kind {
            // NULL
            0x06 => Self::Fixed(0),
            // TINY, BOOL
            0x01 | 0xf4 => Self::Fixed(1),
            // SHORT, YEAR
            0x02 | 0x0d => Self::Fixed(2),
            // LONG, FLOAT, INT24
            0x03 | 0x04 | 0x09 => Self::Fixed(4),
            // DOUBLE, LONGLONG
            0x05 | 0x08 => Self::Fixed(8),
            // TIMESTAMP, DATE, TIME, DATETIME
            0x07 | 0x0a | 0x0b | 0x0c => Self::Short,
            // DECIMAL, VARCHAR, BIT, VECTOR, JSON to SET, the blobs, VAR_STRING, STRING, GEOMETRY
            0x00 | 0x0f | 0x10 | 0xf2 | 0xf5..=0xff => Self::Long,
            _ => return None,
        })
    }
}

/// Takes one value of the given type (`MYSQL_TYPE_*` and the unsigned flag): the bytes as they are,
/// with the length that some types have in front.
pub fn take<'a>(reader: &mut Reader<'a>, kind: u16) -> Result<&'a [u8], WireError> {
    const FIELD: &str = "value";
    let plain = kind & !UNSIGNED;
    let width = u8::try_from(plain).ok().and_then(Width::of);
    let mut ahead = reader.clone();
    let len = match width.ok_or(WireError::Invalid { field: "parameter type", value: plain.into() })? {
        Width::Fixed(len) => len,
        Width::Short => 1 + usize::from(ahead.u8(FIELD)?),
        Width::Long => {
            ahead.lenenc_bytes(FIELD)?;
            reader.left() - ahead.left()
        }
    };
    reader.bytes(len, FIELD)
}

/// One value of the given type as a number that is whole and not negative, if it is one: integers,
/// doubles, and strings and decimals of digits.
pub(super) fn whole_number(reader: &mut Reader<'_>, kind: u16) -> Option<u64> {
    let bytes = take(reader, kind).ok()?;
    let integer = |bytes: &[u8]| {
        let is_negative = kind & UNSIGNED == 0 && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        (!is_negative).then(|| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    match kind & !UNSIGNED {
        0x01..=0x03 | 0x08 | 0x09 => integer(bytes),
        0x05 => {
            let number = f64::from_le_bytes(bytes.try_into().ok()?);
            // What a double holds exactly; as text, because there is no exact conversion.
            (number >= 0.0 && number.fract() == 0.0 && number < WHOLE_BELOW)
                .then(|| format!("{number:.0}").parse().ok())?
        }
        0x00 | 0x0f | 0xf6 | 0xfd | 0xfe => {
            let text = Reader::new(bytes).lenenc_bytes("value").ok()?;
            let is_number = text.iter().all(u8::is_ascii_digit);
            is_number.then(|| std::str::from_utf8(text).ok()?.parse().ok())?
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_values_are_whole_numbers() {
        let of = |kind, bytes: &[u8]| whole_number(&mut Reader::new(bytes), kind);
        for (kind, bytes) in [
            (0x01, &b"\x07"[..]),
            (0x8002, b"\x07\0"),
            (0x03, b"\x07\0\0\0"),
            (0x08, b"\x07\0\0\0\0\0\0\0"),
            (0x05, b"\0\0\0\0\0\0\x1c\x40"),
            (0xfd, b"\x017"),
            (0xf6, b"\x0207"),
        ] {
            assert_eq!(of(kind, bytes), Some(7), "{kind:#x}");
        }
        assert_eq!((of(0x8001, b"\xff"), of(0x01, b"\xff")), (Some(255), None));
        for (kind, bytes) in [
            (0x06, &b""[..]),
            (0x03, b"\x07"),
            (0x05, b"\0\0\0\0\0\0\x1d\x40"),
            (0x05, b"\0\0\0\0\0\0\xf0\x7f"),
            (0xfd, b"\0"),
            (0xfd, b"\x027a"),
            (0x0a, b"\0"),
        ] {
            assert_eq!(of(kind, bytes), None, "{kind:#x}");
        }
    }

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
