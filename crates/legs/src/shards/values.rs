//! The values of an execution, as the planner takes them.

use shard::{Date, DateTime, Value};
use wire::Capabilities;
use wire::codec::Reader;
use wire::command::{ExecuteParams, StmtExecute, take_value};

use crate::shards::prepared::Statement;

/// The flag of integers without a sign, in the type of a parameter.
const UNSIGNED: u16 = 0x8000;

/// The type of a parameter, and its bytes: none of `NULL`, and of a value that was sent in parts.
type Param<'a> = (u16, Option<&'a [u8]>);

/// The parameters of an execution. None if it is malformed, or their types are missing.
pub(crate) fn params<'a>(
    execute: &StmtExecute<'a>,
    statement: &Statement,
    caps: Capabilities,
) -> Option<Vec<Param<'a>>> {
    let params = execute.params(statement.params, caps).ok()?;
    let types = params.types_without_attributes(statement.params, caps).unwrap_or_default();
    let codes = ExecuteParams::type_codes(types, statement.params, caps);
    let mut reader = Reader::new(params.values);
    let mut all = Vec::with_capacity(statement.params.into());
    for (number, code) in (0..statement.params).zip(codes) {
        let is_null = params.nulls.get(usize::from(number / 8))? & 1 << (number % 8) != 0;
        let is_here = !is_null && !statement.has_parts_of(number);
        all.push((code, if is_here { Some(take_value(&mut reader, code).ok()?) } else { None }));
    }
    (all.len() == usize::from(statement.params)).then_some(all)
}

/// The values of the parameters of an execution, as the planner takes them: nothing for those that
/// it cannot compute with. None if the execution is malformed.
pub fn values<'a>(
    execute: &StmtExecute<'a>,
    statement: &Statement,
    caps: Capabilities,
) -> Option<Vec<Option<Value<'a>>>> {
    let params = (0..).zip(params(execute, statement, caps)?);
    let value = |(number, (code, bytes)): (u16, Param<'a>)| match bytes {
        None => Some(Value::Null).filter(|_| !statement.has_parts_of(number)),
        Some(bytes) => value(code, bytes),
    };
    Some(params.map(value).collect())
}

/// The value with these bytes; nothing if the planner cannot compute with it.
fn value(code: u16, bytes: &[u8]) -> Option<Value<'_>> {
    let is_unsigned = code & UNSIGNED != 0;
    match code & !UNSIGNED {
        0x06 => Some(Value::Null),
        0x01 | 0x02 | 0x03 | 0x08 | 0x09 | 0x0d | 0xf4 => integer(bytes, is_unsigned),
        0x0f | 0xfd | 0xfe => Reader::new(bytes).lenenc_bytes("value").ok().map(Value::Text),
        0x0a => date(bytes).map(Value::Date),
        0x0c | 0x07 => date_time(bytes).map(Value::DateTime),
        _ => None,
    }
}

fn integer(bytes: &[u8], is_unsigned: bool) -> Option<Value<'_>> {
    let is_negative = !is_unsigned && bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut wide = if is_negative { [0xff; 8] } else { [0; 8] };
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(if is_unsigned {
        Value::Unsigned(u64::from_le_bytes(wide))
    } else {
        Value::Signed(i64::from_le_bytes(wide))
    })
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
        assert_eq!(value(0x01, b"\xff"), Some(Value::Signed(-1)));
        assert_eq!(value(0x8001, b"\xff"), Some(Value::Unsigned(255)));
        assert_eq!(value(0x08, b"\0\0\0\0\0\0\0\x80"), Some(Value::Signed(i64::MIN)));
        assert_eq!(value(0x8008, &[0xff; 8]), Some(Value::Unsigned(u64::MAX)));
    }

    #[test]
    fn texts_and_times_are_read() {
        assert_eq!(value(0xfd, b"\x03abc"), Some(Value::Text(b"abc")));
        assert_eq!(value(0x0a, b"\x04\xea\x07\x0b\x1b"), Date::new(2026, 11, 27).map(Value::Date));
        let time = DateTime::new(Date::new(2026, 11, 27).unwrap(), [10, 5, 9], 0).unwrap();
        assert_eq!(value(0x0c, b"\x07\xea\x07\x0b\x1b\x0a\x05\x09"), Some(Value::DateTime(time)));
    }

    #[test]
    fn the_planner_does_not_compute_with_the_rest() {
        for (code, bytes) in
            [(0x05, &b"\0\0\0\0\0\0\x1c\x40"[..]), (0xf6, b"\x0217"), (0x0a, b"\0"), (0x0b, b"\0")]
        {
            assert_eq!(value(code, bytes), None, "{code:#x}");
        }
    }
}
