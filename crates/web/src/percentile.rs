//! Percentiles of times that were counted in ProxySQL's buckets.

/// The longest times of all buckets but the last one, in microseconds: those of
/// `stats_mysql_commands_counters`.
const LONGEST_US: [u64; 11] =
    [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000];

/// Buckets with the counts of times.
pub(crate) type Buckets = [u64; LONGEST_US.len() + 1];

/// The time that `share` (0 to 1) of all times are at most, in microseconds; nothing without times.
/// Within a bucket times are taken to be spread evenly; the last bucket counts as its lower end.
pub(crate) fn percentile(buckets: &Buckets, share: f64) -> Option<u64> {
    let all: u64 = buckets.iter().sum();
    if all == 0 {
        return None;
    }
    let mut left = (share * float(all)).max(1.0);
    let mut shortest = 0;
    for (&count, &longest) in buckets.iter().zip(&LONGEST_US) {
        if left <= float(count) {
            let part = float(longest - shortest) * left / float(count);
            return Some(shortest + whole(part));
        }
        left -= float(count);
        shortest = longest;
    }
    Some(shortest)
}

/// The nearest number that floats have.
#[expect(clippy::cast_precision_loss, reason = "shares and rates are for eyes")]
pub(crate) const fn float(number: u64) -> f64 {
    number as f64
}

/// The whole number next to it; 0 for what is below.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
pub(crate) const fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_in_their_buckets() {
        assert_eq!(percentile(&[0; 12], 0.5), None);
        let mut buckets = [0; 12];
        (buckets[0], buckets[1], buckets[2]) = (50, 40, 10);
        assert_eq!(percentile(&buckets, 0.5), Some(100));
        assert_eq!(percentile(&buckets, 0.25), Some(50));
        assert_eq!(percentile(&buckets, 0.7), Some(300));
        assert_eq!(percentile(&buckets, 0.99), Some(950));
        let mut slow = [0; 12];
        slow[11] = 1;
        assert_eq!(percentile(&slow, 0.5), Some(10_000_000));
        let mut one = [0; 12];
        one[3] = 1;
        assert_eq!(percentile(&one, 0.01), Some(5_000), "of one time, that is all percentiles");
    }
}
