//! Dates and times of MySQL's calendar, without a zone.

/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_UNIX: i64 = 719_468;
/// Days in 400 years.
const DAYS_PER_ERA: i64 = 146_097;
/// Seconds in a day.
pub(crate) const SECONDS_PER_DAY: i64 = 86_400;
/// Microseconds in a second.
const MICROS_PER_SECOND: u32 = 1_000_000;
/// Last year that MySQL's DATE has.
const YEAR_MAX: u16 = 9_999;

/// Day that exists, in the years 0 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// The day, if it exists. `0000-00-00` and other dates with zeros do not.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        let exists = year <= YEAR_MAX && (1..=12).contains(&month) && day >= 1;
        (exists && day <= days_in_month(year, month)).then_some(Self { year, month, day })
    }

    /// Reads `YYYY-MM-DD`, the one canonical form.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return None };
        Self::new(
            u16::try_from(digits(&[y1, y2, y3, y4])?).ok()?,
            u8::try_from(digits(&[m1, m2])?).ok()?,
            u8::try_from(digits(&[d1, d2])?).ok()?,
        )
    }

    /// The year, 0 to 9999.
    pub fn year(self) -> u16 {
        self.year
    }

    /// The month, 1 to 12.
    pub fn month(self) -> u8 {
        self.month
    }

    /// The day of the month, 1 to 31.
    pub fn day(self) -> u8 {
        self.day
    }

    /// Days since 1970-01-01, negative before.
    pub fn days(self) -> i64 {
        let (month, day) = (i64::from(self.month), i64::from(self.day));
        let year = i64::from(self.year) - i64::from(month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * DAYS_PER_ERA + day_of_era - DAYS_TO_UNIX
    }

    /// The day that is `days` after 1970-01-01, if its year is 0 to 9999.
    pub fn from_days(days: i64) -> Option<Self> {
        let days = days.checked_add(DAYS_TO_UNIX)?;
        let era = days.div_euclid(DAYS_PER_ERA);
        let day_of_era = days.rem_euclid(DAYS_PER_ERA);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Self::new(u16::try_from(year).ok()?, u8::try_from(month).ok()?, u8::try_from(day).ok()?)
    }

    /// The same day `months` later, or the last day of that month if it is shorter.
    pub fn plus_months(self, months: i64) -> Option<Self> {
        let total = (i64::from(self.year) * 12 + i64::from(self.month) - 1).checked_add(months)?;
        let year = u16::try_from(total.div_euclid(12)).ok().filter(|year| *year <= YEAR_MAX)?;
        let month = u8::try_from(total.rem_euclid(12) + 1).ok()?;
        Self::new(year, month, self.day.min(days_in_month(year, month)))
    }
}

/// Day with a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    date: Date,
    second: u32,
    micro: u32,
}

impl DateTime {
    /// The time, if it exists: hours to 23, minutes and seconds to 59, microseconds to 999,999.
    pub fn new(date: Date, [hour, minute, second]: [u8; 3], micro: u32) -> Option<Self> {
        let exists = hour < 24 && minute < 60 && second < 60 && micro < MICROS_PER_SECOND;
        let second = u32::from(hour) * 3_600 + u32::from(minute) * 60 + u32::from(second);
        exists.then_some(Self { date, second, micro })
    }

