//! What a value of a statement means for the rows of a key column, if that is certain.
//!
//! A statement compares by the rules of types and collations, a placement function computes with
//! one value. Only where both agree may the function say which shards a statement needs:
//! [`Key::compared`] knows these cases and names the reason in all others.

use crate::calendar::{Date, DateTime};
use crate::prune::Reason;
use crate::value::Value;

/// Digits of an integer that a double holds exactly: texts are compared with integers as doubles.
const EXACT_DIGITS_MAX: usize = 15;

/// How a key column compares its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Any integer type, with the smallest and the largest value that it holds.
    Integer {
        /// Smallest value.
        min: i64,
        /// Largest value.
        max: u64,
    },
    /// DATE.
    Date,
    /// DATETIME, with as many digits of a second.
    DateTime {
        /// 0 to 6.
        fraction_digits: u8,
    },
    /// TIMESTAMP: what is stored depends on the session's time zone.
    Timestamp,
    /// VARBINARY, or VARCHAR under a collation that compares bytes and pads nothing
    /// (`utf8mb4_0900_bin`, `utf8mb4_nopad_bin`). CHAR is none: it drops spaces at the end.
    Bytes {
        /// Characters that the column holds; a text of as many bytes always fits.
        length_max: u32,
    },
    /// Text under any other collation.
    Text,
    /// All other types: DECIMAL, FLOAT, BINARY(n), ENUM, JSON.
    Other,
    /// The definition of the table is not known.
    Unknown,
}

impl ColumnType {
    /// Kind of keys that are equal for equal rows of the column, if it has any.
    pub fn kind(self) -> Option<KeyKind> {
        match self {
            Self::Integer { .. } => Some(KeyKind::Integer),
            Self::Date => Some(KeyKind::Date),
            Self::DateTime { .. } => Some(KeyKind::DateTime),
            Self::Bytes { .. } => Some(KeyKind::Bytes),
            Self::Text => Some(KeyKind::Weight),
            Self::Timestamp | Self::Other | Self::Unknown => None,
        }
    }
}

/// Kind of a [`Key`]: placement functions say on which kinds they are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// Integers.
    Integer,
    /// Days.
    Date,
    /// Days with a time of day.
    DateTime,
    /// Texts that are equal if their bytes are.
    Bytes,
    /// Sort keys under a collation: equal if the texts are.
    Weight,
}

