//! The sort key of a row.

use std::cmp::Ordering;

/// The values of a row's hidden columns. Filled again for each row, so that its buffers stay.
#[derive(Clone, Debug, Default)]
pub struct Key {
    values: Vec<Stored>,
    /// What the texts of `values` lie in.
    bytes: Vec<u8>,
}

/// A value that compares as its server compares it. Values of one column are of one variant, or
/// NULL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Null,
    /// An integer, with a sign or without; also a time in microseconds, and a date with its time as
    /// one number.
    Integer(i128),
    Double(f64),
    /// Digits with an optional sign and point.
    Decimal(&'a [u8]),
    Bytes(&'a [u8]),
}

/// The same, with texts as the end of their bytes.
#[derive(Clone, Copy, Debug)]
enum Stored {
    Null,
    Integer(i128),
    Double(f64),
    Decimal(usize),
    Bytes(usize),
}

/// Why a value is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Text that should be a number is none.
    #[error("a sort key of a shard is no number")]
    NotANumber,
    /// Text that should be a time is none.
    #[error("a sort key of a shard is no time")]
    NotATime,
}

impl Key {
    /// A key of these integers.
    pub fn of_integers(numbers: &[i64]) -> Self {
        let mut key = Self::default();
        for number in numbers {
            key.push(Value::Integer((*number).into()));
        }
        key
    }

    /// Empties the key.
    pub(super) fn clear(&mut self) {
        self.values.clear();
        self.bytes.clear();
    }

    /// Appends a value.
    pub(super) fn push(&mut self, value: Value<'_>) {
        let mut end_of = |bytes: &[u8]| {
            self.bytes.extend_from_slice(bytes);
            self.bytes.len()
        };
        let stored = match value {
            Value::Null => Stored::Null,
            Value::Integer(number) => Stored::Integer(number),
            Value::Double(number) => Stored::Double(number),
            Value::Decimal(digits) => Stored::Decimal(end_of(digits)),
            Value::Bytes(bytes) => Stored::Bytes(end_of(bytes)),
        };
        self.values.push(stored);
    }

    /// The values, first one first.
    pub(super) fn values(&self) -> impl Iterator<Item = Value<'_>> {
        let mut begin = 0;
        self.values.iter().map(move |stored| {
            let mut text = |end: usize| {
                let bytes = self.bytes.get(begin..end).unwrap_or_default();
                begin = end;
                bytes
            };
            match *stored {
                Stored::Null => Value::Null,
                Stored::Integer(number) => Value::Integer(number),
                Stored::Double(number) => Value::Double(number),
                Stored::Decimal(end) => Value::Decimal(text(end)),
                Stored::Bytes(end) => Value::Bytes(text(end)),
            }
        })
    }
}

impl Value<'_> {
    /// The ascending order of two values of one column: NULL first.
    pub(super) fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) => Ordering::Less,
            (_, Self::Null) => Ordering::Greater,
            (Self::Integer(one), Self::Integer(other)) => one.cmp(&other),
            // Servers have no NaN, and -0 equals 0.
            (Self::Double(one), Self::Double(other)) => one.partial_cmp(&other).unwrap_or(Ordering::Equal),
            (Self::Decimal(one), Self::Decimal(other)) => compare_decimals(one, other),
            (Self::Bytes(one), Self::Bytes(other)) => one.cmp(other),
            // Columns have one type: this is not reached.
            _ => Ordering::Equal,
        }
    }
}

/// The order of two decimals, of any number of digits.
fn compare_decimals(one: &[u8], other: &[u8]) -> Ordering {
    let (one, other) = (Digits::of(one), Digits::of(other));
    match (one.is_negative, other.is_negative) {
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, false) => one.compare(&other),
        (true, true) => other.compare(&one),
    }
}

/// A decimal without zeros that do not count.
struct Digits<'a> {
    is_negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
}

impl<'a> Digits<'a> {
    fn of(text: &'a [u8]) -> Self {
        let (is_negative, text) = match text.split_first() {
            Some((b'-', rest)) => (true, rest),
            Some((b'+', rest)) => (false, rest),
            _ => (false, text),
        };
        let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
        let (whole, fraction) = text.split_at_checked(point).unwrap_or((text, &[]));
        let whole = whole.trim_start_zeros();
        let fraction = fraction.strip_prefix(b".").unwrap_or(fraction).trim_end_zeros();
        // -0.00 is 0.
        Self { is_negative: is_negative && !(whole.is_empty() && fraction.is_empty()), whole, fraction }
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.whole
            .len()
            .cmp(&other.whole.len())
            .then_with(|| self.whole.cmp(other.whole))
            .then_with(|| self.fraction.cmp(other.fraction))
    }
}

/// Cutting zeros off.
trait TrimZeros {
    fn trim_start_zeros(&self) -> &Self;
    fn trim_end_zeros(&self) -> &Self;
}

impl TrimZeros for [u8] {
    fn trim_start_zeros(&self) -> &Self {
        let zeros = self.iter().take_while(|byte| **byte == b'0').count();
        self.get(zeros..).unwrap_or_default()
    }

    fn trim_end_zeros(&self) -> &Self {
        let zeros = self.iter().rev().take_while(|byte| **byte == b'0').count();
        self.get(..self.len() - zeros).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn decimals_compare_as_numbers(one in -1_000_000_i64..1_000_000, other in -1_000_000_i64..1_000_000) {
            let text = |number: i64| {
                let sign = if number < 0 { "-" } else { "" };
                format!("{sign}{}.{:03}", number.abs() / 1000, number.abs() % 1000)
            };
            prop_assert_eq!(
                compare_decimals(text(one).as_bytes(), text(other).as_bytes()),
                one.cmp(&other)
            );
        }
    }

    #[test]
    fn zeros_that_do_not_count_do_not_count() {
        for (one, other) in [("1", "1.000"), ("-0.0", "0"), ("007.5", "7.50"), (".5", "0.5"), ("+1", "1")] {
            assert_eq!(compare_decimals(one.as_bytes(), other.as_bytes()), Ordering::Equal, "{one} {other}");
        }
        assert_eq!(compare_decimals(b"0.05", b"0.5"), Ordering::Less);
        assert_eq!(compare_decimals(b"-10", b"-9"), Ordering::Less);
        let (long, longer) = ("9".repeat(65), format!("{}8", "9".repeat(65)));
        assert_eq!(compare_decimals(long.as_bytes(), longer.as_bytes()), Ordering::Less);
    }

    #[test]
    fn a_key_gives_back_what_it_was_filled_with() {
        let mut key = Key::default();
        let values = [
            Value::Bytes(b"abc"),
            Value::Null,
            Value::Integer(-7),
            Value::Bytes(b""),
            Value::Decimal(b"1.5"),
            Value::Double(0.5),
        ];
        for _ in 0..2 {
            key.clear();
            for value in values {
                key.push(value);
            }
            assert_eq!(key.values().collect::<Vec<_>>(), values);
        }
    }

    #[test]
    fn doubles_know_one_zero() {
        assert_eq!(Value::Double(-0.0).compare(Value::Double(0.0)), Ordering::Equal);
        assert_eq!(Value::Double(-1e300).compare(Value::Double(1e-300)), Ordering::Less);
        assert_eq!(Value::Integer(-1).compare(Value::Integer(u64::MAX.into())), Ordering::Less);
    }
}
