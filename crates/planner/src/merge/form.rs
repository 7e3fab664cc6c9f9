//! The values of one hidden key: from the bytes of a cell to what compares.

use wire::WireError;
use wire::codec::Reader;
use wire::packet::Column;

use super::ColumnsError;
use super::key::{KeyError, Value};

/// How the values of a key are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Null,
    Integer {
        is_unsigned: bool,
    },
    Double,
    Decimal,
    /// A date with or without time: text compares by its bytes.
    Moment,
    Time,
    Bytes,
}

/// `UNSIGNED_FLAG` of a column.
pub(super) const UNSIGNED: u16 = 32;

/// The collation of what is no text.
pub(super) const BINARY: u16 = 63;

impl Form {
    pub(super) fn of(column: &Column<'_>) -> Result<Self, ColumnsError> {
        Ok(match column.kind {
            0x06 => Self::Null,
            0x01..=0x03 | 0x08 | 0x09 | 0x0d => Self::Integer { is_unsigned: column.flags & UNSIGNED != 0 },
            0x05 => Self::Double,
            0x00 | 0xf6 => Self::Decimal,
            // A TIMESTAMP shows local time, which an hour of the year has twice.
            0x0a | 0x0c => Self::Moment,
            0x0b => Self::Time,
            // BIT, texts, blobs.
            0x0f | 0x10 | 0xf9..=0xfe if column.collation == BINARY => Self::Bytes,
            kind => return Err(ColumnsError::NoOrder { kind, collation: column.collation }),
        })
    }

    /// The value of a cell of a text row that is not NULL, without its length.
    pub(super) fn text(self, cell: &[u8]) -> Result<Value<'_>, KeyError> {
        let number = || std::str::from_utf8(cell).map_err(|_| KeyError::NotANumber);
        Ok(match self {
            Self::Null => Value::Null,
            Self::Integer { .. } => Value::Integer(number()?.parse().map_err(|_| KeyError::NotANumber)?),
            Self::Double => Value::Double(number()?.parse().map_err(|_| KeyError::NotANumber)?),
            Self::Decimal => Value::Decimal(cell),
            Self::Moment | Self::Bytes => Value::Bytes(cell),
            Self::Time => Value::Integer(micros_of_text(cell).ok_or(KeyError::NotATime)?),
        })
    }

    /// The value of a cell of a binary row that is not NULL, with the length in front that some
    /// types have.
    ///
    /// Source: "Binary Protocol Value" in MySQL's protocol documentation.
    pub(super) fn binary(self, cell: &[u8]) -> Result<Value<'_>, ColumnsError> {
        let mut reader = Reader::new(cell);
        Ok(match self {
            Self::Null => Value::Null,
            Self::Integer { is_unsigned } => Value::Integer(integer(cell, is_unsigned)),
            Self::Double => Value::Double(f64::from_le_bytes(reader.array("double")?)),
            Self::Decimal => Value::Decimal(reader.lenenc_bytes("decimal")?),
            Self::Bytes => Value::Bytes(reader.lenenc_bytes("key")?),
            Self::Moment => Value::Integer(moment(&mut reader)?),
            Self::Time => Value::Integer(micros_of_binary(&mut reader)?),
        })
    }
}

/// The integer that these bytes are, lowest first.
fn integer(bytes: &[u8], is_unsigned: bool) -> i128 {
    let number = bytes.iter().rev().fold(0_i128, |number, byte| number << 8 | i128::from(*byte));
    let is_negative = !is_unsigned && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    if is_negative { number - (1_i128 << (8 * bytes.len())) } else { number }
}

/// A date with its time as one number that grows with it.
fn moment(reader: &mut Reader<'_>) -> Result<i128, WireError> {
    let len = usize::from(reader.u8("length of a date")?);
    let mut field = reader.sub(len, "date")?;
    // A field that is left out is 0.
    let mut or_zero = |bytes: usize| match field.bytes(bytes, "date") {
        Ok(field) => integer(field, true),
        Err(_) => 0,
    };
    let (year, month, day) = (or_zero(2), or_zero(1), or_zero(1));
    let (hour, minute, second, micros) = (or_zero(1), or_zero(1), or_zero(1), or_zero(4));
    let days = (year * 100 + month) * 100 + day;
    Ok((((days * 100 + hour) * 100 + minute) * 100 + second) * MICROS + micros)
}

/// Microseconds of a second.
const MICROS: i128 = 1_000_000;

/// The microseconds of a TIME in a binary row.
fn micros_of_binary(reader: &mut Reader<'_>) -> Result<i128, WireError> {
    let len = usize::from(reader.u8("length of a time")?);
    let mut field = reader.sub(len, "time")?;
    let mut or_zero = |bytes: usize| match field.bytes(bytes, "time") {
        Ok(field) => integer(field, true),
        Err(_) => 0,
    };
    let (is_negative, days) = (or_zero(1) != 0, or_zero(4));
    let (hours, minutes, seconds, micros) = (or_zero(1), or_zero(1), or_zero(1), or_zero(4));
    let all = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * MICROS + micros;
    Ok(if is_negative { -all } else { all })
}

/// The microseconds of a TIME as text: `-838:59:59.000000`.
fn micros_of_text(text: &[u8]) -> Option<i128> {
    let (is_negative, text) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
    let text = std::str::from_utf8(text).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut seconds = 0;
    for part in whole.split(':') {
        seconds = seconds * 60 + i128::from(part.parse::<u32>().ok()?);
    }
    let micros = if fraction.is_empty() { 0 } else { format!("{fraction:0<6}").parse::<u32>().ok()? };
    let all = seconds * MICROS + i128::from(micros);
    Some(if is_negative { -all } else { all })
}