/// Value of a key column that a placement function computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key<'a> {
    /// Integer: -2^63 to 2^64-1.
    Integer(i128),
    /// Day.
    Date(Date),
    /// Day with a time of day.
    DateTime(DateTime),
    /// Text as bytes.
    Bytes(&'a [u8]),
    /// Sort key under a collation.
    Weight(&'a [u8]),
}

impl<'a> Key<'a> {
    /// The rows of `column` that are equal to `value` have this key. Fails where a comparison may
    /// find rows with other keys as well.
    pub fn compared(column: ColumnType, value: Value<'a>) -> Result<Self, Reason> {
        match (column, value) {
            (_, Value::Null) => Err(Reason::Null),
            (ColumnType::Unknown, _) => Err(Reason::ColumnUnknown),
            (ColumnType::Timestamp, _) => Err(Reason::TimeZone),
            (ColumnType::Text, Value::Text(_)) => Err(Reason::Collation),
            _ => Self::of(column, value).ok_or(Reason::Inexact),
        }
    }

    /// The key of a row whose `column` is set to `value`. Fails where the server may store
    /// something else: what does not fit, or is rounded.
    pub fn stored(column: ColumnType, value: Value<'a>) -> Result<Self, Reason> {
        if let ColumnType::Text | ColumnType::Timestamp | ColumnType::Other = column {
            return Self::said(column, value);
        }
        let key = Self::compared(column, value)?;
        let fits = match (column, key) {
            (ColumnType::Integer { min, max }, Self::Integer(value)) => {
                (i128::from(min)..=i128::from(max)).contains(&value)
            }
            (ColumnType::Bytes { length_max }, Self::Bytes(text)) => {
                u32::try_from(text.len()).is_ok_and(|length| length <= length_max)
            }
            (ColumnType::DateTime { fraction_digits }, Self::DateTime(time)) => {
                let dropped = 6_u32.saturating_sub(fraction_digits.into());
                time.micro().is_multiple_of(10_u32.pow(dropped))
            }
            _ => true,
        };
        if fits { Ok(key) } else { Err(Reason::Inexact) }
    }

    /// The key of `value` as it is said. Where every look-up needs all shards, any shard is right
    /// for a row, and this is the one in which another proxy puts it.
    fn said(column: ColumnType, value: Value<'a>) -> Result<Self, Reason> {
        match value {
            Value::Null => Err(Reason::Null),
            Value::Signed(value) => Ok(Self::Integer(value.into())),
            Value::Unsigned(value) => Ok(Self::Integer(value.into())),
            Value::Text(text) if column == ColumnType::Timestamp => {
                DateTime::parse(text).map(Self::DateTime).ok_or(Reason::Inexact)
            }
            Value::Text(text) => Ok(Self::Bytes(text)),
            Value::Weight(weight) => Ok(Self::Weight(weight)),
            Value::Date(date) => Ok(Self::DateTime(date.into())),
            Value::DateTime(time) => Ok(Self::DateTime(time)),
        }
    }

    /// The key that both types have for `value`.
    fn of(column: ColumnType, value: Value<'a>) -> Option<Self> {
        match (column, value) {
            (ColumnType::Integer { .. }, Value::Signed(value)) => Some(Self::Integer(value.into())),
            (ColumnType::Integer { .. }, Value::Unsigned(value)) => Some(Self::Integer(value.into())),
            (ColumnType::Integer { .. }, Value::Text(text)) => integer(text).map(Self::Integer),
            (ColumnType::Date, Value::Date(date)) => Some(Self::Date(date)),
            (ColumnType::Date, Value::Text(text)) => Date::parse(text).map(Self::Date),
            (ColumnType::DateTime { .. }, Value::Date(date)) => Some(Self::DateTime(date.into())),
            (ColumnType::DateTime { .. }, Value::DateTime(time)) => Some(Self::DateTime(time)),
            (ColumnType::DateTime { .. }, Value::Text(text)) => DateTime::parse(text).map(Self::DateTime),
            (ColumnType::Bytes { .. }, Value::Text(text)) => Some(Self::Bytes(text)),
            (ColumnType::Text, Value::Weight(weight)) => Some(Self::Weight(weight)),
            _ => None,
        }
    }

    /// The kind.
    pub fn kind(self) -> KeyKind {
        match self {
            Self::Integer(_) => KeyKind::Integer,
            Self::Date(_) => KeyKind::Date,
            Self::DateTime(_) => KeyKind::DateTime,
            Self::Bytes(_) => KeyKind::Bytes,
            Self::Weight(_) => KeyKind::Weight,
        }
    }
}

/// The integer that `text` is in its one canonical form: no spaces, no zeros in front, no `+`.
fn integer(text: &[u8]) -> Option<i128> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let canonical = match digits {
        [] => false,
        [b'0'] => !negative,
        [first, ..] => {
            *first != b'0' && digits.len() <= EXACT_DIGITS_MAX && digits.iter().all(u8::is_ascii_digit)
        }
    };
    let value = digits.iter().fold(0, |value, digit| value * 10 + i128::from(digit.wrapping_sub(b'0')));
    canonical.then_some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIGINT: ColumnType = ColumnType::Integer { min: i64::MIN, max: i64::MAX.cast_unsigned() };
    const DATETIME: ColumnType = ColumnType::DateTime { fraction_digits: 0 };
    const BYTES: ColumnType = ColumnType::Bytes { length_max: 3 };

    #[test]
    fn integers_are_exact_only_in_canonical_form() {
        let compared = |text: &str| integer(text.as_bytes());
        assert_eq!(compared("5"), Some(5));
        assert_eq!(compared("-50"), Some(-50));
        assert_eq!(compared("0"), Some(0));
        assert_eq!(compared("999999999999999"), Some(999_999_999_999_999));
        for text in ["", "-", "-0", "05", "5abc", "5.0", " 5", "+5", "1e3", "9999999999999999"] {
            assert_eq!(compared(text), None, "{text}");
        }
    }

    #[test]
    fn a_comparison_with_another_type_is_inexact() {
        let compared = Key::compared;
        let date = Date::new(2024, 1, 2).unwrap();
        let noon = DateTime::new(date, [12, 0, 0], 0).unwrap();
        assert_eq!(compared(ColumnType::Date, Value::Text(b"2024-01-02")), Ok(Key::Date(date)));
        assert_eq!(compared(ColumnType::Date, Value::DateTime(noon)), Err(Reason::Inexact));
        assert_eq!(compared(DATETIME, Value::Date(date)), Ok(Key::DateTime(date.into())));
        assert_eq!(compared(ColumnType::Timestamp, Value::DateTime(noon)), Err(Reason::TimeZone));
        assert_eq!(compared(BIGINT, Value::Date(date)), Err(Reason::Inexact));
        assert_eq!(compared(BYTES, Value::Signed(5)), Err(Reason::Inexact));
        assert_eq!(compared(ColumnType::Other, Value::Signed(5)), Err(Reason::Inexact));
        assert_eq!(compared(ColumnType::Unknown, Value::Signed(5)), Err(Reason::ColumnUnknown));
        assert_eq!(compared(BIGINT, Value::Null), Err(Reason::Null));
    }

    #[test]
    fn what_is_never_compared_is_stored_as_it_is_said() {
        assert_eq!(Key::compared(ColumnType::Text, Value::Text(b"a")), Err(Reason::Collation));
        assert_eq!(Key::stored(ColumnType::Text, Value::Text(b"a")), Ok(Key::Bytes(b"a")));
        assert_eq!(Key::compared(ColumnType::Text, Value::Weight(b"a")), Ok(Key::Weight(b"a")));
        assert_eq!(Key::compared(BYTES, Value::Text(b"a")), Ok(Key::Bytes(b"a")));
        let time = Value::Text(b"2024-01-02 03:04:05");
        assert!(matches!(Key::stored(ColumnType::Timestamp, time), Ok(Key::DateTime(_))));
        assert_eq!(Key::stored(ColumnType::Other, Value::Signed(5)), Ok(Key::Integer(5)));
        assert_eq!(Key::stored(ColumnType::Other, Value::Null), Err(Reason::Null));
        assert_eq!(Key::stored(ColumnType::Unknown, Value::Signed(5)), Err(Reason::ColumnUnknown));
    }

    #[test]
    fn a_value_that_the_server_changes_has_no_key() {
        let tiny = ColumnType::Integer { min: -128, max: 127 };
        assert_eq!(Key::stored(tiny, Value::Signed(127)), Ok(Key::Integer(127)));
        assert_eq!(Key::stored(tiny, Value::Signed(128)), Err(Reason::Inexact));
        assert_eq!(Key::compared(tiny, Value::Signed(128)), Ok(Key::Integer(128)));
        assert_eq!(Key::stored(BYTES, Value::Text(b"abcd")), Err(Reason::Inexact));
        let late = Value::Text(b"2024-12-31 23:59:59.9");
        assert_eq!(Key::stored(DATETIME, late), Err(Reason::Inexact));
        assert!(Key::compared(DATETIME, late).is_ok());
        assert!(Key::stored(ColumnType::DateTime { fraction_digits: 1 }, late).is_ok());
    }
}
