//! Times as people read them.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A time zone.
#[derive(Debug, Clone)]
pub struct Zone(TimeZone);

impl Zone {
    /// That of the system, or of the environment variable `TZ`.
    pub fn system() -> Self {
        Self(TimeZone::system())
    }

    /// UTC.
    pub const fn utc() -> Self {
        Self(TimeZone::UTC)
    }

    /// A fixed number of hours east of Greenwich, for tests.
    #[cfg(test)]
    pub(crate) fn east(hours: i8) -> Self {
        Self(TimeZone::fixed(jiff::tz::offset(hours)))
    }

    /// `2019-07-14 18:04:28.595961`: a time in microseconds of Unix time, as ProxySQL writes it.
    pub(crate) fn show(&self, unix_us: u64) -> String {
        self.format(unix_us, "%Y-%m-%d %H:%M:%S%.6f")
    }

    /// `2019-07-14 18:04:28.595`: the same with milliseconds.
    pub(crate) fn show_ms(&self, unix_us: u64) -> String {
        self.format(unix_us, "%Y-%m-%d %H:%M:%S%.3f")
    }

    fn format(&self, unix_us: u64, form: &str) -> String {
        timestamp(unix_us).to_zoned(self.0.clone()).strftime(form).to_string()
    }
}

/// `2019-07-14T16:04:28.595961Z`: the same in UTC, as MySQL writes it.
pub(crate) fn iso(unix_us: u64) -> String {
    timestamp(unix_us).strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}

/// Times that no calendar has are the first one.
fn timestamp(unix_us: u64) -> Timestamp {
    i64::try_from(unix_us).ok().and_then(|us| Timestamp::from_microsecond(us).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_all_their_digits() {
        assert_eq!(Zone::utc().show(1_563_091_468_595_961), "2019-07-14 08:04:28.595961");
        assert_eq!(Zone::east(10).show(1_563_091_468_595_961), "2019-07-14 18:04:28.595961");
        assert_eq!(Zone::utc().show(1_563_091_468_000_000), "2019-07-14 08:04:28.000000");
        assert_eq!(iso(1_563_091_468_000_001), "2019-07-14T08:04:28.000001Z");
        assert_eq!(iso(u64::MAX), "1970-01-01T00:00:00.000000Z");
    }
}
