//! Intervals of time of any length, as `INTERVAL` of ShardingSphere has them.

use std::ops::Bound;

use crate::calendar::{DateTime, SECONDS_PER_DAY};
use crate::condition::KeyRange;
use crate::key::{Key, KeyKind};
use crate::limits::INTERVALS_MAX;
use crate::prune::{Reason, Shard, Shards};

/// Length of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Number of units, at least 1.
    pub amount: u32,
    /// The unit.
    pub unit: StepUnit,
}

/// Unit of a [`Step`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepUnit {
    /// 1 second.
    Seconds,
    /// 60 seconds.
    Minutes,
    /// 60 minutes.
    Hours,
    /// 24 hours.
    Days,
    /// 7 days.
    Weeks,
    /// A month of the calendar.
    Months,
    /// 12 months.
    Years,
}

impl Step {
    /// The time one step after `time`.
    pub fn after(self, time: DateTime) -> Option<DateTime> {
        let amount = i64::from(self.amount);
        let seconds = match self.unit {
            StepUnit::Seconds => 1,
            StepUnit::Minutes => 60,
            StepUnit::Hours => 3_600,
            StepUnit::Days => SECONDS_PER_DAY,
            StepUnit::Weeks => 7 * SECONDS_PER_DAY,
            StepUnit::Months => return Some(time.on(time.date().plus_months(amount)?)),
            StepUnit::Years => return Some(time.on(time.date().plus_months(amount * 12)?)),
        };
        DateTime::from_seconds(time.seconds() + amount * seconds)
    }
}

/// Consecutive intervals, each with its shard; several may have the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intervals {
    /// Seconds at which each interval begins, rising; the last is the end of the last interval.
    starts: Vec<i64>,
    /// Shard of each interval.
    shards: Vec<Shard>,
}

impl Intervals {
    /// The beginnings of the intervals from `lower` up to and including `upper`, one step apart.
    /// Fails if the step is 0, there are more than [`INTERVALS_MAX`], or a time is after the year
    /// 9999.
    pub fn beginnings(lower: DateTime, upper: DateTime, step: Step) -> Option<Vec<DateTime>> {
        let mut beginnings = Vec::new();
        let mut time = lower;
        while time <= upper {
            if step.amount == 0 || beginnings.len() == INTERVALS_MAX {
                return None;
            }
            beginnings.push(time);
            time = step.after(time)?;
        }
        Some(beginnings)
    }

    /// Intervals that begin at the given times, with their shards. Fails if the times do not rise.
    pub fn new(beginnings: &[(DateTime, Shard)], step: Step) -> Option<Self> {
        let (last, _) = beginnings.last()?;
        let ends = step.after(*last)?;
        let times = beginnings.iter().map(|(time, _)| *time).chain([ends]);
        let starts: Vec<i64> = times.map(DateTime::seconds).collect();
        let shards = beginnings.iter().map(|(_, shard)| *shard).collect();
        starts.is_sorted_by(|a, b| a < b).then_some(Self { starts, shards })
    }

    /// Intervals from each time to the next one, with their shards: one less than there are times.
    /// Fails if the times do not rise.
    pub fn between(times: &[DateTime], shards: Vec<Shard>) -> Option<Self> {
        let starts: Vec<i64> = times.iter().map(|time| time.seconds()).collect();
        let fits = !shards.is_empty() && shards.len() <= INTERVALS_MAX && starts.len() == shards.len() + 1;
        (fits && starts.is_sorted_by(|a, b| a < b)).then_some(Self { starts, shards })
    }

    /// Seconds at which intervals begin and the last one ends, and their shards.
    pub(crate) fn parts(&self) -> (&[i64], &[Shard]) {
        (&self.starts, &self.shards)
    }

    pub(super) const KINDS: &'static [KeyKind] = &[KeyKind::Date, KeyKind::DateTime];

    /// Number of shards.
    pub(super) fn shards(&self) -> u32 {
        self.shards.iter().max().map_or(0, |last| last + 1)
    }

    pub(super) fn locate(&self, key: Key<'_>) -> Result<Shard, Reason> {
        let begun = self.begun(key)?;
        begun.checked_sub(1).and_then(|at| self.shards.get(at)).copied().ok_or(Reason::OutOfRange)
    }

    /// An excluded upper end takes its own interval as well.
    pub(super) fn range(&self, range: &KeyRange<'_>) -> Result<Shards, Reason> {
        let first = match range.lower {
            Bound::Included(key) | Bound::Excluded(key) => self.begun(key)?.saturating_sub(1),
            Bound::Unbounded => 0,
        };
        let end = match range.upper {
            Bound::Included(key) | Bound::Excluded(key) => self.begun(key)?.min(self.shards.len()),
            Bound::Unbounded => self.shards.len(),
        };
        let intervals = self.shards.get(first..end).filter(|intervals| !intervals.is_empty());
        Ok(intervals.ok_or(Reason::OutOfRange)?.iter().copied().collect())
    }

    /// Number of intervals that have begun at the time of `key`, the end of the last included.
    fn begun(&self, key: Key<'_>) -> Result<usize, Reason> {
        let seconds = match key {
            Key::Date(date) => date.days() * SECONDS_PER_DAY,
            Key::DateTime(time) => time.seconds(),
            _ => return Err(Reason::Kind),
        };
        Ok(self.starts.partition_point(|start| *start <= seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::Date;

    fn midnight(year: u16, month: u8, day: u8) -> Option<DateTime> {
        Date::new(year, month, day).map(DateTime::from)
    }

    #[test]
    fn days_of_a_month_share_a_shard() {
        let step = Step { amount: 10, unit: StepUnit::Days };
        let lower = midnight(2024, 1, 1).unwrap();
        let beginnings = Intervals::beginnings(lower, midnight(2024, 2, 28).unwrap(), step).unwrap();
        let month = |time: &DateTime| (*time, u32::from(time.date().month()) - 1);
        let intervals = Intervals::new(&beginnings.iter().map(month).collect::<Vec<_>>(), step).unwrap();
        let day = |month, day| Key::Date(Date::new(2024, month, day).unwrap());
        assert_eq!(intervals.shards(), 2);
        assert_eq!(intervals.locate(day(1, 31)), Ok(0));
        assert_eq!(intervals.locate(day(2, 10)), Ok(1));
        assert_eq!(intervals.locate(day(2, 29)), Ok(1));
        assert_eq!(intervals.locate(day(3, 1)), Err(Reason::OutOfRange));
        assert_eq!(intervals.locate(Key::Date(Date::new(2023, 12, 31).unwrap())), Err(Reason::OutOfRange));
        let until = KeyRange { lower: Bound::Unbounded, upper: Bound::Excluded(day(1, 5)) };
        assert_eq!(intervals.range(&until).unwrap().as_slice(), [0]);
        let after = KeyRange { lower: Bound::Included(day(3, 1)), upper: Bound::Unbounded };
        assert_eq!(intervals.range(&after), Err(Reason::OutOfRange));
    }

    #[test]
    fn a_step_of_nothing_and_endless_lists_are_refused() {
        let step = |amount| Step { amount, unit: StepUnit::Seconds };
        let (lower, upper) = (midnight(2000, 1, 1).unwrap(), midnight(2024, 1, 1).unwrap());
        assert_eq!(Intervals::beginnings(lower, upper, step(0)), None);
        assert_eq!(Intervals::beginnings(lower, upper, step(1)), None);
    }
}
