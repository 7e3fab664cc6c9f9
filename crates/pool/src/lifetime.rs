//! For how long a connection is kept: not all of one age end at once.

use std::time::Duration;

/// By which part of the longest time, in percent, a connection may end earlier.
const JITTER_PERCENT: u64 = 20;

/// For how long a connection is kept of which `random` was drawn when it was opened: `max` or up to
/// a fifth less; `None`: as long as it lasts. Those that were opened together end one after the
/// other.
pub fn lifetime(max: Duration, random: u64) -> Option<Duration> {
    // The upper bits, of which all generators are good, as a part of 2^32.
    let part = u128::from(random >> 32);
    let earlier = (max.as_nanos() * u128::from(JITTER_PERCENT) * part / 100) >> 32;
    let earlier = Duration::from_nanos(u64::try_from(earlier).unwrap_or(u64::MAX));
    (!max.is_zero()).then(|| max.saturating_sub(earlier))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_one_age_end_one_after_the_other() {
        let hour = Duration::from_hours(1);
        assert_eq!(lifetime(hour, 0), Some(hour));
        let shortest = lifetime(hour, u64::MAX).unwrap();
        assert!(shortest >= Duration::from_mins(48) && shortest < Duration::from_mins(49), "{shortest:?}");
        assert_eq!(lifetime(hour, 1 << 63), Some(Duration::from_mins(54)));
    }

    #[test]
    fn there_may_be_no_limit() {
        assert_eq!(lifetime(Duration::ZERO, u64::MAX), None);
    }
}
