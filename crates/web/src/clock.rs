//! The time in milliseconds, as the page gives it to browsers.

use std::time::{Duration, SystemTime};

/// Milliseconds of Unix time.
pub(crate) fn unix_ms() -> u64 {
    millis(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

/// Whole milliseconds; a time that is too long is the longest.
pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
