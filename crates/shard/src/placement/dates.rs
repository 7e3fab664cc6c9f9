//! Years, months and days of kingshard and Gaea: one shard for each.

use std::ops::Bound;

use crate::calendar::{Date, DateTime};
use crate::condition::KeyRange;
use crate::key::{Key, KeyKind};
use crate::placement::{count, span};
use crate::prune::{Reason, Shard, Shards};

/// How much of a date the number of a shard has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// YYYY.
    Year,
    /// YYYYMM.
    Month,
    /// YYYYMMDD.
    Day,
}

impl Unit {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Year => "year",
            Self::Month => "month",
            Self::Day => "day",
        }
    }

    /// The number of the year, month or day that has `date`.
    pub fn number(self, date: Date) -> u32 {
        let year = u32::from(date.year());
        let month = year * 100 + u32::from(date.month());
        match self {
            Self::Year => year,
            Self::Month => month,
            Self::Day => month * 100 + u32::from(date.day()),
        }
    }
}

/// Shard `i` has the rows of `numbers[i]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dates {
    unit: Unit,
    numbers: Vec<u32>,
    utc_offset_seconds: i32,
}

impl Dates {
    /// Years, months or days by their numbers, which rise. Integer keys are Unix times on a clock
    /// that is `utc_offset_seconds` ahead of UTC. Fails if the numbers do not rise, or if there is
    /// none.
    pub fn new(unit: Unit, numbers: Vec<u32>, utc_offset_seconds: i32) -> Option<Self> {
        let valid = !numbers.is_empty() && numbers.is_sorted_by(|a, b| a < b);
        valid.then_some(Self { unit, numbers, utc_offset_seconds })
    }

    pub(super) const KINDS: &'static [KeyKind] =
        &[KeyKind::Integer, KeyKind::Date, KeyKind::DateTime, KeyKind::Bytes];

    /// Numbers of the years, months or days, by shard.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers
    }

    /// Seconds that the clock of Unix times is ahead of UTC.
    pub(crate) fn utc_offset_seconds(&self) -> i32 {
        self.utc_offset_seconds
    }

    /// What a number stands for.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    pub(super) fn locate(&self, key: Key<'_>) -> Result<Shard, Reason> {
        let number = match key {
            Key::Bytes(text) => self.by_position(text).ok_or(Reason::OutOfRange)?,
            _ => self.number(key)?,
        };
        self.numbers.binary_search(&number).map_err(|_| Reason::OutOfRange).and_then(count)
    }

    /// The numbers from that of the lower end to that of the upper end: one more than needed if the
    /// upper end is excluded.
    pub(super) fn range(&self, range: &KeyRange<'_>) -> Result<Shards, Reason> {
        let first = match range.lower {
            Bound::Included(key) | Bound::Excluded(key) => {
                let number = self.number(key)?;
                self.numbers.partition_point(|one| *one < number)
            }
            Bound::Unbounded => 0,
        };
        let end = match range.upper {
            Bound::Included(key) | Bound::Excluded(key) => {
                let number = self.number(key)?;
                self.numbers.partition_point(|one| *one <= number)
            }
            Bound::Unbounded => self.numbers.len(),
        };
        span(first, end.checked_sub(1))
    }

    /// The number of a key of a kind that has an order in time.
    fn number(&self, key: Key<'_>) -> Result<u32, Reason> {
        let date = match key {
            Key::Date(date) => date,
            Key::DateTime(time) => time.date(),
            Key::Integer(unix) => {
                let local = i64::try_from(unix + i128::from(self.utc_offset_seconds)).ok();
                local.and_then(DateTime::from_seconds).ok_or(Reason::OutOfRange)?.date()
            }
            Key::Bytes(_) => return Err(Reason::Range),
            Key::Weight(_) => return Err(Reason::Kind),
        };
        Ok(self.unit.number(date))
    }

    /// The digits at the places where `YYYY-MM-DD` has them, whatever stands between and behind.
    fn by_position(&self, text: &[u8]) -> Option<u32> {
        // First byte and number of bytes of each part.
        let places: &[(usize, usize)] = match self.unit {
            Unit::Year => &[(0, 4)],
            Unit::Month => &[(0, 4), (5, 2)],
            Unit::Day => &[(0, 4), (5, 2), (8, 2)],
        };
        if self.unit != Unit::Year && text.len() < 10 {
            return None;
        }
        places.iter().try_fold(0, |number: u32, &(first, length)| {
            text.get(first..first + length)?.iter().try_fold(number, |number, byte| {
                byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0'))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn months() -> Dates {
        Dates::new(Unit::Month, vec![201_603, 201_604, 201_609], 8 * 3_600).unwrap()
    }

    #[test]
    fn all_kinds_of_keys_have_a_month() {
        let months = months();
        let day = Date::new(2016, 4, 30).unwrap();
        assert_eq!(months.locate(Key::Date(day)), Ok(1));
        assert_eq!(months.locate(Key::DateTime(day.into())), Ok(1));
        assert_eq!(months.locate(Key::Bytes(b"2016/04x30 or so")), Ok(1));
        assert_eq!(months.locate(Key::Bytes(b"2016-04")), Err(Reason::OutOfRange));
        assert_eq!(months.locate(Key::Date(Date::new(2016, 5, 1).unwrap())), Err(Reason::OutOfRange));
        let new_month_in_shanghai = 1_459_440_000;
        assert_eq!(months.locate(Key::Integer(new_month_in_shanghai)), Ok(1));
        assert_eq!(months.locate(Key::Integer(new_month_in_shanghai - 1)), Ok(0));
        assert_eq!(months.locate(Key::Integer(i128::from(u64::MAX))), Err(Reason::OutOfRange));
    }

    #[test]
    fn ranges_are_cut_to_the_months_that_exist() {
        let months = months();
        let at = |year, month, day| Bound::Included(Key::Date(Date::new(year, month, day).unwrap()));
        let range = |lower, upper| months.range(&KeyRange { lower, upper });
        assert_eq!(range(at(2016, 4, 9), Bound::Unbounded).unwrap().as_slice(), [1, 2]);
        assert_eq!(range(at(2000, 1, 1), at(2016, 4, 1)).unwrap().as_slice(), [0, 1]);
        assert_eq!(range(at(2016, 5, 1), at(2016, 8, 1)), Err(Reason::OutOfRange));
        let text = Bound::Included(Key::Bytes(b"2016-04-01"));
        assert_eq!(range(text, Bound::Unbounded), Err(Reason::Range));
    }
}