    /// Reads `YYYY-MM-DD`, `YYYY-MM-DD hh:mm:ss` and the latter with 1 to 6 digits behind a point.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (date, time) = text.split_at_checked(10)?;
        let date = Date::parse(date)?;
        if time.is_empty() {
            return Some(Self::from(date));
        }
        let (time, fraction) = time.split_at_checked(9)?;
        let &[b' ', h1, h2, b':', m1, m2, b':', s1, s2] = time else { return None };
        let part = |high, low| u8::try_from(digits(&[high, low])?).ok();
        Self::new(date, [part(h1, h2)?, part(m1, m2)?, part(s1, s2)?], micros(fraction)?)
    }

    /// The day.
    pub fn date(self) -> Date {
        self.date
    }

    /// Hour, minute and second.
    pub fn time(self) -> [u8; 3] {
        let part = |value: u32| u8::try_from(value % 60).unwrap_or(0);
        [u8::try_from(self.second / 3_600).unwrap_or(0), part(self.second / 60), part(self.second)]
    }

    /// The part of a second, in microseconds.
    pub fn micro(self) -> u32 {
        self.micro
    }

    /// Seconds since 1970-01-01 00:00:00 on a clock in the same zone; fractions are cut.
    pub fn seconds(self) -> i64 {
        self.date.days() * SECONDS_PER_DAY + i64::from(self.second)
    }

    /// The time that is `seconds` after 1970-01-01 00:00:00, if its year is 0 to 9999.
    pub fn from_seconds(seconds: i64) -> Option<Self> {
        let date = Date::from_days(seconds.div_euclid(SECONDS_PER_DAY))?;
        let second = u32::try_from(seconds.rem_euclid(SECONDS_PER_DAY)).ok()?;
        Some(Self { date, second, micro: 0 })
    }

    /// The same time of another day.
    pub(crate) fn on(self, date: Date) -> Self {
        Self { date, ..self }
    }
}

impl From<Date> for DateTime {
    /// Midnight at the beginning of the day.
    fn from(date: Date) -> Self {
        Self { date, second: 0, micro: 0 }
    }
}

/// A number of decimal digits only.
fn digits(text: &[u8]) -> Option<u32> {
    text.iter()
        .try_fold(0, |number: u32, byte| byte.is_ascii_digit().then(|| number * 10 + u32::from(byte - b'0')))
}

/// Microseconds of `.5` or `.000500`; 0 of nothing.
fn micros(fraction: &[u8]) -> Option<u32> {
    match fraction {
        [] => Some(0),
        [b'.', places @ ..] if (1..=6).contains(&places.len()) => {
            let missing = u32::try_from(6 - places.len()).ok()?;
            Some(digits(places)? * 10_u32.pow(missing))
        }
        _ => None,
    }
}

fn days_in_month(year: u16, month: u8) -> u8 {
    let is_leap = year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_others_inverse() {
        for days in (-719_528..=2_932_896).step_by(13) {
            assert_eq!(Date::from_days(days).unwrap().days(), days);
        }
        assert_eq!(Date::new(1970, 1, 1).unwrap().days(), 0);
        assert_eq!(Date::new(2000, 2, 29).unwrap().days(), 11_016);
        assert_eq!(Date::from_days(2_932_897), None);
        assert_eq!(Date::from_days(i64::MAX), None);
    }

    #[test]
    fn only_canonical_text_is_a_date() {
        assert_eq!(Date::parse(b"2024-02-29"), Date::new(2024, 2, 29));
        for text in
            ["2023-02-29", "2024-2-29", "20240229", "2024-00-01", "0000-00-00", " 2024-01-01", "1900-02-29"]
        {
            assert_eq!(Date::parse(text.as_bytes()), None, "{text}");
        }
        let time = DateTime::parse(b"2024-02-29 23:59:58.25").unwrap();
        assert_eq!((time.time(), time.micro()), ([23, 59, 58], 250_000));
        assert_eq!(DateTime::from_seconds(time.seconds()).unwrap().time(), [23, 59, 58]);
        for text in ["2024-01-01T00:00:00", "2024-01-01 24:00:00", "2024-01-01 00:00", "2024-01-01 00:00:00."]
        {
            assert_eq!(DateTime::parse(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn months_end_where_the_calendar_says() {
        let end = Date::new(2024, 1, 31).unwrap();
        assert_eq!(end.plus_months(1), Date::new(2024, 2, 29));
        assert_eq!(end.plus_months(-2), Date::new(2023, 11, 30));
        assert_eq!(end.plus_months(120_000), None);
    }
}
