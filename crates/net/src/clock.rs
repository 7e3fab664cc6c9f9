//! The time of day, as tables and logs have it: since the beginning of 1970. A clock that is set to
//! before that is at its beginning.

use std::time::{Duration, SystemTime};

/// The time of day.
pub fn unix() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// The same in whole seconds.
pub fn unix_s() -> u64 {
    unix().as_secs()
}

/// The same in whole milliseconds.
pub fn unix_ms() -> u64 {
    millis(unix())
}

/// A time in whole milliseconds; one that is too long is the longest.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The same in whole microseconds.
pub fn unix_us() -> u64 {
    u64::try_from(unix().as_micros()).unwrap_or(u64::MAX)
}
