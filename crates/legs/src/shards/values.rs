//! The values of an execution, as the planner takes them.

use shard::{Date, DateTime, Value};
use wire::Capabilities;
use wire::codec::Reader;
use wire::command::{ExecuteParams, StmtExecute, take_value};

use crate::shards::prepared::Statement;

/// The flag of integers without a sign, in the type of a parameter.
const UNSIGNED: u16 = 0x8000;

/// A value. What is none of these is one that the planner cannot compute with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Own {
    /// `NULL`.
    Null,
    /// A number with a sign.
    Signed(i64),
    /// A number without one.
    Unsigned(u64),
    /// Characters or bytes.
    Text(Box<[u8]>),
    /// A date.
    Date(Date),
    /// A date with a time.
    DateTime(DateTime),
    /// A value of another type.
    Unknown,
}

impl Own {
    /// The value; nothing if the planner cannot compute with it.
    pub(crate) fn value(&self) -> Option<Value<'_>> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Signed(number) => Value::Signed(*number),
            Self::Unsigned(number) => Value::Unsigned(*number),
            Self::Text(text) => Value::Text(text),
            Self::Date(date) => Value::Date(*date),
            Self::DateTime(time) => Value::DateTime(*time),
            Self::Unknown => return None,
        })
    }
}

/// The values of the parameters of an execution, with types; none if it is malformed.
pub fn values(execute: &StmtExecute<'_>, statement: &Statement, caps: Capabilities) -> Option<Vec<Own>> {
    let params = execute.params(statement.params, caps).ok()?;
    let types = params.types_without_attributes(statement.params, caps).or(statement.types.as_deref());
    let codes = ExecuteParams::type_codes(types.unwrap_or_default(), statement.params, caps);
    let mut reader = Reader::new(params.values);
    let mut all = Vec::with_capacity(statement.params.into());
    for (number, code) in (0..statement.params).zip(codes) {
        let byte = params.nulls.get(usize::from(number / 8)).copied().unwrap_or(u8::MAX);
        all.push(if statement.has_parts_of(number) {
            Own::Unknown
        } else if byte & 1 << (number % 8) != 0 {
            Own::Null
        } else {
            own(code, take_value(&mut reader, code).ok()?)
        });
    }
    (all.len() == usize::from(statement.params)).then_some(all)
}

/// The value with these bytes.
fn own(code: u16, bytes: &[u8]) -> Own {
    let is_unsigned = code & UNSIGNED != 0;
    match code & !UNSIGNED {
        0x06 => Own::Null,
        0x01 | 0x02 | 0x03 | 0x08 | 0x09 | 0x0d | 0xf4 => integer(bytes, is_unsigned),
        0x0f | 0xfd | 0xfe => {
            Reader::new(bytes).lenenc_bytes("value").map_or(Own::Unknown, |text| Own::Text(text.into()))
        }
        0x0a => date(bytes).map_or(Own::Unknown, Own::Date),
        0x0c | 0x07 => date_time(bytes).map_or(Own::Unknown, Own::DateTime),
        _ => Own::Unknown,
    }
}

fn integer(bytes: &[u8], is_unsigned: bool) -> Own {
    let is_negative = !is_unsigned && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = if is_negative { [0xff; 8] } else { [0; 8] };
    let Some(low) = wide.get_mut(..bytes.len()) else { return Own::Unknown };
    low.copy_from_slice(bytes);
    if is_unsigned { Own::Unsigned(u64::from_le_bytes(wide)) } else { Own::Signed(i64::from_le_bytes(wide)) }
}

/// The date in a value with its length in front; none if a time stands behind it.
fn date(bytes: &[u8]) -> Option<Date> {
    match bytes {
        [4, low, high, month, day] => Date::new(u16::from_le_bytes([*low, *high]), *month, *day),
        _ => None,
    }
}

fn date_time(bytes: &[u8]) -> Option<DateTime> {
    match bytes {
        [4, rest @ ..] if rest.len() == 4 => DateTime::new(date(bytes)?, [0; 3], 0),
        [7, low, high, month, day, hour, minute, second] => {
            let date = Date::new(u16::from_le_bytes([*low, *high]), *month, *day)?;
            DateTime::new(date, [*hour, *minute, *second], 0)
        }
        [11, low, high, month, day, hour, minute, second, a, b, c, d] => {
            let date = Date::new(u16::from_le_bytes([*low, *high]), *month, *day)?;
            DateTime::new(date, [*hour, *minute, *second], u32::from_le_bytes([*a, *b, *c, *d]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_their_sign() {
        assert_eq!(own(0x01, b"\xff"), Own::Signed(-1));
        assert_eq!(own(0x8001, b"\xff"), Own::Unsigned(255));
        assert_eq!(own(0x08, b"\0\0\0\0\0\0\0\x80"), Own::Signed(i64::MIN));
        assert_eq!(own(0x8008, b"\xff\xff\xff\xff\xff\xff\xff\xff"), Own::Unsigned(u64::MAX));
    }

    #[test]
    fn texts_and_times_are_read() {
        assert_eq!(own(0xfd, b"\x03abc"), Own::Text(b"abc"[..].into()));
        assert_eq!(own(0x0a, b"\x04\xea\x07\x0b\x1b"), Own::Date(Date::new(2026, 11, 27).unwrap()));
        let time = DateTime::new(Date::new(2026, 11, 27).unwrap(), [10, 5, 9], 0).unwrap();
        assert_eq!(own(0x0c, b"\x07\xea\x07\x0b\x1b\x0a\x05\x09"), Own::DateTime(time));
    }

    #[test]
    fn the_planner_does_not_compute_with_the_rest() {
        for (code, bytes) in
            [(0x05, &b"\0\0\0\0\0\0\x1c\x40"[..]), (0xf6, b"\x0217"), (0x0a, b"\0"), (0x0b, b"\0")]
        {
            assert_eq!(own(code, bytes), Own::Unknown, "{code:#x}");
        }
    }
}
