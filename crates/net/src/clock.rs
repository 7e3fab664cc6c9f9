//! The time of day.

use std::time::SystemTime;

/// Seconds since the beginning of 1970; 0 for a clock that is set to before that.
pub(crate) fn unix_s() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}
